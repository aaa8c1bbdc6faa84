# SPDX-License-Identifier: LGPL-2.1-or-later
"""One live stream, on a worker: runs a GStreamer line and watches that its frames go on.

The line runs in gst-launch-1.0 -m, which prints the messages of the elements. cudaj2kenc, cudaj2kdec and the RTP
elements post their property `stats` every stats-interval milliseconds; sinks post QoS messages when they drop what
came too late.
"""
import collections
import queue
import re
import shlex
import subprocess
import threading
import time

from . import child
from .part import Task, Unwanted

GST = "gst-launch-1.0"
INTERVAL = 500  # ms between two messages with statistics
WATCHED = re.compile(r"cudaj2k(enc|dec)\b")
MESSAGE = re.compile(r'^Got message #\d+ from \w+ "(?P<element>[^"]*)" \((?P<kind>[\w-]+)\): (?P<rest>.*)')
FIELD = re.compile(r"([\w-]+)=\((\w+)\)([^,;]+)")
QOS_DROPPED = re.compile(r"dropped=\(guint64\)(\d+)")
LAST_WORDS = 4


def with_stats(line):
    """The words of the line; our elements get a stats-interval if they have none."""
    words = shlex.split(line)
    out = []
    for index, word in enumerate(words):
        out.append(word)
        if WATCHED.fullmatch(word) and (index == 0 or words[index - 1] in ("!", "(")):
            following = words[index + 1:]
            own = following[:following.index("!")] if "!" in following else following
            if not any(w.startswith("stats-interval=") for w in own):
                out.append(f"stats-interval={INTERVAL}")
    return out


def is_watchable(line):
    return any(WATCHED.fullmatch(word) for word in shlex.split(line))


class Watch:
    """What is known of a running line, from what gst-launch-1.0 prints."""

    def __init__(self):
        self.stats = {}  # element -> its last statistics
        self.dropped = collections.Counter()  # element -> buffers that a sink dropped, because they were late
        self.words = collections.deque(maxlen=LAST_WORDS)  # what it said beside messages
        self.moved = time.monotonic()  # when a frame came last
        self.first = None  # when the first statistics came, and the frames in them
        self.before = 0
        self.frames = 0

    def read(self, line):
        match = MESSAGE.match(line)
        if not match:
            if line.startswith(("ERROR", "WARNING")) or "Error" in line:
                self.words.append(line.strip())
        elif match["kind"] == "qos":
            found = QOS_DROPPED.search(match["rest"])
            self.dropped[match["element"]] = int(found[1]) if found else self.dropped[match["element"]]
        elif match["kind"] == "element" and "frames=" in match["rest"]:
            self.take_stats(match["element"], match["rest"])

    def take_stats(self, element, text):
        fields = {name: float(value) if kind == "double" else int(value)
                  for name, kind, value in FIELD.findall(text) if kind in ("guint64", "guint", "uint", "int", "double", "gint64")}
        self.stats[element] = fields
        frames = sum(s.get("frames", 0) for s in self.stats.values())
        if frames > self.frames:
            now = time.monotonic()
            if self.first is None:
                self.first, self.before = now, self.slowest()
            self.frames, self.moved = frames, now

    def late(self):
        """Frames that sinks or elements dropped because they came too late."""
        return sum(self.dropped.values()) + sum(s.get("dropped-qos", 0) for s in self.stats.values())

    def slowest(self):
        """Frames of the element that has fewest: the stream's own count."""
        return min((s.get("frames", 0) for s in self.stats.values()), default=0)

    def report(self):
        seconds = self.moved - self.first if self.first else 0
        return {"frames": self.slowest(), "late": self.late(), "stats": self.stats,
                "frames_per_second": round((self.slowest() - self.before) / seconds, 2) if seconds else 0}


def read_output(pipe, lines):
    with pipe:
        for line in pipe:
            lines.put(line)
    lines.put(None)


def watch_child(stream, process, task, watch):
    """Returns when the line has ended; raises ChildError if its frames stop."""
    lines = queue.Queue()
    threading.Thread(target=read_output, args=(process.stdout, lines), daemon=True).start()
    told = 0
    while True:
        try:
            line = lines.get(timeout=0.2)
        except queue.Empty:
            line = ""
        if line is None:
            return
        watch.read(line)
        now = time.monotonic()
        if now < told + 0.5:
            continue
        told = now
        task.check()
        task.tell("stream", **watch.report())
        limit = stream["stalled-after"] if watch.first else stream["start-within"]
        if now > watch.moved + limit:
            what = f"no frame for {limit:g} s" if watch.first else f"no frame within {limit:g} s"
            raise child.ChildError(f"{what}, after {watch.frames}")


def run_stream(stream, topic, attempt):
    """The task of a stream: ends when its line does, or fails when that fails or stands still."""
    task = Task(topic, {"stream": stream["name"], "attempt": attempt})
    task.tell("placed")
    watch = Watch()
    process = child.start([GST, "-m", *with_stats(stream["line"])], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace")
    try:
        watch_child(stream, process, task, watch)
        status = process.wait(10)
    except Unwanted:
        return {"worker": task.worker.address, **watch.report()}
    finally:
        child.stop(process, 1)
    if status:
        said = " | ".join(watch.words)
        raise child.ChildError(f"{GST} ended with {'status' if status > 0 else 'signal'} {abs(status)}: {said}")
    return {"worker": task.worker.address, **watch.report()}
