#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A device whose context is lost comes back with another one: on two devices of PoCL behind the
faulty vendor, which share memory and which do not, one loses its context at some call. The program
goes on until the device computes again; all is right or told meanwhile, and right from then on. The
log, the summary and the trace tell of it.

usage: comes_back.py --build BUILD [--repeat "apart clEnqueueNDRangeKernel:1:3:context"]
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

import sweep

PLANS = [f"{function}:{device}:{number}:context" for function, device, number in (
    ("clEnqueueNDRangeKernel", 0, 1), ("clEnqueueNDRangeKernel", 1, 1),
    ("clEnqueueNDRangeKernel", 1, 6), ("clEnqueueNDRangeKernel", 0, 23),
    ("clEnqueueWriteBuffer", 1, 2), ("clEnqueueReadBuffer", 0, 3), ("clFlush", 1, 5),
    ("clGetEventInfo", 0, 9), ("clSetKernelArg", 1, 7))]


def check(runner, memory, plan, show=False):
    """What is wrong, or nothing."""
    name = f"{memory}-{plan.replace(':', '-')}"
    summary, trace, log = (runner.folder / f"{name}.{kind}" for kind in ("json", "trace", "log"))
    case = sweep.Case("comes-back+events" if len(plan) % 2 else "comes-back", memory)
    status, output = runner.run(case, plan, show=show, more={
        "TUTTI_SUMMARY": str(summary), "TUTTI_TRACE": str(trace),
        **({} if show else {"TUTTI_LOG": f"warning:{log}"})})
    first = output.partition("\n")[0]
    if status != 0 or first.split()[0] not in ("right", "told"):
        return f"status {status}; {first}"
    if first.split()[1] == "0":
        return "the fault did not happen"
    devices = json.loads(summary.read_text())["devices"]
    lost = [device for device in devices if device["losses"] > 0]
    if [(device["losses"], device["lost"]) for device in lost] != [(1, False)]:
        return f"the summary tells something else: {devices}"
    names = collections.Counter(event.get("name") for event in json.loads(trace.read_text()))
    if names["is lost"] != 1 or names["takes no part"] != 1:
        return f"the trace tells something else: {names}"
    if not show:
        lines = log.read_text().splitlines()
        told = [len([line for line in lines if text in line]) for text in (" is lost (", " works again ")]
        if told != [1, 1]:
            return f"lost, works again: {told} lines of the log; {lines[:9]}"
    return None


def check_devices(runner):
    """`tutti devices` names a device that does not work now."""
    environment = dict(os.environ, TUTTI_CONFIG=str(runner.folder / "empty.toml"),
                       TUTTI_CACHE=str(runner.cache()), TUTTI_VENDORS=str(runner.vendor),
                       POCL_DEVICES="basic basic", POCL_CACHE_DIR=str(runner.pocl))
    told = []
    for plan in ("", "clEnqueueReadBuffer:1:3:context"):
        said = subprocess.run(
            [runner.program.parent / "tutti", "devices", "--json"], capture_output=True, text=True,
            env=dict(environment, FAULTY_VENDOR_PLAN=plan), timeout=300, check=True).stdout
        told.append([device["works"] for device in json.loads(said)["devices"]])
    return None if told == [[True, True], [True, False]] else f"works: {told}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--repeat", help="MEMORY PLAN")
    options = parser.parse_args()
    options.native, options.driver, options.limit, options.quiet = False, None, 120, 10
    runner = sweep.Runner(options)
    try:
        if options.repeat:
            sys.exit(check(runner, *options.repeat.split(), show=True))
        cases = [(memory, plan) for memory in ("shared", "apart") for plan in PLANS]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            failed = 0
            for case, wrong in zip(cases, pool.map(lambda case: check(runner, *case), cases)):
                print(*case, wrong or "ok", flush=True)
                failed += wrong is not None
        wrong = check_devices(runner)
        print("tutti devices", wrong or "ok")
        sys.exit(failed > 0 or wrong is not None)
    finally:
        runner.close()


if __name__ == "__main__":
    main()
