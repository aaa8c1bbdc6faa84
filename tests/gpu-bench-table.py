#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Makes the tables of docs/performance.md and docs/deployment.md from what tests/gpu-bench.sh and tests/gpu.sh printed.

    tests/gpu-bench-table.py LOG...              # all tables, then the project's targets, met or not
    tests/gpu-bench-table.py LOG... --fill FILE...  # in these, between <!-- NAME --> and <!-- end --> of each table

Cells without a figure in the logs stay empty, and a table without any stays in its page as it is; each missing key is
named on standard error.
"""
import json
import pathlib
import re
import sys
import textwrap

COUNTS = (1, 4, 8, 16, 32, 64)
PICTURE = 3840 * 2160 * 3 * 2  # bytes of RGB in 16 bit
V210 = 10240 * 2160
NVIDIA = re.compile(r"(?:(\d+) bytes )?(?:[\d.]+ bpp +)?([\d.]+) fps +([\d.]+) ms/frame")
AROUND = {"host", "bus"}  # of the machine: tables have them beside figures of their own


class Figures(dict):
    """Remembers whether a figure was found."""

    used = False

    def get(self, key, default=None):
        self.used |= key in self and key not in AROUND
        return super().get(key, default)


class Log:
    """Figures by key; remembers the keys that were requested but are missing."""

    def __init__(self, text):
        self.figures, self.missing = Figures(), set()
        for line in text.splitlines():
            match = re.match(r"(?: *\d+ )?bench ([\w.-]+): (.*)", line)
            if match:
                self.add(*match.groups())
            elif match := re.match(r"(?: *\d+ )?long run, (\w+): ok(?:, \d+ s:)? ({.*)", line):
                self.add("long." + match[1], match[2])

    def add(self, key, text):
        if text.startswith("{"):
            self.figures[key] = json.loads(text)
        elif match := NVIDIA.search(text):
            self.figures[key] = {"bytes": int(match[1] or 0), "fps": float(match[2]), "ms_p50": float(match[3])}
        else:
            self.figures.setdefault(key, {"text": text})

    def get(self, key, *fields):
        """The first of `fields` that the key has ("a+b": the sum of two stages); None: missing."""
        figure = self.figures.get(key, {})
        for field in fields:
            parts = [figure.get(part, figure.get("stages_ms", {}).get(part)) for part in field.split("+")]
            if None not in parts:
                return parts[0] if len(parts) == 1 else sum(parts)
        self.missing.add(f"{key} ({', '.join(fields)})")
        return None

    def best(self, key, counts=COUNTS):
        """Frames per second and frames in flight of the fastest key.N; (None, None): missing."""
        found = [(self.figures.get(f"{key}.{n}", {}).get("fps"), n) for n in counts]
        found = [pair for pair in found if pair[0] is not None]
        if not found:
            self.missing.add(key + ".N (fps)")
        return max(found, default=(None, None))

    def least(self, key, field, rounds=(1, 2)):
        found = [self.figures.get(f"{key}.{n}", {}).get(field) for n in rounds]
        found = [value for value in found if value is not None]
        if not found:
            self.missing.add(f"{key}.N ({field})")
        return min(found, default=None)


# ------------------------------------------------------------------------------------------------- cells ---

def number(value, unit=""):
    """The value with three significant digits, or four before the decimal point."""
    if value is None:
        return ""
    digits = 0 if value >= 200 else 1 if value >= 20 else 2 if value >= 2 else 3
    return f"{value:.{digits}f}{unit}"


def ratio(a, b):
    return a / b if a is not None and b else None


def of_best(best):
    return "" if best[0] is None else f"{number(best[0])} ({best[1]})"


def share(fps, size, gbs):
    """Share of the bus bandwidth that pictures of `size` bytes use."""
    return None if fps is None or gbs is None else fps * size / 1e9 / gbs


def with_share(best, size, gbs):
    part = share(best[0], size, gbs)
    return of_best(best) + ("" if part is None else f", {part:.3f} of the bus")


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in rows:
        cells = [cell if isinstance(cell, str) else number(cell) for cell in row]
        lines.append("| " + " | ".join(cells + [""] * (len(head) - len(cells))) + " |")
    return "\n".join(lines).replace("|  ", "| ").replace("  |", " |")


def prose(text):
    return textwrap.fill(text.strip(), 118)


def compare(name, ours, theirs):
    """A table row of frames per second: ours, theirs, and the ratio."""
    return [name, of_best(ours), of_best(theirs), ratio(ours[0], theirs[0])]


def compare_ms(name, ours, theirs):
    return [name, number(ours, " ms"), number(theirs, " ms"), ratio(ours, theirs)]


def better(*bests):
    return max(bests, key=lambda best: best[0] or 0)


def lower(*values):
    return min((value for value in values if value is not None), default=None)


def median(values):
    """Of an odd number of measurements; None if one is missing."""
    return None if None in values else sorted(values)[len(values) // 2]


# ------------------------------------------------------------------------------------------------ blocks ---

BLOCKS, TARGETS = {}, []


def block(function):
    BLOCKS[function.__name__.replace("_", "-")] = function
    return function


def target(what, value, wanted, below=False):
    """One of the project's targets, and whether it is met."""
    TARGETS.append((what, value, wanted, below))


