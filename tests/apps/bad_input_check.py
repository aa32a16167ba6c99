#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a user sees after a mistake.   usage: bad_input_check.py CASE TUTTI_BENCH"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile


def run(bench, *arguments, **environment):
    """Exit status and all text of a small tutti-bench run."""
    process = subprocess.run([bench, "--size", "1003", "--repeat", "1", *arguments, "groupsum"],
                             text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             env=dict(os.environ, **environment))
    return process.returncode, process.stdout


def expect(condition, what, text):
    if not condition:
        sys.exit(f"expected {what}; found:\n{text}")


def no_vendor(bench):
    """The platform is not offered, and the log says why."""
    status, text = run(bench, TUTTI_LOG="info")
    expect(status != 0, "a failure", text)
    expect("Tutti / " not in text, "no Tutti platform", text)
    expect(re.search(r"no (usable )?(vendor|OpenCL|device|driver)", text, re.I), "the reason", text)
    expect(os.environ["TUTTI_VENDORS"] in text, "where it looked", text)


def unknown_balancer(bench):
    status, text = run(bench, TUTTI_BALANCER="sigmoyd")
    expect(status == 0, "the default balancer to run", text)
    expect("sigmoyd" in text, "a warning that names the value", text)
    for name in ("single", "static", "dynamic", "hguided", "autotune", "adaptive", "model",
                 "sigmoid"):
        expect(name in text.replace("sigmoyd", ""), f"the accepted name {name}", text)


def unknown_device(bench):
    status, text = run(bench, TUTTI_DEVICES="voodoo")
    expect(status == 0, "the default devices to run", text)
    expect("voodoo" in text, "a warning that names the value", text)
    expect("Portable Computing Language" in text, "the devices that exist", text)


def unknown_option(bench):
    status, text = run(bench, TUTTI_BALANCR="static")
    expect(status == 0, "a normal run", text)
    expect("TUTTI_BALANCR" in text and "TUTTI_BALANCER" in text.replace("TUTTI_BALANCR", ""),
           "a warning that names the accepted options", text)


def broken_kernel(bench):
    """CL_BUILD_PROGRAM_FAILURE with Clang's message and the source line."""
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "groupsum.cl").write_text(
            "__kernel void groupsum(__global uint* out) {\n"
            "  out[get_global_id(0)] = missing_name;\n"
            "}\n")
        status, text = run(bench, "--source-folder", folder)
    expect(status == 2, "exit status 2", text)
    expect(re.search(r"CL_BUILD_PROGRAM_FAILURE|-11\b", text), "CL_BUILD_PROGRAM_FAILURE", text)
    expect(re.search(r":2:\d+: error: use of undeclared identifier 'missing_name'", text),
           "Clang's message with the line", text)
    expect("out[get_global_id(0)] = missing_name;" in text, "the source line", text)


CASES = {"no-vendor": no_vendor, "unknown-balancer": unknown_balancer,
         "unknown-device": unknown_device, "unknown-option": unknown_option,
         "broken-kernel": broken_kernel}


def main():
    CASES[sys.argv[1]](sys.argv[2])
    print(f"{sys.argv[1]}: as expected")


if __name__ == "__main__":
    main()
