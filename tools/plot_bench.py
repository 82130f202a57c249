#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws what `switchyard bench --out` wrote: latency against tokens per rank, as SVG.

usage: plot_bench.py BENCH_JSONL... [--of round_trip|dispatch|combine] [--title TEXT] --out FILE.svg

One line per transport, the floor, and the fastest right NCCL variant of each scheme where it was measured, on two
logarithmic axes. Of several files each has its own lines, named by the file; floor and yardsticks are the first one's.
Same files, same bytes. Exit codes: 0 drawn; 3 nothing to draw; 5 usage or a file that is no bench.
"""
import argparse
import json
import math
import os
import sys
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 960, 600
LEFT, RIGHT, TOP, BOTTOM = 78, 250, 64, 66  # room for names of axes, and for the legend

# Colours of Okabe and Ito, that all eyes tell apart; dashes and marks say the same without colour.
STYLES = {
    "fence": ("#0072B2", "", "circle"),
    "lamport": ("#D55E00", "", "square"),
    "auto": ("#009E73", "9 5", "diamond"),
    "floor": ("#555555", "2 4", None),
    "all_gather": ("#CC79A7", "6 3", "up"),
    "send_receive": ("#B8860B", "6 3", "down"),
}
MORE_COLOURS = ["#56B4E9", "#E69F00", "#000000", "#8B4513", "#6A5ACD"]
NCCL_NAMES = {"all_gather": "NCCL all-gather + reduce-scatter", "send_receive": "NCCL send/recv + pack"}
NCCL_NAMES_OF_DISPATCH = {"all_gather": "NCCL all-gather", "send_receive": "NCCL pack + send/recv"}
FLOOR_NAME = "floor: node + flag + bytes"
QUANTITIES = {"round_trip": "round trip", "dispatch": "dispatch", "combine": "combine"}


class BadInput(Exception):
    pass


class Line:
    """Points (tokens, us) with the name and the look of a line."""

    def __init__(self, name, kind, points):
        self.name, self.kind, self.points = name, kind, sorted(points)


def read_bench(path):
    """The records of a bench. A torn last line, as a killed run leaves it, is passed by."""
    records = []
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: {error}") from error
    for number, text in enumerate(lines, 1):
        if not text:
            continue
        try:
            records.append(json.loads(text))
        except json.JSONDecodeError as error:
            if number == len(lines):
                break
            raise BadInput(f"{path}:{number}: {error}") from error
    if not records or not isinstance(records[0], dict) or records[0].get("record") != "bench_header":
        raise BadInput(f"{path}: does not begin with a bench_header")
    return records


def of_one_shape(path, records, wanted):
    """The records of the shape number `wanted` of the header's, from 1; of a bench of one shape all."""
    shapes = records[0].get("options", {}).get("shapes", [])
    if wanted is None and len(shapes) > 1:
        raise BadInput(f"{path}: has {len(shapes)} shapes: --shape N says which")
    if wanted is not None and not 1 <= wanted <= len(shapes):
        raise BadInput(f"{path}: has {len(shapes)} shapes, no shape {wanted}")
    if not shapes:
        return records
    shape = shapes[(wanted or 1) - 1]
    header = {**records[0], "options": {**records[0]["options"], "shapes": [shape]}}
    return [header] + [record for record in records[1:] if "shape" not in record or
                       all(shape[key] == value for key, value in record["shape"].items())]


def transport_of(point, header):
    """Records tell it from schema 4 on; before, one was measured for all points, and before schema 3 there was but one."""
    if "transport" in point:
        return point["transport"]
    return "fence" if header["options"].get("lamport", "off") == "off" else "auto"


def lines_of_transports(records, quantity):
    lines = {}
    for record in records:
        if record["record"] != "bench_point":
            continue
        # A step that could not go by lamport is none of its points.
        if record.get("transport") == "lamport" and record.get("taken") != "lamport":
            continue
        lines.setdefault(transport_of(record, records[0]), {})[record["tokens"]] = record[quantity]["time_us"]
    return [Line(kind, kind, lines[kind].items()) for kind in sorted(lines, key=list(STYLES).index)]


def floor_line(records, quantity):
    floors = {record["tokens"]: record[quantity]["floor_us"] for record in records if record["record"] == "bench_point"}
    return Line(FLOOR_NAME, "floor", floors.items())


def nccl_lines(records, quantity):
    if quantity == "combine":
        return []  # NCCL's is not measured apart
    names = NCCL_NAMES if quantity == "round_trip" else NCCL_NAMES_OF_DISPATCH
    lines = []
    for scheme, name in names.items():
        points = {record["tokens"]: record[scheme][quantity]["time_us"] for record in records
                  if record["record"] == "bench_nccl_best" and record[scheme][quantity]}
        lines.append(Line(name, scheme, points.items()))
    return lines


