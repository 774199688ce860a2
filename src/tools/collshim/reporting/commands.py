"""The command collshim-report."""

import argparse
import json
import os
import signal
import sys

from collshim.failure import Failure
from collshim.files import write_whole
from collshim.reporting import bench, page, recorded
from collshim.reporting.advice import advice, verdict
from collshim.reporting.draw import seconds_text
from collshim.reporting.tables import tables
from collshim.texts import printable, speaker

USAGE = """\
collshim-report - shows what a run's collectives did: a page for a browser, and a few lines.

  collshim-report RUN.json [-o RUN.html]           the report of COLLSHIM_REPORT=RUN.json
  collshim-report RUN.json ARRIVALS...             with the arrivals of all calls
  collshim-report ARRIVALS... [-o FILE.html]       files of COLLSHIM_ARRIVALS: tables
  collshim-report BENCH.json... [-o FILE.svg]      what collshim-bench --json has measured: curves

  -o FILE            the page; default for a report: its name with .html, which is replaced. "-":
                     standard output, and nothing else there
  --svg              of a bench's: the curves alone, as in a file that is named .svg
  --collectives LIST of a bench's: these alone, with commas
  --json             prints what was measured of arrivals as JSON, or the report with the names of
                     its call sites
  --min-lat NS       a message's least time, for the imbalance factors of arrivals; default: half
                     of the shortest round trip between two nodes
  --version, --help
"""
BENCH = "collshim-bench"    # a key of its files
say = speaker("collshim-report")


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Failure(2, "%s\nTry: collshim-report --help" % message)


def parse(words):
    parser = Parser(prog="collshim-report", add_help=False, allow_abbrev=False)
    parser.add_argument("files", nargs="*")
    parser.add_argument("-o", dest="out")
    parser.add_argument("--collectives")
    parser.add_argument("--svg", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--min-lat", type=int, default=0)
    parser.add_argument("--help", "-h", action="store_true")
    parser.add_argument("--version", action="store_true")
    args = parser.parse_args(words)
    if args.min_lat < 0 or ("--min-lat" in " ".join(words) and not args.min_lat):
        raise Failure(2, "--min-lat: expected nanoseconds, 1 or more")
    return args


def is_recording(path):
    if path == "-":
        return False
    try:
        with open(path, "rb") as file:
            return not file.read(1) == b"{"
    except OSError:
        return not path.endswith(".json")


def read(path):
    """The object in a file of JSON; "-": standard input."""
    try:
        with open(0 if path == "-" else path, encoding="utf-8", errors="replace") as file:
            data = json.load(file)
    except OSError as error:
        raise Failure(1, "%s cannot be read: %s" % (path, error.strerror))
    except ValueError as error:
        raise Failure(1, "%s is no report: %s" % (path, error))
    return data if isinstance(data, dict) else {}


def check_report(path, data):
    if not isinstance(data.get("rows"), list):
        raise Failure(1, "%s is no report of COLLSHIM_REPORT" % path)
    if data.get("version") != 2:
        raise Failure(1, "%s has version %s of the report; known is 2 (collshim %s wrote it)" % (
            path, data.get("version", 1), data.get("collshim")))


def summary(data):
    lines = [verdict(data)]
    if data.get("why_alone"):
        lines.append("Only rank 0 is in this report: %s." % data["why_alone"])
    lines += ["%s%s" % ("%s: " % seconds_text(seconds) if seconds else "", text)
              for seconds, text in advice(data)]
    return "\n".join(printable(line) for line in lines if line)


def put(path, text):
    if path == "-":
        sys.stdout.write(text)
    else:
        write_whole(path, text)


def show_arrivals(args, files):
    found, calls = recorded.measured(files, args.min_lat)
    if args.json:
        print(json.dumps(found, indent=1))
    elif args.out != "-":
        sys.stdout.write(tables(found))
    if args.out:
        put(args.out, page.html({"arrivals": found, "rows": [], "ranks": found["ranks"],
                                 "lateness": recorded.lateness(files, calls),
                                 "by_rank": {"rank": [row["rank"] for row in found["rank_files"]],
                                             "node": files.node}}))


def show_benches(args, paths, benches):
    for path, data in zip(paths, benches):
        bench.check(path, data)
        if len(benches) > 1 and (data.get("overlap") or data.get("imbalance")):
            raise Failure(2, "%s: a file of --overlap or --imbalance goes alone" % path)
    colls = args.collectives.split(",") if args.collectives else None
    for coll in colls or ():
        if not any(case["collective"] == coll for data in benches for case in data["cases"]):
            raise Failure(2, "--collectives: %s was not measured" % coll)
    out = args.out or os.path.splitext(paths[0])[0] + (".svg" if args.svg else ".html")
    put(out, (bench.drawn if args.svg or out.endswith(".svg") else bench.html)(benches, colls))
    if not args.out:
        print("page: " + printable(out))


def show_report(args, path, data, files):
    check_report(path, data)
    if files:
        data["arrivals"], calls = recorded.measured(files, args.min_lat)
        data["lateness"] = recorded.lateness(files, calls) or data.get("lateness")
    out = args.out or os.path.splitext(path)[0] + ".html"
    text = page.html(data)
    if args.json:
        print(json.dumps(data, indent=1))
    elif out != "-":
        print(summary(data))
        print("page: " + printable(out))
    if args.out or not args.json:
        put(out, text)


def run(words):
    args = parse(words)
    if args.help or args.version:
        print(USAGE if args.help else "collshim-report, of reports of version 2",
              end="" if args.help else "\n")
        return 0
    if not args.files:
        raise Failure(2, "no file was named\nTry: collshim-report --help")
    reports = [path for path in args.files if not is_recording(path)]
    read_ones = [read(path) for path in reports]
    are_benches = [BENCH in data for data in read_ones]
    if reports and all(are_benches):
        if len(reports) < len(args.files) or args.json:
            raise Failure(2, "a file of collshim-bench goes with no others, nor with --json")
        show_benches(args, reports, read_ones)
        return 0
    if args.collectives or args.svg:
        raise Failure(2, "--collectives and --svg are of files of collshim-bench")
    if len(reports) > 1:
        raise Failure(2, "one report at a time: %s, %s" % tuple(reports[:2]))
    paths = [path for path in args.files if path not in reports]
    files = recorded.Files(paths, lambda path, text: say("%s: %s" % (path, text)))
    if reports:
        show_report(args, reports[0], read_ones[0], files if files.files else None)
    elif files.files:
        show_arrivals(args, files)
    return 1 if files.unusable else 0


def main(words):
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        return run(words)
    except Failure as failure:
        for line in str(failure).split("\n"):
            say(line) if not line.startswith("Try") else print(line, file=sys.stderr)
        return failure.code
