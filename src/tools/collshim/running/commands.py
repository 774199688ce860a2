"""The commands of collshim-run."""

import contextlib
import json
import os
import shlex
import shutil
import signal
import sys
import tempfile

from collshim.failure import Failure
from collshim.files import write_whole
from collshim.info import Info
from collshim.installed import Places
from collshim.launchers import mismatch
from collshim.running import comparing, profiling, say
from collshim.running.arguments import USAGE, parse
from collshim.running.job import Stopped, line_with


def new_folder():
    """For the reports, which rank 0 writes, maybe on another machine: where the command is run, as
    that is most likely to be there on all of them."""
    here = os.getcwd()
    try:
        return tempfile.mkdtemp(prefix=".collshim-run-", dir=here)
    except OSError:
        return tempfile.mkdtemp(prefix="collshim-run-")


def page_of(data):
    """The report as HTML; None where this installation has no pages."""
    try:
        from collshim.reporting.page import html
    except ImportError:
        return None
    return html(data)


def keep(args, found, more):
    """--json, --report and --html: what was measured, and the run's report with it."""
    if args.json:
        print(json.dumps(more), file=args.out, flush=True)
    if not found:
        return
    data = dict(found.data, **more)
    if args.report:
        write_whole(args.report, json.dumps(data, indent=1) + "\n")
    if args.html and data.get("version") != 2:
        say("--html: the report is of another version of collshim: %s" % data.get("collshim"))
    elif args.html:
        text = page_of(data)
        if text is None:
            say("--html: collshim-report is not installed here")
        else:
            write_whole(args.html, text)
            say("written: " + args.html)


def compared(turns):
    comparison, interval = turns.comparison, turns.comparison.interval()
    return {"compare": {
        "without": comparison.without, "with": comparison.with_it, "gains": comparison.gains,
        "low": interval.low if interval else None, "mean": interval.mean if interval else None,
        "high": interval.high if interval else None, "verdict": comparison.lines()[0]}}


def profiled(parts):
    return {"profile": {"run": parts.run, "program": parts.program, "most": parts.most,
                        "verdict": parts.verdict()}}


def run_plain(args, library):
    """Becomes the launcher, so that stdin, signals and exit code are its own."""
    text = mismatch(args.command)
    if text:
        say(text)
    more = {"COLLSHIM_REPORT": os.path.abspath(args.report)} if args.report else {}
    line, environment = line_with(args, library, more)
    os.execvpe(line[0], line, environment)


def do_command(args, here):
    places = Places(args.build, here)
    if args.version:
        info = Info(places.find("collshim-info", None, places.patterns("collshim-info", "src")))
        print("collshim-run (%s)" % info.version)
        return 0
    library = places.library(args.library)
    if not shutil.which(args.command[0]):
        raise Failure(2, "no such command: " + args.command[0])
    for path in filter(None, (args.report, args.html)):
        folder = os.path.dirname(os.path.abspath(path))
        if not os.path.isdir(folder):
            raise Failure(2, "no such folder: " + folder)
    if args.dry_run:
        line, environment = line_with(args, library, {})
        more = ["%s=%s" % pair for pair in environment.items() if os.environ.get(pair[0]) !=
                pair[1]]
        print(shlex.join((["env"] + more if more else []) + line))
        return 0
    if not args.profile and not args.compare:
        return run_plain(args, library)
    folder, args.out = new_folder(), sys.stdout
    try:
        if args.profile:
            return profiling.profile(args, library, folder, lambda parts: keep(
                args, parts.found, profiled(parts)))
        with contextlib.redirect_stdout(sys.stderr if args.json else sys.stdout):
            return comparing.compare(args, library, folder, lambda turns: keep(
                args, turns.found, compared(turns)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def stop(number, frame):
    raise Stopped(number)


def main(argv, here):
    """here: the folder of the program."""
    try:
        args = parse(argv)
        if args.help:
            print(USAGE, end="", flush=True)
            return 0
        if args.compare:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                if signal.getsignal(number) != signal.SIG_IGN:    # nohup's
                    signal.signal(number, stop)
        code = do_command(args, here)
        sys.stdout.flush()
        return code
    except Failure as failure:
        say(str(failure))
        return failure.code
    except Stopped as stopped:
        say("stopped by %s: no verdict" % stopped)
        return 128 + stopped.number
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except BrokenPipeError:
        # | head: what was started is ended, and what is still to be said is dropped.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 128 + signal.SIGPIPE
    except OSError as error:
        say("%s: %s" % (error.filename or "error", error.strerror))
        return 1
