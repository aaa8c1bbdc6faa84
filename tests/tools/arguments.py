#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Wrong arguments of the tools: exit status 2, and a message with the option, the value and what is expected."""
import os
import subprocess

import numpy as np

import cj2ktest

BENCH = os.environ.get("CJ2K_BENCH", "cj2k-bench")
COMPARE = os.environ.get("CJ2K_COMPARE", "cj2k-compare")

# option, value, words that the message contains
ENCODER = [
    ("quality", "-5", "1..100"), ("quality", "0", "1..100"), ("quality", "101", "1..100"),
    ("quality", "8 5", "1..100"), ("num-layers", "-1", "1..64"), ("num-layers", "65537", "1..64"),
    ("max-frame-bytes", "-1", "0..4294967295"), ("max-frame-bytes", "1e3", "integer"),
    ("max-component-bytes", "-1", "0..4294967295"), ("bitrate", "-1", "0..4294967295"),
    ("bits-per-pixel", "nan", "0..1000"), ("bits-per-pixel", "-1", "0..1000"), ("bits-per-pixel", "1e308", "0..1000"),
    ("bits-per-pixel", "2x", "0..1000"), ("quant-step", "1", "0..0.5"), ("quant-step", "-1", "0..0.5"),
    ("psnr", "9", "10..120"), ("psnr", "inf", "10..120"), ("num-threads", "-3", "0..1024"), ("threads", "-3", "0..1024"),
    ("frames-in-flight", "0", "1..64"), ("layer-rates", "abc", "0.5,1,2"), ("layer-rates", "1,2,x", "0.5,1,2"),
    ("precincts", "16junk", "256x256"), ("precincts", "16x", "256x256"), ("precincts", "100x100", "256x256"),
    ("tile-width", "-1", "0..2147483647"), ("tile-height", "99999999999999999999", "0..2147483647"),
    ("image-offset-x", "-1", "0..4294967295"), ("tile-offset-y", "-1", "0..4294967295"),
    ("num-resolutions", "257", "1..33"), ("num-resolutions", "0", "1..33"), ("codeblock-width", "48", "4..1024"),
    ("codeblock-height", "65600", "4..1024"), ("codeblock-style", "fast", "segmark"), ("tile-parts", "tile", "layer"),
    ("guard-bits", "-1", "0..7"), ("guard-bits", "256", "0..7"), ("main-level", "-2", "-1..11"),
    ("sub-level", "300", "-1..9"), ("framerate", "-1", "0..1000000"), ("framerate", "nan", "0..1000000"),
    ("framerate", "1e-400x", "0..1000000"), ("cuda-device-id", "-2", "-1..2147483647"),
    ("backend", "gpu", "cuda"), ("block-coder", "j2k", "mq"), ("rate-control", "vbr", "cbr"), ("mct", "yes", "auto"),
    ("progression-order", "rlp", "lrcp"), ("profile", "cinema", "cinema-2k"), ("xyz-transfer", "gamma", "srgb"), ("xyz-primaries", "p3", "p3-dci"),
    ("rgb-to-xyz", "maybe", "auto"),
    ("cicp", "1,1", "9,16,9,0"), ("cicp", "0,1,1", "9,16,9,0"), ("cicp", "1,1,0,2", "9,16,9,0"), ("cicp", "1,1,256", "9,16,9,0"),
    ("visual-weights", "on", "csf"), ("viewing-distance", "4", "5..1000"), ("sop", "false", "no value"), ("plt", "auto", "no value"), ("no-plt", "true", "no value"), ("width", "-4", "1..65535"),
    ("height", "0", "1..65535"), ("quality", "", "1..100"), ("format", "RGB_12junk", "P010_10LE"), ("format", "RGB_12BE", "P010_10LE"),
    ("format", "GRAY_17LE", "P010_10LE"), ("format", "NV99", "P010_10LE"),
]
DECODER = [
    ("reduce", "-1", "0..32"), ("reduce", "33", "0..32"), ("reduce", "1x", "0..32"), ("layers", "-1", "0..65535"),
    ("layers", "65536", "0..65535"), ("num-threads", "-3", "0..1024"), ("threads", "two", "0..1024"),
    ("backend", "gpu", "cuda"), ("strict", "no", "no value"), ("cuda-device-id", "-2", "-1..2147483647"),
    ("frames-in-flight", "65", "1..64"),
]
BENCH_ONLY = [("frames", "0", "1"), ("frames", "x", "x"), ("in-flight", "0", "1..64"), ("output", "disk", "device")]
# Other names of options; the message contains the name of the table.
FULL_NAMES = {"threads": "num-threads", "in-flight": "frames-in-flight"}
# Values that are valid but contradict each other.
COMBINATIONS = [
    (["--bitrate=1000"], "frame rate"), (["--rate-control=cbr"], "bits-per-pixel"),
    (["--rate-control=lossless", "--bits-per-pixel=2"], "lossy"), (["--quality=50", "--psnr=40"], "rate-control"),
    (["--rate-control=qstep"], "quant-step"), (["--num-layers=2", "--layer-rates=1,2,3"], "layer-rates"),
    (["--layer-rates=2,1"], "cumulative"), (["--codeblock-width=1024"], "4096"),
    (["--profile=imf-2k-r", "--quality=50"], "reversible"), (["--profile=cinema-2k", "--rgb-to-xyz=off"], "12 bits"),
    (["--profile=cinema-2k", "--bits-per-pixel=1000", "--framerate=24"], "bits-per-pixel"),
]


