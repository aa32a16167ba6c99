#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""TUTTI_RECORD, `tutti record show` and `tutti replay`: what was recorded on two devices is replayed
on one and, split, on two, with identical results; another kernel gives other results; damage, a
folder that cannot be made and a full disk get a clear message. Random and hostile calls are
recorded like others.

usage: record_check.py TUTTI TUTTI-BENCH EDIT-RECORD API-FUZZ
The environment chooses two devices (cmake/TuttiTesting.cmake).
"""

import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

CLIENT = pathlib.Path(__file__).with_name("record_client.py")
THREADS = pathlib.Path(__file__).with_name("record_threads.py")

COPY = """
import numpy as np, pyopencl as cl
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
data = np.random.default_rng(1).integers(0, 256, 8 << 20, dtype=np.uint8)
buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, data.nbytes)
cl.enqueue_copy(queue, buffer, data[:1000])
cl.enqueue_copy(queue, buffer, data)
back = np.empty_like(data)
cl.enqueue_copy(queue, back, buffer)
assert (back == data).all()
"""


HOSTILE = r"""
import pyopencl as cl
context = cl.create_some_context(interactive=False)
program = cl.Program(context, "kernel void a(global int* x) { x[0] = 1; }").build()
try:
    cl.Kernel(program, "a\x1b[2Jb")
except cl.Error:
    pass
"""


ENDING = """
import ctypes, threading, pyopencl as cl
library = ctypes.CDLL("libOpenCL.so.1")
for _ in range(10):
    ended = threading.Event()
    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(lambda *_: ended.set())
    context = cl.create_some_context(interactive=False)
    handle = ctypes.c_void_p(context.int_ptr)
    assert library.clSetContextDestructorCallback(handle, callback, None) == 0
    queue = cl.CommandQueue(context)
    source = "kernel void a(global int* x) { for (int i = 0; i < 3000000; ++i) x[i % 1000] += i; }"
    kernel = cl.Program(context, source).build().a
    start = cl.UserEvent(context)
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, 4000)
    kernel.set_args(buffer)
    cl.enqueue_nd_range_kernel(queue, kernel, (1,), None, wait_for=[start])
    queue.flush()
    del buffer, kernel, queue, context
    start.set_status(cl.command_execution_status.COMPLETE)
    del start
    assert ended.wait(60), "the context has not ended"
"""


SHARED = """
import numpy as np, pyopencl as cl
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
shared = [cl.csvm_empty(context, 1000, np.int32) for _ in range(2)]
for array in shared:
    with cl.SVM(array).map_rw(queue) as mapped:
        mapped[:] = 7
