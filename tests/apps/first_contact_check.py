#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/first-contact in small: its verdicts, exit status, table and JSON, on limits that nothing and
that everything exceeds; caches that are cold and warm; and a program that computes something else. And
that nothing is built which is not used: what a program of five kernels, three of which are launched
once, leaves in PoCL's cache.
usage: first_contact_check.py BENCH_FOLDER TUTTI_FIRST TUTTI_BENCH TUTTI"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
from statistics import median

ROUNDS = 2

# Stands in front of tutti-first: says which caches it has, and whether it has been there before.
WITNESS = """#!/bin/sh
case "$1" in --list) exec "{first}" --list;; esac
seen=no
[ -e "$POCL_CACHE_DIR/was-here" ] && [ -e "$XDG_CACHE_HOME/was-here" ] && seen=yes
[ -e "$POCL_CACHE_DIR/was-here" ] || [ -e "$XDG_CACHE_HOME/was-here" ] || seen=${{seen}}-first
touch "$POCL_CACHE_DIR/was-here" "$XDG_CACHE_HOME/was-here"
echo "$seen $POCL_CACHE_DIR $TUTTI_CACHE" >> "{notes}"
{result}
"""


def expect(condition, message):
    if not condition:
        sys.exit(f"FAILED: {message}")


def built_by(first, environment):
    """Programs that PoCL has built for the FFT's first launches, and variants of kernels, sorted."""
    with tempfile.TemporaryDirectory() as name:
        cache = pathlib.Path(name, "pocl")
        cache.mkdir()
        subprocess.run([first, "fft", "--size", "4096", "--launches", "1"], check=True,
                       stdout=subprocess.DEVNULL,
                       env={**os.environ, "POCL_CACHE_DIR": str(cache), "TUTTI_CACHE": f"{name}/tutti",
                            **environment})
        return (len(list(cache.glob("*/*/program.bc"))),
                sorted(path.parent.name for path in cache.glob("*/*/*/*") if path.is_dir()))


def main():
    bench_folder, first, bench, tutti = sys.argv[1:]
    check = [sys.executable, "-B", f"{bench_folder}/first-contact", "--bench", bench, "--tutti", tutti]
    small = ["--programs", "one:1", "--size", "1024", "--rounds", str(ROUNDS), "--most-rounds",
             str(ROUNDS), "--warm-ups", "1"]

    def run(*arguments, program=first):
        return subprocess.run([*check, "--first", str(program), *arguments], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        out = folder / "out"
        process = run(*small, "--cold-limit", "1e9", "--warm-limit", "1e9", "--least", "0", "--out",
                      str(out))
        expect(process.returncode == 0 and process.stderr == "",
               f"limits that nothing exceeds: {process.returncode}\n{process.stdout}{process.stderr}")
        expect((out / "first-contact.txt").read_text() == process.stdout, "the table in the file")
        result = json.loads((out / "first-contact.json").read_text())
        expect(len(result["devices"]) == 2, f"{result['devices']}")
        one, = result["programs"]
        expect(one["program"] == "one" and one["verdict"] == "not slower", f"{one}")
        for state in ("cold", "warm"):
            # Both devices are alike: the first one stands for them.
            expect(one[state]["best_device"] == 0 and
                   list(one[state]["ratios"]) == ["on 0", "on all"], f"{one}")
            for values in one[state]["ratios"].values():
                expect(len(values) == ROUNDS and min(values) > 0, f"{one}")
                expect(f"{median(values):.3f}" in process.stdout, "a ratio is not in the table")

        enough = ["--rounds", "6", "--most-rounds", "6"]  # to be certain
        process = run(*small, *enough, "--states", "cold", "--cold-limit", "0", "--least", "0")
        expect(process.returncode == 1 and "SLOWER cold on 0, cold on all\n" in process.stdout,
               f"a limit that everything exceeds\n{process.stdout}{process.stderr}")
        process = run(*small, "--states", "warm", "--warm-limit", "0", "--least", "1e9")
        expect(process.returncode == 0 and "too short to judge" in process.stdout,
               f"a program that is too short\n{process.stdout}{process.stderr}")

        def witness(result):
            notes = folder / "notes"
            notes.write_text("")
            program = folder / "witness"
            program.write_text(WITNESS.format(first=first, notes=notes, result=result))
            program.chmod(0o755)
            return program, notes

        # Three ways; the native one runs twice more before, to find the best device.
        program, notes = witness("echo 1")
        for state, states in (("cold", {"no-first"}), ("warm", {"yes"})):
            notes.write_text("")
            process = run(*small, "--states", state, program=program)
            expect(process.returncode == 0, f"{process.stdout}{process.stderr}")
            seen = [line.split() for line in notes.read_text().splitlines()]
            measured = seen[-3 * ROUNDS:]
            expect({line[0] for line in measured} == states, f"{state} caches: {seen}")
            expect(len({line[1] for line in measured}) == 3, f"caches of three ways: {seen}")
            expect(all(line[1].startswith(f"{pathlib.Path(line[2]).parent}/") for line in measured),
                   f"Tutti's beside the vendors': {seen}")

        program, _ = witness('case "$*" in *Tutti*) echo 2;; *) echo 1;; esac')
        process = run(*small, "--cold-limit", "1e9", "--warm-limit", "1e9", program=program)
        expect(process.returncode == 1 and "WRONG: 2 where it was 1" in process.stdout,
               f"another result\n{process.stdout}{process.stderr}")
        program, _ = witness("echo no device >&2; exit 3")
        process = run(*small, program=program)
        expect(process.returncode == 1 and "status 3: no device" in process.stdout,
               f"a program that fails\n{process.stdout}{process.stderr}")

    for wrong, says in ((["--programs", "nosuch"], "no program nosuch"),
                        (["--programs", "one:x"], "not a number of launches"),
                        (["--states", "hot"], "--states"),
                        (["--rounds", "9", "--most-rounds", "3"], "--rounds")):
        process = run(*wrong)
        expect(process.returncode == 2 and says in process.stderr,
               f"{wrong}: {process.returncode} {process.stderr}")

    natively = built_by(first, {"OCL_ICD_VENDORS": os.environ["TUTTI_VENDORS"]})
    expect(natively == (1, ["chk1D_512", "fft1D_512", "ifft1D_512"]), f"natively: {natively}")
    # All run whole on one device: no second device has the program, and none its sub-range variant.
    whole = built_by(first, {"TUTTI_SPLIT": "auto"})
    expect(whole == natively, f"first launches: {whole}, natively {natively}")
    split = built_by(first, {"TUTTI_SPLIT": "force"})
    expect(split[0] > 1, f"what is built for splits would not be seen: {split}")
    print("bench/first-contact: verdicts, caches, table and JSON agree; only what is used is built")


if __name__ == "__main__":
    main()
