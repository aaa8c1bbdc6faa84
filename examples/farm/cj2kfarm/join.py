# SPDX-License-Identifier: LGPL-2.1-or-later
"""Codestreams of all parts to one file: one behind the other, or through a muxer of GStreamer; nothing is coded again.

While they are copied they are compared with the hashes of the parts' manifests.
"""
import collections
import concurrent.futures
import hashlib
import itertools
import os
import shutil
import struct
import subprocess
import threading
from fractions import Fraction

from . import child, part
from .sequence import UsageError, is_pattern

MUXERS = {".mxf": "mxfmux", ".mj2": "mj2mux"}
JOINED = {".j2c", ".j2k", ".jpc", ".jhc"}
GST = "gst-launch-1.0"
AHEAD = 16  # frames that are read before they are wanted


class JoinError(Exception):
    """The file could not be made; the parts are kept."""


def ending(out):
    return os.path.splitext(out)[1].lower()


def check(arguments):
    """Refuses at once what could not be joined in the end."""
    out = arguments.output
    if is_pattern(os.path.basename(out)) or ending(out) in JOINED:
        return
    if ending(out) not in MUXERS:
        raise UsageError(f"{out}: it must end in {', '.join([*MUXERS, *sorted(JOINED)])}, or hold the number of a frame")
    if not shutil.which(GST):
        raise UsageError(f"{out}: {GST} is not installed, which makes this file")


def read_frame(path):
    with open(path, "rb") as file:
        data = file.read()
    return data, hashlib.sha256(data).digest()


def ahead(paths, pool):
    """Codestreams and their hashes, in order; some are read before they are wanted."""
    paths, waiting = iter(paths), collections.deque()
    for path in itertools.islice(paths, AHEAD):
        waiting.append(pool.submit(read_frame, path))
    while waiting:
        yield waiting.popleft().result()
        for path in itertools.islice(paths, 1):
            waiting.append(pool.submit(read_frame, path))


def frames(job, manifests):
    """The codestreams in order; an error if they are not what the manifests say."""
    paths = (path for m in manifests for path in part.frame_paths(job["frames"], m["first"], m["last"]))
    with concurrent.futures.ThreadPoolExecutor(part.HASHERS) as pool:
        found = ahead(paths, pool)
        for manifest in manifests:
            digest = hashlib.sha256()
            for data, of_frame in itertools.islice(found, manifest["count"]):
                digest.update(of_frame)
                yield data
            if digest.hexdigest() != manifest["sha256"]:
                name = part.part_name(manifest["first"], manifest["last"])
                raise JoinError(f"part {name} is not what its manifest says; remove {job['state']} and begin anew")


# The GStreamer Data Protocol, version 1.0: a header of 62 bytes and the payload. It gives the muxer caps and
# timestamps. jpeg2000parse could do without, but mj2mux 1.22 to 1.26 loses the timestamps of image/x-jpc and wants
# image/x-j2c, the codestream in a box, for which GStreamer has no source.
GDP_BUFFER, GDP_CAPS, GDP_STREAM_START, GDP_SEGMENT = 1, 2, 64 + (40 << 8 | 14), 64 + (70 << 8 | 14)
NONE = (1 << 64) - 1
STREAM_START = b"GstEventStreamStart, stream-id=(string)film, flags=(GstStreamFlags)GST_STREAM_FLAG_NONE, group-id=(uint)1;\0"
SEGMENT = (b'GstEventSegment, segment=(GstSegment)"segment, flags=(GstSegmentFlags)GST_SEGMENT_FLAG_NONE, rate=(double)1, '
           b"applied-rate=(double)1, format=(GstFormat)time, base=(guint64)0, offset=(guint64)0, start=(guint64)0, "
           b"stop=(guint64)18446744073709551615, time=(guint64)0, position=(guint64)0, "
           b'duration=(guint64)18446744073709551615;";\0')


def gdp_packet(kind, payload, pts=NONE, duration=NONE):
    return struct.pack(">BBBBHIQQQQHHHHQHH", 1, 0, 0, 0, kind, len(payload), pts, duration, NONE, NONE,
                       0, 0, 0, 0, NONE, 0, 0) + payload


