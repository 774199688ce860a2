"""The first calls of jobs, of scripts/bench --from-first: what they take with the library and
without it."""

import io
import statistics

from bench_tables import cell_name, cell_order, print_failures, shape_order, short
from collshim.ratios import mean_ratio, spread, spread_text
from collshim.texts import bytes_text

SIDES = ("host", "ours")
PARTS = ("call 1", "2-10", "11-100", "101-300", "301-1000")
EARLY = "2-300"   # together
ALL = "all"
SHOWN = PARTS + (EARLY, ALL)
# What is asked for: calls 11 to 100 have that part of the host's speed; all of them together the
# other one where the last ones have the third; and the first ten take no more than so many
# microseconds longer.
SOON, WHOLE, STEADY, MORE_US = 0.9, 1.0, 1.1, 1000


def calls_of(part):
    return part["to"] - part["from"] + 1


def name_of(part):
    return "call 1" if part["to"] == 1 else "%d-%d" % (part["from"], part["to"])


def microseconds(run):
    """{part: us of a call}, and of all calls together; only of the parts that were made."""
    found = {name_of(part): part["us"] for part in run["parts"]}
    early = [part for part in run["parts"] if 2 <= part["from"] and part["to"] <= 300]
    if early and early[-1]["to"] == 300:
        found[EARLY] = sum(part["us"] * calls_of(part) for part in early) / 299
    calls = sum(map(calls_of, run["parts"]))
    found[ALL] = sum(part["us"] * calls_of(part) for part in run["parts"]) / calls
    return found


def faults(run, kind):
    """A rank's, in all calls: the mean over the ranks."""
    return sum(part[kind]["mean"] for part in run["parts"])


class Turns:
    """A cell's turns, each a job without the library and one with it."""

    def __init__(self, cell):
        self.cell = cell
        sides = {side: {run["repeat"]: run for run in cell["runs"] if run["side"] == side}
                 for side in SIDES}
        self.pairs = [(sides["host"][repeat], sides["ours"][repeat])
                      for repeat in sorted(set(sides["host"]) & set(sides["ours"]))]
        self.ratios, self.times = {}, {}
        for pair in self.pairs:
            host, ours = map(microseconds, pair)
            for name in PARTS + (EARLY,):
                if name in host and name in ours:
                    self.add(name, host[name], ours[name])
            # Of as many calls on both sides only.
            if len(pair[0]["parts"]) == len(pair[1]["parts"]):
                self.add(ALL, host[ALL], ours[ALL])

    def add(self, name, host, ours):
        self.ratios.setdefault(name, []).append(host / ours)
        self.times.setdefault(name, []).append((host, ours))

    def middle(self, name):
        return statistics.median(self.ratios[name])

    def text(self, name, has_spread):
        if name not in self.ratios:
            return "-"
        ratio = spread_text(*spread(self.ratios[name])) if has_spread else \
            "%.2f" % self.middle(name)
        host, ours = (short(statistics.median(times)) for times in zip(*self.times[name]))
        return "%s %s/%s" % (ratio, host, ours)

    def pair_text(self, of, show):
        """Host / ours of something of a run, which may not be known."""
        texts = []
        for side in range(len(SIDES)):
            values = [of(pair[side]) for pair in self.pairs]
            texts.append("-" if None in values else show(statistics.median(values)))
        return "/".join(texts)

    def faults_text(self, kind):
        return self.pair_text(lambda run: faults(run, kind), lambda value: "%.0f" % value)

    def touched_text(self):
        """The most of one rank."""
        return self.pair_text(lambda run: run["shared_bytes"] and run["shared_bytes"]["most"],
                              lambda value: bytes_text(int(value)))

    def init_text(self):
        return self.pair_text(lambda run: run["init_us"] / 1000, lambda value: "%.0f" % value)

    def complaints(self):
        """What is asked for and was missed in every turn, in words."""
        found = []
        if "11-100" in self.ratios and max(self.ratios["11-100"]) < SOON:
            found.append("calls 11-100 %s us" % self.text("11-100", True))
        if "301-1000" in self.ratios and ALL in self.ratios and max(self.ratios[ALL]) < WHOLE and \
                self.middle("301-1000") > STEADY:
            found.append("all calls %s us, where the last are %s" % (self.text(ALL, True),
                                                                     self.text("301-1000", True)))
        if "2-10" in self.ratios:
            more = [sum((ours - host) * calls for (host, ours), calls in zip(both, (1, 9)))
                    for both in zip(self.times["call 1"], self.times["2-10"])]
            if min(more) > MORE_US:
                found.append("the first ten %.1f ms longer than the MPI's" %
                             (statistics.median(more) / 1000))
        return found


