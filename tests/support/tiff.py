# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes TIFF files without compression, by the field tables of TIFF 6.0, for tests of the tools."""
import struct

import numpy as np

WHITE_IS_ZERO, BLACK_IS_ZERO, RGB, PALETTE, SEPARATED = 0, 1, 2, 3, 5


def _row(values, bits, order):
    if bits in (8, 16):
        return values.astype(f"{order}u{bits // 8}").tobytes()
    value = 0
    for sample in values:
        value = value << bits | int(sample)
    pad = -len(values) * bits % 8
    return (value << pad).to_bytes((len(values) * bits + pad) // 8, "big")


def tiff(samples, bits, photometric, order="<", planar=False, rows=None, tile=None, extra=(), orientation=1, kind=1,
         changes=None, more=None):
    """samples: shape (height, width, components). changes: {tag: value} in place of what they should be; more: {tag:
    (type, values)}."""
    height, width, components = samples.shape
    blocks = []
    for part in range(components if planar else 1):
        source = samples[..., part:part + 1] if planar else samples
        if tile:
            for y in range(0, height, tile):
                for x in range(0, width, tile):
                    block = np.zeros((tile, tile, source.shape[2]), int)
                    piece = source[y:y + tile, x:x + tile]
                    block[:piece.shape[0], :piece.shape[1]] = piece
                    blocks.append(b"".join(_row(line.reshape(-1), bits, order) for line in block))
        else:
            for y in range(0, height, rows or height):
                blocks.append(b"".join(_row(line.reshape(-1), bits, order) for line in source[y:y + (rows or height)]))
    offsets, data = [], b""
    for block in blocks:
        offsets.append(8 + len(data))
        data += block + bytes(len(block) % 2)
    tags = {256: (4, [width]), 257: (4, [height]), 258: (3, [bits] * components), 259: (3, [1]), 262: (3, [photometric]),
            274: (3, [orientation]), 277: (3, [components]), 284: (3, [2 if planar else 1]), 339: (3, [kind] * components)}
    if tile:
        tags.update({322: (4, [tile]), 323: (4, [tile]), 324: (4, offsets), 325: (4, [len(block) for block in blocks])})
    else:
        tags.update({278: (4, [rows or height]), 273: (4, offsets), 279: (4, [len(block) for block in blocks])})
    if extra:
        tags[338] = (3, list(extra))
    tags.update(more or {})
    for tag, value in (changes or {}).items():
        tags[tag] = (tags[tag][0], [value] * len(tags[tag][1]))
    far_at = 8 + len(data) + 2 + 12 * len(tags) + 4
    entries, far = b"", b""
    for tag in sorted(tags):
        code, values = tags[tag]
        body = struct.pack(f"{order}{len(values)}{'H' if code == 3 else 'I'}", *values)
        if len(body) > 4:
            place = struct.pack(order + "I", far_at + len(far))
            far += body + bytes(len(body) % 2)
        else:
            place = body.ljust(4, b"\0")
        entries += struct.pack(order + "HHI", tag, code, len(values)) + place
    head = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "I", 8 + len(data))
    return head + data + struct.pack(order + "H", len(tags)) + entries + bytes(4) + far
