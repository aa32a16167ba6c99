#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A vendor's compiler that crashes in a helper costs its device the program, and nothing else: on two
devices of PoCL behind the faulty vendor, the second one's build crashes. That is remembered, and
so is what was built: no helper builds it again. A crash at a first launch in a helper costs nothing.
From PoCL 6 on equal devices share what one of them has built, and no helper builds at all.

usage: compiler_crashes.py --build BUILD
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile


def run(build, folder, plan, **changes):
    """The scenario's first line, and the driver's log."""
    environment = dict(
        os.environ, OCL_ICD_VENDORS=str(build / "etc/OpenCL/vendors"), OCL_ICD_FILENAMES="",
        TUTTI_CONFIG=str(folder / "empty.toml"), TUTTI_CACHE=str(folder / "cache"),
        TUTTI_MODEL="process", TUTTI_SPLIT="force", TUTTI_TOP="off",
        TUTTI_VENDORS=str(build / "lib/libfaulty-vendor.so"),
        POCL_CACHE_DIR=str(folder / "pocl"), FAULTY_VENDOR_PLAN=plan,
        **{"POCL_DEVICES": "basic basic", "TUTTI_LOG": "warning", **changes})
    ended = subprocess.run(
        [build / "bin/tutti-fault-scenarios", "--faulty", build / "lib/libfaulty-vendor.so", "in-place"],
        env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    first = ended.stdout.partition("\n")[0] or f"status {ended.returncode}"
    print(f"{plan or 'no fault'}: {first}\n{ended.stderr}")
    return first, ended.stderr


def pocl_version():
    """(major, minor) of the driver behind the faulty vendor."""
    driver = os.environ.get("FAULTY_VENDOR", "libpocl.so.2")
    code = ("import ctypes; cl = ctypes.CDLL('libOpenCL.so.1'); platform = ctypes.c_void_p(); "
            "text = ctypes.create_string_buffer(1024); cl.clGetPlatformIDs(1, ctypes.byref(platform), None); "
            "cl.clGetPlatformInfo(platform, 0x0901, 1024, text, None); print(text.value.decode())")
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60,
                           env=dict(os.environ, OCL_ICD_FILENAMES="", OCL_ICD_VENDORS=driver))
    found = re.search(r"(?i)pocl (\d+)\.(\d+)", ended.stdout)
    check(found, f"PoCL tells its version: {ended.stdout}{ended.stderr}")
    return int(found[1]), int(found[2])


def programs(folder):
    """How many programs PoCL has compiled."""
    return len(list((folder / "pocl").rglob("program.bc")))


def check_shared(build, folder, plan):
    for what in ("the first run", "the second run"):
        first, log = run(build, folder, plan, POCL_DEVICES="basic basic basic")
        check(first.startswith("right") and "compiler" not in log, f"{what} is right without helpers")
        check(programs(folder) == 1, f"one of three devices compiles, in {what}: {programs(folder)}")
    check(not (folder / "cache/builds").exists(), "no helper's build is remembered")


def check(right, what):
    if not right:
        sys.exit(f"FAILED: {what}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    build = parser.parse_args().build.resolve()
    with tempfile.TemporaryDirectory(prefix="tutti-crashes-") as name:
        folder = pathlib.Path(name)
        (folder / "empty.toml").write_text("")
        plan = "clBuildProgram:*:1:crash@tutti-builder"

        if pocl_version() >= (6, 0):
            check_shared(build, folder, plan)
            print("ok")
            return

        first, log = run(build, folder, plan)
        check(first.startswith("right"), "the result is right")
        check("its compiler crashed (Segmentation fault)" in log, "the log tells of the crash")
        kept = list((folder / "cache/builds").iterdir())
        check(kept, "the crash is remembered")
        check(all(file.stat().st_mode & 0o077 == 0 for file in kept), "for this user alone")

        first, log = run(build, folder, "")
        check(first.startswith("right"), "the result is right the second time")
        check("remembered" in log, "the log tells that the crash was remembered")

        for file in kept:
            file.unlink()
        first, log = run(build, folder, "")
        check(first.startswith("right") and "compiler" not in log, "without it, all devices build")
        check(programs(folder) == 2, f"each a program of its own: {programs(folder)}")

        kept = list((folder / "cache/builds").iterdir())
        check(kept, "that it was built is remembered")
        first, log = run(build, folder, plan)
        check(first.startswith("right") and "compiler" not in log, "then no helper builds it")

        for file in kept:
            file.unlink()
        # A helper that is of no use is done without.
        first, log = run(build, folder, "clCreateContext:*:1:crash@tutti-builder")
        check(first.startswith("right") and "compiler" not in log, "the device builds by itself")

        # Where its helper crashes at the kernel's first launch, the application goes on without. The
        # second device does not always come to launch: the first one takes what it is slow to take.
        for _ in range(20):
            shutil.rmtree(folder / "cache")
            shutil.rmtree(folder / "pocl")
            first, log = run(build, folder, "clEnqueueNDRangeKernel:*:1:crash@tutti-builder", TUTTI_LOG="info")
            check(first.startswith("right"), "the result is right")
            if "first launches in the application" in log:
                break
        else:
            check(False, "a helper launches")
        log = run(build, folder, "")[1]
        check("compiler" not in log, "that is not remembered")
    print("ok")


if __name__ == "__main__":
    main()
