"""Plans that collshim-bench measures on a cluster in a box, beside their simulation."""

import os
import statistics
import subprocess
import tempfile

from collshim.failure import Failure
from collshim.files import read_json
from collshim.report import Report
from collshim.said import last_words
from collshim.texts import speaker
from collshim.working_copy import launch_words
from figures_asked import size_text

NODE_COST = ("copy", "reduce", "bus", "flag")
SIZES = (8, 1 << 10, 8 << 10, 64 << 10)
SHAPES = "2x1,4x1,8x1,2x2,4x2"
FITTED = 64 << 10    # most bytes of messages that parameters are fitted to
# Forced plans of a job: between all ranks where a node has one, else hierarchical.
FLAT = ({"allgather": "ring", "bcast": "binomial", "allreduce": "recursive-doubling"},
        {"allgather": "bruck", "bcast": "chain", "allreduce": "rabenseifner"},
        {"allgather": "recursive-doubling"})
HIER = ({"allgather": "hier:ring"},)
say = speaker("figures")


def run(args, shape, options, plans):
    """The JSON of a job of collshim-bench in which these plans served."""
    bench = os.path.join(args.build, "bench", "collshim-bench." + args.mpi)
    library = os.path.join(args.build, "src", "libcollshim.so")
    for path in (bench, library):
        if not os.path.exists(path):
            raise Failure(2, "no %s: build collshim with %s first" % (path, args.mpi))
    say("%s: %s" % (shape, " ".join(options + ["%s=%s" % pair for pair in plans.items()])))
    with tempfile.TemporaryDirectory(prefix="collshim-figures-") as folder:
        result, report = os.path.join(folder, "bench.json"), os.path.join(folder, "report.json")
        words = ["--rt", "--bind"] + (["--preload", library, "-x", "COLLSHIM_REPORT=" + report]
                                      if plans else [])
        for coll, plan in plans.items():
            words += ["-x", "COLLSHIM_%s=%s" % (coll.upper(), plan)]
        done = subprocess.run(
            launch_words(args.build, args.mpi, shape, 60 + 40 * args.seconds, *words) +
            [bench, "--quiet", "-t", "%g" % args.seconds, *options, "--json", result],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            errors="replace")
        if done.returncode:
            raise Failure(77 if done.returncode == 77 else 1, "%s: exit code %d: %s" % (
                shape, done.returncode, last_words(done.stderr)))
        served = Report.read(report)
        for coll, plan in plans.items():
            if not served or not served.has_run(coll, plan):
                raise Failure(1, "%s: %s was not served by %s; collshim-info --explain says why" %
                              (shape, coll, plan))
        return read_json(result)


def fit(level):
    """LogGP from round trips of one message and from a burst, us. The way of the smallest message
    is o_s + L + o_r; o_s is the time of each message of a burst, o_r the same if so much is left.
    G: least squares of relative errors."""
    times = level["times"]
    ways = {time["bytes"]: time["us"] / 2 for time in times
            if time["n"] == 1 and time["bytes"] <= FITTED}
    least = min(ways)
    bursts = {time["n"]: time["us"] for time in times if time["bytes"] == least}
    send = min(ways[least], max(0, bursts[max(bursts)] - bursts[1]) / (max(bursts) - 1))
    receive = min(send, ways[least] - send)
    over = sum((way - ways[least]) * (size - least) / way ** 2 for size, way in ways.items())
    under = sum(((size - least) / way) ** 2 for size, way in ways.items())
    return {"L": ways[least] - send - receive, "os": send, "or": receive,
            "G": max(0, over / under)}


def measured_model(args):
    """Between nodes by two ranks alone, in a node by two on one: more ranks would share cores while
    they wait."""
    between, inside = (run(args, shape, ["--loggp"], {}) for shape in ("cluster:2x1", "1x2"))
    found = {key: inside[key] for key in NODE_COST}
    for prefix, network in (("", between), ("intra.", inside)):
        found.update({prefix + key: value * 1e-6
                      for key, value in fit(network["levels"][0]).items()})
    return ",".join("%s=%.4g" % pair for pair in found.items())


def real(sim, args, command):
    model = args.model or measured_model(args)
    rows = [["nodes", "plan", "size", "measured us", "simulated us", "error"]]
    errors, choices = [], []
    for shape in (args.shapes or SHAPES).split(","):
        nodes, ppn = map(int, shape.split("x"))
        found = {}    # {(collective, size): [(simulated, measured)]}
        for plans in HIER if ppn > 1 else FLAT:
            options = ["-c", ",".join(plans), "-s", ",".join(map(str, SIZES)), "--repeat", "5",
                       "--throughput-rooted", "1"]
            for case in run(args, "cluster:" + shape, options, plans)["cases"]:
                coll, size, measured = case["collective"], case["size"], case["ours_us"]
                plan, rounds = coll + ":" + plans[coll], case["ours_rounds_us"]
                simulated = sim.times(plan, nodes, ppn, size, [model])[0] * 1e6
                found.setdefault((coll, size), []).append((simulated, measured))
                rows.append([shape, plan, size_text(size),
                             "%.1f [%.1f-%.1f]" % (measured, min(rounds), max(rounds)),
                             "%.1f" % simulated, "%+.0f %%" % ((simulated / measured - 1) * 100)])
        pairs = sum(found.values(), [])
        factors = [max(a / b, b / a) for a, b in pairs]
        errors.append("- %s: simulated and measured differ by a factor of %.2f (median) to %.2f; "
                      "simulated is less in %d of %d" % (
                          shape, statistics.median_high(factors), max(factors),
                          sum(a < b for a, b in pairs), len(pairs)))
        losses = [min(group, key=lambda pair: pair[0])[1] / min(measured for _, measured in group)
                  for group in found.values() if len(group) > 1]
        if losses:
            choices.append("- %s: the plan simulated as the fastest was the fastest in %d of %d; "
                           "it took at most %.2f times as long" % (
                               shape, losses.count(1), len(losses), max(losses)))
    return ["Simulated against measured: a cluster in a box", "%s; %s, %d cores for all nodes." % (
        command, args.mpi, os.cpu_count()), """Measured: plans on the MPI's messages, forced;
medians, [least-most] of five rounds. Simulated: with %s. All nodes share the machine's cores; the
model gives every rank a core of its own.""" % ("given parameters" if args.model else """parameters
measured just before, by two ranks alone on two nodes and by two on one (round trips and bursts of
`collshim-bench --loggp`)"""), "Parameters: " + model.replace(",", ", "), rows, errors + choices]
