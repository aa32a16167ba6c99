#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loops over what lies between two loaded numbers, on devices whose memory holds a third of it.

What a package reads is known only from what those numbers are when the launch begins: programs here
change them in every way before that. Each launch must be right, or be refused with an error for want
of memory where no part would do.

usage: content.py      (in a client's environment, with TUTTI_MEMORY; MiB)
"""

import os
import sys

import numpy
import pyopencl as cl

ROWS = 20011
LONGEST = 101
TYPES = {"int": numpy.int32, "uint": numpy.uint32, "long": numpy.int64, "ulong": numpy.uint64}
SOURCE = """
kernel void sum(global const N* restrict first, global const N* restrict end,
                global const int* restrict value, global int* restrict out, int rows) {
  const int i = get_global_id(0);
  if (i >= rows) return;
  int sum = i;
  for (N k = first[i]; k < end[i]; ++k) sum = sum * 3 + value[(long)k + 2] - (int)k;
  out[i] = sum;
}
kernel void changing(global N* first, global const N* end, global const int* value,
                     global int* out, int rows) {
  const int i = get_global_id(0);
  if (i >= rows) return;
  int sum = i;
  for (N k = first[i]; k < end[i]; ++k) sum = sum * 3 + value[(long)k + 2] - (int)k;
  out[i] = sum;
  first[i] = end[i];
}
kernel void move(global N* numbers, int by, int rows) {
  const int i = get_global_id(0);
  if (i < rows) numbers[i] += by;
}
"""


def expected(first, end, value):
    """By columns: the k-th number of every row at once. Wraps around as 32 bits do."""
    out = numpy.arange(len(first), dtype=numpy.int32)
    first, end = first.astype(numpy.int64), end.astype(numpy.int64)
    with numpy.errstate(over="ignore"):
        for step in range(int(max(0, (end - first).max()))):
            k = first + step
            live = k < end
            out[live] = (out[live] * numpy.int32(3) + value[k[live] + 2]
                         - k[live].astype(numpy.int32))
    return out


class Program:
    def __init__(self, context, queue, kind, random):
        self.context, self.queue = context, queue
        self.kernels = cl.Program(context, SOURCE).build(options=[f"-DN={kind}"])
        self.type = TYPES[kind]
        lengths = random.integers(0, LONGEST, ROWS)
        self.start = numpy.concatenate([[0], numpy.cumsum(lengths)]).astype(self.type)
        self.value = random.integers(-1000, 1000, int(self.start[-1]) + 64).astype(numpy.int32)
        flags = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
        self.values = cl.Buffer(context, flags, hostbuf=self.value)
        self.out = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4 * ROWS)

    def buffer(self, numbers):
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        return cl.Buffer(self.context, flags, hostbuf=numbers)

    def launch(self, first, end, name="sum"):
        kernel = getattr(self.kernels, name)
        kernel.set_args(first, end, self.values, self.out, numpy.int32(ROWS))
        cl.enqueue_nd_range_kernel(self.queue, kernel, [(ROWS + 63) // 64 * 64], [64])

    def check(self, first, end):
        out = numpy.empty(ROWS, numpy.int32)
        cl.enqueue_copy(self.queue, out, self.out)
        return bool((out == expected(first, end, self.value)).all())


def in_order(p, random):
    """Row behind row, launched several times."""
    first, end = p.start[:-1].copy(), p.start[1:].copy()
    a, b = p.buffer(first), p.buffer(end)
    good = []
    for _ in range(3):
        p.launch(a, b)
        good.append(p.check(first, end))
    return all(good)


def not_in_order(p, random):
    """Rows lie in another order, but near to where they would; some end before they begin."""
    order = numpy.arange(ROWS)
    for at in range(0, ROWS - 64, 64):
        random.shuffle(order[at:at + 64])
    first, end = p.start[:-1][order].copy(), p.start[1:][order].copy()
    backwards = random.integers(0, ROWS, 200)
    first[backwards], end[backwards] = end[backwards].copy(), first[backwards].copy()
    p.launch(p.buffer(first), p.buffer(end))
    return p.check(first, end)


def moved_by_a_kernel(p, random):
    """The numbers that count are those that a kernel has just written."""
    first, end = p.start[:-1].copy(), p.start[1:].copy()
    a, b = p.buffer(first), p.buffer(end)
    good = []
    for by in (7, 30, -20, 12):
        for numbers in (a, b):
            p.kernels.move(p.queue, [(ROWS + 63) // 64 * 64], [64], numbers, numpy.int32(by),
                           numpy.int32(ROWS))
        first, end = ((side.astype(numpy.int64) + by).astype(p.type) for side in (first, end))
        p.launch(a, b)
        good.append(p.check(first, end))
    return all(good)


def written_late(p, random):
    """The launch is enqueued first; what it reads comes when the application says so."""
    wrong = numpy.zeros(ROWS, p.type)
    a, b = p.buffer(wrong), p.buffer(wrong)
    first, end = p.start[:-1].copy(), p.start[1:].copy()
    go = cl.UserEvent(p.context)
    # PyOpenCL waits for events that nobody keeps.
    copies = [cl.enqueue_copy(p.queue, a, first, is_blocking=False, wait_for=[go]),
              cl.enqueue_copy(p.queue, b, end, is_blocking=False)]
    p.launch(a, b)
    p.queue.flush()
    go.set_status(cl.command_execution_status.COMPLETE)
    del copies
    return p.check(first, end)


def from_elsewhere(p, random):
    """Every row may be anywhere: no part would do."""
    order = numpy.arange(ROWS)
    random.shuffle(order)
    first, end = p.start[:-1][order].copy(), p.start[1:][order].copy()
    p.launch(p.buffer(first), p.buffer(end))
    return p.check(first, end)


def changed_by_itself(p, random):
    """What the numbers were says nothing once packages of the same launch change them."""
    first, end = p.start[:-1].copy(), p.start[1:].copy()
    p.launch(p.buffer(first), p.buffer(end), "changing")
    return p.check(first, end)


MUST = [in_order, not_in_order, moved_by_a_kernel, written_late]
MAY_BE_REFUSED = [from_elsewhere, changed_by_itself]
NO_MEMORY = (cl.status_code.MEM_OBJECT_ALLOCATION_FAILURE, cl.status_code.OUT_OF_RESOURCES,
             cl.status_code.EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)


def main():
    seed = int(os.environ.get("TUTTI_TEST_SEED", numpy.random.randint(1 << 30)))
    print("seed", seed)
    random = numpy.random.default_rng(seed)
    platform = next(p for p in cl.get_platforms() if p.name == "Tutti")
    context = cl.Context(platform.get_devices())
    failed = 0
    for kind in TYPES:
        for case in MUST + MAY_BE_REFUSED:
            queue = cl.CommandQueue(context)
            program = Program(context, queue, kind, random)
            try:
                told = "right" if case(program, random) else "WRONG"
            except cl.Error as error:
                code = getattr(error, "code", None)
                refused = case in MAY_BE_REFUSED and code in NO_MEMORY
                told = f"refused ({code})" if refused else f"FAILED: {error}"
            failed += told.isupper() or told.startswith("FAILED")
            print(f"{kind:6} {case.__name__:20} {told}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
