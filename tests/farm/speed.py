#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""speed.py [OPTION...] [-- ENCODER-OPTION...]: frames/s of cj2k-farm over the number of workers.

Makes a film in memory-backed files, has it encoded by cj2k-encode alone and by cj2k-farm, and prints a table with tabs:
workers, frames/s, seconds until the first part began, frames/s of the join, bytes of a frame, processor time of a frame in
ms, and whether the codestreams are those of cj2k-encode alone. CJ2K_ENCODE names cj2k-encode.
"""
import argparse
import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import film

FARM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/farm/cj2k-farm")
ENCODE = os.environ.get("CJ2K_ENCODE", "cj2k-encode")


def arguments():
    words = sys.argv[1:]
    words, options = (words[:words.index("--")], words[words.index("--") + 1:]) if "--" in words else (words, [])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=960)
    parser.add_argument("--distinct", type=int, default=48, help="pictures; the frames are links to them in turn")
    parser.add_argument("--size", default="1920x1080")
    parser.add_argument("--format", choices=film.FORMATS, default="ppm8")
    parser.add_argument("--workers", default="1,2", help="numbers, separated by commas")
    parser.add_argument("--part", type=int, default=240)
    parser.add_argument("--period", type=int, default=240)
    parser.add_argument("--out", default="film.j2c", help="name of the result; its ending says what is made")
    parser.add_argument("--folder", default="/dev/shm")
    parser.add_argument("--pretend", type=float, help="frames/s of encoders that only wait, to measure cj2k-farm itself")
    made = parser.parse_args(words)
    made.options = options
    return made


class Busy:
    """Processor time of the programs that ran since, all of them children of this one."""

    def __init__(self):
        self.begun, self.used = time.monotonic(), self._used()

    @staticmethod
    def _used():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    def a_frame(self, frames):
        """Milliseconds of processor time for each frame."""
        return (self._used() - self.used) * 1000 / frames


def run_farm(given, work, workers, alone):
    busy = Busy()
    command = [sys.executable, FARM, f"{work}/in/f.%07d{film.ending(given.format)}", f"{work}/{given.out}", "--json",
               f"--workers={workers}", f"--part={given.part}", f"--rate-period={given.period}", "--", *given.options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    events = {e["event"]: e for e in map(json.loads, done.stdout.splitlines())}
    if done.returncode:
        sys.exit(f"{done.stdout[-2000:]}\n{done.stderr}")
    with open(f"{work}/{given.out}.json", encoding="utf-8") as file:
        parts = json.load(file)["parts"]
    same = all(part["sha256"] == hashlib.sha256(b"".join(alone[part["first"]:part["last"] + 1])).hexdigest() for part in parts)
    seconds = events["end"]["seconds"] - events["join"]["seconds"]
    os.unlink(f"{work}/{given.out}")
    os.unlink(f"{work}/{given.out}.json")
    return (f"{events['summary']['frames_per_second']:.1f}\t{events['begin']['seconds']:.1f}\t{given.frames / seconds:.0f}\t"
            f"{events['summary']['bytes'] // given.frames}\t{busy.a_frame(given.frames):.1f}\t{'same' if same else 'OTHER BYTES'}")


def run_alone(given, work):
    """The row of cj2k-encode alone, and the hashes of its codestreams."""
    os.mkdir(f"{work}/alone")
    busy = Busy()
    done = subprocess.run([ENCODE, *given.options, f"--rate-period={given.period}",
                           f"{work}/in/f.%07d{film.ending(given.format)}", f"{work}/alone/%07d.j2c",
                           f"--frames=0-{given.frames - 1}"], check=False,
                          stderr=subprocess.PIPE, text=True)
    seconds, milliseconds = time.monotonic() - busy.begun, busy.a_frame(given.frames)
    if done.returncode:
        sys.exit(done.stderr[-2000:])
    size, made = 0, []
    for number in range(given.frames):
        with open(f"{work}/alone/{number:07d}.j2c", "rb") as file:
            data = file.read()
        size += len(data)
        made.append(hashlib.sha256(data).digest())
    shutil.rmtree(f"{work}/alone")
    return f"{given.frames / seconds:.1f}\t\t\t{size // given.frames}\t{milliseconds:.1f}\t", made


def pretend(given, work):
    """Encoders that only wait take the place of cj2k-encode."""
    global ENCODE  # pylint: disable=global-statement
    frame = f"{work}/frame.j2c"
    subprocess.run([ENCODE, *given.options, f"{work}/in/f.0000000{film.ending(given.format)}", frame], check=True)
    ENCODE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pretend.py")
    os.environ.update(CJ2K_ENCODE=ENCODE, CJ2K_PRETEND=str(given.pretend), CJ2K_PRETEND_FRAME=frame)


def main():
    given = arguments()
    work = tempfile.mkdtemp(prefix="cj2k-speed-", dir=given.folder)
    try:
        film.make(f"{work}/in", given.distinct, given.size, given.format)
        for number in range(given.distinct, given.frames):
            name = "{0}/in/f.{1:07d}" + film.ending(given.format)
            os.symlink(name.format(work, number % given.distinct), name.format(work, number))
        print("workers\tframes/s\tstart, s\tjoin, frames/s\tbytes\tms\tcodestreams", flush=True)
        if given.pretend:
            pretend(given, work)
        row, alone = run_alone(given, work)
        print(f"cj2k-encode alone\t{row}", flush=True)
        for workers in given.workers.split(","):
            print(f"{workers}\t{run_farm(given, work, workers, alone)}", flush=True)
    finally:
        shutil.rmtree(work)


main()
