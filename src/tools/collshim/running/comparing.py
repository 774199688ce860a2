"""collshim-run --compare: runs with the library and without it by turns.

Both kinds have the library loaded and write its report, from which the time between MPI_Init and
MPI_Finalize is taken; the runs "without" it have COLLSHIM_DISABLE=1, so that each call is handed on
by one jump. A first run, with it, is for warming up and for the facts."""

import math
import time

from collshim import machine
from collshim.launchers import find_launcher, mismatch
from collshim.running import say
from collshim.running.job import NoTime, Quiet, Stopped
from collshim.running.verdict import Comparison, direction_text
from collshim.texts import printable, seconds_text

TURNS, SHORT, MORE_TURNS = 5, 10, 9    # MORE_TURNS of runs of up to SHORT seconds
SIDES = {False: {"COLLSHIM_DISABLE": "1"}, True: {"COLLSHIM_DISABLE": "0"}}


def show(text):
    print(printable(text), flush=True)


def differing(one, other):
    """Lines of one and not of the other: ranks' lines come in any order."""
    return sorted(set(one.splitlines()) ^ set(other.splitlines()))


class Turns:
    def __init__(self, args, library, folder):
        self.args, self.jobs = args, Quiet(args, library, folder)
        self.comparison = Comparison()
        self.until = time.monotonic() + 60 * args.minutes if args.minutes else math.inf
        self.found = None      # of the last run with the library
        self.failure = ""
        self.is_whole = False  # are times those of whole commands?
        self.texts = {}        # side: its first output
        self.changed = []      # lines in which the sides differ

    def look(self):
        """At what else the machine does, while nothing of ours runs."""
        text = machine.busy_text()
        if text:
            reason = text.partition(":")[0]
            if not self.comparison.obstacles:
                show(text)
            self.comparison.obstacles = [reason] + [other for other in self.comparison.obstacles
                                                    if "are busy" not in other]

    def run(self, side):
        done = self.jobs.run(SIDES[side], self.until)
        if side:
            self.found = done.found
        self.texts.setdefault(side, done.text)
        if side and False in self.texts:
            self.changed = differing(self.texts[False], done.text)
        return done

    def first(self):
        """The run that is for the facts: how many turns follow."""
        done = self.run(True)
        crowded = done.found.crowded()
        served, calls, kinds = done.found.served()
        show("%s, a run of %s: %d of %d collectives of a rank served%s" % (
            done.found.shape(), seconds_text(done.found.run_seconds() or done.wall), served, calls,
            ": " + ", ".join("%s x%d" % pair for pair in kinds[:3]) if kinds else ""))
        if crowded:
            self.comparison.obstacles.append("more ranks than cores (%s)" % crowded)
            show("%s: times will be noise" % crowded)
        if done.found.run_seconds() is None:
            self.is_whole = True
            show("the time from MPI_Init on is not known here: that of whole commands is compared")
        if served == 0:
            show("collshim served nothing in it, so nothing can be gained")
        return self.args.turns or (MORE_TURNS if done.wall <= SHORT else TURNS), done.wall

    def turn(self, number, turns):
        self.look()
        seconds = {}
        # The second of a turn finds the machine as the other has left it.
        for side in (False, True) if number % 2 else (True, False):
            done = self.run(side)
            seconds[side] = done.wall if self.is_whole else done.found.run_seconds()
            if seconds[side] is None:
                raise NoTime("its report has no time from MPI_Init on")
            if side and done.found.gain() is not None:
                self.comparison.gains.append(done.found.gain())
        self.comparison.without.append(seconds[False])
        self.comparison.with_it.append(seconds[True])
        interval = self.comparison.interval()
        show("turn %d of %d: without %s, with %s%s" % (
            number, turns, seconds_text(seconds[False]), seconds_text(seconds[True]),
            "" if not interval else "; so far " + direction_text(interval,
                                                                 self.comparison.whole())))

    def run_all(self):
        self.look()
        turns, longest = self.first()
        for number in range(1, turns + 1):
            if time.monotonic() + 2 * longest > self.until:
                show("no time for turn %d of %d (--minutes)" % (number, turns))
                break
            start = time.monotonic()
            self.turn(number, turns)
            longest = max(longest, (time.monotonic() - start) / 2)

    def sum_up(self):
        comparison = self.comparison
        for line in comparison.lines():
            show(line)
        if comparison.turns():
            show("(seconds of a run %s, both sides by turns, %d each)" % (
                "with its start" if self.is_whole else "from MPI_Init to MPI_Finalize",
                comparison.turns()))
        if self.changed:
            show("the outputs differ in %d lines, as in: %s" % (len(self.changed),
                                                               self.changed[0].strip()[:100]))


def compare(args, library, folder, after=None):
    """The exit code. `after` is called with the Turns when they are over, however they ended."""
    turns = Turns(args, library, folder)
    if not find_launcher(args.command)[1]:
        say("no launcher is known in this line: the variables are set for all of it")
    text = mismatch(args.command)
    if text:
        say(text)
    turns.jobs.take_stdin()
    code = 0
    try:
        turns.run_all()
    except NoTime as failure:
        if time.monotonic() >= turns.until:
            show(str(failure))
        else:
            say("a run failed: " + str(failure))
            turns.comparison.obstacles.append("a run failed")
            code = 1
    except Stopped as stopped:
        show("stopped by " + str(stopped))
        code = 128 + stopped.number
    turns.sum_up()
    if after:
        after(turns)
    return code or (0 if turns.comparison.is_decided() else 3)
