#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program beside another one that keeps the first of two equal devices busy: its whole launches
go to the second, unless it is told not to look.

usage: neighbours_check.py TUTTI BENCH
"""

import json
import pathlib
import subprocess
import sys
import tempfile

from top_check import Bench, environment, expect, until_busy

REPEAT = 20
# Until both devices are known, and now and then, the first one is tried.
MOST_ON_FIRST = 0.4


def share_of_first(program, around, folder):
    """Of the launches of a program that runs each whole, those on device 0; and how many of all were
    planned around other processes."""
    summary = folder / "summary.json"
    subprocess.run([program, "--platform", "Tutti", "--size", "301", "--repeat", str(REPEAT),
                    "mandelbrot"], check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                   env=dict(around, TUTTI_SPLIT="never", TUTTI_SUMMARY=str(summary)))
    told = json.loads(summary.read_text())
    kernel, = told["kernels"]
    launches = {device["device"]: device["launches"] for device in kernel["whole"]}
    around_others = told["total"]["beside_others"]
    print(f"{kernel['launches']} launches: {launches}, {around_others} planned around others")
    return launches.get(0, 0) / kernel["launches"], around_others


def main():
    tutti, program = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        around = dict(environment(folder), TUTTI_NEIGHBOURS="on")
        _, planned = share_of_first(program, around, folder)
        expect(planned == 0, "nobody else is there")
        with Bench(program, dict(around, TUTTI_DEVICES="0")) as bench:
            until_busy(tutti, around, bench)
            beside, planned = share_of_first(program, around, folder)
            expect(beside < MOST_ON_FIRST, "launches went to the busy device")
            expect(planned > 0, "it is not told")
            _, planned = share_of_first(program, dict(around, TUTTI_NEIGHBOURS="off"), folder)
            expect(planned == 0, "who does not look does not know")
            expect(bench.poll() is None, "the other program has ended")


if __name__ == "__main__":
    main()
