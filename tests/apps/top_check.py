#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tutti top` beside a program that runs, and what it makes of files that are stale or damaged.

usage: top_check.py live|files|off|terminal TUTTI BENCH
"""

import json
import os
import pathlib
import pty
import select
import signal
import stat
import subprocess
import sys
import tempfile


def expect(condition, message):
    if not condition:
        raise SystemExit(message)


def environment(folder):
    runtime = folder / "runtime"
    runtime.mkdir(exist_ok=True)
    return dict(os.environ, XDG_RUNTIME_DIR=str(runtime))


class Bench:
    """A program that launches one kernel again and again until the block ends."""

    def __init__(self, program, around):
        self.process = subprocess.Popen(
            [program, "--platform", "Tutti", "--size", "501", "--repeat", "1000000", "mandelbrot"],
            stdout=subprocess.DEVNULL, env=around)

    def __enter__(self):
        return self.process

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def top(tutti, around, *options):
    process = subprocess.run([tutti, "top", "--interval", "0.3", *options], text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=around,
                             stdin=subprocess.DEVNULL)
    expect(process.returncode == 0, f"ended with {process.returncode}: {process.stdout}")
    return process.stdout


def until_busy(tutti, around, bench):
    """What top says of the program once it computes; the program says when it is not there."""
    while True:
        expect(bench.poll() is None, f"the program ended with {bench.returncode}")
        found = [p for p in json.loads(top(tutti, around, "--once", "--json"))["processes"]
                 if p["process"] == bench.pid]
        if found and any(d["kernels"] and d["busy"] > 0 for d in found[0]["devices"]):
            return found[0]


def files_of(around):
    return sorted((pathlib.Path(around["XDG_RUNTIME_DIR"]) / "tutti").iterdir())


def live(tutti, program, folder):
    around = environment(folder)
    with Bench(program, around) as bench:
        found = until_busy(tutti, around, bench)
        expect(found["program"] == "tutti-bench", found)
        for device in found["devices"]:
            expect(0 <= device["busy"] <= 1 and device["commands_per_second"] >= 0, device)
            for kernel in device["kernels"]:
                expect(kernel["name"] == "mandelbrot", kernel)
        # A pipe gets one picture, without anything a terminal would obey.
        text = top(tutti, around)
        expect("mandelbrot" in text and f"{bench.pid}  tutti-bench" in text and "\x1b" not in text,
               text)
        file, = files_of(around)
        expect(stat.S_IMODE(file.stat().st_mode) == 0o600, file)
        expect(stat.S_IMODE(file.parent.stat().st_mode) == 0o700, file.parent)
        expect(file.stat().st_size < 1 << 16, f"{file.stat().st_size} bytes")
        # Nothing of a process that has been killed is shown, and what it left goes.
        bench.send_signal(signal.SIGKILL)
        bench.wait()
        expect(file.exists(), "a killed process cannot remove its file")
        expect(json.loads(top(tutti, around, "--once", "--json"))["processes"] == [], "a ghost")
        expect(not file.exists(), f"{file} is still there")
    subprocess.run([program, "--platform", "Tutti", "--size", "501", "groupsum"], check=True,
                   stdout=subprocess.DEVNULL, env=around)
    expect(files_of(around) == [], "a process that ends removes its file")


def files(tutti, program, folder):
    """Whatever lies in the folder, top ends well and shows what is true."""
    around = environment(folder)
    with Bench(program, around) as bench:
        until_busy(tutti, around, bench)
        file, = files_of(around)
        name = b"mandelbrot\0"
        own = f"{os.getpid()}-{start_ticks(os.getpid())}"
        folder_of = file.parent

        def of_this_process(content):
            """As if this process published it: its number and start time, in the file's layout."""
            mine = bytearray(content)
            mine[36:40] = b"\0" * 4
            mine[32:36] = os.getpid().to_bytes(4, sys.byteorder)
            mine[40:48] = start_ticks(os.getpid()).to_bytes(8, sys.byteorder)
            return bytes(mine)

        def shown(content):
            (folder_of / own).write_bytes(content)
            return [p for p in json.loads(top(tutti, around, "--once", "--json"))["processes"]
                    if p["process"] == os.getpid()]

        # A file that does not change tells of a kernel only if one was under way when it was copied.
        while True:
            good = file.read_bytes()
            mine = of_this_process(good)
            found = shown(mine)
            expect(found, "this process is not shown: the test knows another layout")
            if any(device["kernels"] for device in found[0]["devices"]):
                break
            expect(bench.poll() is None, f"the program ended with {bench.returncode}")
        evil = mine.replace(name, b"a\x1b[2Jb\xff\n\0\0\0")
        expect(evil != mine, "there is no name to spoil")
        expect(shown(evil), "a name's characters hide a process")
        text = top(tutti, around, "--once")
        expect("\x1b" not in text and "a?[2Jb??" in text, text)
        expect(not shown(mine)[0]["devices"][0]["lost"], "a device that works is lost")
        lost = bytearray(mine)
        lost[int.from_bytes(mine[12:16], sys.byteorder) + 8] = 1
        expect(shown(bytes(lost))[0]["devices"][0]["lost"], "a lost device is not shown")
        expect("takes no part" in top(tutti, around, "--once"), "the picture hides a lost device")
        for size in (0, 1, 7, 255, 256, 300, len(good) - 1):
            expect(not shown(mine[:size]), f"cut to {size} bytes it is believed")
        for at in range(0, 256, 4):  # each number of the header at its worst
            for number in (b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xff\xff\xff\x7f"):
                spoilt = bytearray(mine)
                spoilt[at:at + 4] = number
                (folder_of / f"{own}").write_bytes(spoilt)
                if at % 32 == 0:
                    top(tutti, around, "--once", "--json")
        for content in (os.urandom(len(good)), good[:256] + os.urandom(len(good) - 256),
                        b"\0" * len(good), b"\xff" * len(good)):
            shown(content)
        # Of a process that is gone; of none; no file at all.
        (folder_of / own).unlink()
        gone = subprocess.Popen(["true"])
        gone.wait()
        stale = folder_of / f"{gone.pid}-1"
        stale.write_bytes(good)
        (folder_of / "1-").write_bytes(b"x")
        (folder_of / "notes").write_text("of somebody else")
        os.mkfifo(folder_of / "7-7x")
        (folder_of / "link").symlink_to("/etc/passwd")
        (folder_of / "dir").mkdir()
        found = json.loads(top(tutti, around, "--once", "--json"))["processes"]
        expect([p["process"] for p in found] == [bench.pid], found)
        expect(not stale.exists(), "a stale file is still there")
        expect((folder_of / "notes").exists(), "somebody else's file is gone")
        expect(bench.poll() is None, "the program has suffered")


def start_ticks(process):
    text = pathlib.Path(f"/proc/{process}/stat").read_text()
    return int(text.rpartition(")")[2].split()[19])


def off(tutti, program, folder):
    around = environment(folder)
    for how in ({"TUTTI_TOP": "off"}, {"XDG_RUNTIME_DIR": "/dev/null"}):
        subprocess.run([program, "--platform", "Tutti", "--size", "501", "groupsum"], check=True,
                       stdout=subprocess.DEVNULL, env=dict(around, **how))
    expect(not (folder / "runtime/tutti").exists(), "it was published all the same")
    # Nor where the folder is open to others.
    own = folder / "runtime/tutti"
    own.mkdir(mode=0o755)
    subprocess.run([program, "--platform", "Tutti", "--size", "501", "groupsum"], check=True,
                   stdout=subprocess.DEVNULL, env=around)
    expect(list(own.iterdir()) == [], "published where others may look")


def terminal(tutti, _program, folder):
    """On a terminal it redraws until q, and puts back what was there, also after a signal."""
    around = dict(environment(folder), TERM="xterm")
    for end in (b"q", signal.SIGTERM):
        process, screen = pty.fork()
        if process == 0:
            os.execve(tutti, [tutti, "top", "--interval", "0.1"], around)
        seen = b""
        sent = False
        while True:
            ready, _, _ = select.select([screen], [], [], 60)
            expect(ready, f"nothing more comes after {seen}")
            try:
                piece = os.read(screen, 65536)
            except OSError:  # the other side is gone
                break
            if not piece:
                break
            seen += piece
            if not sent and seen.count(b"q ends") >= 3:
                sent = True
                os.write(screen, end) if isinstance(end, bytes) else os.kill(process, end)
        _, status = os.waitpid(process, 0)
        code = os.waitstatus_to_exitcode(status)
        expect(code == (0 if end == b"q" else 128 + signal.SIGTERM), f"ended with {code}")
        expect(seen.index(b"\x1b[?1049h") < seen.rindex(b"\x1b[?25h\x1b[?1049l"), seen)
        os.close(screen)


CASES = {"live": live, "files": files, "off": off, "terminal": terminal}

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        CASES[sys.argv[1]](sys.argv[2], sys.argv[3], pathlib.Path(name))
    print(f"{sys.argv[1]}: as expected")
