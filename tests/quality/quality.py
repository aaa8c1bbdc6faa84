#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Rate over perceived quality: measures coders on pictures, and makes docs/quality.* of the result.

quality.py measure [--build DIR] [--openjph PROGRAM] [--openhtj2k PROGRAM] [--jobs N] [--only CODER]... TABLE PICTURE...
    Codes each picture (PNG, 8 bit RGB) at several sizes and writes a line for each codestream to TABLE: picture,
    coder, bytes, bits per pixel, SSIMULACRA2, Butteraugli (of the project's own rates only), PSNR. All are decoded by
    cj2k-decode.
quality.py table TABLE
    Prints the bytes saved at equal score (Bjontegaard's measure, by linear interpolation of the logarithm of bytes).
quality.py plot TABLE SVG
    Draws bits per pixel over SSIMULACRA2 and PSNR.
quality.py crops [--build DIR] PICTURE X Y BPP PNG
    A crop of 256x192 samples: the original, without and with visual weights at the same size, side by side.
quality.py generations [--build DIR] PICTURE BPP N
    SSIMULACRA2 and PSNR after 1 and N generations of encoding and decoding at the same size, without and with weights.
quality.py film [--build DIR] PICTURE BPP
    The same of ten frames, windows of 256x192 samples that move over the picture, with grain: mean and worst frame.
quality.py pictures FOLDER
    Writes the pictures of docs/quality.md, from the packages scikit-image and plasma-workspace-wallpapers.

Needs the Python packages ssimulacra2, numpy, pillow, for plots matplotlib, and the program butteraugli (Debian:
butteraugli). What is missing is named, and measure ends with status 77.
"""
import argparse
import csv
import math
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

SIZE = (512, 384)
RATES = (0.25, 0.5, 1, 1.7, 2.6, 4)
QUALITIES = (20, 40, 60, 80, 92)
CODERS = ("ht none", "ht csf", "mq none", "mq csf", "ht quality", "ht csf best", "OpenJPH", "OpenHTJ2K")
FIELDS = ("picture", "coder", "bytes", "bpp", "ssimulacra2", "butteraugli", "psnr")


def run(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def encode(tools, coder, point, source, target):
    """Writes the codestream of a coder at a point of its range: a rate, or a quality factor."""
    own = [tools["build"] / "examples/cj2k-encode", "--backend", "cpu", "--num-threads", 1]
    if coder == "OpenJPH":
        run(tools["openjph"], "-i", source, "-o", target, "-qfactor", point)
    elif coder == "OpenHTJ2K":
        run(tools["openhtj2k"], "-i", source, "-o", target, f"Qfactor={point}")
    elif coder == "ht quality":
        run(*own, "--block-coder", "ht", "--quality", point, source, target)
    else:
        block_coder, weights, *effort = coder.split()
        run(*own, "--block-coder", block_coder, "--visual-weights", weights, "--bits-per-pixel", point,
            "--rate-effort", *(effort or ["fast"]), source, target)


def has_rate(coder):
    """Whether a coder is given a rate; the others are given a quality factor."""
    return coder.split()[1:2] in (["none"], ["csf"])


def decode(tools, stream, target):
    run(tools["build"] / "examples/cj2k-decode", "--backend", "cpu", "--num-threads", 1, stream, target)


def scores(original, decoded, butteraugli):
    import numpy
    from PIL import Image
    from ssimulacra2 import compute_ssimulacra2

    first, second = (numpy.asarray(Image.open(path).convert("RGB"), float) for path in (original, decoded))
    error = ((first - second) ** 2).mean()
    distance = float(run("butteraugli", original, decoded).split()[0]) if butteraugli else math.nan
    return (compute_ssimulacra2(str(original), str(decoded)), distance,
            10 * math.log10(255 ** 2 / error) if error else 100)


def measure_one(task):
    tools, coder, point, picture = task
    from PIL import Image

    with tempfile.TemporaryDirectory() as folder:
        source, stream, decoded = (Path(folder) / name for name in ("in.ppm", "out.j2c", "out.png"))
        image = Image.open(picture).convert("RGB")
        image.save(source)
        image.save(Path(folder) / "in.png")
        encode(tools, coder, point, source, stream)
        decode(tools, stream, decoded)
        size = stream.stat().st_size
        values = scores(Path(folder) / "in.png", decoded, has_rate(coder))
    bits = size * 8 / (image.width * image.height)
    return (Path(picture).stem, coder, size, f"{bits:.4f}") + tuple(f"{value:.4f}" for value in values)


def missing(tools):
    """The names of what measure lacks."""
    names = [] if shutil.which("butteraugli") else ["the program butteraugli"]
    for package in ("numpy", "PIL", "ssimulacra2"):
        try:
            __import__(package)
        except ImportError:
            names.append(f"the Python package {package}")
    if not (tools["build"] / "examples/cj2k-encode").exists():
        names.append(f"{tools['build']}/examples/cj2k-encode")
    return names


def measure(arguments):
    tools = {"build": Path(arguments.build), "openjph": arguments.openjph, "openhtj2k": arguments.openhtj2k}
    lacking = missing(tools)
    if lacking:
        print("skipped: needs", ", ".join(lacking))
        return 77
    coders = arguments.only or [coder for coder in CODERS if tools.get(coder.lower(), True)]
    tasks = [(tools, coder, point, picture) for picture in arguments.pictures for coder in coders
             for point in (RATES if has_rate(coder) else QUALITIES)]
    with open(arguments.table, "w", newline="") as file, ProcessPoolExecutor(arguments.jobs) as pool:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(FIELDS)
        for row in pool.map(measure_one, tasks):
            writer.writerow(row)
            file.flush()
    return 0


def read(table):
    """{(picture, coder): [row with numbers], by bytes}"""
    curves = {}
    with open(table, newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            numbers = {name: float(row[name]) for name in FIELDS[2:]}
            curves.setdefault((row["picture"], row["coder"]), []).append(numbers)
    for curve in curves.values():
        curve.sort(key=lambda row: row["bytes"])
    return curves


def interpolate(points, at):
    """The value at `at` of a line through points (x, y) in the order of x."""
    for (x0, y0), (x1, y1) in zip(points, points[1:]):
        if x0 <= at <= x1:
            return y0 + (y1 - y0) * (at - x0) / (x1 - x0) if x1 > x0 else y0
    raise ValueError


def saving(first, second, metric, low, high):
    """Part of the bytes of `first` that `second` saves at equal scores: the mean over the scores that `first` has from
    `low` to `high` bits per pixel, as far as `second` has them. None if there are none."""
    sign = -1 if metric == "butteraugli" else 1
    if any(math.isnan(row[metric]) for row in first + second):
        return None
    by_rate = [(row["bpp"], sign * row[metric]) for row in first]
    curves = [sorted((sign * row[metric], math.log(row["bytes"])) for row in curve) for curve in (first, second)]
    low, high = max(low, by_rate[0][0]), min(high, by_rate[-1][0])
    if high <= low:
        return None
    start = max(interpolate(by_rate, low), *(curve[0][0] for curve in curves))
    end = min(interpolate(by_rate, high), *(curve[-1][0] for curve in curves))
    if end <= start:
        return None
    grid = [start + (end - start) * (i + 0.5) / 64 for i in range(64)]
    return 1 - math.exp(sum(interpolate(curves[1], s) - interpolate(curves[0], s) for s in grid) / len(grid))


def table(arguments):
    curves = read(arguments.table)
    pictures = list(dict.fromkeys(picture for picture, _ in curves))
    for metric in ("ssimulacra2", "butteraugli"):
        for low, high in ((0.25, 1), (1, 3), (0.25, 4)):
            print(f"\nbytes saved at equal {metric}, {low:g} to {high:g} bits per pixel of the first, percent\n")
            print("| first | second |", " | ".join(pictures), "| mean |")
            print("|---|---|" + "---|" * (len(pictures) + 1))
            for pair in (("ht none", "ht csf"), ("mq none", "mq csf"), ("OpenJPH", "ht csf"), ("OpenHTJ2K", "ht csf"),
                         ("ht quality", "ht csf"), ("ht none", "ht csf best"), ("OpenJPH", "ht csf best"),
                         ("OpenHTJ2K", "ht csf best")):
                found = [saving(curves[p, pair[0]], curves[p, pair[1]], metric, low, high)
                         if (p, pair[0]) in curves and (p, pair[1]) in curves else None for p in pictures]
                known = [value for value in found if value is not None]
                if known:
                    cells = [f"{100 * value:.1f}" if value is not None else "–" for value in found]
                    print(f"| {pair[0]} | {pair[1]} |", " | ".join(cells), f"| {100 * sum(known) / len(known):.1f} |")
    return 0


def plot(arguments):
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "cj2k"
    from matplotlib import pyplot

    curves = read(arguments.table)
    pictures = list(dict.fromkeys(picture for picture, _ in curves))
    styles = {"ht none": "C0--", "ht csf": "C0-", "mq none": "C1--", "mq csf": "C1-", "OpenJPH": "C2:"}
    figure, axes = pyplot.subplots(2, len(pictures), figsize=(3 * len(pictures), 6), sharex=True, squeeze=False)
    for column, picture in enumerate(pictures):
        for axis, metric in zip(axes[:, column], ("ssimulacra2", "psnr")):
            for coder, style in styles.items():
                rows = [row for row in curves.get((picture, coder), []) if row["bpp"] <= 4.1]
                if rows:
                    axis.plot([row["bpp"] for row in rows], [row[metric] for row in rows], style, label=coder, lw=1.2)
            axis.grid(alpha=0.3)
            axis.set_ylim(bottom=0 if metric == "ssimulacra2" else None)
        axes[0, column].set_title(picture)
        axes[1, column].set_xlabel("bits per pixel")
    axes[0, 0].set_ylabel("SSIMULACRA2")
    axes[1, 0].set_ylabel("PSNR, dB")
    axes[0, 0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(arguments.svg, metadata={"Date": None})
    return 0


def crops(arguments):
    from PIL import Image

    tools = {"build": Path(arguments.build)}
    box = (arguments.x, arguments.y, arguments.x + 256, arguments.y + 192)
    image = Image.open(arguments.picture).convert("RGB")
    parts = [image.crop(box)]
    with tempfile.TemporaryDirectory() as folder:
        source, stream, decoded = (Path(folder) / name for name in ("in.ppm", "out.j2c", "out.png"))
        image.save(source)
        for weights in ("none", "csf"):
            encode(tools, f"ht {weights}", arguments.bpp, source, stream)
            decode(tools, stream, decoded)
            parts.append(Image.open(decoded).convert("RGB").crop(box))
    sheet = Image.new("RGB", (3 * 256 + 8, 192), "white")
    for i, part in enumerate(parts):
        sheet.paste(part, (i * 260, 0))
    sheet.save(arguments.png, optimize=True)
    return 0


def generations(arguments):
    from PIL import Image

    tools = {"build": Path(arguments.build)}
    with tempfile.TemporaryDirectory() as folder:
        first, source, stream, out = (Path(folder) / name for name in ("a.png", "in.ppm", "out.j2c", "out.png"))
        Image.open(arguments.picture).convert("RGB").save(first)
        for coder in ("ht none", "ht csf"):
            Image.open(first).save(source)
            for generation in range(1, arguments.count + 1):
                encode(tools, coder, arguments.bpp, source, stream)
                decode(tools, stream, out)
                Image.open(out).save(source)
                if generation in (1, arguments.count):
                    score, _, psnr = scores(first, out, False)
                    print(f"{coder}, generation {generation}: SSIMULACRA2 {score:.1f}, {psnr:.2f} dB")
    return 0


def film(arguments):
    import numpy
    from PIL import Image

    tools = {"build": Path(arguments.build)}
    image = numpy.asarray(Image.open(arguments.picture).convert("RGB"), float)
    grain = numpy.random.default_rng(15444)
    with tempfile.TemporaryDirectory() as folder:
        frames, streams, out = Path(folder) / "frames", Path(folder) / "streams", Path(folder) / "out.png"
        frames.mkdir()
        for i in range(10):
            window = image[3 * i:3 * i + 192, 8 * i:8 * i + 256]
            window = window + grain.normal(0, 2, window.shape[:2])[..., None]
            Image.fromarray(window.round().clip(0, 255).astype("uint8")).save(frames / f"{i:02}.png")
        for weights in ("none", "csf"):
            shutil.rmtree(streams, ignore_errors=True)
            streams.mkdir()
            run(tools["build"] / "examples/cj2k-encode", "--backend", "cpu", "--num-threads", 1, "--block-coder", "ht",
                "--visual-weights", weights, "--bits-per-pixel", arguments.bpp, frames, streams)
            values, sizes = [], []
            for frame in sorted(frames.iterdir()):
                stream = streams / f"{frame.stem}.j2c"
                decode(tools, stream, out)
                values.append(scores(frame, out, False)[::2])
                sizes.append(stream.stat().st_size)
            print(f"ht {weights}: SSIMULACRA2 {sum(v[0] for v in values) / 10:.1f}, worst {min(values)[0]:.1f}, "
                  f"{sum(v[1] for v in values) / 10:.2f} dB, {sum(sizes)} bytes")
    return 0


def pictures(arguments):
    from PIL import Image
    import skimage

    wallpapers = Path("/usr/share/wallpapers")
    Path(arguments.folder).mkdir(parents=True, exist_ok=True)
    for name, x, y in (("Autumn", 1344, 512), ("EveningGlow", 1344, 512), ("OneStandsOut", 1344, 512),
                       ("Path", 896, 0)):
        found = list(wallpapers.glob(f"{name}/contents/images/2560x1600.*"))
        if found:
            image = Image.open(found[0]).convert("RGB")
            image.crop((x, y, x + SIZE[0], y + SIZE[1])).save(Path(arguments.folder) / f"{name}.png")
        else:
            print(f"left out: {name}, of the package plasma-workspace-wallpapers")
    for name in ("motorcycle_left",):
        image = Image.open(Path(skimage.__path__[0]) / "data" / f"{name}.png").convert("RGB")
        x, y = (max(0, have - most) // 2 for have, most in zip(image.size, SIZE))
        image.crop((x, y, x + min(image.width, SIZE[0]), y + min(image.height, SIZE[1]))) \
             .save(Path(arguments.folder) / f"{name}.png")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    add = commands.add_parser("measure")
    add.add_argument("--build", default="build")
    add.add_argument("--openjph")
    add.add_argument("--openhtj2k")
    add.add_argument("--jobs", type=int, default=os.cpu_count())
    add.add_argument("--only", action="append", metavar="CODER", choices=CODERS)
    add.add_argument("table")
    add.add_argument("pictures", nargs="+")
    add.set_defaults(function=measure)
    add = commands.add_parser("table")
    add.add_argument("table")
    add.set_defaults(function=table)
    add = commands.add_parser("plot")
    add.add_argument("table")
    add.add_argument("svg")
    add.set_defaults(function=plot)
    add = commands.add_parser("crops")
    add.add_argument("--build", default="build")
    add.add_argument("picture")
    add.add_argument("x", type=int)
    add.add_argument("y", type=int)
    add.add_argument("bpp", type=float)
    add.add_argument("png")
    add.set_defaults(function=crops)
    add = commands.add_parser("generations")
    add.add_argument("--build", default="build")
    add.add_argument("picture")
    add.add_argument("bpp", type=float)
    add.add_argument("count", type=int)
    add.set_defaults(function=generations)
    add = commands.add_parser("film")
    add.add_argument("--build", default="build")
    add.add_argument("picture")
    add.add_argument("bpp", type=float)
    add.set_defaults(function=film)
    add = commands.add_parser("pictures")
    add.add_argument("folder")
    add.set_defaults(function=pictures)
    arguments = parser.parse_args()
    return arguments.function(arguments)


if __name__ == "__main__":
    sys.exit(main())
