"""Charts of benchmarks as SVG: panels beside each other, with curves over sizes. Both axes are logarithmic, sizes to the base 2."""
import math
from xml.sax.saxutils import escape

LEFT, TOP, WIDTH, HEIGHT = 56, 84, 360, 300  # of a panel, in pixels
INK, GREY, PALE = "#222222", "#555555", "#e4e4e4"
COLOURS = ("#0b3c6f", "#d1742a", "#3f9b6e", "#b0302a", "#7aa7d9", "#6a3d9a", "#a08a00", "#000000")  # of different lightness, also for print without colours
DASHES = ' stroke-dasharray="5 4"'


def text_of(x, y, words, size=11, colour=GREY, anchor="start", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}"{more}>{escape(words)}</text>'


def line_of(x0, y0, x1, y1, colour=PALE, width=1, more=""):
    return f'<path d="M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}" stroke="{colour}" stroke-width="{width}"{more}/>'


def panel(left, title, x_label, curves, ticks, goal):
    """@param curves  (name, dashed, {size: value}) in the order of their colours. @param ticks  marks of the axis of values, with both ends.
    @param goal  the tick whose line is darker, or None."""
    low, high = ticks[0], ticks[-1]
    sizes = sorted({size for _, _, values in curves for size in values})
    first, last = math.log2(sizes[0]), math.log2(sizes[-1])

    def x_of(size):
        return left + WIDTH * (math.log2(size) - first) / (last - first)

    def y_of(value):
        return TOP + HEIGHT * (1 - math.log(value / low) / math.log(high / low))

    drawn = [text_of(left, TOP - 12, title, 12, INK)]
    for size in sizes:
        drawn += [line_of(x_of(size), TOP, x_of(size), TOP + HEIGHT), text_of(x_of(size), TOP + HEIGHT + 16, str(size), anchor="middle")]
    for tick in ticks:
        drawn += [line_of(left, y_of(tick), left + WIDTH, y_of(tick), GREY if tick == goal else PALE),
                  text_of(left - 8, y_of(tick) + 4, f"{tick:g}", anchor="end")]
    drawn.append(text_of(left + WIDTH / 2, TOP + HEIGHT + 36, x_label, 12, INK, "middle"))
    for (_, dashed, values), colour in zip(curves, COLOURS):
        points = [(x_of(size), y_of(value)) for size, value in sorted(values.items())]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        drawn.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"{DASHES if dashed else ""}/>')
        drawn += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{"#ffffff" if dashed else colour}" stroke="{colour}"/>' for x, y in points]
    return drawn


def legend(left, names, columns, wide):
    drawn = []
    for number, ((name, dashed), colour) in enumerate(zip(names, COLOURS)):
        x, y = left + (number % columns) * wide, TOP + HEIGHT + 60 + 18 * (number // columns)
        drawn += [line_of(x, y - 4, x + 28, y - 4, colour, 2, DASHES if dashed else ""), text_of(x + 36, y, name, 12, INK)]
    return drawn


def chart(title, subtitle, y_label, panels):
    """@param panels  what panel() takes but `left`. If all have the same curves, one legend says what they are.
    @return the text of an SVG."""
    legends = [[(name, dashed) for name, dashed, _ in curves] for _, _, curves, *_ in panels]
    one, step = all(names == legends[0] for names in legends), LEFT + WIDTH + 24
    rows = math.ceil(len(legends[0]) / len(panels)) if one else max(map(len, legends))
    width, height = len(panels) * step, TOP + HEIGHT + 56 + 18 * rows
    drawn = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
             f'font-family="sans-serif">', f"<title>{escape(title)}</title>", f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
             text_of(24, 20, title, 14, INK, more=' font-weight="bold"'), text_of(24, 38, subtitle), text_of(24, 56, y_label, 12, INK)]
    for number, what in enumerate(panels):
        drawn += panel(LEFT + number * step, *what)
        drawn += [] if one else legend(LEFT + number * step, legends[number], 1, 0)
    drawn += legend(LEFT, legends[0], len(panels), step) if one else []
    return "\n".join([*drawn, "</svg>", ""])
