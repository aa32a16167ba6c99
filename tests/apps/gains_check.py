#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/gains in small: its verdicts, exit status, table and JSON, on gains that all and that none
reach; which way has which memory; and a program that computes something wrong.
usage: gains_check.py BENCH_FOLDER TUTTI_BENCH TUTTI APART_LIBRARY"""

import json
import pathlib
import subprocess
import sys
import tempfile
from statistics import median

PATTERNS = {"halves": 2003, "sweeps": 64}
WAYS = ["shared on 0", "shared on all", "apart on 0", "apart on all"]
ROUNDS = 2

# Stands in front of tutti-bench: notes which memory it has, or puts something wrong in a kernel's place.
WITNESS = """#!/bin/sh
echo "$LD_PRELOAD" "$TUTTI_CACHE" >> "{notes}"
exec "{bench}" {arguments} "$@"
"""


def expect(condition, message):
    if not condition:
        sys.exit(f"FAILED: {message}")


def main():
    bench_folder, bench, tutti, apart = sys.argv[1:]
    check = [sys.executable, "-B", f"{bench_folder}/gains", "--tutti", tutti, "--apart", apart]
    small = ["--patterns", ",".join(f"{name}:{size}" for name, size in PATTERNS.items()),
             "--rounds", str(ROUNDS), "--most-rounds", str(ROUNDS), "--launches", "2"]

    def run(*arguments, program=bench):
        return subprocess.run([*check, "--bench", str(program), *arguments], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        out, notes, witness = folder / "out", folder / "notes", folder / "witness"

        def witness_with(arguments):
            witness.write_text(WITNESS.format(bench=bench, notes=notes, arguments=arguments))
            witness.chmod(0o755)

        witness_with("")
        process = run(*small, "--least", "0", "--out", str(out), program=witness)
        expect(process.returncode == 0 and process.stderr == "",
               f"a gain that all reach: {process.returncode}\n{process.stdout}{process.stderr}")
        expect((out / "gains.txt").read_text() == process.stdout, "the table in the file")
        result = json.loads((out / "gains.json").read_text())
        expect(len(result["devices"]) == 2, f"{result['devices']}")
        expect({one["pattern"]: one["size"] for one in result["patterns"]} == PATTERNS, "the patterns")
        for one in result["patterns"]:
            # Both devices are alike: the first one stands for them.
            expect(one["verdict"] == "gains" and list(one["gains"]) == WAYS, f"{one}")
            for values in one["gains"].values():
                expect(len(values) == ROUNDS and min(values) > 0, f"{one}")
                ratio = median(1 / value for value in values)
                expect(f"{1 / ratio:.2f} (" in process.stdout, "a gain is not in the table")
        runs = [line.split() for line in notes.read_text().splitlines()]
        behind = [line for line in runs if line and "cache-" in line[-1]]
        for memory, preloaded in (("shared", False), ("apart", True)):
            of_it = [line for line in behind if line[-1].endswith(f"cache-{memory}")]
            expect(len(of_it) == len(PATTERNS) * ROUNDS * 2 and
                   all((apart in line) == preloaded for line in of_it), f"{memory}: {of_it}")

        process = run(*small, "--least", "1e9")
        expect(process.returncode == 1 and
               process.stdout.count("certain, shared; too little, but not for certain, apart\n") ==
               len(PATTERNS),
               f"a gain that none reaches\n{process.stdout}{process.stderr}")
        process = run(*small, "--least", "1e9", "--memory", "shared")
        expect(process.returncode == 1 and "apart" not in process.stdout,
               f"shared memory alone\n{process.stdout}{process.stderr}")

        # A kernel that leaves everything as it is.
        sources = folder / "sources"
        sources.mkdir()
        (sources / "halves.cl").write_text(
            "__kernel void halves(__global uint* data, uint size, uint rounds) {}\n")
        witness_with(f'--source-folder "{sources}"')
        process = run("--patterns", "halves:2003", *small[2:], "--least", "0", program=witness)
        expect(process.returncode == 1 and "wrong: " in process.stdout,
               f"a wrong result\n{process.stdout}{process.stderr}")

    for wrong, says in ((["--patterns", "nosuch"], "no benchmark nosuch"),
                        (["--memory", "here"], "--memory"),
                        (["--apart", "/nowhere.so"], "no /nowhere.so"),
                        (["--rounds", "9", "--most-rounds", "3"], "--rounds")):
        process = run(*wrong)
        expect(process.returncode == 2 and says in process.stderr,
               f"{wrong}: {process.returncode} {process.stderr}")
    print("bench/gains: verdicts, memory, table and JSON agree")


if __name__ == "__main__":
    main()