@block
def run(log):
    gpu, _, driver = (log.get("gpu", "text") or "?, ?").partition(", ")
    return prose(f"{gpu}, driver {driver}; {log.get('host', 'cores')} cores of {log.get('host', 'cpu')}; plain copies of "
                 f"50 MB between page-locked host memory and the device: {log.get('bus', 'to_device_gbs')} GB/s to it, "
                 f"{log.get('bus', 'to_host_gbs')} GB/s from it.")


HT_RATES = (("1bpp", "1 bpp"), ("4bpp", "4 bpp"), ("lossless", "lossless, 22 bpp"))


@block
def ht_decode(log):
    rows, down = [], log.get("bus", "to_host_gbs")
    for key, name in HT_RATES:
        rows.append(compare(f"to device memory, {name}", log.best(f"dec.ht_{key}.device"), log.best(f"nv.dec.ht_{key}")))
        target(f"HT decode to device, {name}", ratio(log.best(f"dec.ht_{key}.device")[0],
                                                     log.best(f"nv.dec.ht_{key}")[0]), 1.3)
    for key, name in HT_RATES:
        ours, theirs = log.get(f"dec.ht_{key}.device.1", "ms_p50"), log.get(f"nv.dec.ht_{key}.1", "ms_p50")
        rows.append(compare_ms(f"one in flight, {name}", ours, theirs))
        target(f"HT decode, one in flight, {name}", ratio(ours, theirs), 0.6, True)
    for key, name in HT_RATES:
        best = log.best(f"dec.ht_{key}.host", (1, 4, 8))
        rows.append([f"to pinned host memory, {name}", with_share(best, PICTURE, down)])
        target(f"HT decode to host, {name}, of the bus", share(best[0], PICTURE, down), 0.95)
    best = log.best("v210.dec", (1, 4, 8))
    rows += [["4:2:2 10 bit as v210, 3.3 bpp, to pinned host memory", with_share(best, V210, down)],
             ["the same, one in flight", number(log.get("v210.dec.1", "ms_p50"), " ms")]]
    for key, name in HT_RATES[:2]:
        rows.append([f"to device memory, {name}, 16 in flight, CUDA_DEVICE_MAX_CONNECTIONS=32",
                     log.get(f"dec.ht_{key}.queues", "fps")])
    return table(("decode", "cudaj2k", "nvJPEG2000", "ratio"), rows)


@block
def ht_turns(log):
    rows = []
    for key, name in (("plt", "with PLT, the default"), ("no-plt", "without")):
        turns, packets = ([log.get(f"turn.{key}.{n}", what) for n in range(1, 6)] for what in ("ms_p50", "ms_packets"))
        rows.append([name, *(number(ms) for ms in turns), number(median(turns)), number(median(packets))])
        target(f"HT decode to host, 4 bpp, one in flight, {name}, ms, median of the turns", median(turns), 1.25, True)
    return table(("one frame to pinned host memory, 4 bpp, ms", *"12345", "median", "packets"), rows)


@block
def ht_decode_stages(log):
    names = ("packets, on the host", "ms_packets"), ("upload", "upload"), ("MEL and VLC", "quads"), \
        ("MagSgn", "magsgn"), ("lower levels of the inverse DWT", "idwt"), \
        ("last level, component transform, store", "finish")
    rows = [[name] + [log.get(f"dec.ht_{key}.stages", stage) for key, _ in HT_RATES] for name, stage in names]
    return table(("ms, one frame in flight",) + tuple(name for _, name in HT_RATES), rows)


@block
def ht_encode(log):
    rows, up = [], log.get("bus", "to_device_gbs")
    kinds = ("ht_step", "fixed step", "4 bpp", (1.3, None)), ("ht_lossless", "lossless, 22 bpp", "lossless", (None, 1.3))
    for key, name, short, wanted in kinds:
        for (output, text), times in zip((("device", "from device memory"), ("host", "from pinned host memory")), wanted):
            ours, theirs = log.best(f"enc.{key}.{output}"), log.best(f"nv.enc.{key}.{output}")
            rows.append(compare(f"{name}, {text}", ours, theirs))
            if output == "host":
                rows[-1][1] = with_share(ours, PICTURE, up)
            if times:
                target(f"HT encode {text}, {short}", ratio(ours[0], theirs[0]), times)
        for output, text in ("device", "from device memory"), ("host", "from pinned host memory"):
            ours, theirs = (log.get(f"{who}enc.{key}.{output}.1", "ms_p50") for who in ("", "nv."))
            rows.append(compare_ms(f"{name}, one in flight, {text}", ours, theirs))
            target(f"HT encode, one in flight, {text}, {short}", ratio(ours, theirs), 0.6, True)
    device, host = log.best("enc.ht_cbr.device"), log.best("enc.ht_cbr.host")
    rows += [["cbr, 4 bpp, from device memory", of_best(device), "no rate target"],
             ["cbr, 4 bpp, from pinned host memory", with_share(host, PICTURE, up), "no rate target"]]
    for output, text in ("device", "from device memory"), ("host", "from pinned host memory"):
        rows.append([f"cbr, 4 bpp, one in flight, {text}",
                     number(log.get(f"enc.ht_cbr.{output}.1", "ms_p50"), " ms"), "no rate target"])
    target("HT encode from host, 4 bpp, of the bus", share(better(host, log.best("enc.ht_step.host"))[0], PICTURE, up), 0.95)
    best = log.best("v210.enc", (1, 4, 8))
    rows += [["4:2:2 10 bit as v210, 3.3 bpp, from pinned host memory", with_share(best, V210, up)],
             ["the same, one in flight", number(log.get("v210.enc.1", "ms_p50"), " ms")]]
    target("v210 encode from host, of the bus", share(best[0], V210, up), 0.95)
    sizes = [number((log.get(key, "bytes") or 0) * 8 / 3840 / 2160) for key in ("enc.ht_step.device.1",
                                                                                "nv.enc.ht_step.device.1")]
    return table(("encode", "cudaj2k", "nvJPEG2000", "ratio"), rows) + \
        f"\n\nThe fixed step makes {sizes[0]} bpp in ours, {sizes[1]} bpp in nvJPEG2000's."


