"""Two libraries compared by scripts/bench --against: which is faster, and what was measured so."""

import hashlib
import io
import os

from bench_tables import calls_text, cell_name, cell_order, print_failures, shape_order, short
from collshim.failure import Failure
from collshim.ratios import mean_ratio, spread, spread_text

LOSS = 0.93
ROWS_ALIKE = 1.5    # longer by shorter row of two jobs, up to which a call of both is the same
SIDES = ("old", "new")


def check_library(option, path, mpis, refuse):
    """Refuses what is no libcollshim.so with a module for each of the MPIs."""
    if not os.path.exists(path):
        refuse("%s: no such file: %s" % (option, path))
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        refuse("%s: %s: %s" % (option, path, error.strerror))
    if not content.startswith(b"\x7fELF") or not all(
            word in content for word in (b"MPI_Allgather\0", b"libcollshim.so\0")):
        refuse("%s: %s is no libcollshim.so" % (option, path))
    for mpi in mpis:
        if not os.path.exists(module_of(path, mpi)):
            refuse("%s: %s has no module for %s: no %s" % (option, path, mpi, module_of(path, mpi)))


def module_of(path, mpi):
    return os.path.join(os.path.dirname(os.path.abspath(path)), "collshim",
                        "collshim-%s.so" % mpi)


