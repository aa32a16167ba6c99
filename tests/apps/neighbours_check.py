#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program beside another one that keeps the first of two equal devices busy: its whole launches
go to the second, unless it is told not to look. So it is on the board of the user and on the
machine's, where other users can see no more than that.

usage: neighbours_check.py TUTTI BENCH
"""

import json
import pathlib
import stat
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


def check_shown(board, bench, program):
    """What all users may read tells the device, not what computes on it."""
    file, = [file for file in board.iterdir() if file.name.startswith(f"{bench.pid}-")]
    content = file.read_bytes()
    expect(stat.S_IMODE(file.stat().st_mode) == 0o644, file)
    for secret in ("mandelbrot", pathlib.Path(program).name):
        expect(secret.encode() not in content, f"{secret} is shown to everybody")


def main():
    tutti, program = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        board = folder / "board"
        board.mkdir()
        board.chmod(0o1777)
        for where in ("user", str(board)):
            around = dict(environment(folder), TUTTI_NEIGHBOURS="on", TUTTI_BOARD=where)
            _, planned = share_of_first(program, around, folder)
            expect(planned == 0, "nobody else is there")
            with Bench(program, dict(around, TUTTI_DEVICES="0")) as bench:
                until_busy(tutti, around, bench)
                beside, planned = share_of_first(program, around, folder)
                expect(beside < MOST_ON_FIRST, "launches went to the busy device")
                expect(planned > 0, "it is not told")
                if where == "user":
                    expect(not list(board.iterdir()), "all users are told")
                    _, planned = share_of_first(program, dict(around, TUTTI_NEIGHBOURS="off"),
                                                folder)
                    expect(planned == 0, "who does not look does not know")
                else:
                    check_shown(board, bench, program)
                expect(bench.poll() is None, "the other program has ended")
        left, = board.iterdir()  # by the program, which was killed
        # Whoever begins removes it, also where nobody is looked at.
        subprocess.run([program, "--platform", "Tutti", "--size", "301", "groupsum"], check=True,
                       stdout=subprocess.DEVNULL, env=around)
        expect(not left.exists(), "what a crash has left stays")


if __name__ == "__main__":
    main()
