#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Raw files of formats with several samples in a word of 32 bits: rows are as long as GStreamer stores them. What is
shorter or longer than a frame is refused."""
import os
import subprocess

import numpy as np

import cj2ktest

BENCH = os.environ.get("CJ2K_BENCH", "cj2k-bench")
# format: rows of luma for each row of chroma; None: no chroma
FORMATS = {"NV12_10LE32": 2, "NV16_10LE32": 1, "GRAY10_LE32": None}
# The last word of a row holds one, two or three samples, and the last unit of chroma one or two words.
SIZES = ((1280, 4), (2, 2), (4, 3), (6, 5), (8, 2), (10, 1), (12, 2), (1282, 3), (1284, 2))


def pack(rows):
    """Three samples of 10 bits in a little-endian word of 32 bits; the last word of a row is filled with zeros."""
    height, width = rows.shape
    words = (width + 2) // 3
    padded = np.zeros((height, words * 3), np.uint32)
    padded[:, :width] = rows
    threes = padded.reshape(height, words, 3)
    return (threes[..., 0] | threes[..., 1] << 10 | threes[..., 2] << 20).astype("<u4").tobytes()


def make(name, width, height):
    """The samples of each component, and the bytes of the file."""
    random = np.random.default_rng(width * height)
    sub = FORMATS[name]
    luma = random.integers(0, 1024, (height, width))
    if sub is None:
        return [luma], pack(luma)
    pairs = random.integers(0, 1024, ((height + sub - 1) // sub, width))
    return [luma, pairs[:, 0::2], pairs[:, 1::2]], pack(luma) + pack(pairs)


def failure(folder, name, width, height):
    """Empty, or how a lossless round trip went wrong."""
    source, coded, out = f"{folder}/in.raw", f"{folder}/coded.j2c", f"{folder}/{name}.pgx"
    planes, data = make(name, width, height)
    with open(source, "wb") as file:
        file.write(data)
    shape = [f"--format={name}", f"--width={width}", f"--height={height}"]
    run = cj2ktest.Run([cj2ktest.ENCODE, "--rate-control=lossless", *shape, source, coded])
    if run.status == 0:
        run = cj2ktest.decode(coded, out)
    if run.status:
        return f"{width} x {height}: {run}"
    read = cj2ktest.read_pgx_set(out[:-4])
    difference = cj2ktest.differences(read, planes)
    bench = subprocess.run([BENCH, "encode", "--frames=1", "--backend=cpu", *shape, source], capture_output=True,
                           timeout=60, check=False)
    return (f"{width} x {height}: samples differ by {difference}" if difference else
            f"{width} x {height}: {bench.stderr}" if bench.returncode else "")


def not_refused(folder, options, frame):
    """Empty, or how a file that is not as long as its frame was taken."""
    for size in (frame - 1, frame + 1, 2 * frame):
        with open(f"{folder}/long.raw", "wb") as file:
            file.write(bytes(size))
        run = cj2ktest.Run([cj2ktest.ENCODE, *options, f"{folder}/long.raw", "/dev/null"])
        words = [f"{folder}/long.raw: {size} bytes"] + ([f"a frame has {frame}"] if size > frame else [])
        if run.status != 1 or any(word not in run.stderr for word in words):
            return f"{size} bytes: {run}"
    with open(f"{folder}/long.raw", "wb") as file:
        file.write(bytes(frame))
    run = cj2ktest.Run([cj2ktest.ENCODE, *options, f"{folder}/long.raw", "/dev/null"])
    return str(run) if run.status else ""


def main():
    tap = cj2ktest.Tap()
    with cj2ktest.Folder() as folder:
        for name in FORMATS:
            failures = [failure(folder, name, width, height) for width, height in SIZES]
            tap.ok(not any(failures), name, "\n".join(filter(None, failures)))
        for name, frame in (("GRAY8", 6 * 4), ("RGB_12LE", 6 * 4 * 3 * 2), ("I420_10LE", 6 * 4 * 3),
                            ("UYVY", 6 * 4 * 2), ("v210", 4 * 128)):
            why = not_refused(folder, ["--width=6", "--height=4", f"--format={name}"], frame)
            tap.ok(not why, f"{name}: files that are shorter or longer than a frame", why)
    tap.done()


if __name__ == "__main__":
    main()
