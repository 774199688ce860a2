"""Seed 002, chapter 2: its universal hierarchical algorithm, with one sender on each node and with
several: tables 2.1 and 2.2, figures 2.5 to 2.7 and 2.10."""

from statistics import fmean

from figures_asked import SETS, Table, digits, size_text

PPN, TOTALS = 32, (128 << 10, 512 << 10, 2 << 20)
RANKS, CORES = (1024, 4096, 16384, 32768), (128, 512, 2048, 8192, 32768, 65536)
ELEMENT = 8    # bytes, of reductions
PLAN = "scatter:hier:knomial:k=%d:senders=%d"
# Call: flat, hierarchical, by several senders; mean and maximum of tables 2.1 (MPICH) and 2.2.
CALLS = {
    "Allgather-Small (Bruck)": ("allgather:bruck", "allgather:hier:bruck",
                                "allgather:hier:bruck:k=31:senders=31", "20.3, 31.4",
                                "1.4, 2.1"),
    "Allgather-Large (ring)": ("allgather:ring --alike", "allgather:hier:ring",
                               "allgather:hier:two-way-ring:senders=2", "22.2, 56.0",
                               "2.7, 4.2"),
    "Alltoallv (pairwise)": ("alltoallv:pairwise --alike", "alltoallv:hier:pairwise",
                             "alltoallv:hier:pairwise:senders=32", "6.7, 15.3", "2, 3.1"),
    "Broadcast (binomial)": ("bcast:binomial", "bcast:hier:binomial",
                             "bcast:hier:pipelined-binomial:senders=32", "1.1, 1.1",
                             "1.7, 2.8"),
    "Reduce-Scatter (pairwise)": ("reduce_scatter:pairwise --alike", "reduce_scatter:hier:pairwise",
                                  "reduce_scatter:hier:pairwise:senders=31", "45.5, 81.8",
                                  "4.9, 9.1"),
    "Scatter (binomial)": ("scatter:binomial", "scatter:hier:binomial", PLAN % (31, 31),
                           "0.9, 1.0", "2.2, 3.2")}
WHOLE = ("bcast", "reduce_scatter")    # --bytes counts the whole vector
BETWEEN = "between nodes exactly"
NOT_HELD = "not held"
SENDERS = {"reduce_scatter": (1, 2, 4, 8, 16, 31), "scatter": (1, 2, 4, 8, 16, 31),
           "allgather": (1, 2, 4, 8, 16, 31)}
BY_SENDERS = {"reduce_scatter": "reduce_scatter:hier:pairwise:senders=%d", "scatter": PLAN,
              "allgather": "allgather:hier:bruck:k=%d:senders=%d"}
NAMES = {"flat": "{flat}", "hier": "{hier}", "one": "{one} --play{alike}",
         "many": "{many} --play{alike}"}


