"""Seed 000, figures 7.3, 7.6 and 7.7: its component beside the algorithms that Open MPI's component
tuned and MVAPICH choose, as names of plans."""

import dataclasses
from itertools import product

from figures_asked import LARGE, SMALL, Table, digits, grid

CARDS = ("mt23108,osmin=5e-07", "mt25204")
SIZES = (SMALL, 16, 64, 128, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10)
FEW, MANY = 4, 32
RANKS = (FEW, 6, 12, 16, 28, MANY)
# {call: {who: [(what it is for, holds(ranks, bytes of a block), plan), ..]}}; the first that holds.
# tuned: Open MPI 1.3 to 4.0; MVAPICH: MPICH 1.2.7 and 2, from which MVAPICH 0.9 and 2 come.
CHOICES = {
    "gather": {
        "seed": [("up to 4 ranks, or from 4 KiB", lambda p, s: p <= 4 or s >= 4096, "linear"),
                 ("else", lambda p, s: True, "knomial:k=3")],
        "tuned": [("above 6,000 B", lambda p, s: s > 6000, "linear-sync"),
                  ("more than 60 ranks, or than 10 and less than 1 KiB",
                   lambda p, s: p > 60 or (p > 10 and s < 1024), "binomial"),
                  ("else", lambda p, s: True, "linear")],
        "MVAPICH": [("all", lambda p, s: True, "binomial")]},
    "allgather": {
        "seed": [("powers of two", lambda p, s: not p & (p - 1), "recursive-doubling"),
                 ("else below 4 KiB", lambda p, s: s < 4096, "bruck"),
                 ("else", lambda p, s: True, "direct-ring")],
        "tuned": [("less than 50,000 B in all, powers of two",
                   lambda p, s: p * s < 50000 and not p & (p - 1), "recursive-doubling"),
                  ("less than 50,000 B in all", lambda p, s: p * s < 50000, "bruck"),
                  ("even ranks", lambda p, s: p % 2 == 0, "neighbor"),
                  ("else", lambda p, s: True, "ring")],
        "MVAPICH": [("less than 512 KiB in all, powers of two",
                     lambda p, s: p * s < 1 << 19 and not p & (p - 1), "recursive-doubling"),
                    ("less than 80 KiB in all", lambda p, s: p * s < 80 << 10, "bruck"),
                    ("else", lambda p, s: True, "ring")],
        "basic": [("all", lambda p, s: True, "gather-bcast")]}}
# The root of linear-sync asks each rank for its block: messages wait for their receiver.
SYNC, ASKS = "linear-sync", ",rndv=1023"


NAMES = {who: "{call}:{%s runs}" % who for who in CHOICES["allgather"]}


def rows(call, points):
    """With the plan of each, and what is simulated for it."""
    found = grid(points)
    for row in found:
        row["call"] = call
        for who, choices in CHOICES[call].items():
            row[who] = next(plan for _, holds, plan in choices
                            if holds(row["ranks"], row["block"]))
            row[who + " runs"] = row[who].replace(SYNC, "linear")
    return found


def time(case, who):
    return case(who, change=ASKS if case.row[who] == SYNC else "")[0]


def over(who):
    return who + " / seed", lambda case: digits(time(case, who) / time(case, "seed"))


def table(call, points):
    return Table("{model}, simulated:", [
        "ranks", "block", "seed", ("time", lambda case: case.time("seed")), "tuned", "MVAPICH",
        *(over(who) for who in CHOICES[call] if who != "seed")],
        rows(call, points), NAMES, CARDS, ())


