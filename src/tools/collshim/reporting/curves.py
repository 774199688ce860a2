"""Curves of latency by message size, log-log: a picture of its own (SVG) with a panel for each
collective. Colours are classes, not variables, since drawing programs know no variables."""

import math
from html import escape

from collshim.reporting.draw import seconds_text
from collshim.texts import bytes_text

OURS, THEIRS, GREY = 0, 1, 7    # of COLOURS
COLOURS = (("#2f66b5", "#7ab0f5"), ("#c8382a", "#ff8f7d"), ("#d9822b", "#f3b061"),
           ("#3a9a4c", "#6fce80"), ("#8a4fb5", "#c193ea"), ("#2b929c", "#63cbd4"),
           ("#7c6a4c", "#cbb58f"), ("#8b949c", "#7f8890"))    # in light, in dark
BACK, TEXT, LINE = ("#ffffff", "#12161a"), ("#1d2329", "#e2e6ea"), ("#d5d9dd", "#343c44")
WIDTH, HEIGHT = 250, 190                        # of a panel's plot
LEFT, TOP, BOTTOM, GAP = 68, 26, 44, 16         # around it
LETTER = 6.7                                    # of 12 px, in the mean


class Curve:
    """points: [(bytes, seconds, least, most)]; `is_dashed`: of the MPI where colours are taken;
    `marks`: bytes at which it is the one that was chosen."""

    def __init__(self, name, colour, points, is_dashed=False, marks=()):
        self.name, self.colour, self.points = name, colour, sorted(points)
        self.is_dashed, self.marks = is_dashed, marks


class Panel:
    def __init__(self, title, curves):
        self.title, self.curves = title, [curve for curve in curves if curve.points]

    def keys(self):
        """{(name, colour): a curve}, as a legend has them."""
        return {("others tried" if curve.colour == GREY else curve.name, curve.colour): curve
                for curve in reversed(self.curves)}


def style():
    rules = []
    for at in (0, 1):
        one = ["text{fill:%s}.back{fill:%s}.line{stroke:%s}" % (TEXT[at], BACK[at], LINE[at])]
        one += [".s%d{stroke:%s}.f%d{fill:%s}" % (i, colour[at], i, colour[at])
                for i, colour in enumerate(COLOURS)]
        rules.append("".join(one))
    return ("<style>text{font:12px sans-serif}.strong{font-weight:600}polyline{fill:none;"
            "stroke-width:2}.thin{stroke-width:1}.band{opacity:.18}%s"
            "@media (prefers-color-scheme:dark){%s}</style>" % tuple(rules))


def text(x, y, words, anchor="start", more=""):
    return '<text x="%.1f" y="%.1f" text-anchor="%s"%s>%s</text>' % (x, y, anchor, more,
                                                                    escape(str(words)))


def line(x1, y1, x2, y2):
    return '<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" class="line"/>' % (x1, y1, x2, y2)


def octave(size):
    return math.log2(max(size, 1))


class Scale:
    """Of a panel at (left, top): octaves of bytes, decades of seconds."""

    def __init__(self, panel, left, top):
        points = [point for curve in panel.curves for point in curve.points]
        self.left, self.top = left, top
        self.sizes = sorted({point[0] for point in points})
        self.low_x, self.high_x = octave(self.sizes[0]), octave(self.sizes[-1])
        if self.low_x == self.high_x:
            self.low_x, self.high_x = self.low_x - 1, self.high_x + 1
        times = [seconds for point in points for seconds in point[1:4] if seconds > 0] or [1e-6]
        self.low_y = math.floor(math.log10(min(times)))
        self.high_y = max(math.ceil(math.log10(max(times))), self.low_y + 1)

    def x(self, size):
        return self.left + WIDTH * (octave(size) - self.low_x) / (self.high_x - self.low_x)

    def y(self, seconds):
        at = math.log10(max(seconds, 1e-12))
        return self.top + HEIGHT * (1 - max(at - self.low_y, 0) / (self.high_y - self.low_y))

    def axes(self):
        step = math.ceil((self.high_y - self.low_y) / 8)
        many = (1, 2, 5) if self.high_y - self.low_y == 1 else (1,)
        for seconds in [part * 10.0 ** decade for decade in range(self.low_y, self.high_y + 1, step)
                        for part in (many if decade < self.high_y else (1,))]:
            y = self.y(seconds)
            yield line(self.left, y, self.left + WIDTH, y)
            yield text(self.left - 6, y + 4, tick(seconds), "end")
        step = math.ceil(len(self.sizes) / 6)
        for size in self.sizes[::step]:
            x = self.x(size)
            yield line(x, self.top, x, self.top + HEIGHT)
            yield text(x, self.top + HEIGHT + 16, bytes_text(size), "middle")


def tick(seconds):
    """ "100 ns", "1 us": a power of ten, or 2 or 5 of them."""
    return seconds_text(seconds * 1.0000001).replace(".00", "").replace(".0", "")