def measured(data):
    """The Turns of all cells that have any, in order."""
    found = [Turns(cell) for cell in sorted(data["cells"], key=cell_order)]
    return [turns for turns in found if turns.pairs]


def losses(data):
    return [turns for turns in measured(data) if turns.complaints()]


def progress_text(data):
    return "so far: %d cells, %d of them slow at first" % (len(measured(data)), len(losses(data)))


def means(found):
    """For each part the geometric mean over the cells that have it, as text."""
    texts = []
    for name in SHOWN:
        ratios = [turns.middle(name) for turns in found if name in turns.ratios]
        texts.append("%.2f" % mean_ratio(ratios) if ratios else "-")
    return texts


def grouped(found):
    groups = {}
    for turns in found:
        groups.setdefault((turns.cell["mpi"], turns.cell["shape"]), []).append(turns)
    return groups.items()


def render_text(data, out):
    found = measured(data)
    layout = "%-8s %-9s %-24s" + 7 * " %18s" + " %11s %7s %13s %9s"
    print(layout % ("mpi", "shape", "cell", *SHOWN, "minor", "major", "touched", "init ms"),
          file=out)
    for turns in found:
        cell = turns.cell
        print(layout % (cell["mpi"], cell["shape"], cell_name(cell),
                        *(turns.text(name, False) for name in SHOWN),
                        turns.faults_text("minor_faults"), turns.faults_text("major_faults"),
                        turns.touched_text(), turns.init_text()), file=out)
    for (mpi, shape), members in grouped(found):
        print("%-8s %-9s %-24s" % (mpi, shape, "geometric mean") +
              "".join(" %18s" % text for text in means(members)), file=out)
    print_end(data, found, out)


def print_end(data, found, out):
    for turns in found:
        for text in turns.complaints():
            print("slow at first: %s %s %s: %s" % (turns.cell["mpi"], turns.cell["shape"],
                                                   cell_name(turns.cell), text), file=out)
    skipped = [cell for cell in data["cells"] if not cell["runs"] and "skipped" in cell]
    print("MPI / ours, more than 1 is faster: %d cells, %d left out, %d slow at first, %d jobs "
          "failed" % (len(found), len(skipped), sum(bool(turns.complaints()) for turns in found),
                      len(data["failures"])), file=out)
    print_failures(data, out)


def render_markdown(data, out):
    machine = data["machine"]
    print("Measured %s on %s, %d cores, Linux %s, with\n" % (
        data["date"], machine["cpu"], machine["cores"], machine["kernel"]), file=out)
    for command in data["commands"]:
        print("    " + command, file=out)
    print("""
A field is: ratio MPI / ours, [least-most] of it over the turns, microseconds of a call by the MPI
/ by ours; a turn is a job without the library and one with it. Calls are counted from the job's
first collective. Minor and major page faults of a rank (the mean) in all the calls, shared memory
that a rank touched in them (the most of one), and what MPI_Init took: MPI / ours.
""", file=out)
    found = measured(data)
    for mpi in dict.fromkeys(turns.cell["mpi"] for turns in found):
        print("### %s\n" % data["mpis"].get(mpi, mpi), file=out)
        print("| | | %s | minor faults | major | touched | MPI_Init, ms |" %
              " | ".join(SHOWN), file=out)
        print("|---|---|%s---|---|---|---|" % ("---|" * len(SHOWN)), file=out)
        for turns in found:
            if turns.cell["mpi"] == mpi:
                print("| %s | %s | %s | %s | %s | %s | %s |" % (
                    turns.cell["shape"], cell_name(turns.cell),
                    " | ".join(turns.text(name, True) for name in SHOWN),
                    turns.faults_text("minor_faults"), turns.faults_text("major_faults"),
                    turns.touched_text(), turns.init_text()), file=out)
        print(file=out)
    print("| geometric mean | | %s |\n|---|---|%s" % (" | ".join(SHOWN),
                                                      "---|" * len(SHOWN)), file=out)
    for (mpi, shape), members in sorted(grouped(found),
                                        key=lambda group: (group[0][0], shape_order(group[0][1]))):
        print("| %s | %s | %s |" % (mpi, shape, " | ".join(means(members))), file=out)
    print(file=out)
    print_end(data, found, out)


def markdown_text(data):
    text = io.StringIO()
    render_markdown(data, text)
    return text.getvalue()
