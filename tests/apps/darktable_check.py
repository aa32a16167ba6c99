#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""darktable: builds all its kernels, most of which read and write images, and exports a picture by
them, which must look as that of its own CPU code.

usage: darktable_check.py DARKTABLE_CLI
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import cv2
import numpy

import split_report

# Of 255: its CPU code rounds otherwise.
TOLERANCE = 2


def programs():
    """How many programs darktable has."""
    lines = Path("/usr/share/darktable/kernels/programs.conf").read_text().splitlines()
    return len({line.split()[0] for line in lines if line.strip() and not line.startswith("#")})


def main():
    with tempfile.TemporaryDirectory() as home:
        # Its settings, and what it remembers of devices, stand in its home. It passes over CPU
        # devices and, since version 5, over platforms that the settings do not name: Tutti's, which
        # its profile would give the primary's name.
        environment = {"HOME": home, "XDG_CACHE_HOME": home + "/cache",
                       "XDG_CONFIG_HOME": home + "/config", "TUTTI_DEVICE_TYPE": "gpu",
                       "TUTTI_IDENTITY": "auto"}
        settings = Path(home, "config", "darktable", "darktablerc")
        settings.parent.mkdir(parents=True)
        settings.write_text("clplatform_tutti=TRUE\n")
        rows, columns = numpy.mgrid[0:192, 0:256]
        picture = numpy.dstack([columns, rows, (rows * 7 + columns * 5) % 256]).astype(numpy.uint8)
        cv2.imwrite(f"{home}/in.png", picture)
        command = [sys.argv[1], f"{home}/in.png"]
        text, entries = split_report.run(
            [*command, f"{home}/opencl.png", "--core", "-d", "opencl"], environment=environment)
        subprocess.run([*command, f"{home}/cpu.png", "--core", "--conf", "opencl=FALSE"], check=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       env={**os.environ, **environment})
        # Each program that was built is kept.
        built = len({file.name for file in Path(home, "cache").rglob("*.bin")})
        pictures = [cv2.imread(f"{home}/{name}.png") for name in ("opencl", "cpu")]
    if not re.search(r"\(Tutti", text) or "OpenCL successfully initialized" not in text:
        sys.exit(f"darktable did not take Tutti:\n{text}")
    if built < programs():
        sys.exit(f"of {programs()} programs {built} were built:\n{text}")
    print(f"{built} programs built")
    if any(picture is None for picture in pictures):
        sys.exit(f"no picture was exported:\n{text}")
    apart = int(numpy.abs(pictures[0].astype(int) - pictures[1]).max())
    if apart > TOLERANCE:
        sys.exit(f"the pictures differ by up to {apart} of 255")
    print(f"the pictures differ by at most {apart} of 255")
    kernels = split_report.Kernels()
    kernels.add(entries)
    kernels.check(0)


if __name__ == "__main__":
    main()
