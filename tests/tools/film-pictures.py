#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""TIFF and EXR in the tools: against files written by the descriptions of the formats; what is refused; broken files;
other programs."""
import os
import resource
import shutil
import struct
import subprocess

import numpy as np

import png
from cj2ktest import DECODE, ENCODE, LONG, MEMORY_FACTOR, Folder, Tap, differences, read_pgx_set, read_pnm, write_pnm
from exr import FLOAT, HALF, UINT, exr
from tiff import BLACK_IS_ZERO, PALETTE, RGB, SEPARATED, WHITE_IS_ZERO, tiff

WIDTH, HEIGHT = 13, 7
LOSSLESS = "--rate-control=lossless"
tap = Tap()


def run(*arguments, work=None):
    return subprocess.run(arguments, capture_output=True, timeout=300, check=False, cwd=work)


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def picture(components, bits, height=HEIGHT, width=WIDTH):
    return np.random.default_rng(components * 100 + bits).integers(0, 1 << bits, (height, width, components))


def planes_of(samples):
    return [samples[..., i] for i in range(samples.shape[2])]


def check_read(work, name, file, data, planes, *options, step=0):
    for old in os.listdir(work):
        os.remove(f"{work}/{old}")
    write(f"{work}/{file}", data)
    coded = run(ENCODE, LOSSLESS, *options, file, "a.j2c", work=work)
    back = run(DECODE, "a.j2c", "a.pgx", work=work)
    try:
        found = differences(read_pgx_set(f"{work}/a"), planes)
    except (OSError, ValueError) as error:
        found = str(error)
    tap.ok(isinstance(found, int) and found <= step, name, f"{found}\n{(coded.stderr + back.stderr).decode()}")


def refused(work, name, file, data, *words):
    write(f"{work}/{file}", data)
    done = run(ENCODE, file, "/dev/null", work=work)
    text = done.stderr.decode()
    tap.ok(done.returncode == 1 and f"{file}: " in text and all(word in text for word in words), name,
           f"{done.returncode} {text}")


def is_built(work, file, data):
    """Whether the tools can read this format; else the tests of it are skipped."""
    write(f"{work}/{file}", data)
    text = run(ENCODE, LOSSLESS, file, "/dev/null", work=work).stderr.decode()
    if "was built without" not in text:
        return True
    tap.skip(file, text.strip())
    return False


def check_broken(work, ending, data, header):
    """Many damaged files in one run: each is read or refused with its name, and nothing crashes."""
    os.mkdir(f"{work}/broken")
    rng = np.random.default_rng(9)
    names = []
    for n in range(3000 if LONG else 300):
        copy = bytearray(data)
        for _ in range(int(rng.integers(1, 4))):
            at = int(rng.integers(0, len(copy) if n % 4 == 0 else min(header, len(copy))))
            how = int(rng.integers(0, 4))
            if how == 0:
                copy[at] = int(rng.integers(0, 256))
            elif how == 1:
                copy[at:at + 4] = struct.pack("<i", int(rng.choice([0, 1, -1, 2**31 - 1, -2**31, 65536])))
            elif how == 2:
                del copy[at:at + int(rng.integers(1, 9))]
            else:
                del copy[at + 1:]
            if not copy:
                copy = bytearray(b"\0")
        names.append(f"{n:04d}.{ending}")
        write(f"{work}/broken/{names[-1]}", bytes(copy))
    done = run(ENCODE, "--num-threads=1", "broken", "-o", "/dev/null", work=work)
    lines = [line for line in done.stderr.decode(errors="replace").splitlines() if line != "Try cj2k-encode --help."]
    good = done.returncode in (0, 1, 2) and all(line.startswith("cj2k-encode: broken/") for line in lines)
    tap.ok(good and 0 < len(lines) < len(names), f"{len(names)} damaged files, {len(lines)} refused",
           f"status {done.returncode}\n" + "\n".join(line for line in lines if "broken/" not in line))
    shutil.rmtree(f"{work}/broken")


# --- TIFF ---

def check_tiff(work):
    for order in "<>":
        for bits in (1, 4, 8, 10, 12, 16):
            for components, kind in ((1, BLACK_IS_ZERO), (3, RGB)):
                samples = picture(components, bits)
                check_read(work, f"TIFF, {components} of {bits} bits, {'little' if order == '<' else 'big'}-endian", "a.tif",
                           tiff(samples, bits, kind, order), planes_of(samples))
    samples = picture(3, 16, 40, 37)
    planes = planes_of(samples)
    check_read(work, "TIFF in strips of 3 rows", "a.tiff", tiff(samples, 16, RGB, rows=3), planes)
    check_read(work, "TIFF in planes", "a.tif", tiff(samples, 16, RGB, planar=True, rows=16), planes)
    check_read(work, "TIFF in tiles", "a.tif", tiff(samples, 16, RGB, tile=16), planes)
    check_read(work, "TIFF in tiles of planes", "a.tif", tiff(samples, 16, RGB, tile=16, planar=True), planes)
    for orientation, flip in ((2, np.fliplr), (3, lambda p: np.flipud(np.fliplr(p))), (4, np.flipud)):
        check_read(work, f"TIFF, orientation {orientation}", "a.tif", tiff(samples, 16, RGB, orientation=orientation),
                   [flip(plane) for plane in planes])
        check_read(work, f"TIFF in tiles, orientation {orientation}", "a.tif",
                   tiff(samples, 16, RGB, orientation=orientation, tile=32), [flip(plane) for plane in planes])
    grey = picture(1, 8)
    check_read(work, "TIFF, white is zero", "a.tif", tiff(grey, 8, WHITE_IS_ZERO), [255 - grey[..., 0]])
    alpha = picture(2, 8)
    for planar in (False, True):
        check_read(work, f"TIFF, white is zero, with alpha{' in planes' if planar else ''}", "a.tif",
                   tiff(alpha, 8, WHITE_IS_ZERO, extra=[2], planar=planar), [255 - alpha[..., 0], alpha[..., 1]])
    for kind in (0, 1, 2):
        alpha = picture(4, 8)
        check_read(work, f"TIFF with alpha of kind {kind}", "a.tif", tiff(alpha, 8, RGB, extra=[kind]), planes_of(alpha))
    refused(work, "TIFF: floating point", "b.tif", tiff(samples, 16, RGB, kind=3), "SampleFormat 3")
    refused(work, "TIFF: palette", "b.tif", tiff(grey, 8, PALETTE, more={320: (3, [7] * 768)}), "PhotometricInterpretation 3")
    refused(work, "TIFF: CMYK", "b.tif", tiff(picture(4, 8), 8, SEPARATED), "PhotometricInterpretation 5")
    refused(work, "TIFF: columns as rows", "b.tif", tiff(samples, 16, RGB, orientation=6), "Orientation 6")
    refused(work, "TIFF: two extra samples", "b.tif", tiff(picture(5, 8), 8, RGB, extra=[2, 0]), "samples a pixel: 5")
    refused(work, "TIFF: a size that no file of this length has", "b.tif",
            tiff(samples, 16, RGB, changes={256: 65000, 257: 65000}), "cannot be 65000 x 65000")
    bit = picture(1, 1)
    for name, sides in (("wide", (1 << 31, 1)), ("large", (60000, 60000))):
        refused(work, f"TIFF: a {name} picture of one bit", "b.tif", tiff(bit, 1, BLACK_IS_ZERO, changes=dict(zip((256, 257), sides))),
                f"cannot be {sides[0]} x {sides[1]}")
    check_wide_tile(work)
    refused(work, "TIFF: strips behind the end", "b.tif", tiff(samples, 16, RGB, changes={273: 100000}))
    whole = tiff(samples, 16, RGB)
    for size in (4, 7, 8, 100, len(whole) - 30, len(whole) - 100):
        refused(work, f"TIFF: cut off after {size} bytes", "b.tif", whole[:size])
    check_broken(work, "tif", tiff(picture(3, 8), 8, RGB, extra=()) + bytes(8), 400)


def check_wide_tile(work):
    """A tile may be far wider than the picture: only the picture's columns take memory, beside the tile itself."""
    write(f"{work}/b.tif", tiff(picture(1, 1, 16, 16), 1, BLACK_IS_ZERO, tile=16, changes={322: 1 << 29}))

    def limited():
        if MEMORY_FACTOR == 1:  # sanitizers reserve addresses
            resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))

    done = subprocess.run([ENCODE, "--backend=cpu", "--num-threads=1", "b.tif", "/dev/null"], capture_output=True, timeout=300,
                          check=False, cwd=work, preexec_fn=limited)
    tap.ok(done.returncode == 1 and done.stderr.startswith(b"cj2k-encode: b.tif: "), "TIFF: a tile far wider than the picture",
           f"{done.returncode} {done.stderr.decode()}")


