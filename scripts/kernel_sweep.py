#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `tutti explain` on the kernels of public packages and counts what becomes of them.

usage: kernel_sweep.py [--root FOLDER] [--json FILE] [--markdown FILE] BUILD [PACKAGE…]

kernel_sweep.toml says which packages, where their sources lie and with which options each file is
built. FOLDER holds what is not installed: unpacked packages, and programs captured from running
applications, which are the requests to the kernel compiler (kernel_compiler/compiler_api.h), one
.json file each. Packages whose folder is missing are named and passed over.

Kernels are looked at with the launch that `tutti explain` assumes. Where one stays whole although
other values of its arguments might let it be split, it is asked again with the table's guesses.

A file fails when it ends in another way than with a result or a compiler's error, or when it needs
more than --limit seconds of processor time. Exit status: 1 when one failed.
"""

import argparse
import collections
import concurrent.futures
import fnmatch
import hashlib
import json
import os
import pathlib
import re
import resource
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib

SLOW_SECONDS = 2

# Reasons to stay whole -> classes, by the property underneath. The first that fits counts.
CLASSES = (
    (r"writes to image argument|of a kind that cannot be split", "image written"),
    (r"^atomic (load|store) ", "atomic load or store"),
    (r"^(uses the result of )?atomic ", "atomic"),  # with or without a used result: classify()
    (r"volatile", "volatile access"),
    (r"index that is not known before", "scattered store: index from memory"),
    (r"index without a known bound", "store at an index without a bound"),
    (r"unknown part of", "store of unknown extent"),
    (r"grid-stride", "grid-stride loop"),
    (r"writes of neighbouring slices", "neighbouring slices' writes meet"),
    (r"every slice writes the same part", "every slice writes the same place"),
    (r"cannot be told apart", "slices' writes not told apart"),
    (r"advance differently", "stores advance differently"),
    (r"share memory", "arguments share memory"),
    (r"single work-group", "a single work-group"),
    (r"whose buffer is not known", "unknown pointer"),
    (r"orders (global )?memory between work-groups", "fence between work-groups"),
    (r"sub-group function", "sub-group function"),
    (r"calls printf", "printf"),
    (r"variable in global memory|program's variable", "program-scope variable"),
    (r"argument .* of type|arguments that are not", "argument not understood"),
    (r"recursive or too large|more memory accesses", "too large to analyse"),
    (r"jumps into the middle of a loop", "irreducible loop"),
    (r"not understood|does not define|through a pointer|on global memory", "call not understood"),
)


# Those that depend on the launch, not on the kernel alone.
LAUNCH_CLASSES = {"store at an index without a bound", "grid-stride loop",
                  "neighbouring slices' writes meet", "every slice writes the same place",
                  "slices' writes not told apart", "stores advance differently"}


class Program:
    """One source with its options."""

    def __init__(self, file, options, name):
        self.file, self.options, self.name = file, options, name


def fits(name, patterns):
    return any(fnmatch.fnmatch(name, pattern) for pattern in patterns)


def files_of(package, folder):
    """(file, its path in the folder) of all that is no mere header."""
    wanted = package.get("files", ["*.cl"])
    for file in sorted(folder.rglob("*")):
        name = str(file.relative_to(folder))
        if file.is_file() and fits(name, wanted) and not fits(name, package.get("headers", [])):
            yield file, name


def installed_programs(package, folder):
    for file, name in files_of(package, folder):
        options = list(package.get("options", []))
        values = {"folder": str(folder)}
        for rule in package.get("rules", []):
            match = re.fullmatch(rule["match"], name)
            if match:
                options += rule["options"]
                values.update(match.groupdict())
        if "options_in_file" in package:
            text = file.read_text(errors="replace")
            for found in re.findall(package["options_in_file"], text, re.MULTILINE):
                options += shlex.split(found)
        yield Program(file, [option.format_map(values) for option in options], name)


def captured_programs(package, folder, work):
    """The requests in a folder as files; equal ones, and links of units seen before, are left out."""
    seen = set()
    for request_file in sorted(folder.glob("*.json")):
        request = json.loads(request_file.read_text())
        source, options = request.get("source", ""), request.get("options", "")
        key = hashlib.sha256(f"{options}\0{source}".encode()).hexdigest()[:16]
        if request.get("units") or key in seen:
            continue
        seen.add(key)
        own = work / package["name"] / key
        own.mkdir(parents=True)
        for header in request.get("headers", []):
            target = own / header["name"]
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(header["source"])
        file = own / "program.cl"
        file.write_text(source)
        yield Program(file, shlex.split(options), key)


class Sweep:
    def __init__(self, tutti, limit, guesses):
        self.tutti, self.limit, self.guesses = str(tutti), limit, guesses

    def explain(self, program, *options):
        """Exit code, seconds of processor time, stdout, stderr."""
        def limits():
            resource.setrlimit(resource.RLIMIT_CPU, (self.limit, self.limit))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
            process = subprocess.Popen(
                [self.tutti, "explain", "--json", *options, *program.options, str(program.file)],
                stdout=out, stderr=errors, stdin=subprocess.DEVNULL, preexec_fn=limits)
            # Processor time is limited already; this is for a deadlock.
            timer = threading.Timer(30 * self.limit, process.kill)
            timer.start()
            _, status, usage = os.wait4(process.pid, 0)
            timer.cancel()
            process.returncode = code = os.waitstatus_to_exitcode(status)
            out.seek(0)
            errors.seek(0)
            return (code, round(usage.ru_utime + usage.ru_stime, 3), out.read(),
                    errors.read().decode(errors="replace"))

    def run(self, program):
        """A result as plain data: status, seconds, kernels."""
        code, seconds, text, log = self.explain(program)
        result = {"file": program.name, "seconds": seconds, "options": program.options,
                  "kernels": []}
        if code == 0:
            result["status"] = "ok"
            result["kernels"] = [self.with_guesses(program, kernel)
                                 for kernel in json.loads(text)["kernels"]]
        elif code in (1, 2) and "error:" in log:
            result["status"] = "does not compile"
            result["log"] = next(line for line in log.splitlines() if "error:" in line)
        elif code in (-signal.SIGKILL, -signal.SIGXCPU):
            result["status"] = "too slow"
        else:
            result["status"] = f"ended with {code}"
            result["log"] = log[-1000:]
        return result

    def with_guesses(self, program, kernel):
        """The kernel as first explained, or as with guessed values when those let it be split."""
        first = kernel_of(kernel)
        values = []
        for argument in kernel["arguments"]:
            guess = next((guess["value"] for guess in self.guesses
                          if re.fullmatch(guess["match"], argument["name"])), None)
            if argument["kind"] == "scalar" and re.fullmatch(r"u?(int|long|short)",
                                                             argument["type"]) and guess is not None:
                values.append(f"{argument['name']}={guess}")
        if first["class"] not in LAUNCH_CLASSES or not values:
            return first
        words = [word for value in values for word in ("--arg", value)]
        code, _, text, _ = self.explain(program, "--kernel", kernel["name"], *words)
        second = kernel_of(json.loads(text)["kernels"][0]) if code == 0 else first
        if second["mode"] == "whole":
            return first
        return {**second, "guessed": values}


def kernel_of(kernel):
    written = [argument["name"] for argument in kernel["arguments"]
               if argument["kind"] == "image" and argument["access"] != "read_only"]
    return {"name": kernel["name"], "mode": kernel["mode"], "plain": not written,
            "class": "" if kernel["mode"] != "whole" else classify(kernel),
            "reason": kernel["reason"], "line": kernel["line"], "source": kernel["source"]}


def classify(kernel):
    for pattern, name in CLASSES:
        if re.search(pattern, kernel["reason"]):
            break
    else:
        return "other: " + re.sub(r"'[^']*'", "'…'", kernel["reason"])
    if name == "atomic":
        used = any(argument.get("atomic_results_used") for argument in kernel["arguments"])
        return "atomic, result used" if used else "atomic, result unused"
    return name


def distinct(results):
    """Kernels of all programs; those of one source built in several ways count once per answer."""
    seen = {}
    for result in results:
        for kernel in result["kernels"]:
            key = (kernel["name"], kernel["mode"], kernel["class"], kernel["plain"])
            if result.get("captured"):
                seen.setdefault(key, kernel)
            else:
                seen[(result["file"], *key)] = kernel
    return list(seen.values())


def share(part, whole):
    return f"{100 * part / whole:.0f} %" if whole else "–"


def row_of(package, results):
    kernels = [kernel for kernel in distinct(results) if kernel["plain"]]
    modes = collections.Counter(kernel["mode"] for kernel in kernels)
    slowest = max(results, key=lambda result: result["seconds"], default=None)
    status = collections.Counter(result["status"] for result in results)
    return {
        "package": package["name"], "version": package["version"],
        "counted": package.get("counted", True), "files": len(results),
        "compiled": status["ok"], "rejected": status["does not compile"],
        "failed": len(results) - status["ok"] - status["does not compile"],
        "kernels": len(distinct(results)), "plain": len(kernels), "modes": dict(modes),
        "slow": sum(result["seconds"] > SLOW_SECONDS for result in results),
        "slowest": [slowest["file"], slowest["seconds"]] if slowest else None,
        "classes": collections.Counter(k["class"] for k in kernels if k["mode"] == "whole"),
    }


def tables(rows):
    modes = sorted({mode for row in rows for mode in row["modes"]} | {"disjoint", "whole"},
                   key=lambda mode: (mode == "whole", mode))
    lines = ["| package | files | compile | fail | kernels | plain buffers | "
             + " | ".join(modes) + " | split | over 2 s | slowest, s |",
             "|---|" + "--:|" * (len(modes) + 8)]
    total = collections.Counter()
    classes = collections.Counter()
    for row in [*rows, None]:
        if row is None:
            row = {"package": "all", "version": "", "slowest": None, "modes": total, **total}
        else:
            if row["counted"]:
                total.update({key: row[key] for key in ("files", "compiled", "failed", "kernels",
                                                        "plain", "slow")})
                total.update(row["modes"])
                classes.update(row["classes"])
        slowest = f"{row['slowest'][1]:.2f}" if row["slowest"] else ""
        counts = [row["modes"].get(mode, 0) for mode in modes]
        split = row["plain"] - row["modes"].get("whole", 0)
        lines.append("| " + " | ".join(map(str, [
            f"{row['package']} {row['version']}".strip() + ("" if row.get("counted", True) else " ¹"),
            row["files"], row["compiled"],
            row["failed"], row["kernels"], row["plain"], *counts, share(split, row["plain"]),
            row["slow"], slowest])) + " |")
    lines += ["", "| why whole | kernels | in |", "|---|--:|---|"]
    for name, count in classes.most_common():
        where = [f"{row['package']} {row['classes'][name]}" for row in rows
                 if row["counted"] and row["classes"][name]]
        lines.append(f"| {name} | {count} | {', '.join(where)} |")
    if not all(row["counted"] for row in rows):
        lines += ["", "¹ Not in the sum."]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path, help="build folder")
    parser.add_argument("packages", nargs="*", help="default: all of the table")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path("/"))
    parser.add_argument("--table", type=pathlib.Path,
                        default=pathlib.Path(__file__).with_suffix(".toml"))
    parser.add_argument("--json", type=pathlib.Path, help="all results, in detail")
    parser.add_argument("--markdown", type=pathlib.Path, help="the tables; default: stdout")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--every", type=int, default=1, metavar="N",
                        help="only every Nth file of each package")
    parser.add_argument("--limit", type=int, default=20, help="seconds of processor time per file")
    arguments = parser.parse_intermixed_args()

    table = tomllib.loads(arguments.table.read_text())
    packages = table["package"]
    unknown = set(arguments.packages) - {package["name"] for package in packages}
    if unknown:
        parser.error(f"not in {arguments.table}: {', '.join(sorted(unknown))}")
    sweep = Sweep(arguments.build / "bin" / "tutti", arguments.limit, table.get("guess", []))
    rows, details = [], {}
    with tempfile.TemporaryDirectory() as work, \
            concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for package in packages:
            if arguments.packages and package["name"] not in arguments.packages:
                continue
            folder = arguments.root / package["folder"]
            if not folder.is_dir():
                print(f"{package['name']}: {folder} is missing", file=sys.stderr)
                continue
            captured = package.get("captured", False)
            programs = list(captured_programs(package, folder, pathlib.Path(work)) if captured
                            else installed_programs(package, folder))
            programs = programs[::arguments.every]
            start = time.monotonic()
            results = list(pool.map(sweep.run, programs))
            for result in results:
                result["captured"] = captured
            rows.append(row_of(package, results))
            details[package["name"]] = results
            print(f"{package['name']}: {len(results)} programs in {time.monotonic() - start:.0f} s",
                  file=sys.stderr)
            for result in results:
                if result["status"] not in ("ok", "does not compile"):
                    print(f"  {result['file']}: {result['status']}", file=sys.stderr)
    if arguments.json:
        arguments.json.write_text(json.dumps({"rows": rows, "programs": details}, indent=1))
    if arguments.markdown:
        arguments.markdown.write_text(tables(rows))
    else:
        print(tables(rows))
    return 1 if any(row["failed"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
