# SPDX-License-Identifier: LGPL-2.1-or-later
"""A film: cut into parts, done by workers, joined."""
import collections
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import time

from . import join, part
from .engine import SchedulerLost, default_workers, open_engine
from .sequence import NUMBER, UsageError, cut, existing, find_frames, is_pattern, part_length

RETRIES = 3  # of a part whose command failed
DONE, FAILED, LOST = 0, 1, 3  # exit status
RECENT = 20.0  # seconds over which frames/s are measured


class State:
    """The folder beside OUT with what is done so far: job.json, a manifest for each part, the frames."""

    def __init__(self, out):
        self.out = out
        self.folder = os.path.abspath(NUMBER.sub("", out).rstrip(".")) + ".farm"
        self.frames = out if is_pattern(out) else os.path.join(self.folder, "%07d.j2c")
        self.lock = None  # a file that is locked until the program ends

    def open(self, job):
        """Makes the folder, or goes on in one that the same job has left."""
        os.makedirs(self.folder, exist_ok=True)
        self.lock = open(os.path.join(self.folder, "lock"), "w", encoding="utf-8")  # pylint: disable=consider-using-with
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"another cj2k-farm is at work in {self.folder}") from None
        path = os.path.join(self.folder, "job.json")
        described = {key: job[key] for key in ("in", "frames", "first", "last", "period", "part", "command", "version")}
        try:
            with open(path, encoding="utf-8") as file:
                before = json.load(file)
        except FileNotFoundError:
            before = None
        if before is not None and before != described:
            other = ", ".join(key for key in described if before.get(key) != described[key])
            raise UsageError(f"{self.folder} is what another job has left (differs in: {other}); remove it to begin anew")
        os.makedirs(os.path.dirname(job["frames"]), exist_ok=True)
        if before is None:
            part.write_whole(path, json.dumps(described))

    def close(self):
        part.remove_folder(self.folder)


def check_passes(options):
    """A first pass looks at the whole film, and a part has only its own frames."""
    for word, following in zip(options, [*options[1:], ""]):
        name, equals, value = word.partition("=")
        if name == "--pass" and (value if equals else following) != "2":
            raise UsageError("a first pass needs the whole film: run cj2k-encode --pass=1 --stats=FILE once, and this command "
                             "with --pass=2 --stats=FILE, where all workers see FILE")


def encoder_command(options, encoder):
    """The command for a part, and whether it is our tool: OPTIONS of cj2k-encode, or a whole command with {in},
    {out}, {first}, {last}, {count}, {period}."""
    if options and not options[0].startswith("-"):
        if not any("{out}" in word for word in options):
            raise UsageError("a command must hold {out}, the pattern of the files that it writes")
        return options, False
    check_passes(options)
    return [encoder, "{in}", "{out}", "--frames={first}-{last}", "--rate-period={period}", *options], True


