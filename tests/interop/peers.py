# SPDX-License-Identifier: LGPL-2.1-or-later
"""One function for each encoder and decoder of other projects.

encode_* return the stream's path; decode_* a list of planes. Both raise Refused when the program
does not do what it was asked for.
"""
import os

from cj2ktest import Run, read_pgx, read_pgx_set, read_pnm, write_pnm
from images import read_raw, write_raw


class Refused(Exception):
    pass


def call(arguments, produced):
    run = Run([str(argument) for argument in arguments], timeout=300)
    if run.status != 0 or not os.path.exists(produced) or os.path.getsize(produced) == 0:
        last = (run.stderr.strip().splitlines() or [f"status {run.status}"])[-1]
        raise Refused(f"{arguments[0]}: {last}")
    return produced


def is_pnm(case):
    return set(case.sampling) == {(1, 1)} and len(case.sampling) in (1, 3) and not case.signed


def write_input(case, planes, work):
    """Writes PGM or PPM if the picture permits, else raw samples with OpenJPEG's option -F."""
    if is_pnm(case):
        path = f"{work}/in.{'ppm' if len(planes) == 3 else 'pgm'}"
        write_pnm(path, planes, case.bits)
        return [path]
    write_raw(f"{work}/in.raw", planes, case.bits, big_endian=True)
    sampling = ":".join(f"{dx}x{dy}" for dx, dy in case.sampling)
    sign = "s" if case.signed else "u"
    return [f"{work}/in.raw", "-F", f"{case.width},{case.height},{len(planes)},{case.bits},{sign}@{sampling}"]


def encode_opj(case, planes, work):
    target = f"{work}/in.j2k"
    return call(["opj_compress", "-i", *write_input(case, planes, work), "-o", target, *case.options], target)


def encode_grk(case, planes, work):
    target = f"{work}/in.j2k"
    return call(["grk_compress", "-i", *write_input(case, planes, work), "-o", target, *case.options], target)


def encode_ojph(case, planes, work):
    target, count = f"{work}/in.j2c", len(planes)
    if is_pnm(case):
        return call(["ojph_compress", "-i", *write_input(case, planes, work), "-o", target, *case.options], target)
    source = f"{work}/in.yuv"
    write_raw(source, planes, case.bits)
    sampling = ",".join("{%d,%d}" % pair for pair in case.sampling)
    sign = "true" if case.signed else "false"
    return call(["ojph_compress", "-i", source, "-o", target, "-dims", "{%d,%d}" % (case.width, case.height),
                 "-num_comps", count, "-signed", ",".join([sign] * count),
                 "-bit_depth", ",".join([str(case.bits)] * count), "-downsamp", sampling, *case.options], target)


def encode_gst(case, _planes, work):
    """Encodes GStreamer's test picture with openjpegenc."""
    target = f"{work}/in.j2k"
    return call(["gst-launch-1.0", "-q", "videotestsrc", "num-buffers=1", "!",
                 f"video/x-raw,format={case.format},width={case.width},height={case.height}", "!",
                 "openjpegenc", *case.options, "!", "image/x-jpc", "!", "filesink", f"location={target}"], target)


def decode_opj(stream, case, planes, work):
    """Decodes components separately if OpenJPEG would otherwise convert sub-sampled ones to RGB."""
    if all(pair == (1, 1) for pair in case.sampling):
        call(["opj_decompress", "-i", stream, "-o", f"{work}/peer.pgx"], f"{work}/peer_0.pgx")
        return [read_pgx(f"{work}/peer_{index}.pgx") for index in range(len(case.sampling))]
    result = []
    for index in range(len(case.sampling)):
        call(["opj_decompress", "-i", stream, "-o", f"{work}/peer{index}.pgx", "-c", index],
             f"{work}/peer{index}_0.pgx")
        result.append(read_pgx(f"{work}/peer{index}_0.pgx"))
    return result


def decode_grk(stream, case, planes, work):
    """Grok upsamples sub-sampled components, and numbers its files only if there are several."""
    if set(case.sampling) != {(1, 1)}:
        raise Refused("grk_decompress: sub-sampled")
    call(["grk_decompress", "-i", stream, "-o", f"{work}/grok.pgx"],
         f"{work}/grok{'_0' if len(planes) > 1 else ''}.pgx")
    return read_pgx_set(f"{work}/grok") if len(planes) > 1 else [read_pgx(f"{work}/grok.pgx")]


def decode_ojph(stream, case, planes, work):
    if is_pnm(case):
        target = f"{work}/peer.{'ppm' if len(planes) == 3 else 'pgm'}"
        return read_pnm(call(["ojph_expand", "-i", stream, "-o", target], target))
    call(["ojph_expand", "-i", stream, "-o", f"{work}/peer.yuv"], f"{work}/peer.yuv")
    return read_raw(f"{work}/peer.yuv", planes, case.bits, case.signed)
