"""A plot of ratios as an SVG file that is short: a line for each problem, letters as text."""

from __future__ import annotations

import math
from html import escape

COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b", "#7f7f7f")
MARKS = "●■▲◆▼★○□△◇▽☆✚"
WIDTH, ROW, LETTER = 860, 22, 6.6  # of the plot, of a line and of a letter of 12 points
LEGEND = 3  # columns


def dot_plot(title, unit, rows):
    """The text of the file.

    Parameters
    ----------
    title, unit : str
        Above the plot, and below its logarithmic axis.
    rows : dict
        From the name of a line to its points, a dict from a method's name to a positive number.
        Methods keep their mark and colour in all lines.

    Returns
    -------
    str
    """
    names = list(dict.fromkeys(name for points in rows.values() for name in points))
    looks = {
        name: (MARKS[k % len(MARKS)], COLOURS[k % len(COLOURS)]) for k, name in enumerate(names)
    }
    values = [value for points in rows.values() for value in points.values()]
    low, high = math.log10(min(*values, 1.0)), math.log10(max(*values, 1.0))
    low, high = low - 0.04 * (high - low) - 0.01, high + 0.04 * (high - low) + 0.01
    left = 20 + LETTER * max(map(len, rows))
    top, bottom = 34, 34 + ROW * len(rows)

    def place(value):
        return left + (WIDTH - 16 - left) * (math.log10(value) - low) / (high - low)

    def text(x, y, words, anchor="middle", colour="#222"):
        where = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}"'
        return f"<text {where}>{escape(words)}</text>"

    def line(x, y, to_x, to_y, colour):
        return f'<path d="M{x:.1f} {y:.1f}L{to_x:.1f} {to_y:.1f}" stroke="{colour}"/>'

    height = bottom + 62 + 18 * math.ceil(len(names) / LEGEND)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'font-family="sans-serif" font-size="12" dominant-baseline="central">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        text(WIDTH / 2, 14, title),
    ]
    for tick in ticks(low, high):
        x = place(tick)
        out.append(line(x, top, x, bottom, "#999" if tick == 1 else "#e4e4e4"))
        out[-1] += text(x, bottom + 12, f"{tick:,g}")
    for k, (name, points) in enumerate(rows.items()):
        y = top + ROW * (k + 0.5)
        marks = [text(place(value), y, *_mark(looks[method])) for method, value in points.items()]
        out.append(line(left, y, WIDTH - 16, y, "#e4e4e4") + text(left - 8, y, name, "end"))
        out[-1] += "".join(marks)
    out.append(text((left + WIDTH - 16) / 2, bottom + 32, unit))
    for k, name in enumerate(names):
        x, y = 20 + (WIDTH - 20) / LEGEND * (k % LEGEND), bottom + 56 + 18 * (k // LEGEND)
        out.append(text(x, y, *_mark(looks[name])) + text(x + 12, y, name, "start"))
    return "\n".join([*out, "</svg>"]) + "\n"


def _mark(look):
    mark, colour = look
    return mark, "middle", colour


def ticks(low, high):
    """Powers of ten between two logarithms; with 2 and 5 of each where these are few."""
    powers = range(math.floor(low), math.ceil(high) + 1)
    for steps in ((1,), (1, 2, 5)):
        found = [step * 10.0**k for k in powers for step in steps]
        found = [tick for tick in found if low <= math.log10(tick) <= high]
        if len(found) > 3:
            break
    return found
