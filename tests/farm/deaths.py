# SPDX-License-Identifier: LGPL-2.1-or-later
"""Ways in which a job of cj2k-farm can be hurt, for the long form of films.py."""
import glob
import os
import shutil
import signal
import subprocess
import tempfile
import time

import films
from films import FRAMES, PERIOD, command, outcome, report, tap

from cluster import Cluster, Farm, children, is_running, wait_for

PARTS = -(-FRAMES // PERIOD)


def names(numbers):
    return [f"{PERIOD * n:07d}-{PERIOD * (n + 1) - 1:07d}" for n in numbers]


def frozen(work, wanted):
    """A worker that is stopped: after worker-ttl its part is done elsewhere; it may go on later and does no harm."""
    out = f"{work}/frozen.j2c"
    with Cluster(work, 3) as cluster:
        farm = Farm(work, *command(work, out, f"--scheduler={cluster.address}"), faults={"pause": 20, "pause_parts": [PERIOD]})
        victim = wait_for(lambda: cluster.worker_of(PERIOD), 60)
        time.sleep(1)
        victim.send_signal(signal.SIGSTOP)
        begun = time.monotonic()
        farm.wait(240)
        took = time.monotonic() - begun
        faults = outcome(farm, 0, out, wanted)
        if [e["part"] for e in farm.of("again")] != names([1]) or len(farm.of("worker-lost")) != 1:
            faults.append("the frozen worker and its part were not told")
        victim.send_signal(signal.SIGCONT)
        time.sleep(4)
        faults += outcome(farm, 0, out, wanted)
        report("a frozen worker, which goes on when all is done", faults, farm)
        print(f"# whole {took:.1f} s after SIGSTOP, with worker-ttl 30 s")


def full_disk(work, wanted):
    """No room: told and given up; with room, the same command goes on."""
    if os.geteuid() != 0:
        tap.skip("a full disk", "only root can mount a small file system")
        return
    place = tempfile.mkdtemp(prefix="cj2k-farm-disk-")
    need = sum(os.path.getsize(path) for path in glob.glob(f"{work}/one/*.j2c"))
    # A file takes whole pages. The film itself needs room beside its parts.
    pages = sum(-(-os.path.getsize(path) // 4096) * 4 for path in glob.glob(f"{work}/one/*.j2c"))
    small = ["mount", "-t", "tmpfs", "-o", f"size={pages * 6 // 10}k", "cj2k-farm-test", place]
    if subprocess.run(small, check=False).returncode:
        os.rmdir(place)
        tap.skip("a full disk", "a tmpfs cannot be mounted here")
        return
    try:
        out = f"{place}/full.j2c"
        farm = Farm(work, *command(work, out, "--workers=2"))
        farm.wait(240)
        faults = outcome(farm, 1, out, None)
        done = farm.summary().get("parts_done", 0)
        if "No space left" not in str(farm.summary().get("failed")) or not 0 < done < PARTS:
            faults.append(f"not told, or {done} parts done")
        if glob.glob(f"{out}.farm/*.tmp"):
            faults.append("temporary files are left")
        report("a full disk is told", faults, farm)
        subprocess.run(["mount", "-o", f"remount,size={pages * 2 + need * 2 // 1024 + 1024}k", place], check=True)
        farm = Farm(work, *command(work, out, "--workers=2"))
        farm.wait(240)
        faults = outcome(farm, 0, out, wanted)
        if farm.summary().get("parts_done") != PARTS or len(farm.starts()) != PARTS - done:
            faults.append(f"{len(farm.starts())} parts were begun, {PARTS - done} were missing")
        report("with room the same command goes on", faults, farm)
    finally:
        if subprocess.run(["umount", place], check=False).returncode == 0:
            os.rmdir(place)


def killer(work, wanted):
    """A part that kills its workers ends the job; others stay whole."""
    out = f"{work}/killer.j2c"
    farm = Farm(work, *command(work, out, "--workers=2"), faults={"kill_worker": PERIOD * 2 + 3})
    begun = time.monotonic()
    farm.wait(240)
    faults = outcome(farm, 1, out, None)
    if not [e for e in farm.of("failed") if e["part"] == names([2])[0] and e["killed_workers"]]:
        faults.append("the part is not named")
    report("a part that kills its workers ends the job with its name", faults, farm)
    print(f"# {time.monotonic() - begun:.1f} s, {len(farm.of('worker-lost'))} workers lost")
    done = farm.summary()["parts_done"]
    farm = Farm(work, *command(work, out, "--workers=2"))
    farm.wait(240)
    faults = outcome(farm, 0, out, wanted)
    if len(farm.starts()) > PARTS - done:
        faults.append(f"{len(farm.starts())} parts were begun, {PARTS - done} were missing")
    report("once it is mended the same command goes on", faults, farm)


def crash(work):
    """An encoder that crashes is repeated three times and told; the worker lives."""
    out = f"{work}/crash.j2c"
    farm = Farm(work, *command(work, out, "--workers=2"), faults={"crash": PERIOD * 4})
    farm.wait(240)
    faults = outcome(farm, 1, out, None)
    if "SIGSEGV" not in str(farm.summary().get("failed")) or sum(farm.summary().get("retries", {}).values()) != 4:
        faults.append(f"retries {farm.summary().get('retries')}")
    if farm.of("worker-lost"):
        faults.append("a worker was lost")
    report("an encoder that crashes is tried four times and told", faults, farm)
    shutil.rmtree(f"{out}.farm")


def stalled(work):
    """An encoder that makes no more frames."""
    out = f"{work}/stalled.j2c"
    arguments = command(work, out, "--workers=2", "--stalled-after=10")
    farm = Farm(work, *arguments, faults={"pause": 60, "pause_parts": [PERIOD * 4]})
    farm.wait(240)
    faults = outcome(farm, 1, out, None)
    if "no new frame for 10 s" not in str(farm.summary().get("failed")) or farm.summary().get("parts_done") != PARTS - 1:
        faults.append("not told, or others were not done")
    report("an encoder that stands still", faults, farm)
    shutil.rmtree(f"{out}.farm")


def interrupted(work):
    """The command is interrupted: the workers of another's cluster stop what they do for it."""
    out = f"{work}/interrupted.j2c"
    with Cluster(work, 2) as cluster:
        farm = Farm(work, *command(work, out, f"--scheduler={cluster.address}"), faults={"pause": 60})
        below = wait_for(lambda: len(cluster.busy()) == 2 and [pid for w in cluster.workers for pid in children(w.pid)], 60)
        farm.process.send_signal(signal.SIGTERM)
        status = farm.wait(30)
        gone = wait_for(lambda: not any(is_running(pid) for pid in below), 20)
        faults = [] if status == 130 and gone else [f"status {status}, encoders ended: {gone}"]
        # A worker removes the folder once its encoder has ended, and what that had started.
        clean = wait_for(lambda: not glob.glob(f"{out}.farm/*.tmp"), 20)
        if not clean or any(worker.poll() is not None for worker in cluster.workers):
            faults.append("temporary files are left, or a worker ended")
        report("the command is interrupted: the workers stop", faults, farm)


def scheduler_killed(work, wanted):
    """The plan is lost with the scheduler, the parts are not."""
    out = f"{work}/scheduler.j2c"
    with Cluster(work, 2) as cluster:
        farm = Farm(work, *command(work, out, f"--scheduler={cluster.address}"),
                    faults={"pause": 30, "pause_parts": [PERIOD * 9]})
        wait_for(lambda: len(farm.of("part")) >= PARTS // 2 and cluster.busy(), 120)
        below = [pid for worker in cluster.workers for pid in children(worker.pid)]
        cluster.scheduler.kill()
        begun = time.monotonic()
        farm.wait(60)
        took = time.monotonic() - begun
        faults = outcome(farm, 3, out, None)
        if not farm.of("scheduler-lost"):
            faults.append("not told")
        gone = wait_for(lambda: not any(is_running(pid) for pid in below), 60)
        if not gone:
            faults.append("encoders live on")
        report("the scheduler is killed", faults, farm)
        print(f"# told {took:.1f} s after the kill")
    done = len(glob.glob(f"{out}.farm/*-*.json"))
    with Cluster(work, 2) as cluster:
        farm = Farm(work, *command(work, out, f"--scheduler={cluster.address}"))
        farm.wait(240)
    faults = outcome(farm, 0, out, wanted)
    if len(farm.starts()) != PARTS - done or not 0 < done < PARTS:
        faults.append(f"{done} parts were whole, {len(farm.starts())} begun of {PARTS}")
    report("the command run again goes on", faults, farm)


def command_killed(work, wanted):
    """The command itself, with its workers, is killed."""
    out = f"{work}/command.j2c"
    farm = Farm(work, *command(work, out, "--workers=2"), faults={"pause": 30, "pause_parts": [PERIOD * 9]})
    wait_for(lambda: len(farm.of("part")) >= PARTS // 2, 120)
    below = children(farm.process.pid)
    farm.process.kill()
    farm.wait()
    gone = wait_for(lambda: not any(is_running(pid) for pid in below), 30)
    report("the command is killed: nothing of it lives on", [] if gone else ["processes live on"], farm)
    done = len(glob.glob(f"{out}.farm/*-*.json"))
    farm = Farm(work, *command(work, out, "--workers=2"))
    farm.wait(240)
    faults = outcome(farm, 0, out, wanted)
    if len(farm.starts()) != PARTS - done or not 0 < done < PARTS:
        faults.append(f"{done} parts were whole, {len(farm.starts())} begun of {PARTS}")
    report("the same command goes on", faults, farm)


def containers(work):
    """MXF and MJ2 files hold the codestreams of one run."""
    with open(f"{work}/out1.j2c", "rb") as file:
        wanted = file.read()
    for kind, demuxer, box in (("mxf", "mxfdemux", 0), ("mj2", "qtdemux", 8)):
        out, frames = f"{work}/film.{kind}", f"{work}/{kind}"
        if any(subprocess.run(["gst-inspect-1.0", element], stdout=subprocess.DEVNULL, check=False).returncode
               for element in (demuxer, "gdpdepay")) or not shutil.which("gst-launch-1.0"):
            tap.skip(f"a film as {kind}", f"no {demuxer} or gdpdepay of GStreamer")
            continue
        farm = Farm(work, *command(work, out, "--workers=2"))
        farm.wait(240)
        os.mkdir(frames)
        subprocess.run(["gst-launch-1.0", "-q", "filesrc", f"location={out}", "!", demuxer, "!", "multifilesink",
                        f"location={frames}/%07d.j2c"], check=False, timeout=120)
        found = []
        for path in sorted(glob.glob(f"{frames}/*")):
            with open(path, "rb") as file:
                found.append(file.read()[box:])
        faults = outcome(farm, 0, out, None)
        if b"".join(found) != wanted or len(found) != FRAMES:
            faults.append(f"{len(found)} frames come back, or others")
        report(f"a film as {kind}", faults, farm)


def with_gstreamer(work):
    """A GStreamer line in place of cj2k-encode."""
    if not shutil.which("gst-launch-1.0") or subprocess.run(["gst-inspect-1.0", "cudaj2kenc"], stdout=subprocess.DEVNULL,
                                                            check=False).returncode:
        tap.skip("a GStreamer line", "no gst-launch-1.0 with cudaj2kenc")
        return
    line = ["gst-launch-1.0", "-q", "multifilesrc", "location={in}", "start-index={first}", "stop-index={last}",
            "caps=image/x-portable-pixmap,framerate=24/1", "!", "pnmdec", "!", "cudaj2kenc", "rate-control=lossless", "!", "multifilesink",
            "index={first}", "location={out}"]
    out = f"{work}/line/%07d.j2c"
    farm = Farm(work, films.in_parts(work), out, f"--rate-period={PERIOD}", "--workers=2", f"--frames=0-{PERIOD * 3 - 1}", "--",
                *line)
    farm.wait(240)
    faults = outcome(farm, 0, out, None)
    made = sorted(os.listdir(f"{work}/line"))
    back = f"{work}/back"
    os.mkdir(back)
    done = subprocess.run([os.environ.get("CJ2K_DECODE", "cj2k-decode"), f"{work}/line/%07d.j2c", f"{back}/f.%07d.ppm",
                           f"--frames=0-{PERIOD * 3 - 1}"], check=False, capture_output=True, timeout=240)
    same = all(films.digest(f"{back}/f.{n:07d}.ppm") == films.digest(f"{work}/in/f.{n:07d}.ppm")
               for n in range(PERIOD * 3)) if not done.returncode else done.stderr
    if [n for n in made if n.endswith(".j2c")] != [f"{n:07d}.j2c" for n in range(PERIOD * 3)] or same is not True:
        faults.append(f"{len(made)} files; lossless: {same}")
    report("a GStreamer line in place of cj2k-encode", faults, farm)


def run(work, wanted):
    with Cluster(work, 3) as cluster:
        films.killed(work, wanted, cluster, 2)
    frozen(work, wanted)
    full_disk(work, wanted)
    killer(work, wanted)
    crash(work)
    stalled(work)
    interrupted(work)
    scheduler_killed(work, wanted)
    command_killed(work, wanted)
    containers(work)
    with_gstreamer(work)
