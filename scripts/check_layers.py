#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps the folder table of docs/ARCHITECTURE.md true.

Reads every #include in the rooms, bench/, demo/ and tests/ and reports those that reach upwards, name a
concrete backend outside the composition roots, bring OpenCL or Clang where it does not belong, or
step out of a folder with "..". Also reports what opens files in the rooms by itself, long files, and
files without a licence line.

usage: check_layers.py [ROOT]      exit status 1 when anything is reported
"""

import pathlib
import re
import sys

# What a room may include of the others; itself is always allowed. The first matching
# prefix decides, so a stricter rule for a subfolder stands before its folder's.
ALLOWED = {
    "base": (),
    "record": ("base",),
    "backends/api": ("base",),
    "backends": ("base",),
    # Inside the scheduler each room uses those before it. The first four are pure logic, also usable
    # without any OpenCL.
    "scheduler/access": ("base", "backends/api"),
    "scheduler/model": ("base",),
    "scheduler/balance": ("scheduler/model", "base"),
    "scheduler/sim": ("scheduler/balance", "scheduler/model", "scheduler/plan/pricing.h", "base"),
    "scheduler/devices": ("scheduler/model", "backends/api", "base"),
    "scheduler/memory": ("scheduler/devices", "scheduler/access", "backends/api", "base"),
    "scheduler/command": ("scheduler/memory", "scheduler/devices", "scheduler/access",
                          "backends/api", "base"),
    "scheduler/plan": ("scheduler/command", "scheduler/memory", "scheduler/devices",
                       "scheduler/balance", "scheduler/model", "scheduler/access", "backends/api",
                       "base"),
    "scheduler/order": ("scheduler/plan", "scheduler/command", "scheduler/memory",
                        "scheduler/devices", "scheduler/access", "backends/api", "base"),
    "scheduler/observe": ("scheduler/plan", "scheduler/command", "scheduler/memory",
                          "scheduler/devices", "scheduler/balance", "scheduler/model",
                          "scheduler/access", "backends/api", "base"),
    "scheduler/run": ("scheduler/observe", "scheduler/order", "scheduler/plan",
                      "scheduler/command", "scheduler/memory", "scheduler/devices",
                      "scheduler/balance", "scheduler/model", "scheduler/access", "backends/api",
                      "base"),
    "scheduler/batch": ("scheduler/run", "scheduler/observe", "scheduler/order", "scheduler/plan",
                        "scheduler/command", "scheduler/memory", "scheduler/devices",
                        "scheduler/model", "scheduler/access", "backends/api", "base"),
    "scheduler/engine": ("scheduler", "backends/api", "base"),
    # The front end shares with the scheduler the summary and the hidden argument: plain data.
    "kernel_compiler": ("scheduler/access/access_summary.h", "scheduler/access/hidden_argument.h",
                        "scheduler/access/shard_argument.h", "scheduler/access/panel_argument.h",
                        "scheduler/access/image_layout.h",
                        "base"),
    "device_virtual": ("kernel_compiler", "scheduler", "backends/api", "base"),
    # The composition root: it alone, and the tools, name a concrete backend.
    "platform": ("device_virtual", "scheduler", "backends", "base"),
    "icd": ("platform/composition.h", "platform/platform_object.h", "device_virtual", "record",
            "scheduler", "backends/api", "base"),
    "tools": ("platform", "device_virtual/program_binary.h", "device_virtual/image_format.h",
              "kernel_compiler", "scheduler", "backends", "record", "base"),
}

ROOMS = {folder.split("/")[0] for folder in ALLOWED}
# Where sources lie beside the rooms.
OTHER_FOLDERS = {"bench", "demo", "tests"}

# Folders whose own files may not be included by a sibling folder of the same parent.
SELF_CONTAINED = ("backends/api",) + tuple(
    room for room in ALLOWED if room.startswith("scheduler/"))

# The rooms that may name backends/opencl.
COMPOSITION_ROOTS = ("platform", "tools")

# kernel_compiler's files that the driver links, and so must stay free of Clang and LLVM.
WITHOUT_CLANG = ("kernel_compiler/compiler_client", "kernel_compiler/summary_json",
                 "kernel_compiler/build_options", "kernel_compiler/compiler_api",
                 "kernel_compiler/compile_cache", "kernel_compiler/file_state")

# Rooms that may not include CL/ headers themselves.
WITHOUT_OPENCL = ("scheduler/balance", "scheduler/model", "scheduler/sim")

# Ordinary OpenCL programs: they know nothing of the driver.
ORDINARY_PROGRAMS = ("bench", "demo", "tests/api", "tests/apps")

# Where files are opened, and what opens one. /dev/null is none.
FILE_OPENERS = ("base/safe_file", "base/kept_file", "base/output_file")
OPENS_FILES = re.compile(
    r"\bstd::[io]?fstream\b|#include <fstream>|\bopen\(.*\bO_|"
    r"\b(fopen|freopen|openat|mkostemp|mkstemp|mkdir|mkdirat|create_directory|create_directories|"
    r"toml::parse_file)\(")

MAX_LINES = 600
SOURCES = {".h", ".cpp", ".def", ".cl", ".c"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)


def is_under(path, prefix):
    """True when `path` is `prefix`, lies in that folder, or is that file with some extension."""
    return path == prefix or path.startswith((prefix + "/", prefix + ".", prefix + "_"))


def is_in_folder(path, folder):
    return path == folder or path.startswith(folder + "/")


def allowed_in(module_path):
    """The (folder, what it may use) that rules a file, or None outside of the rooms."""
    for folder, allowed in ALLOWED.items():
        if is_in_folder(module_path, folder):
            return folder, allowed
    return None


def check_driver_include(path, target):
    """What is wrong with a room's file `path` including a room's `target`, or None."""
    rule = allowed_in(path)
    if rule is None:
        return "a folder without a rule; add it to ALLOWED"
    folder, allowed = rule
    if is_in_folder(target, "backends/opencl") and not is_in_folder(path, "backends/opencl"):
        if path.split("/")[0] in COMPOSITION_ROOTS:
            return None
        return "only platform/, the composition root, and tools/ may name a concrete backend"
    if is_in_folder(target, folder):
        return None
    top = path.split("/")[0]
    if folder not in SELF_CONTAINED and target.split("/")[0] == top:
        return None
    if any(target == a or is_in_folder(target, a) for a in allowed):
        return None
    return f"{folder}/ may use only: {', '.join(allowed) or 'nothing'}"


def check_include(path, quoted, target):
    """What is wrong with an include of `path` (relative to the root), or None."""
    if target.startswith("../") or "/../" in target:
        return 'steps out with ".."; includes are relative to the root'
    first = target.split("/")[0]

    if first in ("clang", "clang-c", "llvm", "llvm-c"):
        if not is_in_folder(path, "kernel_compiler"):
            return "only kernel_compiler/ may use Clang and LLVM"
        if any(is_under(path, f) for f in WITHOUT_CLANG):
            return "linked into the driver, so it must not use Clang or LLVM"
        return None
    if first == "CL":
        if any(is_in_folder(path, f) for f in WITHOUT_OPENCL):
            return "pure logic knows no OpenCL (base/result.h is the exception)"
        return None
    if first not in ROOMS or not quoted or "/" not in target:
        return None
    if path.split("/")[0] in ROOMS:
        return check_driver_include(path, target)
    if any(is_in_folder(path, folder) for folder in ORDINARY_PROGRAMS):
        return "an ordinary OpenCL program must not know the driver"
    return None


def check_file(root, file):
    path = file.relative_to(root).as_posix()
    text = file.read_text(encoding="utf-8", errors="replace")
    lines = text.count("\n") + (not text.endswith("\n"))
    if lines > MAX_LINES:
        yield f"{path}: {lines} lines; split it (at most {MAX_LINES})"
    if "SPDX-License-Identifier: Apache-2.0" not in "\n".join(text.splitlines()[:3]):
        yield f"{path}: no SPDX-License-Identifier line at its head"
    yield from check_openers(path, text)
    for match in INCLUDE.finditer(text):
        problem = check_include(path, match[1] == '"', match[2])
        if problem:
            line = text.count("\n", 0, match.start()) + 1
            yield f"{path}:{line}: includes {match[2]}: {problem}"


def check_openers(path, text):
    """Lines of a room's file that open files, which is done in one place."""
    if path.split("/")[0] not in ROOMS or any(is_under(path, file) for file in FILE_OPENERS):
        return
    for number, line in enumerate(text.splitlines(), 1):
        if OPENS_FILES.search(line) and "/dev/null" not in line:
            yield f"{path}:{number}: opens a file; only {', '.join(FILE_OPENERS)} do"


def check_tree(root):
    """All problems of the tree below `root`, as lines of text."""
    root = pathlib.Path(root)
    problems = []
    for top in sorted(ROOMS | OTHER_FOLDERS):
        for file in sorted((root / top).rglob("*")):
            if file.suffix in SOURCES and file.is_file():
                problems += check_file(root, file)
    for folder in sorted(root.iterdir()):
        known = folder.name in ROOMS | OTHER_FOLDERS or folder.name.startswith((".", "build"))
        if folder.is_dir() and not known and any(f.suffix in SOURCES for f in folder.rglob("*")):
            problems.append(f"{folder.name}: a room without a rule; add it to ALLOWED")
    return problems


def main(arguments):
    root = arguments[0] if arguments else pathlib.Path(__file__).resolve().parent.parent
    problems = check_tree(root)
    for problem in problems:
        print(problem)
    if problems:
        print(f"{len(problems)} problem(s); the rules: docs/ARCHITECTURE.md", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
