"""The report as one HTML page without anything from the network."""

import json
from html import escape

from collshim.reporting import draw
from collshim.reporting.advice import advice, is_profile, shares, verdict
from collshim.reporting.draw import seconds_text
from collshim.reporting.style import SCRIPT, STYLE
from collshim.reporting.symbols import name_sites
from collshim.texts import bytes_text

PALETTE = ("#3b76b5", "#d08430", "#4f9d5b", "#8c62b0", "#b6574f", "#2f9aa0", "#a08a2c", "#c4679f",
           "#5b7f95", "#7d6a56")
HOST = "#9a9a9a"


def size_text(row):
    low = row["bin_low"]
    if low is None or row["collective"].lstrip("i").startswith("barrier"):
        return "-"
    return "0" if not row["bin_high"] else "%s-%s" % (bytes_text(low), bytes_text(row["bin_high"]))


def algorithm_text(row):
    return "the MPI" if row["deferred"] and row["algorithm"] == "host" else row["algorithm"]


def cell(value, shown=None, more=""):
    """With the number by which the column is sorted."""
    return '<td data-by="%s"%s>%s</td>' % (escape(str(value), True), more,
                                         escape(str(value if shown is None else shown)))


def time_cell(seconds):
    return cell(-1 if seconds is None else seconds, seconds_text(seconds), ' class="n"')


def span_cell(span):
    if not span:
        return cell(-1, "-", ' class="n"')
    title = "least %s, mean %s, most %s (rank %d)" % (
        seconds_text(span["least"]), seconds_text(span["mean"]), seconds_text(span["most"]),
        span["rank"])
    return '<td data-by="%s" class="n" title="%s">%s</td>' % (span["mean"], escape(title, True),
                                                            seconds_text(span["mean"]))


def table(heads, rows, name=""):
    return ('<div class="wide"><table%s><thead><tr>%s</tr></thead>'
            '<tbody>%s</tbody></table></div>') % (
        ' class="sort"' if name else "",
        "".join("<th>%s</th>" % escape(head) for head in heads),
        "".join("<tr>%s</tr>" % "".join(row) for row in rows))


def section(title, body, note=""):
    if not body:
        return ""
    return "<section><h2>%s</h2>%s%s</section>" % (
        escape(title), "<p class=\"note\">%s</p>" % escape(note) if note else "", body)


def legend(pairs):
    return '<p class="legend">%s</p>' % " ".join(
        '<span><i style="background:%s"></i>%s</span>' % (colour, escape(name))
        for name, colour in pairs)


# --- the parts ------------------------------------------------------------------------------------

def head(data):
    facts = data.get("facts") or {}
    cells = [("command", data.get("command")), ("job", data.get("job")),
             ("date", (data.get("date") or "").replace("T", " ").replace("Z", " UTC")),
             ("MPI", facts.get("mpi")),
             ("ranks", "%s on %s" % (data["ranks"], "one node" if len(data["nodes"]) == 1 else
                                     "%d nodes" % len(data["nodes"])) if data.get("nodes") else
              data.get("ranks")),
             ("library", "collshim %s" % data["collshim"] if data.get("collshim") else None)]
    text = "".join("<dt>%s</dt><dd>%s</dd>" % (name, escape(str(value)))
                   for name, value in cells if value)
    parts = [part for part in shares(data) if part[1] > 0] if data.get("run") else []
    bar = (draw.share_bar(parts) + legend([(
        "%s %s" % (name, seconds_text(seconds)), colour) for name, seconds, colour in parts])
        if parts else "")
    alone = data.get("why_alone")
    return "<h1>%s</h1><dl>%s</dl><p class=\"verdict\">%s</p>%s%s" % (
        "Profile of collectives" if is_profile(data) else "Collectives of a run", text,
        escape(verdict(data)),
        '<p class="note">Only rank 0 is in this report: %s.</p>' % escape(alone) if alone else "",
        bar)


def advised(data):
    found = advice(data)
    return "<ol>%s</ol>" % "".join("<li>%s%s</li>" % (
        "<b>%s</b> " % seconds_text(seconds) if seconds else "", escape(text))
        for seconds, text in found) if found else ""


