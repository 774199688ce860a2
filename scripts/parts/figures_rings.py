"""Figures of rings: hierarchical against flat, pipelined against linear."""

from collshim.distributions import PARTS
from figures_simulator import (FACTORS, NODE_COST, SETS, digits, print_sets, print_table,
                               print_text,
                               print_title, ratio_text, size_text, time_text, times_of)

# --- hier: seed 002, 2.3 and 2.5 ------------------------------------------------------------------

PPN = 32
HIER_SIZES = (8, 1 << 10, 64 << 10)
HIER_ALGORITHMS = ("ring", "recursive-doubling", "hier:ring", "hier:recursive-doubling")


def ring_in_closed_form(keys, nodes, ppn, size):
    """Seconds of the flat ring, ranks of a node one after another. A block passes each rank but
    one: that is one bound. The other: the slowest of rank, port, card and bus has so much to do in
    each round."""
    cost = {key: float(value) for key, value in keys.items()}
    rest = size - 1
    inside = cost["intra.os"] + cost["intra.L"] + cost["intra.or"] + rest * cost["intra.G"]
    between = cost["os"] + cost["L"] + cost["or"] + rest * cost["G"]
    way = nodes * (ppn - 1) * inside + (nodes - 1) * between
    busy = [cost["os"] + cost["intra.or"], cost["or"] + cost["intra.os"],
            cost["os"] + rest * cost["G"], cost["intra.os"] + rest * cost["intra.G"],
            cost["g"] + rest * cost["G"], cost["intra.g"] + rest * cost["intra.G"],
            cost["nic.g"] + rest * cost["nic.G"], (ppn - 1) * size * cost["bus"]]
    return max(way, (nodes * ppn - 1) * max(busy) + between)


def closed_forms(sim, name, nodes, size):
    keys = sim.models[name][1]
    return [ring_in_closed_form({**keys, **{key: float(keys[key]) * factor for key in NODE_COST}},
                                nodes, PPN, size)
            for factor in FACTORS]


def hier_row(sim, name, size, ranks, futures, errors):
    nodes = ranks // PPN
    ring = closed = closed_forms(sim, name, nodes, size)
    is_simulated = futures[0].result() is not None
    if is_simulated:
        ring = times_of(futures[0], name)
        errors += [by_form / simulated for by_form, simulated in zip(closed, ring)]
    doubling, hier_ring, hier_doubling = (times_of(future, name) for future in futures[1:])
    flat = [min(pair) for pair in zip(ring, doubling)]
    hier = [min(pair) for pair in zip(hier_ring, hier_doubling)]
    return [size_text(size), "{:,}".format(ranks), time_text(ring[0]) +
            ("" if is_simulated else " *"),
            time_text(doubling[0]), time_text(hier_ring[0]), time_text(hier_doubling[0]),
            ratio_text(ring, hier_ring), ratio_text(flat, hier)]


