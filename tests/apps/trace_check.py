#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""TUTTI_TRACE on whole applications: what is in the trace, against the summary and what is known.

usage: trace_check.py bench|bytes|kill|unwritable|waits TUTTI BENCH
"""

import collections
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

from trace_reading import Trace, check_arrows, check_packages, check_rows, end, expect, read

IMAGES = r"""
import numpy as np
import pyopencl as cl
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
program = cl.Program(context, '''
kernel void paint(write_only image2d_t out, global const float* in) {
  int2 at = (int2)(get_global_id(0), get_global_id(1));
  write_imagef(out, at, (float4)(in[at.y * 64 + at.x]));
}
kernel void scaled(read_only image2d_t in, global float* out) {
  int2 at = (int2)(get_global_id(0), get_global_id(1));
  out[at.y * 64 + at.x] = 2.0f * read_imagef(in, at).x;
}
constant sampler_t edge = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE |
                          CLK_FILTER_NEAREST;
kernel void blur(read_only image2d_t in, global float* out) {
  int2 at = (int2)(get_global_id(0), get_global_id(1));
  float sum = 0;
  for (int dy = -2; dy <= 2; ++dy) sum += read_imagef(in, edge, at + (int2)(0, dy)).x;
  out[at.y * 64 + at.x] = sum;
}
''').build()
n = 64 * 96
values = np.arange(n, dtype=np.float32)
data = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4 * n)
cl.enqueue_copy(queue, data, values)
image = cl.Image(context, cl.mem_flags.READ_WRITE,
                 cl.ImageFormat(cl.channel_order.R, cl.channel_type.FLOAT), shape=(64, 96))
program.paint(queue, (64, 96), (8, 8), image, data)
program.scaled(queue, (64, 96), (8, 8), image, data)
found = np.empty(n, np.float32)
cl.enqueue_copy(queue, found, data)
assert (found == 2 * values).all()
pixels = np.empty((96, 64), np.float32)
cl.enqueue_copy(queue, pixels, image, origin=(0, 0), region=(64, 96))
assert (pixels.ravel() == values).all()
sent = cl.Image(context, cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR, image.format,
                shape=(64, 96), hostbuf=values.reshape(96, 64))
program.scaled(queue, (64, 96), (8, 8), sent, data)
fresh = cl.Image(context, cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR, image.format,
                 shape=(64, 96), hostbuf=values.reshape(96, 64))
