"""The simulator against runs on a cluster in a box."""

import os
import shutil
import statistics
import subprocess
import tempfile

from collshim.failure import Failure
from collshim.files import read_json
from collshim.report import Report
from collshim.said import last_words
from collshim.working_copy import launch_words
from figures_simulator import NODE_COST, print_table, print_text, say, size_text

REAL_SIZES = (8, 1 << 10, 8 << 10, 64 << 10)
# Plans between all ranks, where a node has one; a job forces one of each collective.
FLAT_PLANS = {"allgather": ("ring", "bruck", "recursive-doubling"), "bcast": ("binomial", "chain"),
              "allreduce": ("recursive-doubling", "rabenseifner")}
HIER_PLANS = {"allgather": ("hier:ring",)}


class Cluster:
    """Jobs of collshim-bench under tests/launch."""

    def __init__(self, args):
        self.args = args
        self.bench = os.path.join(args.build, "bench", "collshim-bench." + args.mpi)
        self.library = os.path.join(args.build, "src", "libcollshim.so")
        for path in (self.bench, self.library):
            if not os.path.exists(path):
                raise Failure(2, "no %s: build collshim with %s first" % (path, args.mpi))

    def command(self, shape, options, variables):
        words = ["--rt", "--bind"] + (["--preload", self.library] if variables else [])
        for name, value in variables.items():
            words += ["-x", "%s=%s" % (name, value)]
        timeout = 60 + 40 * self.args.seconds
        return launch_words(self.args.build, self.args.mpi, shape, timeout, *words) + [
            self.bench, "--quiet", "-t", "%g" % self.args.seconds] + options

    def run(self, shape, options, plans=None):
        """What the bench wrote, and the report of what was chosen, None without plans."""
        folder = tempfile.mkdtemp(prefix="collshim-figures-")
        result, report = os.path.join(folder, "bench.json"), os.path.join(folder, "report.json")
        variables = {"COLLSHIM_" + coll.upper(): plan for coll, plan in (plans or {}).items()}
        if plans:
            variables["COLLSHIM_REPORT"] = report
        say("%s: %s" % (shape, " ".join(options) + "".join(" %s=%s" % pair
                                                           for pair in (plans or {}).items())))
        try:
            done = subprocess.run(self.command(shape, options + ["--json", result], variables),
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE,
                                  text=True, errors="replace")
            if done.returncode != 0:
                raise Failure(77 if done.returncode == 77 else 1, "%s: exit code %d: %s" % (
                    shape, done.returncode, last_words(done.stderr)))
            return read_json(result), Report.read(report) if plans else None
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def jobs_of(plans):
    """[{collective: plan}], so that each plan is in one."""
    return [{coll: names[i] for coll, names in plans.items() if i < len(names)}
            for i in range(max(map(len, plans.values())))]


def measure(cluster, shape, plans):
    """[(collective, plan, case of the bench)] of one job."""
    options = ["-c", ",".join(plans), "-s", ",".join(map(str, REAL_SIZES)), "--repeat", "5",
               "--throughput-rooted", "1"]
    result, report = cluster.run("cluster:" + shape, options, plans)
    for coll, plan in plans.items():
        if not report or not report.has_run(coll, plan):
            raise Failure(1, "%s: %s was not served by %s; collshim-info --explain says why" %
                          (shape, coll, plan))
    return [(case["collective"], plans[case["collective"]], case) for case in result["cases"]]


class Case:
    """One plan, measured and simulated, us."""

    def __init__(self, sim, shape, coll, plan, found, model):
        self.shape, self.coll, self.plan, self.size = shape, coll, plan, found["size"]
        self.measured, self.rounds = found["ours_us"], found["ours_rounds_us"]
        nodes, ppn = map(int, shape.split("x"))
        asked = sim.ask("%s:%s" % (coll, plan), [model], nodes, ppn, self.size)
        self.simulated = asked.result()[0] * 1e6

    def row(self):
        return [self.shape, "%s:%s" % (self.coll, self.plan), size_text(self.size),
                "%.1f [%.1f-%.1f]" % (self.measured, min(self.rounds), max(self.rounds)),
                "%.1f" % self.simulated,
                "%+.0f %%" % ((self.simulated / self.measured - 1) * 100)]

    def factor(self):
        return max(self.simulated / self.measured, self.measured / self.simulated)


