#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyOpenCL's own tests on the virtual device. Debian packages the library without them, so they come
from the source archive of the same version, from the package index that pip uses.

usage: pyopencl_suite_check.py FOLDER [newest]      keeps archive and wheels there
    newest: of the library itself, too, the version that the index has, not Debian's
"""

import importlib.metadata
import sys
import tarfile
import tempfile
import xml.etree.ElementTree
from pathlib import Path

import package_index
import split_report

# The versions that the releases of Debian have, and the newest: their archives' SHA-256, and how many
# tests must pass at least of those that are selected below.
NEWEST = "2026.1.4"
ARCHIVES = {
    "2022.3.1": ("4a3db0fe61b5cdc95267526deebd71a7e1d795694d4b0fe2761f0630bcca3621", 79),
    "2025.1": ("0116736d7f7920f87b8db4b66a03f27b1d930d2e37ddd14518407cc22dd24779", 74),
    NEWEST: ("6cb9544a004609061e86873fe36500da6c2101042e9c7b9c3b804a29a12b98bf", 42),
}
WITH_NEWEST = sys.argv[2:] == ["newest"]
VERSION = NEWEST if WITH_NEWEST else importlib.metadata.version("pyopencl")
ARCHIVE = f"pyopencl-{VERSION}.tar.gz"
# The newest one's wheel and those of what it needs that Debian has not, or older: project: the file's
# name, TAG stands for the interpreter's; its SHA-256, by interpreter (Debian 12's, Debian 13's).
MANYLINUX = "TAG-TAG-manylinux"
WHEELS = {
    "pyopencl": (f"pyopencl-{NEWEST}-{MANYLINUX}_2_27_x86_64.manylinux_2_28_x86_64.whl", {
        "cp311": "31bed2c185b395ace1315afaf14bb60e4ce740ef8e6a74033de64d8984decd87",
        "cp313": "05c2a82281da9bf1b8dd0a223c798cb86e161bda0ed40cb81070a47fe1b25e43"}),
    "siphash24": (f"siphash24-1.9-{MANYLINUX}2014_x86_64.manylinux_2_17_x86_64.manylinux_2_28_x86_64.whl", {
        "cp311": "61eb4ba1cfe4950e89ef0bcaf3588fb554efa5b7ab3f75d17648a0582c204874",
        "cp313": "b5e1320c7bcd7ce69d43e732e0065598e8120c05b58d6cbfb104d971e790f2cf"}),
    "pytools": ("pytools-2026.1.1-py3-none-any.whl",
                "1f6d9a39c871b6dc761893373792f10b67886c83e38f2aa09b66e11f8c021436"),
    "typing-extensions": ("typing_extensions-4.16.0-py3-none-any.whl",
                          "481caa481374e813c1b176ada14e97f1f67a4539ce9cfeb3f350d78d6370c2e8"),
}

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

# Debian's version has passed these: what differs in the newest is its calls, not its kernels.
if WITH_NEWEST:
    SELECTION = {"test_wrapper.py": [""], "test_enqueue_copy.py": [""]}

# Which tests fail, for a reason outside Tutti.
MUST_FAIL = {
    NEWEST: {
        # Of all vendors but PoCL and Intel it asks images for an attribute that PyOpenCL has not.
        "test_get_info",
    },
}

# With what words its tests may leave themselves out, and why.
MAY_SKIP = {
    "device does not support": "a kind of shared virtual memory that PoCL has not",
    "SPIR-V program creation": "PoCL takes no SPIR-V, so that Tutti over it does not",
    "required image format": "CL_RG, which is optional, and which PoCL has not",
    "AMD-specific test": "copies that only AMD's own platform has",
}
LEAST_SPLIT = (20, 5)


def fetch(folder):
    """The archive's path."""
    if VERSION not in ARCHIVES:
        sys.exit(f"PyOpenCL {VERSION} is installed; known are the archives of {', '.join(ARCHIVES)}")
    return package_index.fetch(folder, "pyopencl", ARCHIVE, ARCHIVES[VERSION][0])


def unpack(archive, folder):
    """The tests."""
    with tarfile.open(archive) as tar:
        stem = ARCHIVE.removesuffix(".tar.gz")
        for member in tar.getmembers():
            if member.isfile() and member.name.startswith(f"{stem}/test/"):
                (folder / Path(member.name).name).write_bytes(tar.extractfile(member).read())


def library(kept, folder):
    """The newest version, and what it needs."""
    tag = package_index.python_tag()
    for project, (name, digest) in WHEELS.items():
        if isinstance(digest, dict):
            digest = package_index.known(digest, tag)
        wheel = package_index.fetch(kept, project, name.replace("TAG", tag), digest)
        package_index.unpack_wheel(wheel, folder)


def check(report):
    """pytest's report: nothing failed, and nothing was left out that we do not know of."""
    passed, wrong, failed = 0, [], set()
    for case in xml.etree.ElementTree.parse(report).getroot().iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            failed.add(case.get("name").split("[")[0])
        elif skipped is None:
            passed += 1
        elif not skipped.get("message", "").startswith(tuple(MAY_SKIP)):
            wrong.append(f"skipped: {name}: {skipped.get('message')}")
    expected = MUST_FAIL.get(VERSION, set())
    wrong += [f"failed: {name}" for name in failed - expected]
    wrong += [f"passes, and is said to fail: {name}" for name in expected - failed]
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
        environment = {"XDG_CACHE_HOME": str(folder / "cache")}
        if WITH_NEWEST:
            library(Path(sys.argv[1]), folder / "library")
            environment["PYTHONPATH"] = str(folder / "library")
        # 1: tests failed, which the report tells of. PyOpenCL's cache must not hide builds.
        text, entries = split_report.run(
            [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider",
             f"--rootdir={folder}", f"--junitxml={report}", *chosen],
            accepted=(0, 1), environment=environment)
        print(text.strip())
        check(report)
    kernels = split_report.Kernels()
    kernels.add(entries)
    kernels.check(LEAST_SPLIT[WITH_NEWEST])


if __name__ == "__main__":
    main()
