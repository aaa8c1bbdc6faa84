#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks recordings of rtpj2ksclpay with rfc9828.py, and that rfc9828.py finds the faults in changed recordings."""
import os
import struct
import subprocess

import rfc9828
from cj2ktest import Folder, Tap, skip_all

RAW = "video/x-raw,format=I422_10LE,width=322,height=201,framerate=30000/1001,colorimetry=bt709"
INTERLACED = ("video/x-raw,format=I422_10LE,width=320,height=192,framerate=25/1,interlace-mode=interleaved,"
              "colorimetry=bt709,field-order=")
CASES = [  # (name, raw caps, encoder, payloader)
    ("mq", RAW, "", ""),
    ("ht-rpcl-plt", RAW, "block-coder=ht precincts=64x64 progression-order=rpcl plt=true", "mtu=1400"),
    ("pcrl-sop", RAW, "precincts=64x64,32x32 progression-order=pcrl sop=true eph=true", "mtu=576"),
    ("cprl-jumbo", RAW, "block-coder=ht precincts=128x128 progression-order=cprl", "mtu=9000"),
    ("layers-lrcp", RAW, "num-layers=4 precincts=64x64 progression-order=lrcp", "mtu=600"),
    ("layers-rlcp", RAW, "num-layers=3 precincts=64x64 progression-order=rlcp sop=true", "mtu=600"),
    ("tile-parts", RAW, "tile-parts=resolution progression-order=rpcl precincts=64x64", "mtu=600"),
    ("tiles", RAW, "block-coder=ht tile-width=96 tile-height=64 tlm=true", "mtu=1000"),
    ("unmarked", RAW, "precincts=64x64", "mark-precincts=false"),
    ("levels", RAW, "num-resolutions=10 precincts=64x64 progression-order=rpcl", ""),
    ("reuse", RAW, "rate-control=lossless block-coder=ht", "header-reuse=true"),
    ("reuse-changes", RAW, "rate-control=cbr bits-per-pixel=2 block-coder=ht", ""),
    ("rgb", RAW.replace("I422_10LE", "GBR").replace("bt709", "sRGB"), "precincts=128x128", ""),
    ("grey", RAW.replace("I422_10LE", "GRAY8"), "precincts=32x32 progression-order=rpcl", ""),
    ("no-colours", "video/x-raw,format=GRAY8,width=64,height=64,framerate=50/1", "", ""),
    ("tff", INTERLACED + "top-field-first", "profile=broadcast-single main-level=3", ""),
    ("bff", INTERLACED + "bottom-field-first", "profile=broadcast-single main-level=3", ""),
    ("wraps", RAW, "precincts=32x32 progression-order=rpcl",
     "mtu=200 seqnum-offset=65000 eseq-offset=255 timestamp-offset=4294960000"),
    ("constant-bytes", RAW, "rate-control=cbr bits-per-pixel=2", "mtu=1000 mark-precincts=false constant-bytes=17000"),
    ("constant-fields", INTERLACED + "top-field-first", "profile=broadcast-single main-level=3", "constant-bytes=300000"),
    ("slices-low", RAW, "block-coder=ht bits-per-pixel=3 latency-profile=low", "mtu=900"),
    ("slices-ultra", RAW, "rate-control=lossless sop=true latency-profile=ultra", "mtu=300"),
    ("tiny-mtu", RAW, "precincts=64x64 sop=true progression-order=rpcl", "mtu=64"),
]


