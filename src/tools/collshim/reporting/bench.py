"""Pictures and pages of what collshim-bench has measured (its --json)."""

import json
from html import escape

from collshim.failure import Failure
from collshim.reporting.curves import GREY, OURS, THEIRS, Curve, Panel, picture
from collshim.reporting.draw import seconds_text
from collshim.reporting.style import STYLE
from collshim.texts import bytes_text

SIDES = (("ours", "collshim", OURS), ("host", "the MPI", THEIRS))


def check(path, data):
    if any(name in data for name in ("levels", "from_first")):
        raise Failure(1, "%s: no times by size, which are drawn, are in a file of --loggp or "
                      "--from-first" % path)
    if not isinstance(data.get("cases"), list):
        raise Failure(1, "%s is damaged: it has no cases" % path)


def title_of(case):
    words = [case["collective"]]
    if case.get("root") not in (None, "0"):
        words.append("root " + case["root"])
    if case.get("distribution") not in (None, "regular"):
        words.append(case["distribution"])
    if case.get("imbalance"):
        words.append(case["imbalance"])
    if case.get("bound"):
        words.append("computing by " + case["bound"])
    if case.get("row", 1) > 1:
        words.append("rows of %d" % case["row"])
    return ", ".join(words)


def point(case, name):
    """(bytes, seconds, least, most) of one side."""
    if "imbalance" in case:
        middle, rounds = case[name]["mean_us"], case[name]["rounds_mean_us"]
    else:
        middle, rounds = case[name + "_us"], case.get(name + "_rounds_us")
    rounds = rounds or [middle]
    return case["size"], middle / 1e6, min(rounds) / 1e6, max(rounds) / 1e6


def overlap_curves(cases):
    """Blocking calls, and the overhead with tests after each interval of bytes."""
    found = {}
    for case in cases:
        for name, side, _ in SIDES:
            found.setdefault(("blocking", side), []).append(point(case, name))
            for row in case["rows"]:
                seconds = row[name]["overhead_us"] / 1e6
                found.setdefault(("tests " + row["interval"], side), []).append(
                    (case["size"], seconds, seconds, seconds))
    kinds = list(dict.fromkeys(kind for kind, _ in found))
    return [Curve("%s, %s" % (side, kind), kinds.index(kind) % GREY, points, side != "collshim")
            for (kind, side), points in found.items()]


def labels(benches):
    """What tells the jobs from each other: the MPI, or it and more."""
    for form in ("{mpi}", "{mpi}, {ranks} ranks", "{mpi}, {ranks} ranks on {nodes} nodes"):
        found = [form.format(**data) for data in benches]
        if len(set(found)) == len(found):
            return found
    return ["%s, file %d" % (name, at + 1) for at, name in enumerate(found)]


def several_curves(title, benches):
    """Of one collective in several jobs: a colour for each, dashed for the MPI."""
    for at, (label, data) in enumerate(zip(labels(benches), benches)):
        for name, side, _ in SIDES:
            points = [point(case, name)[:2] for case in measured(data) if title_of(case) == title]
            yield Curve(side + " with " + label if name == "ours" else label, at % GREY,
                        [(size, seconds, seconds, seconds) for size, seconds in points],
                        name != "ours")


def measured(data):
    return [case for case in data["cases"] if "skipped" not in case]


def panels_of(benches, colls=None):
    groups = {}
    for data in benches:
        for case in measured(data):
            if not colls or case["collective"] in colls:
                groups.setdefault(title_of(case), []).append(case)
    if colls:
        groups = dict(sorted(groups.items(), key=lambda one: colls.index(one[1][0]["collective"])))
    if len(benches) > 1:
        return [Panel(title, several_curves(title, benches)) for title in groups]
    return [Panel(title, overlap_curves(cases) if benches[0].get("overlap") else
                  [Curve(side, colour, [point(case, name) for case in cases])
                   for name, side, colour in SIDES])
            for title, cases in groups.items()]


def job_text(data):
    text = "%s, %d ranks on %d node%s" % (data["mpi"], data["ranks"], data["nodes"],
                                          "" if data["nodes"] == 1 else "s")
    if data.get("cores") and data["ppn_max"] > data["cores"]:
        text += " of %d cores" % data["cores"]
    return text


def notes_of(benches):
    one = benches[0]
    if one.get("overlap"):
        text = ("Time in a non-blocking call's start, tests and wait, with tests each so many "
                "bytes; and of the blocking call. Dashed: the MPI.")
    elif one.get("imbalance"):
        text = "Mean time in a call to which ranks come late."
    else:
        text = "Median of the rounds, from %s; %s." % (
            one["time"], "band: least and most" if len(benches) == 1 else "dashed: the MPI")
    notes = [text]
    if any(not data["complete"] for data in benches):
        notes.append("Not all was measured yet.")
    if any(not data["library"] for data in benches):
        notes.append("No library was preloaded: both are the MPI's own.")
    return notes


def drawn(benches, colls=None):
    """The picture of one or more files."""
    return picture(panels_of(benches, colls), "; ".join(dict.fromkeys(map(job_text, benches))),
                   notes_of(benches))


def rows_of(data):
    for case in data["cases"]:
        if "skipped" in case:
            yield [title_of(case), bytes_text(case["size"]), "left out: " + case["skipped"]]
            continue
        ours, theirs = (point(case, name)[1] for name, _, _ in SIDES)
        yield [title_of(case), bytes_text(case["size"]), seconds_text(ours), seconds_text(theirs),
               "%.2f" % (theirs / ours) if ours else "-"]


def html(benches, colls=None):
    parts = ["<h1>collshim-bench</h1>", drawn(benches, colls)]
    for data in benches:
        parts.append("<h2>%s</h2><div class=\"wide\"><table><tr>%s</tr>" % (
            escape(job_text(data)), "".join("<th>%s</th>" % name for name in (
                "collective", "bytes", "collshim", "the MPI", "the MPI / collshim"))))
        parts += ["<tr>%s</tr>" % "".join('<td%s>%s</td>' % (' class="n"' if at else "",
                                                           escape(word))
                                         for at, word in enumerate(row)) for row in rows_of(data)]
        parts.append("</table></div>")
    raw = json.dumps(benches, separators=(",", ":")).replace("<", "\\u003c")
    return ("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
            "<meta name=\"viewport\" content=\"width=device-width\"><title>collshim-bench</title>"
            "<style>%s</style></head><body>%s<script type=\"application/json\" id=\"data\">%s"
            "</script></body></html>\n" % (STYLE, "\n".join(parts), raw))
