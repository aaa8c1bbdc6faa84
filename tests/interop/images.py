# SPDX-License-Identifier: LGPL-2.1-or-later
"""Pictures for the interoperability tests: generated, and the same on every machine."""
import numpy as np


def component(width, height, bits, seed, signed=False):
    """Waves, an edge, a flat area and grain: code-blocks of every kind in one small picture."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    value = 0.5 + 0.2 * np.sin(x / (7 + seed % 5)) * np.cos(y / 11) + 0.15 * np.sin((x + y) / 41)
    value += 0.3 * (x > 0.6 * width) - 0.25 * ((x - y) % 64 < 3)
    value += rng.normal(0, 0.01, value.shape)
    value[: height // 5, : width // 3] = 0.75
    samples = np.clip(np.rint(value * ((1 << bits) - 1)), 0, (1 << bits) - 1).astype(np.int64)
    return samples - (1 << (bits - 1)) if signed else samples


def planes(width, height, bits, sampling, signed=False):
    """One plane for each pair (dx, dy) of `sampling`; its size is that of the picture divided by it, rounded up."""
    return [component(-(-width // dx), -(-height // dy), bits, index, signed)
            for index, (dx, dy) in enumerate(sampling)]


def write_raw(path, samples, bits, big_endian=False):
    """Writes planes one after the other, with 1 byte per sample up to 8 bits, else 2."""
    kind = "u1" if bits <= 8 else ">u2" if big_endian else "<u2"
    mask = 0xFF if bits <= 8 else 0xFFFF
    with open(path, "wb") as file:
        for plane in samples:
            file.write((plane & mask).astype(kind).tobytes())


def read_raw(path, like, bits, signed=False):
    """Reads planes with the shapes of `like` from a planar little-endian file."""
    kind = ("i" if signed else "u") + ("1" if bits <= 8 else "2")
    data = np.fromfile(path, "<" + kind).astype(np.int64)
    if data.size != sum(plane.size for plane in like):
        raise ValueError(f"{path} has {data.size} samples")
    result, start = [], 0
    for plane in like:
        result.append(data[start:start + plane.size].reshape(plane.shape))
        start += plane.size
    return result
