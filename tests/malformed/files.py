#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs cj2k-decode on files that have crashed decoders.

The tool decodes it (0) or says why not (1, one reason on standard error): in under 10 s, with less
than 1 GiB, killed by no signal and without a sanitizer's report.
"""
import os
import re

from cj2ktest import MEMORY_FACTOR, Folder, Tap, decode, shared_folder, skip_all

SANITIZER = re.compile(r"(Address|Leak|Memory|Thread)Sanitizer|runtime error:")


def judge(run):
    if run.timed_out:
        return "too slow"
    if run.status not in (0, 1):
        return "neither decoded nor refused"
    if SANITIZER.search(run.stderr):
        return "sanitizer report"
    if run.status == 1 and not run.stderr.strip():
        return "refused without a reason"
    if run.peak > MEMORY_FACTOR << 30:
        return "too much memory"
    return None


def main():
    folder = shared_folder("malformed") or skip_all("no malformed files; CJ2K_SHARED names their folder")
    tap = Tap()
    for name in sorted(os.listdir(folder)):
        if name.endswith((".jp2", ".j2k", ".jpc", ".jph", ".j2c")):
            for options in ((), ("--strict",)):
                with Folder() as work:
                    run = decode(os.path.join(folder, name), f"{work}/out.raw", *options,
                                 timeout=10 * MEMORY_FACTOR)
                why = judge(run)
                tap.ok(why is None, " ".join((name, *options)), f"{why}\n{run}")
    tap.done()


main()
