# SPDX-License-Identifier: LGPL-2.1-or-later
"""Streams of cj2k-encode in other projects' decoders: lossless ones come back exactly, lossy ones as our own
decoder shows them. Options are combined at random, from a fixed seed.
"""
import os
import random
import shutil

import peers
from cases import BLOCKS, GREY, PROGRESSIONS, RGB, SIZES, YUV420, YUV422, Case
from cj2ktest import LONG, Folder, Run, Tap, decode, differences, read_pgx_set, skip_all
from images import planes, write_raw

ENCODE = os.environ.get("CJ2K_ENCODE", "cj2k-encode")
FORMATS = {str(GREY): "GRAY", str(RGB): "RGB", str(YUV420): "I420", str(YUV422): "I422"}
STYLES = ("bypass", "reset", "termall", "causal", "pterm", "segmark")
RATES = (["--rate-control=lossless"],) * 4 + (["--quality=85"], ["--bits-per-pixel=2"], ["--quant-step=0.002"],
                                               ["--psnr=45"], ["--bits-per-pixel=3", "--reversible-transform"])


def options(rng, case):
    """Adds options to the case; returns the words that say what a peer has to cope with."""
    block, rate = rng.choice(BLOCKS), rng.choice(RATES)
    ht = rng.random() < 0.5
    case.lossless = rate == ["--rate-control=lossless"]
    if rate[0].startswith("--bits-per-pixel") and case.width * case.height < 20000:
        rate = ["--max-frame-bytes=3000", *rate[1:]]  # less would not hold the headers
    result = [*rate, f"--block-coder={'ht' if ht else 'mq'}", f"--num-resolutions={rng.choice((1, 2, 3, 6, 6, 9))}",
              f"--codeblock-width={block[0]}", f"--codeblock-height={block[1]}",
              f"--progression-order={rng.choice(PROGRESSIONS).lower()}"]
    hard = {"ht"} if ht else set()
    if "--reversible-transform" in rate:
        hard.add("planes")  # of the 5/3 filter's integers are left out
    if not ht and rng.random() < 0.6:
        result.append("--codeblock-style=" + "+".join(word for word in STYLES if rng.random() < 0.4))
    if rng.random() < 0.3:
        result.append(f"--num-layers={rng.choice((2, 5))}")
        hard.add("layers")
    if rng.random() < 0.3:
        result.append("--precincts=" + rng.choice(("256x256", "64x32", "128x128", "16x256")))
    if rng.random() < 0.3:
        result += [f"--tile-width={rng.choice((33, 64, 100))}", f"--tile-height={rng.choice((50, 64, 77))}"]
        hard.add("tiles")
    elif rng.random() < 0.3 and case.sampling in (GREY, RGB):
        result += [f"--image-offset-x={rng.choice((1, 5, 32))}", f"--image-offset-y={rng.choice((1, 7, 64))}"]
        hard.add("offset")
    result += [word for word in ("--sop", "--eph", "--tlm", "--plt", "--comment=interop") if rng.random() < 0.35]
    if rng.random() < 0.3:
        result.append("--tile-parts=component")
    case.options = result
    return hard


def make_case(rng):
    sampling = rng.choice((GREY, RGB, RGB, YUV420, YUV422))
    width, height = rng.choice(SIZES)
    if max(sampling) != (1, 1):
        width, height = width + width % 2, height + height % 2
    case = Case("cj2k", width, height, sampling, rng.choice((1, 4, 8, 8, 10, 12, 16)))
    return case, options(rng, case)


def takes(decoder, case, hard):
    """What the decoders of Debian 12 can do; beyond it they refuse, or show something else."""
    if decoder == "ojph_expand":
        levels = next(int(word.split("=")[1]) for word in case.options if word.startswith("--num-resolutions")) - 1
        smallest = min(case.width, case.height) // max(case.sampling)[0]
        return "ht" in hard and not hard & {"layers", "tiles", "offset"} and case.bits >= 8 and smallest >> levels
    if decoder == "grk_decompress":
        return "offset" not in hard and not {"ht", "planes"} <= hard and case.bits in (8, 12, 16)
    return True


def encode(case, source, work):
    write_raw(f"{work}/in.raw", source, case.bits)
    name = FORMATS[str(case.sampling)] + (f"_{case.bits}" if case.bits != 8 else "")
    return Run([ENCODE, *case.options, f"--width={case.width}", f"--height={case.height}", f"--format={name}",
                f"{work}/in.raw", f"{work}/out.j2c"])


def judge(case, hard, work, present):
    """None when everybody agrees, else what is wrong; and how many others decoded it."""
    source = planes(case.width, case.height, case.bits, case.sampling)
    run = encode(case, source, work)
    if run.status != 0:
        return str(run), 0
    run = decode(f"{work}/out.j2c", f"{work}/ours.pgx", "--strict")
    if run.status != 0:
        return str(run), 0
    ours = read_pgx_set(f"{work}/ours")
    if case.lossless and differences(ours, source):
        return "our own decoder does not bring the picture back", 0
    others = 0
    for name, decoder in present.items():
        if not takes(name, case, hard):
            continue
        try:
            theirs = decoder(f"{work}/out.j2c", case, source, work)
        except peers.Refused as reason:
            if name == "grk_decompress":
                continue
            return str(reason), others
        allowed = 0 if case.lossless else 1 if case.bits <= 12 else 2
        peak = differences(ours, theirs)
        if peak > allowed:
            return f"{name} differs by {peak}", others
        others += 1
    return None, others


def main():
    tap, rng, others = Tap(), random.Random(2), 0
    judges = {"opj_decompress": peers.decode_opj, "grk_decompress": peers.decode_grk, "ojph_expand": peers.decode_ojph}
    present = {name: decoder for name, decoder in judges.items() if shutil.which(name)}
    if not present:
        skip_all("no other decoder is installed")
    count = 400 if LONG else 60
    for _ in range(count):
        case, hard = make_case(rng)
        with Folder() as work:
            try:
                why, agreed = judge(case, hard, work, present)
            except (OSError, ValueError) as error:
                why, agreed = str(error), 0
        others += agreed
        tap.ok(why is None, str(case), why)
    tap.ok(others >= count, f"{others} times another decoder agreed, in {count} streams")
    tap.done()


if __name__ == "__main__":
    main()
