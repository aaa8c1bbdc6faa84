# SPDX-License-Identifier: LGPL-2.1-or-later
"""Live streams: each is a task that needs units of a worker, and is placed again when it ends unasked.

Dask places the tasks: workers announce what they hold (resources), and it gives each as many streams as fit. When a
worker dies, Dask gives its streams to others; when a line fails or stands still, it is submitted again here.
"""
import collections
import time
import tomllib

from . import stream as on_worker
from .engine import SchedulerLost, default_workers, open_engine
from .sequence import UsageError

THREADS = 64  # of a worker here: more than streams fit, because a stream waits in a thread
BACKOFF, LONGEST = 0.5, 10.0  # seconds before a stream that failed is tried again, doubled each time
STEADY = 30.0  # seconds after which a stream counts as healthy and the wait begins anew
WAITS = 3.0  # seconds without a place until that is told, and Dask is asked anew
DEFAULTS = {"stalled-after": 3.0, "start-within": 15.0, "needs": {}, "restart": True}
DONE, FAILED, LOST = 0, 1, 3


def read_streams(path):
    """The streams of a file, and what each worker of this machine offers."""
    try:
        with open(path, "rb") as file:
            table = tomllib.load(file)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: {error}") from None
    streams = []
    for number, given in enumerate(table.get("stream", []), 1):
        unknown = set(given) - set(DEFAULTS) - {"name", "line"}
        if unknown or not {"name", "line"} <= set(given):
            raise UsageError(f"{path}: stream {number}: " + (f"{sorted(unknown)[0]} is unknown" if unknown else
                                                            "it must have a name and a line"))
        try:
            watchable = on_worker.is_watchable(given["line"])
        except ValueError as error:  # quotes that do not close
            raise UsageError(f"{path}: stream {given['name']}: its line: {error}") from None
        if not watchable:
            raise UsageError(f"{path}: stream {given['name']}: nothing to watch, its line has no cudaj2kenc or cudaj2kdec")
        streams.append({**DEFAULTS, **table.get("defaults", {}), **given})
    names = [s["name"] for s in streams]
    if not streams or len(set(names)) < len(names):
        raise UsageError(f"{path}: " + ("there is no [[stream]]" if not streams else "two streams have the same name"))
    return streams, table.get("worker", {}).get("offers", {})


class Stream:
    """A stream as the command sees it."""

    def __init__(self, given):
        self.given, self.name = given, given["name"]
        self.attempt = self.failures = self.restarts = 0
        self.future = None
        self.host = self.worker = None  # where it was placed last
        self.lost_at = None  # when it was seen to be down
        self.submitted = self.placed = 0.0
        self.again_at = None  # when it is to be submitted again
        self.report = {}
        self.ended = False

    def is_running(self):
        return self.future is not None and self.placed > self.submitted