FITTED = 64 << 10  # up to this size


def fit(level):
    """LogGP from round trips of one message and from a burst, seconds. The way of the smallest
    message is o_s + L + o_r; o_s is what each message of a burst takes, o_r the same if so much is
    left. G: least squares of relative errors."""
    times = [time for time in level["times"] if not time["delay_us"]]
    ways = {time["bytes"]: time["us"] / 2 for time in times if time["n"] == 1 and
            time["bytes"] <= FITTED}
    least = min(ways)
    bursts = {time["n"]: time["us"] for time in times if time["bytes"] == least}
    longest = max(bursts)
    send = min(ways[least], max(0, bursts[longest] - bursts[1]) / (longest - 1))
    receive = min(send, ways[least] - send)
    over = sum((way - ways[least]) * (size - least) / way ** 2 for size, way in ways.items())
    under = sum(((size - least) / way) ** 2 for size, way in ways.items())
    return {"L": (ways[least] - send - receive) * 1e-6, "os": send * 1e-6, "or": receive * 1e-6,
            "G": max(0, over / under) * 1e-6}


def measured_model(cluster):
    """Between nodes by two ranks alone, in a node by two on one: more ranks would share cores while
    they wait."""
    between, inside = (cluster.run(shape, ["--loggp"])[0] for shape in ("cluster:2x1", "1x2"))
    found = {key: inside[key] for key in NODE_COST}
    for prefix, network in (("", between), ("intra.", inside)):
        found.update({prefix + key: value for key, value in fit(network["levels"][0]).items()})
    return ",".join("%s=%.4g" % pair for pair in found.items())


def print_errors(shape, cases):
    factors = [case.factor() for case in cases]
    below = sum(case.simulated < case.measured for case in cases)
    print("- %s: simulated and measured differ by a factor of %.2f (median) to %.2f; simulated is "
          "less in %d of %d"
          % (shape, statistics.median_high(factors), max(factors), below, len(cases)))


def print_choices(shape, cases):
    """Would the plan that is simulated as the fastest have been the right one?"""
    groups = {}
    for case in cases:
        groups.setdefault((case.coll, case.size), []).append(case)
    losses = [min(group, key=lambda case: case.simulated).measured / min(case.measured
                                                                         for case in group)
              for group in groups.values() if len(group) > 1]
    if losses:
        print("- %s: the plan simulated as the fastest was the fastest in %d of %d; it took at "
              "most %.2f times as long"
              % (shape, losses.count(1), len(losses), max(losses)))


def figure_real(sim, args):
    cluster = Cluster(args)
    model = args.model or measured_model(cluster)
    cases = [Case(sim, shape, *found, model) for shape in args.shapes
             for plans in jobs_of(HIER_PLANS if int(shape.split("x")[1]) > 1 else FLAT_PLANS)
             for found in measure(cluster, shape, plans)]
    print("### Simulated against measured: a cluster in a box\n")
    print("Command: `%s`; %s, %d cores for all nodes.\n" %
          (args.shown % "real", args.mpi, os.cpu_count()))
    print_text("""Measured: plans on the host's messages, forced; medians, [least-most] of five
                  rounds. Simulated: with %s. All nodes share the machine's cores; the model
                  gives every rank a core of its own."""
               % ("given parameters" if args.model
                  else "parameters measured just before, by two ranks alone on two "
                  "nodes and by two on one (round trips and bursts of `collshim-bench --loggp`)"))
    print_text("Parameters: " + model.replace(",", ", "))
    print_table(["nodes", "plan", "size", "measured us", "simulated us", "error"],
                [case.row() for case in cases])
    for tell in (print_errors, print_choices):
        for shape in args.shapes:
            tell(shape, [case for case in cases if case.shape == shape])
