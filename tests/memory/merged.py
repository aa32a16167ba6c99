#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernels that count, reduce, scatter and search, over more data than devices have memory for.

What they write is merged, or one device computes all; either way it must be what NumPy says. Kernels
whose work-groups look at each other are refused for want of memory, or right.

usage: merged.py      (in a client's environment, with TUTTI_MEMORY=4; MiB)
"""

import sys

import numpy
import pyopencl as cl

ITEMS = 2000003  # 7.6 MiB of numbers
LOCAL = 64
SOURCE = """
kernel void histogram(global const uint* in, uint n, global uint* bins) {
  uint i = get_global_id(0);
  if (i < n) atomic_inc(bins + in[i] % 256u);
}
kernel void histogram_by_groups(global const uint* in, uint n, global uint* bins, local uint* own) {
  uint i = get_global_id(0), t = get_local_id(0);
  for (uint k = t; k < 256; k += get_local_size(0)) own[k] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (i < n) atomic_inc(own + in[i] % 256u);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint k = t; k < 256; k += get_local_size(0)) if (own[k]) atomic_add(bins + k, own[k]);
}
kernel void extremes(global const int* in, uint n, global int* least_and_largest) {
  uint i = get_global_id(0);
  if (i >= n) return;
  atomic_min(least_and_largest, in[i]);
  atomic_max(least_and_largest + 1, in[i]);
}
kernel void change_and_sum(global uint* data, uint n, global uint* sum) {
  uint i = get_global_id(0);
  if (i >= n) return;
  data[i] = data[i] * 3u + 1u;
  atomic_add(sum, data[i] & 255u);
}
kernel void scatter(global const uint* in, global const uint* to, uint n, global uint* out) {
  uint i = get_global_id(0);
  if (i < n) out[to[i]] = in[i] + 1u;
}
kernel void search(global const uint* in, uint key, uint n, global uint* count, global uint* found) {
  uint i = get_global_id(0);
  if (i < n && in[i] == key) found[atomic_inc(count)] = i;
}
kernel void compact(global const uint* in, uint n, global uint* count, global uint* out) {
  uint i = get_global_id(0);
  if (i < n && in[i] % 101u < 3u) out[atomic_inc(count)] = in[i];
}
kernel void last_group_sums(global const uint* in, uint n, global uint* parts, global uint* done) {
  local uint own, last;
  uint i = get_global_id(0), t = get_local_id(0);
  if (t == 0) own = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (i < n) atomic_add(&own, in[i]);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (t == 0) {
    parts[get_group_id(0) + 1] = own;
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    last = atomic_inc(done) == get_num_groups(0) - 1;
  }
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  if (!last || t != 0) return;
  uint sum = 0;
  for (uint k = 0; k < get_num_groups(0); ++k) sum += parts[k + 1];
  parts[0] = sum;
}
kernel void takes_turns(global const uint* in, uint n, global uint* turn, global uint* out) {
  uint i = get_global_id(0);
  if (get_local_id(0) != 0 || i >= n) return;
  while (atomic_or(turn, 0u) != get_group_id(0)) {}
  out[get_group_id(0) % 64u] = in[i];
  atomic_inc(turn);
}
"""


class Programs:
    def __init__(self, context, queue, random):
        self.context, self.queue, self.random = context, queue, random
        self.program = cl.Program(context, SOURCE).build()
        self.data = random.integers(0, 1 << 32, ITEMS, dtype=numpy.uint32)

    def buffer(self, content):
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        return cl.Buffer(self.context, flags, hostbuf=content)

    def content(self, buffer, count, kind=numpy.uint32):
        result = numpy.empty(count, kind)
        cl.enqueue_copy(self.queue, result, buffer)
        return result

    def launch(self, name, *arguments, items=ITEMS):
        groups = -(-items // LOCAL)
        getattr(self.program, name)(self.queue, (groups * LOCAL,), (LOCAL,), *arguments)

    def is_refused(self, name, *arguments):
        try:
            self.launch(name, self.buffer(self.data), *arguments)
        except cl.MemoryError as error:
            return error.code == cl.status_code.MEM_OBJECT_ALLOCATION_FAILURE
        return False

    def histograms(self):
        data, bins = self.buffer(self.data), self.buffer(numpy.full(256, 5, numpy.uint32))
        self.launch("histogram", data, numpy.uint32(ITEMS), bins)
        self.launch("histogram_by_groups", data, numpy.uint32(ITEMS), bins, cl.LocalMemory(1024))
        self.launch("histogram", data, numpy.uint32(ITEMS), bins)
        expected = 5 + 3 * numpy.bincount(self.data % 256, minlength=256)
        return (self.content(bins, 256) == expected).all()

    def extremes(self):
        ends = self.buffer(numpy.array([2**31 - 1, -2**31], numpy.int32))
        self.launch("extremes", self.buffer(self.data), numpy.uint32(ITEMS), ends)
        signed = self.data.view(numpy.int32)
        return list(self.content(ends, 2, numpy.int32)) == [signed.min(), signed.max()]

    def change_and_sum(self):
        data, sums = self.buffer(self.data), self.buffer(numpy.zeros(1, numpy.uint32))
        expected, total = self.data.copy(), 0
        for _ in range(3):
            self.launch("change_and_sum", data, numpy.uint32(ITEMS), sums)
            expected = expected * numpy.uint32(3) + numpy.uint32(1)
            total += int((expected & 255).sum(dtype=numpy.uint64))
        return ((self.content(data, ITEMS) == expected).all() and
                int(self.content(sums, 1)[0]) == total % 2**32)

    def scatter(self):
        count = ITEMS // 4
        to, data = self.random.permutation(count).astype(numpy.uint32), self.data[:count].copy()
        out = self.buffer(numpy.zeros(count, numpy.uint32))
        self.launch("scatter", self.buffer(data), self.buffer(to), numpy.uint32(count), out,
                    items=count)
        expected = numpy.empty(count, numpy.uint32)
        expected[to] = data + numpy.uint32(1)
        return (self.content(out, count) == expected).all()

    def searches(self):
        data = self.data.copy()
        data[::ITEMS // 37] = 12345
        places = numpy.nonzero(data == 12345)[0]
        count, found = (self.buffer(numpy.zeros(n, numpy.uint32)) for n in (1, 256))
        device = self.buffer(data)
        for _ in range(2):
            self.launch("search", device, numpy.uint32(12345), numpy.uint32(ITEMS), count, found)
        seen = self.content(count, 1)[0]
        return (seen == 2 * len(places) and
                (numpy.sort(self.content(found, 256)[:seen]) == numpy.repeat(places, 2)).all())

    def compact(self):
        kept = numpy.sort(self.data[self.data % 101 < 3])
        count, out = (self.buffer(numpy.zeros(n, numpy.uint32)) for n in (1, ITEMS // 20))
        self.launch("compact", self.buffer(self.data), numpy.uint32(ITEMS), count, out)
        seen = self.content(count, 1)[0]
        return (seen == len(kept) and
                (numpy.sort(self.content(out, ITEMS // 20)[:seen]) == kept).all())

    def last_group_sums(self):
        parts, done = (self.buffer(numpy.zeros(n, numpy.uint32)) for n in (ITEMS // LOCAL + 2, 1))
        if self.is_refused("last_group_sums", numpy.uint32(ITEMS), parts, done):
            return True
        return int(self.content(parts, 1)[0]) == int(self.data.sum(dtype=numpy.uint64)) % 2**32

    def takes_turns(self):
        turn, out = (self.buffer(numpy.zeros(n, numpy.uint32)) for n in (1, 64))
        return self.is_refused("takes_turns", numpy.uint32(ITEMS), turn, out)


def main():
    platform = next(one for one in cl.get_platforms() if one.name == "Tutti")
    context = cl.Context(platform.get_devices())
    programs = Programs(context, cl.CommandQueue(context), numpy.random.default_rng(5))
    failed = 0
    for name in ("histograms", "extremes", "change_and_sum", "scatter", "searches", "compact",
                 "last_group_sums", "takes_turns"):
        right = getattr(programs, name)()
        failed += not right
        print(f"{'right' if right else 'FAILED':8} {name}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