def divide(site, rows):
    """Waiting and moving of a site of which nothing is known, as of all such calls."""
    if site["waiting"] or not site["time"]:
        return
    row = rows.get((site["collective"], site["bin_low"], site["algorithm"]))
    if row and row["waiting"] and row["time"]["mean"]:
        for name in ("waiting", "moving"):
            part = row[name]["mean"] / row["time"]["mean"]
            site[name] = {key: value if key == "rank" else value * part
                          for key, value in site["time"].items()}


def sites(data):
    found = data.get("sites") or []
    name_sites(found)
    rows = {(row["collective"], row["bin_low"], row["algorithm"]): row
            for row in data.get("rows") or []}
    for site in found:
        divide(site, rows)
    rows = [[cell(site["where"], more=' title="%s+%#x"' % (
        escape(str(site.get("module")), True), site["offset"])), cell(site["collective"]),
             cell(site["bin_low"] or 0, size_text(site), ' class="n"'), cell(algorithm_text(site)),
             cell(site["calls"], more=' class="n"'), cell(site["ranks"], more=' class="n"'),
             span_cell(site["time"]), span_cell(site["waiting"]), span_cell(site["moving"])]
            for site in sorted(found, key=lambda site: -site["time"]["mean"])]
    return table(("called from", "collective", "bytes", "algorithm", "calls", "ranks", "time",
                  "waiting", "moving"), rows, "sites") if rows else ""


def classes(data):
    rows = [[cell(row["collective"]), cell(row["bin_low"] or 0, size_text(row), ' class="n"'),
             cell(algorithm_text(row)),
             cell(row["why"], more=' title="%s"' % escape(row.get("place") or "", True)),
             cell(row["calls"], more=' class="n"'), span_cell(row.get("time")),
             span_cell(row.get("waiting")), span_cell(row.get("moving"))]
            for row in sorted(data.get("rows") or [], key=lambda row: -row["seconds"])]
    return table(("collective", "bytes", "algorithm", "why", "calls", "time", "waiting", "moving"),
                 rows, "rows") if rows else ""


def node_breaks(data, ranks):
    """Shares of the height at which another node begins."""
    by_rank = data.get("by_rank") or {}
    node = dict(zip(by_rank.get("rank", []), by_rank.get("node", [])))
    return [i / len(ranks) for i in range(1, len(ranks))
            if node.get(ranks[i]) != node.get(ranks[i - 1])]


def heat(data):
    late = data.get("lateness")
    if not late or not late["calls"]:
        return ""
    by_rank = data.get("by_rank") or {}
    node = dict(zip(by_rank.get("rank", []), by_rank.get("node", [])))
    order = sorted(range(len(late["ranks"])), key=lambda i: (node.get(late["ranks"][i], 0),
                                                            late["ranks"][i]))
    ranks = [late["ranks"][i] for i in order]
    breaks = node_breaks(data, ranks)
    return draw.heat_map([late["late_us"][i] for i in order], "rank %d" % ranks[0],
                         "rank %d" % ranks[-1], seconds_text(late["calls"][0]["at"]),
                         seconds_text(late["calls"][-1]["at"]),
                         breaks if len(breaks) < 100 else ())


def timeline(data):
    line = data.get("timeline") or {}
    each, bins = line.get("bin_seconds") or 0, []
    if not each:
        return ""
    for inside, known, waiting in zip(line["collectives"], line["known"], line["waiting"]):
        told = known > 0.5 * inside
        wait = inside * waiting / known if told else 0
        bins.append(tuple(min(part / each, 1) for part in (
            wait, inside - wait if told else 0, 0 if told else inside)))
    return draw.time_line(bins, each) + legend((
        ("waiting", "var(--wait)"), ("moving", "var(--move)"),
        ("in collectives, not told apart", "var(--unknown)"))) if bins else ""


def by_rank(data):
    ranks = data.get("by_rank") or {}
    if len(ranks.get("collectives") or []) < 2:
        return ""
    is_known = bool(ranks.get("waiting"))
    return draw.bars_by_rank(ranks["waiting"] if is_known else None,
                             ranks["moving"] if is_known else ranks["collectives"]) + legend(
        (("waiting", "var(--wait)"), ("moving", "var(--move)")) if is_known else
        (("in collectives", "var(--unknown)"),))


