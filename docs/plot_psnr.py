#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws performance-psnr.svg from performance-psnr.tsv: PSNR over rate.

    docs/plot_psnr.py        # needs python3-matplotlib
"""
from plots import panels, read_table, save

STYLES = {"OpenJPEG": ("k", "-"), "cj2k MQ": ("tab:blue", "-"), "cj2k MQ bypass": ("tab:cyan", "-"),
          "OpenJPH": ("tab:gray", "--"), "cj2k HT": ("tab:red", "-")}


def main():
    rows = read_table("performance-psnr.tsv")
    pictures = list(dict.fromkeys(row["picture"] for row in rows))
    figure, axes = panels(-(-len(pictures) // 2), 2, 4.5, 3.6)
    for axis, picture in zip(axes.flat, pictures):
        mine = [row for row in rows if row["picture"] == picture]
        for name, (colour, line) in STYLES.items():
            axis.plot([float(row["bpp"]) for row in mine], [float(row[name]) for row in mine], line, color=colour,
                      marker=".", linewidth=1, label=name)
        axis.set(title=picture, xlabel="bits per pixel", ylabel="PSNR, dB", xscale="log", xticks=[0.5, 1, 2, 4],
                 xticklabels=["0.5", "1", "2", "4"])
        axis.minorticks_off()
    axes[0, 0].legend(fontsize="small")
    save(figure, "performance-psnr.svg")


if __name__ == "__main__":
    main()
