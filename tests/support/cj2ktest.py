# SPDX-License-Identifier: LGPL-2.1-or-later
"""Helpers of the tests in Python: TAP output, running a tool within limits, images.

Images are lists of numpy arrays of int64, one a component in that component's own size.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

LONG = os.environ.get("CJ2K_TESTS_LONG") == "1"
DECODE = os.environ.get("CJ2K_DECODE", "cj2k-decode")
ENCODE = os.environ.get("CJ2K_ENCODE", "cj2k-encode")
# Sanitizers keep freed memory in quarantine and have shadow memory: factor for limits of memory.
MEMORY_FACTOR = 3 if os.environ.get("CJ2K_SANITIZED") == "1" else 1


def wait_for_port(port, seconds=20):
    """Waits until a program of this machine receives at a UDP or TCP port, at most so long. False: none does."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for table in "udp", "udp6", "tcp", "tcp6":
            try:
                with open(f"/proc/net/{table}", encoding="ascii") as file:
                    places = [line.split()[1] for line in file.readlines()[1:]]
            except OSError:  # a kernel without IPv6
                continue
            if any(int(place.rsplit(":", 1)[1], 16) == port for place in places):
                return True
        time.sleep(0.05)
    return False


def shared_folder(part):
    """The folder `part` of the shared test data, or None if this machine has none."""
    root = os.environ.get("CJ2K_SHARED") or os.environ.get("CJ2K_SHARED_DEFAULT", "")
    folder = os.path.join(root, part)
    return folder if os.path.isdir(folder) else None


class Tap:
    """Counts sub-tests and prints them as TAP; done() prints the plan and ends the program."""

    def __init__(self):
        self.count = self.failed = 0

    def ok(self, good, name, why=""):
        self.count += 1
        self.failed += not good
        print(f"{'' if good else 'not '}ok {self.count} - {name}", flush=True)
        if not good:
            for line in str(why).splitlines()[-12:]:
                print(f"# {line[:300]}")

    def skip(self, name, reason):
        self.count += 1
        print(f"ok {self.count} - {name} # SKIP {reason}", flush=True)

    def done(self):
        print(f"1..{self.count}")
        sys.exit(1 if self.failed else 0)


def skip_all(reason):
    print(f"1..0 # SKIP {reason}")
    sys.exit(0)


class Run:
    """A finished program: status (negative: killed by that signal), stderr, seconds, peak memory in bytes."""

    def __init__(self, arguments, timeout=60, stdin=None):
        with tempfile.TemporaryFile() as errors:
            start = time.monotonic()
            process = subprocess.Popen(arguments, stdin=stdin or subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=errors)
            self.timed_out = False
            timer = threading.Timer(timeout, self._kill, [process])
            timer.start()
            # getrusage(RUSAGE_CHILDREN) would return the peak of all children so far.
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            timer.cancel()
            self.status = process.returncode
            self.seconds = time.monotonic() - start
            self.peak = usage.ru_maxrss * 1024
            errors.seek(0)
            self.stderr = errors.read().decode(errors="replace")

    def _kill(self, process):
        self.timed_out = True
        process.kill()

    def __str__(self):
        how = "too slow, killed" if self.timed_out else f"status {self.status}"
        return f"{how} after {self.seconds:.1f} s, {self.peak >> 20} MiB\n{self.stderr}"


def decode(source, target, *options, timeout=60):
    return Run([DECODE, *options, source, target], timeout)


def read_pgx(path):
    with open(path, "rb") as file:
        data = file.read()
    header = re.match(rb"PG\s+(ML|LM)\s*([+-]?)\s*(\d+)\s+(\d+)\s+(\d+)\s*?\n", data)
    if not header:
        raise ValueError(f"{path} is no PGX file")
    bits, width, height = (int(header[i]) for i in (3, 4, 5))
    size = 1 if bits <= 8 else 2 if bits <= 16 else 4
    kind = np.dtype(("i" if header[2] == b"-" else "u") + str(size))
    samples = np.frombuffer(data[header.end():], kind.newbyteorder(">" if header[1] == b"ML" else "<"))
    if samples.size < width * height:
        raise ValueError(f"{path} is too short")
    return samples[:width * height].astype(np.int64).reshape(height, width)


def read_pgx_set(stem):
    """Reads stem_0.pgx, stem_1.pgx ... up to the first that does not exist."""
    planes = []
    while os.path.exists(f"{stem}_{len(planes)}.pgx"):
        planes.append(read_pgx(f"{stem}_{len(planes)}.pgx"))
    if not planes:
        raise ValueError(f"{stem}_0.pgx was not written")
    return planes


def write_pgx(path, samples, bits, signed=False):
    size = 1 if bits <= 8 else 2 if bits <= 16 else 4
    with open(path, "wb") as file:
        height, width = samples.shape
        file.write(f"PG ML {'-' if signed else '+'} {bits} {width} {height}\n".encode())
        file.write(samples.astype(f">{'i' if signed else 'u'}{size}").tobytes())


def read_pnm(path):
    with open(path, "rb") as file:
        data = file.read()
    header = re.match(rb"P([56])(?:\s+#[^\n]*)*\s+(\d+)\s+(\d+)\s+(\d+)\s", data)
    if not header:
        raise ValueError(f"{path} is no PGM or PPM file")
    planes = 3 if header[1] == b"6" else 1
    width, height, top = (int(header[i]) for i in (2, 3, 4))
    samples = np.frombuffer(data[header.end():], ">u1" if top < 256 else ">u2")
    samples = samples[:width * height * planes].astype(np.int64).reshape(height, width, planes)
    return [samples[..., i] for i in range(planes)]


def write_pnm(path, planes, bits):
    kind = ">u1" if bits <= 8 else ">u2"
    height, width = planes[0].shape
    with open(path, "wb") as file:
        file.write(f"P{'6' if len(planes) == 3 else '5'}\n{width} {height}\n{(1 << bits) - 1}\n".encode())
        file.write(np.stack(planes, -1).astype(kind).tobytes())


def differences(ours, theirs):
    """The largest difference of all components; a ValueError reports a different number or size of planes."""
    if len(ours) != len(theirs):
        raise ValueError(f"{len(ours)} components, not {len(theirs)}")
    for index, (a, b) in enumerate(zip(ours, theirs)):
        if a.shape != b.shape:
            raise ValueError(f"component {index} is {a.shape[::-1]}, not {b.shape[::-1]}")
    return max((int(abs(a - b).max()) for a, b in zip(ours, theirs) if a.size), default=0)


class Folder:
    """A temporary folder: `with Folder() as path`; in memory where /dev/shm exists."""

    def __enter__(self):
        base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.path = tempfile.mkdtemp(prefix="cj2k-test-", dir=base)
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)
