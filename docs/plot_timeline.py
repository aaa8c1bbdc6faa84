#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws performance-timeline.svg from performance-timeline.tsv: what each stream of the GPU did when.

    docs/plot_timeline.py                             # from the table
    docs/plot_timeline.py TITLE=FILE:FROM:TO ...      # makes the table first, of milliseconds FROM to TO of what
                                                      # cj2k-bench --timeline wrote to each FILE
"""
import csv
import html
import json
import pathlib
import sys

FOLDER = pathlib.Path(__file__).parent
TABLE, DRAWING = FOLDER / "performance-timeline.tsv", FOLDER / "performance-timeline.svg"
COLOURS = {"upload": "#4878cf", "download": "#e8893a", "quads": "#2d7d46", "cleanup": "#2d7d46", "magsgn": "#62b27a", "refine": "#9ad0aa",
           "mq": "#9ad0aa", "idwt": "#a98fd0", "finish": "#7b55b5", "top": "#7b55b5", "levels": "#a98fd0",
           "measure": "#9ad0aa", "contexts": "#62b27a", "code": "#2d7d46", "hulls": "#9ad0aa", "gather": "#62b27a",
           "headers": "#d0a98f", "place": "#d0a98f"}
OTHER = "#999999"  # stages without a colour of their own
COPIES = ("upload", "download")
LEFT, WIDTH, ROW, GAP = 90, 850, 14, 34  # pixels


def make_table(arguments):
    with open(TABLE, "w", encoding="utf-8") as out:
        print("panel", "stream", "stage", "begin", "end", sep="\t", file=out)
        for argument in arguments:
            title, _, rest = argument.partition("=")
            path, begin, end = rest.rsplit(":", 2)
            with open(path, encoding="utf-8") as file:
                spans = json.load(file)["spans"]
            zero = min(span["begin"] for span in spans) + float(begin)
            length = float(end) - float(begin)
            for span in spans:
                a, b = max(span["begin"] - zero, 0), min(span["end"] - zero, length)
                if b - a > 0.004:
                    print(title, span["stream"], span["stage"], f"{a:.4f}", f"{b:.4f}", sep="\t", file=out)


def union(spans):
    """The spans run together where they overlap."""
    merged = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([begin, end])
    return merged


class Panel:
    """Rows of one run, from y on."""

    def __init__(self, title, rows, y):
        self.spans = [(int(r["stream"]), r["stage"], float(r["begin"]), float(r["end"])) for r in rows]
        self.length = max(end for *_, end in self.spans)
        self.title, self.y, self.lines = title, y, []

    def bar(self, row, span, colour, name, part=(0, 1)):
        """Of a row, or of the part of its height: what one slot copies lies above what it computes beside."""
        begin, end = span
        x, width = LEFT + WIDTH * begin / self.length, WIDTH * (end - begin) / self.length
        y, height = self.y + row * ROW + 1 + part[0] * (ROW - 2), (part[1] - part[0]) * (ROW - 2)
        self.lines.append(f'<rect x="{x:.1f}" y="{y:g}" width="{width:.1f}" height="{height:g}" '
                          f'fill="{colour}"><title>{name} {(end - begin) * 1000:.0f} µs</title></rect>')

    def label(self, row, text):
        self.lines.append(f'<text x="{LEFT - 6}" y="{self.y + (row + 1) * ROW - 3}" text-anchor="end">{text}</text>')

    def draw(self):
        streams = sorted({span[0] for span in self.spans})
        self.lines.append(f'<text x="{LEFT}" y="{self.y - 6}" font-weight="bold">{html.escape(self.title)}</text>')
        for row, stream in enumerate(streams):
            self.label(row, f"slot {stream}")
            for _, stage, begin, end in (s for s in self.spans if s[0] == stream):
                self.bar(row, (begin, end), COLOURS.get(stage, OTHER), stage, (0, 0.5) if stage in COPIES else (0.5, 1))
        row = len(streams) + 0.5
        for name, is_copy in (("copies", True), ("kernels", False)):
            self.label(row, name)
            for begin, end in union([s[2:] for s in self.spans if (s[1] in COPIES) == is_copy]):
                self.bar(row, (begin, end), "#888", name)
            row += 1
        bottom = self.y + (row + 0.2) * ROW
        for ms in range(int(self.length) + 1):
            x = LEFT + WIDTH * ms / self.length
            self.lines.append(f'<text x="{x:.0f}" y="{bottom + 9:.0f}" text-anchor="middle" fill="#555">{ms} ms</text>')
        return bottom + 12


def legend(used, y):
    lines, x = [], LEFT
    for stage in [stage for stage in COLOURS if stage in used] + sorted(used - set(COLOURS)):
        lines.append(f'<rect x="{x}" y="{y}" width="10" height="10" fill="{COLOURS.get(stage, OTHER)}"/>'
                     f'<text x="{x + 14}" y="{y + 9}">{stage}</text>')
        x += 24 + 7 * len(stage)
    return lines


def main():
    if len(sys.argv) > 1:
        make_table(sys.argv[1:])
    with open(TABLE, encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    y, lines = 10, legend({row["stage"] for row in rows}, 8)
    for title in dict.fromkeys(row["panel"] for row in rows):
        panel = Panel(title, [row for row in rows if row["panel"] == title], int(y) + GAP)
        y = panel.draw()
        lines += panel.lines
    with open(DRAWING, "w", encoding="utf-8") as out:
        size = f'width="{LEFT + WIDTH + 20}" height="{y + 10:.0f}"'
        print(f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="10">\n'
              f'<rect width="100%" height="100%" fill="white"/>', *lines, "</svg>", sep="\n", file=out)


if __name__ == "__main__":
    main()