def all_lines(benches, quantity):
    """`benches`: (path, records) of each file."""
    lines = []
    for path, records in benches:
        of_file = lines_of_transports(records, quantity)
        if len(benches) > 1:
            for line in of_file:
                line.name += f" ({os.path.splitext(os.path.basename(path))[0]})"
        lines += of_file
    first = benches[0][1]
    lines += [floor_line(first, quantity)] + nccl_lines(first, quantity)
    return [line for line in lines if line.points]


def subtitle_of(records):
    header = records[0]
    options = header["options"]
    gpus = [gpu["description"].split(",")[0] for gpu in header["machine"]["gpus"]]
    machine = " + ".join(f"{gpus.count(name)} x {name}" for name in dict.fromkeys(gpus))
    shape = options["shapes"][0] if "shapes" in options else options
    kind = shape.get("dispatch_format") or shape["dtype"]
    return (f"{machine}; {options['profile']}: hidden {shape['hidden_size']}, top-{shape['top_k']} of "
            f"{shape['num_experts']}, {kind}, {options['routing']} routing, {options['ranks']} ranks; "
            f"medians of {options['launches']} launches of {options['steps']} steps")


def number(value):
    """Coordinates to a tenth of a pixel, so that the same points are the same bytes."""
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text


class Scale:
    """A logarithmic axis from `least` to `most`, onto pixels."""

    def __init__(self, least, most, first, last):
        self.least, self.most = math.log(least), math.log(most)
        self.first, self.last = first, last

    def at(self, value):
        if self.most == self.least:
            return (self.first + self.last) / 2
        return self.first + (math.log(value) - self.least) / (self.most - self.least) * (self.last - self.first)


def ticks_of_latency(least, most):
    """1, 2, 5 of every decade, from the last that is not above `least` to the first that is not below `most`."""
    ticks = [part * 10.0 ** decade for decade in range(-3, 8) for part in (1, 2, 5)]
    below = max((tick for tick in ticks if tick <= least), default=ticks[0])
    above = min((tick for tick in ticks if tick >= most), default=ticks[-1])
    return [tick for tick in ticks if below <= tick <= above]


def ticks_of_tokens(tokens):
    """Powers of two within the points; every point where there are few."""
    powers = [2 ** power for power in range(0, 32) if tokens[0] <= 2 ** power <= tokens[-1]]
    return powers if len(powers) > 1 else tokens


def mark(shape, x, y, colour):
    if shape == "circle":
        return f'<circle cx="{number(x)}" cy="{number(y)}" r="4" fill="{colour}"/>'
    corners = {"square": [(-3.5, -3.5), (3.5, -3.5), (3.5, 3.5), (-3.5, 3.5)],
               "diamond": [(0, -5), (5, 0), (0, 5), (-5, 0)],
               "up": [(0, -5), (4.5, 3.5), (-4.5, 3.5)],
               "down": [(0, 5), (4.5, -3.5), (-4.5, -3.5)]}[shape]
    points = " ".join(f"{number(x + dx)},{number(y + dy)}" for dx, dy in corners)
    return f'<polygon points="{points}" fill="{colour}"/>'


def text_at(x, y, text, anchor="middle", size=13, more=""):
    return (f'<text x="{number(x)}" y="{number(y)}" text-anchor="{anchor}" font-size="{size}"{more}>'
            f"{escape(text)}</text>")


def styles_of(lines):
    """Each line's look: that of its kind, but another colour for a kind that has been seen."""
    seen = {}
    for line in lines:
        colour, dashes, shape = STYLES[line.kind]
        again = seen.get(line.kind, 0)
        if again:
            colour = MORE_COLOURS[(again - 1 + list(STYLES).index(line.kind)) % len(MORE_COLOURS)]
        seen[line.kind] = again + 1
        yield line, colour, dashes, shape


def legend_rows(name):
    """The legend is narrow: a long name takes two rows."""
    if len(name) <= 27 or " " not in name:
        return [name]
    cut = name.rfind(" ", 0, 28)
    cut = cut if cut > 0 else name.find(" ")
    return [name[:cut], name[cut + 1:]]


