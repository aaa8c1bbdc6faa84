#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests scripts/rtp-sdp.py: what it writes, and that GStreamer's sdpdemux receives the stream that it describes."""
import os
import signal
import socket
import subprocess
import sys
import time

from cj2ktest import Folder, Tap, skip_all, wait_for_port

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts/rtp-sdp.py")
RAW = "video/x-raw,format=I422_10LE,width=160,height=96,framerate=30000/1001,colorimetry=bt709"
ENCODE = "cudaj2kenc backend=cpu block-coder=ht rate-control=cbr bits-per-pixel=2"
PAY = "rtpj2ksclpay mark-precincts=false constant-bytes=5000 timestamp-offset=0"


def have(element):
    return subprocess.run(["gst-inspect-1.0", element], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          check=False).returncode == 0


def sdp(caps, *options):
    run = subprocess.run([sys.executable, SCRIPT, *options], input=caps.encode(), stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, timeout=30, check=False)
    return run.returncode, run.stdout.decode(), run.stderr.decode()


def print_caps():
    """What gst-launch-1.0 -v prints for a short stream."""
    command = f"gst-launch-1.0 -v videotestsrc num-buffers=2 ! {RAW} ! {ENCODE} ! {PAY} ! fakesink"
    return subprocess.run(command.split(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60,
                          check=False).stdout


def receive(text, port, work):
    """The number of frames that arrive by this description, of 60 sent."""
    with open(f"{work}/stream.sdp", "w", encoding="ascii", newline="") as file:
        file.write(text)
    show = subprocess.Popen(("gst-launch-1.0 -e -q filesrc location=stream.sdp ! sdpdemux latency=100 ! rtpj2kscldepay ! "
                             "cudaj2kdec backend=cpu ! multifilesink location=shown-%05d.raw").split(), cwd=work)
    wait_for_port(port)
    send = (f"gst-launch-1.0 -q videotestsrc is-live=true num-buffers=60 ! {RAW} ! {ENCODE} ! {PAY} ! "
            f"udpsink host=127.0.0.1 port={port}")
    subprocess.run(send.split(), timeout=60, check=False)
    end = time.monotonic() + 20

    def shown():
        return len([name for name in os.listdir(work) if name.startswith("shown-")])
    while shown() < 30 and time.monotonic() < end:
        time.sleep(0.2)
    show.send_signal(signal.SIGINT)
    try:
        show.wait(20)
    except subprocess.TimeoutExpired:
        show.kill()
        show.wait()
    return shown()


def main():
    for element in ("rtpj2ksclpay", "videotestsrc"):
        if not have(element):
            skip_all(f"no {element}")
    tap = Tap()
    caps = print_caps()
    status, text, _ = sdp(caps, "--host", "239.0.0.1", "--port", "5004", "--frame-bytes", "5000", "--ptp",
                          "IEEE1588-2008:39-A7-94-FF-FE-07-CB-D0:0")
    # 30000/1001 frames of 5000 bytes and five packets with headers of 48 bytes.
    wanted = ["v=0", "o=- 1 1 IP4 239.0.0.1", "s=JPEG 2000", "t=0 0", "m=video 5004 RTP/AVP 96", "c=IN IP4 239.0.0.1/32",
              "b=AS:1257", "a=rtpmap:96 jpeg2000-scl/90000",
              "a=fmtp:96 pixel=ycbcr422sdr;sample=10;width=160;height=96;signal=prog", "a=framerate:29.970029970029969",
              "a=ts-refclk:ptp=IEEE1588-2008:39-A7-94-FF-FE-07-CB-D0:0", "a=mediaclk:direct=0"]
    tap.ok(status == 0 and text.split("\r\n") == wanted + [""], "a description of multicast with constant bytes and PTP",
           text)
    status, text, _ = sdp(caps, "--host", "192.0.2.7", "--port", "1234", "--source", "192.0.2.1")
    tap.ok(status == 0 and "c=IN IP4 192.0.2.7\r\n" in text and "IP4 192.0.2.1\r\n" in text and "b=" not in text,
           "unicast", text)
    status, text, _ = sdp(caps, "--host", "ff15::1", "--port", "1234")
    tap.ok(status == 0 and "c=IN IP6 ff15::1\r\n" in text, "IPv6", text)
    status, text, message = sdp("nothing of use", "--host", "192.0.2.7", "--port", "1234")
    tap.ok(status != 0 and not text and "-v" in message, "input without caps is an error", message)
    if not have("sdpdemux") or not have("udpsink"):
        tap.skip("sdpdemux receives the stream", "no sdpdemux or udpsink")
    else:
        with Folder() as work, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
            probe.close()
            frames = receive(sdp(caps, "--host", "127.0.0.1", "--port", str(port))[1], port, work)
            tap.ok(frames >= 30, "sdpdemux receives the stream", f"{frames} frames of 60")
    tap.done()


if __name__ == "__main__":
    main()
