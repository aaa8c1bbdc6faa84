#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Decodes what other encoders made and compares with the picture and with the peer's own decoder.

Lossless streams must come back exactly; lossy ones may differ from the peer's samples by one step,
since both round. A combination that the other encoder refuses is no case; most must be taken.
"""
import shutil

from cases import cases
from cj2ktest import LONG, Folder, Tap, decode, differences, read_pgx_set, skip_all
from images import planes
import peers

TOOLS = {"opj": ("opj_compress", "opj_decompress"), "grk": ("grk_compress", "opj_decompress"),
         "ojph": ("ojph_compress", "ojph_expand"), "gst": ("gst-launch-1.0", "opj_decompress")}


def judge(case, work):
    """None when the stream decodes as it must, else what is wrong. Raises peers.Refused."""
    source = planes(case.width, case.height, case.bits, case.sampling, case.signed)
    stream = getattr(peers, f"encode_{case.encoder}")(case, source, work)
    run = decode(stream, f"{work}/ours.pgx")
    if run.status != 0:
        return str(run)
    ours = read_pgx_set(f"{work}/ours")
    if case.lossless and case.encoder != "gst" and differences(ours, source) == 0:
        return None
    # Where even the peer does not get its own picture back, its answer is the measure; OpenJPEG's
    # counts as well for streams of others, since OpenJPH 0.9 has bugs with single samples.
    allowed, found = 0 if case.lossless else 1, []
    for name in dict.fromkeys((TOOLS[case.encoder][1], "opj_decompress")):
        decode_peer = peers.decode_ojph if name == "ojph_expand" else peers.decode_opj
        peak = differences(ours, decode_peer(stream, case, source, work))
        if peak <= allowed:
            return None
        found.append(f"differs from {name} by {peak}")
    return "; ".join(found)


def main():
    tap = Tap()
    missing = {tool for pair in TOOLS.values() for tool in pair if not shutil.which(tool)}
    refused = tried = 0
    if len(missing) == len({tool for pair in TOOLS.values() for tool in pair}):
        skip_all("no other encoder is installed")
    for tool in sorted(missing):
        tap.skip(tool, "not installed")
    for case in cases(LONG):
        if missing & set(TOOLS[case.encoder]):
            continue
        tried += 1
        with Folder() as work:
            try:
                why = judge(case, work)
            except peers.Refused as reason:
                refused += 1
                print(f"# {case}: {reason}"[:300])
                continue
            except (OSError, ValueError) as error:
                why = str(error)
            tap.ok(why is None, str(case), why)
    tap.ok(refused * 5 <= tried, f"{tried - refused} of {tried} combinations were taken by the other encoders")
    tap.done()


main()
