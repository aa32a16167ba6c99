#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ffmpeg's OpenCL filters, which read and write images: byte for byte what the vendor's driver gives
without Tutti.

usage: ffmpeg_check.py FFMPEG PLATFORM     the platform of the driver that TUTTI_VENDORS names
"""

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import split_report

FILTERS = ["avgblur_opencl=sizeX=3", "unsharp_opencl", "sobel_opencl", "erosion_opencl",
           "convolution_opencl=0m=1 1 1 1 1 1 1 1 1:0rdiv=1/9", "transpose_opencl=dir=clock"]


def command(ffmpeg, device, source, name, out):
    return [ffmpeg, "-v", "error", "-y", "-init_hw_device", f"opencl=ocl{device}",
            "-filter_hw_device", "ocl", "-i", source, "-vf",
            f"format=rgba,hwupload,{name},hwdownload,format=rgba", "-f", "rawvideo", out]


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main():
    ffmpeg, platform = sys.argv[1:]
    kernels = split_report.Kernels()
    vendors = {**os.environ, "POCL_DEVICES": "basic",
               "OCL_ICD_VENDORS": str(Path(os.environ["TUTTI_VENDORS"]).parent)}
    with tempfile.TemporaryDirectory() as folder:
        source, alone, together = (Path(folder, name) for name in ("in.y4m", "alone", "together"))
        subprocess.run([ffmpeg, "-v", "error", "-f", "lavfi", "-i", "testsrc=size=321x201:rate=10",
                        "-frames:v", "3", "-pix_fmt", "yuv444p", source], check=True)
        for name in FILTERS:
            text, entries = split_report.run(command(ffmpeg, ":0.0", source, name, together))
            kernels.add(entries)
            subprocess.run(command(ffmpeg, f":,platform_name={platform}", source, name, alone),
                           check=True, env=vendors)
            if digest(alone) != digest(together):
                sys.exit(f"{name}: not what the vendor's driver gives alone\n{text}")
            print(f"{name}: identical, {together.stat().st_size} bytes")
    kernels.check(0)


if __name__ == "__main__":
    main()
