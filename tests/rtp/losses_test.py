#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests measure-losses and losses.py with a film of noise on slopes: no loss leaves all frames perfect, and losses are
accounted for.

losses_test.py MEASURE-LOSSES
"""
import os
import subprocess
import sys

import numpy as np

from cj2ktest import Folder, Tap, skip_all

FRAMES, SEEDS = 6, 3
ENCODER = "block-coder=ht precincts=64x64 progression-order=rpcl sop=true"
WAYS = [("RFC 5371", "rtpj2kpay mtu=400", "rtpj2kdepay"), ("RFC 9828", "rtpj2ksclpay mtu=400", "rtpj2kscldepay"),
        ("FEC", "fec=5 rtpj2ksclpay mtu=400 ssrc=0", "rtpj2kscldepay reorder-window=500")]


def have(element):
    return subprocess.run(["gst-inspect-1.0", element], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          check=False).returncode == 0


def main():
    if not have("rtpj2ksclpay"):
        skip_all("no rtpj2ksclpay")
    tap = Tap()
    random = np.random.default_rng(1)
    with Folder() as work:
        with open(f"{work}/film.raw", "wb") as film:
            for i in range(FRAMES):
                luma = np.add.outer(3 * np.arange(96), 2 * np.arange(160)) + 5 * i + random.integers(0, 60, (96, 160))
                film.write(luma.astype("<u2").tobytes() + np.full((96, 160), 512, "<u2").tobytes())
        for name, payloader, depayloader in WAYS:
            needed = [payloader.split()[-3 if "fec" in payloader else 0], depayloader.split()[0]]
            needed += ["rtpst2022-1-fecenc"] if "fec" in payloader else []
            lacking = [element for element in needed if not have(element)]
            if lacking:
                tap.skip(name, f"no {lacking[0]}")
                continue
            run = subprocess.run([sys.argv[1], f"{work}/film.raw", "160x96", ENCODER, payloader, depayloader,
                                  "conceal=previous", str(SEEDS), "uniform:0", "uniform:0.05", "double:0.1"],
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=100, check=False,
                                 env=dict(os.environ, G_DEBUG=""))
            hits = {words[1]: list(map(int, words[2:])) for words in map(str.split, run.stdout.splitlines())
                    if words and words[0] == "hit"}
            count = FRAMES * SEEDS
            good = run.returncode == 0 and hits.get("uniform:0") == [count, count, 0, 0]
            good &= sum(hits.get("uniform:0.05", [0, 0])[1:]) == count
            if "scl" in payloader:
                good &= hits.get("double:0.1") == [count, count, 0, 0] and (
                    "fec" in payloader or hits["uniform:0.05"][2] > 0)
            tap.ok(good, name, run.stdout[-1500:])
    tap.done()


if __name__ == "__main__":
    main()
