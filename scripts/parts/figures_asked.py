"""Table of the figures of scripts/figures: simulations, columns, rows and texts."""

import dataclasses
from itertools import product
from statistics import fmean

from collshim.distributions import PARTS, blocks_of

SETS = ("hdr-like", "10gbe-like")
FACTORS = (1, 0.5, 2)    # of a node's costs
COSTS = """Times are simulated with these parameters (seconds, and seconds per byte). Where three
ratios stand the second is with half the node's costs (copy, reduce, bus, flag), the third with
double."""


@dataclasses.dataclass
class Table:
    """Rows are dicts: "points" are (nodes, ranks on each, bytes) of simulations, the other keys are
    cells and fill the {} of names. A column is a heading, or (heading, content). Contents: a key of
    the row, a name (its time), "NAME / NAME" (ratio of times), "fastest", or a function of a Case
    (scripts/figures)."""
    caption: str         # a table for each model if it contains {model}
    columns: list
    rows: list
    names: dict          # {name: arguments of collshim-sim, or names: the least of their times}
    models: tuple = SETS
    factors: tuple = FACTORS    # empty: the models as they are
    over: callable = max        # ratios of a row's points
    what: str = "simulated time exactly"    # words of collshim-sim before a time
    closed: dict = dataclasses.field(default_factory=dict)    # {name: closed form}
    note: callable = lambda cases: []       # texts below all these tables


def digits(value):
    """Two digits, three from 10 on."""
    return "%.*f" % (0 if value >= 99.5 else 1 if value >= 0.995 else 2, value)


def size_text(size):
    return next(("%d %s" % (size >> shift, unit) for shift, unit in ((20, "MiB"), (10, "KiB"))
                 if size and size % (1 << shift) == 0), "%d B" % size)


def by_factor(texts):
    """One text if all are equal."""
    return texts[0] if len(set(texts)) == 1 else "%s (%s)" % (texts[0], ", ".join(texts[1:]))


