#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Measures what losses of RTP packets cost, with measure-losses: makes a film of natural pictures, and a table and a
plot of the results.

    tests/rtp/losses.py measure BUILD OUT.tsv PICTURE...    # one picture: 1080p; four: 2160p. PPM, or what Pillow reads
    tests/rtp/losses.py table OUT.tsv [MODEL...]            # Markdown
    tests/rtp/losses.py plot OUT.tsv OUT.svg                # needs python3-matplotlib

The film pans over the pictures by 4 samples across and 2 down in each frame, with grain as of a camera. Pictures are at
least 1920x1080, and larger by what the pan takes. --frames, --seeds and --quick make a smaller measurement.
"""
import argparse
import csv
import os
import subprocess
import sys
import tempfile

import numpy as np

PRECINCTS = "block-coder=ht rate-control=cbr bits-per-pixel=3 progression-order=rpcl precincts=128x128,128x128,64x64"
WAYS = [  # (name, encoder, payloader, depayloader, decoder, share of packets added by FEC)
    ("RFC 5371, no SOP", PRECINCTS, "rtpj2kpay", "rtpj2kdepay", "", 0),
    ("RFC 5371, SOP", PRECINCTS + " sop=true", "rtpj2kpay", "rtpj2kdepay", "", 0),
    ("RFC 9828", PRECINCTS, "rtpj2ksclpay", "rtpj2kscldepay reorder-window=128", "", 0),
    ("RFC 9828, conceal=previous", PRECINCTS, "rtpj2ksclpay", "rtpj2kscldepay reorder-window=128", "conceal=previous", 0),
    ("RFC 9828, repeat-resolutions=3", PRECINCTS, "rtpj2ksclpay repeat-resolutions=3",
     "rtpj2kscldepay reorder-window=128", "conceal=previous", 0),
    ("RFC 9828, FEC 10x10", PRECINCTS, "fec=10 rtpj2ksclpay ssrc=0", "rtpj2kscldepay reorder-window=512",
     "conceal=previous", 0.2),
]
MODELS = ["uniform:0.00001", "uniform:0.0001", "uniform:0.001", "uniform:0.01", "bursts:0.001", "reorder:0.01",
          "double:0.01", "headers:0.1"]
FIELDS = ["size", "way", "model", "frames", "perfect", "concealed", "lost", "median", "percentile", "intact", "packets",
          "bytes"]


def read_picture(path):
    """Rows of RGB of 8 bits."""
    if path.endswith(".ppm"):
        with open(path, "rb") as file:
            kind, size, top, data = file.read().split(b"\n", 3)
        width, height = map(int, size.split())
        if kind != b"P6" or top != b"255":
            sys.exit(f"{path}: not a PPM of 8 bits without comments")
        return np.frombuffer(data, np.uint8).reshape(height, width, 3)
    from PIL import Image  # pylint: disable=import-outside-toplevel
    return np.asarray(Image.open(path).convert("RGB"))


def to_yuv(rgb):
    """4:2:2 of 10 bits, BT.709, as bytes of I422_10LE."""
    red, green, blue = (rgb[..., i] / 255 for i in range(3))
    luma = .2126 * red + .7152 * green + .0722 * blue
    planes = [luma * 219 + 16]
    for chroma in ((blue - luma) / 1.8556, (red - luma) / 1.5748):
        planes.append((chroma[:, ::2] + chroma[:, 1::2]) / 2 * 224 + 128)
    return b"".join(np.clip(np.rint(plane * 4), 0, 1023).astype("<u2").tobytes() for plane in planes)


def write_film(paths, frames, out):
    """Returns the size."""
    pictures = [read_picture(path) for path in paths]
    random = np.random.default_rng(1)
    for path, picture in zip(paths, pictures):
        if picture.shape[1] < 1920 + 4 * frames or picture.shape[0] < 1080 + 2 * frames:
            sys.exit(f"{path}: smaller than {1920 + 4 * frames}x{1080 + 2 * frames}")
    with open(out, "wb") as file:
        for i in range(frames):
            parts = [picture[2 * i:2 * i + 1080, 4 * i:4 * i + 1920] for picture in pictures]
            if len(parts) == 4:
                parts = [np.concatenate([np.concatenate(parts[:2], 1), np.concatenate(parts[2:], 1)], 0)]
            whole = parts[0].astype(np.float32)
            file.write(to_yuv(whole + random.normal(0, 0.5, whole.shape).astype(np.float32)))
    return "3840x2160" if len(pictures) == 4 else "1920x1080"


def run(build, film, size, way, seeds, models):
    """The results of a way, as dictionaries."""
    name, encoder, payloader, depayloader, decoder, added = way
    environment = dict(os.environ, GST_PLUGIN_PATH=f"{build}/gst", LD_LIBRARY_PATH=f"{build}/common",
                       GST_REGISTRY=f"{build}/tests/registry.bin")
    lines = subprocess.run([f"{build}/tests/measure-losses", film, size, encoder, payloader, depayloader, decoder,
                            str(seeds), *models], stdout=subprocess.PIPE, text=True, check=True, env=environment).stdout
    results = []
    for words in map(str.split, lines.splitlines()):
        if words[0] == "sent":
            frames, packets, sent, intact = int(words[1]), int(words[2]), int(words[3]), float(words[4])
        elif words[0] == "hit":
            results.append({"size": size, "way": name, "model": words[1], "frames": int(words[2]),
                            "perfect": int(words[3]), "concealed": int(words[4]), "lost": int(words[5]),
                            "intact": intact, "packets": round(packets / frames * (1 + added)),
                            "bytes": round(sent / frames * (1 + added))})
        elif words[0] == "psnr":
            values = [float(value) for value in words[2:]]
            results[-1]["median"] = f"{np.median(values):.2f}" if values else ""
            results[-1]["percentile"] = f"{np.percentile(values, 1):.2f}" if values else ""
    return results


def measure(options):
    ways = [way for way in WAYS[1:4] if options.quick] or [way for way in WAYS if options.only in way[0]]
    models = MODELS[2:6] if options.quick else MODELS
    with tempfile.TemporaryDirectory() as folder:
        film = f"{folder}/film.raw"
        size = write_film(options.pictures, options.frames, film)
        exists = os.path.exists(options.out)
        with open(options.out, "a", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, FIELDS, delimiter="\t", lineterminator="\n")
            if not exists:
                table.writeheader()
            for way in ways:
                table.writerows(run(os.path.abspath(options.build), film, size, way, options.seeds, models))
                file.flush()


def rows_of(path):
    with open(path, encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def label(model):
    kind, share = model.split(":")
    percent = f"{float(share) * 100:g} %"
    return {"uniform": f"{percent} lost", "bursts": f"{percent} lost in bursts of 5", "reorder": f"{percent} out of order",
            "double": f"{percent} doubled", "headers": f"main header of {percent} of frames lost"}[kind]


def table(options):
    rows = [row for row in rows_of(options.tsv) if not options.models or row["model"] in options.models]
    for size in dict.fromkeys(row["size"] for row in rows):
        mine = [row for row in rows if row["size"] == size]
        least = min(int(row["bytes"]) for row in mine)
        print(f"\n{size}:\n\n| network | sent by | packets | overhead | frames | perfect | concealed | lost | median | "
              "1st percentile |\n|---|---|---|---|---|---|---|---|---|---|")
        for model in dict.fromkeys(row["model"] for row in mine):
            for row in mine:
                if row["model"] != model:
                    continue
                count = int(row["frames"])
                shares = " | ".join(f"{int(row[name]) / count * 100:.1f} %" for name in ("perfect", "concealed", "lost"))
                print(f"| {label(model)} | {row['way']} | {row['packets']} | {(int(row['bytes']) / least - 1) * 100:.1f} % | "
                      f"{count} | {shares} | {row['median'] or '–'} | {row['percentile'] or '–'} |")


def plot(options):
    import matplotlib  # pylint: disable=import-outside-toplevel
    matplotlib.use("svg")
    import matplotlib.pyplot as plt  # pylint: disable=import-outside-toplevel
    matplotlib.rcParams["svg.hashsalt"] = "losses"
    rows = [row for row in rows_of(options.tsv) if row["model"].startswith("uniform")]
    sizes = list(dict.fromkeys(row["size"] for row in rows))
    figure, axes = plt.subplots(3, len(sizes), figsize=(4.5 * len(sizes), 8.5), squeeze=False, sharex=True)
    for column, size in enumerate(sizes):
        for way in dict.fromkeys(row["way"] for row in rows):
            mine = [row for row in rows if row["size"] == size and row["way"] == way]
            share = [float(row["model"].split(":")[1]) for row in mine]
            axes[0][column].plot(share, [100 * int(row["lost"]) / int(row["frames"]) for row in mine], marker=".",
                                 linewidth=1, label=way)
            for line, name in ((1, "median"), (2, "percentile")):
                axes[line][column].plot(share, [float(row[name] or "nan") for row in mine], marker=".", linewidth=1)
        intact = float(next(row["intact"] for row in rows if row["size"] == size))
        for line in (1, 2):
            axes[line][column].axhline(intact, color="gray", linestyle=":", linewidth=1)
        axes[0][column].set(title=size, ylabel="frames lost, %", xscale="log")
        axes[1][column].set(ylabel="PSNR of hit frames: median, dB")
        axes[2][column].set(xlabel="share of RTP packets lost", ylabel="1st percentile, dB")
    for axis in axes.flat:
        axis.grid(linewidth=0.3)
    axes[0][0].legend(fontsize="x-small")
    figure.tight_layout()
    figure.savefig(options.svg, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(required=True)
    part = parts.add_parser("measure")
    part.add_argument("build")
    part.add_argument("out")
    part.add_argument("pictures", nargs="+")
    part.add_argument("--frames", type=int, default=25)
    part.add_argument("--seeds", type=int, default=8)
    part.add_argument("--only", default="", help="only the ways with this in their names")
    part.add_argument("--quick", action="store_true", help="three ways and four networks")
    part.set_defaults(call=measure)
    part = parts.add_parser("table")
    part.add_argument("tsv")
    part.add_argument("models", nargs="*", help="only these networks")
    part.set_defaults(call=table)
    part = parts.add_parser("plot")
    part.add_argument("tsv")
    part.add_argument("svg")
    part.set_defaults(call=plot)
    options = parser.parse_args()
    options.call(options)


if __name__ == "__main__":
    main()
