#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Sequences in cj2k-encode and cj2k-decode: names and ranges, the same bytes in parts and after interruptions, what
is said of frames that fail, and nothing that is left behind."""
import os
import resource
import signal
import subprocess
import time

import numpy as np

from cj2ktest import DECODE, ENCODE, Folder, Tap, write_pnm

FRAMES = 30
PERIOD = 8
CBR = ("--bits-per-pixel=2", f"--rate-period={PERIOD}", "--block-coder=ht")
IN = "in/f.%05d.ppm"
tap = Tap()


def run(*arguments, work=None, before=None):
    return subprocess.run(arguments, capture_output=True, timeout=300, check=False, cwd=work, preexec_fn=before)


def check(name, done, status, *words, good=True):
    text = done.stderr.decode(errors="replace")
    missing = [word for word in words if word not in text]
    tap.ok(done.returncode == status and good and not missing, name,
           f"status {done.returncode}, good {good}, not there: {missing}\n{text}")


def make_film(work):
    """A film whose frames need more and fewer bytes, with a cut."""
    os.mkdir(f"{work}/in")
    rng = np.random.default_rng(4)
    smooth = np.add.outer(np.arange(140), np.arange(180)) % 97
    noise = rng.integers(0, 256, (140, 180))
    for n in range(FRAMES):
        share = 0.2 + 0.6 * (n * 7 % 11) / 11 if n < 19 else 0.1
        plane = (smooth * (1 - share) + noise * share).astype(int)[n:n + 90, n:n + 120]
        write_pnm(f"{work}/in/f.{n:05d}.ppm", [plane, np.roll(plane, 3, 0), np.roll(plane, 5, 1)], 8)


def contents(folder):
    """{name: bytes} of a folder, hidden files too."""
    found = {}
    for name in os.listdir(folder):
        with open(f"{folder}/{name}", "rb") as file:
            found[name] = file.read()
    return found


def check_names(work, whole):
    done = run(ENCODE, *CBR, "f.%05d.ppm", "../plain/f.%05d.j2c", work=f"{work}/in")
    check("patterns without a folder, and a folder that is made", done, 0, good=contents(f"{work}/plain") == whole)
    done = run(ENCODE, *CBR, IN, "folder/", work=work)
    check("a folder as output", done, 0, good=contents(f"{work}/folder") == whole)
    done = run(ENCODE, *CBR, IN, "-o", "hundred%%/x%d.jph", "--frames=0-9", work=work)
    check("a percent sign, numbers without zeros", done, 0,
          good=sorted(os.listdir(f"{work}/hundred%")) == sorted(f"x{n}.jph" for n in range(10)))
    done = run(DECODE, "hundred%%/x%d.jph", "back.%03d.ppm", "--frames=4-", work=work)
    check("decoding, from a frame to the last one that is there", done, 0,
          good=[n for n in sorted(os.listdir(work)) if n.startswith("back")] == [f"back.{n:03d}.ppm" for n in range(4, 10)])
    done = run(ENCODE, *CBR, IN, "/dev/null", "--frames=3", work=work)
    check("one frame to nowhere", done, 0)
    os.mkdir(f"{work}/literal")
    os.link(f"{work}/in/f.00001.ppm", f"{work}/literal/a%d.ppm")
    done = run(ENCODE, "literal/a%d.ppm", "literal/b%d.j2c", work=work)
    check("a file with this very name is no sequence", done, 0, good=os.path.exists(f"{work}/literal/b%d.j2c"))


def check_errors(work):
    os.mkdir(f"{work}/far")
    for number in (1, 20240101):
        os.link(f"{work}/in/f.00001.ppm", f"{work}/far/g.{number}.ppm")
    for name, words, status, arguments in (
            ("a range that goes backwards", "5-3 is not a range", 2, (IN, "x/%d.j2c", "--frames=5-3")),
            ("a range of words", "one is not a range", 2, (IN, "x/%d.j2c", "--frames=one")),
            ("too many frames", "more than 10000000", 2, (IN, "x/%d.j2c", "--frames=0-99999999")),
            ("a number far behind the others", "from frame 1 to 20240101 these are more than 10000000", 2,
             ("far/g.%d.ppm", "x/%d.j2c")),
            ("the same from a first frame on", "from frame 0 to 20240101 these are", 2,
             ("far/g.%d.ppm", "x/%d.j2c", "--frames=0-")),
            ("a start behind the end", "the last file has the number 29", 2, (IN, "x/%d.j2c", "--frames=30-")),
            ("an output without a number", "one number", 2, (IN, "x.j2c")),
            ("an output with two numbers", "one number", 2, (IN, "x%d.%d.j2c")),
            ("an output with another ending", "must end in", 2, (IN, "x%d.foo")),
            ("no file of this name", "no file has a name like", 2, ("in/g%d.ppm", "x%d.j2c")),
            ("no folder of this name", "nothere", 2, ("nothere/g%d.ppm", "x%d.j2c")),
            ("--frames without a sequence", "for a sequence", 2, ("in/f.00001.ppm", "x.j2c", "--frames=0-1")),
            ("options that contradict each other", "rate-control cbr", 2, (IN, "x%d.j2c", "--rate-control=cbr")),
            ("a folder that cannot be made", "/proc/", 3, (IN, "/proc/no/x%d.j2c"))):
        check(name, run(ENCODE, *arguments, work=work), status, words,
              good=not [n for n in os.listdir(work) if n.startswith("x")])


def check_parts(work, whole):
    for first in range(0, FRAMES, 2 * PERIOD):
        last = min(first + 2 * PERIOD, FRAMES) - 1
        done = run(ENCODE, *CBR, f"--frames={first}-{last}", "--frames-in-flight=3", IN, "parts/f.%05d.j2c", work=work)
        check(f"part {first}-{last}", done, 0)
    tap.ok(contents(f"{work}/parts") == whole, "parts have the bytes of one run")
    done = run(ENCODE, *CBR, "--frames=10-29", "--first-frame=0", IN, "moved/f.%05d.j2c", work=work)
    other = run(ENCODE, *CBR, "--frames=10-17", "--first-frame=16", IN, "moved2/f.%05d.j2c", work=work)
    moved, moved2 = contents(f"{work}/moved"), contents(f"{work}/moved2")
    check("--first-frame is where the film is counted from", done, 0,
          good=other.returncode == 0 and all(moved[name] == data for name, data in moved2.items())
          and moved["f.00016.j2c"] != whole["f.00016.j2c"])


def check_default_period(work):
    """Films may be cut at multiples of 240 unless --rate-period says otherwise, which --help tells."""
    film = (CBR[0], CBR[2], IN)
    done = run(ENCODE, *film, "default/f.%05d.j2c", "--first-frame=230", work=work)
    part = run(ENCODE, *film, "part/f.%05d.j2c", "--first-frame=240", "--frames=10-29", work=work)
    never = run(ENCODE, *film, "never/f.%05d.j2c", "--first-frame=230", "--rate-period=0", work=work)
    default, part_files = contents(f"{work}/default"), contents(f"{work}/part")
    check("without --rate-period a film may be cut at 240", done, 0,
          good=part.returncode == never.returncode == 0 and default["f.00010.j2c"] != contents(f"{work}/never")["f.00010.j2c"]
          and all(default[name] == data for name, data in part_files.items()))
    text = " ".join(run(ENCODE, "--help-encode").stdout.decode().split())
    of_period = text[text.index("--rate-period"):text.index("--first-frame")]
    tap.ok("; default 240)" in of_period, "--help-encode tells this period", of_period)


def check_restart(work, whole):
    folder = f"{work}/again"
    run(ENCODE, *CBR, IN, "again/f.%05d.j2c", work=work)
    for n in (0, 3, 12, 22, 23):
        os.remove(f"{folder}/f.{n:05d}.j2c")
    with open(f"{folder}/f.00014.j2c", "r+b") as file: # a copy that broke off
        file.truncate(500)
    before = os.stat(f"{folder}/f.00002.j2c").st_mtime_ns
    done = run(ENCODE, *CBR, IN, "again/f.%05d.j2c", work=work)
    check("what is missing is made again, with the same bytes", done, 0, "24 of 30 frames are there already",
          good=contents(folder) == whole and os.stat(f"{folder}/f.00002.j2c").st_mtime_ns == before)
    done = run(ENCODE, *CBR, IN, "again/f.%05d.j2c", work=work)
    check("nothing is left to do", done, 0, "30 of 30")
    done = run(ENCODE, "--quality=50", IN, "again/f.%05d.j2c", "--overwrite", "--frames=2", work=work)
    check("--overwrite", done, 0, good=os.stat(f"{folder}/f.00002.j2c").st_mtime_ns != before)


def check_gaps(work, whole):
    os.rename(f"{work}/in/f.00011.ppm", f"{work}/away.ppm")
    write_pnm(f"{work}/in/f.00020.ppm", [np.zeros((9, 8), int)], 8)
    done = run(ENCODE, *CBR, IN, "gaps/f.%05d.j2c", work=work)
    check("a missing frame and one of another size, with a rate", done, 1, "frame 11: in/f.00011.ppm: No such file",
          "frame 20: in/f.00020.ppm: the picture is 8 x 9, 1 component of 8 bits, but frame 0 is 120 x 90",
          "failed: 11, 20 (2 of 30 frames)", "12-15, 21-23 (7 of 30 frames)",
          good=contents(f"{work}/gaps") == {n: d for n, d in whole.items() if int(n[2:7]) not in
                                            (11, 12, 13, 14, 15, 20, 21, 22, 23)})
    done = run(ENCODE, "--rate-control=lossless", IN, "gaps2/f.%05d.j2c", work=work)
    check("the same without one: only these frames", done, 1, "failed: 11, 20 (2 of 30 frames)",
          good=len(os.listdir(f"{work}/gaps2")) == FRAMES - 2)
    make = f"{work}/remade"
    os.rename(f"{work}/in", make)
    make_film(work)
    done = run(ENCODE, *CBR, IN, "gaps/f.%05d.j2c", work=work)
    check("the same command with the frames mended", done, 0, good=contents(f"{work}/gaps") == whole)


def check_same(work, whole):
    """An output that is its own input is refused, by whatever name, and nothing is changed."""
    folder = f"{work}/same"
    os.mkdir(folder)
    for n in range(3):
        os.link(f"{work}/in/f.{n:05d}.ppm", f"{folder}/x.{n}.ppm")
        with open(f"{folder}/y.{n}.j2c", "wb") as file:
            file.write(whole[f"f.{n:05d}.j2c"])
    os.symlink("same", f"{work}/other")
    os.symlink("x.1.ppm", f"{folder}/z.1.j2c")
    before = contents(folder)
    as_j2c, named = "--output-format=j2c", "would be overwritten by its own result"
    for name, words, arguments in (
            ("encoding", "same/x.0.ppm", (ENCODE, as_j2c, "same/x.%d.ppm", "same/x.%d.ppm")),
            ("encoding by another pattern", "same/x.0.ppm", (ENCODE, as_j2c, "same/x.%d.ppm", "same/x.%01d.ppm")),
            ("encoding by another folder", "same/x.0.ppm", (ENCODE, as_j2c, "same/x.%d.ppm", "other/../other/x.%d.ppm")),
            ("encoding by a link", "same/x.1.ppm", (ENCODE, "same/x.%d.ppm", "same/z.%d.j2c", "--frames=0-2")),
            ("encoding in two passes", "same/x.0.ppm", (ENCODE, as_j2c, "same/x.%d.ppm", "same/x.%d.ppm", "--pass=both",
                                                        "--average-bitrate=600", "--framerate=25", "--progress")),
            ("decoding", "same/y.0.j2c", (DECODE, "--output-format=ppm", "same/y.%d.j2c", "same/y.%d.j2c", "--overwrite")),
            ("decoding to its folder", "same/y.0.j2c", (DECODE, "--output-format=ppm", "same/y.%d.j2c", "other/y.%d.j2c"))):
        done = run(*arguments, work=work)
        check(f"{name} onto the input", done, 2, named, words, good=contents(folder) == before
              and b"frames in" not in done.stderr)


def write_pgx(path, planes):
    """A file for each component."""
    for c, plane in enumerate(planes):
        with open(f"{path}_{c}.pgx", "wb") as file:
            file.write(b"PG ML + 8 %d %d\n" % (plane.shape[1], plane.shape[0]) + plane.astype("u1").tobytes())


def check_pgx(work):
    """PGX pictures have a file a component: their sequences are found, and what was decoded is not decoded again."""
    os.mkdir(f"{work}/pgx")
    for n in range(9, 12):
        write_pgx(f"{work}/pgx/p.{n}", [np.full((8, 9), 10 * n + c) for c in range(3)])
    done = run(ENCODE, "--rate-control=lossless", "pgx/p.%d.pgx", "pgx/q.%d.j2c", work=work)
    check("a sequence of PGX components", done, 0, good=[os.path.exists(f"{work}/pgx/q.{n}.j2c") for n in range(8, 13)]
          == [False, True, True, True, False])
    for name, out, options in (("by ending", "back.%d.pgx", ()), ("by --output-format", "back.%d.x", ("--output-format=pgx",))):
        done = run(DECODE, "pgx/q.%d.j2c", f"pgx/{out}", *options, work=work)
        before = contents(f"{work}/pgx")
        again = run(DECODE, "pgx/q.%d.j2c", f"pgx/{out}", *options, work=work)
        check(f"PGX that is there is skipped, {name}", again, 0, "3 of 3 frames are there already",
              good=done.returncode == 0 and contents(f"{work}/pgx") == before)
    with open(f"{work}/pgx/p.10_2.pgx", "rb") as one, open(f"{work}/pgx/back.10_2.pgx", "rb") as two:
        tap.ok(one.read() == two.read(), "the components come back")
    done = run(DECODE, "pgx/q.%d.j2c", "pgx/back.%d.ppm", work=work)
    check("another format is not there", done, 0, good=os.path.exists(f"{work}/pgx/back.10.ppm"))


def check_broken(work, whole):
    os.mkdir(f"{work}/broken")
    for name, data in whole.items():
        with open(f"{work}/broken/{name}", "wb") as file:
            file.write(b"nothing" if name == "f.00007.j2c" else data)
    done = run(DECODE, "broken/f.%05d.j2c", "shown/f.%05d.ppm", work=work)
    check("decoding with a frame that is no codestream", done, 1, "frame 7: broken/f.00007.j2c: ", "failed: 7 (1 of 30",
          good=len(os.listdir(f"{work}/shown")) == FRAMES - 1)


def small_files():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))


def check_full(work, whole):
    done = run(ENCODE, *CBR, IN, "full/f.%05d.j2c", work=work, before=small_files)
    check("no room for the files", done, 3, ".j2c: File too large", "stopped with",
          "the same command goes on from there", good=os.listdir(f"{work}/full") == [])
    done = run(ENCODE, *CBR, IN, "full/f.%05d.j2c", work=work)
    check("the same command when there is room", done, 0, good=contents(f"{work}/full") == whole)


def check_killed(work, whole):
    """SIGKILL at several moments: only whole files under their names; the next run removes the rest and goes on."""
    host, space = os.uname().nodename, os.stat("/proc/self/ns/pid").st_ino
    for attempt in range(4):
        folder = f"killed{attempt}"
        process = subprocess.Popen([ENCODE, *CBR, IN, f"{folder}/f.%05d.j2c"], cwd=work, stderr=subprocess.DEVNULL)
        end = time.monotonic() + 60
        while time.monotonic() < end and process.poll() is None and not (
                os.path.isdir(f"{work}/{folder}") and len(os.listdir(f"{work}/{folder}")) > attempt * 4):
            time.sleep(0.0005)
        process.kill()
        process.wait()
        found = contents(f"{work}/{folder}")
        good = all(whole[name] == data for name, data in found.items() if not name.startswith("."))
        with open(f"{work}/{folder}/.cj2k-{host}-{space}-{process.pid}-ABCDEF", "wb") as file:
            file.write(b"left by the process that was killed")
        done = run(ENCODE, *CBR, IN, f"{folder}/f.%05d.j2c", work=work)
        check(f"killed with {len(found)} files", done, 0, good=good and contents(f"{work}/{folder}") == whole)
    kept = [f".cj2k-{host}-{space}-{os.getpid()}-ABCDEF", f".cj2k-{host}-{space + 1}-{process.pid}-ABCDEF"]
    for name in kept:
        with open(f"{work}/killed0/{name}", "wb") as file:
            file.write(b"of a process that lives")
    done = run(ENCODE, *CBR, IN, "killed0/f.%05d.j2c", work=work)
    check("files of a process that lives, and of another name space, stay", done, 0,
          good=all(os.path.exists(f"{work}/killed0/{name}") for name in kept))


def check_progress(work):
    done = run(ENCODE, *CBR, IN, "/dev/null", "--progress", work=work)
    check("--progress", done, 0, "30 frames in ", " frames/s")
    done = run(ENCODE, *CBR, IN, "/dev/null", work=work)
    check("nothing is printed where standard error is no terminal", done, 0, good=not done.stderr)


def main():
    with Folder() as work:
        make_film(work)
        done = run(ENCODE, *CBR, IN, "whole/f.%05d.j2c", "--frames-in-flight=1", work=work)
        whole = contents(f"{work}/whole")
        check("a sequence", done, 0, good=sorted(whole) == [f"f.{n:05d}.j2c" for n in range(FRAMES)])
        single = run(ENCODE, *CBR, f"in/f.{PERIOD:05d}.ppm", "single.j2c", work=work)
        with open(f"{work}/single.j2c", "rb") as file:
            check("a period begins like a film of its own", single, 0, good=file.read() == whole[f"f.{PERIOD:05d}.j2c"])
        check_names(work, whole)
        check_errors(work)
        check_parts(work, whole)
        check_default_period(work)
        check_restart(work, whole)
        check_gaps(work, whole)
        check_same(work, whole)
        check_pgx(work)
        check_broken(work, whole)
        check_full(work, whole)
        check_killed(work, whole)
        check_progress(work)
    tap.done()


main()
