#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""leela-zero: what a small network of random weights makes of some positions, by OpenCL and by
leela-zero's own code for CPUs.

usage: leela_zero_check.py LEELAZ LEAST_SPLIT
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyopencl

import split_report

CHANNELS, BLOCKS, POINTS = 16, 1, 19 * 19
POSITIONS = ["play b D4", "play w Q16", "play b R4"]
# A product of matrices that fits its small network. It would try 290 of them, which takes PoCL minutes.
PRODUCT = ("-DKWG=16 -DKWI=8 -DMDIMA=8 -DMDIMC=8 -DMWG=16 -DNDIMB=8 -DNDIMC=8 -DNWG=32 -DSA=1 -DSB=1 "
           "-DSTRM=0 -DSTRN=0 -DTCE=0 -DVWM=2 -DVWN=4")
# In thousandths: of a move's probability, as printed; in percent: of the chance to win.
TOLERANCE = 1


def network():
    """The text of a file of weights: its version, then lines of convolutions and of dense layers."""
    random = np.random.default_rng(5)
    lines = ["1"]

    def add(*values):
        lines.append(" ".join(f"{value:.5g}" for value in np.concatenate(values, axis=None)))

    def convolution(inputs, outputs, size):
        add(random.normal(0, (inputs * size * size) ** -0.5, outputs * inputs * size * size))
        add(np.zeros(outputs))            # bias
        add(random.normal(0, 0.1, outputs))  # mean
        add(np.ones(outputs))             # variance

    def dense(inputs, outputs, spread):
        add(random.normal(0, spread * inputs**-0.5, inputs * outputs))
        add(np.zeros(outputs))

    convolution(18, CHANNELS, 3)
    for _ in range(2 * BLOCKS):
        convolution(CHANNELS, CHANNELS, 3)
    convolution(CHANNELS, 2, 1)  # moves
    dense(2 * POINTS, POINTS + 1, 3)
    convolution(CHANNELS, 1, 1)  # chance to win
    dense(POINTS, 256, 1)
    dense(256, 1, 1)
    return "\n".join(lines) + "\n"


def tuning():
    """What it keeps of its search for the fastest product: for the device that it will see, at any
    frequency, since that is part of the name and may change."""
    device = pyopencl.get_platforms()[0].get_devices()[0]
    return "".join(f"1;XgemmBatched;{CHANNELS};25;{CHANNELS};36;{PRODUCT};"
                   f"OpenCL: {device.vendor} {device.name} @ {frequency}MHz\n"
                   for frequency in range(10000))


def seen(text):
    """All numbers of the heat maps, and the chances to win."""
    maps = [[int(word) for word in line.split()]
            for line in text.splitlines() if re.fullmatch(r"( *\d+){19} *", line)]
    chances = [float(value) for value in re.findall(r"^winrate: ([0-9.]+)", text, re.MULTILINE)]
    if len(maps) != 19 * len(POSITIONS) or len(chances) != len(POSITIONS):
        sys.exit(f"not what was asked for:\n{text}")
    return np.array(maps), np.array(chances)


def main():
    # Vendors' CPU devices it refuses, and so does Tutti's.
    os.environ["TUTTI_DEVICE_TYPE"] = "gpu"
    with tempfile.TemporaryDirectory() as home:
        weights, games = Path(home, "weights.txt"), Path(home, ".local", "share", "leela-zero")
        weights.write_text(network())
        games.mkdir(parents=True)
        (games / "leelaz_opencl_tuning").write_text(tuning())
        asked = "".join(f"{position}\nheatmap\n" for position in POSITIONS) + "quit\n"
        commands = Path(home, "commands")
        commands.write_text(asked)
        command = [sys.argv[1], "--gtp", "--threads", "1", "--noponder", "--seed", "1", "--weights",
                   weights]

        def words(*more):
            return ["sh", "-c", 'exec "$@" < "$0"', commands, *command, *more]

        text, entries = split_report.run(words("--precision", "single"), environment={"HOME": home})
        if "Loaded existing SGEMM tuning." not in text:
            sys.exit(f"it began to search for the fastest product:\n{text}")
        expected = seen(subprocess.run([str(word) for word in words("--cpu-only")], text=True,
                                       check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                       env={**os.environ, "HOME": home}).stdout)
    found = seen(text)
    for name, is_, right in zip(("probabilities of moves", "chances to win"), found, expected):
        if abs(is_ - right).max() > (TOLERANCE if name.startswith("prob") else TOLERANCE / 100):
            sys.exit(f"{name} differ from its own code's by up to {abs(is_ - right).max()}")
    if found[0].max() == found[0].min():
        sys.exit("all moves are as probable as each other")
    print(f"{len(POSITIONS)} positions: probabilities of moves and chances to win as by its own code")
    kernels = split_report.Kernels()
    kernels.add(entries)
    kernels.check(int(sys.argv[2]))


if __name__ == "__main__":
    main()
