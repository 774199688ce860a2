"""Inline SVG of the report's page. Colours are CSS variables of the page, but for heat maps."""

from html import escape

HEAT = ("#f4f1e8", "#f3e2b3", "#f2ca79", "#f0ab4f", "#e98838", "#d9632c", "#bf4126", "#982521",
        "#6a121c", "#3d0714")
ROWS = 160  # of a heat map; beyond that cells are means


def seconds_text(seconds):
    if seconds is None:
        return "-"
    size = abs(seconds)
    for per, unit in ((1, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")):
        if size >= per or unit == "ns":
            value = seconds / per
            return "%.*f %s" % (0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2, value,
                                unit)
    return ""


def svg(width, height, parts, label):
    return ('<svg viewBox="0 0 %d %d" role="img" aria-label="%s" '
            'style="max-width:%dpx">%s</svg>' % (width, height, escape(label, True), width,
                                                 "".join(parts)))


def text(x, y, words, anchor="start", more=""):
    return '<text x="%g" y="%g" text-anchor="%s"%s>%s</text>' % (x, y, anchor, more,
                                                               escape(str(words)))


def rect(x, y, width, height, colour, title="", more=""):
    inside = "<title>%s</title>" % escape(title) if title else ""
    return '<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"%s>%s</rect>' % (
        x, y, max(width, 0), max(height, 0), colour, more, inside)


def share_bar(parts):
    """parts: (name, seconds, colour)."""
    whole = sum(seconds for _, seconds, _ in parts) or 1
    drawn, x = [], 0
    for name, seconds, colour in parts:
        width = 960 * seconds / whole
        words = "%s %s (%.1f %%)" % (name, seconds_text(seconds), 100 * seconds / whole)
        drawn.append(rect(x, 0, width, 34, colour, words))
        if width > 6 * len(name) + 40:
            drawn.append(text(x + 6, 22, "%s %.0f %%" % (name, 100 * seconds / whole),
                              more=' class="on"'))
        x += width
    return svg(960, 34, drawn, "shares of the run")


def reduced(matrix, rows):
    """Means of rows that lie next to each other, so that there are so many."""
    count = len(matrix)
    if count <= rows:
        return matrix
    groups = [matrix[i * count // rows:(i + 1) * count // rows] for i in range(rows)]
    return [[sum(cells) / len(cells) for cells in zip(*group)] for group in groups]


def heat_map(matrix, top_text, bottom_text, left_text, right_text, breaks=()):
    """matrix: rows of numbers in us. `breaks`: shares of the height where a node ends."""
    matrix = reduced(matrix, ROWS)
    rows, columns = len(matrix), len(matrix[0])
    ordered = sorted(cell for row in matrix for cell in row)
    most = max(ordered[len(ordered) - 1 - len(ordered) // 100], 0.1)
    width, height = 820, max(min(rows * 12, 420), 60)
    runs = {}
    for y, row in enumerate(matrix):
        x = 0
        while x < columns:
            colour, end = min(int(row[x] / most * len(HEAT)), len(HEAT) - 1), x + 1
            while end < columns and min(int(row[end] / most * len(HEAT)), len(HEAT) - 1) == colour:
                end += 1
            runs.setdefault(colour, []).append("M%d %dh%dv1h-%dz" % (x, y, end - x, end - x))
            x = end
    drawn = ['<svg x="70" y="8" width="%d" height="%d" viewBox="0 0 %d %d" '
             'preserveAspectRatio="none" shape-rendering="crispEdges">' % (width, height, columns,
                                                                          rows)]
    drawn += ['<path fill="%s" d="%s"/>' % (HEAT[colour], "".join(paths))
              for colour, paths in sorted(runs.items())]
    drawn.append("</svg>")
    drawn += ['<line x1="62" x2="%d" y1="%.1f" y2="%.1f" class="axis"/>' % (
        70 + width, 8 + height * part, 8 + height * part) for part in breaks]
    drawn += [text(64, 20, top_text, "end"), text(64, 8 + height, bottom_text, "end"),
              text(70, height + 26, left_text), text(70 + width, height + 26, right_text, "end")]
    for i, colour in enumerate(HEAT):
        part = height / len(HEAT)
        drawn.append(rect(902, 8 + height - (i + 1) * part, 14, part + 0.5, colour))
    drawn += [text(920, 20, seconds_text(most / 1e6)), text(920, 8 + height, "0")]
    return svg(1000, height + 34, drawn, "heat map of arrivals")


def time_line(bins, each):
    """bins: (waiting, moving, others) shares of each bin, of 1."""
    width = 896 / max(len(bins), 1)
    drawn = []
    for i, parts in enumerate(bins):
        y = 120
        for share, colour in zip(parts, ("var(--wait)", "var(--move)", "var(--unknown)")):
            if share > 0.002:
                drawn.append(rect(64 + i * width, y - 120 * share, width + 0.3, 120 * share,
                                  colour))
                y -= 120 * share
        drawn.append(rect(64 + i * width, 0, width, 120, "transparent",
                          "%s to %s: waiting %.0f %%, moving %.0f %%, not told apart %.0f %%" % (
                              (seconds_text(i * each), seconds_text((i + 1) * each)) +
                              tuple(100 * share for share in parts))))
    drawn += ['<line x1="64" x2="960" y1="120" y2="120" class="axis"/>',
              text(60, 12, "100 %", "end"), text(60, 120, "0", "end"), text(64, 138, "0 s"),
              text(960, 138, seconds_text(len(bins) * each), "end")]
    return svg(964, 144, drawn, "share of the run in collectives, over time")


def bars_by_rank(waiting, moving):
    """One thin bar for each rank: seconds waiting and moving (or all, if waiting is None)."""
    count = len(moving)
    columns = min(count, 450)
    groups = [range(i * count // columns, (i + 1) * count // columns) for i in range(columns)]
    waits = [sum((waiting[k] or 0) for k in group) / len(group) if waiting else 0
             for group in groups]
    moves = [sum((moving[k] or 0) for k in group) / len(group) for group in groups]
    most = max([wait + move for wait, move in zip(waits, moves)] + [1e-12])
    width, drawn = 896 / columns, []
    for i, (wait, move) in enumerate(zip(waits, moves)):
        high, low = 110 * wait / most, 110 * move / most
        name = "rank %d" % groups[i][0] if count == columns else "ranks %d to %d" % (groups[i][0],
                                                                                  groups[i][-1])
        gap = 1 if width > 4 else 0
        drawn.append(rect(64 + i * width, 120 - low, width - gap, low,
                          "var(--move)" if waiting else "var(--unknown)",
                          "%s: %s" % (name, seconds_text(wait + move))))
        drawn.append(rect(64 + i * width, 120 - low - high, width - gap, high, "var(--wait)",
                          "%s: waiting %s" % (name, seconds_text(wait))))
    drawn += ['<line x1="64" x2="960" y1="120" y2="120" class="axis"/>',
              text(60, 16, seconds_text(most), "end"), text(60, 120, "0", "end"),
              text(64, 138, "rank 0"), text(960, 138, "rank %d" % (count - 1), "end")]
    return svg(964, 144, drawn, "time in collectives by rank")


def histogram(first, counts, name):
    """Calls by their duration, in powers of two of nanoseconds."""
    most, width = max(counts + [1]), 340 / max(len(counts), 8)
    drawn = [text(4, 14, name, more=' class="strong"')]
    for i, count in enumerate(counts):
        high = 90 * count / most
        low = 2 ** (first + i) / 1e9
        drawn.append(rect(30 + i * width, 114 - high, width - 1, high, "var(--move)",
                          "%s to %s: %d calls" % (seconds_text(low), seconds_text(2 * low), count)))
    drawn += ['<line x1="30" x2="376" y1="114" y2="114" class="axis"/>',
              text(30, 130, seconds_text(2 ** first / 1e9)),
              text(30 + width * len(counts), 130,
                   seconds_text(2 ** (first + len(counts)) / 1e9),
                   "end" if len(counts) > 3 else "start")]
    return svg(390, 136, drawn, "durations of " + name)
