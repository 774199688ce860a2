"""The jobs of scripts/bench: which there are, their command lines, and what becomes of what they
write."""

import os
import shutil
import subprocess
import tempfile
import time

import bench_against
import bench_first
from bench_arguments import DISTRIBUTIONS, say
from collshim import working_copy
from collshim.failure import Failure
from collshim.files import read_json
from collshim.report import Report
from collshim.said import last_words, our_lines, unserved
from collshim.texts import bytes_text, minutes_text


SIDE_NAMES = {"old": "the old one", "new": "the new one", "host": "without the library",
              "ours": "with it"}


class Job:
    """library: what is preloaded, None: nothing. side: "old" or "new" where two libraries are
    compared, "host" or "ours" where jobs with the library are with those without, else None. cell:
    the only collective and size that is measured, None: all."""

    def __init__(self, args, mpi, shape, algo, repeat, is_why=False, library=None, side=None,
                 cell=None):
        self.mpi, self.shape, self.algo, self.repeat, self.is_why = mpi, shape, algo, repeat, is_why
        self.library, self.side, self.cell = library, side, cell
        self.nodes, self.ppn, _ = working_copy.read_shape(shape)
        is_cluster = self.nodes > 1 and not shape.startswith("fake:")
        self.rate = args.rate if is_cluster else None

    def name(self):
        words = [self.mpi, self.shape]
        if self.rate:
            words.append(self.rate)
        if self.algo:
            words.append(self.algo)
        if self.side:
            if self.cell:
                words.append(self.cell[0])
                words += [bytes_text(self.cell[1])] if self.cell[1] else []
            return " ".join(words + ["turn %d, %s" % (self.repeat + 1, SIDE_NAMES[self.side])])
        return " ".join(words + ["(what is chosen)" if self.is_why
                                 else "repeat %d" % (self.repeat + 1)])


def list_jobs(args):
    jobs = []
    for repeat in range(-1, args.repeats):
        if repeat < 0 and args.no_why:
            continue
        for shape in args.shapes:
            for mpi in args.mpis:
                for algo in args.algo:
                    jobs += jobs_of(args, mpi, shape, algo, repeat)
    return jobs


def jobs_of(args, mpi, shape, algo, repeat):
    """The one of that repeat; of two libraries one each, first the one that was second before; of
    first calls the same for each collective and size, since only the first of a job is its
    first."""
    if args.against:
        sides, cells = (("old", args.against), ("new", args.preload)), [None]
    elif args.from_first:
        sides = ("host", None), ("ours", args.preload)
        cells = [(coll, size) for coll in args.colls for size in sizes_of(args, coll)]
    else:
        return [Job(args, mpi, shape, algo, max(repeat, 0), repeat < 0, args.preload)]
    return [Job(args, mpi, shape, algo, repeat, library=library, side=side, cell=cell)
            for cell in cells for side, library in (sides if repeat % 2 == 0 else sides[::-1])]


def sizes_of(args, coll):
    return [0] if coll == "barrier" else args.sizes


def ways_of(args, coll):
    """[(root, distribution, row)] in which each size is measured."""
    coll = args.known[coll]
    roots = list(dict.fromkeys(args.root.split(","))) if coll.is_rooted else [None]
    names = args.distribution.split(",")
    names = [name for name in DISTRIBUTIONS if name in names or
             "all" in names] if coll.is_uneven else [None]
    return [(root, name, row) for root in roots for name in names for row in args.rows]


def case_count(args, colls, sizes):
    return sum((1 if coll == "barrier" else len(sizes)) * len(ways_of(args, coll))
               for coll in colls)


def missing_groups(grid, job, args):
    """[(collectives, sizes)] that the job still has to measure: collectives that lack the same
    sizes together."""
    groups = {}
    for coll in args.colls:
        sizes = [size for size in sizes_of(args, coll) if job.cell in (None, (coll, size))]
        if job.is_why:
            lacking = [size for size in sizes if not any(
                "chosen" in cell for cell in grid.data["cells"]
                if (cell["mpi"], cell["shape"], cell["rate"], cell["algo"], cell["collective"],
                    cell["size"]) ==
                (job.mpi, job.shape, job.rate, job.algo, coll, size))]
        else:
            lacking = [size for size in sizes if not grid.has(job, coll, size, ways_of(args, coll))]
        if lacking:
            # A barrier has no size: it may go with any group.
            groups.setdefault(tuple(args.sizes if coll == "barrier" else lacking), []).append(coll)
    return [(colls, list(sizes)) for sizes, colls in groups.items()]


