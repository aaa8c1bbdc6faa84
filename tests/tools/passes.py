#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Two passes of cj2k-encode over a film with cuts: its bytes are shared out so that the average, the peak and the
window hold and the worst frame gains; parts have the bytes of one run; what is said of wrong options and files."""
import os
import subprocess

import numpy as np

from cj2ktest import DECODE, ENCODE, Folder, Tap, read_pnm, write_pnm

FRAMES = 60
RATE = 3000  # bytes of an average frame at 600 kbit/s
IN = "in/f.%03d.ppm"
AVERAGE = ("--average-bitrate=600", "--framerate=25", "--backend=cpu", "--rate-period=8")
tap = Tap()


def encode(work, out, *options, good=True):
    """Runs the encoder; sizes of the frames."""
    done = subprocess.run([ENCODE, IN, f"{out}/f.%03d.j2c", *AVERAGE, *options], capture_output=True, timeout=300,
                          check=False, cwd=work, text=True)
    if good and done.returncode:
        print("#", done.stderr)
    return done


def streams(work, out):
    files = {}
    for name in sorted(os.listdir(f"{work}/{out}")):
        with open(f"{work}/{out}/{name}", "rb") as file:
            files[name] = file.read()
    return files


def make_film(work):
    """Five scenes that move, from smooth to hard, with cuts between them."""
    os.mkdir(f"{work}/in")
    rng = np.random.default_rng(9)
    noise = rng.integers(0, 256, (3, 140, 260))
    smooth = np.add.outer(np.arange(140), np.arange(260)) % 199
    for n in range(FRAMES):
        share = (0.1, 0.5, 0.02, 0.8, 0.2)[n * 5 // FRAMES]
        planes = [(smooth * (1 - share) + plane * share).astype(int)[n // 2:n // 2 + 80, n:n + 120] for plane in noise]
        write_pnm(f"{work}/{IN % n}", planes, 8)


def worst(work, out):
    """PSNR in dB of the worst frame."""
    subprocess.run([DECODE, f"{out}/f.%03d.j2c", f"{out}-back/f.%03d.ppm"], check=True, cwd=work, capture_output=True)
    errors = []
    for n in range(FRAMES):
        before, after = (np.array(read_pnm(f"{work}/{name}")[0]) for name in (IN % n, f"{out}-back/f.{n:03d}.ppm"))
        errors.append(((before - after) ** 2).mean())
    return 10 * np.log10(255 ** 2 / max(errors))


def keeps_window(sizes, window):
    """Any k frames take at most k + window times the average: that is, the bucket never overflows."""
    level = 0
    for size in sizes:
        level = max(level + size - RATE, 0)
        if level > window * RATE:
            return False
    return True


def check_shares(work, coder):
    own = f"--block-coder={coder}"
    subprocess.run([ENCODE, IN, f"cbr-{coder}/f.%03d.j2c", "--bitrate=600", "--framerate=25", "--backend=cpu", own], check=True,
                   cwd=work, capture_output=True, timeout=300)
    done = encode(work, f"both-{coder}", own, "--pass=both", "--bitrate=1500", "--stats=both.txt")
    sizes = [len(data) for data in streams(work, f"both-{coder}").values()]
    total = sum(sizes) / (FRAMES * RATE)
    tap.ok(done.returncode == 0 and len(sizes) == FRAMES and 0.95 < total <= 1 and max(sizes) <= 2.5 * RATE and
           max(sizes) > 1.5 * RATE, f"{coder}: average and peak", f"{total}, {max(sizes) / RATE}")
    gain = worst(work, f"both-{coder}") - worst(work, f"cbr-{coder}")
    tap.ok(gain > 1, f"{coder}: the worst frame gains", f"{gain} dB")
    done = encode(work, f"window-{coder}", own, "--pass=both", "--average-window=16")
    sizes = [len(data) for data in streams(work, f"window-{coder}").values()]
    tap.ok(done.returncode == 0 and keeps_window(sizes, 16), f"{coder}: the window", sizes)
    return streams(work, f"both-{coder}")


def check_parts(work, coder, whole):
    options = (f"--block-coder={coder}", "--bitrate=1500", "--stats=one.txt")
    done = encode(work, "none", *options, "--pass=1")
    tap.ok(done.returncode == 0 and not os.path.exists(f"{work}/none"), f"{coder}: the first pass writes no frame")
    for first in range(0, FRAMES, 24):
        encode(work, f"parts-{coder}", *options, "--pass=2", f"--frames={first}-{min(first + 23, FRAMES - 1)}",
               "--frames-in-flight=3", "--num-threads=2")
    tap.ok(streams(work, f"parts-{coder}") == whole, f"{coder}: parts have the bytes of one run")


def check_gaps(work):
    """Frames that are missing or broken, samples of the search among them, cost themselves and the rest of their period."""
    gone = (3, 30)
    for n in gone:
        os.rename(f"{work}/{IN % n}", f"{work}/kept{n}")
    with open(f"{work}/{IN % 30}", "wb") as file:
        file.write(b"P6\n10 10\n255\n")
    one = encode(work, "none", "--pass=1", "--stats=gaps.txt", good=False)
    with open(f"{work}/gaps.txt", encoding="utf-8") as file:
        numbers = [int(line.split()[0]) for line in file if line[0].isdigit()]
    tap.ok(one.returncode == 1 and numbers == [n for n in range(FRAMES) if n not in gone] and
           one.stderr.count("frame 3: ") < 3, "the first pass goes on without frames that fail",
           f"{one.returncode} {numbers} {one.stderr}")
    both = encode(work, "gaps", "--pass=both", "--stats=gaps2.txt", good=False)
    left_out = [n for n in range(FRAMES) if 3 <= n < 8 or 30 <= n < 32]
    names = [f"f.{n:03d}.j2c" for n in range(FRAMES) if n not in left_out]
    tap.ok(both.returncode == 1 and list(streams(work, "gaps")) == names, "so does the second one", both.stderr)
    for n in gone:
        os.rename(f"{work}/kept{n}", f"{work}/{IN % n}")
    done = encode(work, "none", "--pass=1", "--stats=none.txt", "--frames=70-72", good=False)
    tap.ok(done.returncode == 1 and not os.path.exists(f"{work}/none.txt"), "no frame at all: no statistics", done.stderr)


def check_no_room(work):
    """Statistics that cannot be written stop the run: before the pass if the file cannot be opened."""
    for path, words, begun in (("nowhere/one.txt", "nowhere/one.txt: No such file", False),
                               ("/dev/full", "/dev/full: No space left", True)):
        for number in ("1", "both"):
            done = encode(work, "no-room", f"--pass={number}", f"--stats={path}", "--progress", good=False)
            tap.ok(done.returncode == 3 and words in done.stderr and "--help" not in done.stderr and
                   ("frames in" in done.stderr) == begun and not os.path.exists(f"{work}/no-room"),
                   f"--pass={number} with statistics to {path}", f"{done.returncode} {done.stderr}")


def check_errors(work):
    with open(f"{work}/one.txt", encoding="utf-8") as file:
        lines = file.read().splitlines()
    for name, text in (("short", lines[:9] + lines[-1:]), ("order", lines[:3] + lines[2:]), ("size", lines[:-1]),
                       ("words", lines[:5] + ["4 many"] + lines[6:]), ("title", lines[1:])):
        with open(f"{work}/{name}.txt", "w", encoding="utf-8") as file:
            file.write("\n".join(text) + "\n")
    for name, status, words, options in (
            ("a frame that the statistics lack", 1, "do not have this frame", ("--pass=2", "--stats=short.txt")),
            ("a frame twice", 2, "order.txt, line 4", ("--pass=2", "--stats=order.txt")),
            ("statistics without an end", 2, "size.txt", ("--pass=2", "--stats=size.txt")),
            ("statistics of words", 2, "words.txt, line 6", ("--pass=2", "--stats=words.txt")),
            ("another file", 2, "title.txt, line 1", ("--pass=2", "--stats=title.txt")),
            ("no file", 2, "nothere.txt", ("--pass=2", "--stats=nothere.txt")),
            ("no statistics", 2, "need --stats", ("--pass=1",)),
            ("statistics without a pass", 2, "--stats needs", ("--stats=one.txt",)),
            ("a third pass", 2, "must be 1, 2 or both", ("--pass=3", "--stats=one.txt")),
            ("a quality", 2, "needs no second pass", ("--pass=both", "--quality=80")),
            ("no average", 2, "needs --average-bitrate", ("--pass=both", "--average-bitrate=0")),
            ("the reversible transform", 2, "--reversible-transform", ("--pass=both", "--reversible-transform")),
            ("a frame that cannot be read", 1, "frame 60", ("--pass=both", "--frames=0-60"))):
        done = encode(work, "error-" + name.replace(" ", "-"), *options, good=False)
        tap.ok(done.returncode == status and words in done.stderr, f"{name}: an error", f"{done.returncode} {done.stderr}")
    done = subprocess.run([ENCODE, IN % 0, "x.j2c", "--pass=both"], capture_output=True, check=False, cwd=work, text=True)
    tap.ok(done.returncode == 2 and "for a sequence" in done.stderr, "one picture: an error", done.stderr)


def main():
    with Folder() as work:
        make_film(work)
        for coder in ("ht", "mq"):
            whole = check_shares(work, coder)
            check_parts(work, coder, whole)
        check_gaps(work)
        check_no_room(work)
        check_errors(work)
    tap.done()


main()
