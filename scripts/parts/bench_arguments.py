"""What scripts/bench is asked for."""

import argparse
import os
import re
import signal
import sys

from bench_against import check_library
from collshim import working_copy
from collshim.distributions import PARTS
from collshim.failure import Failure
from collshim.info import Info
from collshim.texts import listed, read_size, speaker

DISTRIBUTIONS = list(PARTS)
MPIS = ["mpich", "openmpi"]
SHAPES = "1x2,1x4,1x8,2x2,4x1,4x2,4x4"
SHAPES_BY_JOBS = "1x2,1x4,1x8,2x2,4x4"    # by turns of whole jobs, which take longer
COLLS_FROM_FIRST = "allgather,allreduce,alltoall,barrier,bcast,reduce"
MOST_ROWS = 8    # of collshim-bench, which takes no more
say = speaker("bench")


def refuse(message):
    raise Failure(2, message + " (scripts/bench --help)")


def split_list(option, text, known):
    return listed(text, known, lambda what: refuse("%s: %s" % (option, what)))


def parse(argv, usage):
    parser = argparse.ArgumentParser(usage=usage, add_help=False, allow_abbrev=False)
    parser.error = refuse
    parser.add_argument("-h", "--help", action="store_true")
    parser.add_argument("--render")
    parser.add_argument("--text", action="store_true")
    parser.add_argument("--against")
    parser.add_argument("--from-first", action="store_true")
    parser.add_argument("--shapes")
    parser.add_argument("--sizes", default="8,1K,8K,64K,1M")
    parser.add_argument("--colls")
    parser.add_argument("--mpis")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--algo")
    parser.add_argument("--rate")
    parser.add_argument("--root", default="0")
    parser.add_argument("--distribution", default="regular")
    parser.add_argument("-x", action="append", default=[], dest="variables")
    parser.add_argument("--out")
    parser.add_argument("--resume")
    parser.add_argument("--markdown")
    parser.add_argument("--seconds", type=float, default=0.15)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows")
    parser.add_argument("--limit", type=float, default=6)
    parser.add_argument("--memory", default="256M")
    parser.add_argument("--build")
    parser.add_argument("--preload")
    parser.add_argument("--no-rt", action="store_true")
    parser.add_argument("--no-bind", action="store_true")
    parser.add_argument("--no-why", action="store_true")
    args = parser.parse_args(argv)
    if args.help or args.render:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)    # | head ends what only tells quietly
    if args.help:
        print(usage, end="")
        sys.exit(0)
    if args.render:
        return args
    args.distribution = ",".join(split_list("--distribution", args.distribution,
                                            DISTRIBUTIONS + ["all"]))
    if args.repeats < 1:
        parser.error("--repeats: 1 or more")
    # As collshim-bench takes them: else each of its jobs would fail.
    if not 1 <= args.rounds <= 101:
        parser.error("--rounds: from 1 to 101")
    if args.from_first:
        check_from_first(parser, args)
    else:
        args.rows = read_rows(args.rows or "1,20")
    if not 0.001 <= args.seconds <= 1e6 or not 0.001 <= args.limit <= 1e6:
        parser.error("--seconds and --limit: seconds, from 0.001 to 1000000")
    if read_size(args.memory) is None:
        parser.error("--memory: '%s' is not a size such as 256M" % args.memory)
    args.sizes = read_sizes(args.sizes)
    if args.shapes is None:
        is_by_jobs = args.against is not None or args.from_first
        args.shapes = SHAPES_BY_JOBS if is_by_jobs else SHAPES
    args.shapes = [word[len("cluster:"):] if word.startswith("cluster:") else word
                   for word in args.shapes.split(",")]
    for shape in args.shapes:
        if not working_copy.read_shape(shape):
            parser.error("--shapes: '%s' is not NODESxRANKS, NODESxRANKS:cyclic, "
                         "NODESxRANKS:permuted or fake:NODESxRANKS" % shape)
        if shape.endswith(":permuted") and args.from_first:
            parser.error("--shapes: '%s': not with --from-first" % shape)
        if re.fullmatch(r"(fake:)?1x\d+:cyclic|fake:1x\d+", shape):
            parser.error("--shapes: '%s' is one node, round which nothing can be dealt" % shape)
    for word in args.variables:
        if "=" not in word:
            parser.error("-x: VAR=VALUE, not '%s'" % word)
    args.algo = args.algo.split(",") if args.algo else [None]
    args.out = os.path.abspath(args.out or args.resume or "collshim-bench.json")
    if args.out != os.path.abspath(args.resume or "") and os.path.exists(args.out):
        parser.error("--out: %s is there already (--resume goes on with it)" % args.out)
    find_programs(parser, args)
    return args


