"""Pictures of a sweep: each collective's candidates by size, as long as the host's time over their
ratio, and which was chosen."""

import statistics

from collshim.files import write_whole
from collshim.reporting.curves import GREY, THEIRS, Curve, Panel, picture
from collshim.tuner.scores import decide
from collshim.tuner.shapes import shape_text

KINDS = {1: "single calls", 20: "rows of 20"}


def times(results, coll, cell):
    """{candidate: (bytes, seconds)}, "host" among them; medians of all jobs."""
    found, hosts = {}, []
    for candidate in results.candidates(coll):
        runs = [run for run in results.of(coll, cell, candidate).values() if "skipped" not in run]
        ours = [run["host_us"] / run["ratio"] / 1e6 for run in runs if run["ratio"] > 0]
        hosts += [run["host_us"] / 1e6 for run in runs]
        if ours:
            found[candidate] = (cell[0], statistics.median(ours))
    if hosts:
        found["host"] = (cell[0], statistics.median(hosts))
    return found


def panel(sweep, coll, kind, margin):
    """Of regular blocks; None where nothing was measured."""
    points, marks = {}, {}
    for question in sweep.questions:
        cell = next((cell for cell in question.cells if question.coll == coll and
                     cell[1] in (None, "regular") and cell[2] == kind), None)
        if not cell:
            continue
        chosen, _, _, is_open = decide(sweep, question, margin)
        for candidate, point in times(sweep.results, coll, cell).items():
            points.setdefault(candidate, []).append(point)
            if candidate == chosen and not is_open:
                marks.setdefault(candidate, set()).add(cell[0])
    if not points:
        return None
    curves, colours = [], [colour for colour in range(GREY) if colour != THEIRS]
    for candidate in sorted(points, key=lambda name: (name != "host", name not in marks, name)):
        colour = THEIRS if candidate == "host" else GREY
        if candidate in marks and candidate != "host":
            colour = colours.pop(0) if colours else GREY
        # Without bands: so many would hide each other.
        flat = [(size, seconds, seconds, seconds) for size, seconds in points[candidate]]
        curves.append(Curve("the MPI" if candidate == "host" else candidate, colour, flat,
                            marks=marks.get(candidate, ())))
    return Panel("%s, %s" % (coll, KINDS.get(kind, kind)), curves)


def write(path, args, sweeps):
    panels = []
    for sweep in sweeps:
        for coll in args.colls:
            kinds = dict.fromkeys(kind for question in sweep.questions if question.coll == coll
                                  for _, _, kind in question.cells)
            own = [one for one in (panel(sweep, coll, kind, args.margin) for kind in kinds) if one]
            for one in own if len(sweeps) > 1 else ():
                one.title += ", " + shape_text(sweep.shape)
            panels += own
    title = "; ".join("%s, %d ranks, %s" % (shape_text(sweep.shape), sweep.shape["ranks"],
                                            sweep.shape["mpi"]) for sweep in sweeps)
    write_whole(path, picture(panels, title, (
        "Time of a call, medians of the jobs; a large dot: chosen there. Grey: others that were "
        "tried, by name under the mouse.",), 2))