def draw(lines, title, subtitle, y_title):
    tokens = sorted({point[0] for line in lines for point in line.points})
    times = [point[1] for line in lines for point in line.points]
    y_ticks = ticks_of_latency(min(times), max(times))
    x = Scale(tokens[0], tokens[-1], LEFT, WIDTH - RIGHT)
    y = Scale(y_ticks[0], y_ticks[-1], HEIGHT - BOTTOM, TOP)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
           'font-family="Helvetica, Arial, sans-serif" fill="#222222">',
           f'<title>{escape(title)}</title>',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',  # readable on a dark page too
           text_at(LEFT, 26, title, "start", 18),
           text_at(LEFT, 46, subtitle, "start", 11, ' fill="#555555"')]
    for tick in y_ticks:
        at = number(y.at(tick))
        out.append(f'<line x1="{LEFT}" y1="{at}" x2="{WIDTH - RIGHT}" y2="{at}" stroke="#dddddd"/>')
        out.append(text_at(LEFT - 8, y.at(tick) + 4.5, f"{tick:g}", "end"))
    for tick in ticks_of_tokens(tokens):
        at = number(x.at(tick))
        out.append(f'<line x1="{at}" y1="{TOP}" x2="{at}" y2="{HEIGHT - BOTTOM}" stroke="#eeeeee"/>')
        out.append(text_at(x.at(tick), HEIGHT - BOTTOM + 19, str(tick)))
    out.append(f'<path d="M{LEFT},{TOP} V{HEIGHT - BOTTOM} H{WIDTH - RIGHT}" fill="none" stroke="#222222"/>')
    out.append(text_at((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 20, "tokens per rank", size=14))
    middle = (TOP + HEIGHT - BOTTOM) / 2
    out.append(text_at(24, middle, y_title, size=14, more=f' transform="rotate(-90 24 {number(middle)})"'))
    row_y = TOP + 12.0
    for line, colour, dashes, shape in styles_of(lines):
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        look = f'fill="none" stroke="{colour}" stroke-width="2"{dashed}'
        path = " ".join(f"{number(x.at(at))},{number(y.at(us))}" for at, us in line.points)
        out.append(f'<g><title>{escape(line.name)}</title>')
        out.append(f'<polyline points="{path}" {look}/>')
        # A line of one point would not be seen.
        shown = shape or ("circle" if len(line.points) == 1 else None)
        if shown:
            out += [mark(shown, x.at(at), y.at(us), colour) for at, us in line.points]
        legend_x = WIDTH - RIGHT + 16
        out.append(f'<line x1="{legend_x}" y1="{number(row_y)}" x2="{legend_x + 30}" y2="{number(row_y)}" {look}/>')
        if shown:
            out.append(mark(shown, legend_x + 15, row_y, colour))
        for text in legend_rows(line.name):
            out.append(text_at(legend_x + 38, row_y + 4.5, text, "start"))
            row_y += 17
        row_y += 7
        out.append("</g>")
    out.append("</svg>")
    return "\n".join(out) + "\n"


def plot(paths, quantity, title=None, shape=None):
    """The picture; None where there is no point."""
    benches = [(path, read_bench(path)) for path in paths]
    try:
        benches = [(path, of_one_shape(path, records, shape)) for path, records in benches]
        lines = all_lines(benches, quantity)
        subtitle = subtitle_of(benches[0][1])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BadInput(f"{', '.join(paths)}: not the records of a bench: {error!r}") from error
    if not any(line.kind in ("fence", "lamport", "auto") for line in lines):
        return None
    name = QUANTITIES[quantity]
    return draw(lines, title or f"Switchyard: {name} against tokens per rank", subtitle, f"{name} time in microseconds (us)")


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0],
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog=__doc__.split("\n\n", 2)[2], exit_on_error=True)
    parser.add_argument("benches", nargs="+", metavar="BENCH_JSONL", help="what bench --out wrote")
    parser.add_argument("--of", choices=list(QUANTITIES), default="round_trip", help="which time (default: round_trip)")
    parser.add_argument("--shape", type=int, metavar="N", help="which of a bench of several, in their order, from 1")
    parser.add_argument("--title", metavar="TEXT", help="instead of the usual one")
    parser.add_argument("--out", required=True, metavar="FILE.svg", help="where the picture goes")
    try:
        options = parser.parse_args(arguments)
    except SystemExit as ended:
        return 0 if ended.code == 0 else 5
    try:
        picture = plot(options.benches, options.of, options.title, options.shape)
        if picture is None:
            print(f"plot_bench: no points in {', '.join(options.benches)}", file=sys.stderr)
            return 3
        with open(options.out, "w", encoding="utf-8", newline="\n") as file:
            file.write(picture)
    except (BadInput, OSError) as error:
        print(f"plot_bench: {error}", file=sys.stderr)
        return 5
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
