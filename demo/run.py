#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Renders the demo's picture on real devices alone and on all of them together, in turns, and says
who computed what, how long it took, whether the pictures are the same, and whether the machine was
quiet enough for the times to be believed.

Needs a finished build (bin/tutti, bin/tutti-demo) and nothing but Python's standard library.
README.md documents the two JSON formats that are read here, and how devices are chosen.

Exit status: 0 all right; 1 something failed or a pixel is wrong; 2 wrong usage.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

import device_choice
import machine

HERE = Path(__file__).resolve().parent


class DemoError(Exception):
    """Something that ends the demo; the text is for the user."""


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", type=Path, default=HERE.parent / "build",
                        help="build folder (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=HERE / "out",
                        help="folder for the pictures (default: %(default)s)")
    parser.add_argument("--size", default="1920x1080", help="pixels (default: %(default)s)")
    parser.add_argument("--repeat", type=int, default=1,
                        help="launches per run, of which the median counts (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5,
                        help="runs of each set of devices, in turns; as many again where the "
                             "machine is busy (default: %(default)s)")
    arguments = parser.parse_args()
    try:
        width, height = (int(part) for part in arguments.size.split("x"))
    except ValueError:
        parser.error(f"--size wants WxH, not {arguments.size}")
    if not (0 < width <= 16384 and 0 < height <= 16384):
        parser.error("--size wants 1 to 16384 pixels each way")
    for name in ("repeat", "rounds"):
        if getattr(arguments, name) < 1:
            parser.error(f"--{name} wants at least 1")
    arguments.width, arguments.height = width, height
    return arguments


def run(command, environment):
    """The standard output of a command; its errors and log go to our standard error."""
    result = subprocess.run([str(part) for part in command], env=environment, text=True,
                            stdout=subprocess.PIPE, check=False)
    if result.returncode != 0:
        raise DemoError(f"{' '.join(map(str, command))}\n  ended with status {result.returncode}"
                        f"{': ' + result.stdout.strip() if result.stdout.strip() else ''}")
    return result.stdout


def last_json_line(text, what):
    for line in reversed(text.splitlines()):
        if line.startswith("{"):
            try:
                return json.loads(line)
            except json.JSONDecodeError:
                break
    raise DemoError(f"{what} printed no JSON line: {text.strip()!r}")


class Demo:
    def __init__(self, arguments):
        self.size = arguments.size
        self.width, self.height = arguments.width, arguments.height
        self.repeat = arguments.repeat
        self.out = arguments.out
        self.tutti = arguments.build / "bin" / "tutti"
        self.program = arguments.build / "bin" / "tutti-demo"
        for path in (self.tutti, self.program):
            if not path.exists():
                raise DemoError(f"{path} does not exist: run make build first")
        self.out.mkdir(parents=True, exist_ok=True)
        self.cores = machine.usable_cores()
        self.environment = dict(os.environ)
        if not {"POCL_DEVICES", "RUSTICL_ENABLE", "TUTTI_DEVICES"} & set(os.environ):
            for key, value in device_choice.settings(self.listed(), self.cores).items():
                self.environment.setdefault(key, value)

    def choose_devices(self):
        """(all devices, those that take part, {index: why another one does not})."""
        listed = self.listed()
        chosen, left_out = device_choice.choose(listed, self.environment, self.cores)
        if os.environ.get("TUTTI_DEVICES"):  # the user's own choice, and its order, stand
            chosen = [device for device in listed if device["used"]]
            for device in chosen:
                left_out.pop(device["index"], None)
        else:
            self.environment["TUTTI_DEVICES"] = ",".join(str(d["index"]) for d in chosen)
        return listed, chosen, left_out

    def cores_used(self, devices):
        return device_choice.cores_used(devices, self.environment, self.cores)

    def listed(self):
        text = run([self.tutti, "devices", "--json"], self.environment)
        try:
            return json.loads(text)["devices"]
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise DemoError(f"tutti devices --json printed something unexpected: {error}")

    def render(self, name, extra):
        """One run of the demo program under Tutti: (its report, its pixels, the load)."""
        raw = self.out / f"{name}.raw"
        raw.unlink(missing_ok=True)
        watch = machine.Watch()
        text = run([self.tutti, "run", "--", self.program, "--size", self.size, "--repeat",
                    self.repeat, "--raw", raw], {**self.environment, **extra})
        load = watch.read()
        pixels = raw.read_bytes()
        raw.unlink()
        if len(pixels) != 4 * self.width * self.height:
            raise DemoError(f"{raw} has {len(pixels)} bytes")
        return last_json_line(text, "tutti-demo"), pixels, load

    def render_alone(self, device):
        index = device["index"]
        return self.render(f"device-{index}",
                           {"TUTTI_DEVICES": str(index), "TUTTI_BALANCER": "single"})

    def render_together(self):
        """All devices: (report, pixels, load, the summary's entry of the kernel)."""
        path = self.out / "summary.json"
        path.unlink(missing_ok=True)
        rendered = self.render("together", {"TUTTI_SUMMARY": str(path)})
        try:
            kernels = json.loads(path.read_text())["kernels"]
            return *rendered, next(k for k in kernels if k["name"] == "render")
        except (OSError, json.JSONDecodeError, KeyError, StopIteration) as error:
            raise DemoError(f"no summary of kernel render in {path}: {error!r}")

    def draw(self, pixels, rows):
        """Writes the final PNG with its strip; returns its path."""
        raw, strip, png = (self.out / name for name in ("picture.raw", "strip.json", "picture.png"))
        raw.write_bytes(pixels)
        strip.write_text(json.dumps({"packages": rows}, indent=1))
        run([self.program, "--size", self.size, "--from-raw", raw, "--strip", strip, "--out", png],
            self.environment)
        raw.unlink()
        return png


