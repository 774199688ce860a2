"""Figures of n-way trees, of shared memory with RDMA, and of verbs."""

from collshim.failure import Failure
from figures_rings import HIER_SIZES
from figures_simulator import (FACTORS, SETS, digits, print_sets, print_table, print_text,
                               print_title, ratio_text, size_text, time_text, times_of)

# --- scatter: seed 000, 5.1, figures 5.7 and 5.8 --------------------------------------------------

OVERHEADS = (0.5, 2.0)  # o_s: least, most
FANOUTS = (2, 4)        # k = f
GIVEN = {"L": 5.0, "or": 1.5, "g": 3.0}
GIVEN_RANKS = {2: (3, 5, 9, 16, 27, 64, 81, 128, 243, 256),
               4: (3, 5, 9, 16, 25, 64, 125, 128, 256, 625)}
SCATTERS = ("linear", "binomial", "knomial")
KNOMIAL = (2, 4, 8)
SCATTER_RANKS = (8, 32, 256, 1024)


def logfp(algorithm, ranks, overhead, k):
    """The paper's closed forms in us, with one o_s for any number of messages; f = k."""
    one = overhead + GIVEN["L"] + GIVEN["or"]
    if algorithm == "linear":
        return one + max((ranks - 2) * overhead, (ranks - 1 - k) * GIVEN["g"])
    depth = next(depth for depth in range(64) if (2 if algorithm == "binomial"
                                                  else k + 1) ** depth >= ranks)
    return depth * (one if algorithm == "binomial" else one + (k - 1) * overhead)


def given_model(overhead, k):
    return "os=%ge-6,%s,f=%d" % (overhead, ",".join("%s=%ge-6" % pair for pair in GIVEN.items()), k)


def ask_given(sim, k, ranks):
    models = [given_model(overhead, k) for overhead in OVERHEADS]
    return [sim.ask("scatter:" + algorithm, models, ranks, 1, 8,
                    *(["k=%d" % k] if algorithm == "knomial" else []))
            for algorithm in SCATTERS]


def given_row(k, at, ranks, futures):
    times = [future.result()[at] * 1e6 for future in futures]
    best = min(range(len(times)), key=lambda i: round(times[i], 3))
    return [str(ranks)] + ["%.1f (%.1f)" % (times[i], logfp(SCATTERS[i], ranks, OVERHEADS[at], k))
                           for i in range(len(times))] + [SCATTERS[best],
                                                          digits(times[1] / times[2])]


def print_given(asked):
    for k in FANOUTS:
        for at, overhead in enumerate(OVERHEADS):
            print("LogfP, k = f = %d, simulated, us (in brackets the paper's closed form): "
                  "`--model %s`\n"
                  % (k, given_model(overhead, k)))
            print_table(["ranks", "linear", "binomial", "knomial k=%d" % k, "fastest",
                         "binomial / knomial"],
                        [given_row(k, at, ranks, asked[k, ranks]) for ranks in GIVEN_RANKS[k]])


def ask_scatters(sim, ranks, size):
    return [sim.ask_sets("scatter:" + words[0], ranks, 1, size, *words[1:])
            for words in [("linear",), ("binomial",)] + [("knomial", "k=%d" % k) for k in KNOMIAL]]


def scatter_row(name, size, ranks, futures):
    linear, binomial, *knomial = (times_of(future, name) for future in futures)
    best = [min(times) for times in zip(*knomial)]
    return [size_text(size), "{:,}".format(ranks)] + [time_text(times[0])
                                                      for times in [linear, binomial] + knomial] + [
        ratio_text(linear, best), ratio_text(binomial, best)]


def figure_scatter(sim, args):
    given = {(k, ranks): ask_given(sim, k, ranks) for k in FANOUTS for ranks in GIVEN_RANKS[k]}
    asked = {(size, ranks): ask_scatters(sim, ranks, size) for size in HIER_SIZES
             for ranks in SCATTER_RANKS}
    print_title("N-way tree against linear and binomial scatter", args.shown % "scatter",
                """One rank on each node, root 0. First with the paper's parameters for its
                   figures 5.7 and 5.8, where o_s is between %g us (many messages in a row) and
                   %g us (one): the simulator has one o_s for all, so the least and the most.
                   Blocks have no length there.""" % OVERHEADS)
    print_given(given)
    print_sets(sim)
    for name in SETS:
        print("%s, simulated; size: of one rank's block:\n" % name)
        print_table(["block", "ranks", "linear", "binomial"] +
                    ["knomial k=%d" % k for k in KNOMIAL] +
                    ["linear / best knomial", "binomial / best knomial"],
                    [scatter_row(name, *key, asked[key]) for key in asked])