def grid(data):
    """Sizes by collectives, coloured by the algorithm of most calls."""
    rows = data.get("rows") or []
    columns = sorted({-1 if row["bin_low"] is None else row["bin_low"] for row in rows})
    names = sorted({row["collective"] for row in rows})
    used = {}
    for row in sorted(rows, key=lambda row: -row["calls"]):
        used.setdefault(algorithm_text(row), None)
    colours = {}
    for name in used:
        colours[name] = HOST if name == "the MPI" else PALETTE[
            sum(other != "the MPI" for other in colours) % len(PALETTE)]
    body = []
    for name in names:
        cells = ["<th>%s</th>" % escape(name)]
        for low in columns:
            here = [row for row in rows if row["collective"] == name and
                    (-1 if row["bin_low"] is None else row["bin_low"]) == low]
            if not here:
                cells.append("<td></td>")
                continue
            most = max(here, key=lambda row: row["calls"])
            cells.append('<td class="on" style="background:%s" title="%s">%d</td>' % (
                colours[algorithm_text(most)], escape("; ".join("%s: %d calls, %s" % (
                    algorithm_text(row), row["calls"], seconds_text(row["seconds"]))
                    for row in here), True), sum(row["calls"] for row in here)))
        body.append(cells)
    if not body:
        return ""
    heads = ["calls"] + ["?" if low < 0 else bytes_text(low) for low in columns]
    return table(heads, body).replace("<table", '<table class="grid"') + legend(colours.items())


def distributions(data):
    """Of the collectives with most time."""
    sums = {}
    for row in data.get("rows") or []:
        one = sums.setdefault(row["collective"], [0, {}])
        one[0] += row["seconds"]
        for i, count in enumerate((row.get("histogram") or {}).get("counts", [])):
            at = row["histogram"]["first"] + i
            one[1][at] = one[1].get(at, 0) + count
    drawn = []
    for name, (_, counts) in sorted(sums.items(), key=lambda item: -item[1][0])[:8]:
        used = [at for at, count in counts.items() if count]
        if used:
            drawn.append(draw.histogram(min(used), [counts.get(at, 0) for at in
                                                    range(min(used), max(used) + 1)], name))
    return '<div class="small">%s</div>' % "".join(drawn) if drawn else ""


def left(data):
    found = {}
    for row in data.get("rows") or []:
        if row["deferred"]:
            one = found.setdefault((row["why"], row.get("remedy")), [0, 0, set()])
            one[0] += row["calls"]
            one[1] += row["seconds"]
            one[2].add(row["collective"])
    rows = [[cell(why), cell(", ".join(sorted(names))), cell(calls, more=' class="n"'),
             time_cell(seconds), cell(remedy or "-")]
            for (why, remedy), (calls, seconds, names) in
            sorted(found.items(), key=lambda item: -item[1][1])]
    return table(("why", "collectives", "calls", "time", "remedy"), rows, "left") if rows else ""


def trials(data):
    rows = []
    for trial in data.get("trials") or []:
        ways = {way["algorithm"]: way["seconds"] for way in trial["ways"]}
        size = "-" if trial["bytes_low"] is None else "%s-%s" % (
            bytes_text(trial["bytes_low"]), "" if trial["bytes_high"] is None else
            bytes_text(trial["bytes_high"]))
        others = ", ".join("%s %s" % (name, seconds_text(seconds)) for name, seconds in
                           ways.items() if name not in ("host", trial["serving"]))
        rows.append([cell(trial["collective"]), cell(trial["bytes_low"] or 0, size, ' class="n"'),
                     cell("the MPI" if trial["serving"] == "host" else trial["serving"]),
                     time_cell(ways.get(trial["serving"])), time_cell(ways.get("host")),
                     cell(others or "-"), cell(trial.get("calls") or 0, more=' class="n"'),
                     time_cell(trial.get("gain_seconds"))])
    return table(("collective", "bytes", "serves", "its call", "the MPI's", "others", "calls",
                  "gained"), rows, "trials") if rows else ""


