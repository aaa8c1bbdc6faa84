#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""cj2k-info: its output against that of opj_dump and against the parameters of the streams; damaged files."""
import json
import os
import re
import shutil
import struct
import subprocess

import numpy as np

from cj2ktest import ENCODE, MEMORY_FACTOR, Folder, Run, Tap, shared_folder, write_pnm

INFO = os.environ.get("CJ2K_INFO", "cj2k-info")
ORDERS = ("LRCP", "RLCP", "RPCL", "PCRL", "CPRL")
tap = Tap()


def describe(path, *options):
    """(exit status, the JSON object of the file)."""
    done = subprocess.run([INFO, "--json", *options, path], capture_output=True, timeout=60, check=False)
    return done.returncode, json.loads(done.stdout)[0]


def check(name, *pairs):
    """Compares pairs of an actual and an expected value."""
    wrong = [f"{got!r} is not {want!r}" for got, want in pairs if got != want]
    tap.ok(not wrong, name, "\n".join(wrong))


# --- against opj_dump


def numbers(text, key):
    return [int(v) for v in re.findall(rf"\b{key}=(?:2\^)?(?:0x)?([0-9a-fA-F]+)", text)]


def pairs_of(line):
    return [tuple(map(int, pair)) for pair in re.findall(r"\((\d+),(\d+)\)", line)]


def expand(groups, count):
    """The entry of each component, from entries that apply to runs of components."""
    result = []
    for group in groups:
        first, _, last = group["components"].partition("-")
        result += [group] * (int(last or first) - int(first) + 1)
    assert len(result) == count
    return result


def check_component(mine, text):
    """Compares one component's coding parameters with opj_dump's output."""
    levels = numbers(text, "numresolutions")[0] - 1
    steps = pairs_of(re.search(r"stepsizes \(m,e\)=.*", text)[0])
    style = numbers(text, "qntsty")[0]
    names = ("bypass", "reset", "termall", "causal", "pterm", "segmark")
    styles = int(re.search(r"cblksty=(?:0x)?([0-9a-f]+)", text)[1], 16)
    precincts = [f"{1 << w}x{1 << h}" for w, h in pairs_of(re.search(r"preccintsize.*=(.*)", text)[1])]
    bands = [(b.get("mantissa", 0), b["exponent"]) for b in mine["bands"]]
    return [(mine["levels"], levels), (mine["filter"], ("9/7", "5/3")[numbers(text, "qmfbid")[0]]),
            (mine["block"], f"{1 << numbers(text, 'cblkw')[0]}x{1 << numbers(text, 'cblkh')[0]}"),
            (mine["block_style"], [n for i, n in enumerate(names) if styles >> i & 1]),
            (mine["precincts"], precincts), (mine["quantisation"], ("none", "derived", "expounded")[style]),
            (mine["guard_bits"], numbers(text, "numgbits")[0]), (mine["roi_shift"], numbers(text, "roishift")[0]),
            (bands[:len(steps)], steps[:len(bands)])]


