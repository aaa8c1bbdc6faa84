#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""summary.py TESTLOG.json: counts every sub-test, and prints every failure and every skip with its reason.

Reads the log of `meson test`: one JSON object per line. In a TAP test each sub-test counts, any
other test counts once. A program that ends with an error, or before its plan is complete, adds a
failure.
"""
import json
import re
import sys

TAP_LINE = re.compile(r"^(not )?ok\b *\d* *-? *(.*)$")


def count_tap(test):
    """Returns (passed, failures, skips) of one TAP program, the latter two as lists of texts."""
    passed, failures, skips, plan = 0, [], [], None
    for line in test["stdout"].splitlines():
        if match := re.match(r"^1\.\.(\d+)(?: *# *SKIP *(.*))?", line):
            plan = int(match[1])
            if plan == 0:
                skips.append(match[2] or "no reason given")
        elif match := TAP_LINE.match(line):
            name, _, directive = match[2].partition(" # ")
            if match[1]:
                failures.append(name + (f" ({directive})" if directive else ""))
            elif directive.upper().startswith("SKIP"):
                skips.append(f"{name}: {directive[4:].strip() or 'no reason given'}")
            else:
                passed += 1
    seen = passed + len(failures) + len(skips)
    if plan is None or (plan > 0 and seen != plan):
        failures.append(f"ended after {seen} of {plan if plan is not None else 'unknown'} sub-tests")
    elif test["returncode"] != 0 and not failures:
        failures.append(f"exit status {test['returncode']}")
    return passed, failures, skips


def count(test):
    if re.search(r"^(TAP version|1\.\.\d+|(not )?ok\b)", test.get("stdout", ""), re.M):
        return count_tap(test)
    if test["result"] == "SKIP":
        reason = (test.get("stdout", "").strip().splitlines() or ["no reason given"])[-1]
        return 0, [], [reason]
    if test["result"] == "OK":
        return 1, [], []
    return 0, [test["result"].lower()], []


def main():
    passed = failed = skipped = 0
    try:
        with open(sys.argv[1], encoding="utf-8") as log:
            tests = [json.loads(line) for line in log]
    except OSError as error:
        print(f"no test ran: {error}")
        tests = []
        failed = 1
    for test in tests:
        ok, failures, skips = count(test)
        passed, failed, skipped = passed + ok, failed + len(failures), skipped + len(skips)
        for text in failures:
            print(f"FAILED  {test['name']}: {text}")
        for text in skips:
            print(f"skipped {test['name']}: {text}")
        if failures:
            output = test.get("stdout", "") + "\n" + test.get("stderr", "")
            shown = [line for line in output.splitlines() if line and not line.startswith("ok ")]
            print("\n".join("    " + line for line in shown[-40:]))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


sys.exit(main())
