#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lets Clang check that what a lock guards is touched under it (base/thread_annotations.h), and that the
driver has no objects whose destructors run when the process exits.

Compiles every source of the rooms as the build folder does, but without precompiled headers, with
-Wthread-safety as errors: what includes too little does not compile here, where the folder is none
of a unity build. Also reports standard locks outside the wrapper: nobody would check those.

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
import tempfile

from check_layers import ROOMS, SOURCES

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMPILERS = ("clang++-19", "clang++")
WRAPPER = "base/thread_annotations.h"
UNITED = re.compile(r'^#include "(.*)"$', re.MULTILINE)  # in the file of a unity build
STANDARD_LOCK = re.compile(r"std::(?:\w*mutex|lock_guard|unique_lock|scoped_lock|shared_lock|"
                           r"condition_variable\w*)\b")
# About locks only, after the command's own. -w would take them out as well.
WARNINGS = ("-Wno-everything", "-Wthread-safety", "-Werror=thread-safety")
# Nothing of the driver is destroyed when the process exits: threads may still use it then. The
# tools are programs of one thread, and the kernel compiler's library registers no destructors.
DESTRUCTORS = ("-Wexit-time-destructors", "-Werror=exit-time-destructors")
DESTROYING_ROOMS = ("tools", "kernel_compiler")
WRONG = f"""#include "{WRAPPER}"
struct Account {{
  int balance() {{ return balance_; }}
  tutti::Mutex mutex_;
  int balance_ TUTTI_GUARDED_BY(mutex_) = 0;
}};
"""
# What only GCC knows, or what is about the code that is not made here.
DROPPED = ("-MD", "-fpch-preprocess", "-Winvalid-pch", "-Werror", "-g1",
           "-Wno-stringop-overread", "-Wno-maybe-uninitialized", "-Wno-stringop-overflow", "-Wno-restrict")


def sources_of(entry):
    """The file of an entry, or those that a file of a unity build brings together."""
    file = pathlib.Path(entry["file"])
    united = UNITED.findall(file.read_text()) if file.parent.name == "Unity" else []
    return [pathlib.Path(source) for source in united] or [file]


def room_of(entry):
    """Where its sources lie; nothing for what is not ours."""
    path = sources_of(entry)[0]
    room = path.relative_to(ROOT).parts[0] if path.is_relative_to(ROOT) else None
    return room if room in ROOMS else None


def warnings_for(entry):
    return WARNINGS if room_of(entry) in DESTROYING_ROOMS else (*WARNINGS, *DESTRUCTORS)


def command_for(entry, compiler, output):
    """The entry's command for Clang: no precompiled headers, warnings about locks only.

    With some code: ccache remembers nothing else.
    """
    words = shlex.split(entry["command"])
    while os.path.basename(words[0]) in ("env", "ccache") or "=" in words[0]:
        words.pop(0)
    cache = shutil.which("ccache")
    kept = [*([cache] if cache else []), compiler]
    skip = False
    for word in words[1:]:
        if skip:
            skip = False
        elif word in ("-o", "-include", "-MT", "-MF"):
            skip = True
        elif word not in DROPPED:
            kept.append(word)
    return kept + [*warnings_for(entry), "-O0", "-emit-llvm", "-o", output]


def reports(compiler):
    """Whether the compiler reports what this check is about, with these settings."""
    run = subprocess.run([compiler, *WARNINGS, "-std=c++20", "-fsyntax-only", f"-I{ROOT}", "-xc++", "-"],
                         input=WRONG, text=True, capture_output=True)
    return run.returncode != 0 and "requires holding mutex" in run.stderr


def check(entry, compiler):
    # As in cmake/TuttiOptions.cmake: one checkout serves the others.
    environment = {"CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1", **os.environ}
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(command_for(entry, compiler, os.path.join(folder, "code.bc")),
                             cwd=entry["directory"], text=True, stdin=subprocess.DEVNULL,
                             capture_output=True, env=environment)
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
    if not reports(compiler):
        print(f"check_locks.py: {compiler} does not report a lock that is not held", file=sys.stderr)
        return 2
    entries = {e["file"]: e for e in json.loads(commands.read_text()) if room_of(e)}
    problems = list(standard_locks())
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for code, text in pool.map(lambda e: check(e, compiler), entries.values()):
            if code != 0:
                problems.append(text.strip() or f"{compiler} failed with {code}")
    for problem in dict.fromkeys(problems):
        print(problem)
    checked = sum(len(sources_of(entry)) for entry in entries.values())
    print(f"{checked} files checked by {compiler}, {len(problems)} problem(s)", file=sys.stderr)
    return 1 if problems or not entries else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
