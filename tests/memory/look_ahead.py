#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Iterative programs on devices with memory of their own: what the next launch will read is sent while
this one computes. Results must be as NumPy computes them, and what comes next must mostly be known.

usage: look_ahead.py APART            (the library that keeps devices' memory apart)
       look_ahead.py APART --measure [PROCESSES]
           ms per launch without and with looking ahead, in turn, over a link of 1 GB/s; `finish`:
           each launch is waited for before the next one
       look_ahead.py --run PROGRAM SIZE ROUNDS LAUNCHES finish|queue
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

SOURCE = """
uint mixed(uint value, uint rounds) {
  for (uint k = 0; k < rounds; ++k) value = 5 * (value ^ (value >> 11)) + k;
  return value;
}
// Rows become columns: of what one has written on a device the other half is needed elsewhere.
kernel void turn(global const uint* restrict in, global uint* restrict out, uint n, uint rounds) {
  const uint x = get_global_id(0), y = get_global_id(1);
  if (x < n && y < n) out[y * n + x] = mixed(in[x * n + y], rounds) + x;
}
// Rows at the borders of parts are needed elsewhere.
kernel void stencil(global const uint* restrict in, global uint* restrict out, uint n, uint rounds) {
  const uint x = get_global_id(0), y = get_global_id(1);
  if (x >= n || y >= n) return;
  const uint i = y * n + x;
  const uint sum = x > 0 && y > 0 && x < n - 1 && y < n - 1
                       ? in[i] + in[i - 1] + in[i + 1] + in[i - n] + in[i + n] : in[i];
  out[i] = mixed(sum, rounds);
}
// Each element needs all others, once per round.
kernel void dense(global const uint* restrict in, global uint* restrict out, uint n, uint rounds) {
  const uint i = get_global_id(0);
  if (i >= n) return;
  uint sum = i;
  for (uint k = 0; k < rounds; ++k) sum = 5 * sum + in[(i + k * 4099) % n];
  out[i] = sum;
}
"""
# Program, size, rounds, launches: to be checked, and to be measured.
CHECKED = [("turn", 211, 3, 12), ("stencil", 203, 3, 12), ("dense", 10007, 9, 12)]
MEASURED = [("turn", 2048, 20, 10), ("stencil", 2048, 20, 10), ("dense", 4000000, 20, 10)]


def reference(np, program, data, n, rounds):
    def mixed(value):
        for k in range(rounds):
            value = np.uint32(5) * (value ^ (value >> np.uint32(11))) + np.uint32(k)
        return value

    with np.errstate(over="ignore"):
        if program == "turn":
            return (mixed(data.reshape(n, n).T) + np.arange(n, dtype=np.uint32)).ravel()
        if program == "stencil":
            grid = data.reshape(n, n)
            summed = grid.copy()
            summed[1:-1, 1:-1] += (grid[1:-1, :-2] + grid[1:-1, 2:] + grid[:-2, 1:-1] +
                                   grid[2:, 1:-1])
            return mixed(summed).ravel()
        total = np.arange(n, dtype=np.uint32)
        for k in range(rounds):
            total = np.uint32(5) * total + np.roll(data, -(k * 4099))
        return total


def iterate(program, n, rounds, launches, finishes):
    """Runs one program; prints ms per launch of the best of some times, once they are known."""
    import numpy as np  # only here: the others are there without
    import pyopencl as cl

    context = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(context)
    kernel = getattr(cl.Program(context, SOURCE).build(), program)
    shape = (n,) if program == "dense" else (n, n)
    local = (64,) if program == "dense" else (16, 16)
    shape = tuple((size + group - 1) // group * group for size, group in zip(shape, local))
    data = np.random.default_rng(7).integers(0, 2**32, n if program == "dense" else n * n,
                                             dtype=np.uint32)
    buffers = [cl.Buffer(context, cl.mem_flags.READ_WRITE, data.nbytes) for _ in range(2)]

    def run(count):
        for number in range(count):
            kernel(queue, shape, local, buffers[number % 2], buffers[(number + 1) % 2],
                   np.uint32(n), np.uint32(rounds))
            if finishes:
                queue.finish()
        queue.finish()

    cl.enqueue_copy(queue, buffers[0], data)
    times = []
    for _ in range(8):
        begun = time.monotonic()
        run(launches)
        times.append((time.monotonic() - begun) / launches * 1e3)
    cl.enqueue_copy(queue, buffers[0], data)
    run(launches)
    found = np.empty_like(data)
    cl.enqueue_copy(queue, found, buffers[launches % 2])
    for _ in range(launches):
        data = reference(np, program, data, n, rounds)
    if not (found == data).all():
        sys.exit(f"{program}: {np.count_nonzero(found != data)} elements are wrong")
    print(min(times[3:]))


def run_apart(apart, arguments, **environment):
    return subprocess.run([sys.executable, "-B", "-W", "ignore", __file__, "--run",
                           *map(str, arguments)],
                          env=dict(os.environ, LD_PRELOAD=apart, TUTTI_TEST_APART="gpus",
                                   **environment), capture_output=True, text=True, check=False)


def check(apart):
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        summary = os.path.join(folder, "summary.json")
        for program in CHECKED:
            for order in ("finish", "queue"):
                done = run_apart(apart, (*program, order), TUTTI_LOOK_AHEAD="always",
                                 TUTTI_SPLIT="force", TUTTI_SUMMARY=summary)
                problem = done.stderr if done.returncode else ""
                if not problem:
                    with open(summary, encoding="utf-8") as file:
                        total = json.load(file)["total"]
                    guesses = total["guesses"]
                    if guesses["right"] <= 4 * guesses["wrong"] or not total["bytes_prefetched"]:
                        problem = str(total)
                failed += bool(problem)
                print(f"{'FAILED' if problem else 'right':8} {program[0]}, {order}: {problem}",
                      flush=True)
    return 1 if failed else 0


def measure(apart, processes):
    for program in MEASURED:
        for order in ("finish", "queue"):
            times = {"never": [], "always": []}
            for _ in range(processes):
                for mode, taken in times.items():
                    done = run_apart(apart, (*program, order), TUTTI_LOOK_AHEAD=mode,
                                     TUTTI_TEST_LINK="1000")
                    if done.returncode:
                        sys.exit(done.stderr)
                    taken.append(float(done.stdout))
            without, ahead = (statistics.median(times[mode]) for mode in ("never", "always"))
            print(f"{program[0]:8} {program[1]:8} {order:7} {without:7.1f} {ahead:7.1f}"
                  f" {without / ahead:6.2f}", flush=True)


def main():
    if sys.argv[1] == "--run":
        program, size, rounds, launches, order = sys.argv[2:]
        iterate(program, int(size), int(rounds), int(launches), order == "finish")
    elif len(sys.argv) > 2:
        measure(sys.argv[1], int(sys.argv[3]) if len(sys.argv) > 3 else 3)
    else:
        return check(sys.argv[1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
