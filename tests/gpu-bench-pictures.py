#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""gpu-bench-pictures.py FRAMES OUT [film]: makes pictures of the sizes of tests/gpu-bench.sh, cropped from the frames or
mirrored at their edges, and separate pictures of the three components of a 4:2:2 frame; or the picture over which the
frames of a film of RGB move."""
import array
import pathlib
import sys


def rows_of(data, width, height, size):
    """Rows of a picture whose pixels have `size` bytes."""
    return [data[y * width * size:(y + 1) * width * size] for y in range(height)]


def cut(rows, width, height, size):
    """The rows cropped to `width` by `height`; missing columns and rows are mirrored."""
    rows = rows[:height] + rows[:-(height - len(rows)) - 1:-1] if height > len(rows) else rows[:height]
    have = len(rows[0]) // size
    if width <= have:
        return [row[:width * size] for row in rows]
    back = [slice((have - 1 - i) * size, (have - i) * size) for i in range(width - have)]
    return [row + b"".join(row[part] for part in back) for row in rows]


def write(path, kind, rows, width, maximum):
    path.write_bytes(b"%s\n%d %d\n%d\n" % (kind, width, len(rows), maximum) + b"".join(rows))


def write_cuts(frames, out):
    grey = rows_of((frames / "uhd_gray8.raw").read_bytes(), 3840, 2160, 1)
    for width, height in (1280, 720), (1920, 1080), (4096, 2160):
        write(out / f"grey{height}.pgm", b"P5", cut(grey, width, height, 1), width, 255)
    for side in 512, 1024, 2048, 4096:
        write(out / f"square{side}.pgm", b"P5", cut(grey, side, side, 1), side, 255)
    name = frames / "uhd_rgb10.ppm"
    rgb = rows_of(name.read_bytes()[-3840 * 2160 * 6:], 3840, 2160, 6)
    for width, height in (2048, 1080), (1920, 1080), (4096, 2160), (3840, 2160):
        write(out / f"rgb{width}x{height}.ppm", b"P6", cut(rgb, width, height, 6), width, 1023)


def write_parts(frames, out):
    samples = array.array("H", (frames / "uhd_422p10.raw").read_bytes()[:3840 * 2160 * 4])
    if sys.byteorder == "little":
        samples.byteswap()
    luma = 3840 * 2160
    for c, begin, end, width in (0, 0, luma, 3840), (1, luma, luma * 3 // 2, 1920), (2, luma * 3 // 2, luma * 2, 1920):
        write(out / f"part{c}.pgm", b"P5", rows_of(samples[begin:end].tobytes(), width, 2160, 2), width, 1023)


def write_film(frames, out):
    rgb = rows_of((frames / "uhd_rgb12.ppm").read_bytes()[-3840 * 2160 * 6:], 3840, 2160, 6)
    write(out / "film.ppm", b"P6", cut(rgb, 4608, 2544, 6), 4608, 4095)


def main():
    frames, out = (pathlib.Path(argument) for argument in sys.argv[1:3])
    if sys.argv[3:] == ["film"]:
        write_film(frames, out)
        return
    write_cuts(frames, out)
    write_parts(frames, out)


if __name__ == "__main__":
    main()
