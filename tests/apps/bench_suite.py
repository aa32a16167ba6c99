#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every tutti-bench kernel once and checks its results and what Tutti's summary says of it.

The environment chooses the devices and the balancer (cmake/TuttiTesting.cmake). tutti-bench itself
compares every element with a CPU reference and exits non-zero when one is wrong.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

# Kernel -> problem sizes. None is a multiple of a work-group's size.
SIZES = {
    "mandelbrot": {"tiny": 67, "small": 203, "large": 1003},
    "nbody": {"tiny": 131, "small": 1031, "large": 6007},
    "gemm": {"tiny": 35, "small": 131, "large": 515},
    "histogram": {"tiny": 1003, "small": 50021, "large": 1000003},
    "spmv": {"tiny": 211, "small": 5003, "large": 500009},
    "scatter": {"tiny": 1003, "small": 50021, "large": 1000003},
    "gridstride": {"tiny": 1003, "small": 50021, "large": 1000003},
    "groupsum": {"tiny": 2049, "small": 100003, "large": 4000037},
}
# Those whose writes Tutti can place; the others must stay whole.
SPLITTABLE = {"mandelbrot", "nbody", "gemm", "spmv", "groupsum"}


class Failure(Exception):
    pass


def expect(condition, message):
    if not condition:
        raise Failure(message)


def run_bench(bench, kernel, size, repeat, summary):
    """Runs one kernel; returns tutti-bench's result and the text on stderr."""
    command = [bench, "--json", "--platform", "Tutti", "--repeat", str(repeat)]
    if size:
        command += ["--size", str(size)]
    process = subprocess.run(command + [kernel], text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, env=dict(os.environ, TUTTI_SUMMARY=summary))
    expect(process.returncode == 0,
           f"tutti-bench ended with {process.returncode}\n{process.stdout}{process.stderr}")
    report = json.loads(process.stdout)
    expect(report["correct"] is True, f"not correct: {process.stdout}")
    expect(len(report["results"]) == 1 and report["results"][0]["kernel"] == kernel,
           f"not the result of {kernel}: {process.stdout}")
    expect(report["results"][0]["checked"] > 0, "nothing was checked")
    return report["results"][0], process.stderr


def read_summary(file, kernel):
    """The summary's entry for the kernel; it must have been launched."""
    summary = json.loads(pathlib.Path(file).read_text())
    entries = [entry for entry in summary["kernels"] if entry["name"] == kernel]
    expect(len(entries) == 1, f"{len(entries)} entries for {kernel} in {summary}")
    expect(entries[0]["launches"] > 0, f"no launch in {entries[0]}")
    return entries[0]


def check_packages(entry):
    """The packages of the last split launch tile its slices: no gap, no overlap.

    Returns the devices that computed it; for a kernel that was never split, the one device.
    """
    if entry["split"] == 0:
        expect(entry["mode"] == "whole", f"never split, yet mode {entry['mode']}: {entry}")
        return {entry["device"]}
    packages = sorted(entry["last"]["packages"], key=lambda package: package["first"])
    next_slice = 0
    for package in packages:
        expect(package["count"] > 0, f"an empty package in {entry}")
        expect(package["first"] == next_slice, f"gap or overlap at slice {next_slice} in {entry}")
        next_slice += package["count"]
    slices = entry["last"]["global_size"][entry["dimension"]] // entry["last"]["slice_size"]
    expect(next_slice == slices, f"{next_slice} of {slices} slices in {entry}")
    return {package["device"] for package in packages}


def check_split(entry, kernel, devices, least_devices):
    if kernel in SPLITTABLE:
        expect(entry["split"] > 0, f"never split: {entry}")
        expect(entry["mode"] == "disjoint", f"mode {entry['mode']}: {entry}")
        expect(len(devices) >= least_devices, f"packages on {len(devices)} devices: {entry}")
    else:
        expect(entry["split"] == 0 and entry["mode"] == "whole", f"must not split: {entry}")
        expect(entry["reason"].strip() != "", f"whole without a reason: {entry}")


def describe(entry, devices):
    text = f"{entry['mode']}, {entry['split']} of {entry['launches']} launches split"
    if entry["split"] > 0:
        text += (f", the last in {len(entry['last']['packages'])} packages on {len(devices)} "
                 "devices")
    return f"{text}. {entry['reason']}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bench")
    parser.add_argument("kernels", nargs="*", default=[], help="default: all")
    parser.add_argument("--sizes", choices=("tiny", "small", "large"), default="small")
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--check-split", action="store_true",
                        help="the splittable kernels must be split, the others must run whole")
    parser.add_argument("--least-devices", type=int, default=1,
                        help="how many devices must have computed packages of a split launch; a "
                             "launch of microseconds may be over before the second one wakes up")
    parser.add_argument("--no-oclgrind-errors", action="store_true",
                        help="Oclgrind must not report an invalid access")
    arguments = parser.parse_intermixed_args()

    failures = 0
    for kernel in arguments.kernels or SIZES:
        with tempfile.TemporaryDirectory() as folder:
            summary_file = os.path.join(folder, "summary.json")
            try:
                result, errors = run_bench(arguments.bench, kernel,
                                           SIZES[kernel][arguments.sizes], arguments.repeat,
                                           summary_file)
                entry = read_summary(summary_file, kernel)
                devices = check_packages(entry)
                if arguments.check_split:
                    check_split(entry, kernel, devices, arguments.least_devices)
                if arguments.no_oclgrind_errors:
                    expect("Invalid" not in errors and "Uninitialized" not in errors, errors)
                print(f"{kernel}: right, {result['checked']} elements in "
                      f"{result['kernel_ms']['median']:.3f} ms; "
                      f"{describe(entry, devices)}")
                if errors.strip():
                    print(errors.rstrip())
            except (Failure, OSError, KeyError, TypeError, ValueError) as error:
                failures += 1
                print(f"{kernel}: FAILED: {type(error).__name__}: {error}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
