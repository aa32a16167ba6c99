#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""silx: its own tests of OpenCL that need no pictures from the network and are quick: convolutions,
exact sums, arithmetic of double words, statistics, copies, decompression. Its wheel comes from the
package index.

usage: silx_check.py FOLDER LEAST_SPLIT [alone]      keeps the wheel in FOLDER
    alone: also on the vendor's driver without Tutti
"""

import re
import sys
import tempfile
from pathlib import Path

import package_index
import split_report

VERSION = "3.1.3"
WHEELS = {  # by interpreter: Debian 12's, Debian 13's
    "cp311": "b14c3017bfca1a2b7c3e37d652a3d03e6507050c14aed25683fdf745798b6f40",
    "cp313": "7022d6225387d93bd1a4a71d3ead625dfbee31dc33d6608914c67bc0d1ad2944",
}
TESTS = ["test/test_addition.py", "test/test_array_utils.py", "test/test_convolution.py",
         "test/test_doubleword.py", "test/test_kahan.py", "test/test_stats.py",
         "codec/test/test_bitshuffle_lz4.py"]
# Of the 24 ways in which it convolves (edges, images, where arrays lie): one of each eight.
CHOSEN = "not convolution_data or convolution_data0 or convolution_data8 or convolution_data16"
# So many must pass; others skip where PoCL's images cannot do what they ask for.
LEAST = 34

# A plugin of pytest: the picture that scipy would fetch, and what silx's test runner asks for at once
# though none of these tests needs it.
PLUGIN = """
import sys
import types
import numpy
import scipy.datasets

rows, columns = numpy.mgrid[0:512, 0:512]
scipy.datasets.ascent = lambda: ((rows * rows + columns * 7) % 251).astype(numpy.uint8)
for name in ("h5py", "filelock"):
    sys.modules[name] = types.ModuleType(name)
"""


def check(text):
    passed = re.search(r"(\d+) passed(?:, (\d+) skipped)?", text)
    print(text.strip().splitlines()[-1])
    if not passed or int(passed[1]) < LEAST:
        sys.exit(f"at least {LEAST} must pass:\n{text}")


def main():
    tag = package_index.python_tag()
    wheel = package_index.fetch(
        Path(sys.argv[1]), "silx",
        f"silx-{VERSION}-{tag}-{tag}-manylinux_2_24_x86_64.manylinux_2_28_x86_64.whl",
        package_index.known(WHEELS, tag))
    with tempfile.TemporaryDirectory() as folder:
        package_index.unpack_wheel(wheel, folder)
        Path(folder, "pictures_of_scipy.py").write_text(PLUGIN)
        command = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider",
                   "-p", "pictures_of_scipy", "-k", CHOSEN, f"--rootdir={folder}",
                   *(Path(folder, "silx", "opencl", test) for test in TESTS)]
        # PyOpenCL's cache must not hide builds.
        environment = {"PYTHONPATH": folder, "XDG_CACHE_HOME": str(Path(folder, "cache"))}
        text, entries = split_report.run(command, environment=environment)
        check(text)
        if sys.argv[3:] == ["alone"]:
            check(split_report.run_natively(command, environment=environment))
    kernels = split_report.Kernels()
    kernels.add(entries)
    kernels.check(int(sys.argv[2]))


if __name__ == "__main__":
    main()
