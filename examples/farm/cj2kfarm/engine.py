# SPDX-License-Identifier: LGPL-2.1-or-later
"""Dask, as far as the command uses it: a cluster on this machine or the address of another, and what workers tell.

The scheduling, the queue and the transport are Dask's. Only public interfaces are used, those that distributed
2022.12 (Debian 12) and later versions share.
"""
import contextlib
import logging
import os
import queue
import subprocess
import tempfile
import uuid
import warnings
import zipfile

from .sequence import UsageError

try:
    import dask
    import distributed
except ImportError as missing:
    raise UsageError(f"{missing}. Install python3-distributed (Debian, Ubuntu), or: pip install dask distributed") from None

WORKER_TTL = "30 s"  # a worker that is frozen for so long is taken for lost; Dask's default is five minutes
WORKERS_WAIT = 60  # seconds until the first worker must be there


class SchedulerLost(Exception):
    """The connection to the scheduler broke."""


def gpus():
    """What CUDA_VISIBLE_DEVICES names, or the numbers of all GPUs."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is not None:
        return [name for name in named.split(",") if name]
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [str(n) for n, line in enumerate(line for line in listed.stdout.splitlines() if line.startswith("GPU "))]


def default_workers():
    """One a GPU; without one a worker for four cores, whose encoder has that many threads."""
    return len(gpus()) or max(1, len(os.sched_getaffinity(0)) // 4)


def worker_environment(index, workers, devices):
    if devices:
        return {"CUDA_VISIBLE_DEVICES": devices[index % len(devices)]}
    return {"CJ2K_FARM_THREADS": str(max(1, len(os.sched_getaffinity(0)) // workers))}


def local_cluster(workers, threads, offers, folder):
    """A scheduler in this process, and worker processes, each with its nanny, which starts it again when it dies."""
    devices = gpus()
    spec = {index: {"cls": distributed.Nanny,
                    "options": {"nthreads": threads, "memory_limit": 0, "resources": offers, "dashboard": False,
                                "silence_logs": logging.CRITICAL, "local_directory": folder,
                                "env": worker_environment(index, workers, devices)}}
            for index in range(workers)}
    scheduler = {"cls": distributed.Scheduler,
                 "options": {"host": "127.0.0.1", "port": 0, "dashboard": True, "dashboard_address": ":8787"}}
    return distributed.SpecCluster(workers=spec, scheduler=scheduler, silence_logs=False)


def package(folder):
    """This package as a zip file in the folder, for the workers."""
    here = os.path.dirname(os.path.abspath(__file__))
    path = os.path.join(folder, "cj2kfarm.zip")
    with zipfile.ZipFile(path, "w") as file:
        for name in sorted(os.listdir(here)):
            if name.endswith(".py"):
                file.write(os.path.join(here, name), f"cj2kfarm/{name}")
    return path


class Engine:
    """A client of a cluster. Everything that happens comes through next_event(): what the tasks tell, and
    {"event": "done", "future": ...} when one has ended."""

    def __init__(self, client, local):
        self.client, self.local = client, local
        self.topic = f"cj2k-farm-{uuid.uuid4().hex[:12]}"
        self.events = queue.Queue()
        client.subscribe_topic(self.topic, self._heard)

    def _heard(self, event):
        self.events.put(event[1] if isinstance(event, (tuple, list)) else event)

    def submit(self, function, *arguments, key, needs=None, retries=0):
        future = self.client.submit(function, *arguments, key=f"{key}-{uuid.uuid4().hex[:8]}", pure=False,
                                    retries=retries, resources=needs or None)
        future.add_done_callback(lambda done: self.events.put({"event": "done", "future": done}))
        return future

    def next_event(self, seconds):
        """What happened next, or None after so many seconds."""
        if self.client.status not in ("running", "newly-created"):
            raise SchedulerLost
        try:
            return self.events.get(timeout=seconds)
        except queue.Empty:
            return None

    def workers(self):
        """The addresses of the workers that there are."""
        try:
            return set(self.client.nthreads())
        except (OSError, TimeoutError, RuntimeError) as error:  # CommClosedError is an OSError
            raise SchedulerLost from error

    def page(self):
        """The address of Dask's page, if it has one: it needs the package bokeh."""
        try:
            import bokeh  # noqa: F401 pylint: disable=import-outside-toplevel,unused-import
        except ImportError:
            return None
        return self.client.dashboard_link

    def worker_ttl(self):
        """Seconds after which the scheduler takes a frozen worker for lost; None: never."""
        value = self.client.run_on_scheduler(dask.config.get, "distributed.scheduler.worker-ttl")
        return dask.utils.parse_timedelta(value) if value else None


def configure():
    dask.config.set({"distributed.scheduler.worker-ttl": WORKER_TTL,
                     # Streams last; placed by this, they are spread evenly over the workers.
                     "distributed.scheduler.default-task-durations": {"stream": "1h"},
                     "distributed.worker.profile.interval": "10s",  # tasks only wait for a child
                     "logging": {"distributed": "critical"}})
    warnings.filterwarnings("ignore", "Port .* is already in use", UserWarning)  # another port is taken for the page
    for name in ("distributed", "tornado", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


@contextlib.contextmanager
def open_engine(scheduler, workers, threads=1, offers=None):
    """A cluster of so many workers on this machine, or the one of a scheduler, while the block runs."""
    configure()
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="cj2k-farm-", ignore_cleanup_errors=True))
        if scheduler:
            try:
                where = {"scheduler_file": scheduler} if scheduler.endswith(".json") else {"address": scheduler}
                client = stack.enter_context(distributed.Client(**where))
            except (OSError, TimeoutError, ValueError) as error:
                raise UsageError(f"no Dask scheduler at {scheduler}: {error}") from None
        else:
            cluster = stack.enter_context(local_cluster(workers, threads, offers, folder))
            client = stack.enter_context(distributed.Client(cluster))
        try:
            client.wait_for_workers(1 if scheduler else workers, timeout=WORKERS_WAIT)
        except TimeoutError:
            raise UsageError(f"no worker came to {scheduler or 'this machine'} within {WORKERS_WAIT} s") from None
        client.upload_file(package(folder))
        yield Engine(client, not scheduler)
