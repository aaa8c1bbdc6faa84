#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Decodes streams of other encoders and compares the result with the picture and with the peers' decoders.

Lossless streams must come back exactly. Lossy ones may differ by one step from what a peer decodes,
since both round; by two from OpenJPEG and its kin beyond 12 bit, where their 9/7 constants are too
short (the current OpenJPH agrees with us there). The encoder's own project is asked first, then the
others, since OpenJPH 0.9 has bugs with single samples. A combination that an encoder refuses, or turns
into a stream that no decoder brings back, is no case; most must be taken.
"""
import shutil

from cases import cases
from cj2ktest import LONG, Folder, Tap, decode, differences, read_pgx_set, skip_all
from images import planes
import peers

TOOLS = {"opj": "opj_compress", "grk": "grk_compress", "ojph": "ojph_compress", "gst": "gst-launch-1.0"}
JUDGES = {"opj_decompress": peers.decode_opj, "ojph_expand": peers.decode_ojph, "grk_decompress": peers.decode_grk}


def judge(case, work):
    """None if the stream decodes as required, else what is wrong. Raises peers.Refused."""
    source = planes(case.width, case.height, case.bits, case.sampling, case.signed)
    stream = getattr(peers, f"encode_{case.encoder}")(case, source, work)
    run = decode(stream, f"{work}/ours.pgx")
    if run.status != 0:
        return str(run)
    ours = read_pgx_set(f"{work}/ours")
    known = case.lossless and case.encoder != "gst"  # openjpegenc gets GStreamer's test picture
    if known and differences(ours, source) == 0:
        return None
    found, intact = [], not known
    first = "ojph_expand" if case.encoder == "ojph" else "opj_decompress"
    for name in dict.fromkeys((first, "opj_decompress", "grk_decompress")):
        try:
            theirs = JUDGES[name](stream, case, source, work)
        except peers.Refused as reason:
            found.append(str(reason))
            continue
        allowed = 0 if case.lossless else 2 if case.bits > 12 and name != "ojph_expand" else 1
        intact = intact or differences(theirs, source) == 0
        peak = differences(ours, theirs)
        if peak <= allowed:
            return None
        found.append(f"differs from {name} by {peak}")
    if not intact:
        raise peers.Refused("no decoder brings the picture back: " + "; ".join(found))
    return "; ".join(found)


def main():
    tap = Tap()
    missing = {tool for tool in (*TOOLS.values(), *JUDGES) if not shutil.which(tool)}
    refused = tried = 0
    if missing & set(JUDGES):
        skip_all(f"not installed: {', '.join(sorted(missing))}")
    for tool in sorted(missing):
        tap.skip(tool, "not installed")
    for case in cases(LONG):
        if TOOLS[case.encoder] in missing:
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


if __name__ == "__main__":
    main()
