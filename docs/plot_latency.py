#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws latency.svg and latency-gpu.svg from latency.tsv and latency-gpu.tsv, and prints the tables of rate-control.md.

They have a line for each frame: the way of the frame, the Mbit/s of the link (0: none) or on the GPU the lines of the
picture, milliseconds. The program measure-latency of the tests writes name and milliseconds; the names were WAY:MBIT.
"""
import collections
import csv
import html
import pathlib

FOLDER = pathlib.Path(__file__).parent
# By name: milliseconds of the axis and between its marks; by the second column: dashes, and what the legend says of it.
PLOTS = {"latency": (100, 10, {"0": ("none", ""), "1000": ("6 3", ", 1000 Mbit/s")}),
         "latency-gpu": (25, 5, {"2160": ("none", ", 2160 lines"), "1080": ("6 3", ", 1080 lines")})}
COLOURS = {"whole, burst": "#4878cf", "whole, paced": "#e8893a", "low": "#2d7d46", "ultra": "#7b55b5",
           "low, MQ": "#c44e52"}
LEFT, TOP, WIDTH, HEIGHT = 50, 30, 600, 260  # pixels


def read(name):
    ways = collections.defaultdict(list)
    with open(FOLDER / f"{name}.tsv", encoding="utf-8") as file:
        for way, case, ms in list(csv.reader(file, delimiter="\t"))[1:]:
            ways[way, case].append(float(ms))
    return {key: sorted(values) for key, values in ways.items()}


def quantile(values, part):
    return values[min(len(values) - 1, int(part * len(values)))]


def place(milliseconds, part, most):
    return f"{LEFT + min(milliseconds, most) * WIDTH / most:.1f},{TOP + (1 - part) * HEIGHT:.1f}"


def draw(name, ways):
    most, step, cases = PLOTS[name]
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 190}" height="{TOP + HEIGHT + 50}" '
             'font-family="sans-serif" font-size="12">', '<rect width="100%" height="100%" fill="white"/>']
    for ms in range(0, most + 1, step):
        x = LEFT + ms * WIDTH / most
        lines.append(f'<path d="M{x:.0f} {TOP}v{HEIGHT}" stroke="#ddd"/>'
                     f'<text x="{x:.0f}" y="{TOP + HEIGHT + 16}" text-anchor="middle">{ms}</text>')
    for part in (0, 0.25, 0.5, 0.75, 1):
        y = TOP + (1 - part) * HEIGHT
        lines.append(f'<path d="M{LEFT} {y:.0f}h{WIDTH}" stroke="#ddd"/>'
                     f'<text x="{LEFT - 6}" y="{y + 4:.0f}" text-anchor="end">{part:g}</text>')
    for i, ((way, case), values) in enumerate(ways.items()):
        points = " ".join(place(ms, n / len(values), most) + " " + place(ms, (n + 1) / len(values), most)
                          for n, ms in enumerate(values))
        style = f'stroke="{COLOURS[way]}" stroke-width="1.6" stroke-dasharray="{cases[case][0]}" fill="none"'
        lines.append(f'<polyline points="{points}" {style}/>')
        y = TOP + 16 + 20 * i
        lines.append(f'<path d="M{LEFT + WIDTH + 15} {y - 4}h24" {style}/>'
                     f'<text x="{LEFT + WIDTH + 45}" y="{y}">{html.escape(way + cases[case][1])}</text>')
    lines.append(f'<text x="{LEFT + WIDTH / 2:.0f}" y="{TOP + HEIGHT + 38}" text-anchor="middle">milliseconds from '
                 'the encoder\'s input to the decoder\'s output</text>'
                 f'<text x="{LEFT}" y="{TOP - 10}">share of frames</text></svg>')
    (FOLDER / f"{name}.svg").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main():
    for name in PLOTS:
        ways = read(name)
        draw(name, ways)
        for (way, case), values in ways.items():
            print("|", way, "|", case, "|", " | ".join(f"{quantile(values, p):.1f}" for p in (0.05, 0.5, 0.9, 0.99)), "|")


main()
