# SPDX-License-Identifier: LGPL-2.1-or-later
"""Pictures and options for our encoder, combined so that each pair of values occurs."""
import itertools
import random

GREY, TWO, RGB, RGBA, FIVE = ([(1, 1)] * count for count in range(1, 6))
YUV420, YUV422, YUV411 = [[(1, 1), pair, pair] for pair in ((2, 2), (2, 1), (4, 1))]
SAMPLING = {"grey": GREY, "two": TWO, "rgb": RGB, "rgba": RGBA, "five": FIVE, "420": YUV420, "422": YUV422,
            "411": YUV411}

FACTORS = {
    "coder": ["mq", "ht"],
    "rate": ["lossless", "lossless", "reversible", "quality=90", "cbr", "qstep=0.002", "psnr=42"],
    "size": [(1, 1), (1, 9), (9, 1), (5, 4), (17, 13), (65, 63), (128, 130), (201, 133), (333, 257)],
    "sampling": list(SAMPLING),
    "depth": [1, 2, 5, 8, 10, 12, 15, 16],
    "signed": [False, True],
    "style": ["", "bypass", "reset", "termall", "causal", "pterm", "segmark", "bypass+termall+reset",
              "bypass+reset+termall+causal+pterm+segmark"],
    "block": [(64, 64), (4, 4), (4, 1024), (1024, 4), (32, 16), (8, 128)],
    "resolutions": [1, 2, 4, 6, 9],
    "progression": ["lrcp", "rlcp", "rpcl", "pcrl", "cprl"],
    "precincts": ["", "128x128", "64x64,32x32", "256x32,64x128,32x32"],
    "tile": ["", "64x48", "100x77"],
    "parts": ["", "resolution", "layer", "component", "resolution+component"],
    "layers": [1, 2, 5],
    "markers": ["", "sop", "eph", "sop eph", "tlm", "plt", "sop eph tlm plt"],
    "mct": ["auto", "on", "off"],
    "origin": [(0, 0), (12, 8), (13, 7)],
    "guard": [0, 4, 7],
    "file": ["j2c", "boxes"],
}


# Pictures that OpenJPH 0.9 can write: grey, RGB, or planes of YCbCr, unsigned.
FOR_OPENJPH = FACTORS | {"coder": ["ht"], "sampling": ["grey", "rgb", "420", "422"], "depth": [8, 10, 12, 16],
                         "size": FACTORS["size"][4:], "resolutions": [1, 2, 4], "signed": [False], "tile": [""],
                         "layers": [1], "origin": [(0, 0)]}


def legal(row):
    """The row with contradictory values replaced."""
    row = dict(row)
    sampling = SAMPLING[row["sampling"]]
    plain = set(sampling) == {(1, 1)}
    if row["coder"] == "ht" and row["style"] != "causal":  # T.814 knows no other
        row["style"] = ""
    if not plain or len(sampling) < 3:
        row["mct"] = "auto" if row["mct"] == "on" else row["mct"]
    if not plain:
        if row["origin"] == (13, 7):
            row["origin"] = (12, 8)
        row["size"] = tuple(n + -n % 4 for n in row["size"])
    if row["parts"] and row["progression"] in ("rpcl", "pcrl", "cprl"):
        row["precincts"] = ""  # more tile-parts than the 255 that are allowed
    row["precincts"] = ",".join(row["precincts"].split(",")[: row["resolutions"]])
    if row["rate"] in ("cbr", "reversible") and (min(row["size"]) < 65 or row["tile"] or row["precincts"]):
        row["rate"] = "quality=90"  # headers alone may take more than the budget
    return row


def pairs(row):
    return itertools.combinations(row.items(), 2)


def pairwise(rng, factors):
    """Rows that contain each legal pair of values; greedy, starting each row with a missing pair."""
    wanted = {}
    for (first, ones), (second, others) in itertools.combinations(factors.items(), 2):
        wanted.update({((first, a), (second, b)): None for a in ones for b in others})
    while wanted:
        pair = next(iter(wanted))
        tries = [legal({**{name: rng.choice(values) for name, values in factors.items()}, **dict(pair)})
                 for _ in range(12)]
        tries = [row for row in tries if pair in pairs(row)]
        wanted.pop(pair)
        if tries:
            best = max(tries, key=lambda row: sum(found in wanted for found in pairs(row)))
            for found in pairs(best):
                wanted.pop(found, None)
            yield best


def options(row):
    """The row as options of cj2k-encode, and the file's suffix."""
    rate, _, value = row["rate"].partition("=")
    result = [f"--block-coder={row['coder']}", f"--rate-control={'cbr' if rate == 'reversible' else rate}",
              f"--num-resolutions={row['resolutions']}",
              f"--progression-order={row['progression']}", f"--num-layers={row['layers']}", f"--mct={row['mct']}",
              f"--guard-bits={row['guard']}", "--codeblock-width=%d" % row["block"][0],
              "--codeblock-height=%d" % row["block"][1]]
    result += {"cbr": ["--bits-per-pixel=2.5"], "reversible": ["--bits-per-pixel=3", "--reversible-transform"],
               "quality": [f"--quality={value}"], "psnr": [f"--psnr={value}"],
               "qstep": [f"--quant-step={value}"], "lossless": []}[rate]
    result += [f"--{name}={row[key]}" for key, name in
               (("style", "codeblock-style"), ("precincts", "precincts"), ("parts", "tile-parts")) if row[key]]
    result += [f"--{marker}" for marker in row["markers"].split()]
    x0, y0 = row["origin"]
    result += [f"--image-offset-x={x0}", f"--image-offset-y={y0}"]
    if row["tile"]:
        width, height = row["tile"].split("x")
        result += [f"--tile-width={width}", f"--tile-height={height}", f"--tile-offset-x={x0 // 2}",
                   f"--tile-offset-y={y0 // 2}"]
    return [*result, "--comment=interop"], "j2c" if row["file"] == "j2c" else "jph" if row["coder"] == "ht" else "jp2"


def rows(long):
    for seed in range(6 if long else 1):
        yield from pairwise(random.Random(f"{seed} 15444"), FACTORS)
        yield from pairwise(random.Random(f"{seed} 15444-15"), FOR_OPENJPH)
