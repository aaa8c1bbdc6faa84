#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Live streams through cj2k-farm live: what is refused; streams that end or stand still are started again; with
CJ2K_TESTS_LONG=1 six streams on three workers, one of which is killed."""
import os
import shutil
import signal
import subprocess

from cj2ktest import LONG, Folder, Tap, skip_all

from cluster import Cluster, Farm, children, is_running, wait_for

SOURCE = "videotestsrc is-live=true {0}! video/x-raw,format=I420,width=96,height=64,framerate=25/1 ! cudaj2kenc num-threads=1"
tap = Tap()


def write(work, streams, offers="hd = 4", more=""):
    with open(f"{work}/streams.toml", "w", encoding="utf-8") as file:
        file.write(f"[worker]\noffers = {{ {offers} }}\n[defaults]\nneeds = {{ hd = 1 }}\n{more}\n")
        for name, line in streams.items():
            file.write(f'[[stream]]\nname = "{name}"\nline = """{line}"""\n')
    return "streams.toml"


def report(name, faults, farm):
    tap.ok(not faults, name, "\n".join([*map(str, faults), str(farm)]))


def refused(work):
    line = SOURCE.format("") + " ! fakesink"
    for name, words, text in (
            ("a line without our elements", "nothing to watch", '[[stream]]\nname = "a"\nline = "fakesrc ! fakesink"\n'),
            ("a stream without a line", "a name and a line", '[[stream]]\nname = "a"\n'),
            ("an unknown key", "need is unknown", f'[[stream]]\nname = "a"\nline = "{line}"\nneed = 1\n'),
            ("a line with a quote that does not close", "stream a: its line: No closing quotation",
             f"[[stream]]\nname = 'a'\nline = '{line} name=\"b'\n"),
            ("two streams of one name", "the same name", f'[[stream]]\nname = "a"\nline = "{line}"\n' * 2),
            ("a file that is not TOML", "streams.toml", "[[[")):
        with open(f"{work}/streams.toml", "w", encoding="utf-8") as file:
            file.write(text)
        farm = Farm(work, "live", "streams.toml")
        farm.wait()
        report(f"{name} is refused", [] if farm.process.returncode == 2 and words in farm.errors else ["?"], farm)


def restarted(work):
    """Of three streams one ends by itself and one stands still; both are started again, the third is left alone."""
    still = SOURCE.format("") + " ! fakesink sync=true"
    ends = SOURCE.format("num-buffers=20 ") + " ! fakesink sync=true"
    # The branch of the encoder ends after 30 frames; the other one goes on, so that the line does not end.
    stops = SOURCE.format("") + " ! identity eos-after=31 ! fakesink sync=true videotestsrc is-live=true ! fakesink"
    farm = Farm(work, "live", write(work, {"steady": still, "ends": ends, "stops": stops}, more="stalled-after = 5"),
                "--workers=1")
    runs = {"steady": 1, "ends": 2, "stops": 2}
    told = wait_for(lambda: all(len([e for e in farm.of("stream-runs") if e["stream"] == n]) >= count
                                for n, count in runs.items()), 60)
    below = children(farm.process.pid)
    farm.process.send_signal(signal.SIGTERM)
    status = farm.wait(30)
    down = {e["stream"]: e["why"] for e in farm.of("stream-down")}
    faults = [] if told and status == 0 else [f"status {status}, not all came back"]
    if "steady" in down or down.get("ends") != "its line ended" or "no frame for 5 s" not in down.get("stops", ""):
        faults.append(f"down: {down}")
    if not wait_for(lambda: not any(is_running(pid) for pid in below), 10):
        faults.append("processes live on")
    report("streams that end or stand still are started again; SIGTERM ends all", faults, farm)


def ended(work):
    """restart = false: a line that ends by itself is not started again, one that fails is."""
    ends = SOURCE.format("num-buffers=20 ") + " ! fakesink sync=true"
    fails = SOURCE.format("num-buffers=20 ") + " ! filesink location=/nowhere/x"
    farm = Farm(work, "live", write(work, {"ends": ends, "fails": fails}, more="restart = false"), "--workers=1")
    told = wait_for(lambda: farm.of("stream-end") and len([e for e in farm.of("stream-placed") if e["stream"] == "fails"]) > 1, 60)
    farm.process.send_signal(signal.SIGTERM)
    status = farm.wait(30)
    down = {e["stream"] for e in farm.of("stream-down")}
    faults = [] if told and status == 0 and down == {"fails"} and [e["stream"] for e in farm.of("stream-end")] == ["ends"] \
        else [f"status {status}, down: {down}"]
    report("restart = false is for lines that end by themselves", faults, farm)


def placed(farm):
    """Stream -> worker and process that it is on now."""
    return {e["stream"]: (e["worker"], e["pid"]) for e in farm.of("stream-placed")}


def worker_killed(work):
    """Six streams on three workers; one is killed, and its streams are back within five seconds."""
    line = SOURCE.format("") + " ! fakesink sync=true"
    streams = write(work, {f"s{n}": line for n in range(6)})
    options = ("--resources", "hd=4", "--nthreads", "64")
    with Cluster(work, 3, {"DASK_DISTRIBUTED__SCHEDULER__DEFAULT_TASK_DURATIONS": '{"stream": "1h"}'}, options) as cluster:
        if not wait_for(lambda: is_running(cluster.workers[2].pid), 10):
            raise RuntimeError("no workers")
        farm = Farm(work, "live", streams, f"--scheduler={cluster.address}")
        wait_for(lambda: len({e["stream"] for e in farm.of("stream-runs")}) == 6, 60)
        before = placed(farm)
        victim = cluster.workers[0]
        mine = [name for name, (_, pid) in before.items() if pid == victim.pid]
        below = children(victim.pid)
        victim.kill()
        back = wait_for(lambda: {e["stream"] for e in farm.of("stream-runs") if e["seconds_down"] is not None} == set(mine), 20)
        farm.process.send_signal(signal.SIGTERM)
        status = farm.wait(30)
        others = not wait_for(lambda: not any(children(w.pid) for w in cluster.workers[1:]), 10)
    gaps = [e["seconds_down"] for e in farm.of("stream-runs") if e["seconds_down"] is not None]
    faults = [] if back and status == 0 and max(gaps, default=99) <= 5 else [f"status {status}, gaps {gaps}"]
    if not mine or any(is_running(pid) for pid in below) or others:
        faults.append(f"streams of the dead worker: {mine}; its children live, or those of the others when all has ended")
    if {e["stream"] for e in farm.of("stream-down")} != set(mine):
        faults.append("other streams than those of the dead worker were down")
    report("six streams on three workers, one killed: its streams are back within 5 s", faults, farm)
    print(f"# {len(mine)} streams were down for {gaps} s")


def check_unit():
    """The unit of systemd for streams that run day and night."""
    unit = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/live/cj2k-stream@.service")
    if not shutil.which("systemd-analyze") or not os.path.exists("/usr/bin/gst-launch-1.0"):
        tap.skip("the unit of systemd", "no systemd-analyze, or no /usr/bin/gst-launch-1.0, which the unit runs")
        return
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", os.path.realpath(unit)], capture_output=True, text=True, check=False)
    tap.ok(done.returncode == 0 and "cj2k-stream" not in done.stderr, "the unit of systemd", done.stderr)


def main():
    if os.environ.get("CJ2K_SANITIZED") == "1":
        skip_all("gst-launch-1.0 has no sanitizer inside and cannot load the plugin")
    check_unit()
    with Folder() as work:
        refused(work)
        if not shutil.which("gst-launch-1.0") or subprocess.run(["gst-inspect-1.0", "cudaj2kenc"], check=False,
                                                                stdout=subprocess.DEVNULL).returncode:
            tap.skip("streams", "no gst-launch-1.0 that finds cudaj2kenc")
        else:
            restarted(work)
            ended(work)
            if LONG:
                worker_killed(work)
    tap.done()


main()
