#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Iterative programs on devices with memory of their own: what the next launch will read is sent while
this one computes. Results must be as NumPy computes them, and what comes next must mostly be known.

usage: look_ahead.py APART            (the library that keeps devices' memory apart)
       look_ahead.py APART --measure [PROCESSES]
           ms per launch (of `cg`, per iteration) without and with looking ahead, in turn, on devices
           that compute while others, or a link of 1 GB/s, are busy: PoCL's of one core each in
           processes of their own; `finish`: each launch is waited for before the next one
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
// Each element may need any other, once per round.
kernel void dense(global const uint* restrict in, global uint* restrict out, uint n, uint rounds) {
  const uint i = get_global_id(0);
  if (i >= n) return;
  uint sum = i;
  for (uint k = 0; k < rounds; ++k) sum = 5 * sum + in[(i * 7 + k * 4099) % n];
  out[i] = sum;
}
// Conjugate gradients of a grid of n times n points: what its borders hold is 0.
kernel void multiply(global const float* restrict p, global float* restrict q, uint n) {
  const uint x = get_global_id(0), y = get_global_id(1);
  if (x >= n || y >= n) return;
  const uint i = y * n + x;
  float sum = 4.5f * p[i];
  if (x > 0) sum -= p[i - 1];
  if (x < n - 1) sum -= p[i + 1];
  if (y > 0) sum -= p[i - n];
  if (y < n - 1) sum -= p[i + n];
  q[i] = sum;
}
kernel void dot_parts(global const float* restrict a, global const float* restrict b,
                      global float* restrict parts, uint count) {
  local float sums[64];
  const uint i = get_global_id(0), here = get_local_id(0);
  sums[here] = i < count ? a[i] * b[i] : 0;
  for (uint left = 32; left > 0; left /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (here < left) sums[here] += sums[here + left];
  }
  if (here == 0) parts[get_group_id(0)] = sums[0];
}
// numbers: r·r of before, p·q, r·r.
kernel void add_parts(global const float* restrict parts, global float* restrict numbers, uint count,
                      uint which) {
  local float sums[64];
  const uint here = get_local_id(0);
  float sum = 0;
  for (uint i = here; i < count; i += 64) sum += parts[i];
  sums[here] = sum;
  for (uint left = 32; left > 0; left /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (here < left) sums[here] += sums[here + left];
  }
  if (here == 0) {
    if (which == 2) numbers[0] = numbers[2];
    numbers[which] = sums[0];
  }
}
kernel void advance(global float* restrict x, global float* restrict r,
                    global const float* restrict p, global const float* restrict q,
                    global const float* restrict numbers, uint count) {
  const uint i = get_global_id(0);
  if (i >= count) return;
  const float step = numbers[2] / numbers[1];
  x[i] += step * p[i];
  r[i] -= step * q[i];
}
kernel void direct(global float* restrict p, global const float* restrict r,
                   global const float* restrict numbers, uint count) {
  const uint i = get_global_id(0);
  if (i < count) p[i] = r[i] + numbers[2] / numbers[0] * p[i];
}
"""
# Program, size, rounds, launches: to be checked, and to be measured.
CHECKED = [("turn", 211, 3, 12), ("stencil", 203, 3, 12), ("dense", 10007, 900, 12),
           ("cg", 201, 1, 12)]
MEASURED = [("turn", 2048, 4, 10), ("turn", 2048, 10, 10), ("turn", 2048, 60, 10),
            ("stencil", 2048, 4, 10), ("stencil", 2048, 20, 10), ("dense", 4000000, 20, 10),
            ("cg", 1536, 1, 10)]


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
            total = np.uint32(5) * total + data[(np.arange(n) * 7 + k * 4099) % n]
        return total


class Launches:
    """A kernel that reads what it has written the last time, from one buffer to the other."""

    def __init__(self, np, cl, queue, finish, program, n, rounds):
        self.np, self.cl, self.queue, self.finish = np, cl, queue, finish
        self.program, self.n, self.rounds = program, n, rounds
        self.kernel = getattr(cl.Program(queue.context, SOURCE).build(), program)
        shape, self.local = ((n,), (64,)) if program == "dense" else ((n, n), (16, 16))
        self.shape = tuple(-(-size // group) * group for size, group in zip(shape, self.local))
        self.data = np.random.default_rng(7).integers(0, 2**32, n**len(shape), dtype=np.uint32)
        self.buffers = [cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, self.data.nbytes)
                        for _ in range(2)]

    def start(self):
        self.cl.enqueue_copy(self.queue, self.buffers[0], self.data)

    def run(self, count):
        for number in range(count):
            self.kernel(self.queue, self.shape, self.local, self.buffers[number % 2],
                        self.buffers[(number + 1) % 2], self.np.uint32(self.n),
                        self.np.uint32(self.rounds))
            self.finish()

    def wrong(self, count):
        found = self.np.empty_like(self.data)
        self.cl.enqueue_copy(self.queue, found, self.buffers[count % 2])
        wanted = self.data
        for _ in range(count):
            wanted = reference(self.np, self.program, wanted, self.n, self.rounds)
        return self.np.count_nonzero(found != wanted)


class ConjugateGradients:
    """Seven launches for each iteration, two of them of one group."""

    def __init__(self, np, cl, queue, finish, n):
        self.np, self.cl, self.queue, self.finish, self.n = np, cl, queue, finish, n
        built = cl.Program(queue.context, SOURCE).build()
        self.kernels = {kernel.function_name: kernel for kernel in built.all_kernels()}
        self.data = np.random.default_rng(7).random(n * n, dtype=np.float32)
        self.groups = -(-n * n // 64)
        sizes = {"x": n * n, "r": n * n, "p": n * n, "q": n * n, "parts": self.groups, "numbers": 3}
        self.buffers = {name: cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 4 * size)
                        for name, size in sizes.items()}

    def launch(self, name, groups, local, names, *numbers):
        self.kernels[name](self.queue, tuple(g * l for g, l in zip(groups, local)), local,
                           *(self.buffers[each] for each in names), *map(self.np.uint32, numbers))
        self.finish()

    def dot(self, a, b, which):
        self.launch("dot_parts", (self.groups,), (64,), (a, b, "parts"), self.n * self.n)
        self.launch("add_parts", (1,), (64,), ("parts", "numbers"), self.groups, which)

    def start(self):
        for name in ("r", "p"):
            self.cl.enqueue_copy(self.queue, self.buffers[name], self.data)
        self.cl.enqueue_copy(self.queue, self.buffers["x"], self.np.zeros_like(self.data))
        self.cl.enqueue_copy(self.queue, self.buffers["numbers"],
                             self.np.ones(3, dtype=self.np.float32))
        self.dot("r", "r", 2)

    def run(self, count):
        count_all, side = self.n * self.n, -(-self.n // 16)
        for _ in range(count):
            self.launch("multiply", (side, side), (16, 16), ("p", "q"), self.n)
            self.dot("p", "q", 1)
            self.launch("advance", (self.groups,), (64,), ("x", "r", "p", "q", "numbers"), count_all)
            self.dot("r", "r", 2)
            self.launch("direct", (self.groups,), (64,), ("p", "r", "numbers"), count_all)

    def wrong(self, count):
        """Elements that differ by more than what other orders of single precision explain."""
        np, n = self.np, self.n
        found = np.empty_like(self.data)
        self.cl.enqueue_copy(self.queue, found, self.buffers["x"])
        x, r = np.zeros((n, n)), self.data.reshape(n, n).astype(np.float64)
        p = r.copy()
        for _ in range(count):
            padded = np.pad(p, 1)
            q = 4.5 * p - (padded[1:-1, :-2] + padded[1:-1, 2:] + padded[:-2, 1:-1] +
                           padded[2:, 1:-1])
            before = (r * r).sum()
            step = before / (p * q).sum()
            x += step * p
            r -= step * q
            p = r + (r * r).sum() / before * p
        return np.count_nonzero(np.abs(found - x.ravel()) > 1e-4 * np.abs(x).max())


def iterate(program, n, rounds, launches, finishes):
    """Runs one program; prints ms per launch of the best of some times, once they are known."""
    import numpy as np  # only here: the others are there without
    import pyopencl as cl

    queue = cl.CommandQueue(cl.create_some_context(interactive=False))
    finish = queue.finish if finishes else lambda: None
    made = (ConjugateGradients(np, cl, queue, finish, n) if program == "cg" else
            Launches(np, cl, queue, finish, program, n, rounds))
    made.start()
    times = []
    for _ in range(8):
        begun = time.monotonic()
        made.run(launches)
        queue.finish()
        times.append((time.monotonic() - begun) / launches * 1e3)
    made.start()
    made.run(launches)
    wrong = made.wrong(launches)
    if wrong:
        sys.exit(f"{program}: {wrong} elements are wrong")
    print(min(times[3:]))


def run_apart(apart, arguments, **environment):
    return subprocess.run([sys.executable, "-B", "-W", "ignore", __file__, "--run",
                           *map(str, arguments)],
                          env=dict(os.environ, LD_PRELOAD=apart, TUTTI_TEST_APART="gpus",
                                   **environment), capture_output=True, text=True, check=False)


def forced(apart, program, order, summary, **environment):
    """What is wrong with a run that looks ahead in any case, all split; and its summary's `total`."""
    done = run_apart(apart, (*program, order), TUTTI_LOOK_AHEAD="always", TUTTI_SPLIT="force",
                     TUTTI_SUMMARY=summary, **environment)
    if done.returncode:
        return done.stderr or f"it ends with {done.returncode}", None
    with open(summary, encoding="utf-8") as file:
        return "", json.load(file)["total"]


def check(apart):
    failed = sent = 0
    with tempfile.TemporaryDirectory() as folder:
        summary = os.path.join(folder, "summary.json")
        for program in CHECKED:
            for order in ("finish", "queue"):
                problem, total = forced(apart, program, order, summary)
                if not problem:
                    guesses = total["guesses"]
                    sent += total["bytes_prefetched"]
                    if guesses["right"] <= 4 * guesses["wrong"]:
                        problem = str(total)
                failed += bool(problem)
                print(f"{'FAILED' if problem else 'right':8} {program[0]}, {order}: {problem}",
                      flush=True)
    # Of one program on busy cores each launch may end before the thread that sends has begun.
    print(f"{'right' if sent else 'FAILED':8} {sent} bytes sent ahead")
    return 1 if failed or not sent or not is_kept(apart) else 0


def is_kept(apart):
    """What one process has seen to follow each launch, the next one knows before it has seen it."""
    right = []
    with tempfile.TemporaryDirectory() as folder:
        summary = os.path.join(folder, "summary.json")
        for _ in range(2):
            problem, total = forced(apart, CHECKED[1], "finish", summary, TUTTI_MODEL="disk",
                                    TUTTI_CACHE=folder)
            if problem:
                print("FAILED   ", problem)
                return False
            right.append(total["guesses"]["right"])
    print(f"{'right' if right[1] > right[0] else 'FAILED':8} right guesses of two processes: {right}")
    return right[1] > right[0]


def measure(apart, processes):
    for program in MEASURED:
        for order in ("finish", "queue"):
            times = {"never": [], "auto": []}
            for _ in range(processes):
                for mode, taken in times.items():
                    done = run_apart(apart, (*program, order), TUTTI_LOOK_AHEAD=mode,
                                     TUTTI_TEST_LINK="1000", TUTTI_ISOLATE="all",
                                     POCL_DEVICES="pthread pthread", POCL_MAX_PTHREAD_COUNT="1")
                    if done.returncode:
                        sys.exit(done.stderr)
                    taken.append(float(done.stdout))
            without, ahead = (statistics.median(times[mode]) for mode in ("never", "auto"))
            print(f"{program[0]:8} {program[1]:8} {program[2]:3} {order:7} {without:7.2f}"
                  f" {ahead:7.2f} {without / ahead:6.2f}", flush=True)


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