def boxes(data):
    """Contents of all boxes, those in superboxes too: (type, content)."""
    at = 0
    while at + 8 <= len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        content = data[at + 8:at + size] if size else data[at + 8:]
        yield kind, content
        if kind == b"jp2h":
            yield from boxes(content)
        at += size or len(data)


def extra_samples(path):
    """Values of ExtraSamples of a little-endian TIFF file."""
    with open(path, "rb") as file:
        data = file.read()
    at, = struct.unpack("<I", data[4:8])
    for i in range(struct.unpack("<H", data[at:at + 2])[0]):
        tag, kind, count, value = struct.unpack("<HHIH", data[at + 2 + 12 * i:at + 12 + 12 * i])
        if tag == 338:
            return [value] if (kind, count) == (3, 1) else None
    return []


def check_alpha(work):
    """The kind of alpha goes through JP2 and JPH in both directions, and samples are what they were."""
    for kind, (box, word) in enumerate((((65535, 65535), "unspecified"), ((2, 0), "premultiplied"), ((1, 0), "straight"))):
        for components, bits, ending in ((2, 8, "jp2"), (4, 16, "jph")):
            samples = picture(components, bits)
            name = f"alpha {word}, {components} of {bits} bits, {ending}"
            write(f"{work}/a.tif", tiff(samples, bits, RGB if components == 4 else BLACK_IS_ZERO, extra=[kind]))
            coded = run(ENCODE, LOSSLESS, "a.tif", f"a.{ending}", work=work)
            with open(f"{work}/a.{ending}", "rb") as file:
                found = [content[-4:] for box_kind, content in boxes(file.read()) if box_kind == b"cdef"]
            tap.ok(found == [struct.pack(">HH", *box)], f"{name}: channel definition", f"{found} {coded.stderr}")
            run(DECODE, f"a.{ending}", "b.tif", work=work)
            run(DECODE, f"a.{ending}", "a.pgx", work=work)
            run(ENCODE, LOSSLESS, "b.tif", f"b.{ending}", work=work)
            with open(f"{work}/a.{ending}", "rb") as a, open(f"{work}/b.{ending}", "rb") as b:
                same = a.read() == b.read()
            tap.ok(differences(read_pgx_set(f"{work}/a")[:components], planes_of(samples)) == 0 and same and
                   extra_samples(f"{work}/b.tif") == [kind], f"{name}: back in TIFF", extra_samples(f"{work}/b.tif"))
            if shutil.which("opj_decompress"):
                theirs = run("opj_decompress", "-i", f"a.{ending}", "-o", "o.pgx", work=work)
                planes = [read_pgx_set(f"{work}/o")[i] for i in range(components)] if not theirs.returncode else []
                tap.ok(len(planes) == components and differences(planes, planes_of(samples)) == 0, f"{name}: OpenJPEG", theirs.stderr)
            other = "straight" if word == "premultiplied" else "premultiplied"
            run(ENCODE, LOSSLESS, f"--alpha={other}", "a.tif", f"c.{ending}", work=work)
            run(DECODE, f"c.{ending}", "c.tif", work=work)
            tap.ok(extra_samples(f"{work}/c.tif") == [2 if other == "straight" else 1], f"{name}: --alpha={other}")
            for file in os.listdir(work):
                os.remove(f"{work}/{file}")
    write_pnm(f"{work}/p.ppm", planes_of(picture(3, 8)), 8)
    done = run(ENCODE, "--alpha=straight", "p.ppm", "p.jp2", work=work)
    tap.ok(done.returncode == 0 and b"no effect on a picture of 3 components" in done.stderr, "--alpha without alpha", done.stderr)
    done = run(ENCODE, "--alpha=some", "p.ppm", "p.jp2", work=work)
    tap.ok(done.returncode == 2 and b"premultiplied" in done.stderr, "--alpha of an unknown kind", done.stderr)
    samples = picture(4, 8)
    write(f"{work}/r.raw", samples.astype("u1").tobytes())
    run(ENCODE, LOSSLESS, "--width=13", "--height=7", "--format=RGBA", "--alpha=premultiplied", "r.raw", "r.jph", work=work)
    run(DECODE, "r.jph", "r.tif", work=work)
    done = run(ENCODE, LOSSLESS, "r.tif", "r2.jph", work=work)
    with open(f"{work}/r.jph", "rb") as a, open(f"{work}/r2.jph", "rb") as b:
        tap.ok(a.read() == b.read() and extra_samples(f"{work}/r.tif") == [1], "a raw file with premultiplied alpha", done.stderr)


