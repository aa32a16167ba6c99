#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every benchmark of tutti-bench once and checks its results and what Tutti's summary says of it.

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

# Benchmark -> problem sizes, which are no multiples of a work-group's size.
SIZES = {
    "mandelbrot": {"tiny": 67, "small": 203, "large": 1003},
    "nbody": {"tiny": 131, "small": 1031, "large": 6007},
    "gemm": {"tiny": 35, "small": 131, "large": 515},
    "binomial": {"tiny": 2, "small": 61, "large": 1009},
    "gaussian": {"tiny": 37, "small": 203, "large": 1003},
    "taylor": {"tiny": 131, "small": 5003, "large": 200003},
    "ray1": {"tiny": 37, "small": 203, "large": 1003},
    "ray2": {"tiny": 19, "small": 131, "large": 403},
    "aho": {"tiny": 1003, "small": 100003, "large": 4000037},
    "bm3d": {"tiny": 27, "small": 83, "large": 403},
    "rap": {"tiny": 67, "small": 2003, "large": 100003},
    "saxpy": {"tiny": 1003, "small": 50021, "large": 8000009},
    "histogram": {"tiny": 1003, "small": 50021, "large": 1000003},
    "spmv": {"tiny": 211, "small": 5003, "large": 500009},
    "scatter": {"tiny": 1003, "small": 50021, "large": 1000003},
    "gridstride": {"tiny": 1003, "small": 50021, "large": 1000003},
    "groupsum": {"tiny": 2049, "small": 100003, "large": 4000037},
    "transpose": {"tiny": 53, "small": 331, "large": 3001},
    "stencil2d": {"tiny": 37, "small": 331, "large": 2003},
    "bfs": {"tiny": 211, "small": 5003, "large": 300007},
    "scan": {"tiny": 1003, "small": 50021, "large": 4000037},
    "sort": {"tiny": 1003, "small": 20011, "large": 300007},
    "worklist": {"tiny": 131, "small": 2003, "large": 60013},
    "torus": {"tiny": 37, "small": 203, "large": 1003},
    "sweeps": {"tiny": 48, "small": 208, "large": 1008},  # of others columns are compared
    "feedback": {"tiny": 2049, "small": 50021, "large": 2000003},
    "halves": {"tiny": 1003, "small": 20011, "large": 200003},
    "opposite": {"tiny": 1003, "small": 20011, "large": 1000003},
    "frames": {"tiny": 1003, "small": 20011, "large": 500009},
}
# Benchmark -> its kernels and the mode of each, "whole" where it must not be split. The
# first kernel does most of the work. Where splitting is forced, every kernel must be split unless
# its mode is "whole"; where Tutti decides, the first one of a benchmark that is not SHORT only, and the
# others may be.
MODES = {
    "mandelbrot": {"mandelbrot": "disjoint"},
    "nbody": {"nbody": "disjoint"},
    "gemm": {"gemm": "disjoint"},
    "binomial": {"binomial": "disjoint"},
    "gaussian": {"gaussian": "disjoint"},
    "taylor": {"taylor": "disjoint"},
    "ray1": {"ray": "disjoint"},
    "ray2": {"ray": "disjoint"},
    "aho": {"aho": "disjoint"},
    "bm3d": {"bm3d": "disjoint"},
    "rap": {"rap": "disjoint"},
    "saxpy": {"saxpy": "disjoint"},
    "histogram": {"histogram": "atomic"},
    "spmv": {"spmv": "disjoint"},
    "scatter": {"scatter": "diff"},
    "gridstride": {"gridstride": "disjoint"},
    "groupsum": {"groupsum": "disjoint"},
    "transpose": {"transpose": "disjoint"},
    "stencil2d": {"stencil2d": "disjoint"},
    "bfs": {"bfs_expand": "diff", "bfs_advance": "diff", "bfs_start": "disjoint"},
    "scan": {"scan_blocks": "disjoint", "scan_sums": "whole", "scan_add": "disjoint"},
    "sort": {"sort_step": "diff", "sort_spans": "disjoint", "sort_finish": "disjoint"},
    "worklist": {"worklist": "whole"},
    "torus": {"torus": "disjoint"},
    "sweeps": {"sweep_columns": "disjoint", "sweep_rows": "disjoint"},
    "feedback": {"feedback_use": "disjoint", "feedback_sum": "disjoint"},
    "halves": {"halves": "disjoint"},
    "opposite": {"opposite": "disjoint"},
    "frames": {"frames_map": "disjoint", "frames_smooth": "disjoint"},
}

# Split in the same way as others above: they need not run in every configuration.
ALIKE = {"binomial", "gaussian", "taylor", "ray1", "ray2", "aho", "bm3d", "rap", "saxpy", "torus",
         "feedback", "halves", "opposite", "frames"}

# Launches of about a millisecond, which are split only where the machine's costs allow that: they must
# be split where that is forced.
SHORT = {"saxpy", "histogram", "scatter", "bfs", "halves"}

# Seconds: a shorter launch may be over before a busy machine has woken the second device's thread.
LONG_ENOUGH = 0.01


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


