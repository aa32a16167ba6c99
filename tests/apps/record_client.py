#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What record_check.py records: every way in which data move between an application and OpenCL."""

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array

context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
program = cl.Program(context, """
kernel void scale(global float* x, float by) { x[get_global_id(0)] *= by; }
kernel void invert(read_only image2d_t from, write_only image2d_t to) {
  int2 at = (int2)(get_global_id(0), get_global_id(1));
  const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
  write_imageui(to, at, 255 - read_imageui(from, s, at));
}""").build()
n = 5000
x = np.arange(n, dtype=np.float32)
mf = cl.mem_flags
b = cl.Buffer(context, mf.READ_WRITE | mf.COPY_HOST_PTR, hostbuf=x)
program.scale(queue, (n,), None, b, np.float32(3))
y = np.empty_like(x)
event = cl.enqueue_copy(queue, y, b, is_blocking=False)
event.wait()
assert (y == 3 * x).all()
# Write through a map, read through another.
view, _ = cl.enqueue_map_buffer(queue, b, cl.map_flags.WRITE, 0, (n,), np.float32)
view[:] = 7
view.base.release(queue)
program.scale(queue, (n,), None, b, np.float32(2))
view, _ = cl.enqueue_map_buffer(queue, b, cl.map_flags.READ, 0, (n,), np.float32)
assert (view == 14).all()
view.base.release(queue)
# A rectangle of a larger array, an image, a user event that holds a read back.
square = np.arange(64 * 48, dtype=np.uint8).reshape(48, 64).astype(np.uint8)
fmt = cl.ImageFormat(cl.channel_order.R, cl.channel_type.UNSIGNED_INT8)
a = cl.Image(context, mf.READ_ONLY | mf.COPY_HOST_PTR, fmt, shape=(64, 48), hostbuf=square)
c = cl.Image(context, mf.WRITE_ONLY, fmt, shape=(64, 48))
program.invert(queue, (64, 48), None, a, c)
got = np.zeros((48, 80), np.uint8)
cl.enqueue_copy(queue, got, c, origin=(0, 0), region=(64, 48), pitches=(80,))
assert (got[:, :64] == 255 - square).all()
part = np.zeros((10, 16), np.float32)
cl.enqueue_copy(queue, part, b, buffer_origin=(16, 2, 0), host_origin=(0, 1, 0), region=(32, 8),
                buffer_pitches=(400,), host_pitches=(64,))
assert (part[1:9, :8] == 14).all() and not part[0].any()
cl.enqueue_copy(queue, b, square, buffer_origin=(0, 0, 0), host_origin=(8, 8, 0), region=(16, 4),
                buffer_pitches=(400,), host_pitches=(64,))
bytes_of_b = np.empty(4 * n, np.uint8)
cl.enqueue_copy(queue, bytes_of_b, b)
assert (bytes_of_b[400:416] == square[9, 8:24]).all()
cl.enqueue_fill_buffer(queue, b, np.float32(14), 0, 4 * n)
gate = cl.UserEvent(context)
late = np.empty(n, np.float32)
event = cl.enqueue_copy(queue, late, b, is_blocking=False, wait_for=[gate])
gate.set_status(cl.command_execution_status.COMPLETE)
event.wait()
assert (late == 14).all()
d = cl_array.to_device(queue, x)
assert abs(float(cl_array.sum(d).get()) - float(x.sum())) < 1e-3 * float(x.sum())
print("right")
