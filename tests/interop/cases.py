# SPDX-License-Identifier: LGPL-2.1-or-later
"""The streams that the other encoders make: fixed ones, and random combinations with fixed seeds."""
import random
from dataclasses import dataclass, field

GREY, RGB, RGBA = [(1, 1)], [(1, 1)] * 3, [(1, 1)] * 4
YUV420, YUV422, YUV411 = [[(1, 1), pair, pair] for pair in ((2, 2), (2, 1), (4, 1))]

SIZES = [(1, 1), (1, 9), (9, 1), (2, 3), (5, 4), (17, 13), (64, 64), (65, 63), (128, 130), (201, 133), (333, 257)]
LARGE_SIZES = [(1920, 1080), (2048, 1080), (4097, 2161)]
PROGRESSIONS = ("LRCP", "RLCP", "RPCL", "PCRL", "CPRL")
BLOCKS = [(64, 64), (32, 32), (4, 4), (1024, 4), (4, 1024), (16, 128), (8, 8), (128, 32)]


@dataclass
class Case:
    """One stream: its picture and the options of its encoder."""
    encoder: str
    width: int
    height: int
    sampling: list
    bits: int = 8
    signed: bool = False
    lossless: bool = True
    options: list = field(default_factory=list)
    format: str = ""  # GStreamer's name, for openjpegenc

    def __str__(self):
        sampling = " ".join(f"{dx}x{dy}" for dx, dy in self.sampling)
        options = " ".join(map(str, self.options))
        return (f"{self.encoder} {self.width}x{self.height} {sampling} {'s' if self.signed else 'u'}{self.bits} "
                f"{self.format}{'lossless' if self.lossless else 'lossy'} {options}")


def odd_origin(rng):
    """Image offset, tile offset and tile size that divide the picture unevenly (T.800 B.3)."""
    image = (rng.randrange(0, 40), rng.randrange(0, 40))
    tile_origin = (rng.randrange(0, image[0] + 1), rng.randrange(0, image[1] + 1))
    # The first tile must meet the image area.
    size = (rng.randrange(41, 150), rng.randrange(41, 150))
    return image, tile_origin, size


def picture(rng):
    sampling = rng.choice([GREY, RGB, RGB, RGBA, YUV420, YUV422, YUV411])
    width, height = rng.choice(SIZES)
    bits = rng.choice([1, 4, 8, 8, 10, 12, 16])
    return sampling, width, height, bits


def opj(rng, encoder="opj"):
    sampling, width, height, bits = picture(rng)
    if max(sampling) != (1, 1):  # OpenJPEG's raw input counts whole units only
        width, height = width + -width % 4, height + -height % 4
    case = Case(encoder, width, height, sampling, bits, lossless=rng.random() < 0.6)
    block = rng.choice(BLOCKS)
    # OpenJPEG requires a sample at the lowest resolution of each tile.
    levels = min(width, height, 41).bit_length()
    case.options = ["-n", rng.randrange(1, levels + 1), "-b", f"{block[0]},{block[1]}", "-p", rng.choice(PROGRESSIONS)]
    style = rng.choice([0, rng.randrange(64), 1 << rng.randrange(6)])
    if style:
        case.options += ["-M", style]
    if rng.random() < 0.4:
        case.options += ["-c", rng.choice(["[64,64]", "[128,128],[64,64],[32,32]", "[256,32]", "[32,256],[16,64]"])]
    if rng.random() < 0.4 and max(sampling) == (1, 1):
        image, tile_origin, tile = odd_origin(rng)
        case.options += ["-d", "%d,%d" % image, "-T", "%d,%d" % tile_origin, "-t", "%d,%d" % tile]
    elif rng.random() < 0.3:
        case.options += ["-t", "64,48"]
    if case.lossless:
        case.options += ["-r", rng.choice(["1", "20,5,1"])]
    else:
        case.options += ["-I", "-r", rng.choice(["4", "12", "40,10,3"])]
    case.options += [option for option in ("-SOP", "-EPH") if rng.random() < 0.2]
    if rng.random() < 0.3:
        case.options += ["-TP", rng.choice("RLC")]
    return case


def grk(rng):
    case = opj(rng, "grk")
    if len(case.sampling) not in (1, 3) or max(case.sampling) != (1, 1):
        case.sampling = RGB
    case.bits = max(case.bits, 8)
    case.options = [{"-TP": "-u", "-SOP": "-S", "-EPH": "-E"}.get(option, option) for option in case.options]
    return case