@block
def ht_encode_stages(log):
    names = ("level 1, with unpacking and component transform", "top"), ("deeper levels", "levels"), \
        ("sizes of blocks at several steps", "measure"), ("HT coder", "code"), ("download", "download"), \
        ("choices and packets, on the host", "ms_packets")
    kinds = ("ht_step", "fixed step"), ("ht_cbr", "cbr, 4 bpp"), ("ht_lossless", "lossless")
    rows = [[name] + [log.figures.get(f"enc.{key}.stages", {}).get("stages_ms", {}).get(stage) if stage == "measure"
                      else log.get(f"enc.{key}.stages", stage) for key, _ in kinds] for name, stage in names]
    return table(("ms, one frame in flight, from device memory",) + tuple(name for _, name in kinds), rows)


MQ_RATES = (("1bpp", "1 bpp"), ("4bpp", "4 bpp"), ("lossless", "lossless, 21 bpp"))


@block
def mq_decode(log):
    rows = []
    for key, name in MQ_RATES:
        ours = log.best(f"dec.mq32_{key}.device")
        theirs = better(log.best(f"nv.dec.mq32_{key}"), log.best(f"nv.dec.mq64_{key}"))
        rows.append(compare(f"{name}, frames/s", ours, theirs))
        rows[-1][2] += size_of(log, f"nv.dec.mq{{}}_{key}", theirs[0])
        target(f"MQ decode, {name}", ratio(ours[0], theirs[0]), 2)
    for key, name in MQ_RATES:
        ours = log.get(f"dec.mq32_{key}.device.1", "ms_p50")
        theirs = lower(*(log.get(f"nv.dec.mq{size}_{key}.1", "ms_p50") for size in (32, 64)))
        rows.append(compare_ms(f"{name}, one in flight", ours, theirs))
        target(f"MQ decode, one in flight, {name}", ratio(ours, theirs), 0.5, True)
    for key, name in MQ_RATES:
        rows.append([f"{name}, 64×64 code-blocks in ours, frames/s", of_best(log.best(f"dec.mq64_{key}.device"))])
    return table(("decode", "cudaj2k", "nvJPEG2000", "ratio"), rows)


def block_sizes(log, way, rates, head):
    """Code-blocks of 64×64 beside those of 32×32, with pictures in device memory."""
    rows = []
    for key, name in rates:
        small, large = (log.best(f"{way[:3]}.mq{size}_{key}.device") for size in (32, 64))
        ms = [log.get(f"{way[:3]}.mq{size}_{key}.device.1", "ms_p50") for size in (32, 64)]
        rows.append([name, of_best(small), of_best(large), ratio(small[0], large[0]), *ms, ratio(ms[1], ms[0])])
        target(f"MQ {way}, 64×64 in place of 32×32, {name}: times slower", ratio(small[0], large[0]), 1.5, True)
    return table((head, "32×32, frames/s", "64×64", "times slower", "32×32, one in flight, ms", "64×64", "times slower"),
                 rows)


@block
def large_blocks(log):
    return block_sizes(log, "decode", MQ_RATES, "decode, to device memory")


def size_of(log, pattern, fps):
    """The code-block size with which nvJPEG2000 reached its best figure."""
    if fps is None:
        return ""
    return next((f", {size}×{size}" for size in (32, 64) if log.best(pattern.format(size))[0] == fps), "")


@block
def large_blocks_encode(log):
    rates = ("cbr", "cbr 3.8 bpp"), ("lossless", "lossless, 21 bpp")
    return block_sizes(log, "encode", rates, "encode, from device memory")


