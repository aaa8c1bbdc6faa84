#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws performance-psnr.svg from performance-psnr.tsv: PSNR over rate.

    docs/plot_psnr.py        # needs python3-matplotlib
"""
import csv
import pathlib

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

FOLDER = pathlib.Path(__file__).parent
STYLES = {"OpenJPEG": ("k", "-"), "cj2k MQ": ("tab:blue", "-"), "cj2k MQ bypass": ("tab:cyan", "-"),
          "OpenJPH": ("tab:gray", "--"), "cj2k HT": ("tab:red", "-")}


def main():
    with open(FOLDER / "performance-psnr.tsv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    pictures = list(dict.fromkeys(row["picture"] for row in rows))
    figure, axes = plt.subplots(-(-len(pictures) // 2), 2, figsize=(9, 3.6 * -(-len(pictures) // 2)), squeeze=False)
    for axis, picture in zip(axes.flat, pictures):
        mine = [row for row in rows if row["picture"] == picture]
        for name, (colour, line) in STYLES.items():
            axis.plot([float(row["bpp"]) for row in mine], [float(row[name]) for row in mine], line, color=colour,
                      marker=".", linewidth=1, label=name)
        axis.set(title=picture, xlabel="bits per pixel", ylabel="PSNR, dB", xscale="log", xticks=[0.5, 1, 2, 4],
                 xticklabels=["0.5", "1", "2", "4"])
        axis.grid(linewidth=0.3)
        axis.minorticks_off()
    axes[0, 0].legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(FOLDER / "performance-psnr.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
