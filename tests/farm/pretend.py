#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Takes the place of cj2k-encode for speed.py --pretend: waits as long as a GPU of CJ2K_PRETEND frames/s would work, and
gives each frame the codestream CJ2K_PRETEND_FRAME."""
import os
import re
import shutil
import sys
import time

names = [word for word in sys.argv[1:] if not word.startswith("-")]
frames = next((re.fullmatch(r"--frames=(\d+)-(\d+)", word) for word in sys.argv if word.startswith("--frames=")), None)
if frames:
    first, last = int(frames[1]), int(frames[2])
    begun = time.monotonic()
    for number in range(first, last + 1):
        shutil.copyfile(os.environ["CJ2K_PRETEND_FRAME"], names[1] % number)
        time.sleep(max(0, begun + (number - first + 1) / float(os.environ["CJ2K_PRETEND"]) - time.monotonic()))
