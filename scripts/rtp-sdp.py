#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes the SDP description of a stream of rtpj2ksclpay, from the caps that gst-launch-1.0 -v prints.

    gst-launch-1.0 -v ... ! rtpj2ksclpay ! udpsink host=239.0.0.1 port=5004 | tee log
    scripts/rtp-sdp.py --host 239.0.0.1 --port 5004 <log >stream.sdp

The last caps of media type application/x-rtp with encoding-name JPEG2000-SCL count. --frame-bytes, the property
constant-bytes of rtpj2ksclpay, adds the bandwidth b=AS; --ptp adds the attributes for a PTP clock.
"""
import argparse
import ipaddress
import math
import re
import sys

PARAMETERS = ("pixel", "sample", "width", "height", "signal", "cache")  # RFC 9828, 10
HEADERS = 20 + 8 + 12 + 8  # IPv4 without options, UDP, RTP, and the payload header of RFC 9828


def caps_fields(text):
    """The fields of the last caps of such a stream in the text, all as strings."""
    for line in reversed(text.splitlines()):
        # gst-launch-1.0 prints spaces and quotation marks inside caps with backslashes.
        line = line.replace("\\", "")
        if "application/x-rtp" in line and "JPEG2000-SCL" in line:
            found = re.findall(r'([a-z-]+)=\(\w+\)(?:"([^"]*)"|([^,; ]+))', line)
            return {name: quoted or plain for name, quoted, plain in found}
    return None


def bandwidth(fields, frame_bytes, packets):
    """b=AS: kilobits per second with all headers, rounded up."""
    rate = float(fields["a-framerate"])
    near = round(rate * 1.001)  # 29.97 stands for 30000/1001
    if abs(rate - near / 1.001) < 0.006 and near % 6 == 0:
        rate = near / 1.001
    return math.ceil(rate * 8 * (frame_bytes + packets * HEADERS) / 1000)


def describe(fields, options):
    address = ipaddress.ip_address(options.host)
    kind = f"IP{address.version}"
    where = f"{address}/{options.ttl}" if address.version == 4 and address.is_multicast else f"{address}"
    payload = fields.get("payload", "96")
    lines = ["v=0", f"o=- {options.session} 1 {kind} {options.source or address}", f"s={options.name}", "t=0 0",
             f"m=video {options.port} RTP/AVP {payload}", f"c=IN {kind} {where}"]
    if options.frame_bytes:
        packets = options.packets or math.ceil(options.frame_bytes / (options.mtu - 20)) + 1
        lines.append(f"b=AS:{bandwidth(fields, options.frame_bytes, packets)}")
    lines.append(f"a=rtpmap:{payload} jpeg2000-scl/90000")
    parameters = ";".join(f"{name}={fields[name]}" for name in PARAMETERS if name in fields)
    if parameters:
        lines.append(f"a=fmtp:{payload} {parameters}")
    if "a-framerate" in fields:
        lines.append(f"a=framerate:{fields['a-framerate']}")
    if options.ptp:
        lines += [f"a=ts-refclk:ptp={options.ptp}", "a=mediaclk:direct=0"]
    return "".join(line + "\r\n" for line in lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0],
                                     epilog=__doc__.split("\n\n", maxsplit=1)[1],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", required=True, help="address that packets are sent to")
    parser.add_argument("--port", required=True, type=int, help="UDP port that packets are sent to")
    parser.add_argument("--source", help="address of the sender (default: that of --host)")
    parser.add_argument("--name", default="JPEG 2000", help="name of the session")
    parser.add_argument("--session", default="1", help="number of the session, which should be unique")
    parser.add_argument("--ttl", type=int, default=32, help="time to live of multicast packets")
    parser.add_argument("--frame-bytes", type=int, help="constant-bytes of rtpj2ksclpay, for b=AS")
    parser.add_argument("--packets", type=int, help="most packets of a frame, for b=AS (default: as with "
                        "mark-precincts=false and headers that fit into one packet)")
    parser.add_argument("--mtu", type=int, default=1400, help="mtu of rtpj2ksclpay")
    parser.add_argument("--ptp", help="PTP clock of the timestamps, such as IEEE1588-2008:39-A7-94-FF-FE-07-CB-D0:0")
    options = parser.parse_args()
    fields = caps_fields(sys.stdin.read())
    if fields is None:
        sys.exit("rtp-sdp.py: no caps application/x-rtp with encoding-name=JPEG2000-SCL in the input; "
                 "run gst-launch-1.0 with -v")
    if options.frame_bytes and "a-framerate" not in fields:
        sys.exit("rtp-sdp.py: the caps have no frame rate, from which b=AS follows")
    sys.stdout.write(describe(fields, options))


if __name__ == "__main__":
    main()