@block
def mq_encode(log):
    rows = []
    kinds = ("cbr", "cbr 3.8 bpp"), ("lossless", "lossless, 21 bpp")
    for key, name in kinds:
        ours = log.best(f"enc.mq32_{key}.host")
        theirs = better(log.best(f"nv.enc.mq32_{key}.host"), log.best(f"nv.enc.mq64_{key}.host"))
        rows.append(compare(f"{name}, from pinned host memory, frames/s", ours, theirs))
        rows[-1][2] += size_of(log, f"nv.enc.mq{{}}_{key}.host", theirs[0])
        target(f"MQ encode, host to host, {name}", ratio(ours[0], theirs[0]), 4)
    for key, name in kinds:
        rows.append([f"{name}, from device memory, frames/s", of_best(log.best(f"enc.mq32_{key}.device"))])
    for key, name in kinds:
        ours = log.get(f"enc.mq32_{key}.host.1", "ms_p50")
        theirs = lower(*(log.get(f"nv.enc.mq{size}_{key}.host.1", "ms_p50") for size in (32, 64)))
        rows.append(compare_ms(f"{name}, from pinned host memory, one in flight", ours, theirs))
        target(f"MQ encode, one in flight, {name}", ratio(ours, theirs), 0.5, True)
    best = log.best("cinema", (1, 8, 16))
    rows += [["1920×1080, cinema-2k, 250 Mbit/s, R'G'B' to X'Y'Z', from pinned host memory, frames/s", of_best(best)],
             ["the same, one in flight", number(log.get("cinema.1", "ms_p50"), " ms")]]
    target("cinema-2k, 250 Mbit/s, frames/s", best[0], 500)
    theirs = log.get("nv.enc.mq32_cbr.host.1", "bytes")
    return table(("encode", "cudaj2k", "nvJPEG2000", "ratio"), rows) + \
        f"\n\nnvJPEG2000 has no rate control: its fixed step makes {number((theirs or 0) * 8 / 3840 / 2160)} bpp."


@block
def mq_stages(log):
    names = ("4bpp", "decode, 4 bpp"), ("lossless", "decode, lossless")
    rows = [[text, log.get(f"dec.mq32_{key}.stages", "ms_packets"), "", log.get(f"dec.mq32_{key}.stages", "mq"),
             log.get(f"dec.mq32_{key}.stages", "idwt+finish")] for key, text in names]
    names = ("cbr", "encode, cbr 3.8 bpp"), ("lossless", "encode, lossless")
    rows += [[text, log.get(f"enc.mq32_{key}.stages", "ms_packets"), log.get(f"enc.mq32_{key}.stages", "contexts"),
              log.get(f"enc.mq32_{key}.stages", "code"), log.get(f"enc.mq32_{key}.stages", "top+levels")]
             for key, text in names]
    return table(("ms, one frame in flight, device memory", "packets, on the host", "context modelling", "MQ coder",
                  "transforms"), rows)


PLANES = (("lossless8", "8 bit, lossless"), ("lossless10", "10 bit, lossless"), ("lossless12", "12 bit, lossless"),
          ("step8", "12 bit, 9/7, step 2⁻⁸"), ("step10", "12 bit, 9/7, step 2⁻¹⁰"),
          ("step12", "12 bit, 9/7, step 2⁻¹²"), ("cbr", "12 bit, 9/7, cbr 4 bpp"),
          ("hd", "1920×1080, 12 bit, lossless"), ("lossless64", "64×64, 12 bit, lossless"),
          ("cbr64", "64×64, 12 bit, 9/7, cbr 4 bpp"), ("hd64", "64×64, 1920×1080, 12 bit, lossless"))


def by_default(key):
    """What plt=auto does: hd64 has fewer than 4096 code-blocks."""
    return "none.no-plt", "bypass.no-plt" if key == "hd64" else "bypass.plt"


def bypass_pair(log, key, styles, case, field):
    """Without BYPASS, with it, and how many times as fast that is."""
    none, raw = (log.get(f"planes.{key}.{style}.{case}", field) for style in styles)
    return none, raw, ratio(raw, none) if field == "fps" else ratio(none, raw)


def bypass(log, way, stages):
    rows = []
    for key, name in PLANES:
        pairs = [bypass_pair(log, key, by_default(key), f"{way}.{count}", field)
                 for count, field in ((1, stages), (1, "ms_p50"), (8, "fps"))]
        sizes = [log.get(f"planes.{key}.{style}.enc.1", "bytes") for style in by_default(key)]
        bpp = number(sizes[0] and sizes[0] * 8 / (1920 * 1080 if key.startswith("hd") else 3840 * 2160))
        more = "" if None in sizes else f"{(sizes[1] / sizes[0] - 1) * 100:+.2f} %"
        rows.append([name, bpp, more] + [number(value) for pair in pairs for value in pair])
        for what, pair in zip(("Tier-1", "alone", "8 in flight"), pairs):
            target(f"BYPASS, {way}, {name}, {what}: times as fast", pair[2], 1)
    return table(("", "bpp", "bytes with BYPASS", "Tier-1, ms", "BYPASS", "times", "a frame alone, ms", "BYPASS", "times",
                  "frames/s, 8 in flight", "BYPASS", "times"), rows)


@block
def bypass_encode(log):
    return bypass(log, "enc", "contexts+code")


@block
def bypass_decode(log):
    return bypass(log, "dec", "mq")


def bypass_lists(log, plt, head):
    """Decoding where streams of both kinds have PLT, or neither."""
    styles = f"none.{plt}", f"bypass.{plt}"
    rows = []
    for key, name in PLANES:
        packets = bypass_pair(log, key, styles, "dec.1", "ms_packets")[:2]
        alone, several = (bypass_pair(log, key, styles, *case) for case in (("dec.1", "ms_p50"), ("dec.8", "fps")))
        rows.append([name] + [number(value) for value in packets + alone + several])
    return table((head, "packets alone, ms", "BYPASS", "a frame alone, ms", "BYPASS", "times",
                  "frames/s, 8 in flight", "BYPASS", "times"), rows)


@block
def bypass_plt(log):
    return bypass_lists(log, "plt", "with PLT")


@block
def bypass_no_plt(log):
    return bypass_lists(log, "no-plt", "without PLT")


