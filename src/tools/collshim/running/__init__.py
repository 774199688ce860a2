"""collshim-run: an MPI program with collshim, profiled without it, or compared with and without."""

from collshim.texts import speaker

say = speaker("collshim-run")
