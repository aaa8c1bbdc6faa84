#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""cj2k-encode with the faults of the file that CJ2K_FARM_FAULTS names, a JSON object:

    log            a file that gets a line "FIRST-LAST" for each call
    pause          seconds between two halves of a part
    pause_parts    first frames of the parts that pause (default: all)
    kill_worker    number of a frame at which the worker is killed
    crash          number of a frame at which this program crashes
"""
import json
import os
import re
import signal
import subprocess
import sys
import time

REAL = os.environ["CJ2K_REAL_ENCODE"]


def faults():
    try:
        with open(os.environ["CJ2K_FARM_FAULTS"], encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return {}


def main():
    frames = next((re.fullmatch(r"--frames=(\d+)-(\d+)", a) for a in sys.argv if a.startswith("--frames=")), None)
    if frames:
        first, last = int(frames[1]), int(frames[2])
        plan = faults()
        if "log" in plan:
            with open(plan["log"], "a", encoding="utf-8") as log:
                log.write(f"{first}-{last}\n")
        if first <= plan.get("kill_worker", -1) <= last:
            os.kill(os.getppid(), signal.SIGKILL)
        if first <= plan.get("crash", -1) <= last:
            os.kill(os.getpid(), signal.SIGSEGV)
        if plan.get("pause") and first in plan.get("pause_parts", [first]):
            half = f"--frames={first}-{(first + last) // 2}"
            subprocess.run([REAL, *(half if a.startswith("--frames=") else a for a in sys.argv[1:])], check=False)
            time.sleep(plan["pause"])
    os.execv(REAL, [REAL, *sys.argv[1:]])


main()
