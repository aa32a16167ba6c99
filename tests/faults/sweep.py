#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs scenarios on two devices of a vendor of which one call fails, each injection in a process of
its own, and says how often the result was right, told, told late, wrong and untold, a hang or a crash.

    tests/faults/sweep.py --build build --count 500 --seed 7
    tests/faults/sweep.py --build build --all --scenarios 'in-place*' --modes event
    tests/faults/sweep.py --build build --native --memory shared --count 200
    tests/faults/sweep.py --build build --repeat 'in-place+events shared clFlush:0:4:fail'

Ends with 1 where anything was late, untold, a hang or a crash that --known does not name, or where
something that it names fails no more, or where fewer than --least ended right.
"""

import argparse
import collections
import concurrent.futures
import fnmatch
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

BAD = ("late", "untold", "hang", "crash")
OUTCOMES = ("right", "told") + BAD + ("unreached",)

ENQUEUES = {
    "clEnqueueReadBuffer", "clEnqueueWriteBuffer", "clEnqueueCopyBuffer", "clEnqueueNDRangeKernel",
    "clEnqueueFillBuffer", "clEnqueueMarkerWithWaitList", "clEnqueueReadBufferRect",
    "clEnqueueWriteBufferRect", "clEnqueueReadImage", "clEnqueueWriteImage", "clEnqueueCopyImage",
    "clEnqueueFillImage", "clEnqueueMapBuffer", "clEnqueueUnmapMemObject", "clEnqueueNativeKernel",
    "clEnqueueCopyBufferRect", "clEnqueueBarrierWithWaitList"}
DELAYED = {"clEnqueueReadBuffer", "clEnqueueWriteBuffer", "clEnqueueCopyBuffer",
           "clEnqueueNDRangeKernel", "clEnqueueFillBuffer", "clEnqueueMarkerWithWaitList"}
SYNCHRONISING = {"clFlush", "clFinish", "clWaitForEvents"}
COMPILING = {"clBuildProgram", "clCompileProgram", "clLinkProgram"}
# What is only asked, mostly when devices are looked for: one failure of each is enough.
QUERIES = {"clGetPlatformInfo", "clGetDeviceIDs", "clGetDeviceInfo", "clGetSupportedImageFormats"}


def modes_of(function):
    if function in ENQUEUES:
        modes = ["fail", "event", "event-done", "lost", "context", "hang"]
        return modes + ["event-half", "delay"] if function in DELAYED else modes
    if function == "clFlush":
        return ["fail", "fail-done", "lost"]
    if function in SYNCHRONISING:
        return ["fail", "fail-done", "lost", "hang"]
    if function in COMPILING:
        return ["fail", "lost", "crash"]
    return ["fail", "lost"]


class Case(collections.namedtuple("Case", "scenario memory")):
    """A scenario, with +events where it holds them, on devices that share memory or do not."""
    def __str__(self):
        return f"{self.scenario} {self.memory}"


class Injection(collections.namedtuple("Injection", "case function device number mode")):
    @property
    def plan(self):
        return f"{self.function}:{self.device}:{self.number}:{self.mode}"

    def __str__(self):
        return f"{self.case} {self.plan}"


def work_done(process):
    """What changes while a process or a child of it, such as tutti-probe, does anything: the
    processor's time of its threads; None while one of them could run."""
    used = []
    for thread in pathlib.Path(f"/proc/{process}/task").iterdir():
        try:
            words = (thread / "stat").read_text().rpartition(")")[2].split()
            children = (thread / "children").read_text().split()
        except OSError:
            continue
        if words[0] != "S":
            return None
        used.append((thread.name, words[11], words[12]))
        for child in children:
            work = work_done(child) if pathlib.Path(f"/proc/{child}/task").exists() else []
            if work is None:
                return None
            used += work
    return used


def await_end(process, limit, quiet):
    """False for a hang: all of its threads have slept for `quiet` seconds, or `limit` is over. A
    machine that is busy with other things makes no hang of the first kind."""
    started = since = time.monotonic()
    before = None
    while True:
        try:
            process.wait(0.25)
            return True
        except subprocess.TimeoutExpired:
            pass
        now = time.monotonic()
        seen = work_done(process.pid)
        if seen is None or seen != before:
            before, since = seen, now
        if now - since > quiet or now - started > limit:
            return False


Result = collections.namedtuple("Result", "injection outcome text seconds told")

