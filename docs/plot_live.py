#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws live.svg from live.tsv: latency, late frames and processor cores over the number of live streams.

    docs/plot_live.py             # needs python3-matplotlib
    docs/plot_live.py FILE...     # makes the table first, of the JSON lines that cj2k-bench live printed to each FILE;
                                  # other lines are left out, as is what stands before the brace

A line may say in a member "who" whose program it measured; without it, it is cudaj2k's. A run with the direction
"both" makes two rows, with the cores of encoders and decoders together in each.
"""
import json
import math
import sys

from plots import FOLDER, panels, read_table, save

TABLE, DRAWING = "live.tsv", "live.svg"
COLUMNS = ("who", "run", "direction", "size", "fps", "streams", "frames", "late", "ms p50", "ms p99", "ms p99.9",
           "ms max", "cores", "host MB a stream", "device MB a stream", "joule a frame")
DIRECTIONS = ("encode", "decode")
COLOURS = ["tab:blue", "tab:red", "tab:green", "tab:orange", "tab:purple", "tab:cyan"]


def measurements(path):
    """The JSON objects of a file that are results of live streams."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            try:
                result = json.loads(line[max(line.find("{"), 0):])
            except ValueError:
                continue
            if isinstance(result, dict) and result.get("operation") == "live":
                yield result


def table_rows(result):
    for direction in (name for name in DIRECTIONS if name in result):
        one = result[direction]
        yield (result.get("who", "cudaj2k"), result["direction"], direction, f"{result['width']}x{result['height']}",
               result["fps"], result["streams"], one["frames"], one["late"], one["ms_p50"], one["ms_p99"],
               one["ms_p99.9"], one["ms_max"], result["cores"], result["host_mb_per_stream"],
               result["device_mb_per_stream"], result.get("joule_per_frame", ""))


def make_table(paths):
    # Of several processes each prints a line of its own, of its streams alone: these are no numbers of streams.
    rows = [row for path in paths for result in measurements(path) if result.get("processes", 1) == 1
            for row in table_rows(result)]
    if not rows:
        sys.exit("plot_live.py: no results of cj2k-bench live in " + ", ".join(paths))
    with open(FOLDER / TABLE, "w", encoding="utf-8") as out:
        for row in (COLUMNS, *rows):
            print(*row, sep="\t", file=out)


def series_of(rows):
    """The rows of each line of the drawing: of a program, and of one size, frame rate and kind of run where there are
    several, which its name then tells."""
    directions = len({row["direction"] for row in rows})
    several = [key for key in ("size", "fps", "run")
               if len({(row["direction"], row[key]) for row in rows}) > directions]
    series = {}
    for row in sorted(rows, key=lambda row: int(row["streams"])):
        tell = {"size": row["size"], "fps": row["fps"] + " frames/s",
                "run": "both directions" if row["run"] == "both" else "alone"}
        series.setdefault(", ".join([row["who"], *(tell[key] for key in several)]), []).append(row)
    return dict(sorted(series.items()))


def draw_line(axes, name, points, colour):
    streams = [int(row["streams"]) for row in points]
    figures = ([float(row["ms p99"]) for row in points],
               [100 * int(row["late"]) / max(int(row["frames"]), 1) for row in points],
               [float(row["cores"]) for row in points])
    for axis, values in zip(axes, figures):
        axis.plot(streams, values, marker=".", linewidth=1, color=colour, label=name, clip_on=False)


def decades(rows):
    """The axis of latencies, in ms: whole powers of ten around all of them and the durations of frames."""
    shown = [float(row["ms p99"]) for row in rows] + [1000 / float(row["fps"]) for row in rows]
    return 10 ** math.floor(math.log10(min(shown))), 10 ** math.ceil(math.log10(max(shown)))


def finish_column(axes, direction, rows):
    for fps in sorted({float(row["fps"]) for row in rows}):
        axes[0].axhline(1000 / fps, color="k", linestyle="--", linewidth=0.8, label=f"duration of a frame, {fps:g}/s")
    axes[0].set(title=direction, yscale="log", ylim=decades(rows), ylabel="ms, 99 % of frames")
    axes[0].yaxis.set_major_formatter("{x:g}")
    axes[0].legend(fontsize="small")
    axes[1].set(ylabel="late frames, %")
    axes[2].set(ylabel="processor cores", xlabel="streams")
    for axis in axes:
        axis.set_xticks(sorted({int(row["streams"]) for row in rows}))
    axes[1].set_ylim(0, max(1, axes[1].get_ylim()[1]))
    axes[2].set_ylim(bottom=0)


def main():
    if len(sys.argv) > 1:
        make_table(sys.argv[1:])
    rows = read_table(TABLE)
    directions = [name for name in DIRECTIONS if any(row["direction"] == name for row in rows)]
    figure, axes = panels(3, len(directions), 4.5, 2.8)
    for i, (name, points) in enumerate(series_of(rows).items()):
        for column, direction in enumerate(directions):
            mine = [row for row in points if row["direction"] == direction]
            if mine:
                draw_line(axes[:, column], name, mine, COLOURS[i % len(COLOURS)])
    for column, direction in enumerate(directions):
        finish_column(axes[:, column], direction, rows)
    save(figure, DRAWING)


if __name__ == "__main__":
    main()
