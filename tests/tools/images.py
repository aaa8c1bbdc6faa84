#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Picture files of the tools: damaged files are refused with an error that names the file, and alpha is preserved.

cj2k-compare computes PSNR as numpy does. opj_decompress also reads our JP2 files with alpha, and our decoder those of opj_compress.
"""
import os
import re
import shutil
import struct
import subprocess

import numpy as np

import png
from cj2ktest import DECODE, ENCODE, Folder, Run, Tap, differences, read_pgx_set, write_pgx, write_pnm

COMPARE = os.environ.get("CJ2K_COMPARE", "cj2k-compare")
LOSSLESS = ("--rate-control", "lossless", "--num-resolutions", "3")
tap = Tap()


def put(path, data):
    with open(path, "wb") as file:
        file.write(data)
    return path


def grid(width, height, depth, seed):
    return np.random.default_rng(seed).integers(0, 1 << depth, (height, width))


def refused(work, name, data, *words):
    """cj2k-encode must refuse the file with a message that contains its name and each of `words`, without a crash."""
    run = Run([ENCODE, *LOSSLESS, put(f"{work}/{name}", data), f"{work}/out.j2k"])
    good = run.status == 1 and f"{work}/{name}: " in run.stderr and all(w in run.stderr for w in words)
    good = good and not re.search("ERROR: .*Sanitizer|runtime error:", run.stderr)
    tap.ok(good and not os.path.exists(f"{work}/out.j2k"), f"{name} is refused: {', '.join(words)}", run)


def check_refusals(work):
    picture = png.header(8, 8, 8, png.RGB)
    png.write(f"{work}/good.png", [grid(64, 64, 8, i) for i in range(3)], 8, png.RGB)
    with open(f"{work}/good.png", "rb") as file:
        good = file.read()
    refused(work, "header.pgx", b"PG ML + 8 100 100", "header")
    refused(work, "header-newline.pgx", b"PG ML + 8 100 100\n", "too short")
    refused(work, "wide.pgx", b"PG ML + 8 99999999999 100\n" + bytes(99), "header")
    refused(work, "large.pgx", b"PG ML + 16 4294967295 4294967295\n" + bytes(99), "too short")
    refused(work, "one-short.pgx", b"PG LM 16 2 2\n" + bytes(7), "too short")
    refused(work, "no-samples.pgx", b"PG ML 8 0 5\n", "empty")
    refused(work, "depth.pgx", b"PG ML 40 1 1\n" + bytes(8), "header")
    refused(work, "above.pgx", b"PG ML + 6 2 2\n" + bytes((0, 63, 64, 1)), "sample 64 at (0,1)", "0..63")
    refused(work, "below.pgx", b"PG LM -4 2 1\n" + bytes((0xf8, 0xf7)), "sample -9 at (1,0)", "-8..7")
    for c in range(17):
        write_pgx(f"{work}/many_{c}.pgx", grid(4, 3, 8, c), 8)
    run = Run([ENCODE, *LOSSLESS, f"{work}/many.pgx", f"{work}/out.j2k"])
    tap.ok(run.status == 1 and "many_16.pgx: there are more than 16 components" in run.stderr, "17 PGX files are refused", run)
    os.remove(f"{work}/many_16.pgx")
    run = Run([ENCODE, *LOSSLESS, f"{work}/many.pgx", f"{work}/many.j2k"])
    tap.ok(run.status == 0, "16 PGX files are encoded", run)
    refused(work, "above.pgm", b"P5\n2 1\n100\n" + bytes((100, 101)), "sample 101 at (1,0)", "0..100")
    refused(work, "above.ppm", b"P6 1 1 1023\n" + struct.pack(">3H", 5, 1023, 1024), "component 2", "0..1023")
    refused(work, "short.ppm", b"P6 3 3 255\n" + bytes(26), "too short")
    refused(work, "header.pgm", b"P5 3", "header")
    refused(work, "ascii.pgm", b"P2 1 1 255\n7\n", "PGM (P5)")
    refused(work, "empty.pgm", b"", "empty")
    refused(work, "empty.png", b"", "empty")
    refused(work, "cut.png", good[:len(good) // 2], "ends early")
    refused(work, "header-only.png", picture, "ends early")
    refused(work, "huge.png", png.header(900000, 900000, 16, png.RGB_ALPHA) + png.chunk(b"IDAT", bytes(9)))
    refused(work, "wider.png", png.header(2000000, 1, 8, png.GREY) + png.chunk(b"IDAT", bytes(9)))
    refused(work, "text.png", b"no picture at all\n", "not a PGM")
    refused(work, "bad-crc.png", good[:20] + b"\xff" + good[21:])
    run = Run([DECODE, put(f"{work}/empty.jp2", b""), f"{work}/out.png"])
    tap.ok(run.status == 1 and f"{work}/empty.jp2: the file is empty" in run.stderr, "empty.jp2 is refused", run)
    run = Run([ENCODE, *LOSSLESS, "--width", "3", "--height", "2", "--format", "GRAY_10LE",
               put(f"{work}/above.raw", struct.pack("<6H", 0, 1, 2, 1023, 1024, 5)), f"{work}/out.j2k"])
    tap.ok(run.status == 1 and "sample 1024 at (1,1)" in run.stderr, "above.raw is refused", run)


def same(name, run, path, want, depth):
    try:
        planes, got_depth = png.read(path)
        peak = differences(planes, want)
        tap.ok(run.status == 0 and peak == 0 and got_depth == depth, name, f"peak {peak}, depth {got_depth}\n{run}")
    except (OSError, ValueError, struct.error, KeyError) as error:
        tap.ok(False, name, f"{error!r}\n{run}")


def round_trip(work, name, source, want, depth, file="jp2"):
    coded, back = f"{work}/{name}.{file}", f"{work}/{name}-back.png"
    run = Run([ENCODE, *LOSSLESS, source, coded])
    if run.status == 0:
        run = Run([DECODE, coded, back])
    same(f"{name} through {file}", run, back, want, depth)
    return coded


def openjpeg(work, name, source, coded, want, depth):
    """opj_decompress decodes our file, and our decoder that of opj_compress."""
    if not shutil.which("opj_compress") or not shutil.which("opj_decompress"):
        tap.skip(f"{name} and OpenJPEG", "opj_compress and opj_decompress are not installed")
        return
    run = Run(["opj_decompress", "-i", coded, "-o", f"{work}/{name}-opj.png"])
    same(f"{name}: opj_decompress on our file", run, f"{work}/{name}-opj.png", want, depth)
    run = Run(["opj_compress", "-i", source, "-o", f"{work}/{name}-opj.jp2", "-n", "2"])
    run = Run([DECODE, f"{work}/{name}-opj.jp2", f"{work}/{name}-ours.png"])
    same(f"{name}: our decoder on opj_compress' file", run, f"{work}/{name}-ours.png", want, depth)


def boxes_of(path):
    """(type, contents) of all boxes, including those inside jp2h."""
    with open(path, "rb") as file:
        data = file.read()
    found, at = [], 0
    while at + 8 <= len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        found.append((kind, data[at + 8:at + size]))
        at += 8 if kind == b"jp2h" else size
    return found


def check_cdef(work, name, coded, *entries):
    want = struct.pack(f">H{3 * len(entries)}H", len(entries), *(v for e in entries for v in e))
    found = [data for kind, data in boxes_of(coded) if kind == b"cdef"]
    tap.ok(found == ([want] if entries else []), f"{name}: channel definitions", found)


def check_alpha(work):
    for depth in (8, 16):
        for colour, name in ((png.GREY_ALPHA, "grey-alpha"), (png.RGB_ALPHA, "rgb-alpha")):
            n = png.CHANNELS[colour]
            planes = [grid(37, 21, depth, 10 * depth + c) for c in range(n)]
            source = f"{work}/{name}{depth}.png"
            png.write(source, planes, depth, colour)
            coded = round_trip(work, f"{name}{depth}", source, planes, depth)
            check_cdef(work, f"{name}{depth}", coded, *((c, 0, c + 1) for c in range(n - 1)), (n - 1, 1, 0))
            openjpeg(work, f"{name}{depth}", source, coded, planes, depth)
            round_trip(work, f"{name}{depth}", source, planes, depth, "j2k")
    plain = [grid(20, 9, 8, c) for c in range(3)]
    png.write(f"{work}/rgb.png", plain, 8, png.RGB)
    check_cdef(work, "rgb", round_trip(work, "rgb", f"{work}/rgb.png", plain, 8))


def check_transparent(work):
    """tRNS: a transparent colour, or an alpha value for each entry of a palette."""
    grey = grid(16, 12, 8, 1)
    png.write(f"{work}/trns-grey.png", [grey], 8, png.GREY, (b"tRNS", struct.pack(">H", int(grey[0, 0]))))
    round_trip(work, "trns-grey", f"{work}/trns-grey.png", [grey, np.where(grey == grey[0, 0], 0, 255)], 8)

    rgb = [grid(16, 12, 1, c) * 65535 for c in range(3)]
    png.write(f"{work}/trns-rgb.png", rgb, 16, png.RGB, (b"tRNS", struct.pack(">3H", 65535, 0, 65535)))
    clear = (rgb[0] == 65535) & (rgb[1] == 0) & (rgb[2] == 65535)
    round_trip(work, "trns-rgb", f"{work}/trns-rgb.png", [*rgb, np.where(clear, 0, 65535)], 16)

    colours, alphas = grid(3, 16, 8, 5), np.array([0, 128, 255, 7] + 12 * [255])
    for depth in (4, 8):
        index = grid(15, 10, 4, depth)
        palette = (b"PLTE", colours.astype("u1").tobytes())
        opaque = [colours[..., c][index] for c in range(3)]
        png.write(f"{work}/palette{depth}.png", [index], depth, png.PALETTE, palette)
        round_trip(work, f"palette{depth}", f"{work}/palette{depth}.png", opaque, 8)
        png.write(f"{work}/trns-palette{depth}.png", [index], depth, png.PALETTE, palette,
                  (b"tRNS", bytes(alphas[:4].tolist())))
        round_trip(work, f"trns-palette{depth}", f"{work}/trns-palette{depth}.png", [*opaque, alphas[index]], 8)


def change_cdef(path, kind, association=0):
    """Changes the meaning of the last channel of a JP2 file."""
    with open(path, "rb") as file:
        data = bytearray(file.read())
    at = data.index(b"cdef")
    count = struct.unpack_from(">H", data, at + 4)[0]
    struct.pack_into(">HH", data, at + 8 + 6 * (count - 1), kind, association)
    return put(path, bytes(data))


def check_premultiplied(work):
    alpha = np.array([[0, 1, 128, 255]])
    png.write(f"{work}/pre.png", [np.array([[9, 1, 64, 200]]), alpha], 8, png.GREY_ALPHA)
    Run([ENCODE, *LOSSLESS, f"{work}/pre.png", f"{work}/pre.jp2"])
    change_cdef(f"{work}/pre.jp2", 2)
    run = Run([DECODE, f"{work}/pre.jp2", f"{work}/pre-back.png"])
    same("premultiplied alpha is taken out of the colours", run, f"{work}/pre-back.png",
         [np.array([[0, 255, 128, 200]]), alpha], 8)
    run = Run([DECODE, f"{work}/pre.jp2", f"{work}/pre.pgx"])
    peak = differences(read_pgx_set(f"{work}/pre"), [np.array([[9, 1, 64, 200]]), alpha])
    tap.ok(run.status == 0 and peak == 0, "premultiplied samples stay as they are in PGX", run)


def check_standard(work):
    """The format of standard input is recognised by its first bytes."""
    planes = [grid(31, 17, 8, c) for c in range(3)]
    png.write(f"{work}/in.png", planes, 8, png.RGB)
    write_pnm(f"{work}/in.ppm", planes, 8)
    write_pgx(f"{work}/in.pgx", planes[0], 8)
    for name, want in (("in.png", planes), ("in.ppm", planes), ("in.pgx", planes[:1])):
        with open(f"{work}/{name}", "rb") as file:
            run = Run([ENCODE, *LOSSLESS, "-", f"{work}/std.j2k"], stdin=file)
        if run.status == 0:
            run = Run([DECODE, f"{work}/std.j2k", f"{work}/std.png"])
        same(f"{name} on standard input", run, f"{work}/std.png", want, 8)


def check_maximum(work):
    """A maximum other than 2^n - 1 becomes 2^n - 1; with 2^n - 1 the samples stay."""
    for top, bits in ((1, 1), (2, 2), (100, 7), (127, 7), (254, 8), (255, 8), (256, 9), (1000, 10), (65534, 16), (65535, 16)):
        samples = np.linspace(0, top, 40).astype(int).reshape(1, 40)
        put(f"{work}/top.pgm", f"P5 40 1 {top}\n".encode() + samples.astype(">u2" if top > 255 else "u1").tobytes())
        run = Run([ENCODE, *LOSSLESS, f"{work}/top.pgm", f"{work}/top.j2k"])
        if run.status == 0:
            run = Run([DECODE, f"{work}/top.j2k", f"{work}/top.pgx"])
        white = (1 << bits) - 1
        peak = differences(read_pgx_set(f"{work}/top"), [(samples * white + top // 2) // top])
        tap.ok(run.status == 0 and peak == 0, f"PGM with a maximum of {top}", f"peak {peak}\n{run}")


def decibels(squares):
    return f"{-10 * np.log10(squares):.2f} dB" if squares else "identical"


def check_compare(work):
    """PSNR as a whole, by component and with weights, of 12 bits and of a component without an error."""
    first = [grid(23, 19, 12, c) for c in range(3)]
    second = [np.clip(plane + grid(23, 19, 1 + 2 * c, 9) - c, 0, 4095) for c, plane in enumerate(first)]
    second[0] = first[0]
    for name, planes in (("first", first), ("second", second)):
        write_pnm(f"{work}/{name}.ppm", planes, 12)
    means = [(((a - b) / 4095) ** 2).mean() for a, b in zip(first, second)]
    lines = [f"component {c}: {decibels(mean)}" for c, mean in enumerate(means)]
    for options, total in (((), np.mean(means)), (("--weights=1,6,1",), np.average(means, weights=(1, 6, 1))),
                           (("--weights=2.5,0,0",), 0)):
        run = subprocess.run([COMPARE, "--components", *options, f"{work}/first.ppm", f"{work}/second.ppm"],
                             capture_output=True, text=True, timeout=60, check=False)
        tap.ok(run.returncode == 0 and run.stdout.split("\n")[:-1] == [decibels(total), *lines],
               f"cj2k-compare {' '.join(options)}", run)
    run = Run([COMPARE, "--weights=1,1", f"{work}/first.ppm", f"{work}/second.ppm"])
    tap.ok(run.status == 1 and "2 weights for 3 components" in run.stderr, "two weights for three components", run)


def check_compare_planes(work):
    """Both pictures side by side: each component keeps its own size and depth, also where the width is odd."""
    for width in (4, 5):
        small = (width + 1) // 2
        planes = [grid(width, 4, 12, 1), grid(small, 2, 8, 2), grid(small, 2, 5, 3)]
        for c, (plane, depth) in enumerate(zip(planes, (12, 8, 5))):
            write_pgx(f"{work}/sub{width}_{c}.pgx", plane, depth)
        wide = np.hstack((planes[0], planes[0][:, -1:] if width % 2 else planes[0][:, :0]))
        want = [np.hstack(pair) for pair in ((wide, planes[0]), (planes[1],) * 2, (planes[2],) * 2)]
        run = Run([COMPARE, f"{work}/sub{width}.pgx", f"{work}/sub{width}.pgx", f"{work}/both{width}.pgx"])
        found = read_pgx_set(f"{work}/both{width}") if run.status == 0 else []
        same_shapes = [plane.shape for plane in found] == [plane.shape for plane in want]
        with open(f"{work}/both{width}_2.pgx", "rb") as file:
            depth = file.readline().split()[3]
        tap.ok(same_shapes and differences(found, want) == 0 and depth == b"5",
               f"side by side, sub-sampled, {width} columns", f"{found} {depth}\n{run}")


def check_compare_signs(work):
    """Signed and unsigned samples are not the same kind, and 32 bits are compared without overflow."""
    plane = grid(3, 2, 7, 1)
    write_pgx(f"{work}/plus.pgx", plane, 8)
    write_pgx(f"{work}/minus.pgx", plane, 8, signed=True)
    run = Run([COMPARE, f"{work}/plus.pgx", f"{work}/minus.pgx"])
    tap.ok(run.status == 1 and "sign" in run.stderr, "pictures of different sign are not compared", run)
    for name, value in (("low", 0), ("high", 2**32 - 1)):
        write_pgx(f"{work}/{name}.pgx", np.full((2, 3), value), 32)
    done = subprocess.run([COMPARE, f"{work}/low.pgx", f"{work}/high.pgx"], capture_output=True, text=True, timeout=60, check=False)
    tap.ok(done.returncode == 0 and done.stdout in ("0.00 dB\n", "-0.00 dB\n"), "0 against 2^32 - 1", done)


def cicp_of(path):
    """The bytes of a PNG's cICP chunk, which must come before the picture's data; None: there is none."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return "no file"
    at = data.find(b"cICP")
    return data[at + 4:at + 8] if 0 <= at < data.find(b"IDAT") else None


