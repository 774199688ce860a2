"""Figure of ranks that come late: seed 002, tables 3.6 to 3.8."""

import re

from collshim.failure import Failure
from figures_simulator import digits, print_parameters, print_table, print_text, print_title

PPN = 32
SETS = ("hdr-like",)
LATE_RANKS = (512, 2048, 8192, 32768)
SIZES = (32, 512, 8 << 10, 128 << 10)
ARRIVALS = ("none", "exponential:250us", "exponential:500us", "exponential:1ms", "exponential:2ms",
            "exponential:4ms")
CALLS = 12
# Column, algorithm, the seed's numbers by ranks.
REDUCE = (
    ("Hier.", "reduce:sketch:barriers", (0.34, 0.34, 0.34, 0.34)),
    ("Intra-Opt.", "reduce:sketch:static", (5.67, 5.73, 5.71, 5.66)),
    ("Dyn. Leader", "reduce:sketch:dynamic:control=1", (18.72, 21.13, 20.40, 13.35)),
    ("D.L. One-Sided", "reduce:sketch:dynamic", (23.95, 28.98, 29.11, 22.47)),
    ("half-dynamic", "reduce:sketch:half-dynamic", None),
)
BCAST = (
    ("Hier.", "bcast:sketch:barriers", (0.49, 0.51, 0.57, 0.54)),
    ("Intra-Opt.", "bcast:sketch:static", (1.66, 1.43, 1.27, 1.16)),
    ("Dyn. Leader", "bcast:sketch:dynamic:control=1", (7.53, 6.15, 4.72, 2.52)),
    ("written to nodes", "bcast:sketch:dynamic", None),
    ("Pat.", "bcast:sketch:patarasuk", None),
    ("Pat. Hier.", "bcast:sketch:patarasuk-barriers", None),
    ("Pat. OL", "bcast:sketch:patarasuk-static", None),
    ("Pat. DL", "bcast:sketch:patarasuk-dynamic", None),
)
# Bytes of a rank's whole buffer; a block is its part for one rank.
TOTALS = (128 << 10, 1 << 20)
FLAT_RANKS = 512 # above, the flat alltoall has too many messages, and is told in closed form
LEAST = 8
ALLTOALL = (
    ("Isend Hier.", "alltoall:hier:scattered", (1.5, 2.1, 3.6, 6.7)),
    ("Hier. aware", "alltoall:sketch:fragments:least=%d" % LEAST, (2.8, 4.7, 8.4, 15.4)),
    ("aware, waits", "alltoall:sketch:fragments:waits=1", None),
)


class Late:
    """What ranks spend in calls, as collshim-sim says it: seconds by pattern."""

    def __init__(self, sim):
        self.sim, self.asked = sim, {}

    def ask(self, algorithm, ranks, size, *more):
        key = (algorithm, ranks, size)
        if key not in self.asked:
            words = [word for text in ARRIVALS for word in ("--arrivals", text)]
            self.asked[key] = self.sim.ask_words(algorithm, list(SETS), ranks // PPN, PPN, size,
                                                 *words, *more)
        return self.asked[key]

    def __getitem__(self, key):
        found = re.findall(r": (\S+): mean (\d+) ps, bound (\d+) ps, after last (-?\d+) ps,",
                           self.ask(*key).result() or "")
        if len(found) != len(ARRIVALS):
            raise Failure(2, "--memory is too little for a simulation with late ranks")
        return [{"mean": int(mean) * 1e-12, "bound": int(bound) * 1e-12,
                 "after": int(after) * 1e-12} for _, mean, bound, after in found]


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def speed_ups(late, base, variant, ranks, sizes):
    """Cell by cell, as the seed averages them."""
    return [above["mean"] / below["mean"] for size in sizes
            for above, below in zip(late[base, ranks, size], late[variant, ranks, size])]


def told(value, seed, at):
    return digits(value) if seed is None else "%s (%g)" % (digits(value), seed[at])


def tree_rows(late, base, columns, ranks_list):
    for ranks in ranks_list:
        at = LATE_RANKS.index(ranks) if ranks in LATE_RANKS else None
        yield ["{:,}".format(ranks)] + [
            told(mean(speed_ups(late, base, name, ranks, SIZES)), None if at is None else seed, at)
            for _, name, seed in columns]


def cell_rows(late, base, columns, ranks):
    for size in (SIZES[0], SIZES[-1]):
        for name, algorithm in [("binomial", base)] + [column[:2] for column in columns]:
            yield ["%d B" % size, name] + ["%.3g" % (cell["mean"] * 1e3)
                                           for cell in late[algorithm, ranks, size]]
        yield ["%d B" % size, "bound"] + ["%.3g" % (cell["bound"] * 1e3)
                                          for cell in late[base, ranks, size]]