def points(call, ranks, totals=TOTALS):
    """The total is that of the largest buffer; a reduction has one element for each rank at
    least."""
    return [(ranks // PPN, PPN, max(total, ELEMENT * ranks if call == "reduce_scatter" else 0)
             if call in WHOLE else total // ranks) for total in totals]


def rows(counts, totals=TOTALS):
    return [{"call": name, "flat": flat, "hier": hier, "many": many, "ranks": ranks,
             "one": hier + ":lanes=1" * hier.startswith("bcast"), "alike": " --alike" * (
                 "--alike" in flat), "is_last": ranks == counts[-1],
             "2.1": seed, "2.2": senders, "points": points(hier.partition(":")[0], ranks, totals)}
            for name, (flat, hier, many, seed, senders) in CALLS.items() for ranks in counts]


def ratios(case, above, below, what=None):
    """By size; none if a simulation does not fit into --memory."""
    found = [(case.simulated(above, point, what), case.simulated(below, point, what))
             for point in case.row["points"]]
    return [a[0] / b[0] for a, b in found if a and b] if all(a and b for a, b in found) else []


def mean_max(above, below, what=None):
    def cell(case):
        found = ratios(case, above, below, what)
        return "%s, %s" % (digits(fmean(found)), digits(max(found))) if found else NOT_HELD
    return cell


def ratio_at(at, above, below):
    def cell(case):
        found = ratios(case, above, below)
        return digits(found[at]) if found else NOT_HELD
    return cell


def seed(key):
    return lambda case: case.row[key] if case.row["is_last"] else ""


def inside(name):
    """Percents by size, of time in which a node has no messages to or from others."""
    def cell(case):
        found = [(case.simulated(name, point), case.simulated(name, point, BETWEEN))
                 for point in case.row["points"]]
        return ", ".join("%.0f" % (100 - 100 * between[0] / whole[0]) if whole else NOT_HELD
                         for whole, between in found)
    return cell


def time(name, at=0):
    def cell(case):
        found = case.simulated(name, case.row["points"][at])
        if not found:
            return NOT_HELD
        factor, unit = (1e3, "ms") if found[0] >= 1e-3 else (1e6, "us")
        return "%s %s" % (digits(factor * found[0]), unit)
    return cell


def by_senders(call, ranks):
    """Of one sender the hierarchical plan, of more the one for them."""
    one = next(hier for _, hier, *_ in CALLS.values() if hier.startswith(call))
    return [{"call": call, "size": size_text(size), "points": [point],
             **{"by %d" % count: one if count == 1 else BY_SENDERS[call] % (
                 (count,) * BY_SENDERS[call].count("%d")) for count in SENDERS[call]}}
            for size, point in zip(TOTALS, points(call, ranks))]


def senders_table(caption, calls, ranks):
    counts = SENDERS[calls[0]]
    return Table(caption % "{:,}".format(ranks),
                 ["call", "size", *((str(count), time("by %d" % count)) for count in counts)],
                 [row for call in calls for row in by_senders(call, ranks)],
                 {"by %d" % count: "{by %d} --play" % count for count in counts}, SETS, ())


def universal(args):
    counts, few = args.ranks or RANKS, (args.ranks or RANKS)[0]
    sizes = [size_text(size) for size in TOTALS]
    return ["The universal hierarchical algorithm and its senders: seed 002, chapter 2", """
%d ranks on each node, which follow each other. Sizes are those of the largest buffer in all (%s;
reduce_scatter, whose elements have %d bytes: one for each rank at least), the same for all numbers
of ranks, as in the seed's figures; blocks of alltoallv are equal. "Flat" and "hierarchical" by one
leader are plans. Several senders, and the one that they are compared with, are played (`--play`).
Of rings and pairwise exchanges the ranks of one node, or played of four, stand for all (`--alike`).
"%s": it does not fit into --memory %s; of reduce_scatter, a slot has no room for an element of each
rank, and the library would leave the call to the MPI. The seed's columns are its means and maxima
at 32,768 cores of a Cray XE6 beside MPICH, over sizes that it only draws.""" % (
    PPN, ", ".join(sizes), ELEMENT, NOT_HELD, args.memory),
            SETS, Table(
        "{model}, simulated: table 2.1, time of the flat plan over that of the hierarchical one:",
        ["call", "ranks", *((size, ratio_at(at, "flat", "hier")) for at, size in enumerate(sizes)),
         ("mean, max", mean_max("flat", "hier")), ("seed", seed("2.1"))],
        rows(counts), NAMES, SETS, ()), Table(
        "{model}, simulated: table 2.2, time between nodes by one sender over that by several; of "
        "the whole call:", ["call", "ranks", ("between nodes: mean, max",
                                             mean_max("one", "many", BETWEEN)),
                            ("whole call: mean, max", mean_max("one", "many")),
                            ("seed, between nodes", seed("2.2"))],
        rows(counts), NAMES, SETS, ()), Table(
        "{model}, simulated: figure 2.6, percent of the time inside nodes, for %s:" % (
            ", ".join(sizes)), ["call", "ranks", ("one sender", inside("hier")),
                                ("several", inside("many"))],
        rows(counts), NAMES, SETS, ()), Table(
        "{model}, simulated: figure 2.5, %s by ranks:" % sizes[-1],
        ["call", "ranks", ("flat", time("flat")), ("hierarchical", time("hier")),
         ("several senders", time("many"))],
        rows(args.ranks or CORES, TOTALS[-1:]), NAMES, SETS, ()),
            senders_table("{model}, simulated: figure 2.7, %s ranks, by senders:",
                          ["reduce_scatter"], few),
            senders_table("{model}, simulated: figure 2.10, %s ranks, by senders (k of them):",
                          ["scatter", "allgather"], few)]
