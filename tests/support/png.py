# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes PNG files of every colour type, and reads them."""
import struct
import zlib

import numpy as np

GREY, RGB, PALETTE, GREY_ALPHA, RGB_ALPHA = 0, 2, 3, 4, 6
CHANNELS = {GREY: 1, RGB: 3, PALETTE: 1, GREY_ALPHA: 2, RGB_ALPHA: 4}


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def header(width, height, depth, colour, interlace=0):
    return (b"\x89PNG\r\n\x1a\n" +
            chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlace)))


def write(path, planes, depth, colour, *chunks):
    """Writes planes of equal size; `chunks` are (kind, data) that precede the picture's data."""
    height, width = planes[0].shape
    rows = np.stack(planes, -1).reshape(height, -1)
    if depth == 16:
        lines = [row.astype(">u2").tobytes() for row in rows]
    elif depth == 8:
        lines = [row.astype("u1").tobytes() for row in rows]
    else:
        bits = (rows[..., None] >> np.arange(depth)[::-1] & 1).reshape(height, -1)
        lines = [np.packbits(row.astype("u1")).tobytes() for row in bits]
    data = header(width, height, depth, colour) + b"".join(chunk(*c) for c in chunks)
    data += chunk(b"IDAT", zlib.compress(b"".join(b"\0" + line for line in lines))) + chunk(b"IEND", b"")
    with open(path, "wb") as file:
        file.write(data)


def _unfilter(kind, line, above, step):
    line = bytearray(line)
    for i in range(len(line)):
        left = line[i - step] if i >= step else 0
        up, corner = above[i], above[i - step] if i >= step else 0
        if kind == 1:
            guess = left
        elif kind == 2:
            guess = up
        elif kind == 3:
            guess = (left + up) // 2
        elif kind == 4:
            guess = min((left, up, corner), key=lambda v: abs(left + up - corner - v))
        else:
            guess = 0
        line[i] = (line[i] + guess) & 255
    return bytes(line)


def read(path):
    """(planes, depth) of a PNG of 8 or 16 bits without palette and interlacing."""
    with open(path, "rb") as file:
        data = file.read()
    width, height, depth, colour = struct.unpack_from(">IIBB", data, 16)
    at, packed = 8, b""
    while at < len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        if kind == b"IDAT":
            packed += data[at + 8:at + 8 + size]
        at += 12 + size
    channels, raw, lines = CHANNELS[colour], zlib.decompress(packed), []
    step = channels * depth // 8
    pitch, above = width * step, bytes(width * step)
    for y in range(height):
        line = raw[y * (pitch + 1):(y + 1) * (pitch + 1)]
        above = _unfilter(line[0], line[1:], above, step)
        lines.append(np.frombuffer(above, ">u2" if depth == 16 else "u1").astype(np.int64))
    samples = np.stack(lines).reshape(height, width, channels)
    return [samples[..., c] for c in range(channels)], depth