def figure_trees(late, title, base, columns, ranks_list):
    print("%s over binomial, mean time in the call, simulated (in brackets the seed's):\n" % title)
    print_table(["ranks"] + [column[0] for column in columns],
                list(tree_rows(late, base, columns, ranks_list)))
    ranks = 8192 if 8192 in ranks_list else ranks_list[-1]
    print("%s, %s ranks, mean time in the call in ms, simulated:\n" % (title, "{:,}".format(ranks)))
    print_table(["size", "variant"] + [text.replace("exponential:", "") for text in ARRIVALS],
                list(cell_rows(late, base, columns, ranks)))


# --- alltoall -------------------------------------------------------------------------------------

def flat_form(keys, ranks, block, arrivals):
    """What a rank does for its messages to all others, one after another, or, where all come at
    once, their node's card for those of its ranks, whichever takes longer; and a message's way."""
    rank = (ranks - 1) * (float(keys["os"]) + float(keys["or"]))
    card = PPN * (ranks - PPN) * (float(keys["nic.g"]) + block * float(keys["nic.G"]))
    return max(rank, card if arrivals == "none" else 0) + float(keys["L"])


class Alltoall:
    def __init__(self, late, keys):
        self.late, self.keys = late, keys

    def block(self, ranks, total):
        return total // ranks

    def flat(self, ranks, total):
        """Cells, and whether they are simulated."""
        if ranks <= FLAT_RANKS:
            return self.late["alltoall:scattered", ranks, self.block(ranks, total)]
        block = self.block(ranks, total)
        forms = [flat_form(self.keys, ranks, block, text) for text in ARRIVALS]
        return [{"mean": cell["bound"] + form, "after": form} for form, cell in
                zip(forms, self.late["alltoall:hier:scattered", ranks, block])]

    def speed_up(self, name, ranks, what):
        return mean(above[what] / below[what] for total in TOTALS
                    for above, below in zip(self.flat(ranks, total),
                                            self.late[name, ranks, self.block(ranks, total)]))

    def row(self, ranks, what):
        at = LATE_RANKS.index(ranks) if ranks in LATE_RANKS else None
        return ["{:,}%s".format(ranks) % ("" if ranks <= FLAT_RANKS else " *")] + [
            told(self.speed_up(name, ranks, what), seed if at is not None and what == "mean"
                 else None, at)
            for _, name, seed in ALLTOALL]


def figure_alltoall(late, keys, ranks_list):
    all_to_all = Alltoall(late, keys)
    head = ["ranks"] + [column[0] for column in ALLTOALL]
    print("Alltoall over Isend, mean time in the call, simulated (in brackets the seed's):\n")
    print_table(head, [all_to_all.row(ranks, "mean") for ranks in ranks_list])
    print("Alltoall over Isend, time after the last arrival, simulated:\n")
    print_table(head, [all_to_all.row(ranks, "after") for ranks in ranks_list])
    some = [ranks for ranks in ranks_list if ranks <= FLAT_RANKS]
    if some:
        ratios = [flat_form(keys, ranks, total // ranks, text) / cell["after"] for ranks in some
                  for total in TOTALS for text, cell in zip(ARRIVALS,
                                                            all_to_all.flat(ranks, total))]
        print_text("""`*`: Isend in closed form, as so many messages take too long: what a
                      rank does for its messages one after another (all at once: or what a
                      card does for its node's, if that takes longer), and a message's way.
                      Where it was simulated, closed form / simulated (after the last arrival)
                      is %.2f to %.2f.""" %
                   (min(ratios), max(ratios)))


def figure_imbalance(sim, args):
    ranks_list = args.late_ranks
    late = Late(sim)
    turning = ("--calls", str(CALLS), "--turn-root")
    for ranks in ranks_list:
        for base, columns in (("reduce:binomial", REDUCE), ("bcast:binomial", BCAST)):
            for size in SIZES:
                for name in [base] + [column[1] for column in columns]:
                    late.ask(name, ranks, size, *turning)
    for ranks in ranks_list:
        for total in TOTALS:
            for name in [column[1] for column in ALLTOALL] + ["alltoall:scattered"] * (
                    ranks <= FLAT_RANKS):
                late.ask(name, ranks, total // ranks)
    print_title("Ranks that come late: reduce, bcast, alltoall", args.shown % "imbalance",
                """%d ranks on each node, which follow each other. Mean speed-ups of the mean time
                   in the call, as the seed averages them: over cells of %d sizes (%s B) and %d
                   imbalances (%s), each cell the mean of %d calls with other delays and another
                   root, a node's lowest rank; alltoall: one call, buffers of 128 KiB and 1 MiB in
                   all. The seed's imbalances are loop iterations of its machine, whose delays it
                   does not give; these have its shape (most ranks in a group, few much later) and
                   lie around its table 3.5.""" %
                (PPN, len(SIZES), ", ".join(map(str, SIZES)), len(ARRIVALS), ", ".join(ARRIVALS),
                 CALLS))
    print_parameters(SETS[0], *sim.models[SETS[0]])
    print()
    figure_trees(late, "Reduce (table 3.6)", "reduce:binomial", REDUCE, ranks_list)
    figure_trees(late, "Bcast (table 3.7)", "bcast:binomial", BCAST, ranks_list)
    figure_alltoall(late, sim.models[SETS[0]][1], ranks_list)