def check_tiff_written(work):
    for bits, written in ((5, 8), (8, 8), (10, 16), (16, 16)):
        for components in (1, 3):
            samples = picture(components, bits)
            write_pnm(f"{work}/w.pnm", planes_of(samples), bits)
            run(ENCODE, LOSSLESS, "w.pnm", "w.j2c", work=work)
            run(DECODE, "w.j2c", "w.tif", work=work)
            piped = subprocess.run([DECODE, "w.j2c", "-", "--output-format=tiff"], capture_output=True, cwd=work, check=False)
            run(ENCODE, LOSSLESS, "w.tif", "w2.j2c", work=work)
            run(DECODE, "w2.j2c", "w.pgx", work=work)
            more = written - bits
            wide = samples << more | (samples >> bits - more if more <= bits else 0)
            with open(f"{work}/w.tif", "rb") as file:
                same = file.read() == piped.stdout
            tap.ok(differences(read_pgx_set(f"{work}/w")[:components], planes_of(wide)) == 0 and same,
                   f"TIFF written: {components} of {bits} bits")
            if shutil.which("gm"):
                done = run("gm", "convert", "w.tif", "theirs.png", work=work)
                theirs = png.read(f"{work}/theirs.png")[0] if not done.returncode else []
                tap.ok(len(theirs) == components and differences(theirs, planes_of(wide)) == 0,
                       f"gm reads our TIFF: {components} of {bits} bits", done.stderr.decode())
                for kind in ("LZW", "Zip", "None"):
                    run("gm", "convert", "theirs.png", "-type", "TrueColor" if components == 3 else "Grayscale", "-compress", kind,
                        "made.tif", work=work)
                    run(ENCODE, LOSSLESS, "made.tif", "made.j2c", work=work)
                    run(DECODE, "made.j2c", "made.pgx", work=work)
                    tap.ok(differences(read_pgx_set(f"{work}/made")[:components], planes_of(wide)) == 0,
                           f"we read gm's TIFF: {components} of {bits} bits, {kind}")
                    for name in os.listdir(work):
                        if name.startswith("made"):
                            os.remove(f"{work}/{name}")
            for name in os.listdir(work):
                os.remove(f"{work}/{name}")
    if not shutil.which("gm"):
        tap.skip("GraphicsMagick and TIFF", "gm is not installed")


