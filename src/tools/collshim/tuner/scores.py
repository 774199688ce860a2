"""What was measured of the candidates, who is measured again, and who is the answer."""

import math
import statistics

from collshim.ratios import mean_ratio, quartiles, spread, spread_text
from collshim.tuner.candidates import split_candidate

# What ends a candidate: below that part of the best (the host is 1) after a short measurement.
FAR_BEHIND = 0.85
MOST_SURVIVORS = 3
MOST_VARIED = 2         # candidates whose parameters are tried, for each question
# The waves that run the file: all its rules in one job, then a job for each collective.
TOGETHER, ALONE = "proof, together", "proof, alone"


def win_floor(margin, spread=0.0):
    """The ratio from which on ours is the faster, by the verdict of live choice (src/base/trial.c:
    is_better): by more than that part of the host's time, and by more than the spread of the
    host's times, the distance from the shortest to the median."""
    return 1 / (1 - min(max(margin, spread), 0.99))


def loss_floor(margin):
    """The ratio below which ours is slower, and not only disturbed."""
    return 1 - margin / 2


class Part:
    """Cells of a score, as (middle, least, most) and the rounds of all jobs. `middle`: mean over
    the cells of the medians; `least` and `most`: over cells and jobs (rounds, if there was one
    job); `low` and `high`: over cells, of the quartiles of the rounds of all jobs."""

    def __init__(self, cells, rounds, spreads):
        middles = [cell[0] for cell in cells]
        self.least = min(cell[1] for cell in cells)
        self.most = max(cell[2] for cell in cells)
        self.worst, self.middle = min(middles), mean_ratio(middles)
        quarters = [quartiles(ratios) for ratios in rounds]
        self.low, self.high = min(low for low, _ in quarters), max(high for _, high in quarters)
        self.usual_low = mean_ratio([low for low, _ in quarters])
        self.host_spread = statistics.mean(spreads)
        self.is_one = len(cells) == 1

    def floor(self, margin):
        return win_floor(margin, self.host_spread) if self.is_one else loss_floor(margin)

    def wins(self, margin):
        """In each job's median by the margin, and in three quarters of all rounds at all; over
        several cells: loses in no median, and both in the mean. Least rounds would be too strict:
        one that a stranger disturbed says nothing."""
        return self.least > self.floor(margin) and self.wins_in_the_mean(margin)

    def wins_in_the_mean(self, margin):
        return self.middle > win_floor(margin, self.host_spread) and self.usual_low > 1


class Score(Part):
    """Of a candidate at a question: ratios host / ours, of all its cells; `kinds`: {calls in a row,
    or the pattern of imbalance: the Part of these cells}."""

    def __init__(self, cells, jobs, rounds, spreads, proofs, rows):
        """jobs: repeats of the cell that has fewest, 0: a short measurement only; proofs: for each
        wave that ran the file, the cells' ratios; rows: for each cell, its kind"""
        super().__init__(cells, rounds, spreads)
        self.kinds = {row: Part(*([one for one, its in zip(all_of, rows) if its == row]
                                  for all_of in (cells, rounds, spreads)))
                      for row in dict.fromkeys(rows)}
        self.jobs = jobs
        self.proofs = proofs

    def wins(self, margin):
        """By one kind of calls, single ones or rows, and by all together; and loses by none more
        than the margin, so that a rule holds for both."""
        return (self.jobs > 0 and self.wins_in_the_mean(margin) and
                any(kind.wins(margin) for kind in self.kinds.values()) and
                all(kind.least > loss_floor(margin) for kind in self.kinds.values()) and
                self.holds(margin))

    def holds(self, margin):
        """In the jobs that ran the file: in the mean not slower than the host, in no cell by more
        than the margin."""
        return all(mean_ratio(ratios) > 1 and min(ratios) > loss_floor(margin)
                   for ratios in self.proofs)

    def may_win(self, margin):
        """After more repeats."""
        lowest = [(kind.least if self.jobs > 1 else kind.worst, kind.floor(margin))
                  for kind in self.kinds.values()]
        return any(least > floor for least, floor in lowest) and \
            all(least > loss_floor(margin) for least, _ in lowest)

    def text(self):
        jobs = "%d job%s" % (self.jobs, "" if self.jobs == 1
                             else "s") if self.jobs else "not repeated"
        if self.proofs:
            jobs += ", by this file %s" % " and ".join("%.2f" % mean_ratio(ratios)
                                                       for ratios in self.proofs)
        kinds = ", ".join("%s %.2f" % ({1: "single", 20: "in rows"}.get(row, row), kind.middle)
                          for row, kind in self.kinds.items())
        return "%s (%s) %s" % (spread_text(self.middle, self.low, self.high), kinds, jobs)


