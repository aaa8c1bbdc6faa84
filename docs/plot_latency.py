#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws latency.svg from latency.tsv, and prints the table of rate-control.md.

latency.tsv has a line for each frame: the way of the frame, the Mbit/s of the link (0: none), milliseconds. The
program measure-latency of the tests writes name and milliseconds; the names were WAY:MBIT.
"""
import collections
import csv
import html
import pathlib

FOLDER = pathlib.Path(__file__).parent
TABLE, DRAWING = FOLDER / "latency.tsv", FOLDER / "latency.svg"
COLOURS = {"whole, burst": "#4878cf", "whole, paced": "#e8893a", "low": "#2d7d46", "ultra": "#7b55b5"}
LEFT, TOP, WIDTH, HEIGHT, MOST = 50, 30, 600, 260, 100  # pixels; milliseconds of the axis
DASHES = {"0": "none", "1000": "6 3"}


def read():
    ways = collections.defaultdict(list)
    with open(TABLE, encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            ways[row["way"], row["link"]].append(float(row["ms"]))
    return {key: sorted(values) for key, values in ways.items()}


def quantile(values, part):
    return values[min(len(values) - 1, int(part * len(values)))]


def place(milliseconds, part):
    return f"{LEFT + min(milliseconds, MOST) * WIDTH / MOST:.1f},{TOP + (1 - part) * HEIGHT:.1f}"


def draw(ways):
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 190}" height="{TOP + HEIGHT + 50}" '
             'font-family="sans-serif" font-size="12">', '<rect width="100%" height="100%" fill="white"/>']
    for ms in range(0, MOST + 1, 10):
        x = LEFT + ms * WIDTH / MOST
        lines.append(f'<path d="M{x:.0f} {TOP}v{HEIGHT}" stroke="#ddd"/>'
                     f'<text x="{x:.0f}" y="{TOP + HEIGHT + 16}" text-anchor="middle">{ms}</text>')
    for part in (0, 0.25, 0.5, 0.75, 1):
        y = TOP + (1 - part) * HEIGHT
        lines.append(f'<path d="M{LEFT} {y:.0f}h{WIDTH}" stroke="#ddd"/>'
                     f'<text x="{LEFT - 6}" y="{y + 4:.0f}" text-anchor="end">{part:g}</text>')
    for i, ((way, link), values) in enumerate(ways.items()):
        points = " ".join(place(ms, n / len(values)) + " " + place(ms, (n + 1) / len(values))
                          for n, ms in enumerate(values))
        style = f'stroke="{COLOURS[way]}" stroke-width="1.6" stroke-dasharray="{DASHES[link]}" fill="none"'
        lines.append(f'<polyline points="{points}" {style}/>')
        y = TOP + 16 + 20 * i
        name = way + (f", {link} Mbit/s" if link != "0" else "")
        lines.append(f'<path d="M{LEFT + WIDTH + 15} {y - 4}h24" {style}/>'
                     f'<text x="{LEFT + WIDTH + 45}" y="{y}">{html.escape(name)}</text>')
    lines.append(f'<text x="{LEFT + WIDTH / 2:.0f}" y="{TOP + HEIGHT + 38}" text-anchor="middle">milliseconds from '
                 'the encoder\'s input to the decoder\'s output</text>'
                 f'<text x="{LEFT}" y="{TOP - 10}">share of frames</text></svg>')
    DRAWING.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main():
    ways = read()
    draw(ways)
    for (way, link), values in ways.items():
        print("|", way, "|", link, "|", " | ".join(f"{quantile(values, p):.1f}" for p in (0.05, 0.5, 0.9, 0.99)), "|")


main()