# --- EXR ---

CURVES = {
    "linear": lambda v: v,
    "srgb": lambda v: np.where(v <= 0.0031308, 12.92 * v, 1.055 * np.power(v, 1 / 2.4) - 0.055),
    "bt709": lambda v: np.where(v < 0.018, 4.5 * v, 1.099 * np.power(v, 0.45) - 0.099),
    "gamma22": lambda v: np.power(v, 1 / 2.2),
    "gamma24": lambda v: np.power(v, 1 / 2.4),
    "gamma26": lambda v: np.power(v, 1 / 2.6),
}


def pq(light):
    y = np.power(np.clip(light, 0, 100) / 100, 2610 / 16384)
    return np.power((3424 / 4096 + 2413 / 128 * y) / (1 + 2392 / 128 * y), 2523 / 32)


def coded(light, curve, bits):
    with np.errstate(invalid="ignore"):
        value = pq(light) if curve == "pq" else CURVES[curve](np.clip(light, 0, 1))
    return np.rint(value * ((1 << bits) - 1)).astype(int)


def check_exr(work, light):
    rgb = {name: (HALF, light[..., i]) for i, name in enumerate("RGB")}
    for curve in (*CURVES, "pq"):
        for bits in (10, 16):
            check_read(work, f"EXR, {curve} of {bits} bits", "a.exr", exr(rgb), planes_of(coded(light, curve, bits)),
                       f"--exr-transfer={curve}", f"--exr-depth={bits}", step=1)
    want = planes_of(coded(light, "srgb", 16))
    check_read(work, "EXR of floats", "a.exr", exr({n: (FLOAT, s) for n, (_, s) in rgb.items()}), want, step=1)
    check_read(work, "EXR with half and float", "a.exr", exr({**rgb, "G": (FLOAT, rgb["G"][1])}), want, step=1)
    check_read(work, "EXR, zip", "a.exr", exr(rgb, zipped=True), want, step=1)
    check_read(work, "EXR in tiles", "a.exr", exr(rgb, tile=16), want, step=1)
    check_read(work, "EXR in tiles, zip", "a.exr", exr(rgb, tile=16, zipped=True), want, step=1)
    more = {**rgb, "A": (HALF, rgb["R"][1]), "Z": (FLOAT, rgb["G"][1]), "id": (UINT, np.zeros(light.shape[:2]))}
    check_read(work, "EXR with other channels", "a.exr", exr(more, zipped=True), want, step=1)
    check_read(work, "EXR of luminance", "a.exr", exr({"Y": rgb["G"]}), want[1:2], step=1)
    height, width, _ = light.shape
    check_read(work, "EXR with a smaller display window", "a.exr",
               exr(rgb, window=(-5, 3, width - 6, height + 2), display=(0, 5, width - 10, height)),
               [plane[2:height - 2, 5:width - 4] for plane in want], step=1)
    wide = [np.pad(plane, ((2, 3), (4, 1))) for plane in want]
    check_read(work, "EXR with a larger display window", "a.exr",
               exr(rgb, window=(0, 0, width - 1, height - 1), display=(-4, -2, width, height + 2), tile=32), wide, step=1)
    odd = np.array([[[np.nan, np.inf, -np.inf], [-1, 2, 65504], [6e-8, 1, 0]]])
    check_read(work, "EXR with NaN, infinities and what is out of range", "a.exr",
               exr({name: (HALF, odd[..., i]) for i, name in enumerate("RGB")}),
               [np.array([[0, 0, 0]]), np.array([[65535, 65535, 65535]]), np.array([[0, 65535, 0]])],
               "--exr-transfer=linear")
    refused(work, "EXR without colours", "b.exr", exr({"Z": rgb["R"]}), "without the channels R, G and B")
    refused(work, "EXR with sub-sampled channels", "b.exr", exr({n: (k, s[::2, ::2]) for n, (k, s) in rgb.items()}, sampling=2),
            "b.exr: ")
    even = {n: (k, s[:36, :44]) for n, (k, s) in rgb.items()}
    chroma = {"RY": (HALF, even["R"][1][::2, ::2]), "BY": (HALF, even["B"][1][::2, ::2])}
    for names in (("RY", "BY"), ("BY",)):
        refused(work, f"EXR of luminance with {' and '.join(names)}", "b.exr",
                exr({"Y": even["G"], **{n: chroma[n] for n in names}}, sampling={n: 2 for n in names}), "luminance and chroma")
    refused(work, "EXR with a huge window", "b.exr", exr(rgb, window=(0, 0, 60000, 60000)), "b.exr: ")
    whole = exr(rgb, zipped=True)
    for size in (4, 8, 100, 300, 340, len(whole) - 1):
        refused(work, f"EXR: cut off after {size} bytes", "b.exr", whole[:size], "b.exr: ")
    for data in (exr(rgb), exr(rgb, zipped=True), exr(rgb, tile=16)):
        check_broken(work, "exr", data, 420)
    done = run(ENCODE, "--exr-transfer=cubic", "a.exr", "/dev/null", work=work)
    tap.ok(done.returncode == 2 and b"is not srgb, bt709" in done.stderr, "an unknown curve", done.stderr.decode())