def compare(name, path):
    done = subprocess.run(["opj_dump", "-i", path], capture_output=True, timeout=60, check=False)
    text = done.stdout.decode(errors="replace")
    if "Codestream info" not in text:
        tap.skip(f"{name} and opj_dump", "opj_dump does not read it")
        return
    stream = describe(path)[1]["codestreams"][0]
    image, coding, tiles = stream["image"], stream["coding"], stream["tiles"]
    grid, rest = text.split("Codestream info")[:2]
    first = numbers(grid, "x0")[0], numbers(grid, "y0")[0], numbers(grid, "x1")[0], numbers(grid, "y1")[0]
    count = numbers(grid, "numcomps")[0]
    pairs = [((image["x"], image["y"], image["x"] + image["width"], image["y"] + image["height"]), first),
             (image["num_components"], count),
             ([[c["dx"] for c in expand(stream["components"], count)]], [numbers(grid, "dx")]),
             ([[c["depth"] for c in expand(stream["components"], count)]], [numbers(grid, "prec")]),
             ([[c["signed"] for c in expand(stream["components"], count)]], [[bool(s) for s in numbers(grid, "sgnd")]]),
             ((tiles["x"], tiles["y"], tiles["width"], tiles["height"], tiles["columns"], tiles["rows"]),
              tuple(numbers(rest, key)[0] for key in ("tx0", "ty0", "tdx", "tdy", "tw", "th"))),
             (coding["progression"], ORDERS[int(re.search(r"prg=(?:0x)?(\d)", rest)[1])]),
             (coding["layers"], numbers(rest, "numlayers")[0]),
             (coding["component_transform"] != "none", bool(numbers(rest, "mct")[0]))]
    parts = re.split(r"comp \d+ \{", rest)[1:]
    for mine, theirs in zip(expand(coding["component_coding"], count), parts):
        pairs += check_component(mine, theirs.split("}")[0])
    markers = re.findall(r"type=0x([0-9a-f]+), pos=(\d+), len=(\d+)", rest)
    mine = {(m["code"].lower()[2:], m["offset"]) for m in stream["markers"]}
    pairs.append(([m[:2] for m in markers if (m[0], int(m[1])) not in mine], []))
    check(f"{name}: as opj_dump", *pairs)


def check_sums(name, stream):
    packets = stream["packets"]
    total = packets["packets"], packets["header_bytes"], packets["body_bytes"]
    by = [tuple(sum(e[key] for e in packets[which]) for key in ("packets", "header_bytes", "body_bytes"))
          for which in ("by_resolution", "by_layer", "by_component")]
    pairs = [(sums, total) for sums in by]
    if not stream["pointer_segments"]["PPM_PPT"]:
        data = sum(part["data_bytes"] for part in stream["tile_parts"])
        pairs.append((packets["header_bytes"] + packets["body_bytes"] + packets["unread_bytes"], data))
    blocks = stream["code_blocks"]
    pairs += [(blocks["mq"] + blocks["ht"], blocks["with_data"]), (blocks["corrupt"], 0)]
    check(f"{name}: every byte of packets is counted once", *pairs)


def check_conformance(folder):
    for name in sorted(os.listdir(folder)):
        if not name.endswith((".j2k", ".jp2")):
            continue
        path = f"{folder}/{name}"
        status, file = describe(path)
        stream = file["codestreams"][0]
        profile = stream["profile"]
        check(f"{name}: whole, keeps its profile", (status, 0), (file["errors"], []), (profile["broken"], []))
        check_sums(name, stream)
        if "_b" in name and "ht_sets" in stream.get("capabilities", {}):
            bound = 'MAGB' + re.search(r'_b(\d+)', name)[1]
            blocks = stream["code_blocks"]
            check(f"{name}: {bound}", (bound in stream["capabilities"]["ht_sets"], True),
                  (blocks["ht"] > 0, True), ("MIXED" in stream["capabilities"]["ht_sets"], blocks["mq"] > 0))
        if "ht_sets" not in stream.get("capabilities", {}) and shutil.which("opj_dump"):
            compare(name, path)


# --- streams of our encoder


