#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs whose buffers are, together, about three times as large as each device's memory.

Each must be right, all its launches divided, and no device may ever have more memory than it has been
told to have. Of what is read by columns devices have panels. What no device can hold in parts is
refused, with an error and nothing else.

usage: streamed.py BENCH APART      (tutti-bench; the library that keeps devices' memory apart)
"""

import json
import os
import subprocess
import sys
import tempfile

# Program, its size, and MiB of memory on each device.
STREAMED = [("saxpy", 1000003, 3), ("mandelbrot", 1003, 1), ("gemm", 1003, 5),
            ("stencil2d", 1536, 3), ("gaussian", 1503, 3), ("spmv", 100003, 3), ("saxpy", 262147, 1)]
# What they merge is in each device's memory, and what they read is not.
MERGED = [("histogram", 2000003, 3), ("scatter", 1000003, 10)]
# Of these each slice reads all of some columns.
PANELS = [("gemm", 1003, 3), ("gemm", 768, 2), ("transpose", 1403, 3), ("transpose", 1024, 2)]
# Its packages are large enough to pass through pinned blocks, which is tried.
STAGED = [("saxpy", 16000003, 64)]
# What is read anywhere has no part.
REFUSED = [("spmv", 1000003, 3)]


def run(bench, apart, program, size, memory, summary):
    environment = dict(os.environ, LD_PRELOAD=apart, TUTTI_TEST_APART="gpus",
                       TUTTI_MEMORY=str(memory), TUTTI_SUMMARY=summary)
    return subprocess.run([bench, "--platform", "Tutti", "--repeat", "2", "--size", str(size),
                           "--json", program], env=environment, capture_output=True, text=True,
                          check=False)


def problems_of(done, memory, summary, staged, panels):
    if done.returncode != 0:
        return [f"ends with {done.returncode}: {done.stdout} {done.stderr}"]
    with open(summary, encoding="utf-8") as file:
        seen = json.load(file)
    problems = []
    if seen["total"]["whole"] or not seen["total"]["split"]:
        problems.append(f"{seen['total']['whole']} launches whole, {seen['total']['split']} split")
    if not any(kernel["streamed"] for kernel in seen["kernels"]):
        problems.append("nothing was streamed")
    if panels and not any(kernel["panels"] for kernel in seen["kernels"]):
        problems.append("no panels")
    for device in seen["devices"]:
        if device["memory_peak"] > memory << 20:
            problems.append(f"{device['memory_peak']} bytes on device {device['index']}")
    # One of two may get too little for that.
    for way in ("staged_to_device", "staged_to_host") if staged else ():
        if not any(device[way] for device in seen["devices"]):
            problems.append(f"{way}: nothing on any device")
    return problems


def main():
    bench, apart = sys.argv[1:]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        summary = os.path.join(folder, "summary.json")
        for one in STREAMED + MERGED + STAGED + PANELS:
            program, size, memory = one
            done = run(bench, apart, program, size, memory, summary)
            problems = problems_of(done, memory, summary, one in STAGED, one in PANELS)
            failed += bool(problems)
            print(f"{'FAILED' if problems else 'right':8} {program}: {'; '.join(problems)}", flush=True)
        for program, size, memory in REFUSED:
            done = run(bench, apart, program, size, memory, summary)
            told = done.returncode == 2 and "CL_MEM_OBJECT_ALLOCATION_FAILURE" in done.stderr
            failed += not told
            print(f"{'refused' if told else 'FAILED':8} {program}: "
                  f"{'' if told else done.stdout + done.stderr}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