def refused(command, *words):
    """Empty, or how the response to the command is wrong."""
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if result.returncode != 2:
        return f"{' '.join(command)}: status {result.returncode}\n{result.stderr}"
    missing = [word for word in words if word not in result.stderr]
    return f"{' '.join(command)}: {result.stderr} lacks {missing}" if missing else ""


def check(tap, name, failures):
    failures = [failure for failure in failures if failure]
    tap.ok(not failures, name, "\n".join(failures))


def main():
    tap = cj2ktest.Tap()
    with cj2ktest.Folder() as folder:
        source, stream, out = f"{folder}/in.ppm", f"{folder}/in.j2k", f"{folder}/out.ppm"
        # So large that 1000 bits per pixel exceed what a cinema frame may have.
        cj2ktest.write_pnm(source, [np.arange(64 * 400).reshape(64, 400) % 256] * 3, 8)
        made = subprocess.run([cj2ktest.ENCODE, source, stream], capture_output=True, timeout=60, check=False)
        tap.ok(made.returncode == 0, "encodes without options", made.stderr)
        target = f"{folder}/never.j2k"
        encode, decode = [cj2ktest.ENCODE, source, target], [cj2ktest.DECODE, stream, out]
        bench_encode = [BENCH, "encode", "--frames=1", source]
        bench_decode = [BENCH, "decode", "--frames=1", stream]
        for name, command, table in (("cj2k-encode", encode, ENCODER), ("cj2k-decode", decode, DECODER),
                                     ("cj2k-bench encode", bench_encode, ENCODER + BENCH_ONLY),
                                     ("cj2k-bench decode", bench_decode, DECODER + BENCH_ONLY)):
            check(tap, f"{name}: values out of range",
                  [refused([*command, f"--{option}={value}"], f"--{FULL_NAMES.get(option, option)}", words)
                   for option, value, words in table])
            check(tap, f"{name}: unknown options", [refused([*command, "--qualitty=3"], "qualitty")])
        for name, command in (("cj2k-encode", encode), ("cj2k-bench encode", bench_encode)):
            check(tap, f"{name}: contradictions", [refused([*command, *options], words) for options, words in COMBINATIONS])
        raw = f"{folder}/in.raw"
        with open(raw, "wb") as file:
            file.write(bytes(64 * 48))
        shape = ["--width=64", "--height=48", "--format=GRAY8"]
        for name, command in (("cj2k-encode", [cj2ktest.ENCODE, raw, target]),
                              ("cj2k-bench encode", [BENCH, "encode", "--frames=1", raw])):
            check(tap, f"{name}: a raw file without its shape",
                  [refused(command + [*shape[:i], *shape[i + 1:]], raw, "--width", "--height", "--format")
                   for i in range(3)] + [refused(command, raw, "--format")])
        check(tap, "cj2k-decode: memory", [refused([*decode, f"--max-memory={value}"], "max-memory")
                                           for value in ("-1", "1x", "99999999999")])
        check(tap, "cj2k-compare", [refused([COMPARE, "--psnr", source, source], "psnr"), refused([COMPARE, source]),
                                    refused([COMPARE])] +
              [refused([COMPARE, f"--weights={value}", source, source], "--weights", "not all 0")
               for value in ("", "1,", "1,x", "-1,1", "0,0,0", "nan", "1;2", ",".join(["1"] * 17))])
        tap.ok(not os.path.exists(target) and not os.path.exists(out), "nothing is written")
    tap.done()


if __name__ == "__main__":
    main()
