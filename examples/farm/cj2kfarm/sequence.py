# SPDX-License-Identifier: LGPL-2.1-or-later
"""Frames in numbered files, and parts of them."""
import os
import re

NUMBER = re.compile(r"%0?(\d*)d")
MAX_FRAMES = 10000000  # of a film, as in the tools


class UsageError(Exception):
    """What the user asked for cannot be done as asked."""


def is_pattern(name):
    return len(NUMBER.findall(name)) == 1


def existing(pattern):
    """The numbers of the files that there are."""
    folder, name = os.path.split(pattern)
    if not is_pattern(name):
        raise UsageError(f"{pattern}: the number of the frame, such as %07d, must be in the file's name")
    before, after = NUMBER.split(name)[0], NUMBER.split(name)[2]
    expression = re.compile(re.escape(before) + r"(\d+)" + re.escape(after))
    numbers = []
    with os.scandir(folder or ".") as entries:
        for entry in entries:
            match = expression.fullmatch(entry.name)
            if match and name % int(match[1]) == entry.name:
                numbers.append(int(match[1]))
    return sorted(numbers)


def ranges(numbers):
    """Numbers as text: 3, 5-9, 12."""
    runs = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def find_frames(pattern, wanted):
    """First and last frame: those of `wanted` (a pair or None), all of which must exist."""
    try:
        numbers = existing(pattern)
    except OSError as error:
        raise UsageError(f"{error.filename}: {error.strerror}") from None
    if not numbers:
        raise UsageError(f"{pattern}: no such file")
    first, last = wanted or (numbers[0], numbers[-1])
    if last - first >= MAX_FRAMES:
        raise UsageError(f"{pattern}: from frame {first} to {last} these are more than {MAX_FRAMES} frames")
    missing = sorted(set(range(first, last + 1)) - set(numbers))
    if missing:
        text = ranges(missing)
        raise UsageError(f"{pattern}: frames are missing: {text if len(text) < 200 else text[:200] + '...'}")
    return first, last


def cut(first, last, period, part_frames):
    """Parts as pairs of their first and last frame. They are cut at multiples of part_frames, which is a multiple of
    the period: there rate control forgets, so that a part has the bytes that it has in one run."""
    length = last - first + 1 if not period else part_frames
    parts = []
    while first <= last:
        end = min(last, first + length - 1 if not period else (first // length + 1) * length - 1)
        parts.append((first, end))
        first = end + 1
    return parts


def part_length(frames, period, asked):
    """Frames in a part: what was asked for, rounded up to a multiple of the period; else one period, or as many as keep
    the number of parts near a thousand."""
    if not period:
        return frames
    if asked:
        return -(-asked // period) * period
    return period * max(1, -(-frames // period) // 1000)
