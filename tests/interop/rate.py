#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Quality at equal bytes: MQ against opj_compress, HT against ojph_compress.

The size of the other encoder's stream is the budget of ours; our decoder decodes both. MQ must not be
more than 0.02 dB below OpenJPEG, HT not more than 0.05 dB below OpenJPH; 99 % (97 %) of the budget must be used,
and no more than all of it.
"""
import math
import os
import shutil
from types import SimpleNamespace

import numpy as np

from cj2ktest import DECODE, ENCODE, Folder, Run, Tap, skip_all
from images import read_raw, write_raw
import peers

RATES = (0.5, 1, 2, 4)  # bits per pixel, of OpenJPEG
STEPS = (0.06, 0.03, 0.015, 0.01)  # of OpenJPH, which knows no rates
KINDS = {
    "rgb12": SimpleNamespace(width=720, height=540, bits=12, sampling=[(1, 1)] * 3, signed=False, format="RGB_12LE"),
    "422p10": SimpleNamespace(width=720, height=540, bits=10, sampling=[(1, 1), (2, 1), (2, 1)], signed=False,
                              format="I422_10LE"),
}


def field(height, width, rng):
    """Noise with the spectrum of photographs, whose amplitude is the reciprocal of the frequency, in -1..1."""
    fy, fx = np.fft.fftfreq(height)[:, None], np.fft.rfftfreq(width)[None, :]
    spectrum = np.fft.rfft2(rng.normal(size=(height, width))) / (np.hypot(fy, fx) + 1 / width) ** 1.3
    result = np.fft.irfft2(spectrum, (height, width))
    return result / np.abs(result).max()


def picture(kind):
    """Overlapping areas of such noise with edges between them, and grain."""
    rng = np.random.default_rng(2000)
    shape = kind.height, kind.width
    grey, front = field(*shape, rng), field(*shape, rng) > 0.1
    grey = np.where(front, 0.4 * field(*shape, rng) + 0.1, grey)
    result = []
    for dx, dy in kind.sampling:
        colour = 0.7 * grey + 0.3 * field(*shape, rng) if dx == 1 else 0.3 * field(*shape, rng) + 0.2 * front
        colour = 0.5 + 0.42 * colour + rng.normal(0, 0.002, shape)
        top = (1 << kind.bits) - 1
        result.append(np.clip(np.rint(colour * top), 0, top).astype(np.int64)[::dy, ::dx])
    return result


def psnr(stream, source, kind, work):
    if Run([DECODE, stream, f"{work}/out.raw"]).status != 0:
        raise peers.Refused(f"cj2k-decode does not read {stream}")
    decoded = read_raw(f"{work}/out.raw", source, kind.bits)
    squares = sum(float(((a - b) ** 2).sum()) for a, b in zip(source, decoded))
    return 10 * math.log10(((1 << kind.bits) - 1) ** 2 * sum(plane.size for plane in source) / squares)


def compare(tap, name, encode, options, least, allowed, ours):
    """Compares a peer's stream with one of the same size of ours. ours: our encoder's options."""
    kind, source, work = encode.kind, encode.source, encode.work
    try:
        theirs = encode.run(SimpleNamespace(**vars(kind), options=options), source, work)
        budget = os.path.getsize(theirs)
        run = Run([ENCODE, *ours, f"--max-frame-bytes={budget}", f"--width={kind.width}", f"--height={kind.height}",
                   f"--format={kind.format}", f"{work}/source.raw", f"{work}/ours.j2c"])
        if run.status != 0:
            tap.ok(False, name, run.stderr)
            return
        used = os.path.getsize(f"{work}/ours.j2c") / budget
        a, b = psnr(theirs, source, kind, work), psnr(f"{work}/ours.j2c", source, kind, work)
        why = f"{budget} bytes, {100 * used:.2f} % used: {b:.3f} dB, the peer {a:.3f}"
        tap.ok(least <= used <= 1 and b >= a - allowed, f"{name}: {why}", why)
    except peers.Refused as reason:
        tap.ok(False, name, reason)


def main():
    programs = [name for name in ("opj_compress", "ojph_compress") if shutil.which(name)]
    if not programs:
        skip_all("neither opj_compress nor ojph_compress is installed")
    tap = Tap()
    for label, kind in KINDS.items():
        source = picture(kind)
        with Folder() as work:
            write_raw(f"{work}/source.raw", source, kind.bits)
            encode = SimpleNamespace(kind=kind, source=source, work=work)
            if "opj_compress" in programs:
                encode.run = peers.encode_opj
                for rate in RATES:
                    ratio = len(source) * kind.bits / rate
                    compare(tap, f"MQ {label} {rate} bpp", encode, ["-I", "-r", f"{ratio:.4f}"], 0.99, 0.02, [])
            else:
                tap.skip(f"MQ {label}", "no opj_compress")
            if "ojph_compress" in programs:
                encode.run = peers.encode_ojph
                for step in STEPS:
                    colours = ["-colour_trans", "true"] if kind.sampling[1] == (1, 1) else []
                    compare(tap, f"HT {label} step {step}", encode,
                            ["-reversible", "false", *colours, "-qstep", str(step)], 0.97, 0.05,
                            ["--block-coder=ht"])
            else:
                tap.skip(f"HT {label}", "no ojph_compress")
    tap.done()


if __name__ == "__main__":
    main()