def nodes(data):
    def size(number):
        return cell(number or 0, "-" if not number else "%.1f MiB" % (number / 2 ** 20)
                    if number < 2 ** 30 else "%.1f GiB" % (number / 2 ** 30), ' class="n"')

    def load(number):
        return cell(-1 if number is None else number,
                    "-" if number is None else "%.1f" % number, ' class="n"')

    rows = [[cell(node["machine"]), cell(node["ranks"], more=' class="n"'),
             cell(node["first_rank"], more=' class="n"'),
             cell(node["cores"] or 0, node["cores"] or "-", ' class="n"'),
             load(node["load_before"]), load(node["load"]),
             size(node["memory_bytes"]), size(node["memory_free_bytes"]), size(node["shm_peak"]),
             size(node["shm_budget"]), cell({True: "yes", False: "refused"}.get(node["cma"], "-"))]
            for node in data.get("nodes") or []]
    return table(("machine", "ranks", "first rank", "cores", "load before", "load after", "memory",
                  "free", "shared, peak", "its budget", "single copy"),
                 rows, "nodes") if rows else ""


def arrivals(data):
    found = data.get("arrivals")
    if not found:
        return ""
    rows = [[cell(row["collective"]), cell(row["bytes_low"] or 0, "-" if row["bytes_low"] is None
                                           else bytes_text(row["bytes_low"]), ' class="n"'),
             cell(row["calls"], more=' class="n"')] +
            [time_cell(row[name]) for name in ("in_call", "waiting", "moving", "delta", "omega",
                                               "worst")] for row in found["classes"]]
    return table(("collective", "bytes from", "calls", "in call", "waiting", "moving",
                  "from the mean arrival", "first to last", "worst"), rows, "arrivals")


METHOD = """\
Each rank counts its collectives from their entry to their return; the run is from MPI_Init
to MPI_Finalize. Waiting is the time in a call before the last rank arrived whose data the rank
needs; moving is the rest. On one node it is known of all calls that the library served; of other
calls by samples (a communicator's first 64 and each 17th after them), and where only a part is
known, the whole time is divided by that part. Means are over ranks; a number's title has least and
most. The gain is (the MPI's time of a call - the serving algorithm's) x calls, less the time of
trying, of the classes of calls that live choice compared on rank 0; less in proportion where the
run's calls were shorter than those that were compared, since calls overlap, and not more than by
the means of all calls of either. What counting costs is in docs/report.md; without
COLLSHIM_REPORT nothing of it is done."""


def html(data):
    """The whole page of a report, or of measured arrivals ("arrivals", "lateness")."""
    facts = table(("fact", "value"), [[cell(name), cell(value)] for name, value in
                                      (data.get("facts") or {}).items()])
    raw = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    body = [head(data), section("What to do", advised(data), "By the seconds that it is about."),
            section("Call sites", sites(data),
                    "Return addresses in the program; click a head to sort."),
            section("Arrivals", heat(data), "Time after the first rank of a call: ranks by node, "
                    "calls in the order of time. A dark stripe is a rank or node that is late."),
            section("Arrivals, measured", arrivals(data), "Means over calls."),
            section("Ranks", by_rank(data)),
            section("Time line", timeline(data), "Share of the run in collectives, mean of ranks."),
            section("Sizes and algorithms", grid(data),
                    "Calls, coloured by the algorithm of most."),
            section("Collectives", classes(data)),
            section("Durations of calls", distributions(data),
                    "All ranks' calls by powers of two."),
            section("Left to the MPI", left(data)),
            section("Tried in this run", trials(data), "Times of one call, as all ranks agreed."),
            section("Nodes", nodes(data)),
            section("Facts of the job", facts if data.get("facts") else ""),
            section("How it was measured", "<p>%s</p>" % escape(METHOD))]
    return ("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
            "<meta name=\"viewport\" content=\"width=device-width\">"
            "<title>%s</title><style>%s</style></head><body>%s"
            "<script type=\"application/json\" id=\"data\">%s</script>"
            "<script>%s</script></body></html>\n" % (
                escape("collshim: " + str(data.get("command") or "arrivals")), STYLE,
                "\n".join(part for part in body if part), raw, SCRIPT))