@block
def bypass_foreign(log):
    rows = []
    for key, name in ("4bpp", "4 bpp"), ("lossless", "lossless"):
        none, raw = f"dec.mq32_{key}", f"dec.mq32_{key}_bypass"
        rows.append([name, *(log.get(k + ".stages", "mq") for k in (none, raw)),
                     *(log.get(k + ".device.1", "ms_p50") for k in (none, raw)),
                     *(log.best(k + ".device")[0] for k in (none, raw)),
                     *(log.get(k + ".device.1", "bytes") for k in (none, raw))])
        rows[-1][7:] = [f"{value:.0f}" if value else "" for value in rows[-1][7:]]
    return table(("`opj_compress` streams", "Tier-1, ms", "BYPASS", "a frame alone, ms", "BYPASS", "frames/s", "BYPASS",
                  "bytes", "BYPASS"), rows)


@block
def overlap(log):
    names = (("decode-host-1", "HT decode to host memory, 4 bpp, one in flight"),
             ("decode-host-4", "HT decode to host memory, 4 bpp, 4 in flight"),
             ("decode-device-16", "HT decode to device memory, 4 bpp, 16 in flight"),
             ("encode-host-1", "HT encode from host memory, fixed step, one in flight"),
             ("encode-host-4", "HT encode from host memory, fixed step, 4 in flight"),
             ("mq-cbr-1", "MQ encode from host memory, cbr 4 bpp, one in flight"),
             ("mq-cbr-8", "MQ encode from host memory, cbr 4 bpp, 8 in flight"),
             ("mq-lossless-1", "MQ encode from host memory, lossless, one in flight"),
             ("mq-lossless-8", "MQ encode from host memory, lossless, 8 in flight"))
    fields = "ms_upload", "ms_kernels", "ms_download", "ms_copies_and_kernels", "ms_any"
    rows = []
    for key, name in names:
        values = [log.get("timeline." + key, field) for field in fields]
        rows.append([name] + [f"{value:.2f}" if value else "" for value in values])
        rows[-1].append(log.get("timeline." + key, "fps"))
    return table(("", "upload", "kernels", "download", "copies and kernels at once", "all", "frames/s"), rows)


@block
def parts(log):
    rows = []
    for key, what in (("dec.422", "decode 4:2:2 to"), ("dec.rgb", "decode RGB to"),
                      ("enc.422", "encode 4:2:2 from"), ("enc.rgb", "encode RGB from")):
        for where in "device.8", "host.4", "device.1", "host.1":
            output, count = where.split(".")
            field, unit = ("ms_p50", " ms") if count == "1" else ("fps", " frames/s")
            one, three = (log.get(f"parts.{key}.{where}.{way}", field) for way in ("off", "on"))
            name = f"{what} {output} memory, {'one' if count == '1' else count} in flight"
            rows.append([name, number(one, unit), number(three, unit), ratio(three, one)])
    return table(("", "one stream a frame", "one a component", "ratio"), rows)


@block
def elements(log):
    rows = []
    for key, name in ("dec", "`cudaj2kdec`"), ("enc", "`cudaj2kenc`, fixed step"):
        element, library = log.get("elements." + key, "fps"), log.get("elements.library." + key, "fps")
        rows.append([name, element, library, ratio(element, library)])
        target(f"elements in CUDAMemory, {name}, of the library", ratio(element, library), 0.8)
    return table(("", "element", "library", "ratio"), rows)


@block
def elements_mq(log):
    for key in "dec", "enc":
        target(f"elements, Part 1, 1920×1080, {key}, frames/s", log.get(f"elements.mq32.{key}", "fps"), 20 * 25)
    return table(("", "32×32 code-blocks", "64×64"),
                 [[name] + [log.get(f"elements.mq{size}.{key}", "fps") for size in (32, 64)]
                  for key, name in (("dec", "`cudaj2kdec`"), ("enc", "`cudaj2kenc`"))])


@block
def memory(log):
    one, more = (log.figures.get(f"dec.ht_4bpp.host.{n}", {}).get("device_mb", [None, None])[1] for n in (1, 8))
    lines = ""
    if one and more:
        lines = f"Memory of the GPU in use while decoding at 4 bpp to host memory, by NVML, with the CUDA context: {one:.0f} MB " \
                f"with one frame in flight, {more:.0f} MB with eight."
    for key, name in ("decode", "decoding"), ("encode", "encoding (cbr)"):
        long = log.figures.get("long." + key)
        if long:
            lines += f" {long['frames']} frames of 1920×1080 at 4 bpp, {name}, {long['in_flight']} in flight, host to " \
                     f"host: {number(long['fps'])} a second; memory of the host grew by " \
                     f"{long['rss_mb'][1] - long['rss_mb'][0]:.1f} MB, of the GPU by " \
                     f"{long['device_mb'][1] - long['device_mb'][0]:.1f} MB."
    return prose(lines)


# ------------------------------------------------------------------------------- films, streams, several GPUs ---

FILMS = ("ht.cbr", "HT, 3 bpp"), ("ht.step", "HT, a fixed step"), ("mq.cbr", "MQ 32×32, 3 bpp"), \
    ("mq.still", "the same, one picture"), ("rgb.cbr", "natural RGB 12 bit, HT, 4 bpp"), \
    ("rgb.step", "natural RGB 12 bit, HT, a fixed step")
