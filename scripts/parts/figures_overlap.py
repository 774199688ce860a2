"""What non-blocking collectives cost a rank that computes meanwhile: seed 003, figures 1 to 3 and 6
to 10."""

import dataclasses
import math

from figures_asked import Table, grid

# Eager up to 255 B as the seed's figures 4 and 5; a test of 2 us or 0.1, the most and the least of
# IV.A; o_s as in figures_asked.
CARDS = tuple("mt23108,rndv=255,look=" + text for text in ("2e-06", "2e-06,os=5e-07", "1e-07"))
ASKED = ",rts=1"    # an MPI's handshake: a receiver is asked first
INTERVALS = (1024, 2048, 4096, 8192)
SIZES = (64, *(1024 << i for i in range(8)))
BULK = SIZES[2:]    # of more than one piece of the shortest interval
COLLS = {"Ialltoall": "alltoall:scattered", "Igather": "gather:linear"}
BLOCKING = {"Ialltoall": ("alltoall:scattered", "alltoall:pairwise", "alltoall:bruck"),
            "Igather": ("gather:linear", "gather:binomial", "gather:knomial:k=3")}
WITHOUT, STAYS = "{algorithm} --compute 1x", "{algorithm} --compute 1x --poll 1s"
NAMES = {**{plan: plan for plans in BLOCKING.values() for plan in plans},
         "blocking": "{algorithm}", "none": WITHOUT, "stays": STAYS, **{
    interval: WITHOUT + " --looks {looks_%d}" % interval for interval in INTERVALS}}
FIGURES = {1: ("Ialltoall", 16), 2: ("Ialltoall", 64), 3: ("Igather", 64), 6: ("Ialltoall", 16),
           7: ("Ialltoall", 64), 8: ("Igather", 16), 9: ("Igather", 64)}


def rows(coll, nodes, sizes=SIZES, **more):
    return [{**row, "call": coll, "nodes": nodes, "algorithm": COLLS[coll], **more, **{
        "looks_%d" % interval: math.ceil(row["block"] / interval) + 1 for interval in INTERVALS}}
            for row in grid((size, nodes) for size in sizes)]


def seconds(case, name, hands=""):
    """Overhead left, or the time of the blocking call."""
    return case(name, None if name == "blocking" else "overhead exactly", hands)[0]


def least(case, names, hands=""):
    """(seconds, name) of the fastest; as good to 1 %: the first."""
    found = [(seconds(case, name, hands), name) for name in names]
    most = 1.01 * min(found)[0]
    return next(pair for pair in found if pair[0] <= most)


def blocking(case):
    """The fastest plan that an MPI may take, with its handshake."""
    return min(case(plan, change=ASKED)[0] for plan in BLOCKING[case.row["call"]])


def micro(value):
    return "%.0f" % (value * 1e6)


def overhead(name, hands=""):
    return lambda case: micro(seconds(case, name, hands))


def best(hands):
    """A cell: the overhead with the best interval, and that."""
    def cell(case):
        time, name = least(case, INTERVALS, hands)
        return "%s (%s)" % (micro(time), name)
    return cell


WAYS = {"no tests": (("none",), ""), "wait-on-send": (("stays",), ""), "tests": (INTERVALS, ""),
        "MPI, tests": (INTERVALS, ASKED)}


def fastest(case):
    """The best way; as good to 1 %: the first."""
    found = {way: least(case, *of)[0] for way, of in WAYS.items()}
    return next(way for way in WAYS if found[way] <= 1.01 * min(found.values()))


# --- claims ---------------------------------------------------------------------------------------

def is_best(interval):
    return lambda case: seconds(case, interval, ASKED) <= 1.01 * least(case, INTERVALS, ASKED)[0]


def counted(at):
    """A cell: how many of the figures' sizes a claim holds for, with one of the cards."""
    def cell(case):
        figures, sizes, holds = case.row["claim of"]
        found = [holds(dataclasses.replace(case, row=row, at=at)) for figure in figures
                 for row in rows(*FIGURES[figure], sizes)]
        return "%d of %d" % (sum(found), len(found))
    return cell


