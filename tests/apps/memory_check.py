#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An application whose arrays do not fit into a device's memory all at once.

Starts itself under a limit (TUTTI_MEMORY) that two of its ten arrays fill, and compares with numpy.
The environment chooses the devices (cmake/TuttiTesting.cmake); a preloaded library, the argument,
makes their memory look apart from the host's.
"""

import os
import subprocess
import sys

ARRAYS = 10
ELEMENTS = 2 * 1024 * 1024 + 3  # 8 MiB
SOURCE = """
kernel void blend(global const uint *a, global uint *b, uint c) {
  const size_t i = get_global_id(0);
  b[i] = b[i] * 5u + a[i] + c;
}
"""


def application():
    import numpy as np
    import pyopencl as cl

    platform = next(p for p in cl.get_platforms() if p.name == "Tutti")
    context = cl.Context(platform.get_devices())
    queue = cl.CommandQueue(context)
    blend = cl.Program(context, SOURCE).build().blend
    random = np.random.default_rng(7)
    arrays = [random.integers(0, 2**32, ELEMENTS, dtype=np.uint32) for _ in range(ARRAYS)]
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    buffers = [cl.Buffer(context, flags, hostbuf=array) for array in arrays]
    for step in range(30):
        a, b = random.choice(ARRAYS, 2, replace=False)
        blend(queue, (ELEMENTS,), None, buffers[a], buffers[b], np.uint32(step))
        arrays[b] = arrays[b] * np.uint32(5) + arrays[a] + np.uint32(step)
        if step % 10 == 9:
            a, b = random.choice(ARRAYS, 2, replace=False)
            cl.enqueue_copy(queue, buffers[b], buffers[a])
            arrays[b] = arrays[a].copy()
    for number, (buffer, array) in enumerate(zip(buffers, arrays)):
        found = np.empty_like(array)
        cl.enqueue_copy(queue, found, buffer)
        wrong = np.flatnonzero(found != array)
        if wrong.size:
            sys.exit(f"FAILED: array {number}: {wrong.size} elements differ, the first at {wrong[0]}")
    print("all arrays right")


def main():
    if sys.argv[1] == "application":
        return application()
    environment = dict(os.environ, TUTTI_MEMORY="17", TUTTI_LOG="info", LD_PRELOAD=sys.argv[1])
    ended = subprocess.run([sys.executable, __file__, "application"], env=environment, text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if ended.returncode != 0 or "all arrays right" not in ended.stdout:
        sys.exit(f"FAILED: {ended.stdout}{ended.stderr[-4000:]}")
    evictions = ended.stderr.count("is full: ")
    if evictions == 0:
        sys.exit(f"FAILED: nothing was evicted\n{ended.stderr[-4000:]}")
    print(f"{evictions} buffers went back to the host")


if __name__ == "__main__":
    main()
