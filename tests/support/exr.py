# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes EXR files of one part by OpenEXR's description of the format, for tests of the tools."""
import struct
import zlib

import numpy as np

UINT, HALF, FLOAT = 0, 1, 2
KINDS = {UINT: "<u4", HALF: "<f2", FLOAT: "<f4"}


def _attribute(name, kind, data):
    return name.encode() + b"\0" + kind.encode() + b"\0" + struct.pack("<i", len(data)) + data


def _zip(raw):
    """Even bytes, then odd bytes, as differences, by zlib; what does not become smaller stays."""
    data = np.frombuffer(raw, np.uint8)
    split = np.concatenate((data[0::2], data[1::2])).astype(int)
    split[1:] = (split[1:] - split[:-1] + 128) % 256
    packed = zlib.compress(split.astype(np.uint8).tobytes())
    return packed if len(packed) < len(raw) else raw


def exr(channels, window=None, display=None, zipped=False, tile=None, sampling=1):
    """channels: {name: (kind, samples)}, samples of shape (height, width), which fill the data window (x0, y0, x1, y1).
    sampling: of all channels, or {name: sampling} of those that are sub-sampled in a file without tiles."""
    names = sorted(channels)
    height, width = map(max, zip(*(samples.shape for _, samples in channels.values())))
    stated = sampling if isinstance(sampling, dict) else dict.fromkeys(names, sampling)
    steps = {name: sampling.get(name, 1) if isinstance(sampling, dict) else 1 for name in names}
    window = window or (0, 0, width - 1, height - 1)
    chlist = b"".join(name.encode() + b"\0" + struct.pack("<iB3xii", channels[name][0], 0, *2 * [stated.get(name, 1)])
                      for name in names) + b"\0"
    header = struct.pack("<iBBH", 20000630, 2, 2 if tile else 0, 0)
    header += _attribute("channels", "chlist", chlist)
    header += _attribute("compression", "compression", bytes([3 if zipped else 0]))
    header += _attribute("dataWindow", "box2i", struct.pack("<4i", *window))
    header += _attribute("displayWindow", "box2i", struct.pack("<4i", *(display or window)))
    header += _attribute("lineOrder", "lineOrder", b"\0")
    header += _attribute("pixelAspectRatio", "float", struct.pack("<f", 1))
    header += _attribute("screenWindowCenter", "v2f", struct.pack("<2f", 0, 0))
    header += _attribute("screenWindowWidth", "float", struct.pack("<f", 1))
    if tile:
        header += _attribute("tiles", "tiledesc", struct.pack("<IIB", tile, tile, 0))
    header += b"\0"

    def block(x, y, columns, rows):
        lines = (channels[name][1][row // steps[name], x:x + columns].astype(KINDS[channels[name][0]]).tobytes()
                 for row in range(y, min(y + rows, height)) for name in names if row % steps[name] == 0)
        raw = b"".join(lines)
        return _zip(raw) if zipped else raw

    chunks = []
    if tile:
        for y in range(0, height, tile):
            for x in range(0, width, tile):
                data = block(x, y, tile, tile)
                chunks.append(struct.pack("<5i", x // tile, y // tile, 0, 0, len(data)) + data)
    else:
        lines = 16 if zipped else 1
        for y in range(0, height, lines):
            data = block(0, y, width, lines)
            chunks.append(struct.pack("<2i", window[1] + y, len(data)) + data)
    at = len(header) + 8 * len(chunks)
    table = b""
    for chunk in chunks:
        table += struct.pack("<Q", at)
        at += len(chunk)
    return header + table + b"".join(chunks)