def ojph(rng):
    sampling, width, height, bits = picture(rng)
    if sampling is RGBA:  # its reader takes one or three components
        sampling = RGB
    bits = max(bits, 8)
    case = Case("ojph", width, height, sampling, bits, lossless=rng.random() < 0.6)
    block = rng.choice(BLOCKS)
    case.options = ["-num_decomps", rng.randrange(0, 7), "-block_size", "{%d,%d}" % block,
                    "-prog_order", rng.choice(PROGRESSIONS)]
    case.options += ["-reversible", "true"] if case.lossless else \
        ["-reversible", "false", "-qstep", rng.choice(["0.001", "0.01", "0.1"])]
    if len(sampling) == 3 and max(sampling) == (1, 1):
        case.options += ["-colour_trans", rng.choice(["true", "false"])]
    if rng.random() < 0.3:
        case.options += ["-precincts", rng.choice(["{64,64}", "{32,32},{64,64},{128,128}", "{256,32}"])]
    if rng.random() < 0.4 and max(sampling) == (1, 1):
        image, tile_origin, tile = odd_origin(rng)
        case.options += ["-image_offset", "{%d,%d}" % image, "-tile_offset", "{%d,%d}" % tile_origin,
                         "-tile_size", "{%d,%d}" % tile]
    elif rng.random() < 0.3:
        case.options += ["-tile_size", "{64,48}"]
    return case


def gst(rng):
    width, height = rng.choice(SIZES[6:])
    name, sampling, bits = rng.choice([
        ("I420", YUV420, 8), ("Y42B", YUV422, 8), ("Y444", RGB, 8), ("GRAY8", GREY, 8), ("GRAY16_LE", GREY, 16),
        ("I420_10LE", YUV420, 10), ("I422_10LE", YUV422, 10), ("Y444_10LE", RGB, 10), ("Y41B", YUV411, 8)])
    options = [f"num-resolutions={rng.randrange(1, 7)}", f"progression-order={rng.randrange(0, 5)}",
               f"num-layers={rng.choice([1, 1, 3])}"]
    return Case("gst", width, height, sampling, bits, options=options, format=name)


def fixed(long):
    """Every code-block style with either transform, every progression with layers and precincts,
    regions of interest, many levels, and the largest sizes."""
    for style in range(64) if long else (1, 2, 4, 8, 16, 32, 5, 21, 63):
        for lossy in (False, True):
            rate = ["-I", "-r", "10"] if lossy else []
            yield Case("opj", 131, 97, RGB, lossless=not lossy, options=["-n", 4, "-M", style, *rate])
    for progression in PROGRESSIONS:
        yield Case("opj", 201, 133, RGB, options=["-p", progression, "-r", "30,8,1", "-c", "[64,64],[32,32]",
                                                  "-t", "90,70", "-d", "13,7"])
        yield Case("ojph", 201, 133, YUV420, 10, options=["-prog_order", progression, "-reversible", "true",
                                                          "-precincts", "{32,32},{64,64}"])
    yield Case("opj", 150, 120, RGB, options=["-ROI", "c=0,U=6"])
    yield Case("opj", 150, 120, GREY, 12, lossless=False, options=["-I", "-r", "8", "-ROI", "c=0,U=9"])
    yield Case("ojph", 40, 30, GREY, options=["-num_decomps", 32, "-reversible", "true"])
    yield Case("opj", 64, 64, GREY, 8, signed=True)
    yield Case("ojph", 64, 64, GREY, 16, signed=True, options=["-reversible", "true"])
    yield Case("opj", 201, 133, RGB, options=["-n", 4, "-r", "20,1", "-POC", "T1=0,0,1,4,3,CPRL/T1=0,0,2,4,3,LRCP"])
    if long:
        for width, height in LARGE_SIZES:
            for encoder, lossless, options in (
                    ("opj", True, []), ("opj", False, ["-I", "-r", "9"]), ("grk", False, ["-I", "-r", "9"]),
                    ("ojph", True, ["-reversible", "true"]), ("ojph", False, ["-qstep", "0.005"])):
                yield Case(encoder, width, height, RGB, 12, lossless=lossless, options=options)


def cases(long):
    """All cases of a run. A short run has the same kinds of cases as a long one, with other seeds."""
    yield from fixed(long)
    for make, count in ((opj, 60), (grk, 20), (ojph, 50), (gst, 8)):
        rng = random.Random(f"{make.__name__} 15444")
        for _ in range(count * (10 if long else 1)):
            yield make(rng)
