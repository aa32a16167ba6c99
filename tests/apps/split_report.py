# SPDX-License-Identifier: Apache-2.0
"""Runs an application and reads from Tutti's summary which of its kernels were split."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path


def run(command, accepted=(0,), environment=None):
    """(output, the summary's kernels) of a command; ends the test when it fails."""
    with tempfile.TemporaryDirectory() as folder:
        summary = Path(folder, "summary.json")
        process = subprocess.run([str(word) for word in command], text=True, errors="replace",
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT,
                                 env={**os.environ, **(environment or {}),
                                      "TUTTI_SUMMARY": str(summary)})
        if process.returncode not in accepted:
            sys.exit(f"{' '.join(map(str, command))} ended with {process.returncode}\n"
                     f"{process.stdout[-20000:]}")
        if not summary.exists():
            sys.exit(f"{command[0]} did not run on Tutti:\n{process.stdout[-20000:]}")
        return process.stdout, json.loads(summary.read_text())["kernels"]


def run_natively(command, environment=None):
    """The output of a command on the first device of the vendor that TUTTI_VENDORS names, without
    Tutti; ends the test when it fails."""
    vendor = Path(os.environ["TUTTI_VENDORS"])
    with tempfile.TemporaryDirectory() as folder:  # some loaders take a folder only
        Path(folder, vendor.name).symlink_to(vendor)
        process = subprocess.run([str(word) for word in command], text=True, errors="replace",
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT,
                                 env={**os.environ, **(environment or {}), "POCL_DEVICES": "basic",
                                      "OCL_ICD_VENDORS": folder})
    if process.returncode:
        sys.exit(f"without Tutti, {' '.join(map(str, command))} ended with {process.returncode}\n"
                 f"{process.stdout[-20000:]}")
    return process.stdout


class Kernels:
    """The kernels of several runs."""

    def __init__(self):
        self.launches, self.split = {}, {}

    def add(self, entries):
        for entry in entries:
            name = entry["name"]
            self.launches[name] = self.launches.get(name, 0) + entry["launches"]
            self.split[name] = self.split.get(name, 0) + entry["split"]

    def check(self, at_least):
        """Says what was split. With TUTTI_SPLIT=force, at least so many kernels must have been."""
        names = sorted(name for name, count in self.split.items() if count)
        print(f"{len(names)} of {len(self.launches)} kernels split: {', '.join(names) or 'none'}")
        if sum(self.launches.values()) == 0:
            sys.exit("no kernel was launched")
        if os.environ.get("TUTTI_SPLIT") == "force" and len(names) < at_least:
            sys.exit(f"expected at least {at_least} kernels to be split")
