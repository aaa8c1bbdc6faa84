#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the commands of docs/pipelines.md as they are printed.

Only what a test cannot provide is changed: files replace a screen, sources end after some frames, and free ports
replace the printed ones. A sender and the receiver that follows it run together; the receiver must show frames.
"""
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import time

from cj2ktest import Folder, Tap, skip_all, wait_for_port

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/pipelines.md")
SECONDS = 90
FRAMES = 12  # number of frames that a source sends


def recipes():
    """(heading, comment, arguments) of each gst-launch-1.0 command."""
    heading = comment = command = ""
    with open(PAGE, encoding="utf-8") as page:
        for line in page:
            if line.startswith("#"):
                heading, comment = line.strip("# \n"), ""
            elif not line.startswith("    "):
                comment = comment if line.strip() == "" else ""
            elif line.strip().startswith("#"):
                comment = line.strip("# \n")
            elif command or line.strip().startswith("gst-launch-1.0"):
                command += line.strip()
                if command.endswith("\\"):
                    command = command[:-1]
                    continue
                yield heading, comment, shlex.split(command)[1:]
                command = ""


def shorten(arguments):
    """The arguments, with fewer frames from sources that send many."""
    return [f"num-buffers={FRAMES}" if re.fullmatch("num-buffers=[0-9]{3}", a) else a for a in arguments]


def missing_element(arguments):
    """The first element of the pipeline that is not installed, or None."""
    words = [argument for before, argument in zip(["!"] + arguments, arguments)
             if before == "!" and not set("/(.") & set(argument)]  # "." is in names of pads
    for word in words + (["cudaupload"] if any("CUDAMemory" in a for a in arguments) else []):
        if subprocess.run(["gst-inspect-1.0", word], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          check=False).returncode:
            return word
    return None


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(arguments, work, log):
    with open(log, "w", encoding="utf-8") as file:
        return subprocess.Popen(["gst-launch-1.0", "-e", *arguments], cwd=work, stdout=file, stderr=file)


def read(log):
    with open(log, encoding="utf-8", errors="replace") as file:
        return "\n".join(line for line in file.read().splitlines() if "ERROR" in line or "WARN" in line)


def finish(process, seconds):
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return None


def alone(tap, name, arguments, work):
    """Runs a pipeline that ends by itself; the file it names must be written."""
    process = start(arguments, work, f"{work}/log")
    status = finish(process, SECONDS)
    places = [a.split("=", 1)[1] for a in arguments if a.startswith("location=")]
    written = os.path.join(work, places[-1].replace("%05d", "00000")) if places else None
    empty = written and not (os.path.exists(written) and os.path.getsize(written))
    tap.ok(status == 0 and not empty, name, f"status {status}, {written} {'is empty' if empty else ''}\n{read(f'{work}/log')}")


def shown(work):
    return len([name for name in os.listdir(work) if name.startswith("shown-")])


def together(tap, name, sender, receiver, work):
    """Runs receiver and sender; half of the frames must be shown: socket buffers may be too small for all."""
    port = free_port()
    sender, receiver = ([f"port={port}" if a.startswith("port=") else a for a in side] for side in (sender, receiver))
    sender.insert(sender.index("videotestsrc") + 1, f"num-buffers={FRAMES}")
    receiver[-1:] = ["multifilesink", "location=shown-%05d.raw"]
    show = start(receiver, work, f"{work}/receiver")
    wait_for_port(port)
    send = start(sender, work, f"{work}/sender")
    status = finish(send, SECONDS)
    deadline = time.monotonic() + SECONDS / 3
    while shown(work) < FRAMES // 2 and time.monotonic() < deadline:
        time.sleep(0.2)
    show.send_signal(signal.SIGINT)
    finish(show, 20)
    frames = shown(work)
    tap.ok(status == 0 and frames >= FRAMES // 2, name, f"{frames} frames, status {status}\n"
           f"{read(f'{work}/sender')}\n{read(f'{work}/receiver')}")
    for file in os.listdir(work):
        if file.startswith("shown-"):
            os.remove(f"{work}/{file}")


def main():
    if not shutil.which("gst-launch-1.0"):
        skip_all("gst-launch-1.0 is not installed")
    if os.environ.get("CJ2K_SANITIZED") == "1":
        skip_all("gst-launch-1.0 has no sanitizer inside and cannot load the plugin")
    tap = Tap()
    sender = None
    with Folder() as work:
        for heading, comment, arguments in recipes():
            arguments = shorten(arguments)
            name = f"{heading}: {comment or ' '.join(arguments)[:70]}"
            missing = missing_element(arguments)
            source = next((a.split("=", 1)[1] for a in arguments if a.startswith("location=")), None)
            if missing and not missing.startswith("cudaj2k"):
                tap.skip(name, f"no element {missing} here")
            elif comment.startswith("sender"):
                sender = (name, arguments)
            elif comment.startswith("receiver"):
                together(tap, sender[0], sender[1], arguments, work)
            elif arguments[0] == "filesrc" and not os.path.exists(f"{work}/{source}"):
                tap.skip(name, f"{source} is not made on this page")
            else:
                alone(tap, name, arguments, work)
    tap.done()


main()
