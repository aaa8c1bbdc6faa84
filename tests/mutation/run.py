#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""run.py [--count N] [--seed S] [--files PATTERN...] [--again] [--list] [--coverage [TEST...]]

Mutation testing: changes one thing in a source of common/ or gst/, builds, and runs the quick tests that
should notice. A mutant that no test notices lives; it shows a hole in the tests, or a change without an effect.

  --count N    mutants to be tried (200); those of an earlier run with the same folder count as well
  --seed S     other mutants (1)
  --files P    only sources that match such a pattern, e.g. 'common/rtp/*' (all)
  --again      tries the mutants that lived in earlier runs and are not judged once more, with the slower tests as well
  --out DIR    copy of the tree, build and results (build-mutation)
  --list       prints the mutants of earlier runs that live, and does nothing else
  --coverage   measures which lines each test runs (or each of those named), and does nothing else. Then a mutant is
               tried only with tests that run its line, among them ones that the table TESTS does not name; a line that
               no test runs costs nothing. Goes on where it was interrupted; delete coverage.json to measure anew

Mutants that live and were examined are in judged.tsv: source, the line, what the mutant makes of it, and why no
test has to notice that. They count as judged and are not listed.

All work is done in a copy of the tree. A mutant whose object file is that of the original is equivalent, and
one that does not compile (warnings of some kinds are errors) does not count. One test program runs at a time; a
test that takes ten times as long as without the mutant, and at least 20 s, has noticed it. The last line is a sum.
"""
import argparse
import difflib
import fnmatch
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import mutants as finder
from coverage import Coverage, gather

ROOT = Path(__file__).resolve().parents[2]
# For each source its tests, the first pattern that matches: those that take a second or two, which every mutant
# is tried with, and those that only mutants which lived are tried with (--again).
TESTS = [
    ("common/backend_*", ["test-devices"], ["test-element-devices", "test-decoder", "test-encoder"]),
    ("common/codestream/plan_renew*", ["test-plan", "test-parts"], ["test-decoder", "test-rate-mode"]),
    ("common/rtp/locate_parts*", ["test-element-rtp-parts"], ["test-rtp", "test-element-parts"]),
    ("common/encoder/latency*", ["test-latency"], ["test-slices", "test-options"]),
    ("common/cpu/ht/quantise*", ["test-rate-effort", "test-ht"], ["golden", "stage-equal-threads"]),
    ("gst/gstcudaj2kdevices*", ["test-element-devices"], ["test-element-backend", "test-element-states"]),
    ("gst/gstcudaj2kinflight*", ["test-element-in-flight"],
     ["test-element-stats", "test-element-flow", "test-element-order"]),
    ("gst/gstcudaj2kdecparts*", ["test-element-parts", "test-element-rtp-parts"],
     ["test-element-fields", "test-element-states"]),
    ("gst/gstcudaj2kencslices*", ["test-element-slices", "test-element-rtp-parts"],
     ["test-element-fields", "test-element-states"]),
    ("common/codestream/jp2*", ["test-headers", "fuzz-boxes", "test-decoder"], ["test-element-bytes", "jp2", "info"]),
    ("common/codestream/write_boxes*", ["test-headers", "test-writer", "fuzz-round-trip", "images"], ["info"]),
    ("common/codestream/write_*", ["test-writer", "test-packets", "fuzz-round-trip", "test-slices"],
     ["golden", "test-encoder", "info"]),
    ("common/codestream/packets_parts*", ["test-parts", "fuzz-parts"], ["test-element-decoder"]),
    ("common/codestream/packets_resync*", ["test-resync", "test-conceal", "test-decoder"],
     ["fuzz-frame", "test-element-rtp-losses"]),
    ("common/codestream/*", ["test-headers", "test-refusals", "test-plan", "test-packets", "test-decoder",
                             "test-writer", "test-resync", "fuzz-headers", "fuzz-packets", "fuzz-tag-tree",
                             "fuzz-frame"],
     ["golden", "conformance", "info"]),
    ("common/cpu/dwt/*", ["test-transform", "test-transform-baseline"], ["golden", "stage-equal-threads"]),
    ("common/cpu/ht/*", ["test-ht", "fuzz-ht-block", "fuzz-round-trip"],
     ["golden", "stage-equal-threads", "conformance"]),
    ("common/cpu/mq/*", ["test-mq", "fuzz-mq-block", "fuzz-round-trip"],
     ["golden", "stage-equal-threads", "conformance"]),
    ("common/cpu/*", ["test-decoder", "test-conceal", "fuzz-round-trip", "fuzz-threads"],
     ["golden", "test-faults", "stage-equal-threads", "conformance"]),
    ("common/rate/*", ["test-rate-parts", "test-rate-fit", "fuzz-encoder", "test-rate-mode"],
     ["test-rate-average", "test-rate-ceiling", "test-rate-regions", "test-slices", "golden", "test-rate-visual",
      "test-rate-period", "test-rate"]),
    ("common/rtp/*", ["test-rtp", "test-rtp-receive", "test-rtp-hostile", "fuzz-rtp"],
     ["test-element-rtp-transport", "test-element-rtp-losses", "rtp-sender"]),
    ("common/runtime/*", ["test-slots", "test-decoder", "test-threads", "test-clock"],
     ["test-faults", "test-steady", "stress"]),
    ("common/options/*", ["test-options", "fuzz-caps", "arguments"], ["test-element-encoder", "test-element-presets"]),
    ("common/samples/*", ["test-pack", "test-pack-baseline", "test-element-formats"],
     ["test-element-encoder", "test-element-decoder", "raw"]),
    ("common/decoder/*", ["test-decoder", "test-conceal", "test-colours", "fuzz-frame", "fuzz-threads"],
     ["test-parts", "test-faults", "test-element-decoder", "test-steady", "test-element-bytes", "test-element-stats",
      "conformance", "jp2"]),
    ("common/encoder/*", ["test-options", "test-rate-mode", "fuzz-encoder", "fuzz-round-trip", "test-encoder"],
     ["test-slices", "test-profiles", "test-rate-average", "test-rate-period", "golden",
      "test-element-encoder-coding"]),
    ("common/shared/*", ["test-ht", "test-mq", "test-xyz", "test-rate-parts"], ["golden", "test-colours"]),
    ("gst/gstcudaj2krtp*", ["test-element-rtp-transport", "test-element-rtp-losses", "fuzz-caps"], ["rtp-sender"]),
    ("gst/gstcudaj2kdec*", ["test-element-decoder-stream", "test-element-stats", "test-element-fields",
                            "test-element-bytes", "test-element-decoder"],
     ["test-element-flow", "test-element-order", "test-element-states", "test-element-peers",
      "test-element-pipelines", "test-element-backend", "test-element-relink"]),
    ("gst/gstcudaj2kenc*", ["test-element-encoder-coding", "test-element-stats", "test-element-fields",
                            "test-element-encoder", "fuzz-caps"],
     ["test-element-flow", "test-element-order", "test-element-states", "test-element-peers",
      "test-element-pipelines", "test-element-backend", "test-element-presets"]),
    ("gst/*", ["test-element-formats", "fuzz-caps", "test-element-fields", "test-element-metas", "test-element-bytes",
               "test-element-decoder-stream", "test-element-stats", "test-element-encoder-coding"],
     ["test-element-decoder", "test-element-encoder", "test-element-flow", "test-element-order",
      "test-element-presets", "test-element-backend", "test-element-states", "test-element-peers",
      "test-element-pipelines"]),
    ("*", ["test-decoder", "fuzz-round-trip"], ["test-encoder", "golden"]),
]
# Sources that a machine without a GPU does not build or cannot run.
LEFT_OUT = ["gst/gstcudaj2kmemory.c", "gst/gstcudaj2kcontext.c", "gst/gstcudaj2kpinned.c", "common/shared/mq_tables.c"]
JUDGED = Path(__file__).with_name("judged.tsv")
NICE = ["nice", "-n", "10"]
MEMORY = ["prlimit", f"--as={8 << 30}"]  # a mutant may ask for all of it


class Tree:
    """A copy of the tree, its build folder, and the tests that Meson knows there."""

    def __init__(self, folder, build="build", *options):
        self.source = folder / "tree"
        self.build = folder / build
        self.copy()
        if not (self.build / "build.ninja").exists():
            environment = dict(os.environ, CC=os.environ.get("CC", "ccache cc"))
            subprocess.run(["meson", "setup", str(self.build), str(self.source), "-Dcuda=disabled", "-Ddebug=false",
                            "-Doptimization=2", f"-Dconformance_dir={shared_folder()}", *options],
                           check=True, env=environment, stdout=subprocess.DEVNULL)
        if not self.compile([]):
            sys.exit("the tree does not build without a mutant")
        text = subprocess.run(["meson", "introspect", "--tests", str(self.build)], check=True,
                              capture_output=True).stdout
        self.tests = {test["name"]: test for test in json.loads(text)}
        self.times = {}
        self.checked = set()  # tests that passed or were left out

    def copy(self):
        """What git knows of the tree, as it is on disk; leaves equal files as they are for the build."""
        names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                               check=True, capture_output=True).stdout
        for name in names.decode().split("\0"):
            origin, copy = ROOT / name, self.source / name
            if not name or not origin.is_file():
                continue
            if not copy.exists() or copy.read_bytes() != origin.read_bytes():
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(origin.read_bytes())
                copy.chmod(origin.stat().st_mode)

    def compile(self, targets):
        return subprocess.run([*NICE, "ninja", "-C", str(self.build), *targets], stdout=subprocess.DEVNULL,
                              stderr=subprocess.STDOUT, check=False).returncode == 0

    def targets(self, test):
        """What a test needs: its program, the plugin and the tools, as far as it is given any."""
        prefix = str(self.build) + "/"
        names = [word[len(prefix):] for word in self.tests[test]["cmd"] if word.startswith(prefix)]
        names = [name for name in names if not name.startswith("..") and (self.build / name).is_file()]
        if self.tests[test]["suite"][0].endswith("elements"):
            names.append("gst/libgstcudaj2k.so")
        if self.tests[test]["suite"][0].endswith("tool"):
            names += ["examples/cj2k-encode", "examples/cj2k-decode", "examples/cj2k-info"]
        return names

    def run(self, name, limit, **variables):
        """Runs a test: True if it passed."""
        test = self.tests[name]
        environment = dict(os.environ, **test["env"], MALLOC_PERTURB_="85", **variables)
        with subprocess.Popen([*MEMORY, *NICE, *test["cmd"]], cwd=test.get("workdir") or self.build, env=environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              start_new_session=True) as process:
            try:
                return process.wait(limit) == 0
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                return False

    def limit(self, name):
        """Seconds that a test may take; measured without a mutant when the test is first needed."""
        return max(20, 10 * self.times[name])

    def measure(self, names):
        """Leaves out the tests that fail without a mutant as well. The tree is without one."""
        for name in set(names) - self.checked:
            self.checked.add(name)
            passed = name in self.tests and self.compile(self.targets(name))
            begin = time.monotonic()
            passed = passed and self.run(name, 600)
            self.times[name] = time.monotonic() - begin
            if not passed:
                print(f"left out: {name} " + ("fails without a mutant" if name in self.tests else "is no test here"))
                self.tests.pop(name, None)

    def object_of(self, path):
        """Digest of what the compiler made of a source; None: it was refused."""
        name = path.split("/", 1)[1].replace("/", "_") + ".o"
        files = list((self.build / path.split("/")[0]).glob("*.p/" + name))
        if not files:  # a source that is not built on this machine
            return None
        if not self.compile([str(files[0].relative_to(self.build))]):
            return None
        return hashlib.sha256(files[0].read_bytes()).hexdigest()


def shared_folder():
    return os.environ.get("CJ2K_SHARED") or str((ROOT / "../shared").resolve())


def tests_of(tree, coverage, mutant, again):
    """The quick tests of a mutant; with `again` the others as well."""
    quick, slow = next(row[1:] for row in TESTS if fnmatch.fnmatchcase(mutant.path, row[0]))
    names = coverage.tests_of(tree.source, mutant.path, mutant.line)
    if names is not None:
        names += [name for name in quick + slow if not coverage.measured(name)]
        quick, slow = coverage.choose(names, quick)
    return quick + slow if again else quick


def measure_coverage(folder, wanted):
    """Runs each test in a build that counts lines; those of other suites only if they are named."""
    tree, coverage = Tree(folder, "coverage", "-Db_coverage=true", "-Doptimization=1"), Coverage(folder)
    suites = {f"cudaj2k:{suite}" for suite in ("unit", "fuzz", "elements")}
    for name, test in tree.tests.items():
        if name in wanted or (not wanted and suites & set(test["suite"]) and not coverage.measured(name)):
            with tempfile.TemporaryDirectory(dir=folder) as data:
                begin = time.monotonic()
                passed = tree.run(name, 300, GCOV_PREFIX=data)
                seconds = time.monotonic() - begin
                if passed:
                    coverage.add(name, seconds, gather(Path(data), tree.build, tree.source), tree.source)
            print(f"{name}: {'passed' if passed else 'left out, failed'}, {seconds:.1f} s", flush=True)


def try_mutant(tree, mutant, source, tests):
    """What became of a mutant: its verdict, and the test that noticed it."""
    original = tree.object_of(mutant.path)
    if original is None:
        return "not built", ""
    file = tree.source / mutant.path
    file.write_text(mutant.apply(source))
    try:
        changed = tree.object_of(mutant.path)
        if changed is None:
            return "invalid", ""
        if changed == original:
            return "equivalent", "same object code"
        for name in tests:
            if name not in tree.tests:
                continue
            if not tree.compile(tree.targets(name)):
                return "invalid", "does not link"
            if not tree.run(name, tree.limit(name)):
                return "killed", name
        return "lives", "" if tests else "no test runs its line"
    finally:
        file.write_text(source)


def judge(tree, coverage, mutant, source, tests):
    """The same, but a test that fails without the mutant as well has noticed nothing. Only tests that notice one are
    run without it, if the coverage says how long they take."""
    for name in tests:
        tree.times.setdefault(name, coverage.seconds(name))
    tree.measure([name for name in tests if tree.times[name] is None])
    while True:
        verdict, test = try_mutant(tree, mutant, source, tests)
        if verdict != "killed" or test in tree.checked:
            return verdict, test
        tree.measure([test])


def difference(mutant, source):
    lines = difflib.unified_diff(source.split("\n"), mutant.apply(source).split("\n"), mutant.path, mutant.path, n=1,
                                 lineterm="")
    return "\n".join(lines)


def key(tree, mutant):
    """Names a mutant also after other lines of its source have changed."""
    lines = difference(mutant, (tree.source / mutant.path).read_text()).split("\n")
    return hashlib.sha256("\n".join(line for line in lines if not line.startswith("@@")).encode()).hexdigest()


def sources(patterns):
    names = subprocess.run(["git", "ls-files", "common/*.c", "gst/*.c"], cwd=ROOT, check=True, capture_output=True,
                           text=True).stdout.split()
    return [name for name in names if name not in LEFT_OUT
            and (not patterns or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns))]


def choose(folder, patterns, seed):
    """All mutants in a random order in which each kind comes equally often."""
    by_kind = {}
    for path in sources(patterns):
        for mutant in finder.find(path, (folder / path).read_text()):
            by_kind.setdefault(mutant.kind, []).append(mutant)
    generator = random.Random(seed)
    for kind in sorted(by_kind):
        generator.shuffle(by_kind[kind])
    while any(by_kind.values()):
        for kind in sorted(by_kind):
            if by_kind[kind]:
                yield by_kind[kind].pop()


def read_results(path):
    if not path.exists():
        return {}
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return {row["key"]: row for row in rows}


def read_judged():
    """Source, line and changed line of each."""
    rows = [line.split("\t") for line in JUDGED.read_text().splitlines()[1:]]
    return {tuple(row[:3]) for row in rows}


def is_judged(row, judged):
    lines = row["diff"].split("\n")[2:]
    first, changed = (next((line[1:].strip() for line in lines if line[:1] == sign), "") for sign in "-+")
    return (row["path"], first, changed) in judged


def summary(results):
    counts, judged = {}, read_judged()
    results = {name: dict(row, verdict="judged") if row["verdict"] == "lives" and is_judged(row, judged) else row
               for name, row in results.items()}
    for row in results.values():
        counts[row["verdict"]] = counts.get(row["verdict"], 0) + 1
    for row in results.values():
        if row["verdict"] == "lives":
            print(f"\nlives: {row['name']} {row['test']}\n{row['diff']}")
    print("\n" + ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--files", nargs="*", default=[])
    parser.add_argument("--out", type=Path, default=ROOT / "build-mutation")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--coverage", nargs="*")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    log = options.out / "results.jsonl"
    results = read_results(log)
    if options.list:
        return summary(results)
    if options.coverage is not None:
        return measure_coverage(options.out.resolve(), options.coverage)
    tree, coverage = Tree(options.out.resolve()), Coverage(options.out)
    wanted = choose(tree.source, options.files, options.seed)
    if options.again:
        judged = read_judged()
        living = {name: row for name, row in results.items()
                  if row["verdict"] == "lives" and not is_judged(row, judged)}
        paths = {row["path"] for row in living.values()}
        wanted = [mutant for mutant in wanted if mutant.path in paths and key(tree, mutant) in living]
    for mutant in wanted:
        tried = sum(row["verdict"] in ("killed", "lives", "equivalent") for row in results.values())
        if not options.again and tried >= options.count:
            break
        if not options.again and key(tree, mutant) in results:
            continue
        tests = tests_of(tree, coverage, mutant, options.again)
        source = (tree.source / mutant.path).read_text()
        begin = time.monotonic()
        verdict, test = judge(tree, coverage, mutant, source, tests)
        row = {"key": key(tree, mutant), "path": mutant.path, "name": mutant.name(), "verdict": verdict, "test": test,
               "seconds": round(time.monotonic() - begin, 1), "diff": difference(mutant, source)}
        results[row["key"]] = row
        with log.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(f"{tried + 1} {row['name']}: {verdict} {test} {row['seconds']} s", flush=True)
    return summary(results)


if __name__ == "__main__":
    sys.exit(main())