# Figures, what is said, for which sizes, of which case it is true.
CLAIMS = (
    ((1, 2, 3), "no tests: as the blocking call (to 10 %), no overlap at all", BULK,
     lambda case: abs(seconds(case, "none", ASKED) / seconds(case, "blocking", ASKED) - 1) < 0.1),
    ((2,), "Ialltoall, 64 nodes: a test every 1024 B is the best", BULK, is_best(1024)),
    ((1,), "Ialltoall, 16 nodes: a test every 8192 B is better than every 1024", BULK,
     lambda case: seconds(case, 8192, ASKED) < seconds(case, 1024, ASKED)),
    ((3,), "Igather, 64 nodes: a test every 2048 B is the best, of several sizes", BULK,
     is_best(2048)),
    ((6, 7, 8, 9), "wait-on-send without tests is the best of all, nearly everywhere", SIZES[1:],
     lambda case: fastest(case) == "wait-on-send"),
    ((7,), "Ialltoall, 64 nodes, small: tests every 8192 B are better than wait-on-send",
     SIZES[:5], lambda case: seconds(case, 8192) < seconds(case, "stays")),
    ((7, 9), "figure 10: less than the blocking call, above small sizes", SIZES[3:],
     lambda case: seconds(case, "stays") < blocking(case)))


def overlap(args):
    def against(coll):
        def cell(tell):
            def told(case):
                case = dataclasses.replace(case, row=rows(coll, 64, [case.row["block"]])[0])
                return tell(blocking(case), seconds(case, "stays"))
            return told
        return [(coll[1:] + ", blocking", cell(lambda most, left: micro(most))),
                (coll, cell(lambda most, left: micro(left))),
                ("saved", cell(lambda most, left: "%.0f %%" % (100 - 100 * left / most)))]
    return ["Overlap: non-blocking alltoall and gather of ranks that compute", """
One rank on each node; the block is that of one rank, or pair. As the seed's NBCBench: T is the time
of the blocking call; then a rank begins the call, computes for T with N = ceil(block / interval) +
1 tests at equal distances, and waits. What is told is the overhead left, in us: the time of the
last rank less T. MPI: larger messages than 255 B by a request to send, a "ready" and the data, each
sent when its rank is in the call (rts=1). The others: the receiver says that it is ready when the
call begins (test-on-init), and the data leave when the sender sees it; wait-on-send: each rank
stays in its begin until all receivers have said so. 2 us for a test, the most of the seed.""",
            CARDS[:1],
            Table(
        "Figures 1 to 3: an MPI, by interval of tests in bytes; {model}, simulated, us:",
        ["figure", "call", "nodes", "block", ("blocking", overhead("blocking", ASKED)),
         ("no tests", overhead("none", ASKED)),
         *((str(interval), overhead(interval, ASKED)) for interval in INTERVALS),
         ("best", lambda case: str(least(case, INTERVALS, ASKED)[1]))],
        [row for figure in (1, 2, 3) for row in rows(*FIGURES[figure], figure=figure)], NAMES,
        CARDS[:1], ()), Table(
        "Figures 6 to 9: with the best interval of tests, and without; {model}, simulated, us:",
        ["figure", "call", "nodes", "block", ("MPI, tests", best(ASKED)),
         ("no tests", overhead("none")), ("tests", best("")), ("wait-on-send", overhead("stays")),
         ("the least", fastest)],
        [row for figure in (6, 7, 8, 9) for row in rows(*FIGURES[figure], figure=figure)], NAMES,
        CARDS[:1], ()), Table(
        "Figure 10: 64 nodes, wait-on-send against an MPI's fastest blocking plan; {model}, "
        "simulated, us:", ["block", *against("Ialltoall"), *against("Igather")],
        grid((size, 64) for size in SIZES), NAMES, CARDS[:1], ()), """How often does what the paper
says of its figures hold? First with these parameters, then with the o_s of many messages in a row,
then with tests of 0.1 us. 1 % is no difference to the best.""", Table(
        "Claims, sizes for which they hold, simulated:",
        ["figures", "claim", *((card, counted(at)) for at, card in enumerate(CARDS))],
        [{"figures": ", ".join(map(str, figures)), "claim": text, "points": [],
          "claim of": (figures, sizes, holds)} for figures, text, sizes, holds in CLAIMS],
        NAMES, CARDS, ())]
