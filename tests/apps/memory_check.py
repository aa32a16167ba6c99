#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An application whose arrays do not fit into a device's memory all at once.

Starts itself under a limit (TUTTI_MEMORY) that two of its ten arrays fill, and compares with numpy:
as it is by itself, and with shards, where log, summary, trace and report must tell the same.
The environment chooses the devices (cmake/TuttiTesting.cmake); a preloaded library makes their memory
look apart from the host's.

usage: memory_check.py LIBRARY TUTTI
"""

import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from trace_reading import Failure, Trace, check_rows, expect, read

ARRAYS = 10
ELEMENTS = 2 * 1024 * 1024 + 3  # 8 MiB
LIMIT = 17  # MiB
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


def execute(library, **environment):
    """The log of the application."""
    environment = dict(os.environ, TUTTI_MEMORY=str(LIMIT), LD_PRELOAD=library, **environment)
    ended = subprocess.run([sys.executable, __file__, "application"], env=environment, text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    expect(ended.returncode == 0 and "all arrays right" in ended.stdout,
           f"{ended.stdout}{ended.stderr[-4000:]}")
    return ended.stderr


def compare(log, summary, trace, report):
    """Of each device: what the four say of its memory."""
    check_rows(trace)
    counters = collections.defaultdict(list)
    for event in sorted((e for e in trace.events if e["ph"] == "C"), key=lambda e: e["ts"]):
        counters[event["pid"]].append(event["args"]["bytes"])
    process = {e["args"]["device"]: e["args"]["row"] for e in trace.events if e["name"] == "tutti_device"}
    evictions = shards = 0
    for device, reported in zip(summary["devices"], report["devices"]):
        index = device["index"]
        expect(reported["index"] == index, f"device {reported['index']}, not {index}")
        memory = reported["memory"]
        values = counters[process[index]]
        expect(0 < max(values, default=0) == device["memory_peak"] == memory["peak"],
               f"peaks of {device}, {memory}, {values}")
        expect(device["memory_peak"] <= LIMIT << 20, f"more than {LIMIT} MiB of {device}")
        expect(len(set(values)) > 2 and len(values) < 2000, f"bytes over time: {values}")
        drawn = memory["bytes"]
        expect(drawn[0] == 0 and drawn[-2] == report["duration_ns"] and max(drawn[1::2]) == max(values),
               f"the curve of {memory}")
        for name, count, size in (("eviction", "evictions", "evicted_bytes"),
                                  ("shard", "shard_changes", "shard_bytes")):
            told = [e["args"]["bytes"] for e in trace.slices["memory"]
                    if e["name"] == name and e["args"]["device"] == index]
            expect(len(told) == device[count] == memory[count], f"{told}, {device}, {memory}")
            expect(sum(told) == device[size] == memory[size], f"{told}, {device}, {memory}")
        expect(len(memory["eviction_times"]) == device["evictions"], memory)
        evictions += device["evictions"]
        shards += device["shard_changes"]
    expect(evictions == log.count("is full: "), f"{evictions} evictions, not as in\n{log[-4000:]}")
    return evictions, shards


def main():
    if sys.argv[1] == "application":
        return application()
    library, tutti = sys.argv[1:3]
    evictions = execute(library, TUTTI_LOG="info").count("is full: ")
    expect(evictions > 0, "nothing was evicted")
    print(f"{evictions} buffers went back to the host")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        summary, trace = folder / "summary.json", folder / "trace.json"
        log = execute(library, TUTTI_LOG="info", TUTTI_SPLIT="force", TUTTI_SHARDS="always",
                      TUTTI_SUMMARY=str(summary), TUTTI_TRACE=str(trace))
        report = subprocess.run([tutti, "report", "--json", str(trace)], text=True, check=True,
                                stdout=subprocess.PIPE).stdout
        evictions, shards = compare(log, json.loads(summary.read_text()),
                                    Trace(read(trace, complete=True)), json.loads(report))
        expect(evictions > 0, "with shards nothing was evicted")
        several = os.environ.get("POCL_DEVICES", "").count(" ") > 0
        expect((shards > 0) == several, f"{shards} shards")
        print(f"with shards: {evictions}, and {shards} shards were made or changed")


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"FAILED: {failure}")