def describe(codestream, rate, muxer):
    """Caps of a codestream, from its SIZ marker segment."""
    if codestream[:4] != b"\xff\x4f\xff\x51":
        raise JoinError("a frame is not a bare codestream, as the muxers need it")
    x1, y1, x0, y0 = struct.unpack(">4I", codestream[8:24])
    count = struct.unpack(">H", codestream[40:42])[0]
    steps = [tuple(codestream[43 + 3 * c:45 + 3 * c]) for c in range(count)]
    sampling = {(1, 1): "YCbCr-4:4:4", (2, 1): "YCbCr-4:2:2", (2, 2): "YCbCr-4:2:0", (4, 1): "YCbCr-4:1:1"}
    if count < 3:
        kind, colour = "GRAYSCALE", "GRAY" if muxer != "mxfmux" else "sYUV"
    elif steps[1] == (1, 1):
        kind, colour = ("RGB", "sRGB") if count == 3 else ("RGBA", "sRGB")
    else:
        kind, colour = sampling.get(steps[1], "YCbCr-4:4:4"), "sYUV"
    media = "image/x-j2c" if muxer == "mj2mux" else "image/x-jpc"
    return (f"{media}, alignment=(string)frame, width=(int){x1 - x0}, height=(int){y1 - y0}, "
            f"framerate=(fraction){rate.numerator}/{rate.denominator}, num-components=(int){count}, fields=(int)1, "
            f"sampling=(string){kind}, colorspace=(string){colour}")


def feed(pipe, job, manifests, rate, muxer, failures):
    """Writes all frames to the pipeline's standard input."""
    second = 10**9 * rate.denominator
    try:
        with pipe:
            for number, data in enumerate(frames(job, manifests)):
                if number == 0:
                    pipe.write(gdp_packet(GDP_STREAM_START, STREAM_START))
                    pipe.write(gdp_packet(GDP_CAPS, describe(data, rate, muxer).encode() + b"\0"))
                    pipe.write(gdp_packet(GDP_SEGMENT, SEGMENT))
                start, end = number * second // rate.numerator, (number + 1) * second // rate.numerator
                if muxer == "mj2mux":
                    data = struct.pack(">I4s", len(data) + 8, b"jp2c") + data
                pipe.write(gdp_packet(GDP_BUFFER, data, start, end - start))
    except BrokenPipeError:
        pass  # its exit status and its words say why
    except (JoinError, OSError) as error:
        failures.append(error)


def mux(job, manifests, aside, out, rate):
    muxer = MUXERS[ending(out)]
    line = [GST, "-q", "fdsrc", "fd=0", "!", "gdpdepay", "!", "queue", "max-size-time=0", "!"]
    line += ["mux.video_0", "mj2mux", "name=mux"] if muxer == "mj2mux" else ["image/x-jpc", "!", "mxfmux"]
    line += ["!", "filesink", f"location={aside}"]
    failures = []
    with os.fdopen(os.memfd_create("output"), "w+b") as output:
        process = child.start(line, stdin=subprocess.PIPE, stdout=output, stderr=output)
        thread = threading.Thread(target=feed, args=(process.stdin, job, manifests, rate, muxer, failures))
        thread.start()
        try:
            status = process.wait()
        finally:
            child.stop(process)
            thread.join()
        output.seek(0)
        said = child.describe(status, output.read())
    if failures:
        raise JoinError(f"{out}: {failures[0]}")
    if status:
        raise JoinError(f"{out}: {muxer}: {said}")


def copy(job, manifests, aside):
    with open(aside, "wb") as file:
        for data in frames(job, manifests):
            file.write(data)


def join(job, manifests, arguments, show):
    """Makes OUT; returns its size, or the number of bytes of all files if OUT is a pattern."""
    out, expected = arguments.output, sum(m["bytes"] for m in manifests)
    if is_pattern(os.path.basename(out)):
        return expected
    aside = os.path.join(job["state"], f"join.{os.getpid()}{ending(out)}.tmp")
    show.tell("join", f"joining {len(manifests)} parts, {expected} bytes", parts=len(manifests), bytes=expected)
    try:
        if ending(out) in JOINED:
            copy(job, manifests, aside)
        else:
            mux(job, manifests, aside, out, Fraction(arguments.frame_rate))
        with open(aside, "rb") as file:
            os.fsync(file.fileno())
        size = os.stat(aside).st_size
        if size < expected:
            raise JoinError(f"{out}: {size} bytes were written of {expected}")
        os.replace(aside, out)
    except OSError as error:
        raise JoinError(f"{out}: {error.strerror}") from None
    finally:
        if os.path.exists(aside):
            os.unlink(aside)
    return size
