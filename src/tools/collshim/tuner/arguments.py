"""Command lines of collshim-tune."""

import argparse
import math
import os
import shlex

from collshim.failure import Failure
from collshim.texts import listed, read_size

USAGE = """\
collshim-tune - measures which algorithm serves which collective best here; writes a tuning file.

  collshim-tune loggp --mpirun CMD [--wire host|ib] [--out FILE]
  collshim-tune sweep --mpirun CMD [--mpirun CMD ...] --minutes M --out FILE [options]
  collshim-tune app --out FILE [--runs N] [--minutes M] [--program WORD] -- LAUNCHER ... PROGRAM ...

CMD starts a job of one shape: "mpirun -n 16 --hostfile hosts"; a program with its arguments is put
behind it. Each --mpirun is one shape; all ranks must see the folder of FILE.

  --minutes M        for all shapes together; what does not fit is not measured, and stays as it is
  --out FILE         the tuning file; FILE.state.json, written after every job, has what was seen
  --svg FILE         curves of what was measured: each collective's candidates by size, the chosen
                     ones marked
  --colls LIST       default: all of the library's
  --sizes LIST       default 8,1K,8K,64K,1M
  --imbalance PATTERN
                     ranks come late, as collshim-bench has them, and rules ask for that; up to 8
                     times
  --resume           go on with FILE.state.json (more --minutes than before: also with what did not
                     fit)
  --dry-run          one short job for each shape, then say what would be measured
  --keep-going       when a job fails, do without what it measured; else the sweep ends there
  --repeats N        jobs in which the best candidates are measured again, default 3
  --margin PART      an algorithm gets a rule where each of these jobs' medians is
                     faster by more than PART of the MPI's time and by more than the spread of
                     the MPI's times, and the lower quartile of all rounds' ratios is more than 1,
                     in single calls or in rows of 20, if it loses by more than PART / 2 in neither;
                     default 0.1, as in live choice. Then the rules run as a program would meet
                     them, all in one job and each collective alone: what loses there has no rule
  --limit S          a case whose fewest calls need more than S seconds is left out, default 5
  --patience S       a job that is done with no further case for S seconds is taken for hung and
                     stopped, default 120
  --memory BYTES     of buffers per rank, above which a case is left out, default 256M
  --build DIR        where collshim was built; default: where it is installed, else build/ of the
                     working copy
  --info, --bench, --preload FILE
                     another collshim-info, collshim-bench (for one MPI), libcollshim.so
  --version, --help

app runs a program by its MPI and by the library in turns, and FILE gets what the library learns in
its calls; a program begins at the launcher's first word that is one, or at WORD
  --runs N           so many turns; default: until one changes no verdict, at most 5
  --minutes M        for all of them; default: no limit

loggp measures what a message costs (collshim-bench --loggp); FILE gets all the numbers as JSON
  --wire host|ib     between nodes over the MPI's messages, the default, or over verbs

Exit code: 0; 1 if a job failed or a file could not be written; 2 for wrong arguments; 3 if app has
learnt or sweep decided nothing, or without the verbs that --wire asks for; 130 if it was stopped.
"""
SWEEP_ONLY = ("minutes", "colls", "sizes", "imbalance", "resume", "dry_run", "keep_going",
              "repeats", "margin", "limit", "memory", "patience", "svg")
APP_ONLY = ("runs", "program")
LOGGP_ONLY = ("wire",)


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
    parser.add_argument("--margin", type=float, default=0.1)
    parser.add_argument("--limit", type=float, default=5)
    parser.add_argument("--patience", type=float, default=120)
    parser.add_argument("--memory", default="256M")
    parser.add_argument("--imbalance", action="append", default=[])
    parser.add_argument("--runs", type=int)
    parser.add_argument("--program")
    parser.add_argument("--svg")
    parser.add_argument("--wire")
    parser.add_argument("--build")
    for name in ("--info", "--bench", "--preload"):
        parser.add_argument(name)
    for name in ("--resume", "--dry-run", "--keep-going"):
        parser.add_argument(name, action="store_true")
    return parser


def refuse_given(parser, args, names, owner):
    for name in names:
        if getattr(args, name) != parser.get_default(name):
            parser.error("--%s belongs to %s" % (name.replace("_", "-"), owner))


def parse_app(parser, args, words):
    refuse_given(parser, args, ("mpirun", "bench", *SWEEP_ONLY[1:]), "sweep")
    refuse_given(parser, args, LOGGP_ONLY, "loggp")
    if not words:
        parser.error("app [options] -- LAUNCHER ... PROGRAM ARGS: nothing is to be run")
    if not args.out:
        parser.error("--out FILE is needed")
    args.minutes = math.inf if args.minutes is None else args.minutes
    if not args.minutes > 0 or (args.runs is not None and args.runs < 1):
        parser.error("--minutes: more than 0; --runs: 1 or more")
    args.out, args.words = os.path.abspath(args.out), words
    return args


def parse(argv):
    parser = new_parser()
    at = argv.index("--") if "--" in argv else len(argv)
    args = parser.parse_args(argv[:at])
    args.stopped = "; --resume goes on" if args.command == "sweep" else ""
    if args.help or args.version:
        return args
    if args.command not in ("app", "loggp", "sweep"):
        parser.error("expected app, loggp or sweep" + (", not '%s'" % args.command if args.command
                                                       else ""))
    if args.command == "app":
        return parse_app(parser, args, argv[at + 1:])
    if at < len(argv):
        parser.error("-- belongs to app")
    refuse_given(parser, args, APP_ONLY, "app")
    if not args.mpirun:
        parser.error("--mpirun 'mpirun -n 4': what starts a job?")
    for text in args.mpirun:
        check_command(parser, text)
    if args.command == "loggp":
        if len(args.mpirun) > 1:
            parser.error("--mpirun: one for loggp")
        refuse_given(parser, args, SWEEP_ONLY, "sweep")
        if args.wire not in (None, "host", "ib"):
            parser.error("--wire %s: expected host or ib" % args.wire)
        return args
    refuse_given(parser, args, LOGGP_ONLY, "loggp")
    if not args.out or args.minutes is None:
        parser.error("--out FILE and --minutes M are needed")
    if not 0 < args.minutes < 1e6:
        parser.error("--minutes: more than 0")
    if args.repeats < 1 or not 0 <= args.margin < 1 or not 0 < args.limit < math.inf:
        parser.error("--repeats: 1 or more; --margin: from 0 to 1; --limit: more than 0")
    if len(args.imbalance) > 8 or len(set(args.imbalance)) < len(args.imbalance):
        parser.error("--imbalance: 8 at most, each once")
    if not 0 < args.patience < math.inf:
        parser.error("--patience: more than 0")
    if read_size(args.memory) is None:
        parser.error("--memory: bytes such as 256M, not '%s'" % args.memory)
    args.sizes = read_sizes(parser, args.sizes)
    args.out = os.path.abspath(args.out)
    args.svg = os.path.abspath(args.svg) if args.svg else None
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