def check_cicp(work):
    """Code points of H.273 in PNG: through JP2 and JPH and back, replaced by --cicp, left out where they do not hold."""
    planes = [grid(20, 10, 16, c) for c in range(3)]
    pq = bytes((9, 16, 0, 1))
    for name, depth, chunk, options, want in (
            ("plain", 16, None, (), None), ("pq", 16, pq, (), pq), ("eight-bits", 8, bytes((12, 13, 0, 1)), (), bytes((12, 13, 0, 1))),
            ("narrow", 16, bytes((1, 1, 0, 0)), (), bytes((1, 1, 0, 0))), ("matrix", 16, bytes((9, 16, 9, 1)), (), None),
            ("short", 16, pq[:3], (), None), ("other", 16, pq, ("--cicp=1,13,0,1",), bytes((1, 13, 0, 1)))):
        png.write(f"{work}/cicp.png", [plane >> (16 - depth) for plane in planes], depth, png.RGB,
                  *([(b"cICP", chunk)] if chunk else []))
        for ending in ("jp2", "jph", "j2c"):
            made, back = f"{work}/cicp.{ending}", f"{work}/cicp-back.png"
            Run([ENCODE, *LOSSLESS, *options, f"{work}/cicp.png", made])
            run = Run([DECODE, made, back])
            found = cicp_of(back)
            tap.ok(run.status == 0 and found == (None if ending == "j2c" else want), f"cICP {name} through {ending}",
                   f"{found}\n{run}")


def main():
    with Folder() as work:
        check_cicp(work)
        check_refusals(work)
        check_alpha(work)
        check_transparent(work)
        check_premultiplied(work)
        check_standard(work)
        check_maximum(work)
        check_compare(work)
        check_compare_planes(work)
        check_compare_signs(work)
    tap.done()


main()