def package_rows(kernel, height):
    """The summary's packages as rows of the picture; None when they are not rows, or none was made."""
    last = kernel.get("last")
    if last is None:
        return None
    packages = sorted(last["packages"], key=lambda package: package["first"])
    whole = len(packages) == 1
    if kernel.get("dimension") != 1 and not whole:
        return None
    if last["global_size"][1] < height:  # the warm-up alone was split
        return None
    slice_size = last["slice_size"]
    rows = []
    for package in packages:
        first = package["first"] * slice_size
        end = (package["first"] + package["count"]) * slice_size
        if whole:  # a launch that was not split has no dimension of its own
            first, end = 0, height
        if first < height:
            rows.append({"device": package["name"], "index": package["device"],
                         "first_row": first, "last_row": min(end, height) - 1})
    return rows


def check_coverage(rows, height):
    """Every row exactly once."""
    expected = 0
    for row in rows:
        if row["first_row"] != expected:
            raise DemoError(f"row {expected} was computed twice or never, says the summary")
        expected = row["last_row"] + 1
    if expected != height:
        raise DemoError(f"rows from {expected} on were not computed, says the summary")


def difference(one, other, width):
    """(differing pixels, largest difference of a channel) of two pictures."""
    pixels = largest = 0
    line = 4 * width
    for start in range(0, len(one), line):
        a, b = one[start:start + line], other[start:start + line]
        if a == b:
            continue
        for i in range(0, line, 4):
            if a[i:i + 4] != b[i:i + 4]:
                pixels += 1
                largest = max(largest, *(abs(x - y) for x, y in zip(a[i:i + 4], b[i:i + 4])))
    return pixels, largest


def check_rows(rows, together, alone, width):
    """Each row against what its device computes alone. Returns the texts of what differs."""
    wrong = []
    for row in rows:
        if row["index"] not in alone:
            wrong.append(f"no run of device {row['index']} alone to compare with")
            continue
        start, end = 4 * width * row["first_row"], 4 * width * (row["last_row"] + 1)
        count, largest = difference(together[start:end], alone[row["index"]][start:end], width)
        if count:
            wrong.append(f"rows {row['first_row']}..{row['last_row']}: {count} pixels differ from "
                         f"what device {row['index']} computes alone, by up to {largest} of 255")
    return wrong


def print_shares(devices, kernel, rows, height):
    busy = {}
    for package in kernel["last"]["packages"]:
        nanoseconds = package.get("end_ns", 0) - package.get("start_ns", 0)
        busy[package["device"]] = busy.get(package["device"], 0) + nanoseconds
    print("\nShares of the last launch:")
    for device in devices:
        mine = [row for row in rows if row["index"] == device["index"]]
        count = sum(row["last_row"] - row["first_row"] + 1 for row in mine)
        print(f"  {device['index']}: {100 * count / height:5.1f} % of the rows in {len(mine):3d} "
              f"packages, busy {busy.get(device['index'], 0) / 1e9:.3f} s   {device['name']}")


def picture_seconds(report):
    return statistics.median(report["picture_s_all"])


def warm_up(job, chosen):
    """A run of each device alone, which is not timed: drivers compile, and Tutti gets to know the
    kernel. ({index: pixels}, whether one failed)."""
    alone, failed = {}, False
    for device in chosen:
        try:
            alone[device["index"]] = job.render_alone(device)[1]
        except DemoError as error:
            failed = True
            print(f"  device {device['index']} alone FAILED: {error}", flush=True)
    if not alone:
        raise DemoError("no device could render alone")
    return alone, failed


def take_turns(job, devices, rounds):
    """Rounds of each device alone, then all together; as many again while too few are quiet."""
    taken, last = [], None
    while len(taken) < rounds or (len(taken) < 2 * rounds and
                                  sum(not one.disturbances for one in taken) < rounds):
        if sys.stderr.isatty():
            print(f"\r  round {len(taken) + 1} …", end="", file=sys.stderr, flush=True)
        alone, disturbances = {}, []
        for device in devices:
            report, _, load = job.render_alone(device)
            alone[device["index"]] = picture_seconds(report)
            disturbances += load.disturbances(job.cores, job.cores_used([device]))
        report, pixels, load, kernel = job.render_together()
        disturbances += load.disturbances(job.cores, job.cores_used(devices))
        taken.append(machine.Round(alone, picture_seconds(report), disturbances))
        last = report, pixels, kernel
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    return taken, *last


