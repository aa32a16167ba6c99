#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyOpenCL's own tests on the virtual device. Debian packages the library without them, so they come
from the source archive of the same version, from the package index that pip uses.

usage: pyopencl_suite_check.py FOLDER      keeps the archive there
"""

import importlib.metadata
import sys
import tarfile
import tempfile
import xml.etree.ElementTree
from pathlib import Path

import package_index
import split_report

# The versions that the releases of Debian have: their archives' SHA-256, and how many tests must pass
# at least of those that are selected below.
ARCHIVES = {
    "2022.3.1": ("4a3db0fe61b5cdc95267526deebd71a7e1d795694d4b0fe2761f0630bcca3621", 79),
    "2025.1": ("0116736d7f7920f87b8db4b66a03f27b1d930d2e37ddd14518407cc22dd24779", 74),
}
VERSION = importlib.metadata.version("pyopencl")
ARCHIVE = f"pyopencl-{VERSION}.tar.gz"

# What is quick of each file: the others make hundreds of kernels of one kind, which takes PoCL minutes.
SELECTION = {
    "test_wrapper.py": [""],
    "test_enqueue_copy.py": [""],
    "test_arrays_in_structs.py": [""],
    "test_clrandom.py": [""],
    "test_algorithm.py": [
        "test_elwise_kernel", "test_elwise_kernel_with_options", "test_ranged_elwise_kernel",
        "test_arange", "test_reverse", "test_if_positive", "test_take_put", "test_astype",
        "test_sum_without_data", "test_reduction_not_first_argument", "test_struct_reduce",
        "test_list_builder"],
    "test_clmath.py": [
        "test_ldexp", "test_modf", "test_frexp", "test_outoforderqueue_clmath"],
}

# With what words its tests may leave themselves out, and why.
MAY_SKIP = {
    "device does not support": "shared virtual memory: Tutti has none yet",
    "SPIR-V program creation": "Tutti takes no SPIR-V, nor does PoCL",
    "required image format": "CL_RG, which is optional, and which PoCL has not",
    "AMD-specific test": "copies that only AMD's own platform has",
}
LEAST_SPLIT = 20


def fetch(folder):
    """The archive's path."""
    if VERSION not in ARCHIVES:
        sys.exit(f"PyOpenCL {VERSION} is installed; known are the archives of {', '.join(ARCHIVES)}")
    return package_index.fetch(folder, "pyopencl", ARCHIVE, ARCHIVES[VERSION][0])


def unpack(archive, folder):
    with tarfile.open(archive) as tar:
        stem = ARCHIVE.removesuffix(".tar.gz")
        for member in tar.getmembers():
            if member.isfile() and member.name.startswith(f"{stem}/test/"):
                (folder / Path(member.name).name).write_bytes(tar.extractfile(member).read())


def check(report):
    """pytest's report: nothing failed, and nothing was left out that we do not know of."""
    passed, wrong = 0, []
    for case in xml.etree.ElementTree.parse(report).getroot().iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            wrong.append(f"failed: {name}")
        elif skipped is None:
            passed += 1
        elif not skipped.get("message", "").startswith(tuple(MAY_SKIP)):
            wrong.append(f"skipped: {name}: {skipped.get('message')}")
    print(f"{passed} passed")
    _, least = ARCHIVES[VERSION]
    if wrong or passed < least:
        sys.exit("\n".join([*wrong, f"{passed} passed, at least {least} must"]))


def main():
    archive = fetch(Path(sys.argv[1]))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        unpack(archive, folder)
        report = folder / "report.xml"
        chosen = [str(folder / file) + (f"::{test}" if test else "")
                  for file, tests in SELECTION.items() for test in tests]
        # 1: tests failed, which the report tells of. PyOpenCL's cache must not hide builds.
        text, entries = split_report.run(
            [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider",
             f"--rootdir={folder}", f"--junitxml={report}", *chosen],
            accepted=(0, 1), environment={"XDG_CACHE_HOME": str(folder / "cache")})
        print(text.strip())
        check(report)
    kernels = split_report.Kernels()
    kernels.add(entries)
    kernels.check(LEAST_SPLIT)


if __name__ == "__main__":
    main()
