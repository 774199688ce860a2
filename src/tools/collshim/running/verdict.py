"""The statistics of a comparison by turns, and its verdict in words."""

import math
import statistics

from collshim.texts import seconds_text

LEAST = 3         # turns of which anything can be said
SPREAD = 0.25     # (longest - shortest) / median of equal runs, from which on nothing is said
# Student's t: 97.5 % quantiles by degrees of freedom.
T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
     2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
     2.052, 2.048, 2.045, 2.042)


class Interval:
    """Mean and 95 % confidence interval (Student's t) of three values or more, none of which can be
    above `most`."""

    def __init__(self, values, most=math.inf):
        count = len(values)
        half = T[min(count - 2, len(T) - 1)] * statistics.stdev(values) / math.sqrt(count)
        self.mean = statistics.mean(values)
        self.low, self.high = self.mean - half, min(self.mean + half, most)

    def sign(self):
        """1: more than nothing, -1: less, 0: cannot be told."""
        return (self.low > 0) - (self.high < 0)


def gain_text(interval, whole):
    """"3.10 s of 62.0 s (5.0 %), 95 %: 2.10 to 4.10 s", of a loss as well."""
    middle, low, high = abs(interval.mean), *sorted((abs(interval.low), abs(interval.high)))
    return "%s of %s (%.1f %%), 95 %%: %s to %s" % (
        seconds_text(middle), seconds_text(whole), 100 * middle / whole,
        seconds_text(low), seconds_text(high))


def spread_of(values):
    return (max(values) - min(values)) / statistics.median(values)


class Comparison:
    """Seconds of the runs by turns, without the library and with it; gains: seconds that each run
    with it has saved by its own account, where it has one; obstacles: why times are noise."""

    def __init__(self):
        self.without, self.with_it, self.gains, self.obstacles = [], [], [], []

    def turns(self):
        return min(len(self.without), len(self.with_it))

    def whole(self):
        return statistics.mean(self.without)

    def interval(self):
        """Of the gain in a whole run, by pairs; None of too few."""
        turns = self.turns()
        if turns < LEAST:
            return None
        return Interval([one - other for one, other in zip(self.without[:turns],
                                                           self.with_it[:turns])],
                        self.whole())

    def inner(self):
        """The same of the runs' own accounts."""
        return Interval(self.gains) if len(self.gains) >= LEAST else None

    def obstacle(self):
        """Why there can be no verdict; nothing where there can."""
        turns, reasons = self.turns(), list(self.obstacles)
        if turns < LEAST:
            reasons.append("%s, and it takes %d" % (
                "no turn was done" if not turns else "only %d turn%s done" % (
                    turns, " was" if turns == 1 else "s were"), LEAST))
        if reasons:
            return "; ".join(reasons)
        sides = ("without", spread_of(self.without)), ("with", spread_of(self.with_it))
        kind, spread = max(sides, key=lambda pair: pair[1])
        return "the runs %s collshim differ by %.0f %% among themselves" % (
            kind, 100 * spread) if spread > SPREAD else ""

    def is_decided(self):
        return not self.obstacle()

    def lines(self):
        """The verdict, and what it stands on."""
        obstacle, interval, inner = self.obstacle(), self.interval(), self.inner()
        found = ["no verdict: " + obstacle] if obstacle else [self.judged(interval, inner)]
        if obstacle and interval:
            found.append("what was measured all the same: %s" % range_text(interval, self.whole()))
        # More than a run takes cannot be gained: single calls then say nothing about rows of them.
        if inner and abs(inner.mean) < self.whole():
            found.append("inside the runs, by the calls that the MPI was given for comparison: %s%s"
                         % (direction_text(inner, self.whole()), self.doubt(interval, inner)))
        return found

    def doubt(self, interval, inner):
        """Calls that overlap, as a bcast's, take less time in a row than each by itself."""
        if interval.low <= inner.mean <= interval.high:
            return ""
        return " (not so in whole runs: its calls overlap, or it is another's time that changes)"

    def judged(self, interval, inner):
        whole = self.whole()
        if interval.sign():
            return direction_text(interval, whole)
        text = "no difference seen in whole runs, " + range_text(interval, whole)
        if inner and inner.sign() and not self.doubt(interval, inner):
            text = "%s in the collectives themselves, by %s; %s" % (
                "faster" if inner.sign() > 0 else "slower", gain_text(inner, whole), text)
        return text


def direction_text(interval, whole):
    if not interval.sign():
        return "no difference seen, " + range_text(interval, whole)
    return "%s with collshim: %s" % ("faster" if interval.sign() > 0 else "slower",
                                     gain_text(interval, whole))


def range_text(interval, whole):
    """Of the time of a run, as a change: less is faster."""
    return "%+.1f to %+.1f %% of the time" % (-100 * interval.high / whole,
                                              -100 * interval.low / whole)