# What Tutti's log says of each root of a failure (scheduler/run/given_up.cpp).
LOST = re.compile(r"\d+ bytes of (buffer|image) \d+ lay on .* alone, and are lost")
GIVEN_UP = re.compile(r" is given up: (.*)")
OVERWRITTEN = "it may have overwritten what it needs, of which there is no other copy"
NAMED = re.compile(re.escape(OVERWRITTEN) + r": (,? ?\d+ bytes of (buffer|image) \d+ in [a-z' ]+)+$")
# Said also of what others have made fail, whose inputs may be gone or not.
CONSEQUENCES = ("no device is left that may do it", "no way to or from a device has worked")
GONE, EXIST = "inputs gone", "inputs exist"


class Told(collections.namedtuple("Told", "inputs causes")):
    """Of a told run: whether what was needed did not exist anywhere any more, and what the log says
    of it (README.md). Gone is only what the log names, as far as the fault that was injected can do
    that: a device that is lost takes along what lay there alone, a launch that fails after it may
    have run has overwritten what it needs. Where anything else has been given up, too, or the log
    says nothing, the inputs exist."""

    @staticmethod
    def of(injection, log):
        lasting = injection.mode in ("lost", "context", "hang")
        ran = lasting or (injection.function == "clEnqueueNDRangeKernel"
                          and injection.mode.startswith("event"))
        lost = {match[1] for match in LOST.finditer(log)}
        reasons = {OVERWRITTEN if NAMED.fullmatch(match[1]) else match[1]
                   for match in GIVEN_UP.finditer(log)}
        causes = sorted(reasons) + [f"a lost device alone had content of {kind}s" for kind in
                                    sorted(lost)]
        if injection.case.memory == "shared":
            lost.discard("buffer")  # which lies in the host's memory
        gone = (lasting and lost) or (ran and OVERWRITTEN in reasons)
        other = reasons - {OVERWRITTEN, *CONSEQUENCES}  # also where no content is named
        return Told(GONE if gone and not other else EXIST, "; ".join(causes) or "the log is silent")


