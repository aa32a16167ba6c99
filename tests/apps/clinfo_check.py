#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clinfo must answer every property of the virtual platform and device without an error."""

import re
import subprocess
import sys

# What clinfo prints where a query failed, in its human and its raw form.
ERROR = re.compile(r"<[^>]*error|error [-:]|\bCL_INVALID|\bCL_OUT_OF|get .* failed|: error", re.I)


def run(*command):
    process = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}\n{process.stdout}")
    bad = [line for line in process.stdout.splitlines() if ERROR.search(line)]
    if bad:
        sys.exit(f"{' '.join(command)} has error lines:\n" + "\n".join(bad))
    return process.stdout


def main():
    clinfo = sys.argv[1]
    human = run(clinfo)
    raw = run(clinfo, "--raw")
    if not re.search(r"^Number of platforms +1$", human, re.M):
        sys.exit(f"not one platform:\n{human}")
    if not re.search(r"^  Platform Name +Tutti$", human, re.M):
        sys.exit(f"no platform named Tutti:\n{human}")
    if not re.search(r"^Number of devices +1$", human, re.M):
        sys.exit(f"not one device:\n{human}")
    properties = re.findall(r"^\[[^\]]*/0\] +(CL_DEVICE_\w+)", raw, re.M)
    if len(set(properties)) < 60:
        sys.exit(f"only {len(set(properties))} device properties:\n{raw}")
    print(f"{len(set(properties))} device properties, no error line")


if __name__ == "__main__":
    main()