"""


def run(command, limit=None, **environment):
    def limit_files():  # as a full disk: writes fail in their middle
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, preexec_fn=limit_files if limit else None,
                          env=dict(os.environ, **environment))


def expect(condition, message):
    if not condition:
        sys.exit(f"FAILED: {message}")


def replay(tool, folder, *options, code=0, **environment):
    ended = run([tool, "replay", "--json", *options, folder], **environment)
    expect(ended.returncode == code, f"{options} {environment}: {ended}")
    return json.loads(ended.stdout)


def check_same(tool, folder, least):
    summary = folder.with_suffix(".json")
    for options, environment in (((), {}), (("--devices", "0"), {}),
                                 (("--balancer", "dynamic:16", f"--summary={summary}"),
                                  {"TUTTI_SPLIT": "force"})):
        result = replay(tool, folder, *options, **environment)
        expect(result["compared"] >= least and result["equal"] == result["compared"], result)
        expect(result["not_recorded"] == 0 and not result["other_codes"], result)
        expect(sum(kernel["launches"] for kernel in result["kernels"]) > 0, result)
    kernels = json.loads(summary.read_text())["kernels"]
    expect(any(kernel["split"] > 0 for kernel in kernels), f"nothing was split: {kernels}")


def check_edited(tool, edit, folder, old, new):
    edited = folder.with_name(folder.name + "-edited")
    made = run([edit, folder, edited, old, old])
    expect(made.returncode == 0, made)
    expect(replay(tool, edited)["differences"] == [], "a mere copy differs")
    shutil.rmtree(edited)
    made = run([edit, folder, edited, old, new])
    expect(made.returncode == 0, made)
    differences = replay(tool, edited, code=1)["differences"]
    expect(differences and "clEnqueue" in differences[0]["text"], differences)
    ended = run([tool, "replay", edited])
    expect("differs: clEnqueue" in ended.stdout, ended)


def check_show(tool, folder):
    shown = run([tool, "record", "show", folder])
    expect(shown.returncode == 0 and "clEnqueueNDRangeKernel(queue" in shown.stdout
           and ", got 20000 bytes" not in shown.stdout and "  got 20000 bytes" in shown.stdout, shown)
    # Queries with what they answered.
    expect('clGetPlatformInfo(platform 1, CL_PLATFORM_NAME, 6, "Tutti", ' in shown.stdout, shown)
    # Flags by name, each number by what its place means.
    expect("clCreateBuffer(context" in shown.stdout and ", CL_MEM_READ" in shown.stdout, shown)
    line = next(line for line in shown.stdout.splitlines() if "clCreateProgramWithSource" in line)
    source = run([tool, "record", "show", "--source", line.split()[-1], folder])
    expect("kernel void scale" in source.stdout, source)
    expect(run([tool, "record", "show", "--source", "1", folder]).returncode == 2, "no program 1")
    listed = run([tool, "record", "show", "--sources", folder]).stdout
    expect(f" {line.split()[-1]}  source" in listed and "scale" in listed, listed)
    check_show_json(tool, folder, int(line.split()[-1]))
    # Never into what is there.
    again = run([tool, "record", "-o", folder, "--", "true"])
    expect(again.returncode == 2 and "is there already" in again.stderr, again)
    expect(run([tool, "record"]).returncode == 2, "no application")


def check_show_json(tool, folder, program):
    def shown(*options):
        ended = run([tool, "record", "show", "--json", *options, folder])
        expect(ended.returncode == 0, ended)
        return json.loads(ended.stdout)

    calls = shown()["calls"]
    expect([call["call"] for call in calls] == list(range(1, len(calls) + 1)), calls)
    launch = next(call for call in calls if call["name"] == "clEnqueueNDRangeKernel")
    expect(launch["duration_us"] > 0 and launch["text"].startswith("clEnqueueNDRangeKernel(queue"),
           launch)
    expect(any("20000 bytes" in (call.get("got") or "") for call in calls), "nothing was read")
    programs = shown("--sources")["programs"]
    expect(any(entry["program"] == program and "scale" in entry["kernels"] for entry in programs),
           programs)
    expect("kernel void scale" in shown("--source", str(program))["source"], "no source")


def check_hostile_names(tool, folder):
    """What a record holds is shown, and not obeyed by the terminal."""
    made = run([tool, "record", "-o", folder, "--", sys.executable, "-c", HOSTILE])
    expect(made.returncode == 0, made)
    for options in ((), ("--json",)):
        ended = run([tool, "record", "show", *options, folder])
        expect("[2Jb" in ended.stdout and "\x1b" not in ended.stdout, ended)


def check_damage(tool, folder):
    damaged = folder.with_name("damaged")
    shutil.copytree(folder, damaged)
    calls = (damaged / "calls.tutti").read_bytes()
    (damaged / "calls.tutti").write_bytes(calls[:-3])
    ended = run([tool, "replay", damaged])
    expect(ended.returncode == 0 and "is cut off at byte" in ended.stderr, ended)
    middle = len(calls) // 2
    (damaged / "calls.tutti").write_bytes(calls[:middle] + bytes([calls[middle] ^ 1]) +
                                          calls[middle + 1:])
    for command in (["replay"], ["record", "show"]):
        ended = run([tool, *command, damaged])
        expect(ended.returncode == 1 and "is damaged at byte" in ended.stderr, ended)
    (damaged / "calls.tutti").write_bytes(calls)
    content = (damaged / "content.tutti").read_bytes()
    (damaged / "content.tutti").write_bytes(content[:60] + bytes([content[60] ^ 1]) + content[61:])
    ended = run([tool, "replay", damaged])
    expect(ended.returncode == 1 and "is damaged" in ended.stdout + ended.stderr, ended)
    (damaged / "calls.tutti").write_bytes(b"something else")
    expect("is not a record" in run([tool, "replay", damaged]).stderr, "not a record")
    ended = run([tool, "replay", folder / "none"])
    expect(ended.returncode == 2 and "No such file" in ended.stderr, ended)


def check_fuzz(tool, fuzz, folder):
    """Neither the application nor its answers change, and the record can be read."""
    for options in (("--seed", "1", "--steps", "1500"),
                    ("--seed", "2", "--steps", "600", "--threads", "3")):
        record = folder / f"fuzz{options[1]}"
        ended = run([fuzz, *options], TUTTI_RECORD=str(record))
        expect(ended.returncode == 0, ended)
        shown = run([tool, "record", "show", record])
        expect(shown.returncode == 0 and shown.stdout.count("\n") > 500, shown.stderr)
        for name in ("clSetEventCallback(event", "clSetMemObjectDestructorCallback(memory",
                     "clGetDeviceInfo(device", " -> CL_INVALID_"):
            expect(name in shown.stdout, f"no {name} in {record}")


def check_endings(folder):
    """A context ends when its last command has, also if the application makes no call after it."""
    ended = run([sys.executable, "-B", "-W", "ignore", "-c", ENDING],
                TUTTI_RECORD=str(folder / "ending"))
    expect(ended.returncode == 0, ended)


def check_shared_memory(tool, folder):
    """It is not recorded, which is said once, and the application runs on."""
    record = folder / "shared"
    ended = run([sys.executable, "-B", "-W", "ignore", "-c", SHARED], TUTTI_RECORD=str(record))
    text = "shared virtual memory is not recorded"
    expect(ended.returncode == 0 and ended.stderr.count(text) == 1, ended)
    shown = run([tool, "record", "show", record])
    expect(shown.returncode == 0 and text in shown.stdout, shown)


def check_failures(tool, bench, folder):
    """The application runs on, and says why there is no record."""
    (folder / "file").write_text("")
    ended = run(bench, TUTTI_RECORD=str(folder / "file" / "record"))
    expect(ended.returncode == 0 and "nothing is recorded" in ended.stderr, ended)
    full = folder / "full"
    # No kernel: vendors' compilers write files too.
    ended = run([sys.executable, "-B", "-W", "ignore", "-c", COPY], limit=1 << 20,
                TUTTI_RECORD=str(full))
    expect(ended.returncode == 0 and "the record ends here" in ended.stderr, ended)
    ended = run([tool, "replay", full])
    expect(ended.returncode == 0 and "calls replayed" in ended.stdout, ended)


def main():
    tool, bench, edit, fuzz = sys.argv[1:5]
    bench = [bench, "--platform", "Tutti", "--repeat", "1", "--size", "256", "ray1"]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        ray, client = folder / "ray", folder / "client"
        ended = run(bench, TUTTI_RECORD=str(ray))
        expect(ended.returncode == 0 and ended.stderr == "", ended)
        check_same(tool, ray, 3)
        ended = run([sys.executable, "-B", "-W", "ignore", CLIENT], TUTTI_RECORD=str(client),
                    PYOPENCL_NO_CACHE="1")
        expect(ended.returncode == 0, ended)
        check_same(tool, client, 7)
        threads = folder / "threads"
        ended = run([sys.executable, "-B", "-W", "ignore", THREADS], TUTTI_RECORD=str(threads),
                    PYOPENCL_NO_CACHE="1")
        expect(ended.returncode == 0, ended)
        check_same(tool, threads, 16)
        check_fuzz(tool, fuzz, folder)
        check_endings(folder)
        check_shared_memory(tool, folder)
        check_edited(tool, edit, client, "*= by", "*= 1.5f * by")
        check_show(tool, client)
        check_hostile_names(tool, folder / "hostile")
        check_damage(tool, client)

        # A second process does not spoil what is there.
        ended = run(bench, TUTTI_RECORD=str(ray))
        expect(ended.returncode == 0 and "holds a record already" in ended.stderr, ended)
        expect(replay(tool, next(ray.glob("process-*")))["equal"] == 3, "the second record")
        expect(replay(tool, ray)["equal"] == 3, "the first record")
        check_failures(tool, bench, folder)
    print("recorded, replayed, compared")


if __name__ == "__main__":
    main()