# --- shared: seed 004, 5.2 ------------------------------------------------------------------------

# Name in the table, parameters, shapes. In these exchanges both directions are busy at once: the
# PCI-X bus of cluster B carries 949 MB/s in both together (1.916 GB/s of PCI Express are 2.02 times
# that), so the card 475 in each.
CLUSTERS = (("A", "mt25204", ((16, 2), (24, 2), (32, 2))),
            ("B", "mt23108,nic.G=2.107e-09", ((16, 2), (24, 2), (32, 2))),
            ("HDR", "cx6-hdr", ((16, 2), (24, 2), (32, 2), (32, 32))))
SHARED_SIZES = (4, 64, 256, 1 << 10, 4 << 10, 8 << 10)
# Messages that an MPI copies into its buffers and out of them.
ALL, SOME = str(1 << 30), str(8 << 10)
PAPER = {("A", (16, 2)): "1.47", ("A", (32, 2)): "1.39", ("B", (16, 2)): "1.97",
         ("B", (32, 2)): "1.82"}
PAPER_OVERLAP = {("A", (32, 2)): "30 %", ("B", (32, 2)): "43 %"}


class Shared:
    """Simulations of one cluster, shape and size: lists by factor of the node's costs."""

    def __init__(self, sim, model, shape, size):
        def ask(*words):
            return sim.ask_set(model, "allgather:" + words[0], *shape, size, *words[1:])
        # Where doubling has rounds more, nodes that are no power of two: what MPICH takes, and its
        # like between nodes.
        is_power = shape[0] & (shape[0] - 1) == 0
        flat = "recursive-doubling" if is_power else "bruck"
        between = "recursive-doubling" if is_power else "dissemination"
        self.futures = {"original": ask(flat, "--cyclic", "--eager", ALL),
                        "zero-copy": ask(flat, "--cyclic", "--eager", SOME),
                        "block": ask(flat, "--eager", ALL),
                        "new": ask("hier:" + between),
                        "overlap": ask("hier:" + between, "--overlap")}

    def __getitem__(self, name):
        found = self.futures[name].result()
        if not found:
            raise Failure(2, "--memory is too little for a simulation that has no closed form here")
        return found


def shared_row(shape, size, times):
    pairs = (("original", "new"), ("original", "overlap"), ("new", "overlap"))
    return ["%dx%d" % shape, size_text(size)] + [
        time_text(times[name][0]) for name in ("original", "new", "overlap")] + [
        ratio_text(times[above], times[below]) for above, below in pairs]


def most(cases, above, below, tell=digits):
    """The largest ratio of all sizes, for each factor."""
    ratios = [tell(max(case[above][i] / case[below][i] for case in cases))
              for i in range(len(FACTORS))]
    return ratios[0] if len(set(ratios)) == 1 else "%s (%s, %s)" % tuple(ratios)


def saved(ratio):
    return "%.0f %%" % (100 - 100 / ratio)


def shared_summary(asked, cluster, shape):
    cases = [asked[cluster, shape, size] for size in SHARED_SIZES]
    return [cluster, "%dx%d" % shape, PAPER.get((cluster, shape), ""),
            most(cases, "original", "overlap"),
            most(cases, "zero-copy", "overlap"), most(cases, "block", "overlap"),
            PAPER_OVERLAP.get((cluster, shape), ""), most(cases, "new", "overlap", saved),
            most(cases, "new", "overlap")]


