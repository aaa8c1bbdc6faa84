#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws scaling.svg from scaling.tsv: frames/s of cj2k-farm over the number of workers.

    docs/plot_scaling.py        # needs python3-matplotlib
"""
from plots import panels, read_table, save

COLOURS = ["tab:blue", "tab:red", "tab:green", "tab:orange"]


def main():
    series = {}
    for row in read_table("scaling.tsv"):
        series.setdefault(row["what"], []).append((int(row["workers"]), float(row["frames/s"]), float(row["ideal"])))
    figure, axes = panels(1, len(series), 4.5, 3.4)
    for axis, (what, points), colour in zip(axes.flat, series.items(), COLOURS):
        workers = [point[0] for point in points]
        axis.plot(workers, [point[2] for point in points], "k--", linewidth=0.8, label="without loss")
        axis.plot(workers, [point[1] for point in points], "-", color=colour, marker=".", linewidth=1, label="cj2k-farm")
        axis.set(title=what, xlabel="workers", ylabel="frames/s", xticks=workers)
        axis.set_ylim(bottom=0)
        axis.legend(fontsize="small")
    save(figure, "scaling.svg")


if __name__ == "__main__":
    main()
