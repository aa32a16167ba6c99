#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pyVkFFT: a part of its systematic accuracy tests, which compare transforms of many lengths with
numpy's. Its source archive comes from the package index, and its library is compiled.

usage: pyvkfft_check.py FOLDER LEAST_SPLIT [alone]      keeps the archive and the library in FOLDER
    alone: also on the vendor's driver without Tutti
"""

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from pathlib import Path

import package_index
import split_report

VERSION = "2025.1.1"
ARCHIVE = f"pyvkfft-{VERSION}.tar.gz"
SHA256 = "359648e089cac0e3c82fc685dc7b8a9e1a249b338dcd7c94677d68207c9842bb"
LEAST = 27  # shapes, each there and back

# It looks for GPUs, unless it finds that it has a device already.
CHILD = """
import sys
import unittest
import numpy
import pyopencl
from pyvkfft import accuracy
from pyvkfft.test import TestFFTSystematic

context = pyopencl.Context(pyopencl.get_platforms()[0].get_devices())
accuracy.gpu_ctx_dic["pyopencl"] = (context.devices[0], context, pyopencl.CommandQueue(context), True)
# The lengths of each have factors for which it has radix kernels, and such for which it has not.
parts = [{"ndim": 1, "range": (2, 17)}, {"ndim": 2, "range": (98, 100), "inplace": True},
         {"ndim": 1, "range": (120, 124), "r2c": True}, {"ndim": 1, "range": (2, 8), "dtype": numpy.float64}]
count = 0
for part in parts:
    tests = type("Part", (TestFFTSystematic,), {"serial": True, "verbose": False, "vbackend": ["pyopencl"], **part})
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(tests)
    if not unittest.TextTestRunner().run(suite).wasSuccessful():
        sys.exit(1)
    count += tests.nb_test
print("shapes:", count)
"""


def unpack(archive, folder):
    """The package, without its examples; returns the folder of the sources."""
    with tarfile.open(archive) as tar:
        stem = ARCHIVE.removesuffix(".tar.gz")
        tar.extractall(folder, [member for member in tar.getmembers()
                                if member.name.startswith((f"{stem}/pyvkfft/", f"{stem}/src/"))])
    return Path(folder, stem)


def library(sources, kept):
    """Its library, compiled once. It makes plans and kernels' sources; nothing in it is long."""
    target = kept / f"pyvkfft-{VERSION}{sysconfig.get_config_var('EXT_SUFFIX')}"
    if not target.exists():
        # Several of these checks may run at once.
        part = target.with_suffix(f".{os.getpid()}")
        subprocess.run(["g++", "-O0", "-w", "-shared", "-fPIC", "-DVKFFT_BACKEND=3",
                        "-DCL_TARGET_OPENCL_VERSION=300", f"-I{sources / 'src'}",
                        f"-I{sources / 'src' / 'VkFFT' / 'vkFFT'}",
                        sources / "src" / "vkfft_opencl.cpp", "-o", part, "-lOpenCL"],
                       check=True, stdin=subprocess.DEVNULL)
        part.replace(target)
    return target


def check(text):
    count = int(re.search(r"^shapes: (\d+)$", text, re.MULTILINE)[1])
    print(f"transforms of {count} shapes are as numpy's")
    if count < LEAST:
        sys.exit(f"at least {LEAST} must be:\n{text}")


def main():
    kept = Path(sys.argv[1])
    archive = package_index.fetch(kept, "pyvkfft", ARCHIVE, SHA256)
    with tempfile.TemporaryDirectory() as folder:
        sources = unpack(archive, folder)
        target = sources / "pyvkfft" / f"_vkfft_opencl{sysconfig.get_config_var('EXT_SUFFIX')}"
        target.symlink_to(library(sources, kept).resolve())
        # It asks psutil how many processes it may start, which is not asked for here.
        (sources / "psutil.py").touch()
        command = [sys.executable, "-B", "-W", "ignore", "-c", CHILD]
        environment = {"PYTHONPATH": str(sources), "XDG_CACHE_HOME": folder}
        text, entries = split_report.run(command, environment=environment)
        check(text)
        if sys.argv[3:] == ["alone"]:
            check(split_report.run_natively(command, environment=environment))
    kernels = split_report.Kernels()
    kernels.add(entries)
    kernels.check(int(sys.argv[2]))


if __name__ == "__main__":
    main()
