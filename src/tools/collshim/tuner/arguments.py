"""Command lines of collshim-tune."""

import argparse
import math
import os
import shlex

from collshim.failure import Failure
from collshim.texts import listed, read_size

USAGE = """\
collshim-tune - measures which algorithm serves which collective best here; writes a tuning file.

  collshim-tune loggp --mpirun CMD [--out FILE]
  collshim-tune sweep --mpirun CMD [--mpirun CMD ...] --minutes M --out FILE [options]

CMD starts a job of one shape: "mpirun -n 16 --hostfile hosts"; a program with its arguments is put
behind it. Each --mpirun is one shape; all ranks must see the folder of FILE.

  --minutes M        for all shapes together; what does not fit is not measured, and stays as it is
  --out FILE         the tuning file; FILE.state.json, written after every job, has what was seen
  --colls LIST       default: all of the library's
  --sizes LIST       default 8,1K,8K,64K,1M
  --resume           go on with FILE.state.json (more --minutes than before: also with what did not
                     fit)
  --dry-run          one short job for each shape, then say what would be measured
  --keep-going       when a job fails, do without what it measured; else the sweep ends there
  --repeats N        jobs in which the best candidates are measured again, default 3
  --margin PART      an algorithm gets a rule where each of these jobs' medians of host / ours is
                     more than 1 + PART, and the lower quartile of all their rounds more than 1, in
                     single calls or in rows of 20, if it loses by more than PART in neither;
                     default 0.05. Then the rules run as a program would meet them, all in one job
                     and each collective alone: what loses there has no rule
  --limit S          a case whose fewest calls need more than S seconds is left out, default 5
  --patience S       a job that is done with no further case for S seconds is taken for hung and
                     stopped, default 120
  --memory BYTES     of buffers per rank, above which a case is left out, default 256M
  --build DIR        where collshim was built; default: where it is installed, else build/ of the
                     working copy
  --info, --bench, --preload FILE
                     another collshim-info, collshim-bench (for one MPI), libcollshim.so
  --version, --help

loggp measures what a message costs (collshim-bench --loggp); FILE gets all the numbers as JSON.

Exit code: 0; 1 if a job failed or a file could not be written; 2 for wrong arguments; 130 if it was
stopped.
"""
SWEEP_ONLY = ("minutes", "colls", "sizes", "resume", "dry_run", "keep_going", "repeats", "margin",
              "limit", "memory",
              "patience")


def new_parser():
    parser = argparse.ArgumentParser(usage=USAGE, add_help=False, allow_abbrev=False)

    def refuse(message):
        raise Failure(2, message + " (collshim-tune --help)")

    parser.error = refuse
    parser.add_argument("command", nargs="?")
    parser.add_argument("-h", "--help", action="store_true")
    parser.add_argument("--version", action="store_true")
    parser.add_argument("--mpirun", action="append", default=[])
    parser.add_argument("--out")
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--colls")
    parser.add_argument("--sizes", default="8,1K,8K,64K,1M")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--margin", type=float, default=0.05)
    parser.add_argument("--limit", type=float, default=5)
    parser.add_argument("--patience", type=float, default=120)
    parser.add_argument("--memory", default="256M")
    parser.add_argument("--build")
    for name in ("--info", "--bench", "--preload"):
        parser.add_argument(name)
    for name in ("--resume", "--dry-run", "--keep-going"):
        parser.add_argument(name, action="store_true")
    return parser


def parse(argv):
    parser = new_parser()
    args = parser.parse_args(argv)
    if args.help or args.version:
        return args
    if args.command not in ("loggp", "sweep"):
        parser.error("expected loggp or sweep" + (", not '%s'" % args.command if args.command
                                                  else ""))
    if not args.mpirun:
        parser.error("--mpirun 'mpirun -n 4': what starts a job?")
    for text in args.mpirun:
        check_command(parser, text)
    if args.command == "loggp":
        if len(args.mpirun) > 1:
            parser.error("--mpirun: one for loggp")
        for name in SWEEP_ONLY:
            if getattr(args, name) != parser.get_default(name):
                parser.error("--%s belongs to sweep" % name.replace("_", "-"))
        return args
    if not args.out or args.minutes is None:
        parser.error("--out FILE and --minutes M are needed")
    if not 0 < args.minutes < 1e6:
        parser.error("--minutes: more than 0")
    if args.repeats < 1 or not 0 <= args.margin < 1 or not 0 < args.limit < math.inf:
        parser.error("--repeats: 1 or more; --margin: from 0 to 1; --limit: more than 0")
    if not 0 < args.patience < math.inf:
        parser.error("--patience: more than 0")
    if read_size(args.memory) is None:
        parser.error("--memory: bytes such as 256M, not '%s'" % args.memory)
    args.sizes = read_sizes(parser, args.sizes)
    args.out = os.path.abspath(args.out)
    return args


def check_command(parser, text):
    try:
        words = shlex.split(text)
    except ValueError as error:
        parser.error("--mpirun: %s: %s" % (text, error))
    if not words:
        parser.error("--mpirun: an empty command")


def read_colls(text, known):
    """Of --colls, when it is known which the library has; all of them without."""
    def refuse(what):
        raise Failure(2, "--colls: %s (collshim-tune --help)" % what)

    words = list(known) if text is None else listed(text, known, refuse)
    if not words:
        refuse("none is named")
    return words


def read_sizes(parser, text):
    sizes = [read_size(word) for word in text.split(",")]
    for word, size in zip(text.split(","), sizes):
        if not size:
            parser.error("--sizes: '%s' is not a size such as 8, 4K or 1M" % word)
    return sorted(set(sizes))
