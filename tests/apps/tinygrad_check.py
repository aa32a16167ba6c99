#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tinygrad's tests of the basics, which its source archive brings, from the package index.

usage: tinygrad_check.py FOLDER LEAST_SPLIT      keeps the archive in FOLDER
"""

import sys
import tarfile
import tempfile
from pathlib import Path

import package_index
import split_report

VERSION = "0.14.0"
ARCHIVE = f"tinygrad-{VERSION}.tar.gz"
SHA256 = "437be6bb7481ec26e332e4f4342f6ea09e41258e62c5c09f4a9ed7aeb7829a07"


def main():
    archive = package_index.fetch(Path(sys.argv[1]), "tinygrad", ARCHIVE, SHA256)
    with tempfile.TemporaryDirectory() as temporary:
        with tarfile.open(archive) as tar:
            tar.extractall(temporary)
        folder = Path(temporary, ARCHIVE.removesuffix(".tar.gz"))
        # Its cache of compiled kernels must not hide builds.
        text, entries = split_report.run(
            [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider",
             # Searches for the fastest kernel compile too many of them.
             "-k", "not beam", f"--rootdir={folder}", folder / "test" / "test_tiny.py"],
            environment={"PYTHONPATH": str(folder), "DEV": "CL",
                         "XDG_CACHE_HOME": str(Path(temporary, "cache"))})
    print(text.strip())
    kernels = split_report.Kernels()
    kernels.add(entries)
    kernels.check(int(sys.argv[2]))


if __name__ == "__main__":
    main()