class Runner:
    def __init__(self, options):
        self.options = options
        self.no_deadline = getattr(options, "no_deadline", False)
        build = options.build.resolve()
        self.program = build / "bin/tutti-fault-scenarios"
        self.vendor = build / "lib/libfaulty-vendor.so"
        self.apart = build / "lib/libtutti-test-apart.so"
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tutti-faults-"))
        self.warm = self.folder / "warm"
        (self.folder / "empty.toml").write_text("")
        # What vendors compiled is kept from run to run.
        self.pocl = build / "tests/cache/pocl-one"
        self.pocl.mkdir(parents=True, exist_ok=True)
        self.icd = options.driver or build / "etc/OpenCL/vendors"
        if options.native:
            self.icd = self.folder / "native"
            self.icd.mkdir()
            (self.icd / "faulty.icd").write_text(f"{self.vendor}\n")
        self.local = threading.local()
        self.lock = threading.Lock()
        self.caches = 0

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def cache(self):
        """This thread's cache folder for Tutti, as warm as the first run left it and not touched by
        what the last injection did."""
        if not hasattr(self.local, "cache"):
            with self.lock:
                self.caches += 1
                self.local.cache = self.folder / f"cache{self.caches}"
        shutil.rmtree(self.local.cache, ignore_errors=True)
        if self.warm.exists():
            shutil.copytree(self.warm, self.local.cache)
        else:
            self.local.cache.mkdir()
        return self.local.cache

    def run(self, case, plan, arguments=(), cache=None, show=False, preload=(), more=()):
        """`preload`: libraries; `more`: of the environment. The status, and what was said."""
        more = {"TUTTI_LOG": os.environ.get("TUTTI_LOG", "info" if show else "off"), **dict(more)}
        status, output, log = self.run_logged(case, plan, arguments, cache, preload, more)
        if show:
            print(log, end="", flush=True)
        return status, output

    def run_logged(self, case, plan, arguments=(), cache=None, preload=(), more=()):
        """The same; and what was logged."""
        environment = dict(
            os.environ, OCL_ICD_VENDORS=str(self.icd), OCL_ICD_FILENAMES="",
            TUTTI_CONFIG=str(self.folder / "empty.toml"), TUTTI_CACHE=str(cache or self.cache()),
            TUTTI_MODEL="process", TUTTI_SPLIT=getattr(self.options, "split", "force"),
            TUTTI_TOP="off", TUTTI_SEED="1",
            # Who waits for a helper sleeps, as in a hang (compiler_crashes.py has helpers).
            TUTTI_BUILDS="inside",
            TUTTI_VENDORS=str(self.vendor), POCL_CACHE_DIR=str(self.pocl),
            POCL_DEVICES="basic basic", FAULTY_VENDOR_PLAN=plan)
        if self.no_deadline:
            # Of a device that takes one call at a time nobody can read while another one hangs.
            environment["POCL_DEVICES"] = "pthread pthread"
        environment.setdefault("TUTTI_LOG", "info")  # which says why a result is missing
        if case.memory == "apart":
            preload = (*preload, self.apart)
            environment["TUTTI_TEST_APART"] = "gpus"
        if preload:
            environment["LD_PRELOAD"] = " ".join(map(str, preload))
        if plan.endswith(":hang") and not self.no_deadline:
            environment["TUTTI_DEADLINE"] = "1"  # else the application waits for ever
        environment.update(more)
        name, _, variant = case.scenario.partition("+")
        command = [str(self.program), "--faulty", str(self.vendor), *arguments, name]
        if variant:
            command.append("--events")
        with tempfile.TemporaryFile("w+") as said, \
                tempfile.TemporaryFile("w+", errors="replace") as logged:
            process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL,
                                       stdout=said, stderr=logged)
            # An exit waits for 5 seconds for what hangs.
            quiet = max(self.options.quiet, 8) if self.no_deadline else self.options.quiet
            ended = await_end(process, self.options.limit, quiet)
            if not ended:
                process.kill()
                process.wait()
            said.seek(0)
            output = said.read()
            logged.seek(0)
            return process.returncode if ended else "hang", output, logged.read()

    def counts(self, case, cache=None):
        """The calls of a run without a fault: {(function, device): (of preparation, all)}."""
        status, output = self.run(case, "", ["--counts"], cache)
        lines = output.splitlines()
        if status != 0 or not lines or not lines[0].startswith("right "):
            sys.exit(f"{case} without any fault: status {status}\n{output}")
        found = {}
        for line in lines[1:]:
            function, device, prepared, calls = line.split()
            found[function, int(device)] = int(prepared), int(calls)
        return found

    def inject(self, injection, show=False):
        started = time.monotonic()
        status, output, log = self.run_logged(injection.case, injection.plan)
        if show:
            print(log, end="", flush=True)
        first, _, text = output.partition("\n")[0].partition(" | ")
        words = first.split()
        if status == "hang":
            outcome = "hang"
        elif status != 0 or len(words) != 2:
            outcome, text = "crash", f"status {status}; {first}"
        elif words[1] == "0" and words[0] == "right":
            outcome = "unreached"  # packages are shared out anew in each run
        else:
            outcome = words[0]
        told = Told.of(injection, log) if outcome == "told" else None
        return Result(injection, outcome, text, time.monotonic() - started, told)


def chosen(name, patterns):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns.split(","))


def spread(first, last, count):
    """At most `count` numbers of a range, its ends among them."""
    numbers = list(range(first, last + 1))
    if not count or len(numbers) <= count:
        return numbers
    if count == 1:
        return numbers[:1]
    return sorted({numbers[round(i * (len(numbers) - 1) / (count - 1))] for i in range(count)})


def every(options, cases, counts, numbers):
    """All injections; of preparations, which are alike, only the first scenario's."""
    prepared = set()
    found = []
    for case in cases:
        for (function, device), (before, calls) in sorted(counts[case].items()):
            if not chosen(function, options.functions):
                continue
            if function in QUERIES:
                before, few = 0, 1
            else:
                few = numbers
            first = before + 1
            if case.memory not in prepared or function in QUERIES:
                first = 1
            if function in QUERIES and case.memory in prepared:
                continue
            for number in spread(first, calls, few):
                for mode in modes_of(function):
                    if chosen(mode, options.modes):
                        found.append(Injection(case, function, device, number, mode))
        prepared.add(case.memory)
    return found


