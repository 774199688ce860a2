"""collshim-run --profile: one run in which the MPI does everything, and is timed on all ranks
(COLLSHIM_PROFILE, src/profile)."""

import os
import signal
import sys

from collshim import machine
from collshim.launchers import find_launcher, mismatch
from collshim.running import say
from collshim.running.found import Found
from collshim.running.job import InFront, line_with, no_report_text, report_variable
from collshim.texts import printable, seconds_text

SMALL = 0.02    # of the run: a gain up to which nobody would notice it


class Parts:
    """The parts of a run, in seconds of a rank in the mean; None: not measured."""

    def __init__(self, found):
        self.found = found
        self.run = found.run_seconds()
        self.collectives = found.part("collectives") or 0
        self.waiting, self.moving = found.waiting(), found.moving()
        self.point_to_point, self.other = found.part("point_to_point"), found.part("other")
        self.nonblocking = found.part("nonblocking")    # waits and tests for them
        known = sum(part or 0 for part in (self.collectives, self.point_to_point, self.other,
                                           self.nonblocking))
        self.program = max(0, self.run - known)
        # Time that was not told apart may be moving, all of it.
        self.unknown = max(0, self.collectives - (self.waiting or 0) - (self.moving or 0))
        self.most = (self.collectives - (self.waiting or 0)) * found.servable() + \
            (self.nonblocking or 0)

    def share(self, seconds):
        return seconds / self.run if self.run else 0

    def largest(self):
        """The names of the parts outside of what could be gained, those with most time first."""
        parts = {"the program itself": self.program,
                 "point-to-point calls": self.point_to_point, "other MPI calls": self.other,
                 "waiting for late ranks in collectives": self.waiting}
        return sorted(((name, seconds) for name, seconds in parts.items() if seconds),
                      key=lambda pair: -pair[1])

    def is_worth_it(self):
        return self.share(self.most) >= SMALL

    def lines(self):
        yield "profile of a run by the MPI alone: %s" % self.found.shape()
        yield "  run              %9s           from MPI_Init to MPI_Finalize, as all here of a " \
            "rank in the mean" % seconds_text(self.run)
        rows = [("collectives", self.collectives), ("point-to-point", self.point_to_point),
                ("other MPI calls", self.other), ("the program", self.program)]
        if self.nonblocking:
            rows.insert(1, ("their requests", self.nonblocking))
        for name, seconds in rows:
            if seconds is None:
                yield "  %-16s not measured" % name
                continue
            text = "  %-16s %9s  %5.1f %%" % (name, seconds_text(seconds),
                                               100 * self.share(seconds))
            if name == "collectives" and self.waiting is not None and self.moving is not None:
                text += "  %s waiting for late ranks, %s moving data" % (
                    seconds_text(self.waiting), seconds_text(self.moving))
                if self.share(self.unknown) > 0.001:
                    text += ", %s not told apart" % seconds_text(self.unknown)
            elif name == "their requests":
                text += "  waits and tests for non-blocking collectives"
            yield text
        yield self.verdict()
        overhead = self.overhead()
        if overhead is not None:
            yield "profiling took about %s of a rank (%.1f %%)" % (seconds_text(overhead),
                                                                   100 * self.share(overhead))

    def overhead(self):
        """Seconds that rank 0 spent on timing and counting calls; None: not known."""
        spent = self.found.facts.get("profile overhead ns")
        return None if spent is None else spent / 1e9

    def verdict(self):
        most = "%s (%.1f %%)" % (seconds_text(self.most), 100 * self.share(self.most))
        if not self.is_worth_it():
            return "collshim is not worth it for this program: at most %s could be gained, below " \
                "%.0f %%. The time is in %s" % (most, 100 * SMALL, " and ".join(
                    "%s (%.0f %%)" % (name, 100 * self.share(seconds))
                    for name, seconds in self.largest()[:2]) or "nothing that was measured")
        return "the most that collshim could gain is about %s: the time in which collectives " \
            "that it serves move data%s%s; waiting for late ranks would stay. --compare " \
            "measures what it does gain" % (
                most, " or wait, which was not told apart"
                if self.unknown > 0.1 * self.collectives else "",
                " and in which non-blocking ones are waited for" if self.nonblocking else "")


def show(text):
    """On stderr: stdout is the program's."""
    print("collshim-run: " + printable(text), file=sys.stderr, flush=True)


def no_profile(in_front, code, is_late, report, library):
    """Why there is none."""
    if is_late:
        return "no profile: it did not end within %g s (--timeout)" % in_front.args.timeout
    if in_front.signal:
        return "no profile: stopped by %s before the ranks reached MPI_Finalize" % \
            signal.Signals(in_front.signal).name
    if code:
        return "no profile: the command ended with exit code %d" % code
    return "no profile: " + no_report_text(report, library)


def preload_of(library):
    """The library and, behind it, the one that times the MPI's calls."""
    profiler = os.path.join(os.path.dirname(library), "collshim", "collshim-profile.so")
    if os.path.exists(profiler):
        return library + ":" + profiler
    say("%s is not there: point-to-point calls are not timed" % profiler)
    return library


def profile(args, library, folder, after=None):
    """The exit code. `after` is called with the Parts, if there are any."""
    report = os.path.join(folder, "profile.json")
    line, environment = line_with(args, preload_of(library),
                                  dict(report_variable(report), COLLSHIM_PROFILE="1",
                                       COLLSHIM_DISABLE="0", COLLSHIM_REPRODUCIBLE="0"))
    text = machine.busy_text()
    if text:
        show(text)
    if not find_launcher(args.command)[1]:
        say("no launcher is known in this line: the variables are set for all of it")
    text = mismatch(args.command)
    if text:
        say(text)
    in_front = InFront(args)
    code, _, is_late = in_front.run(line, environment)
    found = Found.read(report)
    if not found or not found.run_seconds():
        show(no_profile(in_front, code, is_late, report, library) if not found else
             "no profile: the report has no time from MPI_Init on")
        return code or 1
    crowded = found.crowded()
    if crowded:
        show("more ranks than cores (%s): times have waiting for cores in them" % crowded)
    parts = Parts(found)
    for text in parts.lines():
        show(text)
    if after:
        after(parts)
    return code