class Live:
    def __init__(self, engine, streams, show):
        self.engine, self.show = engine, show
        self.streams = {given["name"]: Stream(given) for given in streams}
        self.by_key = {}
        self.restarts = collections.Counter()  # by host
        self.longest = 0.0  # longest time that a stream was down

    def submit(self, stream):
        stream.attempt += 1
        stream.again_at, stream.submitted = None, time.monotonic()
        stream.future = self.engine.submit(on_worker.run_stream, stream.given, self.engine.topic, stream.attempt,
                                           key="stream", needs=stream.given["needs"])
        self.by_key[stream.future.key] = stream

    def went_down(self, stream, why, host):
        """The stream stands still from now on, for what is known."""
        stream.lost_at = stream.lost_at or time.monotonic()
        stream.restarts += 1
        self.restarts[host or "?"] += 1
        self.show.tell("stream-down", f"stream {stream.name} on {host} is down: {why}", stream=stream.name, host=host,
                       worker=stream.worker, why=why)

    def placed(self, stream, event):
        if stream.is_running() and stream.worker != event["worker"]:
            self.went_down(stream, "its worker was lost", stream.host)
        stream.worker, stream.host, stream.placed = event["worker"], event["host"], time.monotonic()
        stream.report = {}
        self.show.tell("stream-placed", f"stream {stream.name} is on {stream.worker} ({stream.host})", stream=stream.name,
                       worker=stream.worker, host=stream.host, pid=event["pid"])

    def reported(self, stream, event):
        before = stream.report.get("frames", 0)
        stream.report = {key: event[key] for key in ("frames", "late", "frames_per_second", "stats")}
        if event["frames"] and not before:
            down = round(time.monotonic() - stream.lost_at, 2) if stream.lost_at else None
            self.longest, stream.lost_at = max(self.longest, down or 0), None
            self.show.tell("stream-runs", f"stream {stream.name} runs" + (f" again, after {down} s" if down else ""),
                           stream=stream.name, worker=event["worker"], host=event["host"], seconds_down=down)

    def ended(self, stream, future):
        if future.status == "cancelled":
            if stream.future is future:
                raise SchedulerLost
            return
        if stream.future is not future:
            return
        error = future.exception() if future.status == "error" else None
        if time.monotonic() > stream.placed + STEADY:
            stream.failures = 0
        if error is None and not stream.given["restart"]:
            stream.ended = True
            self.show.tell("stream-end", f"stream {stream.name} has ended", stream=stream.name)
            return
        why = "its line ended" if error is None else str(error.args[0] if error.args else error)
        if type(error).__name__ == "KilledWorker":
            why = "it was on several workers that died"
        self.went_down(stream, why, stream.host)
        wait = min(LONGEST, BACKOFF * 2 ** stream.failures)
        stream.failures += 1
        stream.future, stream.again_at = None, time.monotonic() + wait

    def heard(self, event):
        if event["event"] == "done":
            self.ended(self.by_key[event["future"].key], event["future"])
            return
        stream = self.streams.get(event.get("stream"))
        if stream is None or event["attempt"] != stream.attempt:
            return
        if event["event"] == "placed":
            self.placed(stream, event)
        elif event["event"] == "stream" and event["worker"] == stream.worker:
            self.reported(stream, event)

    def tend(self):
        """Submits what waits for it, and asks anew for what has no place."""
        now = time.monotonic()
        for stream in self.streams.values():
            if stream.again_at and now >= stream.again_at:
                self.submit(stream)
            elif stream.future is not None and not stream.is_running() and now > stream.submitted + WAITS:
                needs = ", ".join(f"{n:g} {name}" for name, n in stream.given["needs"].items()) or "a worker"
                self.show.tell("stream-waits", f"stream {stream.name} has no place: it needs {needs}", stream=stream.name,
                               needs=stream.given["needs"])
                before, stream.future = stream.future, None
                before.cancel()
                self.submit(stream)

    def look(self, before):
        """Tells which workers came and went; streams of a worker that is gone are down from now on."""
        present = self.engine.workers()
        for worker in sorted(before - present):
            self.show.tell("worker-lost", f"worker {worker} is gone, {len(present)} left", worker=worker, left=len(present))
            for stream in self.streams.values():
                if stream.worker == worker and stream.is_running():
                    stream.lost_at = stream.lost_at or time.monotonic()
        for worker in sorted(present - before):
            self.show.tell("worker-new", f"worker {worker} has come", worker=worker, workers=len(present))
        return present

    def table(self):
        streams = {s.name: {"worker": s.worker, "host": s.host, "restarts": s.restarts, **s.report}
                   for s in self.streams.values()}
        if self.show.as_json:
            self.show.tell("streams", None, streams=streams)
            return
        self.show.table("streams:", [f"{name}: {s.get('frames_per_second', 0):6.1f} frames/s, {s.get('frames', 0)} frames, "
                                     f"{s.get('late', 0)} late, {s['restarts']} restarts, on {s['worker']}"
                                     for name, s in streams.items()])

    def run(self, seconds):
        end = time.monotonic() + seconds if seconds else None
        present, looked, shown = self.engine.workers(), 0.0, time.monotonic()
        for stream in self.streams.values():
            self.submit(stream)
        while (end is None or time.monotonic() < end) and not all(s.ended for s in self.streams.values()):
            event = self.engine.next_event(0.1)
            if event:
                self.heard(event)
            now = time.monotonic()
            if now > looked + 0.5:
                self.tend()
                present, looked = self.look(present), now
            if now > shown + (1 if self.show.as_json else 10):
                self.table()
                shown = now

    def stop(self):
        """Ends all streams: their tasks notice that nobody wants them."""
        for stream in self.streams.values():
            if stream.future is not None:
                stream.future.cancel()
        time.sleep(1.5 if not self.engine.local else 0)


def run_live(arguments, show):
    streams, offers = read_streams(arguments.streams)
    workers = arguments.workers or default_workers()
    with open_engine(arguments.scheduler, workers, threads=THREADS, offers=offers) as engine:
        live = Live(engine, streams, show)
        show.tell("begin", f"{len(streams)} streams, {len(engine.workers())} workers"
                  + (f"; Dask's page: {engine.page()}" if engine.page() else ""), streams=len(streams),
                  workers=sorted(engine.workers()), page=engine.page())
        status = DONE
        try:
            live.run(arguments.seconds)
        except KeyboardInterrupt:
            pass
        except SchedulerLost:
            show.tell("scheduler-lost", "the scheduler is lost, and with it all streams")
            status = LOST
        live.table()
        show.tell("end", f"ended; {sum(live.restarts.values())} restarts, longest gap {live.longest:.1f} s",
                  restarts=dict(live.restarts), longest_gap=live.longest)
        if status == DONE:
            live.stop()
    return status
