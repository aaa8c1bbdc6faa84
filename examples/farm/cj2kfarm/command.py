# SPDX-License-Identifier: LGPL-2.1-or-later
"""The command line of cj2k-farm."""
import argparse
import os
import signal
import sys
from fractions import Fraction

from .sequence import UsageError
from .show import Show

USAGE_STATUS, INTERRUPTED = 2, 130

HELP = """\
Usage:
  cj2k-farm IN OUT [OPTION...] -- ENCODER-OPTION...
  cj2k-farm live STREAMS.toml [OPTION...]

Encode a film on many GPUs and hosts, or keep live streams running on them.

IN is the pattern of a film's frames, such as in.%07d.dpx. OUT ends in .mxf or .mj2 for a film file, in .j2c for
codestreams one behind the other, or is a pattern such as out.%07d.j2c. The film is cut into parts; workers of a
Dask cluster encode them with cj2k-encode, and the parts are joined. Every split gives the same bytes. What was
done is kept beside OUT, in OUT.farm, until OUT is whole: the same command goes on where it was stopped.

Instead of options of cj2k-encode a whole command may follow --; in its words {in}, {out}, {first}, {last}, {count}
and {period} are replaced. It is run without a shell.

Cluster:
  --workers=N            Workers on this machine (one a GPU, else one for four cores)
  --scheduler=ADDRESS    Use the Dask cluster of this scheduler, such as tcp://host:8786, or the one that has
                         written this scheduler file, NAME.json

Film:
  --frames=A-B           Numbers of the first and last frame (all that there are)
  --rate-period=N        Rate control forgets at multiples of N, where parts may be cut; 0 = one part (240)
  --part=N               Frames in a part, rounded up to a multiple of the rate period
  --frame-rate=N/D       Frames a second of an .mxf or .mj2 file (24)
  --needs=NAME=N         What a part takes of a worker's resources, such as GPU=1
  --stalled-after=S      Seconds without a new frame, after which a part has failed (600)
  --encoder=PATH         cj2k-encode on the workers ($CJ2K_ENCODE, then the one on their PATH)

Live:
  --seconds=N            End after so many seconds; default: at SIGINT or SIGTERM

Output:
  --json                 Everything as JSON objects, one a line, on standard output
  --help                 This help
  --version              Print the version

Exit status:
  0  done
  1  a part failed, which is named; or the file could not be joined
  2  wrong options
  3  the scheduler was lost; the same command goes on

Examples:
  cj2k-farm 'in.%07d.dpx' film.mxf -- --profile=cinema-2k
  cj2k-farm 'in.%07d.dpx' 'out.%07d.j2c' --frames 0-1439 --workers 4 -- --rate-control=lossless
  cj2k-farm --scheduler tcp://10.0.0.1:8786 'in.%07d.dpx' film.mj2 -- --block-coder=ht --bits-per-pixel=4
  cj2k-farm live streams.toml --workers 3
"""


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise UsageError(message)


def pair(text):
    first, _, last = text.partition("-")
    if not (first.isdecimal() and last.isdecimal() and int(first) <= int(last)):
        raise argparse.ArgumentTypeError(f"{text} is not A-B, such as 0-1439")
    return int(first), int(last)


def count(text):
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 1 on")
    return int(text)


def count0(text):
    return 0 if text == "0" else count(text)


def rate(text):
    try:
        value = Fraction(text)
    except (ValueError, ZeroDivisionError):
        value = 0
    if value <= 0:
        raise argparse.ArgumentTypeError(f"{text} is no frame rate, such as 24 or 30000/1001")
    return value


def resource(text):
    name, _, number = text.partition("=")
    try:
        return {name: float(number)}
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is not NAME=N, such as GPU=1") from None


def parser(live):
    made = Parser(prog="cj2k-farm", add_help=False, allow_abbrev=False)
    where = made.add_mutually_exclusive_group()
    where.add_argument("--workers", type=count)
    where.add_argument("--scheduler")
    made.add_argument("--json", action="store_true")
    if live:
        made.add_argument("streams")
        made.add_argument("--seconds", type=float)
        return made
    made.add_argument("input")
    made.add_argument("output")
    made.add_argument("--frames", type=pair)
    made.add_argument("--rate-period", type=count0, default=240)
    made.add_argument("--part", type=count)
    made.add_argument("--frame-rate", type=rate, default=Fraction(24))
    made.add_argument("--needs", type=resource)
    made.add_argument("--stalled-after", type=float, default=600)
    made.add_argument("--encoder", default=os.environ.get("CJ2K_ENCODE", "cj2k-encode"))
    return made


def parse(words):
    """The arguments; `options` are the words behind --."""
    live = words[:1] == ["live"]
    words, options = (words[:words.index("--")], words[words.index("--") + 1:]) if "--" in words else (words, [])
    if live and options:
        raise UsageError("live takes no options of the encoder: they are in the streams' lines")
    arguments = parser(live).parse_args(words[1:] if live else words)
    arguments.live, arguments.options = live, options
    return arguments


def interrupt(*_):
    raise KeyboardInterrupt


def run(words):
    arguments = parse(words)
    signal.signal(signal.SIGTERM, interrupt)
    show = Show(arguments.json)
    # Imported here: the help needs no Dask.
    if arguments.live:
        from .live import run_live  # pylint: disable=import-outside-toplevel
        return run_live(arguments, show)
    from .film import run_film  # pylint: disable=import-outside-toplevel
    return run_film(arguments, show)


def main(words):
    own = words[:words.index("--")] if "--" in words else words
    if {"--help", "-h", "--help-all"} & set(own):
        print(HELP, end="")
        return 0
    if "--version" in own:
        print(f"cj2k-farm {version()}")
        return 0
    try:
        return run(words)
    except UsageError as error:
        print(f"cj2k-farm: {error}\nTry cj2k-farm --help.", file=sys.stderr)
        return USAGE_STATUS
    except KeyboardInterrupt:
        print("cj2k-farm: interrupted; the same command goes on", file=sys.stderr)
        return INTERRUPTED


def version():
    try:
        from .version import VERSION  # pylint: disable=import-outside-toplevel
    except ImportError:
        return "(source tree)"
    return VERSION
