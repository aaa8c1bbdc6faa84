#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Encodes pictures with pairwise combinations of options and lets the other decoders read them.

Lossless streams must come back exactly, from our decoder and from the others; of lossy ones the others'
PSNR must be within 0.01 dB of ours, or, where a picture is too small or too good for that, each sample
within one step (two beyond 12 bit, where OpenJPEG's 9/7 constants are too short).

OpenJPEG must agree about each stream, OpenJPH about each HT stream of the kinds that it reads. Grok 10 ends
by a signal on some legal streams and shows other pictures where OpenJPEG and we agree, so that of it a
share counts.

CJ2K_TEST_SHARE=N: each Nth combination only.
"""
import itertools
import math
import os
import shutil
from types import SimpleNamespace

from cj2ktest import ENCODE, LONG, Folder, Run, Tap, decode, differences, read_pgx_set, skip_all, write_pgx
from images import planes
import peers
import written

PEERS = {"opj_decompress": peers.decode_opj, "grk_decompress": peers.decode_grk, "ojph_expand": peers.decode_ojph}
SMALL = 20000  # samples


def psnr(source, decoded, bits):
    squares = sum(float(((a - b) ** 2).sum()) for a, b in zip(source, decoded))
    samples = sum(plane.size for plane in source)
    return math.inf if squares == 0 else 10 * math.log10(((1 << bits) - 1) ** 2 * samples / squares)


def compare(row, source, ours, theirs):
    """None if both decoders agree as required, else what is wrong."""
    peak = differences(ours, theirs)
    if row["rate"] == "lossless" or peak == 0:
        return f"differs by {peak}" if peak else None
    a, b = psnr(source, ours, row["depth"]), psnr(source, theirs, row["depth"])
    rounding = 20 * math.log10((1 << row["depth"]) - 1) + 10 * math.log10(12)  # dB of errors of half a step
    if sum(plane.size for plane in source) < SMALL or a > rounding:
        allowed = 2 if row["depth"] > 12 else 1
        return f"differs by {peak}" if peak > allowed else None
    return f"{b:.3f} dB, not {a:.3f}" if abs(a - b) > 0.01 else None


def can_read(name, row):
    """Whether the peer reads such a stream; it refuses or misinterprets others (OpenJPH 0.9)."""
    sampling = written.SAMPLING[row["sampling"]]
    if name == "grk_decompress":
        return set(sampling) == {(1, 1)}
    return name == "opj_decompress" or all(row[key] in values for key, values in written.FOR_OPENJPH.items())


def judge(row, work, tallies):
    """A list of what is wrong with the row's stream."""
    source = planes(*row["size"], row["depth"], written.SAMPLING[row["sampling"]], row["signed"])
    for index, plane in enumerate(source):
        write_pgx(f"{work}/in_{index}.pgx", plane, row["depth"], row["signed"])
    options, ending = written.options(row)
    stream = f"{work}/out.{ending}"
    run = Run([ENCODE, *options, f"{work}/in.pgx", stream])
    if run.status != 0:
        return [f"cj2k-encode: {run}"]
    run = decode(stream, f"{work}/ours.pgx", "--strict")
    if run.status != 0:
        return [f"cj2k-decode: {run}"]
    ours = read_pgx_set(f"{work}/ours")
    wrong = []
    if row["rate"] == "lossless" and differences(ours, source):
        wrong.append(f"cj2k-decode: differs by {differences(ours, source)}")
    case = SimpleNamespace(sampling=written.SAMPLING[row["sampling"]], signed=row["signed"], bits=row["depth"])
    for name, tally in tallies.items():
        if not can_read(name, row):
            continue
        tally.tried += 1
        try:
            why = compare(row, source, ours, PEERS[name](stream, case, source, work))
        except (peers.Refused, OSError, ValueError) as reason:
            why = str(reason)
        tally.agreed += why is None
        if why and name == "grk_decompress":
            print(f"# the next in {name}: {why}"[:200])
        elif why:
            wrong.append(f"{name}: {why}")
    return wrong


def main():
    tap = Tap()
    missing = {tool for tool in PEERS if not shutil.which(tool)}
    if missing == set(PEERS):
        skip_all(f"not installed: {', '.join(sorted(missing))}")
    for tool in sorted(missing):
        tap.skip(tool, "not installed")
    tallies = {name: SimpleNamespace(tried=0, agreed=0) for name in PEERS if name not in missing}
    share = int(os.environ.get("CJ2K_TEST_SHARE", "1"))
    for row in itertools.islice(written.rows(LONG), 0, None, share):
        with Folder() as work:
            wrong = judge(row, work, tallies)
        shape = f"{'x'.join(map(str, row['size']))} {row['sampling']} {'s' if row['signed'] else 'u'}{row['depth']}"
        tap.ok(not wrong, f"{shape} {' '.join(written.options(row)[0])} {row['file']}", "\n".join(wrong))
    for name, tally in tallies.items():
        tap.ok(0 < tally.tried <= 2 * tally.agreed, f"{name} agrees about {tally.agreed} of {tally.tried} streams")
    tap.done()


if __name__ == "__main__":
    main()
