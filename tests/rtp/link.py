#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Sends a stream over a link of limited rate with a short queue: two network namespaces, a pair of veth devices and the
queueing discipline tbf. A frame sent as one burst overflows the queue; all its packets that are lost must be accounted
for, and what arrives must be decodable. With pacing frames fit.

Namespaces are made without root where the kernel allows it; else the test is skipped.
"""
import os
import re
import subprocess
import sys
import time

from cj2ktest import Folder, Tap, skip_all

FRAMES = 25
RAW = "video/x-raw,format=I422_10LE,width=1280,height=720,framerate=25/1,colorimetry=bt709"
ENCODE = "cudaj2kenc backend=cpu block-coder=ht rate-control=cbr bits-per-pixel=2 precincts=128x128 progression-order=rpcl"
# A frame has 230 kB and takes 18 ms at this rate; the queue holds 90 kB.
LINK = "rate 100mbit burst 20kb limit 90kb"


def inside(command, namespace=None, **more):
    enter = ["nsenter", "-n", "-t", str(namespace)] if namespace else []
    return subprocess.run(enter + command.split(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=120, check=False, **more)


def make_link():
    """Returns the process that holds the other namespace, or None and what failed."""
    other = subprocess.Popen(["unshare", "-n", "sleep", "600"])
    for _ in range(50):  # until it has its namespace
        if os.readlink(f"/proc/{other.pid}/ns/net") != os.readlink("/proc/self/ns/net"):
            break
        time.sleep(0.1)
    for command, namespace in ((f"ip link add name near type veth peer name far netns {other.pid}", None),
                               ("ip link set lo up", None), ("ip link set near up", None),
                               ("ip addr add 10.77.0.1/24 dev near", None), ("ip link set far up", other.pid),
                               ("ip addr add 10.77.0.2/24 dev far", other.pid),
                               (f"tc qdisc add dev near root tbf {LINK}", None)):
        run = inside(command, namespace)
        if run.returncode:
            other.kill()
            other.wait()
            return None, f"{command}: {run.stdout.strip()}"
    return other, ""


def dropped():
    return int(re.search(r"dropped (\d+)", inside("tc -s qdisc show dev near").stdout).group(1))


def send(other, payloader, work):
    """The number of frames decoded, of codestreams that arrived as sent, of packets sent, received and dropped."""
    for name in ("sent", "got", "shown"):
        os.makedirs(f"{work}/{name}", exist_ok=True)
        for file in os.listdir(f"{work}/{name}"):
            os.remove(f"{work}/{name}/{file}")
    before = dropped()
    receiver = subprocess.Popen(
        ["nsenter", "-n", "-t", str(other.pid), *(
            "gst-launch-1.0 -e -q udpsrc port=5004 buffer-size=4000000 "
            "caps=application/x-rtp,media=video,clock-rate=90000,encoding-name=JPEG2000-SCL ! "
            "tee name=packets ! queue max-size-buffers=0 max-size-bytes=0 ! rtpj2kscldepay ! tee name=streams ! "
            "queue max-size-bytes=0 ! cudaj2kdec backend=cpu ! fakesink streams. ! queue ! multifilesink "
            "location=got/%05d packets. ! queue max-size-buffers=0 max-size-bytes=0 ! rtpstreampay ! filesink location=shown/packets").split()], cwd=work)
    time.sleep(1)
    run = inside(f"gst-launch-1.0 -q videotestsrc num-buffers={FRAMES} pattern=zone-plate kx2=3 ky2=3 kt=2 ! "
                 f"{RAW} ! {ENCODE} ! tee name=streams ! queue ! {payloader} ! tee name=packets ! queue ! "
                 "udpsink host=10.77.0.2 port=5004 streams. ! queue ! multifilesink location=sent/%05d "
                 "packets. ! queue ! rtpstreampay ! filesink location=shown/sent", cwd=work)
    time.sleep(1)
    receiver.send_signal(2)
    try:
        receiver.wait(30)
    except subprocess.TimeoutExpired:
        receiver.kill()
        receiver.wait()

    def codestreams(name):
        out = []
        for file in sorted(os.listdir(f"{work}/{name}")):
            with open(f"{work}/{name}/{file}", "rb") as data:
                out.append(data.read())
        return out

    def count(name):
        if not os.path.exists(f"{work}/shown/{name}"):
            return 0
        with open(f"{work}/shown/{name}", "rb") as file:
            data = file.read()
        at = number = 0
        while at + 2 <= len(data):
            at += 2 + int.from_bytes(data[at:at + 2], "big")
            number += 1
        return number
    sent, got = codestreams("sent"), codestreams("got")
    return {"status": run.returncode, "frames": len(got), "intact": len(set(sent) & set(got)), "sent": count("sent"),
            "received": count("packets"), "dropped": dropped() - before}


def main():
    for element in ("rtpj2ksclpay", "rtpstreampay", "udpsink", "videotestsrc"):
        if subprocess.run(["gst-inspect-1.0", element], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          check=False).returncode:
            skip_all(f"no {element}")
    if os.environ.get("CJ2K_TESTS_LONG") is None:
        skip_all("its result depends on how busy the machine is; CJ2K_TESTS_LONG is not set")
    if "inside" not in sys.argv:
        try:
            if subprocess.run(["unshare", "-rn", "true"], stderr=subprocess.DEVNULL, check=False).returncode:
                skip_all("network namespaces are not allowed here")
        except FileNotFoundError:
            skip_all("no unshare")
        os.execvp("unshare", ["unshare", "-rn", sys.executable, __file__, "inside"])
    other, why = make_link()
    if not other:
        skip_all(why)
    tap = Tap()
    with Folder() as work:
        burst = send(other, "rtpj2ksclpay", work)
        paced = send(other, "rtpj2ksclpay pacing=1.2", work)
    other.kill()
    other.wait()
    for name, result in (("burst", burst), ("paced", paced)):
        tap.ok(result["status"] == 0 and result["sent"] == result["received"] + result["dropped"],
               f"{name}: every packet arrived, or was dropped by the link", str(result))
        tap.ok(result["frames"] >= FRAMES - 2, f"{name}: frames arrive", str(result))
    tap.ok(paced["dropped"] < burst["dropped"] and paced["intact"] > burst["intact"],
           "fewer packets are lost with pacing", f"burst {burst}\npaced {paced}")
    tap.done()


if __name__ == "__main__":
    main()