program.blur(queue, (64, 96), (8, 8), fresh, data)
cl.enqueue_copy(queue, found, data)
rows = np.pad(values.reshape(96, 64), ((2, 2), (0, 0)), 'edge')
assert (found.reshape(96, 64) == sum(rows[i:i + 96] for i in range(5))).all()
"""
# Two queues. What each command must be said to have waited for stands beside it; a user event holds
# all of it back until everything is enqueued, so that nothing has ended before.
WAITS = r"""
import numpy as np
import pyopencl as cl
context = cl.create_some_context(interactive=False)
one, two = cl.CommandQueue(context), cl.CommandQueue(context)
program = cl.Program(context, '''
kernel void first(global float* a) { a[get_global_id(0)] += 1.0f; }
kernel void second(global const float* a, global float* b) {
  b[get_global_id(0)] = 2.0f * a[get_global_id(0)];
}
''').build()
n = 4096
a, b = (cl.Buffer(context, cl.mem_flags.READ_WRITE, 4 * n) for _ in range(2))
values, found = np.arange(n, dtype=np.float32), np.empty(n, np.float32)
begin = cl.UserEvent(context)                                                    # 1
written = cl.enqueue_copy(one, a, values, is_blocking=False, wait_for=[begin])   # 2: 1
first = program.first(one, (n,), (64,), a)                                       # 3: 2, order
second = program.second(two, (n,), (64,), a, b, wait_for=[first])                # 4: 3
both = cl.enqueue_marker(one, wait_for=[second])                                 # 5: 4; 3, order
read = cl.enqueue_copy(two, found, b, is_blocking=False, wait_for=[both])        # 6: 5; 4, order
one.flush()
two.flush()
begin.set_status(cl.command_execution_status.COMPLETE)
read.wait()
assert (found == 2 * (values + 1)).all()
late = cl.enqueue_copy(two, found, b, is_blocking=True, wait_for=[first])        # 7: 3, which has ended
"""
ROW = 64 * 4
PIXELS = 96 * ROW


def execute(command, trace, **environment):
    process = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             env=dict(os.environ, TUTTI_TRACE=str(trace), **environment))
    expect(process.returncode == 0, f"{command} ended with {process.returncode}\n"
           f"{process.stdout}{process.stderr}")
    return process.stderr


def report(tutti, trace):
    process = subprocess.run([tutti, "report", "--text", str(trace)], text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    expect(process.returncode == 0, process.stdout)
    return process.stdout


def compare_with_summary(trace, summary):
    launches = collections.defaultdict(list)
    for command in sorted(trace.decisions):
        launches[trace.decisions[command]["args"]["kernel"]].append(command)
    expect(launches.keys() == {kernel["name"] for kernel in summary["kernels"]},
           f"other kernels: {launches.keys()}")
    for kernel in summary["kernels"]:
        commands = launches[kernel["name"]]
        split = [c for c in commands if trace.decisions[c]["args"]["split"]]
        expect(len(commands) == kernel["launches"] and len(split) == kernel["split"],
               f"{len(split)} of {len(commands)} launches split, not as in {kernel}")
        if not split:
            continue
        decision = trace.decisions[split[-1]]["args"]
        for key in ("mode", "reason", "dimension"):
            expect(decision[key] == kernel[key], f"{key}: {decision[key]}, not {kernel[key]}")
        last = kernel["last"]["packages"]
        packages = trace.packages[split[-1]]
        expect(len(last) == len(packages), f"{len(packages)} packages, not {len(last)}")
        for found, known in zip(packages, last):
            for key in ("device", "first", "count"):
                expect(found["args"][key] == known[key], f"{found}, not {known}")
            # Where measured times overlap on one queue, the trace cuts them.
            expect(known["start_ns"] / 1000 - 1 <= found["ts"] and
                   end(found) <= known["end_ns"] / 1000 + 1, f"{found}, not {known}")


def bench(tutti, program, folder):
    """Splits, merges and whole launches on two devices."""
    trace_file, summary_file = folder / "trace.json", folder / "summary.json"
    execute([program, "--platform", "Tutti", "--size", "20011", "--repeat", "2", "scatter", "histogram",
         "scan", "groupsum"], trace_file, TUTTI_SUMMARY=str(summary_file))
    trace = Trace(read(trace_file, complete=True))
    check_rows(trace)
    check_packages(trace, complete=True)
    check_arrows(trace)
    compare_with_summary(trace, json.loads(summary_file.read_text()))
    lost, = (e["args"]["events"] for e in trace.events if e["name"] == "tutti_trace_lost")
    expect(lost == 0, f"{lost} events lost")
    merged = {e["args"]["command"] for e in trace.slices["merge"]}
    merging = {c for c, d in trace.decisions.items() if d["args"]["mode"] in ("atomic", "diff")}
    expect(merged == merging and merging, f"merges of {merged}, not of {merging}")
    expect(trace.slices["kernel"], "no whole launch")
    devices = {p["args"]["device"] for p in trace.slices["package"]}
    expect({0, 1} <= devices, f"packages on {devices}")
    calls = {e["name"] for e in trace.slices["api"]}
    expect({"clBuildProgram", "clEnqueueNDRangeKernel", "clFinish"} <= calls, f"only {calls}")
    text = report(tutti, trace_file)
    for name in ("scatter", "histogram", "scan_blocks", "groupsum"):
        expect(f"\n  {name}: " in text, f"{name} is not in\n{text}")


def check_bytes(tutti, _program, folder):
    """Images lie on each device apart, so that the bytes that must move are known."""
    trace_file = folder / "trace.json"
    execute([sys.executable, "-c", IMAGES], trace_file)
    trace = Trace(read(trace_file, complete=True))
    check_rows(trace)
    check_packages(trace, complete=True)
    check_arrows(trace)
    written = sum(e["args"]["bytes"] for e in trace.slices["host"] if e["name"] == "write")
    expect(written == PIXELS, f"{written} bytes written")
    read_back, passed_on, to_device, reasons = 0, 0, collections.Counter(), set()
    runs = trace.slices["package"] + trace.slices["kernel"]
    commands = sorted({run["args"]["command"] for run in runs})
    sent = collections.Counter()
    for event in trace.slices["transfer"]:
        arguments = event["args"]
        reasons.add((arguments["why"], arguments.get("kernel"), arguments.get("argument")))
        if arguments["command"] in commands[-2:]:
            if arguments["direction"] == "to_device":
                expect(arguments["argument"] == "in", f"it only gets its image: {event}")
                sent[arguments["command"]] += arguments["bytes"]
            continue
        if arguments["why"] == "read by the application":
            read_back += arguments["bytes"]
        elif arguments["direction"] == "to_host":
            passed_on += arguments["bytes"]
        elif arguments["direction"] == "to_device":
            to_device[arguments["device"]] += arguments["bytes"]
    # Each device gets the rows that its packages see: of a filter, two more on each side.
    expect(sent[commands[-2]] == PIXELS, f"{sent} bytes sent")
    packages = sum(run["args"]["command"] == commands[-1] for run in runs)
    expect(PIXELS <= sent[commands[-1]] <= PIXELS + 4 * ROW * (packages - 1), f"{sent} bytes sent")
    # What paint wrote is read once; each device that reads a part gets no more than the other
    # device's part, straight from there.
    painted = collections.Counter()
    for run in runs:
        if run["args"]["kernel"] == "paint":
            painted[run["args"]["device"]] += run["args"].get("count", 1)
    expect(painted, "paint did not run")
    # What passed through the host on its way to another device need not be read once more.
    expect(PIXELS - passed_on <= read_back <= PIXELS, f"{read_back} of {PIXELS} bytes read: {reasons}")
    # What is fetched for a device that then comes too late for a package does not reach it.
    expect(sum(to_device.values()) <= passed_on, f"{passed_on} bytes left a device: {to_device}")
    for device, moved in to_device.items():
        expect(moved <= PIXELS - painted[device] * PIXELS // sum(painted.values()),
               f"{moved} bytes to device {device}, which painted {painted}")
    expect(("used by a kernel", "scaled", "in") in reasons, f"why: {reasons}")
    text = report(tutti, trace_file)
    expect(all(f": {why}" in text for why, _, _ in reasons), f"not all of {reasons} in\n{text}")


def waits(tutti, _program, folder):
    """Who waited for whom, as the application enqueued it."""
    trace_file = folder / "trace.json"
    execute([sys.executable, "-c", WAITS], trace_file)
    notes = collections.defaultdict(dict)
    for event in read(trace_file, complete=True):
        if event["name"] == "tutti_command":
            for key, value in event["args"].items():
                notes[event["args"]["command"]].setdefault(key, value)
    expect([notes[i].get("what") for i in range(1, 8)] ==
           ["user event", "write", "kernel", "kernel", "marker", "read", "read"], notes)
    named = {1: None, 2: [1], 3: None, 4: [3], 5: [4], 6: [5], 7: [3]}
    order = {2: None, 3: [2], 4: None, 5: [3], 6: [4], 7: None}
    for command, expected in named.items():
        expect(notes[command].get("named") == expected, f"{command}: {notes[command]}")
    for command, expected in order.items():
        expect(notes[command].get("order") == expected, f"{command}: {notes[command]}")
    expect(notes[3]["kernel"] == "first" and notes[4]["kernel"] == "second", notes)
    expect(notes[3]["queue"] == notes[5]["queue"] != notes[4]["queue"] == notes[6]["queue"], notes)
    process = subprocess.run([tutti, "report", "--json", str(trace_file)], text=True, check=True,
                             stdout=subprocess.PIPE)
    numbers = json.loads(process.stdout)
    expect(numbers["lost"] == 0 and numbers["complete"], numbers)
    told = {c["command"]: {(w["command"], w["why"]) for w in c["waited_for"]}
            for c in numbers["commands"]}
    expect(told[5] == {(4, "event"), (3, "order")}, told)
    ended = {c["command"]: c["end_ns"] for c in numbers["commands"]}
    began = {c["command"]: c["begin_ns"] for c in numbers["commands"]}
    expect(ended[3] <= began[4] + 1000, f"second began before first had ended: {numbers}")
    expect({c["command"] for c in numbers["commands"] if c["critical"]} >= {3, 7}, numbers)


def kill(tutti, program, folder):
    """What was traced before an application is killed can be read."""
    trace_file = folder / "trace.json"
    process = subprocess.Popen([program, "--platform", "Tutti", "--size", "501", "--repeat",
                                "1000000", "mandelbrot"], stdout=subprocess.DEVNULL,
                               env=dict(os.environ, TUTTI_TRACE=str(trace_file)))
    while process.poll() is None:
        if trace_file.exists() and trace_file.read_text().count('"cat":"package"') > 20:
            break
    expect(process.poll() is None, f"{program} ended with {process.returncode}")
    process.send_signal(signal.SIGKILL)
    process.wait()
    trace = Trace(read(trace_file, complete=False))
    expect(len(trace.slices["package"]) >= 7, f"{len(trace.slices['package'])} packages")
    check_rows(trace)
    check_packages(trace, complete=False)
    text = report(tutti, trace_file)
    expect("The trace breaks off" in text and "\n  mandelbrot: " in text, text)
    # Cut anywhere it can be read as well.
    content = trace_file.read_bytes()
    for cut in (0.9, 0.7, 0.5):
        trace_file.write_bytes(content[:int(len(content) * cut)])
        expect("The trace breaks off" in report(tutti, trace_file), f"cut at {cut}")


def unwritable(_tutti, program, folder):
    """A trace that cannot be written costs a warning."""
    command = [program, "--platform", "Tutti", "--size", "1003", "groupsum"]
    for target, message in ((folder / "no/trace.json", "No such file or directory"),
                            ("/dev/full", "No space left on device")):
        text = execute(command, target)
        expect(f"TUTTI_TRACE={target}: {message}" in text and "the application runs on" in text,
               text)


CASES = {"bench": bench, "bytes": check_bytes, "kill": kill, "unwritable": unwritable,
         "waits": waits}

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        CASES[sys.argv[1]](sys.argv[2], sys.argv[3], pathlib.Path(name))
    print(f"{sys.argv[1]}: as expected")
