#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""TUTTI_VERIFY on a PyOpenCL program: finds what a race does, and nothing where there is none.

The program runs in processes of its own, so that what Tutti says at their end can be read. To be
called with TUTTI_SPLIT=force and two devices.
"""

import os
import subprocess
import sys

PROGRAM = r"""
import sys
import numpy as np
import pyopencl as cl
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
program = cl.Program(context, '''
kernel void honest(global const float* in, global float* out, global int* count) {
  int i = get_global_id(0);
  out[i] = sqrt(in[i]) * 3.0f;
  atomic_add(&count[i % 7], i);
}
kernel void chain(global int* a) {   // element by element from the one before: a race
  int i = get_global_id(0) + 1;
  for (int k = 0; k < 200; ++k) a[i] = max(a[i], a[i - 1] + 1);
}
''').build()
n = 64 * 500
data = cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR,
                 hostbuf=np.arange(n + 1, dtype=np.float32))
out = cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=np.zeros(n + 1, np.int32))
count = cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=np.zeros(7, np.int32))
if sys.argv[1] == 'honest':
    for _ in range(3):
        program.honest(queue, (n,), (64,), data, out, count)
else:
    # It shows only where both devices compute at the same time, which not every launch comes to.
    for _ in range(100):
        cl.enqueue_copy(queue, out, np.zeros(n + 1, np.int32))
        program.chain(queue, (n,), (64,), out)
queue.finish()
sums = np.empty(7, np.int32)
cl.enqueue_copy(queue, sums, count)
if sys.argv[1] == 'honest':
    i = np.arange(n, dtype=np.int64)
    expected = np.array([3 * i[i % 7 == k].sum() for k in range(7)])
    assert (sums == expected.astype(np.int32)).all(), sums
"""


def run(which, **environment):
    process = subprocess.run([sys.executable, "-c", PROGRAM, which], text=True,
                             stderr=subprocess.PIPE, env=dict(os.environ, **environment))
    assert process.returncode == 0, process.stderr
    return process.stderr


def expect(text, *parts):
    for part in parts:
        assert part in text, f"no {part!r} in:\n{text}"


def main():
    text = run("honest", TUTTI_VERIFY="1")
    expect(text, "tutti verify: 3 split launches repeated whole, no difference",
           "honest: 3 split launches, 0 differ")
    text = run("chain", TUTTI_VERIFY="1:0.5")
    expect(text, "verify: kernel chain: argument 0 ('a', int*), element", "split, ", "whole;",
           "package of slices", "on device", "chain: 100 split launches,")
    assert "no difference" not in text, text
    text = run("chain", TUTTI_VERIFY="1", TUTTI_RACES="distrust")
    assert "tutti verify" not in text, f"distrusted races, and yet it was split:\n{text}"
    text = run("honest", TUTTI_VERIFY="0")
    assert "verify" not in text, text
    text = run("honest", TUTTI_VERIFY="perhaps")
    expect(text, "TUTTI_VERIFY=perhaps is not understood; accepted: 0, 1, vote, "
           "or 1:TOLERANCE or vote:TOLERANCE")
    print("verification finds a race, and nothing where there is none")


if __name__ == "__main__":
    main()