def figure_hier(sim, args):
    asked = {(size, ranks): [sim.ask_sets("allgather:" + algorithm, ranks // PPN, PPN, size)
                             for algorithm in HIER_ALGORITHMS]
             for ranks in args.ranks for size in HIER_SIZES}
    print_title("Hierarchical against flat ring: allgather", args.shown % "hier",
                "%d ranks on each node, ranks of a node follow each other. The size is that of one "
                "rank's block." % PPN)
    print_sets(sim)
    errors = []
    for name in SETS:
        print("%s, simulated:\n" % name)
        rows = [hier_row(sim, name, size, ranks, asked[size, ranks], errors)
                for size in HIER_SIZES for ranks in args.ranks]
        print_table(["block", "ranks", "ring", "recursive-doubling", "hier:ring",
                     "hier:recursive-doubling",
                     "ring / hier:ring", "best flat / best hier"], rows)
    print_text("""`*`: closed form, not simulated, as the plans of so many ranks need more than
                  %s of memory. It is the larger of the time of a block on its way round the ring
                  and of what the slowest rank, port, card or bus does in all rounds.""" %
                  args.memory)
    if errors:
        print_text("Where the ring was simulated, closed form / simulated is %.3f to %.3f."
                   % (min(errors), max(errors)))


# --- vring: seed 001, 3 ---------------------------------------------------------------------------

TOTAL = 32 << 20
DISTRIBUTIONS = tuple(PARTS)
# nodes, ranks on each, distributions, block of the paper's figure
RINGS = ((30, 1, DISTRIBUTIONS, 1 << 20), (30, 8, ("broadcast", "spike"), 1 << 20),
         (16, 2, ("spike", "decreasing"), 64 << 10), (24, 4, ("spike", "geometric"), 32 << 10))
WINDOWS = (1, 4, 16)
SWEEP = (16, 2, ("spike", "decreasing"))
BLOCKS = (4 << 10, 32 << 10, 64 << 10, 128 << 10, 512 << 10, 1 << 20)


def base_size(distribution, ranks):
    """c, with which all ranks together have about TOTAL."""
    return TOTAL if distribution in ("broadcast", "spike") else TOTAL // ranks


def ask_ring(sim, nodes, ppn, distribution, algorithm, *params):
    return sim.ask_sets("allgatherv:" + algorithm, nodes, ppn,
                        base_size(distribution, nodes * ppn), "--distribution",
                        distribution, *params)


def ask_rings(sim, nodes, ppn, distribution, block):
    """Linear, with the paper's block, with the chosen one for each window."""
    return [ask_ring(sim, nodes, ppn, distribution, "ring"),
            ask_ring(sim, nodes, ppn, distribution, "pipelined-ring", "segment=%d" % block)] + [
            ask_ring(sim, nodes, ppn, distribution, "pipelined-ring", "window=%d" % window)
            for window in WINDOWS]


def ask_in_place(sim, nodes, ppn, distribution, block):
    """Linear, with the paper's block, with the chosen one: where a rank's own block need not be
    copied. With one rank on a node nothing else costs a copy or the bus."""
    models = [name + ",copy=0,bus=0" for name in SETS]
    return [sim.ask("allgatherv:" + words[0], models, nodes, ppn,
                    base_size(distribution, nodes * ppn),
                    "--distribution", distribution, *words[1:])
            for words in (("ring",), ("pipelined-ring", "segment=%d" % block),
                          ("pipelined-ring", "window=4"))
            if ppn == 1]


def in_place_text(futures, name):
    times = [future.result()[SETS.index(name)] for future in futures]
    return " / ".join(digits(times[0] / time) for time in times[1:])


def ring_row(name, shape, futures, in_place):
    nodes, ppn, distribution, block = shape
    linear, given, *chosen = (times_of(future, name) for future in futures)
    usual = chosen[WINDOWS.index(4)]
    return ["%dx%d" % (nodes, ppn), distribution, time_text(linear[0]),
            time_text(given[0]) + " (%s)" % size_text(block), ratio_text(linear, given),
            time_text(usual[0]), ratio_text(linear, usual), in_place_text(in_place, name)]


def window_effect(asked):
    """How far the time with the smallest or the largest window is from the usual one's, of all, in
    parts."""
    parts = []
    for futures in asked.values():
        for name in SETS:
            first, usual, last = (times_of(future, name)[0] for future in futures[2:])
            parts += [abs(first / usual - 1), abs(last / usual - 1)]
    return max(parts)


def figure_vring(sim, args):
    shapes = [(nodes, ppn, distribution, block) for nodes, ppn, names, block in RINGS
              for distribution in names]
    asked = {shape: ask_rings(sim, *shape) for shape in shapes}
    in_place = {shape: ask_in_place(sim, *shape) for shape in shapes}
    sweep = {(distribution, block): ask_ring(sim, *SWEEP[:2], distribution, "pipelined-ring",
                                             "segment=%d" % block)
             for distribution in SWEEP[2] for block in BLOCKS}
    print_title("Pipelined against linear ring: allgatherv", args.shown % "vring",
                """All ranks together have %s, dealt by the six distributions. "given": with the
                   block size that the paper used there (as far as it says); "chosen": with the
                   block size that the algorithm takes by itself; 4 segments under way at a time.
                   "in place": the ratios without the copy of the own block.""" % size_text(TOTAL))
    print_sets(sim)
    for name in SETS:
        print("%s, simulated:\n" % name)
        print_table(["nodes", "distribution", "ring", "pipelined, given", "ring / given",
                     "pipelined, chosen",
                     "ring / chosen", "in place, given / chosen"],
                    [ring_row(name, shape, asked[shape], in_place[shape]) for shape in shapes])
    print_text("With %d or %d segments under way all times are within %.1f %% of those with 4."
               % (WINDOWS[0], WINDOWS[-1], 100 * window_effect(asked)))
    for name in SETS:
        print("%s, simulated, %dx%d: ring / pipelined ring by block size:\n" %
              ((name,) + SWEEP[:2]))
        print_table(["distribution"] + [size_text(block) for block in BLOCKS],
                    [[distribution] + [ratio_text(times_of(ask_ring(sim, *SWEEP[:2], distribution,
                                                                    "ring"), name),
                                                  times_of(sweep[distribution, block], name))
                                                  for block in BLOCKS]
                     for distribution in SWEEP[2]])