FLIGHTS = 1, 8, 16


def film_targets(log):
    for key, name in ("ht", "film"), ("rgb", "natural film"):
        cbr, step = (log.best(f"film.{key}.{kind}.device", FLIGHTS)[0] for kind in ("cbr", "step"))
        target(f"HT with a budget, {name}, of the frames a second with a fixed step", ratio(cbr, step), 0.85)
        cbr, step = (log.get(f"film.{key}.{kind}.device.1", "ms_p50") for kind in ("cbr", "step"))
        target(f"HT with a budget, {name}, one in flight, ms over a fixed step", cbr and step and cbr - step, 0.2, True)
    for where in "device", "host":
        film, still = (log.best(f"film.mq.{kind}.{where}", FLIGHTS)[0] for kind in ("cbr", "still"))
        target(f"MQ with a budget, film from {where} memory, of the frames a second of one picture", ratio(film, still), 0.9)
        for n in 1, 16:
            times = ratio(*(log.get(f"film.mq.cbr.{where}.{n}", field) for field in ("ms_p99", "ms_p50")))
            target(f"MQ with a budget, film from {where} memory, {n} in flight, p99 over p50", times, 1.4, True)
        for n, limit in ("default", 0.6), (16, 0.4):
            target(f"HT with a budget, film from {where} memory, {n} in flight, ms of processor time",
                   log.get(f"film.ht.cbr.{where}.{n}", "cpu_ms"), limit, True)
    for key, name in ("ht", "film"), ("rgb", "natural film"):
        target(f"HT from host memory with a budget, {name}, one in flight, ms", log.get(f"film.{key}.cbr.host.1", "ms_p50"),
               1.45, True)


@block
def film(log):
    rows = []
    for where in "device", "host":
        for key, name in FILMS:
            alone, many, asleep = (log.figures.get(f"film.{key}.{where}.{n}", {}) for n in (1, 16, "default"))
            rows.append([f"{name}, from {where} memory", number(alone.get("bpp")),
                         of_best(log.best(f"film.{key}.{where}", FLIGHTS)),
                         *(number(figure.get(field)) for figure in (alone, many) for field in ("ms_p50", "ms_p99")),
                         *(number(figure.get("cpu_ms")) for figure in (alone, asleep, many))])
    film_targets(log)
    return table(("encode", "bpp", "frames/s", "one in flight, p50, ms", "p99", "16 in flight, p50", "p99",
                  "processor time, ms: one in flight", "the same without `low-latency`", "16 in flight"), rows)


def live_row(log, key, name):
    figure = log.figures.get(f"live.{key}", {})
    ways = [figure[way] for way in ("encode", "decode") if way in figure]
    if not ways:
        log.missing.add(f"live.{key}")
        return [name]
    pairs = [" / ".join(number(way[field]) for way in ways) for field in ("ms_p50", "ms_p99", "ms_max")]
    late = "; ".join(str(way["late"]) for way in ways)
    return [name, *pairs, f"{late} of {ways[0]['frames']}", number(figure["cores_per_stream"]),
            number(figure.get("joule_per_frame")), number(figure["device_mb_per_stream"])]


LIVE_HEAD = ("streams", "p50, ms", "p99, ms", "max, ms", "late", "cores a stream", "joule a frame", "device MB a stream")
LIVE = [(f"ht.1080p.{n}", f"{n} × 1080p") for n in (1, 16, 32, 48, 64)] + \
    [(f"ht.2160p.{n}", f"{n} × 2160p") for n in (4, 12, 16)] + \
    [("mq.1080p.16", "16 × 1080p, MQ 32×32"), ("ht.1080p.device.96", "96 × 1080p in device memory"),
     ("ht.1080p.elements.48", "48 × 1080p, elements"), ("mq.1080p.elements.16", "16 × 1080p, MQ 32×32, elements")]
LIVE_BOTH = [(f"both.ht.{size}.{n}", f"{n} × {size}, one process") for size, n in
             (("1080p", 96), ("1080p", 128), ("2160p", 24), ("2160p", 32))] + \
    [(f"apart{gpu}.ht.1080p.{n}", f"{n} × 1080p, a process with GPU {gpu}") for n in (48, 64) for gpu in (0, 1)]


def late_of(figure):
    return sum(figure[way]["late"] for way in ("encode", "decode") if way in figure)


def late(log, key):
    return late_of(log.figures.get(f"live.{key}", {}))


def unfair(log, key):
    """The p99 of the worst stream over that of the median stream, of encoders or of decoders."""
    ways = [log.figures[f"live.{key}"].get(way, {}) for way in ("encode", "decode")]
    found = [ratio(way.get("ms_p99_worst_stream"), way.get("ms_p99_median_stream")) for way in ways]
    return max((value for value in found if value is not None), default=None)


@block
def live(log):
    for key, limit in ("ht.1080p.48", 0.06), ("ht.2160p.12", None), ("mq.1080p.16", 0.12):
        if f"live.{key}" in log.figures:
            target(f"live, {key}: late frames", late(log, key), 0, True)
            if limit:
                target(f"live, {key}: cores a stream", log.get(f"live.{key}", "cores_per_stream"), limit, True)
            target(f"live, {key}: p99 of the worst stream over the median stream's", unfair(log, key), 2, True)
    return table(LIVE_HEAD, [live_row(log, key, name) for key, name in LIVE])