def version_of(encoder):
    """What the encoder calls itself; another version may make other bytes."""
    try:
        return subprocess.run([encoder, "--version"], capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""  # it may be on the workers only


def describe_job(arguments, state):
    command, is_tool = encoder_command(arguments.options, arguments.encoder)
    if not arguments.scheduler and not shutil.which(command[0]):
        raise UsageError(f"{command[0]}: no such program on the PATH")
    source = os.path.abspath(arguments.input)
    if is_pattern(source):
        first, last = find_frames(source, arguments.frames)
    elif not os.path.exists(source):
        raise UsageError(f"{arguments.input}: no such file")
    elif arguments.frames:
        first, last = arguments.frames
    else:
        raise UsageError("one file as input needs --frames A-B")
    job = {"in": source, "frames": os.path.abspath(state.frames), "first": first, "last": last,
           "period": arguments.rate_period, "part": part_length(last - first + 1, arguments.rate_period, arguments.part),
           "command": command, "tool": is_tool, "state": state.folder,
           "stalled_after": arguments.stalled_after, "version": version_of(arguments.encoder) if is_tool else ""}
    text = json.dumps([job[key] for key in ("in", "first", "last", "period", "command", "version")])
    job["id"] = hashlib.sha256(text.encode()).hexdigest()[:16]
    return job


class Film:
    """The parts of a job at the workers, and the counts that are shown."""

    def __init__(self, engine, job, parts, show):
        self.engine, self.job, self.parts, self.show = engine, job, parts, show
        self.total = sum(last - first + 1 for first, last in parts)
        self.manifests, self.failed = {}, {}
        self.running = {}  # part -> (worker, host)
        self.now = {}  # part -> frames of it that are there
        self.retries, self.lost = collections.Counter(), collections.Counter()  # by host
        self.by_worker = collections.defaultdict(lambda: {"host": "", "parts": 0, "frames": 0, "busy": 0.0})
        self.whole = 0  # parts that were there before
        self.begin = time.monotonic()
        self.history = collections.deque([(self.begin, 0)])

    def frames_done(self):
        """Frames that are there, and how many of them were made by this run."""
        made = sum(m["count"] for m in self.manifests.values()) - self.whole
        going = sum(self.now.get(name, 0) for name in self.running)
        return made + going + self.whole, made + going

    def rate(self):
        now, made = time.monotonic(), self.frames_done()[1]
        self.history.append((now, made))
        while self.history[0][0] < now - RECENT and len(self.history) > 2:
            self.history.popleft()
        then, before = self.history[0]
        return max(0, made - before) / (now - then) if now > then else 0.0

    def started(self, event):
        name, here = event["part"], (event["worker"], event["host"])
        if name in self.running:
            worker, host = self.running[name]
            self.lost[host] += 1
            self.show.tell("again", f"part {name} is done again: its worker {worker} on {host} was lost", part=name,
                           lost_worker=worker, lost_host=host, worker=here[0], host=here[1])
        self.running[name] = here
        self.now[name] = 0

    def failed_once(self, event):
        name = event["part"]
        self.running.pop(name, None)
        if not event["final"]:
            self.retries[event["host"]] += 1
        self.show.tell("fail", f"part {name} failed on {event['host']}: {event['why']}", part=name, host=event["host"],
                       worker=event["worker"], why=event["why"])

    def ended(self, name, future):
        """A part's future has ended; returns False if the job must end."""
        self.running.pop(name, None)
        if future.status == "cancelled":
            raise SchedulerLost
        error = future.exception() if future.status == "error" else None
        result = None if error else future.result()
        if error is None and "error" not in result:
            self.finished(name, result)
            return True
        killer = type(error).__name__ == "KilledWorker"
        self.failed[name] = "it killed its workers" if killer else str(error.args[0] if error else result["error"])
        self.show.tell("failed", f"part {name} is given up: {self.failed[name]}", part=name, why=self.failed[name],
                       killed_workers=killer)
        return not killer

    def finished(self, name, result):
        manifest = result["manifest"]
        self.manifests[name] = manifest
        if not result["again"]:
            self.whole += manifest["count"]
            return
        mine = self.by_worker[result["worker"]]
        mine["host"] = manifest["host"]
        mine["parts"] += 1
        mine["frames"] += manifest["count"]
        mine["busy"] += manifest["seconds"]
        self.show.tell("part", None, part=name, frames=manifest["count"], bytes=manifest["bytes"],
                       sha256=manifest["sha256"], worker=result["worker"], host=manifest["host"])

    def heard(self, event, names):
        """Takes an event; returns False if the job must end."""
        kind = event["event"]
        if kind == "done":
            return self.ended(names[event["future"].key], event["future"])
        if kind == "start":
            self.started(event)
        elif kind == "frames" and event["part"] in self.running:
            self.now[event["part"]] = event["frames"]
        elif kind == "fail":
            self.failed_once(event)
        return True

    def run(self, needs):
        job = dict(self.job, topic=self.engine.topic)
        futures = [self.engine.submit(part.encode_part, job, first, last, key=f"part-{part.part_name(first, last)}",
                                      needs=needs, retries=RETRIES) for first, last in self.parts]
        names = {future.key: part.part_name(*pair) for future, pair in zip(futures, self.parts)}
        present, looked = self.engine.workers(), time.monotonic()
        going = True
        while going and len(self.manifests) + len(self.failed) < len(self.parts):
            event = self.engine.next_event(0.5)
            if event:
                going = self.heard(event, names)
            self.show.progress(self.frames_done()[0], self.total, self.rate(), self.rates())
            if time.monotonic() > looked + 1:
                present, looked = self.look(present), time.monotonic()
        self.look(present)

    def look(self, before):
        """Tells which workers came and went."""
        present = self.engine.workers()
        for worker in sorted(before - present):
            self.show.tell("worker-lost", f"worker {worker} is gone, {len(present)} left", worker=worker, left=len(present))
        for worker in sorted(present - before):
            self.show.tell("worker-new", f"worker {worker} has come", worker=worker, workers=len(present))
        return present

    def rates(self):
        """Frames/s of each worker at work: of the whole run."""
        seconds = time.monotonic() - self.begin
        frames = {worker: mine["frames"] for worker, mine in self.by_worker.items()}
        for name, (worker, _) in self.running.items():
            frames[worker] = frames.get(worker, 0) + self.now.get(name, 0)
        return {worker: round(count / seconds, 2) for worker, count in frames.items()}

    def summary(self):
        seconds = time.monotonic() - self.begin
        made = self.frames_done()[1]
        return {"frames": self.total, "frames_made": made, "frames_whole_before": self.whole,
                "parts": len(self.parts), "parts_done": len(self.manifests), "run_seconds": round(seconds, 3),
                "frames_per_second": round(made / seconds, 2), "bytes": sum(m["bytes"] for m in self.manifests.values()),
                "workers": {worker: {**mine, "busy": round(mine["busy"], 3),
                                     "frames_per_second": round(mine["frames"] / mine["busy"], 2) if mine["busy"] else 0}
                            for worker, mine in self.by_worker.items()},
                "retries": dict(self.retries), "lost": dict(self.lost), "failed": self.failed}

    def show_summary(self):
        sums = self.summary()
        text = f"{sums['frames_made']} frames in {sums['run_seconds']:.1f} s, {sums['frames_per_second']:.1f} frames/s"
        if self.whole:
            text += f"; {self.whole} were there"
        self.show.tell("summary", text, **sums)
        self.show.table("by worker:", [f"{worker} on {v['host']}: {v['parts']} parts, {v['frames']} frames, "
                                       f"{v['frames_per_second']:.1f} frames/s while at work"
                                       for worker, v in sums["workers"].items()])
        self.show.table("repeated, by host:", [f"{host}: {self.retries[host]} failed, {self.lost[host]} lost with their worker"
                                               for host in sorted(set(self.retries) | set(self.lost))])


def warn_of_ttl(engine, show):
    ttl = engine.worker_ttl()
    if not engine.local and (ttl is None or ttl > 60):
        how = "never" if ttl is None else f"only after {ttl:.0f} s"
        show.tell("warning", f"this scheduler notices a frozen worker {how}; start it with "
                  "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL=30s", worker_ttl=ttl)


def encode_parts(arguments, job, show):
    """Has all parts done; returns the manifests in order, or None if some failed."""
    workers = arguments.workers or default_workers()
    frames = job["last"] - job["first"] + 1
    with open_engine(arguments.scheduler, workers, threads=1, offers=arguments.needs) as engine:
        parts = cut(job["first"], job["last"], job["period"], job["part"])
        show.tell("begin", f"{frames} frames in {len(parts)} parts for {len(engine.workers())} workers"
                  + (f"; Dask's page: {engine.page()}" if engine.page() else ""), frames=frames, parts=len(parts),
                  workers=len(engine.workers()), page=engine.page(), state=job["state"])
        warn_of_ttl(engine, show)
        film = Film(engine, job, parts, show)
        try:
            film.run(arguments.needs)
        except SchedulerLost:
            show.tell("scheduler-lost", "the scheduler is lost. Parts that are whole are kept: run the same command again",
                      parts_done=len(film.manifests), parts=len(parts))
            raise
        finally:
            film.show_summary()
        if film.failed:
            return None
        return [film.manifests[part.part_name(first, last)] for first, last in parts]


def finished_before(out, job):
    """Whether OUT is what this very job made."""
    try:
        with open(part_list(out), encoding="utf-8") as file:
            made = json.load(file)
        if is_pattern(out):
            return made["job"] == job["id"] and len(set(existing(out)) & set(range(job["first"], job["last"] + 1))) == \
                made["count"] and not os.path.exists(job["state"])
        return made["job"] == job["id"] and made["size"] == os.stat(out).st_size
    except (OSError, ValueError, KeyError):
        return False


def part_list(out):
    """The name of the film's manifest."""
    folder, name = os.path.split(NUMBER.sub("", out))
    return os.path.join(folder, re.sub(r"\.+", ".", name).rstrip(".") + ".json")


def write_film(job, manifests, arguments, show):
    size = join.join(job, manifests, arguments, show)
    fields = ("first", "last", "count", "bytes", "sha256")
    film = {"job": job["id"], "first": job["first"], "last": job["last"], "count": sum(m["count"] for m in manifests),
            "bytes": sum(m["bytes"] for m in manifests), "size": size, "command": job["command"], "encoder": job["version"],
            "parts": [{key: m[key] for key in fields} for m in manifests]}
    part.write_whole(part_list(arguments.output), json.dumps(film, indent=1) + "\n")


def run_film(arguments, show):
    join.check(arguments)
    state = State(arguments.output)
    job = describe_job(arguments, state)
    if finished_before(arguments.output, job):
        show.tell("whole", f"{arguments.output} is whole already")
        return DONE
    state.open(job)
    try:
        manifests = encode_parts(arguments, job, show)
        if manifests is None:
            show.tell("end", "not joined. What is whole is kept: mend the cause and run the same command again", ok=False)
            return FAILED
        write_film(job, manifests, arguments, show)
    except SchedulerLost:
        return LOST
    except join.JoinError as error:
        show.tell("failed", str(error), why=str(error))
        return FAILED
    state.close()
    show.tell("end", f"{arguments.output} is whole", ok=True, out=arguments.output)
    return DONE
