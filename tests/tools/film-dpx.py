#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""DPX in the tools: every packing, byte order and kind of picture that is read, against files written by the field
tables of the standard; what is refused; broken files; written files byte by byte; other programs both ways."""
import os
import shutil
import struct
import subprocess

import numpy as np

import png
from cj2ktest import DECODE, ENCODE, Folder, Tap, differences, read_pgx_set, read_pnm, write_pnm
from dpx import ABGR, CBYCR, FILLED_A, FILLED_B, LUMA, PACKED, RGB, RGBA, Element, dpx

WIDTH, HEIGHT = 13, 7
tap = Tap()


def run(*arguments, stdin=b"", work=None):
    return subprocess.run(arguments, input=stdin, capture_output=True, timeout=120, check=False, cwd=work)


def picture(components, bits, width=WIDTH):
    return np.random.default_rng(components * 100 + bits).integers(0, 1 << bits, (HEIGHT, width, components))


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def check_read(work, name, data, planes):
    """A file gives these planes, read by name, where samples stay as they lie, and from standard input, where they are
    unpacked: both codestreams are the same."""
    for old in os.listdir(work):
        os.remove(f"{work}/{old}")
    write(f"{work}/a.dpx", data)
    coded = run(ENCODE, "--rate-control=lossless", f"{work}/a.dpx", f"{work}/a.j2c")
    piped = run(ENCODE, "--rate-control=lossless", "-", f"{work}/b.j2c", stdin=data)
    back = run(DECODE, f"{work}/a.j2c", f"{work}/a.pgx")
    try:
        good = differences(read_pgx_set(f"{work}/a"), planes) == 0 and read(f"{work}/a.j2c") == read(f"{work}/b.j2c")
    except (OSError, ValueError):
        good = False
    tap.ok(good, name, (coded.stderr + piped.stderr + back.stderr).decode())


def check_packings(work):
    for order in "><":
        for bits, packing in ((8, PACKED), (10, PACKED), (10, FILLED_A), (10, FILLED_B), (12, PACKED), (12, FILLED_A),
                              (12, FILLED_B), (16, PACKED)):
            for kind, descriptor, components, planes in (("grey", LUMA, 1, (0,)), ("RGB", RGB, 3, (0, 1, 2)),
                                                         ("RGBA", RGBA, 4, (0, 1, 2, 3)), ("ABGR", ABGR, 4, (3, 2, 1, 0)),
                                                         ("CbYCr", CBYCR, 3, (1, 0, 2))):
                if kind in ("ABGR", "CbYCr") and (order == "<" or packing == FILLED_B):
                    continue # nothing that RGBA and RGB do not show
                samples = picture(components, bits)
                data = dpx([Element(samples, descriptor, packing)], bits, order)
                check_read(work, f"{kind} {bits} bit, packing {packing}, {'big' if order == '>' else 'little'}-endian", data,
                           [samples[..., i] for i in planes])


def check_forms(work):
    for width in (1, 2, 3, 31):
        for bits, packing in ((8, PACKED), (10, FILLED_A), (10, PACKED), (12, PACKED), (16, PACKED)):
            samples = picture(3, bits, width)
            check_read(work, f"{width} columns of {bits} bits", dpx([Element(samples, RGB, packing)], bits),
                       [samples[..., i] for i in range(3)])
    samples = picture(3, 16)
    planes = [samples[..., i] for i in range(3)]
    rgb = [Element(samples, RGB, PACKED)]
    check_read(work, "rows that are not padded to words", dpx(rgb, 16, aligned=False), planes)
    check_read(work, "rows with padding", dpx(rgb, 16, padding=12), planes)
    check_read(work, "data elsewhere", dpx(rgb, 16, offset=8192), planes)
    check_read(work, "bytes behind the picture", dpx(rgb, 16) + bytes(100), planes)
    for orientation, flip in ((1, (slice(None), slice(None, None, -1))), (2, (slice(None, None, -1),)),
                              (3, (slice(None, None, -1), slice(None, None, -1))), (0xFFFF, ())):
        check_read(work, f"orientation {orientation}", dpx(rgb, 16, orientation=orientation),
                   [plane[flip] if flip else plane for plane in planes])
    three = [Element(samples[..., i:i + 1], i + 1, PACKED) for i in (2, 0, 1)]
    check_read(work, "three elements", dpx(three, 16), planes)
    alpha = picture(1, 16)
    check_read(work, "RGB and alpha in two elements", dpx(rgb + [Element(alpha, 4, PACKED)], 16), planes + [alpha[..., 0]])
    check_read(work, "grey and alpha in two elements",
               dpx([Element(samples[..., :1], LUMA, PACKED), Element(alpha, 4, PACKED)], 16), [planes[0], alpha[..., 0]])


def refused(work, name, data, words):
    write(f"{work}/bad.dpx", data)
    done = run(ENCODE, "bad.dpx", "bad.j2c", work=work)
    text = done.stderr.decode()
    tap.ok(done.returncode == 1 and "bad.dpx: " in text and words in text, name, f"{done.returncode} {text}")


def check_refused(work):
    samples = picture(3, 16)
    rgb = [Element(samples, RGB, PACKED)]
    good = dpx(rgb, 16)

    def changed(at, code, value):
        data = bytearray(good)
        struct.pack_into(">" + code, data, at, value)
        return bytes(data)

    for name, data, words in (
            ("run-length encoding", dpx(rgb, 16, encoding=1), "run-length"),
            ("signed samples", dpx(rgb, 16, sign=1), "signed"),
            ("columns stored as rows", dpx(rgb, 16, orientation=4), "orientation 4"),
            ("4:2:2", changed(800, "B", 100), "kind 100"),
            ("32 bits", changed(803, "B", 32), "32 bits in packing 0"),
            ("packing 5", changed(804, "H", 5), "packing 5"),
            ("no image element", changed(770, "H", 0), "0 image elements"),
            ("nine image elements", changed(770, "H", 9), "9 image elements"),
            ("no width", changed(772, "I", 0), "0 x 7"),
            ("a width that is too large", changed(772, "I", 0xFFFFFFFF), "are less than"),
            ("a height that is too large", changed(776, "I", 0xFFFFFFFF), "are less than"),
            ("data behind the end", changed(808, "I", 0x7FFFFFFF), "are less than"),
            ("only red", dpx([Element(samples[..., :1], 1, PACKED)], 16), "neither grey nor RGB"),
            ("red twice", dpx([Element(samples[..., :1], 1, PACKED)] * 2, 16), "same component")):
        refused(work, name, data, words)
    for size in (4, 5, 767, 1407, 1408, 2047, 2048, len(good) - 14, len(good) - 3):
        refused(work, f"cut off after {size} bytes", good[:size], "are less than")


def check_written(work):
    for bits, written in ((5, 8), (8, 8), (9, 10), (10, 10), (11, 12), (12, 12), (14, 16), (16, 16)):
        for components, descriptor in ((1, LUMA), (3, RGB)):
            samples = picture(components, bits)
            write_pnm(f"{work}/w.pnm", [samples[..., i] for i in range(components)], bits)
            done = run(ENCODE, "--rate-control=lossless", "w.pnm", "w.j2c", work=work)
            back = run(DECODE, "w.j2c", "w.dpx", work=work)
            more = written - bits
            wide = samples << more | samples >> bits - more if more else samples
            packing = FILLED_A if written in (10, 12) else PACKED
            tap.ok(read(f"{work}/w.dpx") == dpx([Element(wide, descriptor, packing)], written),
                   f"written: {components} of {bits} bits", (done.stderr + back.stderr).decode())
    samples = picture(4, 10)
    write(f"{work}/alpha.dpx", dpx([Element(samples, RGBA, FILLED_A)], 10))
    run(ENCODE, "--rate-control=lossless", "alpha.dpx", "alpha.jp2", work=work)
    run(DECODE, "alpha.jp2", "alpha2.dpx", work=work)
    tap.ok(read(f"{work}/alpha.dpx") == read(f"{work}/alpha2.dpx"), "written: RGBA of 10 bits")


# Program: command that reads IN and writes OUT at so many bits a sample.
OTHERS = {
    "gm": lambda bits, source, target: ["gm", "convert", source, "-depth", str(bits), target],
    "ffmpeg": lambda bits, source, target: ["ffmpeg", "-v", "error", "-y", "-i", source, "-pix_fmt",
                                            {8: "rgb24", 10: "gbrp10be", 12: "gbrp12le", 16: "rgb48be"}[bits]
                                            if target.endswith(".dpx") else "rgb24" if bits == 8 else "rgb48be", target],
    "oiiotool": lambda bits, source, target: ["oiiotool", source, "-d", f"uint{bits}" if target.endswith(".dpx") or bits == 8
                                              else "uint16", "-o", target],
}


def check_others(work):
    """Other programs read what cj2k-decode writes, and write what cj2k-encode reads; both within what their own
    conversion between 16 bits and fewer may be off: one step."""
    for program, command in OTHERS.items():
        if not shutil.which(program):
            tap.skip(program, f"{program} is not installed")
            continue
        for bits in (8, 10, 12, 16):
            samples = picture(3, bits, 16) # some programs expect no padding behind the odd rows of other widths
            planes = [samples[..., i] for i in range(3)]
            more = 16 - bits
            wide = [p << more | (p >> bits - more if more <= bits else 0) for p in planes] if bits > 8 else planes
            write_pnm(f"{work}/n.ppm", planes, bits)
            write_pnm(f"{work}/o.ppm", wide, 8 if bits == 8 else 16)
            run(ENCODE, "--rate-control=lossless", "n.ppm", "n.j2c", work=work)
            run(DECODE, "n.j2c", "n.dpx", work=work)
            theirs = run(*command(bits, "n.dpx", "theirs.png"), work=work)
            try:
                found, depth = png.read(f"{work}/theirs.png")
                good = all(np.abs(f * ((1 << bits) - 1) / ((1 << depth) - 1) - p).max() <= 1 for f, p in zip(found, planes))
            except (OSError, ValueError):
                good = False
            tap.ok(good, f"{program} reads our {bits} bits", theirs.stderr.decode())
            made = run(*command(bits, "o.ppm", "made.dpx"), work=work)
            run(ENCODE, "--rate-control=lossless", "made.dpx", "made.j2c", work=work)
            run(DECODE, "made.j2c", "made.ppm", work=work)
            try:
                good = differences(read_pnm(f"{work}/made.ppm"), planes) <= 1
            except (OSError, ValueError):
                good = False
            tap.ok(good, f"we read the {bits} bits of {program}", made.stderr.decode())
            for name in ("theirs.png", "made.dpx", "made.ppm"):
                if os.path.exists(f"{work}/{name}"):
                    os.remove(f"{work}/{name}")


def main():
    with Folder() as work:
        check_packings(work)
        check_forms(work)
        check_refused(work)
        check_written(work)
        check_others(work)
    tap.done()


main()