def encode(work, name, *options, size=(96, 64), components=3, bits=8):
    planes = [np.random.default_rng(c).integers(0, 1 << bits, size[::-1]) // 8 * 8 for c in range(components)]
    source = f"{work}/source.{'ppm' if components == 3 else 'pgm'}"
    write_pnm(source, planes, bits)
    run = Run([ENCODE, *options, source, f"{work}/{name}"])
    if run.status:
        tap.ok(False, f"{name} is encoded", run)
    return f"{work}/{name}"


PROFILES = {"cinema-2k": (12, []), "cinema-4k": (12, []), "broadcast-single": (10, ["--main-level", "3"]),
            "broadcast-multi-r": (10, ["--rate-control", "lossless"]), "imf-2k": (12, ["--main-level", "4"]),
            "imf-4k-r": (12, ["--rate-control", "lossless"])}


def check_profiles(work):
    for name, (bits, options) in PROFILES.items():
        path = encode(work, f"{name}.j2k", "--profile", name, "--quality", "50", *options, size=(512, 256), bits=bits)
        status, file = describe(path)
        profile = file["codestreams"][0]["profile"]
        check(f"{name} is kept", (status, 0), (profile["name"], name), (profile["broken"], []), (profile["kept"], True))
        with open(path, "rb") as stream:
            data = bytearray(stream.read())
        data[data.index(b"\xff\x52") + 9] = 2  # levels stay; now LRCP
        data[data.index(b"\xff\x52") + 5] = 0
        with open(f"{work}/broken.j2k", "wb") as stream:
            stream.write(data)
        profile = describe(f"{work}/broken.j2k")[1]["codestreams"][0]["profile"]
        check(f"{name} is not kept", (profile["kept"], False),
              (any("CPRL is dictated" in text for text in profile["broken"]), True))


# Profile, Rsiz without the profile's own bits; million samples and Mbit a second that are allowed; names of the levels
LEVELS = [("broadcast-single", 0x01, 65, 200, "main level 1", "main level 1"),
          ("broadcast-multi", 0x05, 520, 800, "main level 5", "main level 5"),
          ("imf-2k", 0x15, 520, 200, "main level 5", "sub level 1"),
          ("imf-4k", 0x46, 1200, 1600, "main level 6", "sub level 4")]


def rates(path, rate):
    """What is broken at this rate, and what is unchecked."""
    profile = describe(path, f"--framerate={rate!r}")[1]["codestreams"][0]["profile"]
    return "; ".join(profile["broken"]), "; ".join(profile["unchecked"])


def check_levels(work):
    for name, levels, samples, mbit, of_samples, of_bits in LEVELS:
        path = encode(work, f"{name}.j2k", "--profile", name, "--quality", "95", size=(512, 256), bits=10)
        with open(path, "r+b") as stream:
            data = bytearray(stream.read())
            data[7] = levels  # Rsiz
            stream.seek(0)
            stream.write(data)
        most = {f"million samples a second, {of_samples} allows {samples}": samples * 1e6 / (512 * 256 * 3),
                f"{of_bits} allows {mbit}": mbit * 1e6 / 8 / len(data)}
        for words, rate in most.items():
            other = next(text for text in most if text != words)
            below, above = rates(path, rate * 0.9999), rates(path, rate * 1.0001)
            check(f"{name}: {words}", (words in below[0], False), (words in above[0], True),
                  (other in above[0], most[other] < rate), ("whole stream" in below[1], True),
                  ("--framerate" in below[1], False))
        broken, unchecked = rates(path, 0)
        check(f"{name}: without a rate", (broken, ""), ("give --framerate" in unchecked, True))
        for wrong, words in ((0x0c, "main level 12, 0 to 11 are defined"), (0x51, "sub level 5, main level 1 allows 0 to 1")):
            data[7] = wrong
            with open(path, "wb") as stream:
                stream.write(data)
            if name.startswith("imf") or wrong == 0x0c:
                check(f"{name}: {words}", (words in rates(path, 0)[0], True))
    path = encode(work, "cinema-2k.j2k", "--profile", "cinema-2k", "--framerate", "24", size=(2048, 1080), bits=12)
    texts = [rates(path, rate)[0] for rate in (0, 24, 48, 61)]
    check("cinema-2k at 24, 48 and 61 frames a second", (texts[:2], ["", ""]),
          ("at most 651041 are allowed at 48 frames/s" in texts[2], True), ("at most 60 are allowed" in texts[3], True))
    for value in ("-1", "nan", "25x", "1e7"):
        done = subprocess.run([INFO, f"--framerate={value}", path], capture_output=True, text=True, check=False)
        check(f"--framerate={value}", (done.returncode, 2), ("framerate" in done.stderr or value in done.stderr, True))


def check_made(work):
    path = encode(work, "all.jph", "--tile-width", "64", "--tile-height", "64", "--tile-parts", "resolution", "--sop",
                  "--eph", "--tlm", "--plt", "--num-layers", "1", "--comment", "green", "--quality", "90", "--precincts",
                  "32x32,16x16", "--progression-order", "rpcl", "--num-resolutions", "4")
    status, file = describe(path)
    stream = file["codestreams"][0]
    coding = stream["coding"]
    part = coding["component_coding"][0]
    check("all.jph", (status, 0), (file["format"], "boxes"), (coding["sop"], True), (coding["eph"], True),
          (coding["progression"], "RPCL"), (part["levels"], 3), (part["precincts"], ["16x16", "16x16", "16x16", "32x32"]),
          (len(stream["tile_parts"]), 8), (stream["pointer_segments"]["TLM"] > 0, True),
          (stream["pointer_segments"]["PLT"], 8), (part["block_style"], ["ht"]),
          ([m["text"] for m in stream["markers"] if m["marker"] == "COM" and "gr" in m.get("text", "")] != [], True))
    check_sums("all.jph", stream)
    boxes = {box["type"]: box for box in file["boxes"]}
    inner = {box["type"]: box for box in boxes["jp2h"]["boxes"]}
    check("all.jph: boxes", (boxes["ftyp"]["brand"], "jph"), (inner["ihdr"]["width"], 96), (inner["ihdr"]["height"], 64),
          (inner["ihdr"]["components"], 3), (inner["colr"]["enumerated"], 16),
          (boxes["jp2c"]["offset"] + boxes["jp2c"]["length"], file["size"]))
    damage(work, path, stream)


def check_plt(work):
    """PLT with many code-blocks of HT, or that bypass the arithmetic coder, unless it is turned off; else if it is
    turned on."""
    many = "--codeblock-width", "4", "--codeblock-height", "4"
    raw, ht = ("--codeblock-style", "bypass", *many), ("--block-coder", "ht", *many)
    for options, count in ((raw, 1), ((*raw, "--no-plt"), 0), (ht, 1), ((*ht, "--no-plt"), 0), (("--plt",), 1), ((), 0)):
        path = encode(work, "plt.j2k", *options, size=(160, 140))
        check(" ".join(("PLT:", *options)), (describe(path)[1]["codestreams"][0]["pointer_segments"]["PLT"], count))


def check_controls(work):
    """Control characters of a comment and of a name do not reach a terminal; JSON has them escaped."""
    path = encode(work, "controls.j2k", "--comment", "green and more")
    with open(path, "rb") as file:
        data = file.read()
    with open(path, "wb") as file:
        file.write(data.replace(b"green and", b"gr\x9bn\x80a\x1bd"))
    text = subprocess.run([INFO, path], capture_output=True, check=False).stdout
    check("a comment with controls", (b"gr n a d more" in text, True), (b"\xc2\x9b" in text, False))
    raw = subprocess.run([INFO, "--json", path], capture_output=True, check=False).stdout
    check("the same in JSON", (rb"gr\u009bn\u0080a\u001bd more" in raw, True), (json.loads(raw) != [], True))
    done = subprocess.run([ENCODE, f"{work}/\u009b1m\u00e9.ppm", f"{work}/x.j2c"], capture_output=True, check=False)
    check("a message with such a name", ("/?1m\u00e9.ppm".encode() in done.stderr, True))


def damage(work, path, stream):
    """The error and its position, and the rest of the output."""
    with open(path, "rb") as file:
        data = file.read()
    last = stream["tile_parts"][-1]
    plt = next(m for m in stream["markers"] if m["marker"] == "PLT")
    tlm = next(m for m in stream["markers"] if m["marker"] == "TLM")
    cod = next(m for m in stream["markers"] if m["marker"] == "COD")
    changes = {
        "cut": (data[:last["offset"] + 30], last["offset"], "tile-part"),
        "cut in a header": (data[:cod["offset"] + 6], cod["offset"], "COD"),
        "no EOC": (data[:-2], None, "EOC"),
        "wrong PLT": (data[:plt["offset"] + 5] + b"\x7f" + data[plt["offset"] + 6:], None, "PLT tells"),
        "wrong TLM": (data[:tlm["offset"] + 8] + b"\x7f" + data[tlm["offset"] + 9:], None, "TLM tells"),
        "more behind": (data + b"abcd", None, "no box"),
        "long box": (data[:-40], None, "goes past the end"),
    }
    for name, (changed, offset, word) in changes.items():
        with open(f"{work}/changed.jph", "wb") as file:
            file.write(changed)
        status, told = describe(f"{work}/changed.jph")
        text = "\n".join(f"{e['offset']} {e['text']}" for e in told["errors"])
        places = [e["offset"] for e in told["errors"]]
        tap.ok(status == 1 and word in text and (offset is None or offset in places) and told["boxes"],
               f"{name}: said so", f"status {status}\n{text}")


def check_runs(work):
    """Successive codestreams: with comments that contain EOC, SOC and SIZ, and without tile-part lengths."""
    with open(encode(work, "comment.j2k", "--sop", "--num-resolutions", "2", "--comment",
                     "\u00ff\u00d9\u00ffO\u00ffQ"), "rb") as file:
        plain = bytearray(file.read())
    sot = 2
    while plain[sot:sot + 2] != b"\xff\x90":
        sot += 2 + int.from_bytes(plain[sot + 2:sot + 4], "big")
    unmeasured = bytearray(plain)
    unmeasured[sot + 6:sot + 10] = bytes(4)
    sop = unmeasured.index(b"\xff\x91\0\4")
    unmeasured[sop + 4:sop + 6] = b"\xff\xd9"
    com = b"\xff\x64\0\x0a\0\0\xff\xd9\xff\x4f\xff\x51"
    in_tile = unmeasured[:sot + 12] + com + unmeasured[sot + 12:]
    no_eoc = unmeasured[:-2]
    for name, streams in {"comments": [plain] * 3, "no lengths": [unmeasured] * 3, "mixed": [unmeasured, plain, in_tile],
                          "no EOC": [plain, no_eoc]}.items():
        with open(f"{work}/run.j2c", "wb") as file:
            file.write(b"".join(streams))
        status, told = describe(f"{work}/run.j2c")
        found = told["codestreams"]
        broken = name == "no EOC"
        check(f"several codestreams: {name}", (status, int(broken)), ([s["length"] for s in found], list(map(len, streams))),
              ([e["text"] for e in told["errors"]], ["there is no EOC"] * broken),
              ([s["packets"]["packets"] for s in found], [6] * len(streams)),
              ([s["packets"]["unread_bytes"] for s in found], [0] * len(streams)),
              ([m["text"] for s in found for m in s["markers"] if "text" in m],
               ["\u00ff\u00d9\u00ffO\u00ffQ"] * len(streams)))


def check_boxes(work):
    """Boxes that our encoder never writes."""

    def box(kind, data):
        return struct.pack(">I4s", len(data) + 8, kind) + data

    with open(encode(work, "plain.j2k"), "rb") as file:
        stream = file.read()
    res = box(b"resc", struct.pack(">HHHHbb", 300, 1, 600, 2, 2, 3))
    header = (box(b"ihdr", struct.pack(">IIHBBBB", 64, 96, 3, 255, 7, 0, 0)) + box(b"bpcc", b"\x07\x87\x0b") +
              box(b"colr", struct.pack(">BBBI", 1, 0, 0, 18)) +
              box(b"pclr", struct.pack(">HBBB", 2, 2, 7, 11) + bytes((1, 2, 3, 4, 5, 6))) +
              box(b"cmap", struct.pack(">HBBHBB", 0, 1, 1, 2, 0, 0)) +
              box(b"cdef", struct.pack(">H6H", 2, 0, 0, 1, 1, 2, 0)) + box(b"res ", res))
    data = (box(b"jP  ", b"\r\n\x87\n") + box(b"ftyp", b"jp2 \0\0\0\0jp2 ") + box(b"jp2h", header) +
            box(b"uuid", bytes.fromhex("be7acfcb97a942e89c71999491e3afac") + b"<x/>") + box(b"xml ", b'<a b="\x01\xff">') +
            box(b"jp2c", stream))
    with open(f"{work}/boxes.jp2", "wb") as file:
        file.write(data)
    status, file = describe(f"{work}/boxes.jp2")
    boxes = {b["type"]: b for b in file["boxes"]}
    inner = {b["type"]: b for b in boxes["jp2h"]["boxes"]}
    resolution = inner["res"]["boxes"][0]
    check("contents of boxes", (status, 0), (inner["bpcc"]["depths"], ["8", "8 signed", "12"]),
          (inner["ihdr"]["depth"], "by component"), (inner["colr"]["colourspace"], "sYCC"),
          (inner["pclr"]["values"], [[1, 0x203], [4, 0x506]]),
          (inner["cmap"]["channels"], [{"component": 0, "palette_column": 1}, {"component": 2, "direct": True}]),
          (inner["cdef"]["channels"][1], {"channel": 1, "type": "premultiplied opacity", "association": "whole image"}),
          (resolution["vertical_per_metre"], 30000), (resolution["horizontal_per_metre"], 300000),
          (round(resolution["vertical_dpi"]), 762), (boxes["uuid"]["name"], "XMP"),
          (boxes["xml"]["text"], '<a b="\x01\ufffd">'))


def check_robust(folder):
    """Files that have crashed decoders: an answer in time, valid JSON, and no report of a sanitizer."""
    for name in sorted(os.listdir(folder)):
        if not name.endswith((".jp2", ".j2k", ".jpc", ".jph", ".j2c")):
            continue
        run = Run([INFO, "--json", f"{folder}/{name}"], timeout=10 * MEMORY_FACTOR)
        good = run.status in (0, 1) and not run.timed_out and run.peak < MEMORY_FACTOR << 30
        try:
            status, file = describe(f"{folder}/{name}")
            good = good and (status == 1) == bool(file["errors"])
        except (ValueError, subprocess.TimeoutExpired) as error:
            good = False
            run.stderr += repr(error)
        tap.ok(good, f"malformed {name}", run)


def check_usage(work):
    path = encode(work, "one.j2k")
    text = subprocess.run([INFO, path, f"{work}/none.j2k"], capture_output=True, text=True, check=False)
    check("a file that is missing", (text.returncode, 1), (f"{work}/none.j2k" in text.stderr, True),
          ("progression: LRCP" in text.stdout, True))
    check("usage", (subprocess.run([INFO], capture_output=True, check=False).returncode, 2))
    with open(path, "rb") as file:
        piped = subprocess.run([INFO, "--json", "-"], stdin=file, capture_output=True, check=False)
    check("standard input", (json.loads(piped.stdout)[0]["codestreams"], describe(path)[1]["codestreams"]))


def main():
    with Folder() as work:
        check_usage(work)
        check_profiles(work)
        check_levels(work)
        check_made(work)
        check_plt(work)
        check_controls(work)
        check_runs(work)
        check_boxes(work)
    for part, test in (("conformance", check_conformance), ("jp2", check_conformance), ("malformed", check_robust)):
        folder = shared_folder(part)
        if folder:
            test(folder)
        else:
            tap.skip(part, "no such folder; CJ2K_SHARED names its parent")
    tap.done()


main()
