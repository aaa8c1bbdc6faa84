#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws scaling.svg from scaling.tsv: frames/s of cj2k-farm over the number of workers.

    docs/plot_scaling.py        # needs python3-matplotlib
"""
import csv
import pathlib

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

FOLDER = pathlib.Path(__file__).parent
COLOURS = ["tab:blue", "tab:red", "tab:green", "tab:orange"]


def main():
    with open(FOLDER / "scaling.tsv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    series = {}
    for row in rows:
        series.setdefault(row["what"], []).append((int(row["workers"]), float(row["frames/s"]), float(row["ideal"])))
    figure, axes = plt.subplots(1, len(series), figsize=(4.5 * len(series), 3.4), squeeze=False)
    for axis, (what, points), colour in zip(axes.flat, series.items(), COLOURS):
        workers = [point[0] for point in points]
        axis.plot(workers, [point[2] for point in points], "k--", linewidth=0.8, label="without loss")
        axis.plot(workers, [point[1] for point in points], "-", color=colour, marker=".", linewidth=1, label="cj2k-farm")
        axis.set(title=what, xlabel="workers", ylabel="frames/s", xticks=workers)
        axis.set_ylim(bottom=0)
        axis.grid(linewidth=0.3)
        axis.legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(FOLDER / "scaling.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
