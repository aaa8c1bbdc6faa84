#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""film.py FOLDER FRAMES [WIDTHxHEIGHT [FORMAT]]: makes a film of moving pictures, as FOLDER/f.0000000.ppm and so on;
FORMAT is ppm8, ppm12 or dpx10.

The pictures have the spectrum of natural ones (amplitude falls with frequency), colours that follow brightness, and
some edges. A scene moves over a larger picture, with a little noise that is new in each frame, and cuts follow one
another at uneven distances.
"""
import os
import struct
import sys

import numpy as np


def natural(rng, height, width):
    """A picture from 0 to 1, three components: noise with a spectrum of 1/f, and edges of overlapping shapes."""
    rows = np.fft.fftfreq(height)[:, None]
    columns = np.fft.rfftfreq(width)[None, :]
    amplitude = 1 / np.maximum(np.hypot(rows, columns), 1 / max(height, width))
    planes = []
    for _ in range(3):
        spectrum = amplitude * np.exp(2j * np.pi * rng.random(amplitude.shape))
        plane = np.fft.irfft2(spectrum, (height, width))
        planes.append((plane - plane.min()) / (plane.max() - plane.min()))
    y, x = np.mgrid[:height, :width]
    light = planes[0]
    for _ in range(6):
        distance = np.hypot(y - rng.integers(height), (x - rng.integers(width)) * rng.uniform(0.5, 2))
        inside = distance < height * rng.uniform(0.05, 0.25)
        light = np.where(inside, 0.6 * light + 0.4 * rng.random(), light)
    return np.stack([light, 0.8 * light + 0.2 * planes[1], 0.7 * light + 0.3 * planes[2]], -1)


def frames(count, width, height, seed=1):
    """Pictures from 0 to 1."""
    rng = np.random.default_rng(seed)
    left = 0
    for _ in range(count):
        if not left:
            left = int(rng.integers(17, 97))
            scene = natural(rng, height * 2, width * 2)
            place, speed = np.array([height, width]) * 0.5, rng.uniform(-2, 2, 2)
        y, x = (int(v) % size for v, size in zip(place, (height, width)))
        yield np.clip(scene[y:y + height, x:x + width] + rng.normal(0, 0.004, (height, width, 1)), 0, 1)
        place = place + speed
        left -= 1


def write_ppm(path, picture, top):
    height, width = picture.shape[:2]
    with open(path, "wb") as file:
        file.write(f"P6\n{width} {height}\n{top}\n".encode())
        file.write((picture * top + 0.5).astype(">u2" if top > 255 else "u1").tobytes())


def write_dpx(path, picture):
    """DPX of SMPTE ST 268: R, G, B of 10 bits in a word of 32, filled by method A, big-endian."""
    height, width = picture.shape[:2]
    samples = (picture * 1023 + 0.5).astype(np.uint32)
    words = (samples[..., 0] << 22 | samples[..., 1] << 12 | samples[..., 2] << 2).astype(">u4")
    head = bytearray(2048)
    struct.pack_into(">4sI8sII", head, 0, b"SDPX", 2048, b"V2.0", 2048 + words.nbytes, 1)
    struct.pack_into(">II", head, 24, 1664, 384)  # length of the generic and the industry header
    struct.pack_into(">HHII", head, 768, 0, 1, width, height)
    struct.pack_into(">5I4B2HIII", head, 780, 0, 0, 0, 1023, 0, 50, 2, 2, 10, 1, 0, 2048, 0, 0)
    with open(path, "wb") as file:
        file.write(head + words.tobytes())


FORMATS = {"ppm8": (".ppm", lambda path, picture: write_ppm(path, picture, 255)),
           "ppm12": (".ppm", lambda path, picture: write_ppm(path, picture, 4095)),
           "dpx10": (".dpx", write_dpx)}


def ending(kind):
    return FORMATS[kind][0]


def make(folder, count, size="192x108", kind="ppm8"):
    width, height = map(int, size.split("x"))
    os.makedirs(folder, exist_ok=True)
    for number, picture in enumerate(frames(int(count), width, height)):
        FORMATS[kind][1](f"{folder}/f.{number:07d}{ending(kind)}", picture)


if __name__ == "__main__":
    make(*sys.argv[1:])
