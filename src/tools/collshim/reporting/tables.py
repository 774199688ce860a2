"""What was measured of arrivals, as tables of text."""

from collshim.reporting.recorded import BINS
from collshim.texts import bytes_text, printable


def us(seconds):
    return "%.2f" % (seconds * 1e6)


def range_text(name, low, last):
    if low is None or name == "barrier":
        return "-"
    return "0" if not last else "%s-%s" % (bytes_text(low), bytes_text(last + 1))


def plural(number, word):
    return "%d %s%s" % (number, word, "" if number == 1 else "s")


def head(found):
    text = "%d of %s, on %s" % (found["files"], plural(found["ranks"], "rank"),
                                plural(found["nodes"], "node"))
    if not found["one_clock"]:
        text += ("; their clocks were not brought together: times of different nodes cannot be "
                 "compared")
    elif found["residual_ns"]:
        text += "; their clocks are together to within %s us" % us(found["residual_ns"] / 1e9)
    text += "\n%s" % plural(found["calls"], "call")
    for name, what in (("partial", "more are not of all ranks of their communicator"),
                       ("differ", "more are not the same on all ranks"),
                       ("left_out", "records were left out by COLLSHIM_ARRIVALS_LIMIT")):
        if found[name]:
            text += "; %d %s" % (found[name], what)
    least = found["min_lat_ns"]
    yield text
    yield "Min_Lat: " + (us(least / 1e9) + " us" if least else "not known (--min-lat)")
    there = {file["rank"] for file in found["rank_files"]}
    missing = [rank for rank in range(found["ranks"]) if rank not in there]
    if missing:
        yield "no file of rank %s%s" % (
            ", ".join(map(str, missing[:8])),
            " and %d more" % (len(missing) - 8) if len(missing) > 8 else "")


def times(found):
    least = found["min_lat_ns"]
    line = "  %-20s %12s %9s %7s %11s %11s %11s %10s %10s"
    yield "\nmean times in us, and imbalance over Min_Lat:"
    yield line % ("collective", "bytes", "calls", "ranks", "in call", "waiting", "moving",
                  "average", "worst case")
    for row in found["classes"]:
        def factor(name):
            return "%.1f" % (row[name] * 1e9 / least) if least else "-"
        yield line % (row["collective"],
                      range_text(row["collective"], row["bytes_low"], row["bytes_last"]),
                      row["calls"], "%.0f" % row["ranks"], us(row["in_call"]), us(row["waiting"]),
                      us(row["moving"]), factor("delta"), factor("omega"))


def spreads(found):
    line = "  %-20s %12s" + 7 * " %10s"
    yield "\nimbalance in us:\n  %-20s %12s %32s %21s %21s" % (
        "", "", "all ranks", "first of each node", "last of each node")
    yield line % ("collective", "bytes", "average", "worst case", "worst call", "average",
                  "worst case", "average", "worst case")
    for row in found["classes"]:
        yield line % ((row["collective"], range_text(row["collective"], row["bytes_low"],
                                                     row["bytes_last"])) +
                      tuple(us(row[name]) for name in (
                          "delta", "omega", "worst", "first_delta", "first_omega", "last_delta",
                          "last_omega")))


def arrivers(found):
    yield "\nfirst and last of their nodes, most often:"
    line = "  %-20s %6s %10s %14s %10s %14s"
    yield line % ("node", "ranks", "first", "of its calls", "last", "of its calls")
    for node in range(found["nodes"]):
        rows = [row for row in found["rank_files"] if row["node"] == node]
        cells = []
        for name in ("first_on_node", "last_on_node"):
            most, all_ = max(rows, key=lambda row: row[name]), sum(row[name] for row in rows)
            cells += [most["rank"], "%d %%" % (most[name] * 100 // all_ if all_ else 0)]
        yield line % ("%d %.12s" % (node, printable(rows[0]["host"])), len(rows), *cells)


def histogram(found):
    counts = found["histogram"]
    used = [k for k, count in enumerate(counts) if count] or [BINS]
    first, last = min(used[0], BINS), max(used[-1], BINS)
    most = max(counts[first:last + 1]) or 1
    yield "\narrivals about the mean one of their node, us:"
    for k in range(first, last + 1):
        size, sign = abs(k - BINS), "-" if k < BINS else "+"
        bounds = ("0.5", "1") if size == 1 else (str(1 << max(size - 2, 0)), str(1 << max(
            size - 1, 0)))
        name = "within 0.5" if not size else "%s%s to %s%s" % (sign, bounds[0], sign, bounds[1])
        yield "  %22s %10d %s" % (name, counts[k], "#" * -(-counts[k] * 50 // most))


def tables(found):
    lines = list(head(found))
    for part in (times, spreads, arrivers, histogram) if found["calls"] else ():
        lines += part(found)
    return "\n".join(lines) + "\n"
