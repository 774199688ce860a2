"""The programs and the library that collshim-tune works with."""

import glob
import os

from collshim.failure import Failure
from collshim.info import Info
from collshim.installed import Places


class Tools:
    """The programs and the library: given, in a build folder, or installed beside this program,
    which lies in the folder `here`."""

    def __init__(self, args, here):
        places = Places(args.build, here)
        path = places.find("collshim-info", args.info, places.patterns("collshim-info", "src"))
        self.library = places.library(args.preload)
        if args.command == "app":
            self.benches = []    # it needs none
        elif args.bench:
            self.benches = [places.find("collshim-bench", args.bench, [])]
        else:
            self.benches = sorted({os.path.realpath(path): path for pattern in
                                   places.patterns("collshim-bench.*", "bench")
                                   for path in glob.glob(pattern)
                                   if os.access(path, os.X_OK) and os.path.isfile(path)}.values())
        if not self.benches and args.command != "app":
            raise Failure(2, "no collshim-bench.MPI was found: --build DIR or --bench FILE")
        self.info = Info(path)
        self.version = self.info.version

    def environment(self):
        """Of jobs: ours, without what would decide in place of the sweep."""
        forced = {coll.variable.replace("_", form, 1) for form in ("_", "_I")
                  for coll in self.info.collectives.values()}
        forced |= {"COLLSHIM_ADAPT", "COLLSHIM_ADAPT_FILE", "COLLSHIM_DISABLE",
                   "COLLSHIM_REPORT", "COLLSHIM_TUNING"}
        return {name: value for name, value in os.environ.items() if name not in forced}


# What is in a tuning file only if the library knows it.
PROBE_SKEW = """version: 1
blocks:
  - name: probe
    provenance: {date: 2026-01-01, library: probe, machine: probe, command: probe}
    rules:
      - {collective: allgatherv, skew: 2-inf, use: host}
"""
PROBE_PLACEMENT = """version: 1
blocks:
  - name: probe
    provenance: {date: 2026-01-01, library: probe, machine: probe, command: probe}
    rules:
      - {collective: bcast, placement: cyclic, use: host}
"""
PROBE_MODELS = """version: 1
models:
  - name: probe
    provenance: {date: 2026-01-01, library: probe, machine: probe, command: probe}
    parameters: "L=1e-6,os=1e-7,or=1e-7,G=1e-10"
    fit_error: 0.1
    host:
      - {collective: bcast, ranks: 2, nodes: 2, cost: {8: 1.5us}}
"""