def figure_shared(sim, args):
    asked = {(cluster, shape, size): Shared(sim, model, shape, size)
             for cluster, model, shapes in CLUSTERS for shape in shapes for size in SHARED_SIZES}
    print_title("Shared memory and RDMA: allgather", args.shown % "shared",
                """original: recursive doubling (24 nodes: Bruck) of all ranks, messages copied
                   into buffers and out of them, ranks dealt out to the nodes in turn (the last
                   step is inside the node, as in the paper's figure 1). new: blocks are copied
                   to shared memory, one rank of each node doubles from there (24 nodes:
                   dissemination, 5 rounds), all copy out at the end. overlap: what a round has
                   brought is copied out while the next round's message is under way. The size is
                   that of one rank's block.""")
    print_sets(sim, [model for _, model, _ in CLUSTERS])
    for cluster, model, shapes in CLUSTERS:
        print("%s (%s), simulated:\n" % (cluster, model))
        print_table(["nodes", "block", "original", "new", "overlap", "original / new",
                     "original / overlap",
                     "new / overlap"],
                    [shared_row(shape, size, asked[cluster, shape, size]) for shape in shapes
                     for size in SHARED_SIZES])
    print_text("""Most over these sizes, beside the paper's "up to". "8 KiB": original, with
                  larger messages between nodes uncopied (and no handshake). "in blocks":
                  original, ranks of a node follow each other. "saved": of new's time.""")
    print("Paper, and simulated:\n")
    print_table(["cluster", "nodes", "paper: factor", "original / overlap", "8 KiB", "in blocks",
                 "paper: overlap",
                 "saved", "new / overlap"],
                [shared_summary(asked, cluster, shape) for cluster, _, shapes in CLUSTERS
                 for shape in shapes])


# --- verbs: seed 000, 7.2 and 7.3 -----------------------------------------------------------------

# o_s of one message (4.3.3), of many in a row (5.1.4); the PCI Express card is the nearest to the
# paper's machine.
VERBS_SETS = ("mt23108", "mt23108,os=5e-07", "mt25204", "cx6-hdr")
VERBS_RANKS = (2, 4, 6, 8, 16, 28)
SMALL, LARGE = 4, 32 << 10
VERBS_SIZES = (64, 1 << 10, 4 << 10, 16 << 10, 256 << 10)
GATHERS = {"linear": ("gather:linear",), "fanout 1": ("gather:binomial",),
           "fanout 3": ("gather:knomial", "k=3")}
ALLGATHERS = {"linear": ("allgather:direct-ring",), "doubling": ("allgather:recursive-doubling",),
              **{"bruck %d" % k: ("allgather:bruck", "k=%d" % k) for k in (1, 2, 3)}}


class Verbs:
    """Times of one collective: all[name, ranks, size] are lists, for each set its factors."""

    def __init__(self, sim, algorithms, few, many):
        self.names, self.few, self.many = list(algorithms), few, many
        models = [sim.varied(factor, name) for name in VERBS_SETS for factor in FACTORS]
        self.keys = [(ranks, size) for size in (SMALL, LARGE) for ranks in VERBS_RANKS] + [
            (ranks, size) for ranks in (few, many) for size in VERBS_SIZES]
        self.asked = {(name, *key): sim.ask(words[0], models, key[0], 1, key[1], *words[1:])
                      for key in self.keys for name, words in algorithms.items()}

    def at(self, name, ranks, size, column):
        return self.asked[name, ranks, size].result()[column]

    def row(self, ranks, size, at):
        base = at * len(FACTORS)
        times = {name: self.at(name, ranks, size, base) for name in self.names}
        others = [name for name in self.names if name != "linear"]
        columns = range(base, base + len(FACTORS))
        return [str(ranks), size_text(size)] + [time_text(time) for time in times.values()] + [
            min(times, key=times.get),
            ratio_text([self.at("linear", ranks, size, column) for column in columns],
                       [min(self.at(name, ranks, size, column) for name in others)
                        for column in columns])]

    def print(self, sets):
        for at, name in enumerate(sets):
            print("%s, simulated:\n" % name)
            print_table(["ranks", "block"] + self.names + ["fastest", "linear / best other"],
                        [self.row(ranks, size, at) for ranks, size in self.keys])


def is_least(time, names, others, keys):
    """Is one of the names as fast as all others, to 1 %?"""
    def least(some, key):
        return min(time(name, *key) for name in some)
    return all(least(names, key) <= 1.01 * least(others, key) for key in keys)


def are_alike(time, names, keys):
    """To 20 %?"""
    return all(max(time(name, *key) for name in names) <= 1.2 *
               min(time(name, *key) for name in names) for key in keys)


