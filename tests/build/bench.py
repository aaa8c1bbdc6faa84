#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""bench.py CJ2K-BENCH: tests the programs that produce the GPU's figures, on the CPU and with made-up figures."""
import fcntl
import json
import os
import pathlib
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLES = ROOT / "tests" / "gpu-bench-table.py"
SIDES = 40, 24


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def bench(*arguments):
    """The JSON objects that cj2k-bench prints; None: it failed."""
    result = run(sys.argv[1], *arguments, "--backend=cpu", "--frames=3", "--in-flight=2")
    return [json.loads(line) for line in result.stdout.splitlines()] if result.returncode == 0 else None


def write_picture(path, side):
    samples = bytes((x * y + x) % 251 for y in range(side) for x in range(side))
    path.write_bytes(b"P5\n%d %d\n255\n" % (side, side) + samples)


def check_files(folder):
    """Decodes files separately, and as parts of one frame."""
    pictures = [folder / f"{side}.pgm" for side in SIDES]
    streams = [folder / f"{side}.j2k" for side in SIDES]
    for picture, stream, side in zip(pictures, streams, SIDES):
        write_picture(picture, side)
        bench("encode", "--rate-control=lossless", f"--write={stream}", str(picture))
    sizes = [stream.stat().st_size for stream in streams]
    for operation, files in ("encode", pictures), ("decode", streams):
        options = ["--rate-control=lossless"] if operation == "encode" else []
        alone = bench(operation, *options, *map(str, files))
        yield f"{operation}: each file by itself", alone and [one["bytes"] for one in alone] == sizes
        together = bench(operation, *options, "--together", *map(str, files))
        yield (f"{operation}: all files as one frame", together and len(together) == 1 and
               together[0]["frames"] == 3 and together[0]["bytes"] == sum(sizes))
    missing = bench("decode", "--together", str(streams[0]), str(folder / "none.j2k"))
    yield "a file that is not there", missing is None


def check_live(folder):
    """Streams side by side: every frame is counted in both directions, of a made picture and of a file."""
    picture = folder / "wide.pgm"
    samples = bytes((x * y + x) % 251 for y in range(160) for x in range(240))
    picture.write_bytes(b"P5\n240 160\n255\n" + samples)
    for name, options in (("a made picture", ["--size=160x90"]), ("a file", ["--size=96x64", str(picture)])):
        for direction in ("both", "encode", "decode"):
            lines = bench("live", "--streams=2", "--fps=200", f"--direction={direction}", "--block-coder=ht",
                          "--bits-per-pixel=3", *options)
            found = lines and {key: lines[0][key]["frames"] for key in ("encode", "decode") if key in lines[0]}
            wanted = {key: 6 for key in ("encode", "decode") if direction in (key, "both")}
            yield f"live: {direction} of {name}", found == wanted
    moving = bench("encode", "--moving=96x64", "--block-coder=ht", "--bits-per-pixel=3", str(picture))
    still = bench("encode", "--block-coder=ht", "--bits-per-pixel=3", str(picture))
    yield "encode --moving: frames of the window's size", (moving and still and
                                                           0 < moving[0]["bytes"] <= 96 * 64 * 3 / 8 < still[0]["bytes"])
    yield "encode --moving: no file is needed", bool(bench("encode", "--moving=160x90", "--block-coder=ht"))
    yield "encode --moving: not a size", bench("encode", "--moving=96", str(picture)) is None
    yield "encode: a file is needed otherwise", bench("encode") is None
    yield "live: a window larger than its file", bench("live", "--size=999x999", str(picture)) is None


def wait_for(condition):
    """Whether it became true within 20 seconds."""
    end = time.monotonic() + 20
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return bool(condition())


def children_of(process):
    with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
        return [int(pid) for pid in file.read().split()]


