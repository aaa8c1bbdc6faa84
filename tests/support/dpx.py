# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes DPX files by the field tables of SMPTE ST 268-1, for tests of the tools."""
import struct

import numpy as np

LUMA, RGB, RGBA, ABGR, CBYCR = 6, 50, 51, 52, 102
PACKED, FILLED_A, FILLED_B = 0, 1, 2
UNDEFINED = 0xFFFFFFFF


def _pack_bits(row, bits):
    """Samples without gaps, from the lowest bit of each 32-bit word on."""
    value = sum(int(v) << bits * i for i, v in enumerate(row))
    count = -(-len(row) * bits // 32)
    return [value >> 32 * i & UNDEFINED for i in range(count)]


def _pack_filled(row, shift, msb_first):
    """Three samples of 10 bits in a word, the first in the highest bits if there are several components."""
    words = []
    for at in range(0, len(row), 3):
        three = [int(v) for v in row[at:at + 3]] + [0] * (3 - len(row[at:at + 3]))
        words.append(sum(v << shift + 10 * (2 - i if msb_first else i) for i, v in enumerate(three)))
    return words


def row_bytes(row, bits, packing, order, components):
    """A row of samples, interleaved, as bytes without padding."""
    if bits == 8:
        return bytes(int(v) for v in row)
    if bits == 16 or (bits == 12 and packing != PACKED):
        shift = 4 if bits == 12 and packing == FILLED_A else 0
        return np.array([int(v) << shift for v in row], order + "u2").tobytes()
    words = _pack_bits(row, bits) if packing == PACKED else _pack_filled(row, 2 if packing == FILLED_A else 0,
                                                                          components > 1)
    return np.array(words, order + "u4").tobytes()


class Element:
    """An image element: interleaved samples of shape (height, width, components)."""

    def __init__(self, samples, descriptor, packing):
        self.samples, self.descriptor, self.packing = samples, descriptor, packing


def dpx(elements, bits, order=">", aligned=True, padding=0, orientation=0, offset=2048, encoding=0, sign=0):
    """The bytes of a file. Fields that are not stated are undefined: ones in numbers, zeros in texts."""
    header = bytearray(b"\xff" * offset)
    for begin, end in ((8, 16), (36, 660), (664, 768), (1356, 1408), (1432, 1620), (1636, 1712), (1732, 1920), (1972, 2048)):
        header[begin:end] = bytes(end - begin)
    for index in range(8):
        header[780 + 72 * index + 40:780 + 72 * index + 72] = bytes(32)
    height, width, _ = elements[0].samples.shape

    def put(at, code, value):
        struct.pack_into(order + code, header, at, value)

    data = bytearray()
    for index, element in enumerate(elements):
        at, begin = 780 + 72 * index, offset + len(data)
        components = element.samples.shape[2]
        for row in element.samples:
            line = row_bytes(row.reshape(-1), bits, element.packing, order, components)
            data += line + (bytes(-len(line) % 4) if aligned else b"") + bytes(padding)
        put(at, "I", sign)
        put(at + 4, "I", 0)
        put(at + 12, "I", (1 << bits) - 1)
        header[at + 20:at + 24] = bytes((element.descriptor, 0, 0, bits))
        put(at + 24, "H", element.packing)
        put(at + 26, "H", encoding)
        put(at + 28, "I", begin)
        put(at + 32, "I", padding)
        put(at + 36, "I", 0)
    put(0, "I", 0x53445058)
    put(4, "I", offset)
    header[8:12] = b"V2.0"
    put(16, "I", offset + len(data))
    put(20, "I", 1)
    put(24, "I", 1664)
    put(28, "I", 384)
    put(32, "I", 0)
    header[160:167] = b"cudaj2k"
    put(768, "H", orientation)
    put(770, "H", len(elements))
    put(772, "I", width)
    put(776, "I", height)
    put(1628, "I", 1)
    put(1632, "I", 1)
    return bytes(header) + bytes(data)
