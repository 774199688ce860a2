"""What scripts/bench shows of its file: text, and tables in Markdown."""

import io
import statistics

from collshim import working_copy
from collshim.ratios import spread
from collshim.texts import bytes_text

LOSS = 0.95


def summary(cell):
    """{ratio, low, high, host, ours, is_loss} of a measured cell; its spread is over the jobs, or,
    if there is one job, over its rounds."""
    ratios = [run["ratio"] for run in cell["runs"]]
    middle, low, high = spread(ratios)
    if len(ratios) == 1:
        low, high = cell["runs"][0]["ratio_min"], cell["runs"][0]["ratio_max"]
    return {"ratio": middle, "low": low, "high": high,
            "host": statistics.median(run["host_us"] for run in cell["runs"]),
            "ours": statistics.median(run["ours_us"] for run in cell["runs"]),
            "is_loss": high < LOSS and middle < LOSS}


def short(number):
    """Three digits that matter."""
    if number >= 100:
        return "%.0f" % number
    return "%.1f" % number if number >= 10 else "%.2f" % number


def shape_order(shape):
    nodes, ranks, is_cyclic = working_copy.read_shape(shape)
    return (is_cyclic, shape.startswith("fake:"), nodes, ranks, shape.endswith(":permuted"))


def cell_order(cell):
    return (cell["mpi"], cell["rate"] or "", cell["algo"] or "", shape_order(cell["shape"]),
            cell["collective"], cell["size"], cell["root"] or "", cell["distribution"] or "",
            cell["row"])


def cell_name(cell):
    words = [cell["collective"]]
    if cell["collective"] != "barrier":
        words.append(bytes_text(cell["size"]))
    if cell["root"] not in (None, "0"):
        words.append("root " + cell["root"])
    if cell["distribution"] not in (None, "regular"):
        words.append(cell["distribution"])
    if cell["row"] > 1:
        words.append("x%d" % cell["row"])
    return " ".join(words)


def calls_text(row):
    return "single" if row == 1 else "rows of %d" % row


def measured(data):
    return sorted((cell for cell in data["cells"] if cell["runs"]), key=cell_order)


def losses(data):
    return [cell for cell in measured(data) if summary(cell)["is_loss"]]


def render_text(data, out):
    print("%-8s %-8s %-30s %9s %9s %6s %-13s %s" % ("mpi", "shape", "cell", "MPI us", "ours us",
                                                    "ratio",
                                                     "[least-most]", "chosen"), file=out)
    for cell in sorted(data["cells"], key=cell_order):
        head = "%-8s %-8s %-30s" % (cell["mpi"], cell["shape"], cell_name(cell))
        calls = cell.get("calls_in_a_row", cell["row"])
        tail = " ".join(word for word in (cell.get("chosen"), cell["rate"], cell["algo"] and
                                          "forced " + cell["algo"],
                                          calls != cell["row"] and "(rows of %d)" % calls)
                        if word)
        if cell["runs"]:
            s = summary(cell)
            print("%s %9s %9s %6.2f %-13s %s%s" % (head, short(s["host"]), short(s["ours"]),
                                                   s["ratio"],
                                                   "[%.2f-%.2f]" % (s["low"], s["high"]), tail,
                                                   "  <-- LOSS" if s["is_loss"] else ""), file=out)
        elif "skipped" in cell:
            print("%s left out: %s" % (head, cell["skipped"]), file=out)
    print_counts(data, out)


def print_counts(data, out):
    cells = measured(data)
    skipped = [cell for cell in data["cells"] if not cell["runs"] and "skipped" in cell]
    print("%d cells measured, %d left out, %d below %.2f beyond their spread, %d jobs failed" % (
        len(cells), len(skipped), len(losses(data)), LOSS, len(data["failures"])), file=out)
    print_failures(data, out)


def print_failures(data, out):
    for failure in data["failures"]:
        print("failed: %s %s repeat %d, in %s: %s" % (failure["mpi"], failure["shape"],
                                                      failure["repeat"] + 1,
                                                      failure["collective"], failure["message"]),
                                                      file=out)