def grid(pairs, ppn=1):
    return [{"block": size, "ranks": ranks, "points": [(ranks // ppn, ppn, size)]}
            for size, ranks in pairs]


def form_errors(cases, name, text):
    """The range of closed form / simulated in a text, if anything was simulated."""
    ratios = [form / simulated for case in cases for point in case.row["points"]
              for form, simulated in zip(case.table.closed[name](case, *point, case.table.what),
                                         case.simulated(name, point) or ())]
    return [text % (min(ratios), max(ratios))] if ratios else []


# --- hier: seed 002, 2.3 and 2.5 ------------------------------------------------------------------

SIZES = (8, 1 << 10, 64 << 10)
FLAT, HIER = ("ring", "recursive-doubling"), ("hier:ring", "hier:recursive-doubling")


def ring_forms(case, nodes, ppn, size, what):
    """Closed form of the flat ring, ranks of a node one after another: the larger of a block's way
    past all ranks but one, and of what the slowest rank, port, card or bus does in all rounds."""
    def seconds(cost):
        rest = size - 1
        inside, between = (sum(cost[level + key] for key in ("os", "L", "or")) +
                           rest * cost[level + "G"] for level in ("intra.", ""))
        busy = [cost["os"] + cost["intra.or"], cost["or"] + cost["intra.os"],
                (ppn - 1) * size * cost["bus"]] + [
            cost[key] + rest * cost[key.rpartition(".")[0] + "." * ("." in key) + "G"]
            for key in ("os", "g", "intra.os", "intra.g", "nic.g")]
        return max(nodes * (ppn - 1) * inside + (nodes - 1) * between,
                   (nodes * ppn - 1) * max(busy) + between)
    return [seconds(cost) for cost in case.costs()]


# --- vring: seed 001, 3 ---------------------------------------------------------------------------

# Nodes, ranks on each, distributions, block of the paper's figure.
RINGS = ((30, 1, PARTS, 1 << 20), (30, 8, ("broadcast", "spike"), 1 << 20),
         (16, 2, ("spike", "decreasing"), 64 << 10), (24, 4, ("spike", "geometric"), 32 << 10))
BLOCKS = {size_text(size << 10): size << 10 for size in (4, 32, 64, 128, 512, 1024)}
VECTORS = {"ring": "allgatherv:ring --distribution {distribution}", **{
    name: "allgatherv:pipelined-ring --distribution {distribution} " + words for name, words in {
        "given": "segment={segment}", "chosen": "window=4", "window 1": "window=1",
        "window 16": "window=16",
        **{text: "segment=%d" % size for text, size in BLOCKS.items()}}.items()}}


def ring_rows(*rings):
    """All ranks together have about 32 MiB."""
    return [{"nodes": "%dx%d" % (nodes, ppn), "distribution": name, "segment": segment, "points": [
        (nodes, ppn, (32 << 20) // (1 if name in ("broadcast", "spike") else nodes * ppn))]}
            for nodes, ppn, names, segment in rings for name in names]


# The figures of 3.3 to 3.5: nodes, ranks on each; first some that are simulated, too.
LARGE_RINGS = ((24, 4), (128, 6), (962, 6), (16384, 4))
LARGE_BLOCKS = (64, 1 << 10, 16 << 10)    # base counts c: means


def vring_forms(is_pipelined):
    """Closed form of a flat ring whose first rank has the largest block. Linear: that block's way
    past all ranks but one. Pipelined: its first segment's way, and equation 1's further rounds
    (seed 001, 2.2): a rank sends its own segments before those that come, so each of b segments
    beyond one of each rank is a round of the slowest rank, port, card or bus."""
    def seconds(cost, nodes, ppn, blocks, segment):
        largest = min(blocks[0], segment)
        over = sum(-(-block // segment) or 1 for block in blocks) - len(blocks)
        inside, between = (sum(cost[level + key] for key in ("os", "L", "or")) +
                           (largest - 1) * cost[level + "G"] for level in ("intra.", ""))
        busy = [cost["os"] + cost["or"], (ppn - 1) * largest * cost["bus"]] + [
            cost[level + "g"] + largest * cost[level + "G"]
            for level in ("", "nic.") + ("intra.",) * (ppn > 1)]
        return nodes * (ppn - 1) * inside + (nodes - 1) * between + over * max(busy)

    def forms(case, nodes, ppn, size, what):
        blocks = blocks_of(case.row["distribution"], size * nodes * ppn, nodes * ppn)
        return [seconds(cost, nodes, ppn, blocks, case.row["segment"] if is_pipelined
                        else blocks[0]) for cost in case.costs()]
    return forms


def in_place(case):
    """With one rank on a node nothing but the own block's copy costs a copy or the bus."""
    if case.row["points"][0][1] > 1:
        return ""
    ring, *others = (case(name, change=",copy=0,bus=0")[0] for name in ("ring", "given", "chosen"))
    return " / ".join(digits(ring / other) for other in others)


# --- scatter: seed 000, 5.1, figures 5.7 and 5.8 --------------------------------------------------

OVERHEADS = (2.0, 0.5)    # o_s in us: of the first message in a row, of each further one
# Ranks by k = f.
GIVEN = {2: (3, 5, 9, 16, 27, 64, 81, 128, 243, 256), 4: (3, 5, 9, 16, 25, 64, 125, 128, 256, 625)}
SCATTERS = {"linear": "scatter:linear", "binomial": "scatter:binomial"}
KNOMIAL = {"knomial k=%d" % k: "scatter:knomial k=%d" % k for k in (2, 4, 8)}


def beside_logfp(name, k):
    """A cell with the paper's closed form in us."""
    def cell(case):
        ranks, base = case.row["ranks"], k if name == "knomial" else 1
        first, further = OVERHEADS
        overhead = lambda n: further + (first - further) / n    # o_s(n)
        depth = next(depth for depth in range(64) if (base + 1) ** depth >= ranks)
        way = 5 + 1.5    # L + o_r
        return "%.1f (%.1f)" % (case(name)[0] * 1e6, overhead(ranks - 1) + way + max(
            (ranks - 2) * overhead(ranks - 1), (ranks - 1 - k) * 3) if name == "linear" else
            depth * (base * overhead(base) + way))
    return cell


# --- shared: seed 004, 5.2 ------------------------------------------------------------------------

# Both directions are busy at once in these exchanges: the PCI-X bus of cluster B carries 949 MB/s
# in both together (1.916 GB/s of PCI Express are 2.02 times that), so the card 475 in each.
CLUSTERS = {"A": "mt25204", "B": "mt23108,nic.G=2.107e-09", "HDR": "cx6-hdr"}
SHARED_SIZES = (4, 64, 256, 1 << 10, 4 << 10, 8 << 10)
# --eager: messages that an MPI copies into its buffers and out of them.
SHARED = {"original": "allgather:{flat} --cyclic --eager 1G",
          "8 KiB": "allgather:{flat} --cyclic --eager 8K",
          "in blocks": "allgather:{flat} --eager 1G", "new": "allgather:hier:{between}",
          "overlap": "allgather:hier:{between} --overlap"}
# Factor of all, saved by overlap.
PAPER = {"A 16x2": ("1.47", ""), "A 32x2": ("1.39", "30 %"), "B 16x2": ("1.97", ""),
         "B 32x2": ("1.82", "43 %")}


def shared_rows(cluster, *cells):
    """Rows of a cluster for the sizes of each cell. 24 nodes, for which doubling has rounds more:
    what MPICH takes, and its like between nodes."""
    for nodes, ppn in ((16, 2), (24, 2), (32, 2)) + ((32, 32),) * (cluster == "HDR"):
        shape = "%dx%d" % (nodes, ppn)
        factor, saved = PAPER.get(cluster + " " + shape, ("", ""))
        flat, between = ("bruck", "dissemination") if nodes == 24 else ("recursive-doubling",) * 2
        for sizes in cells:
            yield {"cluster": cluster, "nodes": shape, "block": sizes[0], "flat": flat,
                   "between": between, "paper: factor": factor, "paper: overlap": saved,
                   "models": [CLUSTERS[cluster]], "points": [(nodes, ppn, size) for size in sizes]}


# --- verbs: seed 000, 7.2 and 7.3 -----------------------------------------------------------------

# o_s of one message (4.3.3), of many in a row (5.1.4); the PCI Express card is the nearest to the
# paper's machine.
CARDS = ("mt23108", "mt23108,os=5e-07", "mt25204", "cx6-hdr")
COUNTS, UPTO, ABOVE = (2, 4, 6, 8, 16, 28), (64, 1 << 10, 4 << 10), (16 << 10, 256 << 10)
SMALL, LARGE = 4, 32 << 10
GATHERS = {"linear": "gather:linear", "fanout 1": "gather:binomial",
           "fanout 3": "gather:knomial k=3"}
ALLGATHERS = {"linear": "allgather:direct-ring", "doubling": "allgather:recursive-doubling",
              **{"bruck %d" % k: "allgather:bruck k=%d" % k for k in (1, 2, 3)}}
LINEAR, TREES, BRUCKS = ("linear",), ("fanout 1", "fanout 3"), ("bruck 1", "bruck 2", "bruck 3")
# Claim of a figure: for these ranks and sizes the least time of the first names (of a list: each
# one's) is less than a factor times the least of the others. 1 % is no difference to the fastest.
CLAIMS = (
    ("7.1", "gather, 4 B: linear is the fastest with 2 and with 4 ranks", (2, 4), (SMALL,),
     LINEAR, 1.01, TREES),
    ("7.1", "gather, 4 B: a tree is faster than linear with 28", (28,), (SMALL,),
     TREES, 1 / 1.01, LINEAR),
    ("7.1", "gather, 4 B: fanout 3 is faster than fanout 1 with 28", (28,), (SMALL,),
     TREES[1:], 1, TREES[:1]),
    ("7.1", "gather, 32 KiB: linear is the fastest with any number", COUNTS, (LARGE,),
     LINEAR, 1.01, TREES),
    ("7.2", "gather, 28 ranks: the binomial tree is faster than linear up to 4 KiB", (28,),
     (SMALL, *UPTO), TREES[:1], 1, LINEAR),
    ("7.2", "gather, 28 ranks: all alike (to 20 %) above", (28,), (LARGE, *ABOVE),
     list(GATHERS), 1.2, tuple(GATHERS)),
    ("7.4", "allgather, 4 B: doubling or Bruck with one port is the fastest with 16 and 28",
     (16, 28), (SMALL,), ("doubling", "bruck 1"), 1.01, LINEAR + BRUCKS),
    ("7.4", "allgather, 4 B: linear is slower than these from 6 ranks on", (6, 8, 16, 28), (SMALL,),
     ("doubling", "bruck 1"), 1, LINEAR),
    ("7.4", "allgather, 4 B: more ports take longer than one with 28 (measured; LogfP says less)",
     (28,), (SMALL,), BRUCKS[:1], 1, BRUCKS[1:]),
    ("7.4", "allgather, 32 KiB: linear or doubling is the fastest with any number", COUNTS,
     (LARGE,), ("linear", "doubling"), 1.01, BRUCKS),
    ("7.5", "allgather, 4 ranks: linear or doubling is the fastest for all sizes", (4,),
     (SMALL, *UPTO, *ABOVE), ("linear", "doubling"), 1.01, BRUCKS),
    ("7.5", "allgather, 16 ranks: doubling is the fastest for all sizes", (16,),
     (SMALL, *UPTO, LARGE, *ABOVE), ("doubling",), 1.01, LINEAR + BRUCKS),
    ("7.5", "allgather, 16 ranks: Bruck is faster than linear below 4 KiB", (16,),
     (SMALL, *UPTO[:2]), BRUCKS[:1], 1, LINEAR))


def holds(case, at):
    """A claim's cell of one of the models."""
    less, factor, more = case.row["claims"]
    case = dataclasses.replace(case, at=at)
    is_less = [[one < factor * other for one, other in zip(case(names), case(more))]
               for names in (less if isinstance(less, list) else [less])]
    return by_factor(["yes" if all(all(some[i::len(FACTORS)]) for some in is_less) else "no"
                      for i in range(len(FACTORS))])


# --- imbalance: seed 002, tables 3.6 to 3.8 -------------------------------------------------------

LATE_RANKS, LATE_SIZES = (512, 2048, 8192), (32, 512, 8 << 10, 128 << 10)
ARRIVALS = ("none", *("exponential:" + text for text in ("250us", "500us", "1ms", "2ms", "4ms")))
ARRIVE = " --arrivals " + " --arrivals ".join(ARRIVALS)
TURNING = ARRIVE + " --calls 12 --turn-root"
# {column: (algorithm, the seed's numbers by LATE_RANKS)}; --play: the library's own phases
REDUCE = {"Hier.": ("reduce:hier:binomial:barrier=1 --play", 0.34, 0.34, 0.34),
          "Intra-Opt.": ("reduce:hier:binomial --play", 5.67, 5.73, 5.71),
          "Dyn. Leader": ("reduce:hier:dynamic:control=1", 18.72, 21.13, 20.40),
          "D.L. One-Sided": ("reduce:hier:dynamic", 23.95, 28.98, 29.11),
          "by messages": ("reduce:hier:dynamic:rma=0",),
          "radix=8": ("reduce:hier:dynamic:radix=8",)}
BCAST = {"Hier.": ("bcast:hier:binomial:barrier=1 --play", 0.49, 0.51, 0.57),
         "Intra-Opt.": ("bcast:hier:binomial --play", 1.66, 1.43, 1.27),
         "Dyn. Leader": ("bcast:hier:dynamic:control=1", 7.53, 6.15, 4.72),
         "One-Sided": ("bcast:hier:dynamic",), "by words": ("bcast:hier:dynamic:rma=0",),
         "Pat.": ("bcast:patarasuk-yuan:serial=1",),
         "Pat. OL": ("bcast:hier:patarasuk-yuan:serial=1",),
         "Pat. DL": ("bcast:hier:dynamic:serial=1:rma=0",)}
ALLTOALL = {"Isend Hier.": ("alltoall:hier:scattered --play", 1.5, 2.1, 3.6),
            "Hier. aware": ("alltoall:hier:opportunistic", 2.8, 4.7, 8.4),
            "by messages": ("alltoall:hier:opportunistic:rma=0",),
            "aware, waits": ("alltoall:hier:opportunistic:barrier=1",)}
TOTALS = (128 << 10, 1 << 20)    # bytes of a rank's alltoall buffer
FLAT_RANKS = 512    # more ranks: the flat alltoall has too many messages to simulate


def isend_forms(case, nodes, ppn, size, what):
    """Closed form of the flat alltoall: the larger of what a rank does for its messages to all
    others and, where all come at once, of what a card does for its node's ranks; and a message's
    way."""
    cost, ranks = case.costs()[0], nodes * ppn
    rank = (ranks - 1) * (cost["os"] + cost["or"])
    card = ppn * (ranks - ppn) * (cost["nic.g"] + size * cost["nic.G"])
    bounds = case.simulated("Isend Hier.", (nodes, ppn, size), "bound")
    return [max(rank, card if text == "none" else 0) + cost["L"] + (what == "mean") * bound
            for text, bound in zip(ARRIVALS, bounds)]


def speed_ups(caption, base, variants, counts, has_seed=True, models=SETS[:1], **more):
    is_flat = base.startswith("alltoall")
    options = ARRIVE if is_flat else TURNING

    def cell(name, numbers):
        seed = dict(zip(LATE_RANKS, numbers if has_seed else ()))
        return name, lambda case: case.ratio("base", name) + (
            " (%g)" % seed[case.row["ranks"]] if case.row["ranks"] in seed else "")
    return Table(
        caption + ", simulated" + " (in brackets the seed's)" * has_seed + ":",
        [("ranks", lambda case: "{:,}".format(case.row["ranks"]) + " *" * (not all(
            case.simulated("base", point) for point in case.row["points"])))] + [
            cell(name, numbers) for name, (_, *numbers) in variants.items()],
        [{"ranks": ranks, "base": "" if is_flat and ranks > FLAT_RANKS else base + options,
          "points": [(ranks // 32, 32, size) for size in (
              (TOTALS[0] // ranks, TOTALS[1] // ranks) if is_flat else LATE_SIZES)]}
         for ranks in counts or (LATE_RANKS[:1] if is_flat else LATE_RANKS)],
        {"base": "{base}", **{name: words[0] + options for name, words in variants.items()}},
        models, (), fmean, closed={"base": isend_forms} if is_flat else {},
        **{"what": "mean", **more})


def late_trees(title, base, variants, counts, models=SETS[:1]):
    """Speed-ups, and the cells behind them for some of the ranks."""
    count = (counts or LATE_RANKS)[-1]
    names = {"binomial": base, **{key: words[0] for key, words in variants.items()}, "bound": base}
    return speed_ups(title + " over binomial, mean time in the call", base, variants,
                     counts, models=models), Table(
        "%s, %s ranks, mean time in the call in ms, simulated:" % (title, "{:,}".format(count)),
        ["size", "variant"] + [(text.replace("exponential:", ""), lambda case, at=at: "%.3g" % (
            case("cell", case.row["kind"])[at] * 1e3)) for at, text in enumerate(ARRIVALS)],
        [{"size": "%d B" % size, "variant": name, "algorithm": algorithm,
          "kind": "bound" if name == "bound" else "mean", "points": [(count // 32, 32, size)]}
         for size in (LATE_SIZES[0], LATE_SIZES[-1]) for name, algorithm in names.items()],
        {"cell": "{algorithm}" + TURNING}, models, ())


# --- the figures: titles, and blocks: texts, parameters of models, tables -------------------------

FIGURES = {
    "hier": lambda args: ["Hierarchical against flat ring: allgather", """
32 ranks on each node, ranks of a node follow each other. The size is that of one rank's block.""",
        COSTS, SETS, Table(
        "{model}, simulated:",
        ["block", "ranks", *FLAT, *HIER, "ring / hier:ring", "best flat / best hier"],
        grid(product(SIZES, args.ranks or (1024, 4096, 16384, 32768)), 32),
        {**{name: "allgather:" + name for name in FLAT + HIER}, "best flat": FLAT,
         "best hier": HIER}, closed={"ring": ring_forms}, note=lambda cases: ["""
`*`: closed form, not simulated, as the plans of so many ranks need more than %s of memory. It is
the larger of the time of a block on its way round the ring and of what the slowest rank, port, card
or bus does in all rounds.""" % args.memory] + form_errors(
            cases, "ring", "Where the ring was simulated, closed form / simulated is %.3f to %.3f."
        ))],
    "vring": lambda args: ["Pipelined against linear ring: allgatherv", """
All ranks together have 32 MiB, dealt by the six distributions. "given": with the block size that
the paper used there (as far as it says); "chosen": with the block size that the algorithm takes by
itself; 4 segments under way at a time. "in place": the ratios without the copy of the own
block.""", COSTS, SETS, Table(
        "{model}, simulated:",
        ["nodes", "distribution", "ring", ("pipelined, given", lambda case: "%s (%s)" % (
            case.time("given"), size_text(case.row["segment"]))), "ring / given",
         ("pipelined, chosen", "chosen"), "ring / chosen", ("in place, given / chosen", in_place)],
        ring_rows(*RINGS), VECTORS,
        note=lambda cases: [
            "With 1 or 16 segments under way all times are within %.1f %% of those with 4." % max(
                100 * abs(case(name)[0] / case("chosen")[0] - 1)
                for case in cases for name in ("window 1", "window 16"))]), Table(
        "{model}, simulated, 16x2: ring / pipelined ring by block size:",
        ["distribution"] + [(block, "ring / " + block) for block in BLOCKS],
        ring_rows((16, 2, ("spike", "decreasing"), None)), VECTORS), """
Many ranks, which follow each other on their nodes: geometric, segments of 32 KiB; block: the mean
of all.""", Table(
        "{model}, simulated:",
        ["nodes", "ranks", "block", "ring", ("pipelined", "given"), "ring / given"],
        [{"nodes": "%dx%d" % shape, "ranks": shape[0] * shape[1], "block": size,
          "distribution": "geometric", "segment": 32 << 10, "points": [(*shape, size)]}
         for shape in LARGE_RINGS for size in LARGE_BLOCKS], VECTORS, factors=(),
        closed={"ring": vring_forms(False), "given": vring_forms(True)},
        note=lambda cases: ["""
`*`: closed form, not simulated: the largest block's way past all ranks but one; pipelined: that of
its first segment, and the rounds of seed 001's equation 1 beyond one segment of each rank."""] +
        form_errors(cases, "ring", "Where both are there, closed form / simulated is %.3f to %.3f "
                    "for the linear ring.") + form_errors(
                        cases, "given", "For the pipelined one it is %.3f to %.3f."))],
    "scatter": lambda args: ["N-way tree against linear and binomial scatter", """
One rank on each node, root 0. First with the paper's parameters for its figures 5.7 and 5.8, where
o_s is %g us for one message, and %g us for each further one in a row (o_s(n) of the closed form is
their mean). Blocks have no length there.""" % OVERHEADS, *(Table(
        "LogfP, k = f = %d, simulated, us (in brackets the paper's closed form): "
        "`--model {model}`" % k,
        ["ranks"] + [(name + " k=%d" % k * (name == "knomial"), beside_logfp(name, k))
                     for name in (*SCATTERS, "knomial")] + ["fastest", "binomial / knomial"],
        grid(product([8], counts)), {**SCATTERS, "knomial": "scatter:knomial k=%d" % k},
        ["os=%ge-6,osmin=%ge-6,L=5e-6,or=1.5e-6,ormin=0.5e-6,g=3e-6,f=%d" % (*OVERHEADS, k)], ())
        for k, counts in GIVEN.items()), COSTS, SETS, Table(
        "{model}, simulated; size: of one rank's block:",
        ["block", "ranks", *SCATTERS, *KNOMIAL, "linear / best knomial", "binomial / best knomial"],
        grid(product(SIZES, (8, 32, 256, 1024))),
        {**SCATTERS, **KNOMIAL, "best knomial": tuple(KNOMIAL)})],
    "shared": lambda args: ["Shared memory and RDMA: allgather", """
original: recursive doubling (24 nodes: Bruck) of all ranks, messages copied into buffers and out of
them, ranks dealt out to the nodes in turn (the last step is inside the node, as in the paper's
figure 1). new: blocks are copied to shared memory, one rank of each node doubles from there (24
nodes: dissemination, 5 rounds), all copy out at the end. overlap: what a round has brought is
copied out while the next round's message is under way. The size is that of one rank's block.""",
        COSTS, tuple(CLUSTERS.values()), *(Table(
        "%s ({model}), simulated:" % cluster,
        ["nodes", "block", "original", "new", "overlap", "original / new", "original / overlap",
         "new / overlap"],
        list(shared_rows(cluster, *([size] for size in SHARED_SIZES))), SHARED, [model])
        for cluster, model in CLUSTERS.items()), """Most over these sizes, beside the paper's "up
to". "8 KiB": original, with larger messages between nodes uncopied (and no handshake). "in blocks":
original, ranks of a node follow each other. "saved": of new's time.""", Table(
        "Paper, and simulated:",
        ["cluster", "nodes", "paper: factor", "original / overlap", ("8 KiB", "8 KiB / overlap"),
         ("in blocks", "in blocks / overlap"), "paper: overlap", ("saved", lambda case: case.ratio(
             "new", "overlap", lambda ratio: "%.0f %%" % (100 - 100 / ratio))), "new / overlap"],
        [row for cluster in CLUSTERS for row in shared_rows(cluster, SHARED_SIZES)], SHARED)],
    "verbs": lambda args: ["Gather and allgather with verbs", """
One rank on each node, root 0; the size is that of one rank's block. Gather: fanout is that of a
step, so fanout 1 is the binomial tree. Allgather: linear sends to all in turn (the paper's modified
ring); bruck k has k ports. "linear / best other" is below 1 where linear is the fastest.""",
        COSTS, CARDS, *(
        block for title, names, counts in (("#### Gather", GATHERS, (4, 28)),
                                           ("#### Allgather", ALLGATHERS, (4, 16)))
        for block in (title, Table(
            "{model}, simulated:", ["ranks", "block", *names, "fastest", "linear / best other"],
            grid([*product((SMALL, LARGE), COUNTS),
                  *((size, ranks) for ranks in counts for size in UPTO + ABOVE)]),
            {**names, "best other": tuple(names)[1:]}, CARDS))), """Does what the paper says of its
figures hold? "yes (no, yes)": not with half the node's costs. Where it says that something is the
fastest, 1 % is no difference.""", Table(
        "Claims, simulated:",
        ["figure", "claim"] + [(card, lambda case, at=at: holds(case, at))
                               for at, card in enumerate(CARDS)],
        [{"figure": figure, "claim": claim, "claims": claims, "algorithm": (
            GATHERS if claim.startswith("gather") else ALLGATHERS)["linear"],
          "points": [(ranks, 1, size) for ranks in counts for size in sizes]}
         for figure, claim, counts, sizes, *claims in CLAIMS],
        {**GATHERS, **ALLGATHERS, "linear": "{algorithm}"}, CARDS)],
    "imbalance": lambda args: ["Ranks that come late: reduce, bcast, alltoall", """
32 ranks on each node, which follow each other. Mean speed-ups of the mean time in the call, as the
seed averages them: over cells of 4 sizes (%s B) and 6 imbalances (%s), each cell the mean of 12
calls with other delays and another root, a node's lowest rank; alltoall: one call, buffers of 128
KiB and 1 MiB in all. The seed's imbalances are loop iterations of its machine, whose delays it does
not give; these have its shape (most ranks in a group, few much later) and lie around its table
3.5. Reduce: also with rendezvous, where messages of more than 4 KiB leave only when their receiver
is there (rndv=4096).""" % (
        ", ".join(map(str, LATE_SIZES)), ", ".join(ARRIVALS)), SETS[:1],
        *late_trees("{model}: reduce (table 3.6)", "reduce:binomial", REDUCE, args.ranks,
                    (SETS[0], SETS[0] + ",rndv=4096")),
        *late_trees("Bcast (table 3.7)", "bcast:binomial", BCAST, args.ranks),
        speed_ups("Alltoall over Isend, mean time in the call", "alltoall:scattered", ALLTOALL,
                  args.ranks),
        speed_ups("Alltoall over Isend, time after the last arrival", "alltoall:scattered",
                  ALLTOALL, args.ranks, False, what="after last",
                  note=lambda cases: form_errors(cases, "base", """
`*`: Isend in closed form, as so many messages take too long: what a rank does for its messages one
after another (all at once: or what a card does for its node's, if that takes longer), and a
message's way. Where it was simulated, closed form / simulated (after the last arrival) is %.2f to
%.2f."""))],
}