def sample(options, cases, counts):
    """Each scenario is as likely as any other, and of it each function; but those that move or
    compute data or wait for it are as likely as three others. Few are hangs, which take long."""
    choose = random.Random(options.seed)
    found = {}
    functions = {case: [f for f in sorted({f for f, _ in counts[case]})
                        for _ in range(3 if f in ENQUEUES | SYNCHRONISING else 1)
                        if chosen(f, options.functions)]
                 for case in cases}
    while len(found) < options.count:
        case = choose.choice(cases)
        if not functions[case]:
            continue
        function = choose.choice(functions[case])
        if function in QUERIES and choose.random() < 0.8:
            continue
        modes = [mode for mode in modes_of(function) if chosen(mode, options.modes)]
        if not modes:
            continue
        mode = choose.choice(modes)
        if mode == "hang" and choose.random() < 0.7:
            continue
        device = choose.choice([d for f, d in counts[case] if f == function])
        before, calls = counts[case][function, device]
        if before < calls and choose.random() < 0.9:
            number = choose.randint(before + 1, calls)
        else:
            number = choose.randint(1, calls)
        injection = Injection(case, function, device, number, mode)
        found[str(injection) + f" #{len(found)}" if options.again else str(injection)] = injection
    return list(found.values())


class Known:
    """Lines `SCENARIO FUNCTION MODE MEMORY OUTCOME [sometimes]`, each word a pattern of the shell's."""

    def __init__(self, file):
        self.entries = []
        for line in file.read_text().splitlines() if file else []:
            words = line.partition("#")[0].split()
            if words:
                self.entries.append((words[:5], "sometimes" in words[5:], line.strip()))
        self.tried, self.failed = set(), set()

    def covers(self, result):
        injection = result.injection
        named = (injection.case.scenario, injection.function, injection.mode, injection.case.memory)
        covered = False
        for index, (patterns, _, _) in enumerate(self.entries):
            if not all(map(fnmatch.fnmatchcase, named, patterns)):
                continue
            self.tried.add(index)
            if result.outcome in BAD and fnmatch.fnmatchcase(result.outcome, patterns[4]):
                self.failed.add(index)
                covered = True
        return covered

    def mended(self):
        return [line for index, (_, sometimes, line) in enumerate(self.entries)
                if index in self.tried and index not in self.failed and not sometimes]


def table(title, rows):
    """Counts of outcomes by a key, the worst first."""
    print(f"\n{title:40}" + "".join(f"{name:>10}" for name in OUTCOMES))
    order = sorted(rows, key=lambda key: (-sum(rows[key][bad] for bad in BAD), key))
    for key in order:
        print(f"{key:40}" + "".join(f"{rows[key][name] or '-':>10}" for name in OUTCOMES))


def report(results):
    """Prints it. The share of right ones among those whose inputs exist, in percent."""
    for title, key in (("function", lambda i: i.function), ("mode", lambda i: i.mode),
                       ("scenario", lambda i: i.case.scenario),
                       ("function and mode, not all right or told",
                        lambda i: f"{i.function} {i.mode}"),
                       ("memory", lambda i: i.case.memory), ("all", lambda i: "all")):
        rows = collections.defaultdict(collections.Counter)
        for result in results:
            rows[key(result.injection)][result.outcome] += 1
        if title.startswith("function and"):
            rows = {key: row for key, row in rows.items() if any(row[bad] for bad in BAD)}
        table(title, rows)
    elsewhere = [r for r in results if r.outcome in ("right", "told") + BAD
                 and r.injection.mode not in ("delay", "hang", "crash")]
    right = sum(r.outcome == "right" for r in elsewhere)
    if not elsewhere:
        return 100
    print(f"\nright in spite of a failure: {right} of {len(elsewhere)} "
          f"({100 * right / len(elsewhere):.1f} %)")
    told = [r.told for r in elsewhere if r.told]
    exist = sum(one.inputs == EXIST for one in told)
    for kind, count in collections.Counter(told).most_common():
        print(f"{count:6} told, {kind.inputs}: {kind.causes}")
    share = 100 * right / max(1, right + exist)
    print(f"told with the inputs gone: {len(told) - exist}; although they exist: {exist}\n"
          f"right while the inputs exist: {right} of {right + exist} ({share:.1f} %)")
    return share


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--driver", type=pathlib.Path,
                        help="the folder of the .icd file of another Tutti than the build's")
    parser.add_argument("--native", action="store_true",
                        help="without Tutti, on the first device: whether the vendor and the "
                             "scenarios are fair")
    parser.add_argument("--count", type=int, default=500, help="how many injections are drawn")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--again", action="store_true", help="the same injection may be drawn twice")
    parser.add_argument("--all", action="store_true", help="all of them, instead")
    parser.add_argument("--numbers", type=int, default=0,
                        help="with --all: at most so many calls of each function and device")
    parser.add_argument("--scenarios", default="*", help="a comma list of patterns")
    parser.add_argument("--functions", default="*", help="a comma list of patterns")
    parser.add_argument("--modes", default="*", help="a comma list of patterns")
    parser.add_argument("--memory", default="shared,apart")
    parser.add_argument("--split", default="force", choices=("force", "auto", "never"),
                        help="TUTTI_SPLIT: auto keeps launches of this size whole")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--known", type=pathlib.Path, help="what fails today")
    parser.add_argument("--least", type=float, default=0, metavar="PERCENT",
                        help="so many of the runs with a failure shall end right, of those whose "
                             "inputs exist")
    parser.add_argument("--quiet", type=float, default=3,
                        help="a run is a hang when all of its threads have slept for so many seconds")
    parser.add_argument("--no-deadline", action="store_true",
                        help="no TUTTI_DEADLINE for devices that hang: packages of split launches "
                             "are overdue, and all else hangs")
    parser.add_argument("--limit", type=float, default=600, help="… or when it takes so many seconds")
    parser.add_argument("--repeat", metavar="SCENARIO MEMORY PLAN", help="one injection, shown")
    parser.add_argument("--times", type=int, default=1, help="with --repeat: how often")
    parser.add_argument("--results", type=pathlib.Path, help="a file to which each result is added")
    parser.add_argument("--list", action="store_true", help="show the injections, run none")
    return parser.parse_args()


