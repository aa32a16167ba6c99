#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Commands show on a terminal what they are busy with, take it away again, and are quiet in a pipe;
an application that runs on Tutti, also with TUTTI_VERIFY, shows nothing but its own.

usage: progress_check.py TUTTI TUTTI-BENCH API-FUZZ
"""

import os
import pty
import subprocess
import sys
import tempfile
import threading

LINE = b"\r\x1b[K"  # what a line on a terminal begins with
KERNEL = "kernel void k(global int* o) { o[get_global_id(0)] = 1; }\n"


def expect(condition, message):
    if not condition:
        sys.exit(f"FAILED: {message}")


def run(command, **environment):
    """Exit status and stderr, which is a pipe; stdout is left out."""
    ended = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                           stdin=subprocess.DEVNULL, env=dict(os.environ, **environment))
    return ended.returncode, ended.stderr


def run_on_terminal(command, **environment):
    """The same with a terminal for stderr."""
    ours, theirs = pty.openpty()
    shown = []

    def read():
        try:
            while data := os.read(ours, 4096):
                shown.append(data)
        except OSError:  # the last one has closed it
            pass

    reader = threading.Thread(target=read)
    reader.start()
    ended = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=theirs,
                           stdin=subprocess.DEVNULL, env=dict(os.environ, **environment))
    os.close(theirs)
    reader.join()
    os.close(ours)
    return ended.returncode, b"".join(shown)


def check(command, wanted):
    status, text = run_on_terminal(command)
    expect(status == 0, f"{command} on a terminal: {status}, {text}")
    expect(LINE + wanted in text, f"{command} does not show {wanted} on a terminal, but {text}")
    last = text.rindex(LINE)
    expect(text[last + len(LINE):].split(b"\n")[0].strip() == b"" or b"\n" in text[last:],
           f"{command} leaves its line behind: {text}")
    expect(LINE + b"\r" in text, f"{command} does not take its line away: {text}")
    status, text = run(command)
    expect(status == 0 and b"\x1b" not in text and b"\r" not in text,
           f"{command} is not quiet in a pipe: {status}, {text}")


def main():
    tool, bench, fuzz = sys.argv[1:]
    application = [bench, "--platform", "Tutti", "--size", "1000", "--repeat", "1", "saxpy"]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("k.cl", "w", encoding="utf-8") as file:
            file.write(KERNEL)
        status, _ = run(application, TUTTI_RECORD="record", TUTTI_TRACE="t.json")
        expect(status == 0, "the application")
        check([tool, "explain", "k.cl"], b"compiling k.cl")
        check([tool, "replay", "record"], b"calls: 0 of ")
        check([tool, "report", "t.json"], b"reading t.json")
        check([tool, "simulate", "--devices", "2", "--slices", "100"], b"2 devices, static")
        check([fuzz, "--seed", "1", "--steps", "20"], b"steps: 0 of 20")
        # The driver is a guest: the terminal is the application's.
        for command, environment in ((application, {"TUTTI_VERIFY": "1", "TUTTI_SPLIT": "force"}),
                                     ([tool, "run", "--summary", "--", *application], {})):
            status, text = run_on_terminal(command, **environment)
            expect(status == 0 and b"\x1b" not in text,
                   f"{command} {environment}: {status}, {text}")
    print("shown on terminals, quiet in pipes")


if __name__ == "__main__":
    main()
