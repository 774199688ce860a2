"""One run of the user's command with variables of ours."""

import contextlib
import os
import re
import shlex
import signal
import stat
import subprocess
import threading
import time

from collshim.jobs import follow_us, stop_job
from collshim.launchers import with_variables
from collshim.running import say
from collshim.running.found import Found

TICK = 30      # seconds between lines about a run that shows nothing
# For the program that asked us, as for the launcher.
HANDED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2,
             signal.SIGQUIT)


class NoTime(Exception):
    """A run that gives no time: why, in words."""


class Stopped(Exception):
    """By a signal."""

    def __init__(self, number):
        super().__init__(signal.Signals(number).name)
        self.number = number


def of_environment():
    """The library's variables that are set here: for the ranks, too."""
    return {name: value for name, value in os.environ.items() if name.startswith("COLLSHIM_")}


def line_with(args, preload, more):
    """(command line, environment) of a run with these variables besides the user's."""
    own = dict(text.split("=", 1) for text in args.set)
    line, environment = with_variables(args.command, dict({"LD_PRELOAD": preload}, **own, **more),
                                       of_environment())
    return line, dict(os.environ, **environment)


def report_variable(path):
    """COLLSHIM_REPORT of that path, in which the library would replace %j and its like."""
    return {"COLLSHIM_REPORT": path.replace("%", "%%")}


def no_report_text(path, library):
    if os.path.exists(path + ".2"):
        return "it ran as several jobs of one rank: the launcher is not that of the program's MPI"
    return "the library wrote no report. It was not in the ranks, or does not know their MPI, or " \
        "rank 0 did not call MPI_Finalize. A script that sets LD_PRELOAD itself must name %s" % \
        library


class Done:
    """A run that ended well: seconds of the whole command, and what was found."""

    def __init__(self, wall, found, text):
        self.wall, self.found, self.text = wall, found, text


class Quiet:
    """Runs whose output is kept and not shown, all with the same stdin."""

    def __init__(self, args, library, folder):
        self.args, self.library, self.folder = args, library, folder
        self.input, self.number = os.devnull, 0

    def take_stdin(self):
        """Keep stdin for all runs, to its end; a terminal is not handed on."""
        try:
            mode = os.fstat(0).st_mode
        except OSError:
            return
        if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
            return
        waiting = threading.Timer(3, say, ["waiting for the end of stdin, which each run is given: "
                                           "</dev/null if the program reads nothing"])
        waiting.daemon = True
        waiting.start()
        path = os.path.join(self.folder, "stdin")
        with open(path, "wb") as file:
            while True:
                data = os.read(0, 1 << 20)
                if not data:
                    break
                file.write(data)
        waiting.cancel()
        self.input = path

    def run(self, more, until):
        """Returns Done. Raises NoTime; and whatever comes while it runs, the job being ended."""
        self.number += 1
        report = os.path.join(self.folder, "report-%d.json" % self.number)
        more = dict(more, **report_variable(report))
        line, environment = line_with(self.args, self.library, more)
        paths = {name: os.path.join(self.folder, name) for name in ("stdout", "stderr")}
        start, job = time.monotonic(), None
        with open(self.input, "rb") as input, open(paths["stdout"], "wb") as output, \
                open(paths["stderr"], "wb") as errors:
            try:
                job = subprocess.Popen(line, stdin=input, stdout=output, stderr=errors,
                                       start_new_session=True, preexec_fn=follow_us,
                                       env=environment)
                code = self.wait(job, start, paths["stderr"], until)
            except OSError as error:
                raise NoTime("%s: %s" % (line[0], error.strerror)) from None
            finally:
                if job and job.returncode is None:
                    stop_job(job)
        wall = time.monotonic() - start
        texts = [read_text(path) for path in paths.values()]
        if code != 0:
            said = shortened(texts[0], 0, 4) + shortened(texts[1], 9, 6)
            raise NoTime("exit code %d: %s\n    %s" % (code, shlex.join(line), "\n    ".join(said)))
        found = Found.read(report)
        if not found:
            raise NoTime(no_report_text(report, self.library))
        return Done(wall, found, texts[0])

    def wait(self, job, start, errors, until):
        """The exit code. Hands on at once what the library says: of a job that waits for ever there
        is nothing else to be seen."""
        told, next_tick = 0, TICK
        limit = self.args.timeout
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return job.wait(max(0, min(2, until - time.monotonic(),
                                           (limit or TICK) + start - time.monotonic())))
            seconds = time.monotonic() - start
            if limit and seconds >= limit:
                raise NoTime("it did not end within %g s (--timeout)" % limit)
            if time.monotonic() >= until:
                raise NoTime("the time was up (--minutes) after %.0f s of it" % seconds)
            lines = [line for line in read_text(errors).splitlines()
                     if line.startswith("collshim:")]
            for line in lines[told:]:
                say(line)
            told = len(lines)
            if seconds >= next_tick:
                say("still running, since %.0f s" % seconds)
                next_tick += TICK


def read_text(path):
    with open(path, errors="replace") as file:
        return file.read()


def shortened(text, first, last):
    """Lines with words in them: a launcher says why it gives up at the beginning, a program at the
    end."""
    lines = [line for line in text.splitlines() if re.search(r"[^ \t*|=-]", line)]
    if len(lines) > first + last:
        lines[first:-last] = ["..."]
    return lines


class InFront:
    """A run that has our stdin, stdout and stderr, and all signals that we are sent."""

    def __init__(self, args):
        self.args, self.job, self.signal = args, None, None

    def hand_on(self, number, frame):
        self.signal = number
        # A key of the terminal has reached all of its processes; so has what is sent to the group.
        if self.job and not (number in (signal.SIGINT, signal.SIGQUIT) and has_terminal()):
            with contextlib.suppress(ProcessLookupError):
                self.job.send_signal(number)

    def run(self, line, environment):
        """(exit code as a shell gives it, seconds, whether --timeout ended it)"""
        for number in HANDED_ON:
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self.hand_on)
        start, is_late = time.monotonic(), False
        self.job = subprocess.Popen(line, env=environment, preexec_fn=follow_us)
        try:
            code = self.job.wait(self.args.timeout)
        except subprocess.TimeoutExpired:
            is_late = True
            code = stop_one(self.job)
        return code if code >= 0 else 128 - code, time.monotonic() - start, is_late


def has_terminal():
    """Are we the group that the terminal's keys are for?"""
    try:
        handle = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(handle) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(handle)


def stop_one(job):
    """A launcher in our own group, asked to end and then killed."""
    for number, patience in ((signal.SIGTERM, 20), (signal.SIGKILL, 5)):
        job.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return job.wait(patience)
    return -signal.SIGKILL
