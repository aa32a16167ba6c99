# SPDX-License-Identifier: Apache-2.0
"""The program that computes round after round while its devices are taken away from it
(killed_helpers.cpp), for killed_helpers.py and tests/nodes/nodes.py."""

import os
import pathlib
import select
import subprocess
import tempfile
import time

ROUND_SECONDS = 60  # a round that takes longer hangs


class RoundsProgram:
    """It runs in a folder of its own; `settings` are of its environment."""

    def __init__(self, build, folder, **settings):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=folder))
        self.summary, self.log = self.folder / "summary.json", self.folder / "log"
        self.environment = dict(
            os.environ, OCL_ICD_VENDORS=str(build / "etc/OpenCL/vendors"), OCL_ICD_FILENAMES="",
            TUTTI_CONFIG=str(self.folder / "none.toml"), TUTTI_CACHE=str(folder / "cache"),
            TUTTI_MODEL="process", TUTTI_TOP="off", TUTTI_SPLIT="force",
            TUTTI_SUMMARY=str(self.summary), TUTTI_LOG=f"warning:{self.log}", **settings)
        (self.folder / "none.toml").write_text("")
        self.program, self.process, self.rest = build / "bin/tutti-killed-helpers", None, b""

    def start(self):
        self.process = subprocess.Popen([self.program], env=self.environment,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def line(self, seconds=ROUND_SECONDS):
        """The next round's line; None: it hangs, or has ended."""
        until = time.monotonic() + seconds
        while b"\n" not in self.rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                return None
            block = os.read(self.process.stdout.fileno(), 4096)
            if not block:
                return None
            self.rest += block
        line, _, self.rest = self.rest.partition(b"\n")
        return line.decode()

    def logged(self, text):
        """How often the log says it."""
        return self.log.read_text().count(text) if self.log.exists() else 0

    def end(self):
        self.process.stdin.close()
        while self.line() is not None:
            pass
        return self.process.wait(ROUND_SECONDS)