# Claim of a figure: for these ranks and sizes, what must hold of the times by name.
CLAIMS = (
    ("7.3", "4 ranks: the seed's at least as fast as both (to 1 %)", "gather", (FEW,), SIZES, all,
     lambda t: t["seed"] <= 1.01 * min(t["tuned"], t["MVAPICH"])),
    ("7.3", "4 ranks, 16 to 256 KiB: faster than tuned, and up to a third at least", "gather",
     (FEW,), SIZES[6:], lambda gains: min(gains) > 1 and max(gains) >= 1.33,
     lambda t: t["tuned"] / t["seed"]),
    ("7.3", "32 ranks, below 128 B: MVAPICH faster than the seed's", "gather", (MANY,), SIZES[:3],
     all, lambda t: t["MVAPICH"] < t["seed"]),
    ("7.3", "32 ranks, from 128 B: the seed's faster than both for some size", "gather", (MANY,),
     SIZES[3:], any, lambda t: t["seed"] < min(t["tuned"], t["MVAPICH"])),
    ("7.6", "4 B, below 16 ranks: MVAPICH the fastest (to 1 %)", "allgather", RANKS[:3], (SMALL,),
     all, lambda t: t["MVAPICH"] <= 1.01 * min(t.values())),
    ("7.6", "4 B: the seed's and tuned alike", "allgather", RANKS, (SMALL,), all,
     lambda t: t["seed"] == t["tuned"]),
    ("7.6", "32 KiB: all but basic alike (to 25 %)", "allgather", RANKS, (LARGE,), all,
     lambda t: max(t["seed"], t["tuned"], t["MVAPICH"]) <= 1.25 * min(t.values())),
    ("7.7", "4 ranks, up to 1 KiB: the seed's slower than both", "allgather", (FEW,), SIZES[:5],
     all, lambda t: t["seed"] > max(t["tuned"], t["MVAPICH"])),
    ("7.7", "4 ranks, from 16 KiB: the seed's and tuned alike (to 10 %)", "allgather", (FEW,),
     SIZES[6:], all, lambda t: 1 / 1.1 <= t["seed"] / t["tuned"] <= 1.1),
    ("7.7", "32 ranks: the seed's at least as fast as both (to 1 %)", "allgather", (MANY,), SIZES,
     all, lambda t: t["seed"] <= 1.01 * min(t["tuned"], t["MVAPICH"])))


def claimed(at):
    def cell(case):
        over_all, holds = case.row["claim of"]
        each = [dataclasses.replace(case, at=at, row=row) for row in case.row["rows"]]
        return "yes" if over_all([holds({who: time(one, who) for who in CHOICES[one.row["call"]]})
                                  for one in each]) else "no"
    return cell


def hosts(args):
    return ["Gather and allgather by the hosts' decision tables", """
One rank on each node, root 0; the size is that of one rank's block. "seed": the component of seed
000, as its text tells the choice. tuned: Open MPI's component, its fixed decisions from 1.3 to 4.0.
MVAPICH: those of MPICH 1.2.7 and MPICH2, from which MVAPICH 0.9 and MVAPICH2 were made. The
versions that were measured are not told. All plans send alike: by one set of parameters, without
the MPIs' own protocols; but where the root of linear-sync asks each rank for its data, these wait
for that. mt23108 has the seed's least o_s for further messages in a row.""",
            "The plans that are simulated:", [["host", "call", "for", "plan"]] + [
                [who, call, text, plan] for call, found in CHOICES.items()
                for who, choices in found.items() for text, _, plan in choices],
            CARDS, "#### Gather (figure 7.3)", table("gather", sorted(product(
                SIZES, (FEW, MANY)), key=lambda point: point[1])),
            "#### Allgather (figures 7.6 and 7.7)",
            table("allgather", sorted({*product((SMALL, LARGE), RANKS),
                                       *product(SIZES, (FEW, MANY))},
                                      key=lambda point: point[::-1])),
            "Does what the paper says of its figures hold?", Table(
        "Claims, simulated:",
        ["figure", "claim", *((card, claimed(at)) for at, card in enumerate(CARDS))],
        [{"figure": figure, "claim": text, "claim of": (over_all, holds), "points": [],
          "rows": rows(call, [*product(sizes, ranks)])}
         for figure, text, call, ranks, sizes, over_all, holds in CLAIMS], NAMES, CARDS, ())]
