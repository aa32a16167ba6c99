#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What one run learns of a kernel the next one knows; `tutti model` shows and forgets it.

The environment chooses two devices (cmake/TuttiTesting.cmake).
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile


def run(command, **environment):
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=dict(os.environ, **environment))


def expect(condition, message):
    if not condition:
        sys.exit(f"FAILED: {message}")


def packages(bench, cache, summary):
    """Packages of a run's last launch. Programs are built for further devices once launches have
    foregone enough by it, so there are some."""
    ended = run([bench, "--platform", "Tutti", "--repeat", "12", "--size", "6001", "nbody"],
                TUTTI_CACHE=cache, TUTTI_MODEL="disk", TUTTI_BALANCER="model",
                TUTTI_SUMMARY=str(summary))
    expect(ended.returncode == 0, ended.stdout + ended.stderr)
    entry = json.loads(summary.read_text())["kernels"][0]
    expect(entry["split"] > 0, f"not split: {entry}")
    return ended, len(entry["last"]["packages"])


def main():
    tool, bench = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        cache = str(folder / "cache")
        shown = run([tool, "model", "show", "--json"], TUTTI_CACHE=cache)
        expect(shown.returncode == 0 and json.loads(shown.stdout)["entries"] == [], shown)

        packages(bench, cache, folder / "summary.json")
        shown = run([tool, "model", "show", "--json"], TUTTI_CACHE=cache)
        entries = [entry for entry in json.loads(shown.stdout)["entries"]
                   if entry["name"] == "nbody"]
        expect(entries, f"nothing was remembered: {shown.stdout}")
        expect(all(entry["rate"] > 0 and "units, driver" in entry["device"] for entry in entries),
               entries)
        text = run([tool, "model", "show"], TUTTI_CACHE=cache)
        expect("nbody" in text.stdout, text)

        packages(bench, cache, folder / "summary.json")
        cleared = run([tool, "model", "clear"], TUTTI_CACHE=cache)
        expect(cleared.returncode == 0, cleared)
        shown = run([tool, "model", "show", "--json"], TUTTI_CACHE=cache)
        expect(json.loads(shown.stdout)["entries"] == [], shown)

        # A damaged file is begun anew; where nothing can be written, a warning and right results.
        pathlib.Path(cache, "model.db").write_bytes(b"damaged" * 1000)
        shown = run([tool, "model", "show"], TUTTI_CACHE=cache)
        expect(shown.returncode == 1 and "begins it anew" in shown.stderr, shown)
        packages(bench, cache, folder / "summary.json")
        expect(run([tool, "model", "show"], TUTTI_CACHE=cache).returncode == 0, "not begun anew")
        (folder / "file").write_text("")
        ended, _ = packages(bench, str(folder / "file" / "cache"), folder / "summary.json")
        expect("is not kept" in ended.stderr, ended)
    print("remembered, shown, forgotten")


if __name__ == "__main__":
    main()