def expected_seconds(args, job, count):
    """A first guess, corrected by what jobs really take."""
    if args.from_first:
        return 2
    if job.is_why:
        return 2 + count * 0.03 * (1 if job.nodes == 1 else 2)
    return 2 + count * (args.seconds * 1.2 + 0.01 * job.nodes * job.ppn)


def command_of(args, job, colls, sizes, folder):
    count = case_count(args, colls, sizes)
    timeout = 60 + count * (args.seconds + args.limit / 3)
    if args.from_first:    # the limit is of each of five parts, as expected before it
        timeout = 60 + 10 * args.limit
    options = ([] if args.no_rt else ["--rt"]) + ([] if args.no_bind else ["--bind"])
    if job.rate:
        options += ["--rate", job.rate]
    if job.library:
        options += ["--preload", os.path.abspath(job.library)]
    for word in args.variables:
        options += ["-x", word]
    if job.algo:
        for coll in colls:
            options += ["-x", "%s=%s" % (args.known[coll].variable, job.algo)]
    if job.is_why:
        options += ["-x", "COLLSHIM_REPORT=" + os.path.join(folder, "report.json")]
    command = working_copy.launch_words(args.build, job.mpi, job.shape, timeout, *options)
    command += [args.programs[job.mpi], "--quiet", "-c", ",".join(colls), "-s",
                ",".join(map(str, sizes)), "--root", args.root, "--distribution", args.distribution,
                "--limit", "%g" % args.limit, "--memory", args.memory, "--json",
                os.path.join(folder, "bench.json")]
    if args.from_first:
        return command + ["--from-first"]
    command += ["--permute"] if job.shape.endswith(":permuted") else []
    command += ["--rows", ",".join(map(str, args.rows))]
    if job.is_why:
        return command + ["-t", "0.001", "--repeat", "1"]
    return command + ["-t", "%g" % args.seconds, "--repeat", str(args.rounds)]


def cell_of(grid, job, case):
    return grid.cell(mpi=job.mpi, shape=job.shape, rate=job.rate, algo=job.algo,
                     **{name: case[name] for name in ("collective", "size", "root", "distribution",
                                                      "row")})


# Of a case, which a run has too.
NUMBERS = ("host_us", "ours_us", "ratio", "ratio_min", "ratio_max", "calls_in_a_row", "parts",
           "shared_bytes", "collshim_bytes")


def add_runs(grid, job, result):
    for case in result["cases"]:
        cell = cell_of(grid, job, case)
        if "skipped" in case:
            cell["skipped"] = case["skipped"]
            continue
        cell.pop("skipped", None)
        cell["bytes"] = case["bytes"]
        if "calls_in_a_row" in case:
            cell["calls_in_a_row"] = case["calls_in_a_row"]
        if "bound_us" in case:
            cell["bound_us"] = case["bound_us"]
        run = {"repeat": job.repeat}
        if job.side:
            run["side"] = job.side
        if "parts" in case:
            run["init_us"] = result["init_us"]
        run.update({name: case[name] for name in NUMBERS if name in case})
        cell["runs"] = [old for old in cell["runs"] if (old["repeat"], old.get("side")) !=
                        (job.repeat, job.side)] + [run]


def add_chosen(grid, job, result, report):
    for case in result["cases"]:
        cell = cell_of(grid, job, case)
        if "skipped" in case:
            continue
        chosen = report.chosen(case["collective"], case["bytes"])
        if chosen:
            cell["chosen"], cell["why"] = chosen


def is_same_file(path, other):
    return path is not None and os.path.realpath(path) == os.path.realpath(other)