def digest_of(path, mpis):
    """Of a library with its modules."""
    digest = hashlib.sha256()
    for name in [path] + [module_of(path, mpi) for mpi in mpis]:
        with open(name, "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()


def begin(data, args):
    """Notes in the file what is compared. A file that is gone on with must be of the same; a turn
    of which it has one half is measured again as a whole."""
    if args.resume and data.get("from_first", False) != args.from_first:
        raise Failure(2, "--resume: %s is %s --from-first" % (args.resume, "not of"
                                                              if args.from_first else "of"))
    libraries = args.against and {side: digest_of(path, args.mpis) for side, path in
                                  zip(SIDES, (args.against, args.preload))}
    if args.resume and data.get("libraries") != libraries:
        raise Failure(2, "--resume: %s is of other libraries" % args.resume if args.against else
                      "--resume: %s compares two libraries: it goes on with --against" %
                      args.resume)
    if libraries:
        data["libraries"] = libraries
    elif args.from_first:
        data["from_first"] = True
    else:
        return
    for cell in data["cells"]:
        halves = [run["repeat"] for run in cell["runs"]]
        cell["runs"] = [run for run in cell["runs"] if halves.count(run["repeat"]) == 2]


class Turns:
    """Of a cell: what each turn says, which is a job of either library. `ratios` are the time of
    the old one over that of the new one, more than 1 is faster; `hosts` the same of the host's own
    times in these jobs, which no library changes; `others`: turns whose rows were too different to
    be compared."""

    def __init__(self, cell):
        self.cell, self.ratios, self.hosts, self.times, self.others = cell, [], [], [], 0
        sides = {side: {run["repeat"]: run for run in cell["runs"] if run["side"] == side}
                 for side in SIDES}
        for repeat in sorted(set(sides["old"]) & set(sides["new"])):
            old, new = (sides[side][repeat] for side in SIDES)
            rows = sorted(run["calls_in_a_row"] for run in (old, new))
            if rows[1] > ROWS_ALIKE * rows[0]:
                self.others += 1
                continue
            self.ratios.append(old["ours_us"] / new["ours_us"])
            self.hosts.append(old["host_us"] / new["host_us"])
            self.times.append((old["ours_us"], new["ours_us"]))

    def middle(self):
        return spread(self.ratios)[0]

    def is_loss(self):
        """In every turn."""
        return max(self.ratios) < LOSS

    def is_gain(self):
        return min(self.ratios) > 1 / LOSS

    def text(self):
        old, new = (short(spread(times)[0]) for times in zip(*self.times))
        return "%s %s/%s" % (spread_text(*spread(self.ratios)), old, new)


def measured(data):
    """The Turns of all cells that have any, in order."""
    found = [Turns(cell) for cell in sorted(data["cells"], key=cell_order)]
    return [turns for turns in found if turns.ratios]


def losses(data):
    return [turns for turns in measured(data) if turns.is_loss()]


def grouped(found):
    """[(words, Turns)]: each MPI, shape and kind of calls, then all of an MPI, then all."""
    groups = {}
    for turns in found:
        cell = turns.cell
        groups.setdefault((cell["mpi"], cell["shape"], calls_text(cell["row"])), []).append(turns)
    mpis = list(dict.fromkeys(turns.cell["mpi"] for turns in found))
    for mpi in mpis:
        groups[mpi, "all", "all"] = [turns for turns in found if turns.cell["mpi"] == mpi]
    if len(mpis) > 1:
        groups["all", "all", "all"] = found
    return list(groups.items())


def mean_text(found):
    return "%.3f" % mean_ratio([turns.middle() for turns in found])


def host_text(found):
    """The same of the host's times: what is not 1 in it is the machine's doing."""
    return "%.3f" % mean_ratio([spread(turns.hosts)[0] for turns in found])


def counts(found):
    return (len(found), mean_text(found), host_text(found),
            sum(turns.is_loss() for turns in found), sum(turns.is_gain() for turns in found))


def loss_line(turns):
    cell = turns.cell
    words = [cell["mpi"], cell["shape"]] + [word for word in (cell["rate"], cell["algo"]) if word]
    return "slower: %s %s: %s us in %d turn%s; the MPI's own times meanwhile %s" % (
        " ".join(words), cell_name(cell), turns.text(), len(turns.ratios),
        "" if len(turns.ratios) == 1 else "s", spread_text(*spread(turns.hosts)))


def progress_text(data):
    """What there is so far, in few words."""
    found = measured(data)
    if not found:
        return "nothing is measured so far"
    return "so far: %d cells, geometric mean old / new %s (the MPI's own times: %s), %d slower " \
        "and %d faster beyond their spread" % counts(found)


def render_text(data, out):
    found = measured(data)
    print("%-8s %-12s %-10s %5s %14s %10s %6s %6s" % (
        "mpi", "shape", "calls", "cells", "geometric mean", "the MPI's", "slower", "faster"),
        file=out)
    for words, members in grouped(found):
        print("%-8s %-12s %-10s %5d %14s %10s %6d %6d" % (*words, *counts(members)), file=out)
    print_end(data, found, out)


def print_end(data, found, out):
    for turns in found:
        if turns.is_loss():
            print(loss_line(turns), file=out)
    skipped = [cell for cell in data["cells"] if not cell["runs"] and "skipped" in cell]
    others = sum(Turns(cell).others for cell in data["cells"])
    print("old / new, more than 1 is faster: %d cells, %d left out, %d slower than %.2f in every "
          "turn, %d faster than %.2f in every turn, %d jobs failed" % (
              len(found), len(skipped), sum(turns.is_loss() for turns in found), LOSS,
              sum(turns.is_gain() for turns in found), 1 / LOSS, len(data["failures"])), file=out)
    if others:
        print("%d turns do not count: the two jobs made rows of very different lengths" % others,
              file=out)
    print_failures(data, out)


def render_markdown(data, out):
    machine = data["machine"]
    print("Measured %s on %s, %d cores, Linux %s, with\n" % (
        data["date"], machine["cpu"], machine["cores"], machine["kernel"]), file=out)
    for command in data["commands"]:
        print("    " + command, file=out)
    print("""
A field is: time of a call by the old library over that by the new one, the median of the turns
[least-most], microseconds by the old / by the new one. More than 1 is faster. **Bold** with (loss):
below %.2f in every turn. A turn is a job of each library, one after the other. A field with xN is
of rows of up to N calls.
""" % LOSS, file=out)
    found = measured(data)
    for mpi in dict.fromkeys(turns.cell["mpi"] for turns in found):
        members = [turns for turns in found if turns.cell["mpi"] == mpi]
        shapes = sorted({turns.cell["shape"] for turns in members}, key=shape_order)
        print("### %s\n\n| | %s |\n|---|%s" % (data["mpis"].get(mpi, mpi), " | ".join(shapes),
                                               "---|" * len(shapes)), file=out)
        rows = {}
        for turns in sorted(members, key=lambda turns: cell_order(turns.cell)[4:]):
            words = [word for word in (cell_name(turns.cell), turns.cell["rate"],
                                       turns.cell["algo"]) if word]
            text = turns.text()
            if turns.is_loss():
                middle, _, rest = text.partition(" ")
                text = "**%s** (loss) %s" % (middle, rest)
            rows.setdefault(" ".join(words), {})[turns.cell["shape"]] = text
        for name, row in rows.items():
            print("| %s | %s |" % (name, " | ".join(row.get(shape, "") for shape in shapes)),
                  file=out)
        print(file=out)
    print("| MPI | shape | calls | cells | geometric mean | the MPI's | slower | faster |\n"
          "|---|---|---|---|---|---|---|---|", file=out)
    for words, members in grouped(found):
        print("| %s | %s | %s | %d | %s | %s | %d | %d |" % (*words, *counts(members)), file=out)
    print(file=out)
    print_end(data, found, out)


def markdown_text(data):
    text = io.StringIO()
    render_markdown(data, text)
    return text.getvalue()
