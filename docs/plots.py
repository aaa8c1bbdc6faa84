# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the scripts of this folder that draw with Matplotlib share: tables and drawings lie beside them."""
import csv
import pathlib

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

FOLDER = pathlib.Path(__file__).parent


def read_table(name):
    """Rows of a .tsv file of this folder, as dictionaries of texts."""
    with open(FOLDER / name, encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def panels(rows, columns, width, height):
    """A figure, and its axes as rows of columns; width and height of one of them, in inches."""
    figure, axes = plt.subplots(rows, columns, figsize=(width * columns, height * rows), squeeze=False)
    for axis in axes.flat:
        axis.grid(linewidth=0.3)
    return figure, axes


def save(figure, name):
    """Writes an SVG file to this folder, without the date, which would change it each time."""
    figure.tight_layout()
    figure.savefig(FOLDER / name, metadata={"Date": None})
