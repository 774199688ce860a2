"""What scripts/compare has seen of one program, and the table of all."""

from collshim.ratios import spread, spread_text
from collshim.texts import printable

REPEATS = 3    # turns, where the user does not say how many, and up to:
MOST_REPEATS = 9
AGREED = 1.25  # largest by least ratio of the turns, from which on more of them are not needed
SHORT = 5      # seconds of the longest run up to which there may be more of them


def chosen(report):
    """The share of calls that the library served, and the algorithms that served most."""
    served, calls = report.served()
    if calls == 0:
        return "no collectives were seen"
    top = list(report.calls().items())[:2]
    return "served %.0f %% of %d calls: %s" % (
        100 * served / calls, calls, ", ".join("%s %s x%d" % (*key, count) for key, count in top))


class Comparison:
    def __init__(self, program, label, ranks):
        self.program, self.label, self.ranks = program, label, ranks
        self.times = {False: [], True: []}
        self.problem = None
        self.is_left_out = False
        self.choice = ""

    def ratios(self):
        return [without / with_it for without, with_it in zip(self.times[False], self.times[True])
                if with_it]

    def turns(self):
        return min(map(len, self.times.values()))

    def verdict(self):
        """Of turns that agree: where some were faster and some slower, nothing was seen."""
        ratios = self.ratios()
        if len(ratios) < REPEATS:
            return "too few turns" if ratios else "-"
        if min(ratios) > 1:
            return "faster"
        return "slower" if max(ratios) < 1 else "no difference seen"

    def is_over(self, repeats, longest):
        """Were there turns enough, if no run took more than `longest` seconds?"""
        turns, ratios = len(self.times[True]), self.ratios()
        if repeats or turns < REPEATS:
            return turns >= (repeats or REPEATS)
        if turns >= MOST_REPEATS or longest > SHORT or not ratios:
            return True
        return max(ratios) <= AGREED * min(ratios)

    def row(self):
        if self.problem or not self.turns():
            return [self.program.name, self.label, self.ranks, "-", "-", "-", "-",
                    (self.problem or "stopped before a turn was done").splitlines()[0]]
        # Of whole turns: the last one may have been cut short.
        without, with_it = (spread(self.times[kind][:self.turns()])[0] for kind in (False, True))
        ratios = self.ratios()
        ratio = spread_text(*spread(ratios)) if ratios else "-"
        return [self.program.name, self.label, self.ranks, "%.3f" % without, "%.3f" % with_it,
                ratio, self.verdict(),
                self.choice]


def show(rows):
    head = ["program", "MPI", "ranks", "without s", "with s", "ratio", "verdict", "what was chosen"]
    table = [head] + [[str(cell) for cell in row] for row in rows]
    widths = [max(len(line[i]) for line in table) for i in range(len(head))]
    print()
    for line in table:
        cells = [line[i].ljust(widths[i]) if i < 2 or i > 5 else line[i].rjust(widths[i])
                 for i in range(len(head))]
        print(printable("  ".join(cells).rstrip()))
    print(flush=True)
