#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Films through cj2k-farm: the bytes of one run for every split, and what is done when something dies.

Normally a film of a few dozen small frames; with CJ2K_TESTS_LONG=1 one of 1440 frames, and more ways to die.
"""
import glob
import hashlib
import os
import shutil
import subprocess
import sys
import time

from cj2ktest import ENCODE, LONG, Folder, Tap, skip_all

from cluster import ENCODER, Cluster, Farm, children, is_running, wait_for

FRAMES, PERIOD = (1440, 96) if LONG else (40, 8)
PARTS = -(-FRAMES // PERIOD)
RATE = ["--rate-control=cbr", "--bits-per-pixel=1.5"]
tap = Tap()


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def sequence_digest(pattern):
    """The hash of all frames, one behind the other."""
    sums = hashlib.sha256()
    for path in sorted(glob.glob(pattern)):
        with open(path, "rb") as file:
            sums.update(file.read())
    return sums.hexdigest()


def in_parts(work, name="f"):
    return os.path.join(work, "in", f"{name}.%07d.ppm")


def rate_options():
    return [f"--rate-period={PERIOD}"]


def one_run(work):
    """The bytes of one run of cj2k-encode."""
    os.mkdir(f"{work}/one")
    subprocess.run([ENCODE, *RATE, *rate_options(), f"--frames=0-{FRAMES - 1}", in_parts(work), f"{work}/one/%07d.j2c"],
                   check=True, timeout=600, stderr=subprocess.DEVNULL)
    return sequence_digest(f"{work}/one/*.j2c")


def command(work, out, *where, options=()):
    return [in_parts(work), out, *rate_options(), *where, "--", *RATE, *options]


def outcome(farm, status, out, wanted):
    """Why a run is not as it should be, or nothing."""
    faults = []
    if farm.process.returncode != status:
        faults.append(f"exit status {farm.process.returncode}, not {status}")
    if wanted and (not os.path.exists(out) or digest(out) != wanted):
        faults.append(f"{os.path.basename(out)} is not what one run makes")
    left = glob.glob(f"{out}.farm") if status == 0 else []
    if left:
        faults.append(f"left behind: {left}")
    return faults


def report(name, faults, farm):
    tap.ok(not faults, name, "\n".join([*map(str, faults), str(farm)]))


def same(work, wanted, workers, where):
    """Every number of workers gives the bytes of one run."""
    out = f"{work}/out{workers}.j2c"
    farm = Farm(work, *command(work, out, where))
    farm.wait(600)
    faults = outcome(farm, 0, out, wanted)
    sums = farm.summary()
    if sums.get("frames_made") != FRAMES or len(farm.starts()) != PARTS:
        faults.append(f"{sums.get('frames_made')} frames made, parts begun: {farm.starts()}")
    report(f"{workers} worker{'s' if workers > 1 else ''}: the bytes of one run", faults, farm)
    print(f"# {sums.get('frames_per_second')} frames/s")


def whole(work):
    farm = Farm(work, *command(work, f"{work}/out2.j2c", "--workers=1"))
    farm.wait()
    report("a film that is whole is not made again", [] if farm.of("whole") and not farm.starts() else [farm.starts()], farm)


def upwards(work, wanted):
    """A folder whose name has dots of its own, from a folder below: the film's manifest lies beside it."""
    os.makedirs(f"{work}/deep/er")
    farm = Farm(f"{work}/deep/er", *command(work, "../up.ward.j2c", "--workers=1"))
    farm.wait()
    faults = outcome(farm, 0, f"{work}/deep/up.ward.j2c", wanted)
    if not os.path.exists(f"{work}/deep/up.ward.j2c.json"):
        faults.append(f"no manifest beside the film: {os.listdir(f'{work}/deep')}")
    report("a film in a folder above", faults, farm)


def killed(work, wanted, cluster, number):
    """Workers that die in the middle of a part: nothing is lost, and nothing is done twice but these parts."""
    out = f"{work}/killed{number}.j2c"
    slow = [PERIOD * (2 + i) for i in range(number)]
    farm = Farm(work, *command(work, out, f"--scheduler={cluster.address}"), faults={"pause": 120, "pause_parts": slow})
    # The slow parts are at work, and all others are done.
    ready = wait_for(lambda: len(cluster.busy()) == number and len(farm.of("part")) == PARTS - number, 120)
    victims = cluster.busy()
    below = [pid for victim in victims for pid in children(victim.pid)]
    farm.plan({})
    for victim in victims:
        victim.kill()
    begun = time.monotonic()
    gone = wait_for(lambda: not any(is_running(pid) for pid in below), 5)
    farm.wait(240)
    took = time.monotonic() - begun
    faults = outcome(farm, 0, out, wanted)
    if not ready or not below or not gone:
        faults.append(f"at work at the same time: {bool(ready)}; children of the dead ended: {gone} {below}")
    again = sorted(f"{first}-{first + PERIOD - 1}" for first in slow)
    if sorted(farm.starts()[PARTS:]) != again or len(set(farm.starts()[:PARTS])) != PARTS:
        faults.append(f"begun after the kill: {farm.starts()[PARTS:]}, not {again}")
    if len(farm.of("again")) != number or len(farm.of("worker-lost")) != number:
        faults.append("the lost workers and parts were not told")
    report(f"{number} worker{'s' if number > 1 else ''} killed in mid-part", faults, farm)
    print(f"# whole {took:.1f} s after the kill")


