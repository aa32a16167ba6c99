#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/never-slower in small: its verdicts, exit status, table and JSON, on limits that nothing and
that everything exceeds; and its arithmetic, on figures that are known.
usage: never_slower_check.py BENCH_FOLDER TUTTI_BENCH TUTTI"""

import json
import math
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
from statistics import median

KERNELS = {"mandelbrot": 67, "saxpy": 1003}
ROUNDS = 2


def expect(condition, message):
    if not condition:
        sys.exit(f"FAILED: {message}")


def check_arithmetic(folder):
    sys.path.insert(0, folder)
    from comparison import runs, slower

    # An interrupt ends it, and what was measured counts.
    seen = []

    def measure(kernel):
        if kernel == "b":
            os.kill(os.getpid(), signal.SIGTERM)
        seen.append(kernel)

    expect(runs.measure_each(["a"], measure) is None, "all measured")
    expect(runs.measure_each(["c", "b", "d"], measure) == "Interrupted: 1 of 3 were measured." and
           seen == ["a", "c"], f"interrupted behind {seen}")
    signal.signal(signal.SIGTERM, signal.SIG_DFL)

    # The first entry is the second launch of the process.
    times = slower.settled({"total_ms": {"all": [90, 3, 1, 2]}, "kernel_ms": {"all": [7]}})
    expect((times.total_ms, times.kernel_ms) == (2, 7), f"settled times {times}")
    # By the binomial distribution: 6 values, and the extremes of 9 cut off, hold 95 %; 10 hold 99.8.
    none = (-math.inf, math.inf)
    for count, interval, sure in ((1, none, none), (5, none, none), (6, (0, 5), none),
                                  (9, (1, 7), none), (10, (1, 8), (0, 9)), (15, (3, 11), (1, 13))):
        values = list(range(count))
        expect(slower.bounds(values) == interval, f"bounds of {count}: {slower.bounds(values)}")
        expect(slower.bounds(values, 0.002) == sure, f"{count}: {slower.bounds(values, 0.002)}")

    def verdict(totals, kernels):
        one = slower.Comparison(totals, kernels)
        return one.verdict(1.03), one.open(1.03)

    expect(verdict([], [])[0] is None, "a verdict without a round")
    expect(verdict([1.0] * 6, [0.9] * 6) == ("fine", False), "all below")
    expect(verdict([1.0] * 6, [1.2] * 6) == ("slower", False), "one kind of times above")
    expect(verdict([1.2], [1.2]) == ("not told", True), "one round says nothing for certain")
    expect(verdict([0.9, 0.9, 1.2, 1.2, 1.2], [1] * 5) == ("not told", True), "above in the middle")
    expect(verdict([0.9, 0.9, 0.9, 1.2, 1.2], [1] * 5) == ("fine", True), "below in the middle")
    best, mine = slower.Times(2.0, 1.0), slower.Times(3.0, 0.5)
    one = slower.Comparison()
    one.add(mine, best)
    expect((one.total_ms, one.kernel_ms) == ([1.5], [0.5]), f"ratios {one}")


def main():
    bench_folder, bench, tutti = sys.argv[1:]
    check_arithmetic(bench_folder)
    check = [sys.executable, "-B", f"{bench_folder}/never-slower", "--bench", bench, "--tutti", tutti]
    small = [*check, "--kernels", ",".join(f"{name}:{size}" for name, size in KERNELS.items()),
             "--rounds", str(ROUNDS), "--most-rounds", str(ROUNDS), "--launches", "3"]

    def run(*arguments):
        return subprocess.run(arguments, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              check=False)

    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out"
        process = run(*small, "--limit", "1e9", "--out", str(out))
        expect(process.returncode == 0 and process.stderr == "",
               f"status {process.returncode} with a limit that nothing exceeds\n{process.stdout}"
               f"{process.stderr}")
        expect((out / "never-slower.txt").read_text() == process.stdout, "the table in the file")
        result = json.loads((out / "never-slower.json").read_text())
        expect([one["program"] for one in result["programs"]] == list(KERNELS), "the programs")
        expect(len(result["devices"]) == 2, f"{result['devices']}")
        for one in result["programs"]:
            expect(one["verdict"] == "not slower", f"{one}")
            # Both devices are alike: the first one stands for them.
            expect(list(one["ratios"]) == ["on 0", "on all"] and one["best_device"] == 0, f"{one}")
            for ratios in one["ratios"].values():
                for values in ratios.values():
                    expect(len(values) == ROUNDS and min(values) > 0, f"{one}")
                    expect(f"{median(values):.3f}" in process.stdout, "a ratio is not in the table")

    process = run(*small, "--limit", "0")
    expect(process.returncode == 1 and process.stdout.count("not for certain, on 0, on all") == len(KERNELS),
           f"a limit that everything exceeds\n{process.stdout}")
    process = run(*small, "--limit", "0", "--known", "saxpy")
    expect(process.returncode == 1 and process.stdout.count("not for certain, on 0, on all") == 1 and
           process.stdout.count("slower, as known") == 1, f"one that is known\n{process.stdout}")
    process = run(*small, "--limit", "1e9", "--known", "saxpy")
    expect(process.returncode == 1 and "NOT SLOWER any more" in process.stdout,
           f"a known one that is not slower\n{process.stdout}")
    for wrong, says in ((["--kernels", "nosuch"], "no benchmark nosuch"),
                        (["--kernels", "saxpy", "--known", "gemm"], "gemm is not measured"),
                        (["--rounds", "9", "--most-rounds", "3"], "--rounds")):
        process = run(*check, *wrong)
        expect(process.returncode == 2 and says in process.stderr,
               f"{wrong}: {process.returncode} {process.stderr}")
    print("bench/never-slower: verdicts, table and JSON agree")


if __name__ == "__main__":
    main()
