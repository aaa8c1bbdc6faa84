#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Decodes whole JP2 files and compares each component with what opj_decompress gives for it.

opj_decompress turns sYCC into RGB and applies ICC profiles, which are no part of decoding: a file
with either is given to it in a way that leaves the components alone.
"""
import os
import shutil
import struct

from cj2ktest import Folder, Run, Tap, decode, differences, read_pgx_set, read_pgx, shared_folder, skip_all


def boxes(data, start, end):
    """Yields (type, first byte of contents, end) of the boxes in data[start:end] (T.800 I.4)."""
    while start + 8 <= end:
        length, kind = struct.unpack_from(">I4s", data, start)
        header = 8
        if length == 1:
            length, header = struct.unpack_from(">Q", data, start + 8)[0], 16
        elif length == 0:
            length = end - start
        yield kind, start + header, start + length
        start += length


def find(data, *path):
    """Contents of the first box along `path`, or None."""
    start, end = 0, len(data)
    for kind in path:
        found = next(((a, b) for k, a, b in boxes(data, start, end) if k == kind), None)
        if found is None:
            return None
        start, end = found
    return data[start:end]


def reference(path, work):
    """The file's components as decoded by opj_decompress, without colour conversion."""
    with open(path, "rb") as file:
        data = file.read()
    colour = find(data, b"jp2h", b"colr")
    components = struct.unpack_from(">H", find(data, b"jp2h", b"ihdr"), 8)[0]
    planes = []
    if colour[0] == 1 and struct.unpack_from(">I", colour, 3)[0] == 18:  # sYCC: one at a time
        for index in range(components):
            Run(["opj_decompress", "-i", path, "-o", f"{work}/one.pgx", "-c", str(index)])
            planes.append(read_pgx(f"{work}/one_0.pgx"))
        return planes
    source = path
    if colour[0] == 2:  # ICC profile: the bare codestream has none
        source = f"{work}/bare.j2k"
        with open(source, "wb") as file:
            file.write(find(data, b"jp2c"))
    Run(["opj_decompress", "-i", source, "-o", f"{work}/theirs.pgx"])
    return read_pgx_set(f"{work}/theirs")


def main():
    folder = shared_folder("jp2") or skip_all("no JP2 files; CJ2K_SHARED names their folder")
    if not shutil.which("opj_decompress"):
        skip_all("opj_decompress is not installed")
    tap = Tap()
    for name in sorted(os.listdir(folder)):
        if not name.endswith((".jp2", ".jph")):
            continue
        path = os.path.join(folder, name)
        with Folder() as work:
            run = decode(path, f"{work}/ours.pgx")
            try:
                peak = differences(read_pgx_set(f"{work}/ours"), reference(path, work))
                # Both decoders may round the 9/7 transform differently: one step.
                tap.ok(run.status == 0 and peak <= 1, name, f"peak {peak}\n{run}")
            except (OSError, ValueError) as error:
                tap.ok(False, name, f"{error}\n{run}")
    tap.done()


main()
