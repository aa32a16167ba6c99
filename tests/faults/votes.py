#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""TUTTI_VERIFY=vote: on devices of PoCL behind the faulty vendor, of which the second one writes a wrong
byte in some of its launches, all scenarios are right with three devices, and right or told with two.

usage: votes.py --build BUILD [--repeat "counters shared 3 *3"]
"""

import argparse
import collections
import concurrent.futures
import json
import pathlib
import subprocess
import sys

import sweep


def check(runner, scenario, memory, devices, which, show=False):
    """What is wrong, or nothing; and how often the device was outvoted."""
    name = f"{scenario}-{memory}-{devices}-{which.strip('*')}"
    summary, trace = runner.folder / f"{name}.json", runner.folder / f"{name}.trace.json"
    status, output = runner.run(
        sweep.Case(scenario, memory), f"clEnqueueNDRangeKernel:1:{which}:wrong", show=show,
        more={"TUTTI_VERIFY": "vote", "TUTTI_SUMMARY": str(summary),
              "TUTTI_TRACE": str(trace), "POCL_DEVICES": " ".join(["basic"] * devices)})
    words = output.partition("\n")[0].split()
    if status != 0 or words[:1] not in (["right"], ["told"]):
        return f"status {status}; {' '.join(words)}", 0
    if devices > 2 and words[0] != "right":
        return f"with three devices, {' '.join(words)}", 0
    outvoted = [device["outvoted"] for device in json.loads(summary.read_text())["devices"]]
    seen = collections.Counter(event.get("name") for event in json.loads(trace.read_text()))
    if seen["is outvoted"] != sum(outvoted) or not seen["votes"]:
        return f"the trace shows {seen['votes']} votes, {seen['is outvoted']} outvoted of {outvoted}", 0
    if any(outvoted[:1] + outvoted[2:]):
        return f"others were outvoted: {outvoted}", 0
    return None, outvoted[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--repeat", help="SCENARIO MEMORY DEVICES WHICH")
    options = parser.parse_args()
    options.native, options.driver, options.limit, options.quiet = False, None, 120, 10
    runner = sweep.Runner(options)
    try:
        if options.repeat:
            scenario, memory, devices, which = options.repeat.split()
            sys.exit(check(runner, scenario, memory, int(devices), which, show=True)[0])
        names = subprocess.run([runner.program, "--list"], capture_output=True, text=True,
                               check=True).stdout.split()
        cases = [(name, memory, devices, which) for name in names for memory in ("shared", "apart")
                 for devices, which in ((3, "*2"), (2, "*3"))]
        failed = outvoted = 0
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for case, (wrong, times) in zip(
                    cases, pool.map(lambda case: check(runner, *case), cases)):
                if wrong:
                    print(*case, wrong, flush=True)
                failed += wrong is not None
                outvoted += times
        print(f"{len(cases)} runs, {failed} failed; the device was outvoted {outvoted} times")
        sys.exit(failed > 0 or outvoted == 0)
    finally:
        runner.close()


if __name__ == "__main__":
    main()
