# SPDX-License-Identifier: LGPL-2.1-or-later
"""Child processes that die with their parent, however that dies."""
import os
import signal
import subprocess
import sys

# Runs in the child before the program: asks the kernel for SIGKILL when the parent dies, and ends if it is dead
# already. preexec_fn of subprocess would run between fork and exec of a process with many threads.
LAUNCHER = """
import ctypes, os, signal, sys
PR_SET_PDEATHSIG = 1
ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
if os.getppid() != int(sys.argv[1]):
    sys.exit(1)
try:
    os.execvp(sys.argv[2], sys.argv[2:])
except OSError as error:
    sys.exit(f"{sys.argv[2]}: {error.strerror}")
"""


class ChildError(Exception):
    """A program that failed: the reason and, if known, its exit status."""


def start(command, **options):
    """Starts a program, in a session of its own. The calling thread must live as long as the child: the kernel sends the
    signal when it ends."""
    launcher = [sys.executable, "-I", "-S", "-c", LAUNCHER, str(os.getpid())]
    return subprocess.Popen(launcher + list(command), start_new_session=True, **{"stdin": subprocess.DEVNULL, **options})


def stop(child, seconds=0):
    """Ends a child that still runs: with SIGINT, and after so many seconds with SIGKILL, which programs that it has started
    get as well. A script that is killed alone would leave them at work in a folder that is being removed."""
    if child.poll() is None and seconds:
        child.send_signal(signal.SIGINT)
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            pass
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGKILL)  # it is not waited for yet, so that the number is its own
    child.wait()


def run(command, watch, period=0.5):
    """Runs a program; calls watch() every `period` seconds, an exception of which ends it. Returns the exit status,
    negative for a signal, and what describe() says of it. Its output is kept in memory: disks may be full."""
    with os.fdopen(os.memfd_create("output"), "w+b") as output:
        child = start(command, stdout=output, stderr=output)
        try:
            while True:
                try:
                    status = child.wait(period)
                    break
                except subprocess.TimeoutExpired:
                    watch()
        finally:
            stop(child)
        output.seek(0)
        return status, describe(status, output.read())


def describe(status, output, lines=3):
    """How a program ended, and the last lines of its output."""
    how = f"exit status {status}" if status >= 0 else f"killed by {signal.Signals(-status).name}"
    said = [line.strip() for line in output.decode(errors="replace").splitlines() if line.strip()]
    return f"{how}: {' | '.join(said[-lines:])}" if said else how
