#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lets Clang check that what a lock guards is touched under it (base/thread_annotations.h).

Compiles every source of the rooms, without code, with -Wthread-safety as errors. Also reports
standard locks outside the wrapper: nobody would check those.

usage: check_locks.py BUILD [JOBS]    BUILD: a configured build folder (compile_commands.json)
exit status: 1 when anything is reported, 2 when the check cannot run
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

from check_layers import ROOMS, SOURCES

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMPILERS = ("clang++-19", "clang++")
WRAPPER = "base/thread_annotations.h"
STANDARD_LOCK = re.compile(r"std::(?:\w*mutex|lock_guard|unique_lock|scoped_lock|shared_lock|"
                           r"condition_variable\w*)\b")
# What only GCC knows, or what is about the code that is not made here.
DROPPED = ("-MD", "-fpch-preprocess", "-Winvalid-pch", "-Werror", "-c", "-g1",
           "-Wno-stringop-overread", "-Wno-maybe-uninitialized", "-Wno-stringop-overflow", "-Wno-restrict")


def room_of(file):
    path = pathlib.Path(file)
    return path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in ROOMS


def command_for(entry, compiler):
    """The entry's command for Clang: no precompiled headers, no output, warnings about locks only."""
    words = shlex.split(entry["command"])
    while os.path.basename(words[0]) in ("env", "ccache") or "=" in words[0]:
        words.pop(0)
    kept = [compiler, "-fsyntax-only", "-w", "-Wthread-safety", "-Werror=thread-safety"]
    skip = False
    for word in words[1:]:
        if skip:
            skip = False
        elif word in ("-o", "-include", "-MT", "-MF"):
            skip = True
        elif word not in DROPPED:
            kept.append(word)
    return kept


def check(entry, compiler):
    run = subprocess.run(command_for(entry, compiler), cwd=entry["directory"], text=True,
                         stdin=subprocess.DEVNULL, capture_output=True)
    return run.returncode, run.stderr


def standard_locks():
    for room in sorted(ROOMS):
        for file in sorted((ROOT / room).rglob("*")):
            path = file.relative_to(ROOT).as_posix()
            if file.suffix not in SOURCES or path == WRAPPER:
                continue
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
                if STANDARD_LOCK.search(line.partition("//")[0]):
                    yield f"{path}:{number}: a standard lock; use those of {WRAPPER}"


def main(arguments):
    if not 1 <= len(arguments) <= 2:
        print(__doc__, file=sys.stderr)
        return 2
    commands = pathlib.Path(arguments[0], "compile_commands.json")
    jobs = int(arguments[1]) if len(arguments) > 1 else os.cpu_count()
    compiler = next((c for c in COMPILERS if shutil.which(c)), None)
    if compiler is None or not commands.is_file():
        missing = f"there is no {commands}" if compiler else "there is no Clang"
        print(f"check_locks.py: {missing}", file=sys.stderr)
        return 2
    entries = {e["file"]: e for e in json.loads(commands.read_text()) if room_of(e["file"])}
    problems = list(standard_locks())
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for code, text in pool.map(lambda e: check(e, compiler), entries.values()):
            if code != 0:
                problems.append(text.strip() or f"{compiler} failed with {code}")
    for problem in dict.fromkeys(problems):
        print(problem)
    print(f"{len(entries)} files checked by {compiler}, {len(problems)} problem(s)", file=sys.stderr)
    return 1 if problems or not entries else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
