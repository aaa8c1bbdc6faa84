#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Decodes the ISO conformance streams (Rec. ITU-T T.803) and measures each component.

cases.tsv names, for each stream, the resolution levels to discard, a component, its reference and
the greatest error allowed, peak and mean square. Each row counts once at each number of threads.
"""
import os

from cj2ktest import Folder, Tap, decode, read_pgx, shared_folder, skip_all

THREADS = tuple(int(n) for n in os.environ.get("CJ2K_TEST_THREADS", "1,2,7").split(","))


def read_cases(folder):
    """The rows of cases.tsv by (stream, levels to discard): one run of the tool decodes all components."""
    cases = {}
    with open(os.path.join(folder, "cases.tsv"), encoding="utf-8") as file:
        for line in file:
            if not line.startswith("#") and line.strip():
                stream, discard, component, reference, peak, mse = line.split("\t")
                cases.setdefault((stream, discard), []).append(
                    (int(component), reference, float(peak), float(mse)))
    return cases


def judge(path, reference, max_peak, max_mse):
    """None if the component is within the permitted error, else what is wrong with it."""
    ours, theirs = read_pgx(path), read_pgx(reference)
    if ours.shape != theirs.shape:
        return f"size {ours.shape[::-1]}, not {theirs.shape[::-1]}"
    error = ours - theirs
    peak, mse = int(abs(error).max()), float((error * error).mean())
    if peak <= max_peak and mse <= max_mse + 1e-9:
        return None
    return f"peak {peak} (at most {max_peak:g}), mse {mse:.4f} (at most {max_mse:g})"


def main():
    folder = shared_folder("conformance") or skip_all("no conformance streams; CJ2K_SHARED names their folder")
    tap = Tap()
    for (stream, discard), rows in read_cases(folder).items():
        for threads in THREADS:
            with Folder() as work:
                run = decode(os.path.join(folder, stream), f"{work}/out.pgx",
                             "--reduce", discard, "--threads", str(threads))
                for component, reference, peak, mse in rows:
                    name = f"{stream} reduce {discard} component {component} threads {threads}"
                    try:
                        why = str(run) if run.status else judge(
                            f"{work}/out_{component}.pgx", f"{folder}/references/{reference}", peak, mse)
                    except (OSError, ValueError) as error:
                        why = str(error)
                    tap.ok(why is None, name, why)
    tap.done()


main()
