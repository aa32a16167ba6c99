#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mandelbulber2 renders a fractal by OpenCL, without a window: byte for byte the picture that it renders
on the vendor's driver without Tutti.

usage: mandelbulber_check.py MANDELBULBER2 LEAST_SPLIT
"""

import sys
import tempfile
from pathlib import Path

import split_report

SETTINGS = """# Mandelbulber settings file
# version 2.20
# only modified parameters
[main_parameters]
formula_1 2;
image_height 150;
image_width 200;
"""
# Devices of all types, the first of the first platform; all effects.
OPENCL = ("opencl_enabled=1#opencl_platform=0#opencl_device_type=1#opencl_mode=3"
          "#opencl_disable_build_cache=1")


def main():
    program, least = sys.argv[1], int(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        settings = Path(folder, "bulb.fract")
        settings.write_text(SETTINGS)
        pictures = {name: Path(folder, f"{name}.png") for name in ("together", "alone", "cpu")}

        def command(name, override):
            return [program, "--nogui", "-C", "-f", "png", "-o", pictures[name].with_suffix(""),
                    "-O", override, settings]

        # Its settings and what it remembers of programs stand in its home.
        environment = {"HOME": folder, "QT_QPA_PLATFORM": "offscreen"}
        text, entries = split_report.run(command("together", OPENCL), environment=environment)
        split_report.run_natively(command("alone", OPENCL), environment=environment)
        split_report.run_natively(command("cpu", "opencl_enabled=0"), environment=environment)
        if not pictures["together"].exists():
            sys.exit(f"no picture was rendered:\n{text}")
        together, alone, cpu = (pictures[name].read_bytes() for name in ("together", "alone", "cpu"))
    if together != alone:
        sys.exit("not the picture that the vendor's driver renders without Tutti")
    if together == cpu:  # its own code rounds otherwise
        sys.exit("the picture is that of its own code, without OpenCL")
    print(f"the picture that is rendered without Tutti, {len(together)} bytes")
    kernels = split_report.Kernels()
    kernels.add(entries)
    kernels.check(least)


if __name__ == "__main__":
    main()