def record(folder, name, raw, encoder, payloader):
    """Returns a recording and an empty string, or None and what gst-launch-1.0 printed."""
    path = os.path.join(folder, name)
    # filesink of GStreamer 1.22 loses bytes when it writes more than 1024 pieces of memory at once.
    command = (f"gst-launch-1.0 -q videotestsrc num-buffers=5 pattern=zone-plate kx2=20 ky2=20 kt=1 ! {raw} ! "
               f"cudaj2kenc backend=cpu {encoder} ! rtpj2ksclpay {payloader} ! rtpstreampay ! identity ! filesink buffer-size=4096 location={path}")
    run = subprocess.run(command.split(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=90,
                         check=False)
    if run.returncode:
        return None, run.stdout[:2000]
    with open(path, "rb") as file:
        return file.read(), ""


def changed(data, number, change):
    """The recording with packet `number` changed; `change` gets a bytearray and returns the new bytes, or None to drop
    the packet."""
    out = b""
    for i, raw in enumerate(rfc9828.packets(data)):
        raw = change(bytearray(raw)) if i == number else raw
        if raw is not None:
            out += struct.pack(">H", len(raw)) + bytes(raw)
    return out


def flip(at, bits):
    def change(raw):
        raw[at] ^= bits
        return raw
    return change


def faults(data):
    """Yields pairs of a fault and a recording with it. The payload header follows 12 bytes of RTP header."""
    marked = next(i for i, raw in enumerate(rfc9828.packets(data)) if i and raw[13] & 128)
    yield "a lost packet", changed(data, 3, lambda raw: None)
    yield "MH of another kind", changed(data, 0, flip(12, 0x40))
    yield "TP 7", changed(data, 2, flip(12, 0x38))
    yield "another ORDH", changed(data, 0, flip(12, 1))
    yield "XTRAC 1", changed(data, 0, lambda raw: raw[:13] + bytes([raw[13] | 16]) + raw[14:20] + bytes(4) + raw[20:])
    yield "PTSTAMP without P", changed(data, 0, flip(14, 1))
    yield "reserved bits", changed(data, 0, flip(16, 2))
    yield "R in one codestream only", changed(data, 0, flip(16, 128))
    yield "colours without S", changed(data, 0, flip(16, 64))
    yield "C without R", changed(data, 0, flip(16, 32))
    yield "no ORDB", changed(data, marked, flip(13, 128))
    yield "another PID", changed(data, marked, flip(19, 1))
    yield "another RES", changed(data, marked, flip(12, 1))
    yield "POS beyond the payload", changed(data, marked, flip(16, 128))
    yield "a marker too early", changed(data, 2, flip(1, 128))
    yield "another timestamp", changed(data, 2, flip(7, 1))
    yield "another ESEQ", changed(data, 2, flip(15, 1))


def main():
    for element in ("rtpj2ksclpay", "rtpstreampay", "videotestsrc"):
        if subprocess.run(["gst-inspect-1.0", element], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          check=False).returncode:
            skip_all(f"no {element}")
    tap = Tap()
    with Folder() as folder:
        for name, raw, encoder, payloader in CASES:
            data, why = record(folder, name, raw, encoder, payloader)
            errors, checked, codestreams = rfc9828.judge(data) if data else ([why], 0, [])
            fields = 2 if "interleaved" in raw else 1
            tap.ok(not errors and len(codestreams) == 5 * fields and checked > 50, f"{name}: keeps a sender's rules",
                   "\n".join(errors[:10]) or f"{len(codestreams)} codestreams")
            if name.startswith("constant"):
                sizes, counts = rfc9828.examine(data).sizes, rfc9828.examine(data).counts
                wanted = int(payloader.rsplit("=", 1)[1]) // fields
                tap.ok(set(sizes) == {wanted} and ("mark" not in payloader or len(set(counts)) == 1),
                       f"{name}: every codestream has the same number of bytes", f"{sizes} bytes, {counts} packets")
            if name == "pcrl-sop":
                good = data
        for name, data in faults(good):
            try:
                errors = rfc9828.judge(data)[0]
            except (rfc9828.Broken, ValueError, IndexError, struct.error, StopIteration) as error:
                errors = [str(error)]
            tap.ok(errors, f"rfc9828.py finds the fault: {name}")
    tap.done()


if __name__ == "__main__":
    main()