def start_processes(picture, *options):
    """Two processes that wait for the picture, which is a FIFO; their numbers."""
    process = subprocess.Popen([sys.argv[1], "live", "--processes=2", "--backend=cpu", "--fps=200", "--block-coder=ht",
                                "--threads=1", *options, str(picture)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True)
    wait_for(lambda: len(children_of(process)) == 2)
    return process, children_of(process)


def is_read(file):
    """Whether nothing is left in a FIFO."""
    return struct.unpack("i", fcntl.ioctl(file, termios.FIONREAD, bytes(4)))[0] == 0


def finish(process):
    """Exit status, output and messages; None: it hung."""
    try:
        out, messages = process.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()
        return None
    return process.returncode, out.splitlines(), messages


def has_open(pid, path):
    folder = f"/proc/{pid}/fd"
    try:
        return any(os.readlink(f"{folder}/{fd}") == str(path) for fd in os.listdir(folder))
    except FileNotFoundError: # the process has ended, or closed a file meanwhile
        return os.path.exists(folder) and has_open(pid, path)


def feed(picture, data, reader):
    """Lets a process read the FIFO, which goes on if it was stopped; others that would are stopped."""
    with open(picture, "r+b", buffering=0) as file: # opening it so does not wait for a reader
        file.write(data)
        os.kill(reader, signal.SIGCONT)
        wait_for(lambda: is_read(file))
    wait_for(lambda: not has_open(reader, picture))


def check_meeting(picture, data):
    """Two processes: one is stopped before it is ready, and the other one must wait for it."""
    process, children = start_processes(picture, "--frames=3")
    os.kill(children[0], signal.SIGSTOP)
    feed(picture, data, children[1])
    early = select.select([process.stdout], [], [], 1.5)[0] # 63 frames take 0.3 seconds
    waits = process.poll() is None
    feed(picture, data, children[0])
    ended = finish(process)
    lines = [json.loads(line) for line in ended[1]] if ended and ended[0] == 0 else []
    yield "live --processes: none begins before all are ready", not early and waits
    yield ("live --processes: each counts its frames", len(lines) == 2 and all(
        line["processes"] == 2 and line["encode"]["frames"] == line["decode"]["frames"] == 3 for line in lines))


def check_deaths(picture, data):
    """A process that dies before it is ready, or later, ends the others."""
    for when in "before it is ready", "while it runs":
        process, children = start_processes(picture, "--frames=100000")
        if when == "while it runs":
            os.kill(children[0], signal.SIGSTOP)
            feed(picture, data, children[1])
            feed(picture, data, children[0])
            time.sleep(1)
        os.kill(children[1], signal.SIGKILL)
        ended = finish(process)
        gone = wait_for(lambda pids=children: not any(os.path.exists(f"/proc/{pid}") for pid in pids))
        yield (f"live --processes: one is killed {when}", ended is not None and ended[0] == 1 and not ended[1] and
               "process 1: Killed" in ended[2] and gone)
    wrong = run(sys.argv[1], "live", "--processes=2", "--backend=cpu", "--size=64x64", "--rate-control=cbr")
    yield "live --processes: one that cannot begin", wrong.returncode == 1 and "has failed" in wrong.stderr
    yield "live --processes: none", run(sys.argv[1], "live", "--processes=0").returncode == 2


def check_processes(folder):
    picture = folder / "film.pgm"
    os.mkfifo(picture)
    data = b"P5\n160 90\n255\n" + bytes((x * y + x) % 251 for y in range(90) for x in range(160))
    yield from check_meeting(picture, data)
    yield from check_deaths(picture, data)


def check_elements():
    """The elements code as many frames as the library, to the same number of bytes."""
    options = ["--streams=2", "--fps=100", "--size=160x90", "--block-coder=ht", "--bits-per-pixel=3"]
    usage = run(sys.argv[1], "live", "--elements", *options, "--backend=cpu", "--frames=3", "--in-flight=2")
    if usage.returncode == 2 and "without GStreamer" in usage.stderr:
        yield "live --elements # SKIP this build is without GStreamer", True
        return
    for direction in ("both", "encode", "decode"):
        library = bench("live", *options, f"--direction={direction}")
        elements = bench("live", "--elements", *options, f"--direction={direction}")
        same = library and elements and all(
            library[0].get(key) == elements[0].get(key) for key in ("backend", "bytes", "width", "in_flight")) and all(
                library[0][key]["frames"] == elements[0][key]["frames"] for key in ("encode", "decode") if key in library[0])
        yield f"live --elements: {direction}, the frames and bytes of the library", same
    yield "live --elements with a file that is no raw video", bench("live", "--elements", __file__) is None


PAGES = "performance.md", "deployment.md"


def check_tables(folder):
    """Every table has its markers in a page, every pair of markers a table, figures are in their cells, and a table
    without figures stays as it is."""
    log, pages = folder / "log", [folder / name for name in PAGES]
    log.write_text('  12 bench dec.ht_1bpp.device.4: {"fps":600.0}\nbench dec.ht_1bpp.device.8: {"fps":500.0}\n'
                   "bench nv.dec.ht_1bpp.16: dec a.j2k bytes 9 threads 16 d2h 0: 300.0 fps  3.333 ms/frame\n"
                   'bench host: {"cores":16,"cpu":"x"}\n', encoding="utf-8")
    texts = [(ROOT / "docs" / page.name).read_text(encoding="utf-8") for page in pages]
    for page, text in zip(pages, texts):
        page.write_text(text, encoding="utf-8")
    filled = run(sys.executable, str(TABLES), str(log), "--fill", *map(str, pages))
    printed = run(sys.executable, str(TABLES), str(log))
    names = re.findall(r"<!-- ([\w-]+) -->\n.*?<!-- end -->", "".join(texts), re.S)
    made = re.findall(r"^@block\ndef (\w+)", TABLES.read_text(encoding="utf-8"), re.M)
    shown = re.findall(r"^<!-- ([\w-]+) -->$", printed.stdout, re.M)
    yield "tables of figures", filled.returncode == 0 and printed.returncode == 0
    yield "a place for each table", sorted(names) == sorted(name.replace("_", "-") for name in made)
    yield "printed: the tables with figures", set(shown) == {"ht-decode", "naman", "end"}
    now = pages[0].read_text(encoding="utf-8")
    yield "the best figure and the ratio", "| to device memory, 1 bpp | 600 (4) | 300 (16) | 2.00 |" in now
    kept = [re.search(rf"<!-- {name} -->\n(.*?)<!-- end -->", text, re.S)[1]
            for text in (texts[0], now) for name in ("run", "matela", "mq-decode", "memory", "large-blocks", "film")]
    yield "a table without figures stays", kept[:len(kept) // 2] == kept[len(kept) // 2:]
    yield "what is missing is said", "missing: dec.ht_4bpp.device.N (fps)" in filled.stderr
    nowhere = run(sys.executable, str(TABLES), str(log), "--fill")
    yield "--fill without a page", nowhere.returncode == 1 and "--fill" in nowhere.stderr


def main():
    with tempfile.TemporaryDirectory() as name:
        results = [*check_files(pathlib.Path(name)), *check_live(pathlib.Path(name)),
                   *check_processes(pathlib.Path(name)), *check_elements(), *check_tables(pathlib.Path(name))]
    for i, (what, good) in enumerate(results, 1):
        print("ok" if good else "not ok", i, "-", what)
    print(f"1..{len(results)}")
    sys.exit(not all(good for _, good in results))


if __name__ == "__main__":
    main()
