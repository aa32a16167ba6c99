#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Devices in processes of their own that are killed, or stopped, while they compute: every round of
the program ends right or told, none hangs, and the device computes again; helpers end with the application,
however that ends.

usage: killed_helpers.py --build BUILD
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import time

from rounds_program import ROUND_SECONDS, RoundsProgram

BACK_SECONDS = 60  # a device is tried again after a second, then at twice the interval


class Application(RoundsProgram):
    """The program on `devices` of PoCL, each in a process of its own. Helpers are known by the
    driver's path, which no other run has."""

    def __init__(self, build, folder, devices, deadline=0):
        super().__init__(build, folder, TUTTI_ISOLATE="all", TUTTI_DEADLINE=str(deadline),
                         POCL_DEVICES=devices,
                         POCL_CACHE_DIR=str(build / "tests/cache/pocl-one"))
        # PoCL finds its own files beside its library.
        (self.folder / "lib").symlink_to(pocl_library().parent)
        self.library = self.folder / "lib" / pocl_library().name
        self.environment["TUTTI_VENDORS"] = str(self.library)
        self.start()

    def helpers(self):
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"tutti-device" in words[0] and str(self.library).encode() in words:
                found.append(int(entry.name))
        return sorted(found)

    def lost(self):
        return self.logged(" is lost (")

    def back(self):
        return self.logged(" works again ")


def pocl_library():
    for line in pathlib.Path("/etc/OpenCL/vendors/pocl.icd").read_text().splitlines():
        for folder in ("", "/usr/lib/x86_64-linux-gnu/", "/usr/lib/", "/usr/local/lib/"):
            if os.path.isabs(folder + line) and os.path.exists(folder + line):
                return pathlib.Path(folder + line)
    sys.exit("PoCL is not installed")


def gone(application, pids):
    """Whether those helpers have ended, which takes a moment."""
    until = time.monotonic() + ROUND_SECONDS
    while set(pids) & set(application.helpers()):
        if time.monotonic() > until:
            return False
        os.sched_yield()
    return True


def rounds(application, wanted, limit=BACK_SECONDS):
    """Lets rounds go by until so many in a row are right. What is wrong, or None."""
    right, until = 0, time.monotonic() + limit
    while right < wanted:
        line = application.line()
        if line is None:
            return "hangs, or has ended"
        if line == "right":
            right += 1
        elif line.startswith("told"):
            right = 0
        else:
            return line
        if time.monotonic() > until:
            return "does not come back"
    return None


def killed(build, folder, devices, choose, seed, number=signal.SIGKILL, deadline=0):
    """A part of the helpers gets a signal at some moment of a round; then at another one."""
    application = Application(build, folder, devices, deadline)
    chance = random.Random(seed)
    try:
        for _ in range(2):
            wrong = rounds(application, 3)
            if wrong:
                return wrong
            before, back = application.helpers(), application.back()
            until = time.monotonic() + chance.random() * 0.02
            while time.monotonic() < until:
                pass
            for pid in choose(before):
                os.kill(pid, number)
            # Until what was lost takes part again: some rounds are right without.
            until = time.monotonic() + BACK_SECONDS
            while not 0 < application.lost() == application.back() > back:
                if time.monotonic() > until:
                    return "no device comes back"
                line = application.line()
                if line is None or not (line == "right" or line.startswith("told")):
                    return line or "hangs, or has ended"
            wrong = rounds(application, 5)
            if wrong:
                return wrong
        helpers = application.helpers()
        status = application.end()
        if status != 0:
            return f"status {status}"
        if not gone(application, helpers):
            return "helpers outlive it"
        told = json.loads(application.summary.read_text())["devices"]
        if not all(device["own_process"] for device in told):
            return "the summary does not tell of processes"
        if sum(device["losses"] for device in told) < 2 or any(d["lost"] for d in told):
            return f"the summary tells something else: {told}"
        return None
    finally:
        application.process.kill()


def application_ends(build, folder, number):
    """The helpers end with an application that is ended by a signal, also where it has a child."""
    application = Application(build, folder, "basic basic")
    try:
        wrong = rounds(application, 2)
        if wrong:
            return wrong
        helpers = application.helpers()
        if len(helpers) != 4:
            return f"{len(helpers)} helpers"
        application.process.send_signal(number)
        application.process.wait(ROUND_SECONDS)
        return None if gone(application, helpers) else "helpers outlive it"
    finally:
        application.process.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    build = parser.parse_args().build.resolve()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tutti-isolation-"))
    # Of each pair of processes the later one works, the other one tells how that ends.
    cases = {
        "two devices, one works": ("basic basic", lambda all: all[1:2]),
        "two devices, one's teller": ("basic basic", lambda all: all[:1]),
        "two devices, all of one": ("basic basic", lambda all: all[2:4]),
        "two devices, all": ("basic basic", lambda all: all),
        "one device": ("basic", lambda all: all[1:2]),
        # One that does not answer any more.
        "two devices, one is stopped": ("basic basic", lambda all: all[1:2], signal.SIGSTOP, 2),
        "one device, is stopped": ("basic", lambda all: all[1:2], signal.SIGSTOP, 2),
    }
    failed = 0
    try:
        for seed, (name, (devices, choose, *how)) in enumerate(cases.items()):
            wrong = killed(build, folder, devices, choose, seed, *how)
            failed += wrong is not None
            print(f"{name}: {wrong or 'ok'}", flush=True)
        for number in (signal.SIGKILL, signal.SIGTERM):
            wrong = application_ends(build, folder, number)
            failed += wrong is not None
            print(f"the application ends by {number.name}: {wrong or 'ok'}", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