def repeat(runner, options):
    words = options.repeat.split()
    plan = words[2].split(":")
    injection = Injection(Case(*words[:2]), plan[0], plan[1], plan[2], ":".join(plan[3:]))
    runner.counts(injection.case, runner.cache())
    shutil.copytree(runner.local.cache, runner.warm)
    outcomes = collections.Counter()
    for _ in range(options.times):
        result = runner.inject(injection, show=options.times == 1)
        print(f"{result.outcome}: {injection} | {result.text}" +
              (f" | {result.told.inputs}: {result.told.causes}" if result.told else ""))
        outcomes[result.outcome] += 1
    return 1 if any(outcomes[bad] for bad in BAD) else 0


def sweep(runner, options):
    listed = subprocess.run([runner.program, "--list"], capture_output=True, text=True, check=True)
    names = [name + variant for name in listed.stdout.split() for variant in ("", "+events")]
    cases = [Case(name, memory) for name in names if chosen(name, options.scenarios)
             for memory in options.memory.split(",")]
    if not cases:
        sys.exit("no such scenario")
    # The first runs build for each kind of memory, one after the other; they warm what is kept.
    cache = runner.folder / "warm-in-the-making"
    cache.mkdir()
    for case in {case.memory: case for case in cases}.values():
        runner.counts(case, cache)
    cache.rename(runner.warm)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        counts = dict(zip(cases, pool.map(runner.counts, cases)))
        if options.all:
            injections = every(options, cases, counts, options.numbers)
        else:
            injections = sample(options, cases, counts)
        if options.list:
            print("\n".join(map(str, injections)))
            return 0
        known = Known(options.known)
        results, failures = [], 0
        for result in pool.map(runner.inject, injections):
            results.append(result)
            covered = known.covers(result)
            if options.results:
                with options.results.open("a") as file:
                    file.write("\t".join([result.outcome, str(result.injection), result.text,
                                          *(result.told or ())]) + "\n")
            if result.outcome in BAD:
                failures += not covered
                print(f"{result.outcome}{' (known)' if covered else ''}: "
                      f"--repeat '{result.injection}' | {result.text}", flush=True)
    share = report(results)
    mended = known.mended()
    for line in mended:
        print(f"fails no more, take it out of {options.known}: {line}")
    spent = sum(result.seconds for result in results)
    print(f"\n{len(results)} injections, {failures} failures not known, {len(mended)} entries mended, "
          f"{spent / max(1, len(results)):.2f} s each")
    if share < options.least:
        print(f"fewer than {options.least} % end right while the inputs exist")
    return 1 if failures or mended or share < options.least else 0


def main():
    options = arguments()
    runner = Runner(options)
    try:
        return repeat(runner, options) if options.repeat else sweep(runner, options)
    finally:
        runner.close()


if __name__ == "__main__":
    sys.exit(main())
