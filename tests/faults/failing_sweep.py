#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs scenarios in which one allocation or one creation of a thread of libtutti.so fails, each in a
process of its own: the result must be right, or an error be told.

    tests/faults/failing_sweep.py --build build                       # every way to an allocation, once
    tests/faults/failing_sweep.py --build build --all                 # every allocation
    tests/faults/failing_sweep.py --build build --sample 100 --seed 7
    tests/faults/failing_sweep.py --build build --repeat 'in-place+events shared allocation:2031'

A way is the chain of calls within libtutti.so that leads to an allocation; the first that comes by it
fails. With --in-a-row N so many fail, one after the other. Ends with 1 where anything was late, untold, a hang or a crash.
"""

import argparse
import collections
import concurrent.futures
import pathlib
import random
import subprocess
import sys

import sweep


class Failing(collections.namedtuple("Failing", "case kind number")):
    @property
    def plan(self):
        return f"{self.kind}:{self.number}"

    def __str__(self):
        return f"{self.case} {self.plan}"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--all", action="store_true", help="every allocation, however it is reached")
    parser.add_argument("--sample", type=int, help="so many of them only")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--in-a-row", type=int, default=1)
    parser.add_argument("--scenarios", default="*", help="a comma list of patterns")
    parser.add_argument("--memory", default="shared,apart")
    parser.add_argument("--kinds", default="*", help="allocation, way, thread: a comma list of patterns")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--quiet", type=float, default=3,
                        help="a run is a hang when all of its threads have slept for so many seconds")
    parser.add_argument("--limit", type=float, default=120, help="… or when it takes so many seconds")
    parser.add_argument("--repeat", metavar="SCENARIO MEMORY PLAN", help="one of them, shown")
    parser.add_argument("--results", type=pathlib.Path, help="a file to which each result is added")
    return parser.parse_args()


class FailingRunner(sweep.Runner):
    def __init__(self, options):
        options.driver, options.native = None, False
        super().__init__(options)
        self.failing = options.build.resolve() / "lib/libtutti-test-failing.so"

    def run_failing(self, case, plan, words=(), cache=None, show=False):
        more = {"TUTTI_TEST_FAILING": plan}
        if show:
            more["TUTTI_TEST_FAILING_SHOWN"] = "1"
        return self.run(case, "", words, cache, show, (self.failing,), more)

    def positions(self, case, ways):
        """Of a run without a failure: those whose way is not among `ways` yet, and of threads."""
        status, output = self.run_failing(case, "count", ["--counts"])
        lines = output.splitlines()
        lines[1:] = [line for line in lines[1:] if len(line.split()) < 4]  # not vendors' calls
        if status != 0 or not lines or not lines[0].startswith("right "):
            sys.exit(f"{case} without any failure: status {status}\n{output[:2000]}")
        allocations, threads = map(int, lines[1].split())
        found = []
        for number, way in enumerate(lines[2:], 1):
            if self.options.all:
                found.append(Failing(case, "allocation", number))
            elif way not in ways:
                ways.add(way)
                found.append(Failing(case, "way", way))
        found += [Failing(case, "thread", number) for number in range(1, threads + 1)]
        return allocations, threads, [one for one in found
                                      if sweep.chosen(one.kind, self.options.kinds)]

    def fail(self, failing, show=False):
        plan = f"{failing.plan}:{self.options.in_a_row}"
        status, output = self.run_failing(failing.case, plan, show=show)
        first, _, text = output.partition("\n")[0].partition(" | ")
        words = first.split()
        if status == "hang":
            outcome = "hang"
        elif status != 0 or len(words) != 2:
            outcome, text = "crash", f"status {status}; {first}"
        elif words[1] == "0" and words[0] == "right":
            outcome = "unreached"
        else:
            outcome = words[0]
        return failing, outcome, text


def warm(runner, cases):
    cache = runner.folder / "warm-in-the-making"
    cache.mkdir()
    for case in {case.memory: case for case in cases}.values():
        runner.counts(case, cache)
    cache.rename(runner.warm)


def main():
    options = arguments()
    runner = FailingRunner(options)
    try:
        if options.repeat:
            words = options.repeat.split()
            kind, number = words[2].split(":")[:2]
            case = sweep.Case(*words[:2])
            warm(runner, [case])
            _, outcome, text = runner.fail(Failing(case, kind, number), show=True)
            print(f"{outcome}: {options.repeat} | {text}")
            return outcome in sweep.BAD
        listed = subprocess.run([runner.program, "--list"], capture_output=True, text=True, check=True)
        names = [name + variant for name in listed.stdout.split() for variant in ("", "+events")]
        cases = [sweep.Case(name, memory) for name in names
                 if sweep.chosen(name, options.scenarios) for memory in options.memory.split(",")]
        warm(runner, cases)
        ways, failing = set(), []
        for case in cases:
            allocations, threads, found = runner.positions(case, ways)
            print(f"{case}: {allocations} allocations, {threads} threads; {len(found)} chosen",
                  flush=True)
            failing += found
        if options.sample:
            choose = random.Random(options.seed)
            failing = choose.sample(failing, min(options.sample, len(failing)))
        counts, failures = collections.Counter(), 0
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for one, outcome, text in pool.map(runner.fail, failing):
                counts[one.kind, outcome] += 1
                if options.results:
                    with options.results.open("a") as file:
                        file.write(f"{outcome}\t{one}\t{text}\n")
                if outcome in sweep.BAD:
                    failures += 1
                    print(f"{outcome}: --repeat '{one}' | {text}", flush=True)
        for kind, outcome in sorted(counts):
            print(f"{kind:12}{outcome:12}{counts[kind, outcome]:8}")
        return failures > 0
    finally:
        runner.close()


if __name__ == "__main__":
    sys.exit(main())