def print_times(devices, rounds, report):
    def line(title, seconds, name):
        print(f"  {title:16} {statistics.median(seconds):8.3f} s  ({min(seconds):.3f} to "
              f"{max(seconds):.3f})   {name}")

    for device in devices:
        line(f"device {device['index']} alone", [one.alone[device["index"]] for one in rounds],
             device["name"])
    line("all together", [one.together for one in rounds],
         f"{report['platform']} / {report['device']}")


def print_verdict(verdict, rounds):
    """Of several devices: how much faster all together are, or why nobody can say."""
    if verdict.doubts:
        print("\nHow much faster all together are, these times do not tell:")
        for doubt in verdict.doubts:
            print(f"  {doubt}")
        print("  Try again when nothing else runs on the machine.")
        return
    print(f"\nAll together are {verdict.factor:.2f} times as fast as the best device alone (device "
          f"{verdict.best}); {verdict.low:.2f} to {verdict.high:.2f} in the middle half of "
          f"{verdict.rounds} rounds.")
    best = statistics.median(one.alone[verdict.best] for one in rounds)
    ideal = best * sum(1 / statistics.median(one.alone[index] for one in rounds)
                       for index in rounds[0].alone)
    print(f"If none waited for another it would be {ideal:.2f}: the sum of the devices' speeds.")


def check_together(rows, together, alone, best, width):
    """Says how the common picture compares with those of single devices. True: it is right."""
    count, largest = difference(together, alone[best], width)
    if count == 0:
        print(f"Results: identical to device {best} alone, byte for byte.")
    else:
        print(f"Results: not identical: {count} of {len(together) // 4} pixels differ from "
              f"device {best} alone, by up to {largest} of 255.")
    wrong = check_rows(rows, together, alone, width)
    if wrong:
        print("WRONG: " + "\nWRONG: ".join(wrong))
    elif count and rows:
        print("  Each row is, byte for byte, what its device computes alone: the devices themselves "
              "round differently.")
    elif count:
        wrong = True
        print("WRONG: nothing explains the difference")
    return not wrong


def render_on_one(job, device, alone):
    """Nothing to compare: through Tutti the only device computes all of it."""
    print(f"\nOne device takes part ({job.cores} core{'s' if job.cores > 1 else ''} and no GPU "
          "that an OpenCL driver shows): there is nothing to share out, so no\ncomparison. "
          "`tutti devices` shows what was found, `tutti doctor` what may be missing.")
    report, pixels, _ = job.render("together", {})
    print(f"  device {device['index']} {picture_seconds(report):8.3f} s   {device['name']}")
    rows = [{"device": device["name"], "index": device["index"], "first_row": 0,
             "last_row": job.height - 1}]
    right = check_together(rows, pixels, alone, device["index"], job.width)
    print(f"Picture: {job.draw(pixels, rows)}")
    return right


def demo(arguments):
    job = Demo(arguments)
    listed, chosen, left_out = job.choose_devices()
    print("Devices:")
    for device in listed:
        why = left_out.get(device["index"])
        print(f"  {device['index']}: {device['platform']} / {device['name']}"
              f"{f'   left out: {why}' if why else ''}")
    if not chosen:
        raise DemoError("no device is used (`tutti doctor` says why)")
    print(f"\nRendering {job.size}, launch to pixels in host memory:", flush=True)
    alone, failed = warm_up(job, chosen)
    devices = [device for device in chosen if device["index"] in alone]
    if len(devices) == 1:
        return 0 if render_on_one(job, devices[0], alone) and not failed else 1

    rounds, report, together, kernel = take_turns(job, devices, arguments.rounds)
    print(f"  median of {len(rounds)} rounds (lowest to highest)")
    print_times(devices, rounds, report)
    rows = package_rows(kernel, job.height)
    if rows is None and "last" not in kernel:
        print("\nNo launch was split: no strip of rows.")
    elif rows is None:
        print(f"\nThe launch was split along dimension {kernel.get('dimension')}: no strip of rows.")
    else:
        check_coverage(rows, job.height)
        print_shares(devices, kernel, rows, job.height)
    mode, reason = kernel.get("mode", "?"), kernel.get("reason") or "no reason given"
    if len({package["device"] for package in kernel.get("last", {}).get("packages", [])}) < 2:
        print(f"  The last launch ran on one device only: {mode}, {reason}")

    verdict = machine.judge(rounds)
    print_verdict(verdict, rounds)
    if job.cores_used(devices) < sum(job.cores_used([device]) for device in devices):
        print(f"These devices compete for {job.cores} cores, as TUTTI_DEVICES has chosen them.")
    right = check_together(rows or [], together, alone, verdict.best, job.width)
    print(f"Picture: {job.draw(together, rows or [])}")
    return 0 if right and not failed else 1


def main():
    try:
        return demo(parse_arguments())
    except (DemoError, OSError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    except (KeyError, TypeError) as error:
        print(f"demo: a JSON document is not as README.md says: {error!r}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
