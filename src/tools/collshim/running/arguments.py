"""Arguments of collshim-run."""

import argparse
import re

from collshim.failure import Failure
from collshim.launchers import LAUNCHER_NAMES

USAGE = """\
collshim-run - runs an MPI program with collshim, or says what that could gain, or does.

  collshim-run [options] LAUNCHER ... PROGRAM ...             with collshim
  collshim-run --profile [options] LAUNCHER ... PROGRAM ...   one run, without it: where the time
                                                              is, the most that could be gained
  collshim-run --compare [options] LAUNCHER ... PROGRAM ...   runs with and without it by turns,
                                                              and a verdict

LAUNCHER is %s (also with a wrapper before it, as time(1)); a line without one is
run with the variables in its environment. The library and the COLLSHIM_ variables of the
environment are handed to all ranks in the launcher's own way.

  --report FILE      COLLSHIM_REPORT for the run; of --profile and --compare, the report of the last
                     run with what was measured, as JSON
  --html FILE        the same as a page (collshim-report)
  --json             with --profile and --compare: at the end, on standard output, what was measured
                     and the verdict as one JSON object; what --compare says goes to standard error
  --set NAME=VALUE   a variable for the ranks, COLLSHIM_ADAPT=off for example; may be repeated
  --dry-run          only prints the command line that would be run
  --timeout SECONDS  a run that takes longer is ended, and gives no verdict. Default: none
 with --compare:
  --turns N          runs of each kind: 3 to 99. Default: 9 where a run takes up to 10 s, else 5
  --minutes M        for all: so many turns as fit in. Default: any time

  --build DIR, --library FILE    another libcollshim.so
  --version, --help

Exit code: that of the program; with --compare 0 for a verdict, 3 for none, 1 if a run failed, and
128 and the signal when stopped. 2 for wrong arguments. man collshim-run has more.
""" % LAUNCHER_NAMES


def refuse(message):
    raise Failure(2, message + " (collshim-run --help)")


def own_words(argv):
    """Number of words before the command: options, each with its value."""
    at = 0
    while at < len(argv) and argv[at].startswith("-"):
        if argv[at] == "--":
            return at
        at += 2 if argv[at] in WITH_VALUE else 1
    return min(at, len(argv))


WITH_VALUE = ("--report", "--html", "--set", "--timeout", "--turns", "--minutes", "--build",
              "--library")
COMPARE_ONLY = ("turns", "minutes")


def parse(argv):
    parser = argparse.ArgumentParser(usage=USAGE, add_help=False, allow_abbrev=False)
    parser.error = refuse
    for name in ("--profile", "--compare", "--json", "--dry-run", "--version"):
        parser.add_argument(name, action="store_true")
    parser.add_argument("-h", "--help", action="store_true")
    for name in ("--report", "--html", "--build", "--library"):
        parser.add_argument(name)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--turns", type=int)
    parser.add_argument("--timeout", type=float)
    parser.add_argument("--minutes", type=float)
    at = own_words(argv)
    args = parser.parse_args(argv[:at])
    args.command = argv[at:][argv[at:at + 1] == ["--"]:]
    if args.help or args.version:
        return args
    check(args)
    return args


def check(args):
    if args.profile and args.compare:
        refuse("--profile or --compare, one of them")
    if not args.command:
        refuse("nothing is to be run: collshim-run mpirun -n 4 ./app")
    for name in COMPARE_ONLY:
        if getattr(args, name) is not None and not args.compare:
            refuse("--%s belongs to --compare" % name)
    if args.turns is not None and not 3 <= args.turns <= 99:
        refuse("--turns: from 3 to 99")
    if args.timeout is not None and not 0 < args.timeout < 1e9:
        refuse("--timeout: seconds, more than 0")
    if args.minutes is not None and not 0 < args.minutes < 1e6:
        refuse("--minutes: more than 0")
    if (args.html or args.json or args.timeout) and not (args.profile or args.compare):
        refuse("--html, --json and --timeout belong to --profile and --compare")
    for text in args.set:
        if not re.match(r"[A-Za-z_]\w*=", text) or text.startswith("LD_PRELOAD="):
            refuse("--set: NAME=VALUE, and not LD_PRELOAD: '%s'" % text)