class Results:
    """What was measured at a shape, by cell, candidate and wave."""

    def __init__(self, runs):
        self.runs = {}
        for run in runs:
            self.add(run)

    def add(self, run):
        key = (run["collective"], run["size"], run["distribution"], run["row"], run["candidate"])
        self.runs.setdefault(key, {})[run["wave"]] = run

    def of(self, coll, cell, candidate):
        return self.runs.get((coll, *cell, candidate), {})

    def has(self, question, candidate, wave):
        return all(wave in self.of(question.coll, cell, candidate) for cell in question.cells)

    def score(self, question, candidate):
        """By the repeats if there are any, else by the short measurement; None where a cell was not
        measured."""
        cells, rounds, spreads, jobs = [], [], [], math.inf
        for cell in question.cells:
            runs = self.of(question.coll, cell, candidate)
            if not runs or any("skipped" in run for run in runs.values()):
                return None
            repeats = [run for wave, run in runs.items() if wave.startswith("fine")]
            ratios = [run["ratio"] for run in repeats]
            only = (repeats or list(runs.values()))[0]
            cells.append(spread(ratios) if len(ratios) > 1
                         else (only["ratio"], only["least"], only["most"]))
            # All of a job's rounds where they are three; what it tells of more is no wider.
            rounds.append([ratio for run in repeats or [only]
                           for ratio in (run["least"], run["ratio"], run["most"])])
            spreads.append(statistics.median(run.get("spread", 0) for run in repeats or [only]))
            jobs = min(jobs, len(repeats))
        proofs = [[self.of(question.coll, cell, candidate)[wave]["ratio"]
                   for cell in question.cells]
                  for wave in (TOGETHER, ALONE) if self.has(question, candidate, wave)]
        return Score(cells, jobs, rounds, spreads, proofs, [cell[-1] for cell in question.cells])

    def candidates(self, coll):
        return list(dict.fromkeys(key[-1] for key in self.runs if key[0] == coll))

    def scores(self, question, banned):
        """[(candidate, score)], best first."""
        found = [(candidate, self.score(question, candidate))
                 for candidate in self.candidates(question.coll)
                 if candidate not in banned]
        return sorted(((candidate, score) for candidate, score in found if score),
                      key=lambda pair: (-pair[1].middle, pair[0]))

    def host_us(self, coll, size, distribution=None):
        """The median of the host's times of a single call, None without any."""
        times = [run["host_us"] for key, runs in self.runs.items() for run in runs.values()
                 if key[:2] == (coll, size) and key[2] in (distribution, "regular", None) and
                 key[3] == 1 and "host_us" in run]
        return statistics.median(times) if times else None


def survivors(scores, repeat):
    """Who is measured (again) in that repeat, from 1; 0: whose parameters are tried."""
    best = max([1.0] + [score.middle for _, score in scores])
    near = [(candidate, score) for candidate, score in scores
            if score.middle >= FAR_BEHIND * best and score.worst >= FAR_BEHIND ** 2]
    if repeat == 0:
        return [candidate for candidate, _ in near][:MOST_VARIED]
    return [candidate for candidate, score in near if score.middle > 1][:MOST_SURVIVORS]


def still_wins(scores, margin):
    """After a repeat: who can still be the answer."""
    floor = max([0.0] + [score.least for _, score in scores])
    return [candidate for candidate, score in scores if score.most >= floor and
            score.may_win(margin)]


def answer(scores, margin):
    """(candidate or "host", the best candidate, its score), the last two None if nothing was
    measured. Other values of parameters must win by more than the margin against the defaults."""
    winners = [(candidate, score) for candidate, score in scores if score.wins(margin)]
    if not winners:
        best = [pair for pair in scores if pair[1].jobs] or scores or [(None, None)]
        return ("host", *best[0])
    near = [pair for pair in winners if pair[1].middle * win_floor(margin) >= winners[0][1].middle]
    best = next((pair for pair in near if not split_candidate(pair[0])[1]), winners[0])
    return (best[0], *best)


def decide(sweep, question, margin):
    """(candidate, best, score, is_open): answer(), and whether not all that might win was measured.
    Then what the built-in rules choose stays, in a rule, since without one the file's model would
    be asked; but the host in the place of what was seen to lose. None: they say nothing."""
    scores = sweep.scores(question)
    candidate, best, score = answer(scores, margin)
    is_open = candidate == "host" and (sweep.is_cut(question) or
                                       (best is None and sweep.can_answer(question)))
    if is_open:
        candidate = unless_lost(scores, sweep.built_in(question))
    return (candidate, best, score, is_open)


def unless_lost(scores, candidate):
    """The host in the place of what was seen to lose."""
    seen = dict(scores).get(candidate)
    return "host" if seen and (seen.most < 1 or not seen.holds(0)) else candidate