def worst(figures, way, field):
    return number(max(figure[way][field] for figure in figures))


@block
def live_processes(log):
    rows = []
    for n in 4, 16:
        found = [log.figures.get(f"live.processes.ht.1080p.{n}.{i + 1}") for i in range(n)]
        found = [figure for figure in found if figure and "encode" in figure and "decode" in figure]
        if len(found) < n:
            log.missing.add(f"live.processes.ht.1080p.{n}")
            continue
        pairs = [" / ".join(worst(found, way, field) for way in ("encode", "decode"))
                 for field in ("ms_p50", "ms_p99", "ms_max")]
        missed = "; ".join(str(max(figure[way]["late"] for figure in found)) for way in ("encode", "decode"))
        cores = sorted(figure["cores"] for figure in found)
        rows.append([str(n), *pairs, f"{missed} of {found[0]['encode']['frames']}",
                     f"{number(cores[0])} to {number(cores[-1])}"])
        target(f"live, {n} processes: late frames of all", sum(late_of(figure) for figure in found), 0, True)
        target(f"live, {n} processes: cores of the worst", cores[-1], 0.15, True)
    return table(("processes", "p50, ms", "p99, ms", "max, ms", "late", "cores a process"), rows)


@block
def live_both(log):
    for gpu in 0, 1:
        if f"live.apart{gpu}.ht.1080p.48" in log.figures:
            target(f"live, two GPUs, 48 streams on GPU {gpu}: late frames", late(log, f"apart{gpu}.ht.1080p.48"), 0, True)
    return table(LIVE_HEAD, [live_row(log, key, name) for key, name in LIVE_BOTH])


@block
def several(log):
    rows = []
    for coder, name in ("ht", "HT"), ("mq", "MQ 32×32"):
        for way, text in ("enc", "encode"), ("dec", "decode"):
            one, both = (log.best(f"several.{coder}.{way}.{gpus}") for gpus in ("0", "0-1"))
            rows.append([f"{name}, {text}", of_best(one), of_best(both), ratio(both[0], one[0]),
                         *(log.get(f"several.{coder}.{way}.{gpus}.16", "cpu_ms") for gpus in ("0", "0-1"))])
            target(f"two GPUs, {name}, {text}: times one", ratio(both[0], one[0]), 1.9)
    return table(("4K RGB 12 bit, 4 bpp, host to host", "one GPU, frames/s", "two", "times", "16 in flight: processor time, ms",
                  "two"), rows)


# ------------------------------------------------------------------------------------- beside the papers ---

@block
def naman(log):
    def ours(stages):
        return [log.get(f"dec.ht_{key}.stages", stages) for key, _ in HT_RATES]

    def refined(stages):
        return [log.get(f"refine.{key}.stages", stages) for key in ("1bpp", "4bpp")]
    rows = [["MEL and VLC (KCUPS1)", "0.385", "0.420", "0.520"] + ours("quads"),
            ["MagSgn (KCUPS2)", "0.128", "0.310", "0.729"] + ours("magsgn"),
            ["wavelet synthesis and colour", "0.750", "0.886", "1.19"] + ours("idwt+finish"),
            ["frames/s", "770", "588", "402"] + [of_best(log.best(f"dec.ht_{key}.device")) for key, _ in HT_RATES],
            ["with refinement: MEL and VLC; theirs with SigProp", "0.807", "0.895", ""] + refined("quads"),
            ["with refinement: MagSgn; theirs with MagRef", "0.172", "0.430", ""] + refined("magsgn"),
            ["with refinement: SigProp and MagRef, ours", "", "", ""] + refined("refine"),
            ["frames/s, with refinement", "560", "440", ""] +
            [of_best(log.best(f"refine.{key}")) for key in ("1bpp", "4bpp")],
            ["bytes, without; with refinement", "", "", ""] +
            ["; ".join(f"{log.get(name + key + count, 'bytes') or 0:.0f}" for name, count in
                       (("dec.ht_", ".device.1"), ("refine.", ".1"))) for key in ("1bpp", "4bpp")]]
    return table(("", "GTX 1080, 1 bpp", "4 bpp", "lossless", "ours, 1 bpp", "4 bpp", "lossless"), rows)


@block
def etri(log):
    theirs = (("2048x1080", "4.5 + 76.6 + 12.6", "0.5 + 5.5 + 0.5"), ("1920x1080", "5.8 + 64.8 + 17.9", "0.5 + 5.3 + 0.5"),
              ("4096x2160", "15.1 + 495.4 + 41.4", "1.7 + 19.2 + 1.7"),
              ("3840x2160", "19.4 + 419.3 + 54.0", "1.6 + 18.4 + 1.7"))
    rows = []
    for size, cpu, gpu in theirs:
        cells = [" + ".join(number(log.get(f"rgb.{size}.{kind}", stage)) for stage in ("top", "levels"))
                 for kind in ("ict", "xyz")]
        rows.append([size.replace("x", "×"), cpu, gpu] + cells)
    return table(("", "JasPer, ICT + DWT + Q", "ETRI, ICT + DWT + Q", "ours, ICT and level 1 + other levels",
                  "with RGB→XYZ for the ICT"), rows)