class Runner:
    def __init__(self, args, grid):
        self.args, self.grid = args, grid
        self.failures = grid.data["failures"]
        self.impossible = {}     # shape: why it cannot run here
        self.said = set()
        self.expected = self.actual = 0.0

    def run(self, job, colls, sizes, has_failed_at_once=False):
        if job.shape in self.impossible:
            return
        folder = tempfile.mkdtemp(prefix="collshim-bench-")
        started = time.monotonic()
        try:
            done = subprocess.run(command_of(self.args, job, colls, sizes, folder),
                                  stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                  errors="replace")
            result = read_json(os.path.join(folder, "bench.json"))
            report = Report.read(os.path.join(folder, "report.json"))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        self.expected += expected_seconds(self.args, job, case_count(self.args, colls, sizes))
        self.actual += time.monotonic() - started
        if done.returncode == 77:
            self.impossible[job.shape] = last_words(done.stderr)
            say("%s is left out: %s" % (job.shape, self.impossible[job.shape]))
            return
        self.tell_warnings(job, done.stderr)
        if unserved(done.stderr):
            self.note_failure(job, colls, sizes, [], done)    # the host's times against themselves
            return
        cases = result["cases"] if result else []
        if cases and job.library and not is_same_file(result["library"], job.library):
            raise Failure(1, "%s: %s does not serve the calls of the job, but %s" %
                          (job.name(), job.library, result["library"] or "the MPI itself"))
        if result:
            self.grid.data["mpis"][job.mpi] = result["mpi"]
            if job.is_why and report:
                add_chosen(self.grid, job, result, report)
            elif not job.is_why:
                add_runs(self.grid, job, result)
        if done.returncode == 0:
            return
        self.note_failure(job, colls, sizes, cases, done)
        # The cell at which it ended is lost, and its collective with it; the others need not be.
        if cases or not has_failed_at_once:
            rest = colls[colls.index(self.guilty(colls, sizes, cases)) + 1:]
            if rest:
                self.run(job, rest, sizes, has_failed_at_once=not cases)

    def tell_warnings(self, job, said):
        """Once each: with a line that a forced algorithm is none of a collective's, something else
        was measured there."""
        for line in our_lines(said):
            if line not in self.said:
                self.said.add(line)
                say("%s: %s" % (job.name(), line))

    def guilty(self, colls, sizes, cases):
        """The collective at which a job ended that has finished these cases."""
        if not cases:
            return colls[0]
        last = cases[-1]["collective"]
        done = sum(case["collective"] == last for case in cases)
        at = colls.index(last) + (done == case_count(self.args, [last], sizes))
        return colls[min(at, len(colls) - 1)]

    def note_failure(self, job, colls, sizes, cases, done):
        failure = {"mpi": job.mpi, "shape": job.shape, "rate": job.rate, "algo": job.algo,
                   "repeat": job.repeat, "side": job.side,
                   "collective": self.guilty(colls, sizes, cases), "exit": done.returncode,
                   "message": last_words(done.stderr)}
        self.failures.append(failure)
        say("FAILED: %s, in %s: exit code %d: %s" % (job.name(), failure["collective"],
                                                     done.returncode,
                                                     failure["message"]))

    def run_all(self, jobs):
        groups = {job: missing_groups(self.grid, job, self.args) for job in jobs}
        left = {job: sum(expected_seconds(self.args, job, case_count(self.args, *group))
                         for group in groups[job])
                for job in jobs}
        for number, job in enumerate(jobs):
            factor = self.actual / self.expected if self.expected else 1
            if groups[job] and job.shape not in self.impossible:
                say("%3d %%  %s, about %s left" % (100 * number // len(jobs), job.name(),
                                                   minutes_text(sum(left.values()) * factor)))
                for colls, sizes in groups[job]:
                    self.run(job, colls, sizes)
                self.grid.write(self.args.out)
            del left[job]
            is_turn = job.side and (number + 1 == len(jobs) or
                                    jobs[number + 1].repeat != job.repeat)
            if is_turn:
                progress = bench_first if self.args.from_first else bench_against
                say("turn %d is over; %s" % (job.repeat + 1,
                                             progress.progress_text(self.grid.data)))
