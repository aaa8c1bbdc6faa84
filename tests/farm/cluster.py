# SPDX-License-Identifier: LGPL-2.1-or-later
"""Helpers of the tests of cj2k-farm: runs of the command, and clusters whose processes can be killed by name."""
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
FARM = os.environ.get("CJ2K_FARM", os.path.join(HERE, "../../examples/farm/cj2k-farm"))
ENCODER = os.path.join(HERE, "encoder.py")
DASK = [sys.executable, "-c", "import sys; from distributed.cli import {0}; sys.exit({0}.main())"]


def wait_for(condition, seconds=30):
    """Waits until the condition holds and returns its value; None if it never does."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    return None


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def children(pid):
    """The processes below a process, its children and theirs."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as file:
                parent = int(file.read().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == pid:
            found += [int(name), *children(int(name))]
    return found


class Farm:
    """A run of cj2k-farm --json: its events, as they come."""

    def __init__(self, work, *arguments, faults=None, environment=None):
        self.work, self.log = work, os.path.join(work, "starts.log")
        self.plan(faults or {})
        with open(self.log, "w", encoding="utf-8"):
            pass
        self.events, self.errors = [], ""
        own = arguments.index("--") if "--" in arguments else len(arguments)
        self.process = subprocess.Popen([sys.executable, FARM, *arguments[:own], "--json", *arguments[own:]], cwd=work,
                                        env=environment_of(work, environment), text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.readers = [threading.Thread(target=self._read), threading.Thread(target=self._read_errors)]
        for reader in self.readers:
            reader.start()

    def plan(self, faults):
        """Sets the faults of encoders that start from now on."""
        path = os.path.join(self.work, "faults.json")
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump({"log": self.log, **faults}, file)
        os.replace(path + ".new", path)

    def _read(self):
        with self.process.stdout:
            for line in self.process.stdout:
                self.events.append(json.loads(line))

    def _read_errors(self):
        with self.process.stderr:
            self.errors = self.process.stderr.read()

    def wait(self, seconds=120):
        """The exit status; None if it took too long, and it is killed then."""
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            status = None
            self.process.kill()
            self.process.wait()
        for reader in self.readers:
            reader.join()
        return status

    def of(self, kind):
        return [event for event in list(self.events) if event["event"] == kind]

    def summary(self):
        return self.of("summary")[-1] if self.of("summary") else {}

    def starts(self):
        """The parts that were begun, as FIRST-LAST, in order."""
        with open(self.log, encoding="utf-8") as file:
            return file.read().split()

    def __str__(self):
        told = [str(e) for e in self.events if e["event"] not in ("progress", "streams", "part")]
        return "\n".join([f"status {self.process.returncode}", *self.errors.splitlines()[-8:], *told[-8:]])


def environment_of(work, more=None):
    environment = dict(os.environ, CJ2K_FARM_FAULTS=os.path.join(work, "faults.json"), CJ2K_ENCODE=ENCODER,
                       DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT="3s", **(more or {}))
    environment.setdefault("CJ2K_REAL_ENCODE", os.environ.get("CJ2K_ENCODE", "cj2k-encode"))
    return environment


class Cluster:
    """dask scheduler and dask worker, as by hand. Workers have no nanny: one that is killed stays away."""

    def __init__(self, work, workers, environment=None, options=()):
        self.work, self.options = work, options
        self.environment = environment_of(work, {"DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "30s", **(environment or {})})
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{port}"
        self.scheduler = None
        self.workers = []
        self.start_scheduler()
        for _ in range(workers):
            self.add_worker()

    def _start(self, program, *arguments):
        command = [part.format(program) for part in DASK] + list(arguments)
        with open(os.path.join(self.work, f"{program}.log"), "ab") as log:
            return subprocess.Popen(command, cwd=self.work, env=self.environment, stdout=log, stderr=log)

    def start_scheduler(self):
        self.scheduler = self._start("dask_scheduler", "--host", "127.0.0.1", "--port", self.address.rpartition(":")[2],
                                     "--no-dashboard")

    def add_worker(self):
        self.workers.append(self._start("dask_worker", self.address, "--no-nanny", "--no-dashboard", "--nthreads", "1",
                                        "--local-directory", self.work, *self.options))

    def busy(self):
        """Workers that have an encoder at work."""
        return [worker for worker in self.workers if worker.poll() is None and children(worker.pid)]

    def worker_of(self, first):
        """The worker that has the part with this first frame at work, or None."""
        for worker in self.busy():
            for pid in children(worker.pid):
                try:
                    with open(f"/proc/{pid}/cmdline", "rb") as file:
                        if f"--frames={first}-".encode() in file.read():
                            return worker
                except OSError:
                    pass
        return None

    def close(self):
        for process in [*self.workers, self.scheduler]:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
