#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lets processes end in every way, and looks at how they have ended.

Each way must end as the list says (an exit status or a signal), write nothing to stderr, and leave
nothing behind that holds its pipes. The limit only turns a hang into a failure.

A driver may compile a kernel in a thread of its own when it is launched for the first time, and not
survive the end of the process meanwhile: PoCL 6 does not, natively either (1 of 80 processes with
cold caches). So the first way runs to its end before the others begin, and fills the caches.

usage: run.py PROGRAM PLATFORM [--loader PROGRAM] [--vendor-threads] [--skip KIND|END=REASON]...
              [--native FILE] [--limit SECONDS] [--jobs N] [--repeat N] [WAY...]
"""

import argparse
import concurrent.futures
import itertools
import os
import selectors
import signal
import subprocess
import sys
import time


def listed(program):
    text = subprocess.run([program, "--list"], check=True, capture_output=True, text=True).stdout
    return [line.split("\t") for line in text.splitlines()]


def own_threads(pid):
    """Names of the process's threads, but for those that have ended."""
    names = []
    folder = f"/proc/{pid}/task"
    try:
        for thread in os.listdir(folder):
            with open(f"{folder}/{thread}/stat", encoding="utf-8", errors="replace") as file:
                text = file.read()
            name = text[text.index("(") + 1:text.rindex(")")]
            if text[text.rindex(")") + 2] != "Z":
                names.append(name)
    except OSError:
        pass
    return names


def main_has_ended(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/stat", encoding="utf-8", errors="replace") as file:
            text = file.read()
        return text[text.rindex(")") + 2] == "Z"
    except OSError:
        return True


class Run:
    """One process, and what is seen of it."""

    def __init__(self, command, limit):
        self.limit = time.monotonic() + limit
        self.child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, start_new_session=True)
        self.text = {self.child.stdout: b"", self.child.stderr: b""}

    def take(self, files, seconds):
        """Reads what is there, or comes; forgets files that have ended."""
        for key, _ in files.select(seconds):
            block = os.read(key.fd, 65536)
            if not block:
                files.unregister(key.fileobj)
            self.text[key.fileobj] += block

    def follow(self, vendor_threads, says):
        """Reads to the end of both pipes. False: it hangs."""
        sent = False
        with selectors.DefaultSelector() as files:
            for file in self.text:
                files.register(file, selectors.EVENT_READ)
            while files.get_map():
                left = self.limit - time.monotonic()
                if left < 0:
                    return False
                lines = self.text[self.child.stdout].split(b"\n")[:-1]
                # The vendor's threads are not Tutti's to end, but must not be without SIGTERM.
                idle = (vendor_threads and {b"main ends", says.encode()} <= {b"", *lines}
                        and main_has_ended(self.child.pid)
                        and not any(name.startswith("tutti-")
                                    for name in own_threads(self.child.pid)))
                if not sent and (b"term" in lines or idle):
                    self.child.send_signal(signal.SIGTERM)
                    sent = True
                self.take(files, min(left, 0.02 if vendor_threads else left))
        return True

    def outcome(self):
        status = self.child.wait()
        return signal.Signals(-status).name if status < 0 else str(status)

    def kill(self):
        try:
            os.killpg(self.child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.child.wait()


def judge(command, end, says, options):
    """Empty, or what is wrong."""
    run = Run(command, options.limit)
    if not run.follow(options.vendor_threads and end == "end", says):
        threads = own_threads(run.child.pid)
        run.kill()
        return f"hangs; threads: {', '.join(sorted(threads))}"
    ended = run.outcome()
    out, err = (run.text[file].decode(errors="replace")
                for file in (run.child.stdout, run.child.stderr))
    wanted = {end} if end != "end" else {"0", "SIGTERM"} if options.vendor_threads else {"0"}
    problems = []
    if ended not in wanted:
        problems.append(f"ended by {ended}, not {' or '.join(sorted(wanted))}")
    if err:
        problems.append(f"stderr: {err.strip()}")
    if says and says not in out.splitlines():
        problems.append(f"does not say '{says}', but: {out.strip()}")
    return "; ".join(problems)


def expected(path):
    """Ways in which the vendor's own driver does not end well, with the reason."""
    if not path:
        return {}
    with open(path, encoding="utf-8") as file:
        lines = [line.split(None, 1) for line in file if line.strip() and line[0] != "#"]
    return {way: reason.strip() for way, reason in lines}


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("program")
    parser.add_argument("platform")
    parser.add_argument("--loader")
    parser.add_argument("--vendor-threads", action="store_true")
    parser.add_argument("--skip", action="append", default=[])
    parser.add_argument("--native")
    parser.add_argument("--limit", type=float, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("ways", nargs="*")
    options = parser.parse_intermixed_args()
    skipped = dict(word.split("=", 1) for word in options.skip)
    known = expected(options.native)
    if options.platform != "Tutti":
        skipped["tutti"] = "only Tutti is asked for it"

    work = []
    for name, end, says, kind in listed(options.program):
        if options.ways and name not in options.ways:
            continue
        reason = next((skipped[word] for word in [end, *kind.split()] if word in skipped), None)
        if reason or name in known:
            print(f"skipped  {name}: {reason or known[name]}")
            continue
        command = [options.program, options.platform, name]
        work += [(name, command, end, says)] * options.repeat
    if options.loader:
        for way in ("again", "for-good"):
            if not options.ways or f"loader-{way}" in options.ways:
                command = [options.loader, options.platform, way]
                work += [(f"loader-{way}", command, "0", "")] * options.repeat

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        def one(item):
            begun = time.monotonic()
            return judge(*item[1:], options), time.monotonic() - begun
        first = [pool.submit(one, item).result() for item in work[:1]]
        for item, (problem, seconds) in zip(work, itertools.chain(first, pool.map(one, work[1:]))):
            print(f"{'FAILED' if problem else 'ok':8} {item[0]} ({seconds:.1f} s)"
                  + (f": {problem}" if problem else ""), flush=True)
            failed += bool(problem)
    print(f"{len(work)} processes, {failed} failed")
    return 1 if failed or not work else 0


if __name__ == "__main__":
    sys.exit(main())
