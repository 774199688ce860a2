"""The sweep of one shape."""

import contextlib
import math
import os
import statistics

from collshim.failure import Failure
from collshim.files import write_whole
from collshim.said import ignored, unmet
from collshim.texts import bytes_text, minutes_text
from collshim.tuner import say
from collshim.tuner.candidates import list_candidates, variants, without_defaults
from collshim.tuner.jobs import job_path, run_job
from collshim.tuner.questions import ROWS, list_questions, size_range
from collshim.tuner.rules import tuning_text
from collshim.tuner.scores import ALONE, TOGETHER, Results, answer, still_wins, survivors
from collshim.tuner.shapes import explained, shape_text, warnings_of

MOST_CASES = 1000       # of one job: collshim-bench takes no more
MOST_JOB_SECONDS = 60   # of one job, as expected: so much is lost when one is killed
# Of a shape's time, by the end of that wave; the others': all.
SHARES = {"loggp": 0.1, "coarse": 0.42, "params": 0.52, "fine": 0.74}
COARSE_SECONDS = (0.02, 0.2)                              # for a case, at least and at most
FINE_SECONDS = (0.05, 0.4)
COARSE_ROUNDS, FINE_ROUNDS = 2, 3
# Calls, of either side's, that the bench makes at least in each round of a case: single ones and
# rows.
LEAST_CALLS = {1: 8, 20: 14}
LEAST_LATE = 3    # of calls to which ranks come late


class Item:
    """One candidate to be measured at one question in a wave."""

    def __init__(self, question, candidate, wave):
        self.question, self.candidate, self.wave = question, candidate, wave


class Job:
    """Items of one wave that one job can measure: for each collective and size one candidate,
    unless the file chooses."""

    def __init__(self, wave):
        self.wave = wave
        self.items, self.chosen, self.seconds, self.count = [], {}, 0.0, 0

    def fits(self, item):
        if item.wave != self.wave or (self.items and
                                      item.question.kinds != self.items[0].question.kinds):
            return False
        if self.wave == ALONE:
            return all(item.question.coll == other.question.coll for other in self.items)
        return self.wave == TOGETHER or self.chosen.get(self.key(item),
                                                        item.candidate) == item.candidate

    @staticmethod
    def key(item):
        return item.question.coll, item.question.size

    def add(self, item, seconds):
        self.items.append(item)
        self.chosen[self.key(item)] = item.candidate
        self.seconds += seconds
        self.count += len(item.question.cells)

    def cells(self):
        return [(item.question.coll, *cell) for item in self.items for cell in item.question.cells]

    def forced(self, sizes_of):
        """{variable without COLLSHIM_: text}"""
        texts = {}
        for coll in dict.fromkeys(coll for coll, _ in self.chosen):
            candidates = {size: candidate for (name, size), candidate in self.chosen.items()
                          if name == coll}
            if len(set(candidates.values())) == 1:
                texts[coll.upper()] = next(iter(candidates.values()))
            else:
                texts[coll.upper()] = ",".join("%s-%s=%s" %
                                               (*map(bytes_text, size_range(sizes_of(coll), size)),
                                                candidate)
                                       for size, candidate in sorted(candidates.items()))
        return texts


def case_text(coll, size, distribution):
    words = [coll]
    if coll != "barrier":
        words.append(str(size))
    if distribution:
        words.append(distribution)
    return ":".join(words)


