#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/compare in small: its table, JSON and plot, with every figure computed anew from the raw
times; and its reading of a summary, on one whose figures are known.   usage: compare_check.py
BENCH_FOLDER TUTTI_BENCH TUTTI"""

import json
import math
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

KERNELS = {"mandelbrot": 67, "saxpy": 1003, "transpose": 53}
BALANCERS = ["static", "sigmoid"]
REPEAT, LAUNCHES = 2, 2


def expect(condition, message):
    if not condition:
        sys.exit(f"FAILED: {message}")


def expect_near(found, wanted, what):
    expect(found is not None and math.isclose(found, wanted, rel_tol=1e-9),
           f"{what}: {found}, expected {wanted}")


def middle(values):
    values = sorted(values)
    return (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2


def check_kernel(kernel, key):
    name = kernel["kernel"]
    entries = {entry["name"]: entry for entry in kernel["configurations"]}
    expect(list(entries) == ["device 0", "device 1", "tutti static", "tutti sigmoid", "hand split"],
           f"{name}: configurations {list(entries)}")
    expect(kernel["size"] == KERNELS[name], f"{name}: size {kernel['size']}")
    divisible = name != "transpose"
    for entry in entries.values():
        wanted = "right" if divisible or entry["kind"] != "hand" else "not divided"
        expect(entry["status"] == wanted, f"{name}, {entry['name']}: {entry['status']}")
        if wanted != "right":
            expect(entry["median_total_ms"] is None and entry["speedup"] is None,
                   f"{name}: figures of what was not run: {entry}")
            continue
        for times in ("total_ms", "kernel_ms"):
            expect(len(entry[times]) == REPEAT * LAUNCHES and min(entry[times]) > 0,
                   f"{name}, {entry['name']}: {times} {entry[times]}")
            expect_near(entry[f"median_{times}"], middle(entry[times]), f"median {times}")
    alone = [middle(entries[f"device {i}"][key]) for i in (0, 1)]
    ideal = alone[0] * alone[1] / (alone[0] + alone[1])
    expect_near(kernel["best_device_ms"], min(alone), "best device")
    expect_near(kernel["ideal_ms"], ideal, "ideal time")
    expect_near(kernel["largest_speedup"], min(alone) / ideal, "largest speed-up")
    for entry in entries.values():
        if entry["status"] != "right":
            continue
        time = middle(entry[key])
        expect_near(entry["speedup"], min(alone) / time, f"{name}, {entry['name']}: speed-up")
        if entry["kind"] == "device":
            expect(entry["efficiency"] is None, "a device alone has an efficiency")
        else:
            expect_near(entry["efficiency"], ideal / time, f"{name}, {entry['name']}: efficiency")
    for balancer in BALANCERS:
        entry = entries[f"tutti {balancer}"]
        expect(entry["packages"] > 1, f"{name} was not split: {entry}")
        expect(entry["reason"] != "", "no reason")
        expect(entry["balance"] is None or 0 < entry["balance"] <= 1, f"balance {entry['balance']}")


def check_summary(folder):
    sys.path.insert(0, folder)
    from comparison import runs

    def package(device, start, end):
        return {"device": device, "first": 0, "count": 1, "start_ns": start, "end_ns": end}

    short = {"split": 1, "reason": "short", "last": {"packages": [package(0, 0, 1000),
                                                                  package(1, 0, 1000)]}}
    long = {"split": 1, "reason": "long",
            "last": {"packages": [package(0, 500, 3000), package(1, 600, 2500),
                                  package(0, 3000, 4500)]}}
    whole = {"split": 0, "reason": "whole", "last": None}
    expect(runs.main_launch({"kernels": [whole, short, long]}) ==
           {"packages": 3, "balance": 0.5, "reason": "long"}, "a summary's longest launch")
    expect(runs.main_launch({"kernels": [whole]}) ==
           {"packages": 1, "balance": None, "reason": "whole"}, "a summary without a split")


def main():
    bench_folder, bench, tutti = sys.argv[1:]
    check_summary(bench_folder)
    compare = [sys.executable, "-B", f"{bench_folder}/compare", "--bench", bench, "--tutti", tutti]
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out"
        process = subprocess.run(
            [*compare, "--kernels", ",".join(f"{name}:{size}" for name, size in KERNELS.items()),
             "--balancers", ",".join(BALANCERS), "--repeat", str(REPEAT), "--launches",
             str(LAUNCHES), "--no-socl", "--out", str(out)],
            text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        expect(process.returncode == 0, f"status {process.returncode}\n{process.stdout}"
                                        f"{process.stderr}")
        expect(process.stderr == "", f"not quiet in a pipe: {process.stderr}")
        result = json.loads((out / "comparison.json").read_text())
        expect([kernel["kernel"] for kernel in result["kernels"]] == list(KERNELS), "the kernels")
        expect(result["time"] == "total" and len(result["devices"]) == 2, f"{result['devices']}")
        for kernel in result["kernels"]:
            check_kernel(kernel, f"{result['time']}_ms")
        expect((out / "comparison.txt").read_text() == process.stdout, "the table in the file")
        for kernel in result["kernels"]:
            for entry in kernel["configurations"]:
                if entry["status"] == "right":
                    expect(f"{entry['median_total_ms']:.3f}" in process.stdout,
                           f"{kernel['kernel']}, {entry['name']}: not in the table")
        svg = xml.etree.ElementTree.fromstring((out / "comparison.svg").read_text())
        bars = [one for one in svg.iter() if one.get("class") == "bar"]
        expect(len(bars) == 3 + 3 + 2, f"{len(bars)} bars")

    for wrong, says in ((["--kernels", "nosuch"], "no benchmark nosuch"),
                        (["--kernels", "gemm:x"], "not a size"),
                        (["--devices", "7"], "--devices 7")):
        process = subprocess.run([*compare, *wrong], text=True, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, check=False)
        expect(process.returncode == 2 and says in process.stderr,
               f"{wrong}: {process.returncode} {process.stderr}")
    print("bench/compare: all figures agree with the raw times")


if __name__ == "__main__":
    main()
