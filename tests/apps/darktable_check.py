#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""darktable-cltest: builds all of darktable's kernels, most of which read and write images, and times
a few.

usage: darktable_check.py DARKTABLE_CLTEST
"""

import re
import sys
import tempfile

import split_report


def main():
    with tempfile.TemporaryDirectory() as home:
        # darktable passes over CPU devices, and remembers what it saw in its home.
        text, entries = split_report.run(
            [sys.argv[1]], environment={"HOME": home, "XDG_CACHE_HOME": home + "/cache",
                                        "XDG_CONFIG_HOME": home + "/config",
                                        "TUTTI_DEVICE_TYPE": "gpu"})
    if not re.search(r"'Tutti \(.*", text):
        sys.exit(f"darktable did not see Tutti:\n{text}")
    compiled = text.count("trying to compile source")
    for failure in ("could not build program", "failed to compile", "build log"):
        for line in text.splitlines():
            if failure in line.lower() and "success" not in line.lower():
                sys.exit(f"a program was not built: {line}\n{text}")
    if "OpenCL successfully initialized" not in text or not compiled:
        sys.exit(f"OpenCL was not initialised:\n{text}")
    print(f"{compiled} programs built")
    kernels = split_report.Kernels()
    kernels.add(entries)
    kernels.check(0)


if __name__ == "__main__":
    main()