class Sweep:
    """One shape's waves: coarse (all candidates), params (values of parameters), fine 1 to N (the
    best again), proof (what the file would say, as a program meets it: no forcing, other calls
    before each, more rounds)."""

    def __init__(self, args, tools, state, shape, knows_skew, position):
        self.args, self.tools, self.state = args, tools, state
        self.shape, self.position = shape, position
        self.results = Results(shape["runs"])
        self.collectives = tools.info.collectives
        self.questions = list_questions(args, self.collectives, shape["ranks"], knows_skew,
                                        shape["patterns"])
        self.candidates = list_candidates(tools.info, args.colls, args.sizes[0], shape)
        self.built_ins, self.told = {}, {}
        self.waves = ["coarse", "params"] + ["fine %d" % (repeat + 1)
                                             for repeat in range(args.repeats)] + \
            ["proof"]
        # Of each job, what it took over what was expected: the next ones' estimates are corrected.
        self.factors = []
        self.began = state.spent()
        self.ends = self.began
        self.empty_jobs = 0
        self.job_count = 0

    # what is to be measured

    def banned(self, coll):
        return [name for name in self.shape["banned"].get(coll, {})]

    def scores(self, question):
        return self.results.scores(question, self.banned(question.coll))

    def built_in(self, question):
        """What serves it by the built-in rules; None if that is not one thing for all of it, or not
        known."""
        return self.built_in_at(question, question.size or 0)[2]

    def built_in_at(self, question, size):
        """(low, high, what serves the sizes from low to high by the built-in rules), around that
        size."""
        key = question.coll, question.skew, question.imbalance
        known = self.built_ins.setdefault(key, [])
        for part in known:
            if part[0] <= size < part[1]:
                return part
        told = [self.built_in_use(question, size, found) for found in
                self.explained(question, size)]
        uses = {use for _, _, use in told}
        use = uses.pop() if len(uses) == 1 else None
        known.append((max(low for low, _, _ in told), min(high for _, high, _ in told), use))
        return known[-1]

    def explained(self, question, size):
        """What the library says of a call of that size, for each skew that stands for the
        question's."""
        key = question.coll, question.skew, question.imbalance, size
        if key not in self.told:
            skews = [question.skew] if question.skew in ("", None, "1") else [
                "2", str(self.shape["ranks"])]
            self.told[key] = [self.explained_for(question, size, skew) for skew in skews]
        return self.told[key]

    def explained_for(self, question, size, skew):
        coll, mpi = self.collectives[question.coll], self.shape["flavour"]
        call = coll.name if question.size is None else "%s:%d" % (coll.name, size)
        more = ["--mpi", mpi] if mpi in ("mpich", "openmpi") else []
        more += ["--skew", skew] if skew else []
        more += ["--imbalance", question.imbalance] if question.imbalance else []
        return explained(self.tools.info, self.shape, call, *more)

    def built_in_use(self, question, size, found):
        coll, chosen = self.collectives[question.coll], found["chosen"]
        if question.size is None or not chosen:
            return 0, math.inf, without_defaults(coll, chosen)
        high = chosen["bytes_high"]
        return chosen["bytes_low"], math.inf if high is None else high, without_defaults(coll,
                                                                                         chosen)

    def built_in_parts(self, question, low, high):
        """[(low, high, what)] of the sizes from low to high, as the built-in rules cut them."""
        parts = []
        while low < high:
            _, end, use = self.built_in_at(question, low)
            parts.append((low, min(end, high), use))
            low = end
        return parts

    def all_candidates(self, question):
        """The algorithms, and before them what live choice would try of them with other parameters,
        among it what the built-in rules use: a rule stands before theirs, and must not hide what is
        better unseen."""
        names, own = self.candidates[question.coll], self.built_in(question)
        return [name for name in dict.fromkeys([own, *self.live(question)])
                if name not in (None, "host", *names)] + names

    def live(self, question):
        """The candidates of live choice (src/select/candidates.c)."""
        coll = self.collectives[question.coll]
        return [without_defaults(coll, one) for found in
                self.explained(question, question.size or 0) for one in found["candidates"]]

    def wanted(self, wave, question):
        """The candidates of a wave at a question; depends on what was measured, not on time."""
        if wave == "coarse":
            return self.all_candidates(question)
        if wave == "proof":
            candidate = answer(self.scores(question), self.args.margin)[0]
            return [] if candidate == "host" else [candidate]
        scores = self.short_scores(question, wave)
        if wave == "params":
            known = self.all_candidates(question)
            names = survivors([pair for pair in scores
                               if pair[0] in self.candidates[question.coll]], 0)
            lists = [variants(name, self.collectives[question.coll], question, self.shape["ranks"],
                              self.shape["nodes"]) for name in names]
            return [name for names in lists for name in names if name not in known]
        if wave == "fine 1":
            return survivors(scores, 1)
        repeated = still_wins([pair for pair in scores if pair[1].jobs], self.args.margin)
        # Who looked best may only have been lucky: then it is the others' turn.
        return repeated or survivors([pair for pair in scores if not pair[1].jobs], 1)

    def short_scores(self, question, wave):
        """As they were when the wave began, so that a sweep that goes on decides alike."""
        earlier = self.waves[:self.waves.index(wave)]
        kept = Results([run for runs in self.results.runs.values() for run in runs.values()
                        if run["wave"] in earlier and run["collective"] == question.coll])
        return kept.scores(question, self.banned(question.coll))

    def items(self, wave):
        """The k-th candidate of every question, for k = 1, 2, ...: each such row is a job. Of a
        proof, what is still to be run together or, after that, alone."""
        lists = [(question, [name for name in self.wanted(wave, question)
                             if name not in self.banned(question.coll)])
                             for question in self.questions]
        longest = max([len(names) for _, names in lists] + [0])
        for part in (TOGETHER, ALONE) if wave == "proof" else (wave,):
            found = [Item(question, names[k], part) for k in range(longest) for question,
                     names in lists
                     if k < len(names) and not self.results.has(question, names[k], part)]
            if found:
                return found
        return []

    def is_cut(self, question):
        """Has time run out before all its candidates were measured, and those repeated that might
        win? Other values of parameters do not count: their algorithm was measured."""
        banned = self.banned(question.coll)
        waves = [wave for wave in self.shape["left_out"] if wave not in ("params", "proof")]
        return any(name not in banned and not self.results.has(question, name, wave)
                   for wave in waves for name in self.wanted(wave, question))

    def can_answer(self, question):
        """Is there a candidate that may be used?"""
        return any(name not in self.banned(question.coll)
                   for name in self.candidates[question.coll])

    # time

    def case_seconds(self, wave):
        return self.shape["case_seconds"]["coarse" if wave in ("coarse", "params") else "fine"]

    def set_case_seconds(self):
        """From the time that there is; kept in the state."""
        cells = sum(len(question.cells) for question in self.questions)
        lists = [(question, self.all_candidates(question)) for question in self.questions]
        coarse = sum(len(question.cells) * len(names) for question, names in lists)
        rows = max(len(names) for _, names in lists)
        whole, startup, repeats = self.ends - self.began, self.shape["startup"], self.args.repeats
        # A case takes half as long again; two candidates of a question are repeated.
        short = (SHARES["coarse"] * whole - rows * startup) / (1.5 * max(coarse, 1))
        fine = ((SHARES["fine"] - SHARES["params"]) * whole - 2 * repeats * startup) / (3 * cells *
                                                                                        repeats)
        self.shape["case_seconds"] = {
            name: round(min(max(seconds, low), high), 4)
            for name, seconds, (low, high) in (("coarse", short, COARSE_SECONDS),
                                               ("fine", fine, FINE_SECONDS))}

    def estimate(self, item, wave):
        """Seconds of an item: its time, or what the fewest calls of a slow case take."""
        rounds = COARSE_ROUNDS if wave in ("coarse", "params") else FINE_ROUNDS
        seconds = 0.0
        for size, distribution, row in item.question.cells:
            call = 2e-6 * (self.results.host_us(item.question.coll, size, distribution) or 0)
            least = LEAST_CALLS.get(row, LEAST_LATE) * rounds * call
            seconds += max(self.case_seconds(wave), least) + 16 * call + 0.01
        return seconds

    def factor(self):
        return statistics.median(self.factors) if self.factors else 1.0

    def wave_end(self, wave):
        return self.began + SHARES.get(wave.partition(" ")[0], 1.0) * (self.ends - self.began)

    def left(self, wave, items):
        """Seconds that this shape may still take."""
        now = sum(self.estimate(item, wave)
                  for item in items) * self.factor() + self.shape["startup"]
        later = 0.0
        cells = sum(len(question.cells) for question in self.questions)
        once = cells * self.case_seconds("fine") + self.shape["startup"]
        if wave in ("coarse", "params"):
            later = self.args.repeats * once
        if wave != "proof":
            later += 2 * once + len(self.args.colls) * self.shape["startup"]
        return min(now + later, max(self.ends - self.state.spent(), 0))

    # running

    def run(self, ends):
        self.ends = ends
        if not self.shape.get("case_seconds"):
            self.set_case_seconds()
        for wave in self.waves:
            if wave not in self.shape["closed"]:
                self.run_wave(wave)
                self.shape["closed"].append(wave)
                self.state.write()

    def run_wave(self, wave):
        """Until all is measured, or the wave's time is up."""
        while True:
            items = self.items(wave)
            if not items:
                return
            job = self.pack(items, wave)
            if not job.items:
                left_out = len({(item.question.coll, item.candidate) for item in items})
                self.shape["left_out"][wave] = left_out
                say("%s, %s: the time is up, %d candidates are left out" %
                    (shape_text(self.shape), wave, left_out))
                return
            self.tell(wave, job, items)
            self.run_one(wave, job)

    def pack(self, items, wave):
        """As many items as go into one job of at most a minute or the time that is left."""
        room = (self.wave_end(wave) - self.state.spent() - self.shape["startup"]) / self.factor()
        job = Job(items[0].wave)
        for item in items:
            seconds = self.estimate(item, wave)
            longest = min(room, MOST_JOB_SECONDS) if job.items else room
            count = job.count + len(item.question.cells)
            is_short = job.seconds + seconds <= longest and count <= MOST_CASES
            if is_short and job.fits(item):
                job.add(item, seconds)
        return job

    def tell(self, wave, job, items):
        self.job_count += 1
        part = 100 * self.state.spent() / (60 * self.args.minutes)
        say("%3d %%  %s (%s), %s, job %d: %d case%s, about %s left for it" % (
            min(part, 100), shape_text(self.shape), self.position, wave, self.job_count, job.count,
            "" if job.count == 1 else "s", minutes_text(self.left(wave, items))))

    def program(self, wave, job):
        is_short = wave in ("coarse", "params")
        cases = ",".join(dict.fromkeys(case_text(*cell[:3]) for cell in job.cells()))
        question = job.items[0].question
        kinds = [word for pattern in question.kinds for word in ("--imbalance", pattern)] \
            if question.imbalance else ["--rows", ",".join(map(str, ROWS))]
        return [self.shape["bench"], "--cases", cases, "-t", "%g" % self.case_seconds(wave),
                "--repeat", str(COARSE_ROUNDS if is_short else FINE_ROUNDS), *kinds,
                "--limit", "%g" % self.args.limit, "--memory", self.args.memory]

    def sizes_of(self, coll):
        return sorted({question.size for question in self.questions if question.coll == coll and
                       question.size})

    def run_one(self, wave, job):
        budget = self.ends - self.state.spent() + 1
        with self.settings_of(job) as settings:
            done = run_job(self.tools, self.shape["mpirun"], settings, self.program(wave, job),
                           self.args.out, budget,
                           self.args.patience + self.shape["startup"])
        self.factors.append(done.seconds / (job.seconds + self.shape["startup"]))
        refused = self.hear(job, done)
        measured = self.take(job, done, refused)
        is_cut = done.code is None and done.seconds >= budget
        if not is_cut and (done.code != 0 or measured < job.count):
            self.note_failure(job, done, measured)
        else:
            self.empty_jobs = 0
        self.state.write()

    @contextlib.contextmanager
    def settings_of(self, job):
        """What makes the job's choices: forcing, or the file as it would be written now."""
        if job.wave not in (TOGETHER, ALONE):
            yield job.forced(self.sizes_of)
            return
        path = job_path(self.args.out, "yaml")
        write_whole(path, tuning_text([self], self.args, self.tools, self.state, False))
        try:
            # As it is measured in a run that is long enough.
            yield {"TUNING": path, "IMBALANCE": job.items[0].question.imbalance or "balanced"}
        finally:
            os.unlink(path)

    def hear(self, job, done):
        """Warnings of collshim: said once; collectives whose forcing was refused lose their
        candidates."""
        refused = set()
        for line in warnings_of(shape_text(self.shape), done.said):
            if "tuning" in ignored(line):
                raise Failure(1, "%s: the ranks do not take the tuning file: %s" %
                              (shape_text(self.shape), line))
            words = ignored(line) | unmet(line)
            refused |= words
            if not words and line not in self.shape["said"]:
                self.shape["said"].append(line)
                say("in %s: %s" % (shape_text(self.shape), line))
        for item in job.items:
            if item.question.coll in refused:
                self.ban(item, "is refused")
        return refused

    def ban(self, item, why):
        self.shape["banned"].setdefault(item.question.coll, {})[item.candidate] = why

    def take(self, job, done, refused):
        """Adds the job's cases; returns how many there were."""
        cases = (done.result or {}).get("cases", [])
        owner = {}
        for item in job.items:
            for cell in item.question.cells:
                owner[(item.question.coll, *cell)] = item
        for case in cases:
            pattern = case.get("imbalance")
            cell = (case["collective"], case["size"], case["distribution"], pattern or case["row"])
            item = owner.get(cell)
            if item is None or cell[0] in refused:
                continue
            run = {"wave": item.wave, "collective": cell[0], "size": cell[1],
                   "distribution": cell[2], "row": cell[3],
                   "candidate": item.candidate}
            if "skipped" in case:
                run["skipped"] = case["skipped"]
            else:
                host, rounds = (case["host"]["mean_us"], case["host"]["rounds_mean_us"]) \
                    if pattern else (case["host_us"], case["host_rounds_us"])
                run.update(ratio=case["ratio"], least=case["ratio_min"], most=case["ratio_max"],
                           host_us=host, spread=1 - min(rounds) / host if host > 0 else 0)
            self.shape["runs"].append(run)
            self.results.add(run)
        return len(cases)

    def note_failure(self, job, done, measured):
        cells = job.cells()
        self.empty_jobs = 0 if measured else self.empty_jobs + 1
        text = "%s: after all cases: %s" % (shape_text(self.shape), done.words())
        if measured < len(cells):
            guilty = next(item for item in job.items for cell in item.question.cells
                          if (item.question.coll, *cell) == cells[measured])
            text = "%s: %s by %s: %s" % (shape_text(self.shape), guilty.question, guilty.candidate,
                                         done.words())
            self.ban(guilty, done.words())
        self.state.data["failures"].append(text)
        self.state.write()
        if not self.args.keep_going:
            raise Failure(1, "a job failed: %s (--resume --keep-going goes on without it)" % text)
        say("a job failed: " + text)
        if self.empty_jobs >= 3:
            raise Failure(1, "three jobs in a row ended before the first case")
