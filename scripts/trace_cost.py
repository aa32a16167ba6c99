#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What TUTTI_TRACE, or with --record TUTTI_RECORD, costs: the same program with and without it, in
turns, on two PoCL devices.

usage: trace_cost.py [--record] BUILD [ROUNDS]      the program's kernels last about a millisecond

Prints the ratio of the medians of launch + finish, and of the processor time of the whole process.
Want a quiet machine: what is looked for is less than 1 %.
"""

import json
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile


def run(bench, environment, size, variable, value):
    if variable == "TUTTI_RECORD":  # a record that is there already is not written again
        shutil.rmtree(value, ignore_errors=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = subprocess.run(
        [bench, "--json", "--platform", "Tutti", "--size", str(size), "--repeat", "400", "groupsum"],
        check=True, stdout=subprocess.PIPE, text=True, env={**environment, variable: value}).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(output)["results"][0], cpu


def main():
    arguments = sys.argv[1:]
    variable = "TUTTI_TRACE"
    if arguments[:1] == ["--record"]:
        variable = "TUTTI_RECORD"
        arguments.pop(0)
    if not arguments or arguments[0].startswith("-"):
        sys.exit(__doc__)
    build = pathlib.Path(arguments[0]).resolve()
    rounds = int(arguments[1]) if len(arguments) > 1 else 15
    bench = str(build / "bin/tutti-bench")
    environment = dict(os.environ, OCL_ICD_VENDORS=str(build / "etc/OpenCL/vendors"),
                       TUTTI_VENDORS="/etc/OpenCL/vendors/pocl.icd", POCL_DEVICES="basic basic")
    with tempfile.TemporaryDirectory() as folder:
        written = os.path.join(folder, "written")
        for balancer in ("sigmoid", "single"):
            environment["TUTTI_BALANCER"] = balancer
            size = 250_000
            run(bench, environment, size, variable, "")  # builds the kernel
            times, cpus = {"": [], written: []}, {"": [], written: []}
            for _ in range(rounds):
                for which in times:
                    result, cpu = run(bench, environment, size, variable, which)
                    times[which].append(find_median(result))
                    cpus[which].append(cpu)
            off, on = (statistics.median(times[which]) for which in times)
            cpu_off, cpu_on = (statistics.median(cpus[which]) for which in cpus)
            print(f"{balancer}: launch + finish {off:.4g} ms without, {on:.4g} ms with: "
                  f"{100 * (on / off - 1):+.2f} %; processor time {100 * (cpu_on / cpu_off - 1):+.2f} %")


def find_median(result):
    return result["kernel_ms"]["median"]


if __name__ == "__main__":
    main()
