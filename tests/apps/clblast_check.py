#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CLBlast's own test programs, which compare each routine with a BLAS on the CPU, on the virtual
device: a routine of vectors, reductions, matrices with vectors, copies, solvers.

usage: clblast_check.py LEAST_SPLIT PROGRAM…
"""

import re
import sys

import split_report

RESULT = re.compile(r"^\D*(\d+) test\(s\) (passed|skipped|failed)", re.M)
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def main():
    least_split, programs = int(sys.argv[1]), sys.argv[2:]
    kernels = split_report.Kernels()
    for program in programs:
        text, entries = split_report.run([program])
        text = COLOUR.sub("", text)
        if "(Tutti" not in text:
            sys.exit(f"{program} did not run on Tutti:\n{text}")
        counts = {"passed": 0, "skipped": 0, "failed": 0}
        for number, outcome in RESULT.findall(text):
            counts[outcome] += int(number)
        # Skipped are sizes that the reference BLAS gives no error codes for.
        if counts["failed"] or not counts["passed"]:
            sys.exit(f"{program}: {counts}\n{text}")
        kernels.add(entries)
        print(f"{program}: {counts['passed']} right, {counts['skipped']} skipped")
    kernels.check(least_split)


if __name__ == "__main__":
    main()
