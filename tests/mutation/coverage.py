# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which tests run which lines, measured by gcov in a build of its own."""
import hashlib
import json
import os
import subprocess
from pathlib import Path

QUICK = 30  # seconds of tests in addition to those of the table in run.py, before --again


def digest(file):
    return hashlib.sha256(file.read_bytes()).hexdigest()


def gather(folder, objects, source):
    """The lines of common/ and gst/ that gcov's files below `folder` know: {path: {line: how often}}."""
    data = sorted(folder.rglob("*.gcda"))
    for file in data:  # gcov looks for the notes beside the data
        notes = objects / file.relative_to(folder / str(objects)[1:]).with_suffix(".gcno")
        if notes.exists() and not file.with_suffix(".gcno").exists():
            file.with_suffix(".gcno").symlink_to(notes)
    if not data:
        return {}
    text = subprocess.run(["gcov", "--json-format", "--stdout", *map(str, data)], cwd=folder, check=True,
                          capture_output=True, text=True).stdout
    lines = {}
    for report in filter(None, text.split("\n")):
        for file in json.loads(report)["files"]:
            path = os.path.relpath(objects / file["file"], source)
            if path.startswith(("common/", "gst/")) and path.endswith(".c"):
                counts = lines.setdefault(path, {})
                for line in file["lines"]:
                    counts[line["line_number"]] = counts.get(line["line_number"], 0) + line["count"]
    return lines


class Coverage:
    """What coverage.json of a folder says: for each test its seconds and the lines that it runs."""

    def __init__(self, folder):
        self.file = folder / "coverage.json"
        self.data = {"tests": {}, "code": {}, "digests": {}}
        if self.file.exists():
            self.data = json.loads(self.file.read_text())

    def measured(self, name):
        return name in self.data["tests"]

    def seconds(self, name):
        """How long a test took; None: it was not measured."""
        return self.data["tests"][name]["seconds"] if self.measured(name) else None

    def add(self, name, seconds, lines, source):
        """Notes what a test ran; `source` is the folder of the tree."""
        self.data["tests"][name] = {"seconds": round(seconds, 1), "lines": {
            path: sorted(line for line, count in counts.items() if count) for path, counts in lines.items()
            if any(counts.values())}}
        for path, counts in lines.items():
            self.data["code"][path] = sorted(set(self.data["code"].get(path, [])) | set(counts))
            self.data["digests"][path] = digest(source / path)
        part = self.file.with_suffix(".part")
        part.write_text(json.dumps(self.data))
        part.replace(self.file)

    def tests_of(self, source, path, line):
        """The tests that run a line, the quickest first. If the source was changed since: those that run it at all.

        None: no test was measured."""
        if not self.data["tests"]:
            return None
        code = [number for number in self.data["code"].get(path, []) if number <= line]
        same = digest(source / path) == self.data["digests"].get(path)
        names = [name for name, test in self.data["tests"].items() if path in test["lines"]
                 and (not same or not code or code[-1] in test["lines"][path])]
        return sorted(names, key=lambda name: self.data["tests"][name]["seconds"])

    def choose(self, names, first):
        """Those of `names` that are in `first`, in its order, then others for QUICK seconds; and the rest."""
        quick, rest, seconds = [name for name in first if name in names], [], 0
        for name in names:
            if name in first:
                continue
            seconds += self.seconds(name) if self.measured(name) else QUICK + 1
            (quick if seconds <= QUICK else rest).append(name)
        return quick, rest