@block
def matela(log):
    heights = 720, 1080, 2160
    rows = [["OpenJPEG, Tier-1, i7 950", "364.8", "723.3", "2818"], ["JasPer", "164.0", "369.3 (280.7)", "1482"],
            ["Kakadu", "145.6", "309.7", "1093"], ["CUJ2K, GTX 285", "120.1", "258.6", "914"],
            ["theirs, GTX 285", "63.5", "137.2 (23.3)", "663"]]
    for size in 16, 32, 64:
        tier1 = [(log.get(f"grey.{height}.{size}.1", "contexts+code"), log.get(f"grey.{height}.{size}.1", "contexts"))
                 for height in heights]
        rows.append([f"ours, H200, {size}×{size}, one frame"] +
                    ["" if None in pair else f"{number(pair[0])} ({number(pair[1])})" for pair in tier1])
    cores = log.get("host", "cores")
    for threads in (1, cores):
        text = "one thread" if threads == 1 else f"{threads} threads"
        for key, name in ("opj", "OpenJPEG 2.5.0"), ("grk", "Grok 10.0.5"):
            rows.append([f"{name}, Tier-1, {text}"] + [log.least(f"cpu.{height}.{key}.{threads}", "tier1_ms")
                                                       for height in heights])
        rows.append([f"our CPU back end, Tier-1, {text}"] + [log.get(f"cpu.{height}.cj2k.{threads}", "ms_block_coder")
                                                             for height in heights])
    rows.append(["ours, H200, whole frame, 32×32, one in flight"] + [log.get(f"grey.{height}.32.1", "ms_p50")
                                                                     for height in heights])
    rows.append(["ours, H200, a frame, 32×32, of 16 in flight"] +
                [ratio(1000, log.get(f"grey.{height}.32.16", "fps")) for height in heights])
    rows.append([f"our CPU back end, whole frame, {cores} threads"] +
                [log.get(f"cpu.{height}.cj2k.{cores}", "ms_p50") for height in heights])
    for key, name in ("opj", "`opj_compress`"), ("grk", "`grk_compress`"):
        seconds = [log.least(f"cpu.{height}.{key}.{cores}", "seconds") for height in heights]
        rows.append([f"{name}, the whole process, {cores} threads"] + [value and value * 1000 for value in seconds])
    return table(("ms; in brackets context modelling", "1280×720", "1920×1080", "4096×2160"), rows)


@block
def schwartz(log):
    sides = 512, 1024, 2048, 4096
    theirs = {"enc": ("3.96", "3.66", "3.98", "4.19"), "dec": ("3.76", "3.76", "3.95", "4.00")}
    rows = []
    for way, name, stages in ("enc", "forward", "top+levels"), ("dec", "inverse", "idwt+finish"):
        gpu = [log.get(f"dwt.{side}.{way}.cuda", stages) for side in sides]
        cpu = [log.get(f"dwt.{side}.{way}.cpu", "ms_transform") for side in sides]
        rows += [[f"{name}, theirs", *theirs[way]], [f"{name}, ours: GPU", *(number(value, " ms") for value in gpu)],
                 [f"{name}, ours: CPU", *(number(value, " ms") for value in cpu)],
                 [f"{name}, ours", *(number(ratio(b, a)) for a, b in zip(gpu, cpu))]]
    return table(("", "512²", "1024²", "2048²", "4096²"), rows)


# -------------------------------------------------------------------------------------------------- main ---

def fill(paths, made):
    """Writes each block to its place in one of the pages."""
    placed = set()
    for path in paths:
        text = path.read_text(encoding="utf-8")
        for name, content in made.items():
            pattern = re.compile(rf"(<!-- {re.escape(name)} -->\n).*?(<!-- end -->)", re.S)
            if pattern.search(text):
                placed.add(name)
            text = pattern.sub(lambda match, content=content: f"{match[1]}{content}\n{match[2]}", text)
        path.write_text(text, encoding="utf-8")
    for name in sorted(set(made) - placed):
        print(f"no place for {name}", file=sys.stderr)


def main():
    arguments = sys.argv[1:]
    split = arguments.index("--fill") if "--fill" in arguments else len(arguments)
    logs, pages = arguments[:split], arguments[split + 1:]
    if not logs or logs[0].startswith("-") or (split < len(arguments) and not pages):
        sys.exit(__doc__)
    log = Log("\n".join(pathlib.Path(name).read_text(encoding="utf-8", errors="replace") for name in logs))
    made = {}
    for name, function in BLOCKS.items():
        log.figures.used = False
        content = function(log)
        if log.figures.used:
            made[name] = content
        else:
            print(f"no figures for {name}", file=sys.stderr)
    if pages:
        fill([pathlib.Path(page) for page in pages], made)
    else:
        for name, content in made.items():
            print(f"<!-- {name} -->\n{content}\n<!-- end -->\n")
    rows = []
    for what, value, wanted, below in TARGETS:
        met = "not measured" if value is None else "met" if (value <= wanted if below else value >= wanted) else "MISSED"
        rows.append([what, "" if value is None else f"{value:.3f}", f"{'≤' if below else '≥'} {wanted}", met])
    print(table(("target", "measured", "wanted", ""), rows))
    for key in sorted(log.missing):
        print(f"missing: {key}", file=sys.stderr)


if __name__ == "__main__":
    main()
