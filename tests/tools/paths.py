#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which files the tools read and write: several, folders, standard input and output, nowhere; names and comments
that are not ASCII; output that fails in the middle."""
import json
import os
import resource
import signal
import subprocess

import numpy as np

from cj2ktest import DECODE, ENCODE, Folder, Tap, differences, read_pgx_set, read_pnm, write_pnm

INFO = os.environ.get("CJ2K_INFO", "cj2k-info")
COMPARE = os.environ.get("CJ2K_COMPARE", "cj2k-compare")
BENCH = os.environ.get("CJ2K_BENCH", "cj2k-bench")
LOSSLESS = "--rate-control=lossless"
tap = Tap()


def run(*arguments, stdin=b"", work=None):
    return subprocess.run(arguments, input=stdin, capture_output=True, timeout=120, check=False, cwd=work)


def check(name, done, status, *words, good=True):
    text = done.stderr.decode(errors="replace")
    missing = [word for word in words if word not in text]
    tap.ok(done.returncode == status and good and not missing, name, f"status {done.returncode}, not there: {missing}\n{text}")


def pictures(work):
    """Makes three pictures in work/in, and a file of another kind."""
    made = {}
    os.mkdir(f"{work}/in")
    for index, name in enumerate(("a", "b", "c")):
        made[name] = [np.random.default_rng(10 * index + c).integers(0, 256, (9 + index, 14)) for c in range(3)]
        write_pnm(f"{work}/in/{name}.ppm", made[name], 8)
    with open(f"{work}/in/readme.txt", "w", encoding="ascii") as file:
        file.write("no picture\n")
    return made


def same(work, folder, made, names="abc"):
    files = sorted(os.listdir(f"{work}/{folder}"))
    return files == [f"{n}.ppm" for n in names] and all(
        differences(read_pnm(f"{work}/{folder}/{n}.ppm"), made[n]) == 0 for n in names)


def check_folders(work, made):
    done = run(ENCODE, LOSSLESS, "in", "coded", work=work)
    check("a name that is not a file's is a folder to be made", done, 0,
          good=sorted(os.listdir(f"{work}/coded")) == ["a.j2c", "b.j2c", "c.j2c"])
    done = run(DECODE, "coded", "-o", "back/deep/", "--output-format=ppm", work=work)
    check("folder to folder", done, 0, good=same(work, "back/deep", made))
    done = run(ENCODE, LOSSLESS, "--output-format=jph", "-o", "two/", "in/a.ppm", "in/c.ppm", work=work)
    check("several files to a folder", done, 0, good=sorted(os.listdir(f"{work}/two")) == ["a.jph", "c.jph"])
    os.mkdir(f"{work}/three")
    done = run(DECODE, "--output-format=ppm", "two/a.jph", "two/c.jph", "three", work=work)
    check("the last argument is a folder", done, 0, good=same(work, "three", made, "ac"))
    done = run(DECODE, "--output-format=ppm", "coded/b.j2c", "three", work=work)
    check("one file into a folder", done, 0, good=same(work, "three", made))
    done = run(INFO, "coded", work=work)
    check("cj2k-info of a folder", done, 0, good=done.stdout.count(b"file: coded/") == 3)


def check_streams(work, made):
    with open(f"{work}/in/a.ppm", "rb") as file:
        picture = file.read()
    coded = run(ENCODE, LOSSLESS, "-", "-", stdin=picture)
    check("standard input to standard output, encoding", coded, 0, good=coded.stdout[:4] == b"\xff\x4f\xff\x51")
    back = run(DECODE, "-", "-", stdin=coded.stdout)
    check("standard input to standard output, decoding", back, 0, good=back.stdout == picture)
    done = run(ENCODE, LOSSLESS, "--output-format=jp2", "in/a.ppm", "--output=-", work=work)
    check("a JP2 file on standard output", done, 0, good=done.stdout[4:8] == b"jP  ")
    raw = b"".join(plane.astype("u1").tobytes() for plane in made["a"])
    done = run(DECODE, "-", "-", "--output-format=raw", stdin=coded.stdout)
    check("planes on standard output", done, 0, good=done.stdout == raw)
    height, width = made["a"][0].shape
    done = run(ENCODE, LOSSLESS, f"--width={width}", f"--height={height}", "--format=RGB_8", "-", "-", stdin=raw)
    back = run(DECODE, "-", "-", stdin=done.stdout)
    check("raw planes on standard input", done, 0, good=back.stdout == picture)
    done = run(DECODE, "coded/a.j2c", "coded/b.j2c", "-", "--output-format=raw", work=work)
    check("several one behind the other", done, 0,
          good=done.stdout == raw + b"".join(plane.astype("u1").tobytes() for plane in made["b"]))
    check("several components as PGX", run(DECODE, "-", "-", "--output-format=pgx", stdin=coded.stdout), 1, "3 components")


def check_nowhere(work):
    before = sorted(os.listdir(work))
    check("decoding to nowhere", run(DECODE, "-v", "coded", "-o", "/dev/null", work=work), 0, "coded/c.j2c")
    check("decoding to nowhere, by the last argument", run(DECODE, "coded/a.j2c", "/dev/null", work=work), 0)
    done = run(ENCODE, "in", "-o", "/dev/null", "-v", work=work)
    check("encoding to nowhere, each picture once", done, 0,
          good=sorted(os.listdir(work)) == before and done.stderr.count(b"bits per pixel") == 3)


def check_formats(work, made):
    done = run(DECODE, "coded/a.j2c", "out.pgx", work=work)
    check("PGX, a file a component", done, 0, good=differences(read_pgx_set(f"{work}/out"), made["a"]) == 0)
    done = run(DECODE, "coded/a.j2c", "-o", "picture", "--output-format=ppm", work=work)
    check("a name without an ending", done, 0, good=differences(read_pnm(f"{work}/picture"), made["a"]) == 0)
    write_pnm(f"{work}/grey.pgm", made["a"][:1], 8)
    run(ENCODE, LOSSLESS, "grey.pgm", "grey.j2c", work=work)
    for name, options in (("-", ["--output-format=pgm"]), ("plain", ["--output-format=pgm"]), ("rgb.PGM", []), ("rgb.pgm", [])):
        done = run(DECODE, "coded/a.j2c", name, *options, work=work)
        check(f"no RGB as PGM: {name}", done, 1, "not grey", good=not done.stdout and not os.path.exists(f"{work}/{name}"))
        done = run(DECODE, "grey.j2c", name, *options, work=work)
        check(f"grey as PGM: {name}", done, 0, good=(done.stdout or content(f"{work}/{name}"))[:2] == b"P5")
    for name, options in (("-", ["--output-format=ppm"]), ("plain", ["--output-format=ppm"]), ("grey.PPM", [])):
        done = run(DECODE, "grey.j2c", name, *options, work=work)
        check(f"grey as PPM: {name}", done, 0, good=(done.stdout or content(f"{work}/{name}"))[:2] == b"P6")
    done = run(DECODE, "grey.j2c", "-", work=work)
    check("grey without a stated format", done, 0, good=done.stdout[:2] == b"P5")
    run(DECODE, "coded/a.j2c", "LARGE.PGX", work=work)
    done = run(ENCODE, LOSSLESS, "LARGE.PGX", "large.j2c", work=work)
    check("PGX with an ending in capitals", done, 0,
          good=os.path.exists(f"{work}/LARGE_0.pgx") and content(f"{work}/LARGE_1.pgx") == content(f"{work}/out_1.pgx"))
    done = run(ENCODE, LOSSLESS, "--output-format=jp2", "in/a.ppm", "picture2", work=work)
    check("a coded name without an ending", done, 0, good=os.path.getsize(f"{work}/picture2") > 100)


def check_failures(work, made):
    for name, data in (("broken.j2c", b"\xff\x4f\xff\x51\0"), ("empty.j2c", b"")):
        with open(f"{work}/coded/{name}", "wb") as file:
            file.write(data)
    done = run(DECODE, "coded", "some/", "--output-format=ppm", work=work)
    check("one fails, the others go on", done, 1, "coded/broken.j2c: ", "coded/empty.j2c: the file is empty",
          good=same(work, "some", made))
    done = run(DECODE, "coded/a.j2c", "none.j2c", "some", work=work)
    check("a file that is missing", done, 1, "none.j2c: No such file")
    done = run(ENCODE, "in/a.ppm", "in/readme.txt", "-o", "x/", work=work)
    check("a picture that is none", done, 1, "in/readme.txt: not a PGM", good=os.path.exists(f"{work}/x/a.j2c"))
    done = run(ENCODE, "--mct=on", "--tile-width=1", "--image-offset-x=7", "in", "-o", "y/", work=work)
    check("an encoder that refuses names the picture", done, 2, "in/a.ppm: ", "in/c.ppm: ")
    os.mkdir(f"{work}/link-in")
    os.symlink("../in/a.ppm", f"{work}/link-in/a.j2c")
    for name, command, words in (
            ("one argument", (DECODE, "coded/a.j2c"), "an input and an output"),
            ("no argument", (ENCODE,), "an input and an output"),
            ("a list without an output", (DECODE, "coded/a.j2c", "coded/b.j2c", "coded/c.j2c"), "need a folder"),
            ("several into a file", (DECODE, "coded/a.j2c", "coded/b.j2c", "-o", "out.png"), "need a folder"),
            ("two of one name", (ENCODE, "in/a.ppm", "three/a.ppm", "z/"), "in/a.ppm and three/a.ppm would both"),
            ("a folder without pictures", (DECODE, "in", "z/"), "in: no file in this folder"),
            ("standard input into a folder", (DECODE, "-", "three"), "standard input needs"),
            ("a picture onto itself", (ENCODE, "in/a.ppm", "in/a.ppm", "--output-format=j2c"), "in/a.ppm would be overwritten"),
            ("the same by another path", (ENCODE, "in/a.ppm", "in/../in/a.ppm", "--output-format=j2c"), "in/a.ppm would be"),
            ("a codestream onto itself", (DECODE, "coded/a.j2c", "./coded/a.j2c", "--output-format=ppm"), "coded/a.j2c would"),
            ("a file of a folder onto itself", (ENCODE, "in/a.ppm", "link-in", "--output-format=j2c"), "in/a.ppm would be"),
            ("an unknown ending", (DECODE, "coded/a.j2c", "out.xyz"), "must end in"),
            ("an unknown format", (DECODE, "coded/a.j2c", "-", "--output-format=xyz"), "must be ppm"),
            ("an unknown coded format", (ENCODE, "in/a.ppm", "-", "--output-format=png"), "must be j2c")):
        check(name, run(*command, work=work), 2, words)
    with open(f"{work}/coded/a.j2c", "rb") as file:
        tap.ok(file.read(2) == b"\xff\x4f" and content(f"{work}/in/a.ppm")[:2] == b"P6", "no input was overwritten")


def content(path):
    """The bytes of a file; empty if it does not exist."""
    if not os.path.exists(path):
        return b""
    with open(path, "rb") as file:
        return file.read()


def check_characters(work, made):
    """File names and comments that are not ASCII, in locales with and without a character set."""
    comment = "Grüße, 5 €"
    for locale in ("C", "C.UTF-8"):
        environment = {**os.environ, "LC_ALL": locale, "LANGUAGE": "C"}

        def tool(*arguments, environment=environment):
            return subprocess.run(arguments, capture_output=True, timeout=120, check=False, cwd=work, env=environment)

        done = tool(ENCODE, LOSSLESS, "--comment", comment, "in/a.ppm", "Köln.jp2")
        check(f"a comment is written in ISO 8859-15, LC_ALL={locale}", done, 0,
              good=comment.encode("iso8859-15") in content(f"{work}/Köln.jp2"))
        done = tool(INFO, "--json", "Köln.jp2")
        check(f"and cj2k-info has it, LC_ALL={locale}", done, 0,
              good=done.stdout and comment in json.dumps(json.loads(done.stdout), ensure_ascii=False))
        done = tool(DECODE, "Köln.jp2", "-o", "Zürich.ppm")
        check(f"file names, LC_ALL={locale}", done, 0,
              good=done.returncode == 0 and differences(read_pnm(f"{work}/Zürich.ppm"), made["a"]) == 0)
        done = tool(ENCODE, LOSSLESS, b"--comment=\xfc", "in/a.ppm", "never.jp2")
        check(f"a comment that is no text, LC_ALL={locale}", done, 2, "--comment", "UTF-8")
        done = tool(ENCODE, LOSSLESS, "--comment=漢字", "in/a.ppm", "never.jp2")
        check(f"a comment without an encoding in the standard, LC_ALL={locale}", done, 2, "comment", "8859-15",
              good=not os.path.exists(f"{work}/never.jp2"))


def check_incomplete(work, made):
    """Writing fails after 100 bytes: by an error, and by the signal that ends a program at its limit."""
    os.mkdir(f"{work}/full")
    have_png = b"without libpng" not in run(DECODE, "coded/a.j2c", "probe.png", work=work).stderr
    for signal_kills in (False, True):
        def limited():
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL if signal_kills else signal.SIG_IGN)

        how = "by a signal" if signal_kills else "by an error"
        for command, name in (((ENCODE, LOSSLESS, "in/a.ppm"), "a.jp2"), ((DECODE, "coded/a.j2c"), "a.ppm"),
                              ((DECODE, "coded/a.j2c"), "a.png"), ((DECODE, "coded/a.j2c"), "a.raw"),
                              ((DECODE, "coded/a.j2c"), "a.pgx")):
            if name == "a.png" and not have_png:
                tap.skip(f"{name} ended {how}", "built without libpng")
                continue
            target = f"{work}/full/{name}"
            if name != "a.pgx":
                with open(target, "wb") as file:
                    file.write(b"older")
            done = subprocess.run([*command, target], capture_output=True, timeout=120, check=False, cwd=work,
                                  preexec_fn=limited, restore_signals=False)
            whole = name == "a.pgx" or (os.listdir(f"{work}/full") == [name] and content(target) == b"older")
            check(f"{name} ended {how} keeps the older file and leaves no other", done,
                  -signal.SIGXFSZ if signal_kills else 1, good=whole)
            if name == "a.pgx":
                tap.ok(not os.listdir(f"{work}/full"), f"PGX ended {how} leaves no component", os.listdir(f"{work}/full"))
            else:
                os.remove(target)
    os.symlink("linked.ppm", f"{work}/link.ppm")
    with open(f"{work}/linked.ppm", "wb") as file:
        file.write(b"older")
    os.chmod(f"{work}/linked.ppm", 0o640)
    done = run(DECODE, "coded/a.j2c", "link.ppm", work=work)
    check("a link stays a link, and a file's mode its mode", done, 0,
          good=os.path.islink(f"{work}/link.ppm") and os.stat(f"{work}/linked.ppm").st_mode & 0o777 == 0o640
          and differences(read_pnm(f"{work}/linked.ppm"), made["a"]) == 0)


def check_full_output(work):
    """Whatever a tool prints, it does not end well if the disk is full."""
    for title, command in (("cj2k-info", (INFO, "coded/a.j2c")), ("cj2k-info --json", (INFO, "--json", "coded/a.j2c")),
                           ("--help", (ENCODE, "--help")), ("cj2k-compare", (COMPARE, "in/a.ppm", "in/a.ppm")),
                           ("cj2k-bench", (BENCH, "decode", "coded/a.j2c", "--frames", "2", "--backend", "cpu")),
                           ("cj2k-decode -", (DECODE, "coded/a.j2c", "-")),
                           ("cj2k-encode -", (ENCODE, "in/a.ppm", "-"))):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=120, check=False, cwd=work)
        named = b"No space left on device" in done.stderr or b"standard output" in done.stderr
        tap.ok(done.returncode == 1 and named, f"{title} on a full disk",
               f"exit status {done.returncode}: {done.stderr.decode()}")
    # Whoever reads may stop reading: the program ends, by the signal or with an error.
    done = subprocess.run(f"{DECODE} coded/a.j2c - | head -c 10 | wc -c; echo ${{PIPESTATUS[0]}}", shell=True, timeout=120,
                          executable="/bin/bash", capture_output=True, check=False, cwd=work)
    tap.ok(done.stdout.split()[0] == b"10" and done.stdout.split()[1] in (b"0", b"1", b"141"), "a reader that stops",
           done.stdout.decode())


def main():
    with Folder() as work:
        made = pictures(work)
        check_folders(work, made)
        check_streams(work, made)
        check_nowhere(work)
        check_formats(work, made)
        check_failures(work, made)
        check_characters(work, made)
        check_incomplete(work, made)
        check_full_output(work)
    tap.done()


main()
