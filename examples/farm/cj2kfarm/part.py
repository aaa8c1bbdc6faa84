# SPDX-License-Identifier: LGPL-2.1-or-later
"""One part of a film, on a worker: a command makes its frames, and a manifest says that they are whole.

A part is done in a folder whose name holds host and process; its frames are renamed to their places when all are
there, and the manifest is written last. So a part is whole exactly if its manifest is there and agrees with its files,
whoever was killed at whatever moment; and if two workers do the same part, because one of them was thought dead, they
put the same bytes into the same places.
"""
import concurrent.futures
import hashlib
import json
import os
import shutil
import socket
import time
from pathlib import Path

from distributed import get_worker

from . import child

HASHERS = 8  # threads that hash frames
USAGE = 2  # exit status of the tools: another worker would say the same


class Unwanted(Exception):
    """Nobody waits for this task any more."""


def part_name(first, last):
    return f"{first:07d}-{last:07d}"


def manifest_path(state, first, last):
    return Path(state) / f"{part_name(first, last)}.json"


def frame_paths(pattern, first, last):
    return [pattern % number for number in range(first, last + 1)]


def input_stamp(pattern, first, last):
    """Bytes and newest time of change of the part's input, to notice that one was replaced."""
    paths = frame_paths(pattern, first, last) if "%" in os.path.basename(pattern) else [pattern]
    stats = [os.stat(path) for path in paths]
    return [sum(s.st_size for s in stats), max(s.st_mtime_ns for s in stats)]


def read_manifest(job, first, last):
    """The part's manifest if the part is whole, else None."""
    try:
        with open(manifest_path(job["state"], first, last), encoding="utf-8") as file:
            manifest = json.load(file)
        sizes = [os.stat(path).st_size for path in frame_paths(job["frames"], first, last)]
        if manifest["job"] == job["id"] and manifest["sizes"] == sizes and \
                manifest["input"] == input_stamp(job["in"], first, last):
            return manifest
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None


