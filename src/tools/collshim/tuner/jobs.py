"""Jobs of collshim-bench under the user's launcher."""

import glob
import math
import os
import re
import secrets
import shlex

from collshim import jobs
from collshim.failure import Failure

# LD_PRELOAD may hold what the launcher needs; so ours comes behind it, which takes a shell.
PRELOAD = 'LD_PRELOAD=${LD_PRELOAD:+$LD_PRELOAD:}$0 exec env "$@"'

UNGUESSED = secrets.token_hex(8)    # others may write in the folder, too


def job_path(out, ending="json"):
    return "%s.job.%d.%s.%s" % (out, os.getpid(), UNGUESSED, ending)


def remove_stale(out):
    """Files of jobs whose sweep was killed, and those that were being written for the first time
    (".NAME.job...", base/file.c)."""
    folder, name = os.path.split(out)
    unfinished = os.path.join(folder, "." + name)
    for path in glob.glob(glob.escape(out) + ".job.*") + glob.glob(glob.escape(unfinished) +
                                                                   ".job.*"):
        owner = re.search(r"\.job\.(\d+)\.[0-9a-f]+\.(?:json|yaml)(?:\.\w+)?$", path)
        if owner and not os.path.exists("/proc/" + owner[1]):
            jobs.remove_with_unfinished(path)


def under_library(tools, settings):
    """The words before a program that is to run with the library. settings: COLLSHIM_ variables."""
    return ["sh", "-c", PRELOAD, tools.library,
            *("COLLSHIM_%s=%s" % pair for pair in settings.items())]


def run_job(tools, mpirun, settings, program, out, seconds, patience=math.inf):
    """Starts the bench under the launcher and waits for it, at most so many seconds in all and so
    many for each case. settings: COLLSHIM_ variables; None: without the library."""
    path = job_path(out)
    command = shlex.split(mpirun)
    if settings is not None:
        command += under_library(tools, {"TUNING": "builtin", "ADAPT": "off", **settings})
    command += program + ["--quiet", "--json", path]
    try:
        return jobs.run_job(command, path, tools.environment(), seconds, patience)
    except OSError as error:
        raise Failure(2, "--mpirun: %s: %s" % (command[0], error.strerror))