def markdown_cell(cell):
    if cell is None:
        return ""
    if not cell["runs"]:
        return "left out" if "skipped" in cell else ""
    s = summary(cell)
    ratio = "%.2f" % s["ratio"]
    text = "%s [%.2f-%.2f] %s/%s" % ("**%s** (loss)" % ratio if s["is_loss"] else ratio, s["low"],
                                     s["high"],
                                     short(s["host"]), short(s["ours"]))
    return text + " h" if cell.get("chosen") == "host" else text


def rows_text(rows):
    """How calls are made and timed, as sentences."""
    text = ""
    if 1 in rows:
        text += """Single calls are timed from the last rank's entry to the
last rank's exit; those of rooted collectives, where ranks share cores, by the longest of the ranks'
own times. """
    if max(rows) > 1:
        text += """A field with x%s is of rows of so many calls (or fewer, where they
would take too long), from the first rank's entry to the last rank's exit, divided by their number.
""" % " or x".join(str(row) for row in rows if row > 1)
    return text


def render_markdown(data, out):
    machine = data["machine"]
    print("Measured %s on %s, %d cores, Linux %s, with\n" %
          (data["date"], machine["cpu"], machine["cores"],
                                                            machine["kernel"]), file=out)
    for command in data["commands"]:
        print("    " + command, file=out)
    print("""
A field is: ratio MPI / ours, [least-most] of it over the jobs, microseconds of a call by the MPI
/ by ours. More than 1 is faster. `h`: our choice was to leave this call to the MPI. **Bold** with
(loss): even the largest ratio is below %.2f. %sHost and ours take turns within each job.
""" % (LOSS, rows_text(data["options"]["rows"])), file=out)
    cells = sorted(data["cells"], key=cell_order)
    groups = {}
    for cell in cells:
        groups.setdefault((cell["mpi"], cell["rate"], cell["algo"]), []).append(cell)
    for (mpi, rate, algo), members in groups.items():
        title = data["mpis"].get(mpi, mpi)
        title += ", links at " + rate if rate else ""
        title += ", `%s` forced" % algo if algo else ""
        print("### %s\n" % title, file=out)
        shapes = sorted({cell["shape"] for cell in members}, key=shape_order)
        print("| | %s |" % " | ".join(shapes), file=out)
        print("|---|%s" % ("---|" * len(shapes)), file=out)
        rows = {}
        for cell in sorted(members, key=lambda cell: (cell["collective"], cell["size"],
                                                      cell["row"])):
            rows.setdefault(cell_name(cell), {})[cell["shape"]] = cell
        for name, row in rows.items():
            print("| %s | %s |" % (name, " | ".join(markdown_cell(row.get(shape))
                                                    for shape in shapes)), file=out)
        print(file=out)
    render_summary(data, out)


def markdown_text(data):
    text = io.StringIO()
    render_markdown(data, text)
    return text.getvalue()


def render_summary(data, out):
    cells = measured(data)
    print("| MPI | shape | calls | cells | faster beyond spread | slower beyond spread "
          "| median ratio | largest |", file=out)
    print("|---|---|---|---|---|---|---|---|", file=out)
    groups = {}
    for cell in cells:
        groups.setdefault((cell["mpi"], cell["shape"], cell["rate"], cell["algo"], cell["row"]),
                          []).append(summary(cell))
    for (mpi, shape, rate, algo, row), found in groups.items():
        name = " ".join(word for word in (shape, rate, algo) if word)
        print("| %s | %s | %s | %d | %d | %d | %.2f | %.2f |" % (
            mpi, name, calls_text(row), len(found), sum(s["low"] > 1 / LOSS for s in found),
            sum(s["is_loss"] for s in found),
            statistics.median(s["ratio"] for s in found), max(s["ratio"] for s in found)), file=out)
    print(file=out)
    skipped = [cell for cell in data["cells"] if not cell["runs"] and "skipped" in cell]
    if skipped:
        print("Left out:\n", file=out)
        for cell in sorted(skipped, key=cell_order):
            print("- %s %s %s: %s" % (cell["mpi"], cell["shape"], cell_name(cell),
                                      cell["skipped"]), file=out)
        print(file=out)
    print_counts(data, out)
