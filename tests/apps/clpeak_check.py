#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clpeak must run its bandwidth and latency tests on the virtual device and report rates. Its tests of
arithmetic are left out: kernels without memory, in loops as long on the slowest device."""

import re
import subprocess
import sys

GROUPS = ("--global-bandwidth", "--transfer-bandwidth", "--kernel-latency")

# A measured line: "      float4  : 10.53", "    Kernel launch latency : 2.16 us". Mapping may take no
# time at all.
RATE = re.compile(r"^ +(?:float|double|enqueue|memcpy|Kernel launch latency)[^:]*: "
                  r"([0-9.]+(?:e[+-]?[0-9]+)?|inf)\b", re.M)


def main():
    clpeak = sys.argv[1]
    for group in GROUPS:
        process = subprocess.run([clpeak, group], text=True, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT)
        text = process.stdout
        if process.returncode != 0:
            sys.exit(f"clpeak {group} ended with {process.returncode}\n{text}")
        if "Platform: Tutti" not in text:
            sys.exit(f"clpeak {group} did not run on Tutti:\n{text}")
        if re.search(r"error|fail|exception|skipped", text, re.I):
            sys.exit(f"clpeak {group} reports a failure:\n{text}")
        rates = [float(rate) for rate in RATE.findall(text)]
        if not rates or min(rates) <= 0:
            sys.exit(f"clpeak {group} reports no rate:\n{text}")
        print(f"{group}: {len(rates)} rates")


if __name__ == "__main__":
    main()