def check_from_first(parser, args):
    if args.against is not None:
        parser.error("--from-first: not with --against")
    if args.rows is not None:
        parser.error("--from-first: not with --rows")
    if args.preload == "none":
        parser.error("--from-first: --preload none is no library to be compared with")
    if "," in args.root or "," in args.distribution or args.distribution == "all":
        parser.error("--from-first: one --root and one --distribution, since a job has one first "
                     "call")
    args.rows, args.no_why = [1], True
    if args.colls is None:
        args.colls = COLLS_FROM_FIRST


def read_rows(text):
    words = text.split(",")
    for word in words:
        if not re.fullmatch(r"[1-9]\d{0,5}|1000000", word):
            refuse("--rows: '%s' is not a number of calls from 1 to 1000000" % word)
    rows = sorted(set(map(int, words)))
    if len(rows) > MOST_ROWS:
        refuse("--rows: more than %d" % MOST_ROWS)
    return rows


def read_sizes(text):
    for word in text.split(","):
        if read_size(word) is None:
            refuse("--sizes: '%s' is not a size such as 8, 4K or 1M" % word)
    return sorted({read_size(word) for word in text.split(",")})


def find_programs(parser, args):
    args.build = os.path.abspath(args.build or working_copy.build_folder())
    args.programs = {}
    for mpi in MPIS:
        path = os.path.join(args.build, "bench", "collshim-bench." + mpi)
        if os.path.exists(path):
            args.programs[mpi] = path
    if not args.programs:
        parser.error("--build: no collshim-bench in %s/bench: build it first (scripts/build)" %
                     args.build)
    if args.mpis is None:
        args.mpis = list(args.programs)
    else:
        args.mpis = split_list("--mpis", args.mpis, MPIS)
        for mpi in args.mpis:
            if mpi not in args.programs:
                parser.error("--mpis: %s was not built in %s" % (mpi, args.build))
    if args.preload is None:
        args.preload = os.path.join(args.build, "src", "libcollshim.so")
    if args.preload == "none":
        args.preload = None
        args.no_why = True
        if args.against is not None:
            parser.error("--against: --preload none is no library to be compared with it")
    elif not os.path.exists(args.preload):
        parser.error("--preload: no such file: " + args.preload)
    if args.against is not None:
        check_library("--against", args.against, args.mpis, parser.error)
        check_library("--preload", args.preload, args.mpis, parser.error)
        args.no_why = True
        if "COLLSHIM_MODULE_DIR" in os.environ:
            parser.error("--against: COLLSHIM_MODULE_DIR is set: both would take their modules "
                         "there")
    if args.colls == "":
        args.colls, args.known = [], {}
    else:
        args.known = Info(os.path.join(args.build, "src", "collshim-info")).collectives
        args.colls = list(args.known) if args.colls is None else \
            split_list("--colls", args.colls, args.known)
    if not args.no_rt and os.geteuid() != 0:
        say("not root: without SCHED_RR, so cells with more ranks than cores are noise")
        args.no_rt = True


def shown_command(argv):
    """The command for the docs: what does not matter elsewhere (where files lie) left out."""
    words, skip = [], False
    for word in argv:
        if word == "--against" or word.startswith("--against="):
            words += ["--against", "OLD.so"]
            skip = word == "--against"
        elif skip:
            skip = False
        elif word in ("--out", "--resume", "--markdown", "--build", "--preload"):
            skip = True
        elif not re.match(r"--(out|resume|markdown|build|preload)=", word):
            words.append(word)
    return " ".join(["scripts/bench"] + words)