def gather_claims(names):
    """[(figure, claim, does it hold with these times?)]"""
    trees, up_to = ["fanout 1", "fanout 3"], [(28, size) for size in (SMALL, *VERBS_SIZES)
                                              if size <= 4 << 10]
    above = [(28, size) for size in (16 << 10, LARGE, 256 << 10)]
    return [
        ("7.1", "4 B: linear is the fastest with 2 and with 4 ranks",
         lambda time: is_least(time, ["linear"], trees, [(2, SMALL), (4, SMALL)])),
        ("7.1", "4 B: a tree is faster than linear with 28",
         lambda time: not is_least(time, ["linear"], trees, [(28, SMALL)])),
        ("7.1", "4 B: fanout 3 is faster than fanout 1 with 28",
         lambda time: time("fanout 3", 28, SMALL) < time("fanout 1", 28, SMALL)),
        ("7.1", "32 KiB: linear is the fastest with any number",
         lambda time: is_least(time, ["linear"], trees, [(ranks, LARGE) for ranks in VERBS_RANKS])),
        ("7.2", "28 ranks: the binomial tree is faster than linear up to 4 KiB",
         lambda time: all(time("fanout 1", *key) < time("linear", *key) for key in up_to)),
        ("7.2", "28 ranks: all alike (to 20 %) above", lambda time: are_alike(time, names, above)),
    ]


def allgather_claims():
    brucks, best = ["bruck 1", "bruck 2", "bruck 3"], ["doubling", "bruck 1"]
    sizes = [SMALL, *VERBS_SIZES, LARGE]
    return [
        ("7.4", "4 B: doubling or Bruck with one port is the fastest with 16 and 28",
         lambda time: is_least(time, best, ["linear", *brucks], [(16, SMALL), (28, SMALL)])),
        ("7.4", "4 B: linear is slower than these from 6 ranks on",
         lambda time: all(time("linear", ranks, SMALL) > min(time(name, ranks, SMALL)
                                                             for name in best)
                          for ranks in (6, 8, 16, 28))),
        ("7.4", "4 B: more ports take longer than one with 28 (measured; LogfP says less)",
         lambda time: min(time(name, 28, SMALL) for name in brucks[1:]) > time("bruck 1", 28,
                                                                               SMALL)),
        ("7.4", "32 KiB: linear or doubling is the fastest with any number",
         lambda time: is_least(time, ["linear", "doubling"], brucks,
                               [(ranks, LARGE) for ranks in VERBS_RANKS])),
        ("7.5", "4 ranks: linear or doubling is the fastest for all sizes",
         lambda time: is_least(time, ["linear", "doubling"], brucks,
                               [(4, size) for size in (SMALL, *VERBS_SIZES)])),
        ("7.5", "16 ranks: doubling is the fastest for all sizes",
         lambda time: is_least(time, ["doubling"], ["linear", *brucks],
                               [(16, size) for size in sizes])),
        ("7.5", "16 ranks: Bruck is faster than linear below 4 KiB",
         lambda time: all(time("bruck 1", 16, size) < time("linear", 16, size)
                          for size in (SMALL, 64, 1 << 10))),
    ]


def claim_row(collective, times, figure, text, holds):
    def answer(at):
        words = ["yes" if holds(lambda name, ranks, size,
                                column=column: times.at(name, ranks, size, column)) else "no"
                 for column in range(at * len(FACTORS), (at + 1) * len(FACTORS))]
        return words[0] if len(set(words)) == 1 else "%s (%s, %s)" % tuple(words)
    return [figure, collective + ", " + text] + [answer(at) for at in range(len(VERBS_SETS))]


def figure_verbs(sim, args):
    gather, allgather = Verbs(sim, GATHERS, 4, 28), Verbs(sim, ALLGATHERS, 4, 16)
    print_title("Gather and allgather with verbs", args.shown % "verbs",
                """One rank on each node, root 0; the size is that of one rank's block. Gather:
                   fanout is that of a step, so fanout 1 is the binomial tree. Allgather: linear
                   sends to all in turn (the paper's modified ring); bruck k has k ports. "linear
                   / best other" is below 1 where linear is the fastest.""")
    print_sets(sim, VERBS_SETS)
    for title, times in (("Gather", gather), ("Allgather", allgather)):
        print("#### %s\n" % title)
        times.print(VERBS_SETS)
    print_text("""Does what the paper says of its figures hold? "yes (no, yes)": not with half
                  the node's costs. Where it says that something is the fastest, 1 % is no
                  difference.""")
    print("Claims, simulated:\n")
    print_table(["figure", "claim"] + list(VERBS_SETS),
                [claim_row("gather", gather, *claim) for claim in gather_claims(gather.names)] +
                [claim_row("allgather", allgather, *claim) for claim in allgather_claims()])