def write_whole(path, text):
    """Writes a file so that it is there with all its bytes, or not at all."""
    aside = f"{path}.{place()}.{os.getpid()}.tmp"
    with open(aside, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(aside, path)


def place():
    """This host and the name space of its process numbers: containers may share a host's name."""
    return f"{socket.gethostname()}-{os.stat('/proc/self/ns/pid').st_ino}"


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def remove_folder(folder):
    """Removes a folder in which a worker that was thought dead, or a program that was just killed, may still write."""
    for _ in range(20):
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.exists(folder):
            return
        time.sleep(0.1)


def remove_leftovers(state, name):
    """Removes what workers of this host left of this part when they were killed."""
    for path in Path(state).glob(f"{name}.{place()}.*.tmp"):
        pid = path.name.split(".")[-2]
        if pid.isdigit() and (int(pid) == os.getpid() or not is_alive(int(pid))):
            remove_folder(path)


def hash_frame(path):
    """Size and hash of a file, which is on the disk afterwards."""
    with open(path, "rb") as file:
        data = file.read()
        os.fsync(file.fileno())
    if not data:
        raise child.ChildError(f"{path} is empty")
    return len(data), hashlib.sha256(data).digest()


def hash_frames(paths):
    """Sizes of the files and the hash of the part. That is a hash of the frames' hashes: one thread alone would be slower
    than a GPU."""
    with concurrent.futures.ThreadPoolExecutor(HASHERS) as pool:
        found = list(pool.map(hash_frame, paths))
    return [size for size, _ in found], hashlib.sha256(b"".join(digest for _, digest in found)).hexdigest()


def fill(command, values):
    """Replaces {name} in the words of a command by the values; other braces stay."""
    for key, value in values.items():
        command = [word.replace("{" + key + "}", str(value)) for word in command]
    return command


def threads(job):
    """Several workers of one machine share its cores (engine.py); the number of threads never changes the bytes."""
    number = os.environ.get("CJ2K_FARM_THREADS")
    own = any(word.startswith("--num-threads") for word in job["command"])
    return [f"--num-threads={number}"] if job["tool"] and number and not own else []


class Task:
    """What the running task tells the command that started it, and whether that still waits for it."""

    def __init__(self, topic, fixed):
        self.worker = get_worker()
        self.key = self.worker.get_current_task()
        self.topic, self.fixed = topic, fixed

    def tell(self, event, **values):
        self.worker.log_event(self.topic, {"event": event, "worker": self.worker.address, "pid": os.getpid(),
                                           "host": socket.gethostname(), **self.fixed, **values})

    def check(self):
        # A task whose result nobody wants goes on in Dask: threads cannot be stopped. Its state tells.
        state = self.worker.state.tasks.get(self.key)
        if state is None or state.state in ("cancelled", "resumed"):
            raise Unwanted(f"{self.key} is not wanted any more")


def make(job, first, last, folder, task):
    """Runs the command for the part in `folder`; returns the paths of its frames."""
    made = str(folder / os.path.basename(job["frames"]))
    values = {"in": job["in"], "out": made, "first": first, "last": last, "count": last - first + 1,
              "period": job["period"], "part": part_name(first, last)}
    known, moved = 0, time.monotonic()

    def watch():
        nonlocal known, moved
        task.check()
        done = sum(1 for path in frame_paths(made, first, last) if os.path.exists(path))
        if done != known:
            known, moved = done, time.monotonic()
            task.tell("frames", frames=done)
        if time.monotonic() > moved + job["stalled_after"]:
            raise child.ChildError(f"no new frame for {job['stalled_after']:g} s, after {done}")

    status, said = child.run(fill(job["command"], values) + threads(job), watch)
    if status:
        raise child.ChildError(said, status)
    paths = frame_paths(made, first, last)
    missing = [path for path in paths if not os.path.exists(path)]
    if missing:
        raise child.ChildError(f"the command ended well, but did not make {missing[0]}")
    return paths


def do_part(job, first, last, task):
    name = part_name(first, last)
    remove_leftovers(job["state"], name)
    folder = Path(job["state"]) / f"{name}.{place()}.{os.getpid()}.tmp"
    stamp = input_stamp(job["in"], first, last)
    start = time.monotonic()
    folder.mkdir()
    try:
        paths = make(job, first, last, folder, task)
        sizes, digest = hash_frames(paths)
        for made, final in zip(paths, frame_paths(job["frames"], first, last)):
            os.replace(made, final)
    finally:
        remove_folder(folder)
    manifest = {"job": job["id"], "first": first, "last": last, "count": last - first + 1, "bytes": sum(sizes),
                "sha256": digest, "input": stamp, "sizes": sizes, "seconds": round(time.monotonic() - start, 3),
                "host": socket.gethostname()}
    write_whole(manifest_path(job["state"], first, last), json.dumps(manifest))
    return manifest


def encode_part(job, first, last):
    """The task: returns a small summary, never the frames, because Dask keeps results in the worker's memory and they
    are lost with it."""
    task = Task(job["topic"], {"part": part_name(first, last)})
    whole = read_manifest(job, first, last)
    if whole:
        task.tell("whole", frames=whole["count"])
        return {"manifest": whole, "worker": task.worker.address, "again": False}
    task.tell("start")
    try:
        return {"manifest": do_part(job, first, last, task), "worker": task.worker.address, "again": True}
    except Unwanted:
        raise
    except Exception as error:
        final = isinstance(error, child.ChildError) and error.args[1:] == (USAGE,) and job["tool"]
        text = str(error.args[0]) if isinstance(error, child.ChildError) else str(error)
        task.tell("fail", why=text, final=final)
        if final:
            return {"error": f"{socket.gethostname()}: {text}"}
        raise child.ChildError(f"{socket.gethostname()}: {text}") from None