def poisonous(work, wanted, cluster):
    """A frame that cannot be read: the others are done, the part is named; once it is mended the job goes on."""
    out, frame = f"{work}/poison.j2c", f"{work}/in/f.{PERIOD * 3 + 2:07d}.ppm"
    shutil.move(frame, f"{work}/kept.ppm")
    with open(frame, "wb") as file:
        file.write(b"P6\n10 10\n255\n")
    where = f"--scheduler={cluster.address}"
    farm = Farm(work, *command(work, out, where))
    farm.wait()
    name = f"{PERIOD * 3:07d}-{PERIOD * 4 - 1:07d}"
    faults = outcome(farm, 1, out, None)
    if list(farm.summary().get("failed", {})) != [name] or os.path.basename(frame) not in str(farm.summary()):
        faults.append("part and frame are not named")
    if farm.summary().get("parts_done") != PARTS - 1:
        faults.append("not all others were done")
    report("a frame that cannot be read", faults, farm)
    shutil.move(f"{work}/kept.ppm", frame)
    farm = Farm(work, *command(work, out, where))
    farm.wait()
    faults = outcome(farm, 0, out, wanted)
    if farm.starts() != [f"{PERIOD * 3}-{PERIOD * 4 - 1}"]:
        faults.append(f"whole parts are done again: {farm.starts()}")
    report("the same command goes on, and only the missing part is done", faults, farm)


def refused(work):
    """What cannot be done is refused at once, with a reason."""
    os.rename(f"{work}/in/f.0000005.ppm", f"{work}/kept.ppm")
    farm = Farm(work, *command(work, f"{work}/gap.j2c", "--workers=1"))
    farm.wait()
    report("a missing frame is named", [] if farm.process.returncode == 2 and "missing: 5" in farm.errors else ["?"], farm)
    os.rename(f"{work}/kept.ppm", f"{work}/in/f.0000005.ppm")
    os.makedirs(f"{work}/far")
    for number in (1, 20240101):
        shutil.copy(f"{work}/in/f.0000005.ppm", f"{work}/far/g.{number}.ppm")
    farm = Farm(work, "far/g.%d.ppm", "far.j2c", "--workers=1", "--", *RATE)
    farm.wait()
    report("a stray number", [] if farm.process.returncode == 2 and "from frame 1 to 20240101" in farm.errors else ["?"], farm)
    for name, words, arguments in (
            ("an ending that no muxer has", ".mxf", ["x.avi", "--workers=1"]),
            ("a scheduler that is not there", "no Dask scheduler", ["x.j2c", "--scheduler=tcp://127.0.0.1:1"]),
            ("an encoder that is not there", "no such program", ["x.j2c", "--encoder=cj2k-nowhere"]),
            ("an unknown option", "--wrkers", ["x.j2c", "--wrkers=2"]),
            ("a first pass", "needs the whole film", ["x.j2c", "--workers=1", "--", "--pass", "both"]),
            ("a first pass in one word", "needs the whole film", ["x.j2c", "--workers=1", "--", "--pass=1", "--stats=s"])):
        farm = Farm(work, in_parts(work), *arguments, *(() if "--" in arguments else ("--",)), *RATE)
        farm.wait()
        report(f"{name} is refused", [] if farm.process.returncode == 2 and words in farm.errors else ["?"], farm)
    os.makedirs(f"{work}/other.j2c.farm")
    with open(f"{work}/other.j2c.farm/job.json", "w", encoding="utf-8") as file:
        file.write("{}")
    farm = Farm(work, *command(work, f"{work}/other.j2c", "--workers=1"))
    farm.wait()
    report("parts of another job are not used", [] if farm.process.returncode == 2 and "another job" in farm.errors
           else ["?"], farm)


def main():
    if os.environ.get("CJ2K_SANITIZED") == "1":
        skip_all("what it tests is in Python; the encoder has tests of its own")
    os.environ["CJ2K_REAL_ENCODE"] = ENCODE
    with Folder() as work, Cluster(work, 1) as cluster:
        subprocess.run([sys.executable, os.path.join(os.path.dirname(ENCODER), "film.py"), f"{work}/in", str(FRAMES),
                        "192x108"], check=True)
        wanted = one_run(work)
        same(work, wanted, 1, f"--scheduler={cluster.address}")
        cluster.add_worker()
        same(work, wanted, 2, "--workers=2")
        whole(work)
        upwards(work, wanted)
        refused(work)
        killed(work, wanted, cluster, 1)
        poisonous(work, wanted, cluster)
        if LONG:
            same(work, wanted, 4, "--workers=4")
            import deaths  # pylint: disable=import-outside-toplevel
            deaths.run(work, wanted)
    tap.done()


if __name__ == "__main__":
    # deaths.py uses the functions of this very module.
    sys.modules["films"] = sys.modules["__main__"]
    main()
