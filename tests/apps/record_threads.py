#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What record_check.py records of several threads: each has its queue and its kernel object, all
share what they read, and hand buffers on to each other by events."""

import threading

import numpy as np
import pyopencl as cl

THREADS, ROUNDS, N = 4, 6, 3000

context = cl.create_some_context(interactive=False)
program = cl.Program(context, """
kernel void add(global const uint* shared, global uint* mine, uint by) {
  uint i = get_global_id(0);
  mine[i] = mine[i] * 3 + shared[i] + by;
}
kernel void sum(global const uint* a, global const uint* b, global uint* out) {
  uint i = get_global_id(0);
  out[i] = a[i] + b[i];
}""").build()
mf = cl.mem_flags
shared = np.random.default_rng(3).integers(0, 1 << 30, N, dtype=np.uint32)
shared_buffer = cl.Buffer(context, mf.READ_ONLY | mf.COPY_HOST_PTR, hostbuf=shared)
buffers = [cl.Buffer(context, mf.READ_WRITE | mf.COPY_HOST_PTR,
                     hostbuf=np.full(N, number, np.uint32)) for number in range(THREADS)]
done = [cl.UserEvent(context) for _ in range(THREADS)]
wrong = []


def expected(number):
    value = np.full(N, number, np.uint32)
    for turn in range(ROUNDS):
        value = value * np.uint32(3) + shared + np.uint32(turn)
    return value


def work(number):
    queue = cl.CommandQueue(context)
    kernel = cl.Kernel(program, "add")
    for turn in range(ROUNDS):
        kernel(queue, (N,), None, shared_buffer, buffers[number], np.uint32(turn))
        if turn % 2:
            cl.enqueue_copy(queue, np.empty(N, np.uint32), buffers[number])
    queue.finish()
    done[number].set_status(cl.command_execution_status.COMPLETE)
    # What a neighbour has made, with its own.
    neighbour = (number + 1) % THREADS
    out = cl.Buffer(context, mf.WRITE_ONLY, 4 * N)
    cl.Kernel(program, "sum")(queue, (N,), None, buffers[number], buffers[neighbour], out,
                              wait_for=[done[number], done[neighbour]])
    found = np.empty(N, np.uint32)
    cl.enqueue_copy(queue, found, out)
    if (found != expected(number) + expected(neighbour)).any():
        wrong.append(number)


threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not wrong, wrong
print("right")