def check_exr_others(work, light):
    if not shutil.which("oiiotool"):
        tap.skip("OpenImageIO and EXR", "oiiotool is not installed")
        return
    write(f"{work}/ours.exr", exr({name: (HALF, light[..., i]) for i, name in enumerate("RGB")}))
    want = planes_of(coded(light, "srgb", 16))
    for kind in ("none", "rle", "zips", "zip", "piz"):
        for shape in ((), ("--tile", "32", "32")):
            done = run("oiiotool", "ours.exr", "--compression", kind, *shape, "-o", "theirs.exr", work=work)
            with open(f"{work}/theirs.exr", "rb") as file:
                data = file.read()
            name = f"EXR of oiiotool, {kind}{', tiles' if shape else ''}"
            os.makedirs(f"{work}/t", exist_ok=True)
            check_read(f"{work}/t", name + done.stderr.decode(), "a.exr", data, want, step=1)


def main():
    light = np.random.default_rng(5).uniform(-0.01, 1.2, (37, 45, 3)).astype(np.float16)
    light[:4] *= 20
    with Folder() as work:
        if is_built(work, "a.tif", tiff(picture(3, 8), 8, RGB)):
            check_tiff(work)
            check_tiff_written(work)
            check_alpha(work)
        if is_built(work, "a.exr", exr({"Y": (HALF, light[..., 0])})):
            check_exr(work, light.astype(float))
            check_exr_others(work, light.astype(float))
    tap.done()


main()