def drawn_curve(curve, scale):
    places = [(scale.x(size), scale.y(seconds)) for size, seconds, _, _ in curve.points]
    title = "<title>%s</title>" % escape(curve.name + ": " + ", ".join(
        "%s %s" % (bytes_text(size), seconds_text(seconds))
        for size, seconds, _, _ in curve.points))
    if any(low < high for _, _, low, high in curve.points):
        edge = [(scale.x(size), scale.y(high)) for size, _, _, high in curve.points] + \
            [(scale.x(size), scale.y(low)) for size, _, low, _ in reversed(curve.points)]
        yield '<polygon points="%s" class="band f%d"/>' % (joined(edge), curve.colour)
    yield '<polyline points="%s" class="s%d%s"%s>%s</polyline>' % (
        joined(places), curve.colour, " thin" if curve.colour == GREY else "",
        ' stroke-dasharray="5 4"' if curve.is_dashed else "", title)
    for (x, y), point in zip(places, curve.points):
        if point[0] in curve.marks:
            yield '<circle cx="%.1f" cy="%.1f" r="4.5" class="f%d"/>' % (x, y, curve.colour)
        elif curve.colour != GREY:
            yield '<circle cx="%.1f" cy="%.1f" r="2" class="f%d"/>' % (x, y, curve.colour)


def joined(places):
    return " ".join("%.1f,%.1f" % place for place in places)


def key(curve, x, y):
    dash = ' stroke-dasharray="5 4"' if curve.is_dashed else ""
    return '<polyline points="%.1f,%.1f %.1f,%.1f" class="s%d"%s/>' % (
        x, y - 4, x + 22, y - 4, curve.colour, dash) + text(x + 27, y, curve.name)


def drawn_panel(panel, left, top, has_key):
    yield text(left, top - 10, panel.title, more=' class="strong"')
    if not panel.curves:
        yield text(left, top + 16, "nothing was measured")
        return
    scale = Scale(panel, left, top)
    yield from scale.axes()
    yield text(left + WIDTH / 2, top + HEIGHT + 34, "bytes" if scale.sizes[-1] else "no bytes",
               "middle")
    yield text(left - 50, top + HEIGHT / 2, "time of a call", "middle",
               ' transform="rotate(-90 %.1f %.1f)"' % (left - 50, top + HEIGHT / 2))
    for curve in sorted(panel.curves, key=lambda one: -one.colour):
        yield from drawn_curve(curve, scale)
    if has_key:
        for row, ((name, colour), curve) in enumerate(reversed(panel.keys().items())):
            yield key(Curve(name, colour, [], curve.is_dashed), left + WIDTH + 12,
                      top + 12 + 17 * row)


def legend(curves, width):
    """(parts, height) of one legend for all panels, in rows."""
    parts, x, y = [], LEFT, 0
    for curve in curves:
        room = 44 + LETTER * len(curve.name)
        if x + room > width and x > LEFT:
            x, y = LEFT, y + 18
        parts.append((curve, x, y))
        x += room
    return parts, y + 18


def wrapped(words, width):
    lines = [""]
    for word in words.split():
        if LETTER * (len(lines[-1]) + len(word) + 1) > width and lines[-1]:
            lines.append("")
        lines[-1] = (lines[-1] + " " + word).strip()
    return lines


def picture(panels, title, notes=(), columns=None):
    """The SVG's text. notes: lines below the title. One legend if all panels have the same
    curves, else one beside each."""
    panels = panels or [Panel("", [])]
    columns = min(columns or (2 if len(panels) <= 4 else 3), len(panels))
    first = max(panels, key=lambda panel: len(panel.curves))
    is_shared = all(set(panel.keys()) <= set(first.keys()) for panel in panels) and \
        all(colour != GREY for _, colour in first.keys())
    wide = LEFT + WIDTH + GAP + (0 if is_shared else 30 + round(LETTER * max(
        len(name) for panel in panels for name, _ in panel.keys())))
    tall = TOP + HEIGHT + BOTTOM
    width = max(columns * wide, 460)
    parts, y = [], 22
    for at, words in enumerate((title, *notes)):
        for one in wrapped(words, width - 24):
            parts.append(text(12, y, one, more=' class="strong"' if not at else ""))
            y += 17
    if is_shared:
        placed, high = legend(first.curves, width)
        parts += [key(curve, x, y + 6 + down) for curve, x, down in placed]
        y += high + 6
    for at, panel in enumerate(panels):
        parts += drawn_panel(panel, at % columns * wide + LEFT, y + at // columns * tall + TOP,
                             not is_shared)
    height = y + -(-len(panels) // columns) * tall + 4
    return ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" '
            'role="img" aria-label="%s">%s<rect width="100%%" height="100%%" class="back"/>%s'
            "</svg>\n" % (width, height, width, height, escape(title, True), style(),
                          "\n".join(parts)))