def read_summary(file, benchmark):
    """The summary's entries for the benchmark's kernels; all must have been launched."""
    kernels = json.loads(pathlib.Path(file).read_text())["kernels"]
    entries = {entry["name"]: entry for entry in kernels}
    expect(len(entries) == len(kernels) and entries.keys() == MODES[benchmark].keys(),
           f"{[entry['name'] for entry in kernels]} instead of {list(MODES[benchmark])}")
    for entry in kernels:
        expect(entry["launches"] > 0, f"no launch in {entry}")
    return [entries[name] for name in MODES[benchmark]]


def check_packages(entry):
    """The packages of the last split launch tile its slices: no gap, no overlap.

    Returns the devices that computed it; for a kernel that was never split, the one device.
    """
    if entry["split"] == 0:
        expect(entry["mode"] == "whole", f"never split, yet mode {entry['mode']}: {entry}")
        return {whole["device"] for whole in entry["whole"]}
    packages = sorted(entry["last"]["packages"], key=lambda package: package["first"])
    next_slice = 0
    for package in packages:
        expect(package["count"] > 0, f"an empty package in {entry}")
        expect(package["first"] == next_slice, f"gap or overlap at slice {next_slice} in {entry}")
        next_slice += package["count"]
    slices = entry["last"]["global_size"][entry["dimension"]] // entry["last"]["slice_size"]
    expect(next_slice == slices, f"{next_slice} of {slices} slices in {entry}")
    return {package["device"] for package in packages}


def least_duration(entry):
    """Seconds that one device needs for all as fast as the fastest package was computed: others
    have waited where the machine was needed elsewhere.
    """
    packages = entry["last"]["packages"]
    least = min((p["end_ns"] - p["start_ns"]) / p["count"] for p in packages)
    return least * sum(p["count"] for p in packages) * 1e-9


def check_split(entry, mode, devices, least_devices, must_split):
    if mode == "whole":
        expect(entry["split"] == 0 and entry["mode"] == "whole", f"must not split: {entry}")
    elif must_split:
        expect(entry["split"] > 0, f"never split: {entry}")
        if least_duration(entry) >= LONG_ENOUGH:
            expect(len(devices) >= least_devices, f"packages on {len(devices)} devices: {entry}")
    if entry["split"] > 0:
        expect(entry["mode"] == mode, f"mode {entry['mode']}, not {mode}: {entry}")
    if entry["split"] == 0:
        expect(entry["reason"].strip() != "", f"whole without a reason: {entry}")


def awaits_builds(entry):
    """More launches would pay for its builds, which take long where others use the machine."""
    return entry["split"] == 0 and "building it for other devices" in entry["reason"]


def describe(entry, devices):
    text = f"{entry['mode']}, {entry['split']} of {entry['launches']} launches split"
    if entry["split"] > 0:
        text += (f", the last in {len(entry['last']['packages'])} packages on {len(devices)} "
                 "devices")
    return f"{text}. {entry['reason']}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bench")
    parser.add_argument("kernels", metavar="benchmark", nargs="*", default=[],
                        help="default: all")
    parser.add_argument("--sizes", choices=("tiny", "small", "large"), default="small")
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--check-split", action="store_true",
                        help="kernels must be split or run whole as the table of modes says")
    parser.add_argument("--least-devices", type=int, default=1,
                        help="how many devices must have computed packages of a split launch; a "
                             "launch of microseconds may be over before the second one wakes up")
    parser.add_argument("--without-alike", action="store_true",
                        help="leave out benchmarks that are split in the same way as others")
    parser.add_argument("--no-oclgrind-errors", action="store_true",
                        help="Oclgrind must not report an invalid access")
    arguments = parser.parse_intermixed_args()

    forced = os.environ.get("TUTTI_SPLIT") == "force"
    failures = 0
    everything = [name for name in SIZES if not (arguments.without_alike and name in ALIKE)]
    for kernel in arguments.kernels or everything:
        with tempfile.TemporaryDirectory() as folder:
            summary_file = os.path.join(folder, "summary.json")
            try:
                for more in (1, 8):
                    result, errors = run_bench(arguments.bench, kernel,
                                               SIZES[kernel][arguments.sizes],
                                               more * arguments.repeat, summary_file)
                    entries = read_summary(summary_file, kernel)
                    if not arguments.check_split or not awaits_builds(entries[0]):
                        break
                lines = []
                for number, entry in enumerate(entries):
                    devices = check_packages(entry)
                    name = "" if len(entries) == 1 else f"\n  {entry['name']}: "
                    lines.append(name + describe(entry, devices))
                    if arguments.check_split:
                        check_split(entry, MODES[kernel][entry["name"]], devices,
                                    arguments.least_devices,
                                    forced or (number == 0 and kernel not in SHORT))
                if arguments.no_oclgrind_errors:
                    expect("Invalid" not in errors and "Uninitialized" not in errors, errors)
                print(f"{kernel}: right, {result['checked']} elements in "
                      f"{result['kernel_ms']['median']:.3f} ms; "
                      f"{''.join(lines)}")
                if errors.strip():
                    print(errors.rstrip())
            except (Failure, OSError, KeyError, TypeError, ValueError) as error:
                failures += 1
                print(f"{kernel}: FAILED: {type(error).__name__}: {error}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
