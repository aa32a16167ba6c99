# SPDX-License-Identifier: Apache-2.0
"""The test suites: which cases there are, how each is started, and what its output says.

A case is one process. A CTS case is one sub-test of one program; a piglit case is one program, which
may report several parts.
"""

import dataclasses
import fnmatch
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

# From best to worst. A driver that crashes or hangs is worse than one that is wrong.
OUTCOMES = ("pass", "skip", "fail", "timeout", "crash")

RESULTS_VARIABLE = "CL_CONFORMANCE_RESULTS_FILENAME"


class SuiteError(Exception):
    """A suite that is not there or not as expected; the text is for the user."""


@dataclasses.dataclass(frozen=True)
class Case:
    name: str  # kind/suite/test, for example cts/api/get_platform_ids
    command: tuple
    limit: int  # seconds, natively

    @property
    def kind(self):
        return self.name.split("/")[0]


@dataclasses.dataclass
class Ending:
    """How the process of a case ended."""

    status: int  # negative: the signal
    timed_out: bool
    output: str
    report: str = ""  # the CTS's own result file


def matches(name, patterns):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


# ---- OpenCL-CTS ---------------------------------------------------------------------------------


def find_programs(folder):
    """Suite -> program of all OpenCL-CTS programs below a folder."""
    programs = {}
    for path in sorted(Path(folder).rglob("test_*")):
        if path.is_file() and os.access(path, os.X_OK) and not path.suffix:
            programs.setdefault(path.name[len("test_"):], path.resolve())
    if not programs:
        raise SuiteError(f"no test_* programs below {folder}")
    return programs


def list_tests(program):
    """The sub-tests that a CTS program offers."""
    process = subprocess.run([program, "--list"], text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, errors="replace")
    names = [line.strip() for line in process.stdout.splitlines() if line.startswith("\t")]
    if not names:
        raise SuiteError(f"{program} --list names no tests")
    return names


def cts_cases(folder, entries, limit, warn):
    """The cases of a tier's entries: each has `suite`, and may have `tests` and `except` (patterns),
    `arguments` and `limit`. A suite that was not built is left out with a warning."""
    programs = find_programs(folder)
    for entry in entries:
        suite, arguments = entry["suite"], entry.get("arguments", [])
        if suite not in programs:
            warn(f"no program test_{suite} below {folder}: left out")
            continue
        label = " ".join(["cts/" + suite, *arguments])
        for test in list_tests(programs[suite]):
            if matches(test, entry.get("tests", ["*"])) and not matches(test,
                                                                        entry.get("except", [])):
                yield Case(f"{label}/{test}", (str(programs[suite]), test, *arguments),
                           entry.get("limit", limit))


def cts_outcome(test, ending):
    try:
        found = json.loads(ending.report)["results"][test]
    except (ValueError, KeyError, TypeError):
        found = "fail"  # gave up before the tests began
    if found == "pass" and ending.status != 0:
        return "fail"
    return found if found in OUTCOMES else "fail"


# ---- piglit -------------------------------------------------------------------------------------

PIGLIT_LINE = re.compile(r"^PIGLIT: (\{.*\})\s*$", re.M)
PIGLIT_OUTCOMES = {"pass": "pass", "warn": "pass", "skip": "skip", "fail": "fail"}


def piglit_cases(patterns, exceptions, limit, program="piglit"):
    """The OpenCL tests of the installed piglit whose names match."""
    found = shutil.which(program)
    if not found:
        raise SuiteError("piglit is not installed")
    process = subprocess.run([found, "print-cmd", "quick_cl", "--format", "{name}\t{command}"],
                             text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    cases = parse_piglit_list(process.stdout, Path(found).resolve().parent, limit)
    if not cases:
        raise SuiteError(f"piglit lists no OpenCL tests: {process.stderr.strip()[-500:]}")
    for case in cases:
        test = case.name[len("piglit/"):]
        if matches(test, patterns) and not matches(test, exceptions):
            yield case


def parse_piglit_list(text, folder, limit):
    """piglit names its programs relative to the folder of its own. File names hold no blanks."""
    cases = []
    for line in text.splitlines():
        name, tab, command = line.partition("\t")
        if tab and command.strip():
            program, *arguments = command.split()
            cases.append(Case("piglit/" + name.replace("@", "/"),
                              (os.path.normpath(folder / program), *arguments), limit))
    return cases


def piglit_outcome(ending):
    """(the whole's outcome, the parts' outcomes)."""
    whole, parts = None, {}
    for line in PIGLIT_LINE.findall(ending.output):
        try:
            report = json.loads(line)
        except ValueError:
            continue
        if "result" in report:
            whole = PIGLIT_OUTCOMES.get(report["result"], "fail")
        for part, outcome in report.get("subtest", {}).items():
            parts[part] = PIGLIT_OUTCOMES.get(outcome, "fail")
    return whole or "fail", parts


# ---- both ---------------------------------------------------------------------------------------


def read_outcome(case, ending):
    """(outcome, parts) of a case, from how its process ended and what it wrote."""
    test = case.name.rsplit("/", 1)[1]
    outcome, parts = (cts_outcome(test, ending), {}) if case.kind == "cts" else piglit_outcome(ending)
    if ending.timed_out:
        return "timeout", parts
    return ("crash" if ending.status < 0 else outcome), parts
