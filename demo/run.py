#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Renders the demo's picture on every real device alone, then on all of them together, and says
who computed what, how long it took and whether the pictures are the same.

Needs a finished build (bin/tutti, bin/tutti-demo) and nothing but Python's standard library.
README.md documents the two JSON formats that are read here.

Exit status: 0 all right; 1 something failed or a pixel is wrong; 2 wrong usage.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
# What takes part unless the user says otherwise: two one-core PoCL devices and llvmpipe on one
# core, besides every other driver that is installed.
DEFAULT_ENVIRONMENT = {
    "POCL_DEVICES": "basic basic",
    "RUSTICL_ENABLE": "llvmpipe",
    "LP_NUM_THREADS": "1",
}


class DemoError(Exception):
    """Something that ends the demo; the text is for the user."""


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", type=Path, default=HERE.parent / "build",
                        help="build folder (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=HERE / "out",
                        help="folder for the pictures (default: %(default)s)")
    parser.add_argument("--size", default="1920x1080", help="pixels (default: %(default)s)")
    parser.add_argument("--repeat", type=int, default=2,
                        help="launches per run, of which the best counts (default: %(default)s)")
    arguments = parser.parse_args()
    try:
        width, height = (int(part) for part in arguments.size.split("x"))
    except ValueError:
        parser.error(f"--size wants WxH, not {arguments.size}")
    if not (0 < width <= 32768 and 0 < height <= 32768):
        parser.error("--size wants 1 to 32768 pixels each way")
    if arguments.repeat < 1:
        parser.error("--repeat wants at least 1")
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
        self.environment = dict(os.environ)
        for key, value in DEFAULT_ENVIRONMENT.items():
            self.environment.setdefault(key, value)

    def devices(self):
        text = run([self.tutti, "devices", "--json"], self.environment)
        try:
            return json.loads(text)["devices"]
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise DemoError(f"tutti devices --json printed something unexpected: {error}")

    def render(self, name, extra):
        """One run of the demo program under Tutti: (its report, its pixels)."""
        raw = self.out / f"{name}.raw"
        raw.unlink(missing_ok=True)
        text = run([self.tutti, "run", "--", self.program, "--size", self.size, "--repeat",
                    self.repeat, "--raw", raw], {**self.environment, **extra})
        pixels = raw.read_bytes()
        raw.unlink()
        if len(pixels) != 4 * self.width * self.height:
            raise DemoError(f"{raw} has {len(pixels)} bytes")
        return last_json_line(text, "tutti-demo"), pixels

    def render_alone(self, device):
        index = device["index"]
        return self.render(f"device-{index}",
                           {"TUTTI_DEVICES": str(index), "TUTTI_BALANCER": "single"})

    def render_together(self):
        """All devices: (report, pixels, the summary's entry of the kernel)."""
        path = self.out / "summary.json"
        path.unlink(missing_ok=True)
        report, pixels = self.render("together", {"TUTTI_SUMMARY": str(path)})
        try:
            kernels = json.loads(path.read_text())["kernels"]
            return report, pixels, next(k for k in kernels if k["name"] == "render")
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
    """The summary's packages as rows of the picture; None when they are not rows."""
    last = kernel["last"]
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


def demo(arguments):
    job = Demo(arguments)
    listed = job.devices()
    print("Devices:")
    for device in listed:
        state = "" if device["used"] else f"   left out: {device.get('reason') or 'no reason given'}"
        print(f"  {device['index']}: {device['platform']} / {device['name']}{state}")
    used = [device for device in listed if device["used"]]
    if not used:
        raise DemoError("no device is used")

    print(f"\nRendering {job.size}, best of {job.repeat}, launch to pixels in host memory:",
          flush=True)
    seconds, alone = {}, {}
    failed = False
    for device in used:
        try:
            report, alone[device["index"]] = job.render_alone(device)
        except DemoError as error:
            failed = True
            print(f"  device {device['index']} alone FAILED: {error}", flush=True)
            continue
        seconds[device["index"]] = report["picture_s"]
        print(f"  device {device['index']} alone      {report['picture_s']:8.3f} s   "
              f"{device['name']}", flush=True)
    if not seconds:
        raise DemoError("no device could render alone")
    report, together, kernel = job.render_together()
    best = min(seconds, key=seconds.get)
    print(f"  all together        {report['picture_s']:8.3f} s   {report['platform']} / "
          f"{report['device']}")

    rows = package_rows(kernel, job.height)
    if rows is None:
        print(f"\nThe launch was split along dimension {kernel.get('dimension')}: no strip of rows.")
        rows = []
    else:
        check_coverage(rows, job.height)
        print_shares(used, kernel, rows, job.height)
    mode, reason = kernel.get("mode", "?"), kernel.get("reason") or "no reason given"
    if len({package["device"] for package in kernel["last"]["packages"]}) < 2:
        print(f"  The last launch ran on one device only: {mode}, {reason}")

    print(f"\nBest single device: {seconds[best]:.3f} s (device {best}); all together: "
          f"{report['picture_s']:.3f} s; {seconds[best] / report['picture_s']:.2f} times as fast.")
    if len(seconds) > 1:
        ideal = 1 / sum(1 / value for value in seconds.values())
        print(f"The sum of all devices, if none waited or competed for a core: {ideal:.3f} s.")

    count, largest = difference(together, alone[best], job.width)
    if count == 0:
        print(f"Results: identical to device {best} alone, byte for byte.")
    else:
        print(f"Results: not identical: {count} of {job.width * job.height} pixels differ from "
              f"device {best} alone, by up to {largest} of 255.")
    wrong = check_rows(rows, together, alone, job.width)
    if wrong:
        failed = True
        print("WRONG: " + "\nWRONG: ".join(wrong))
    elif count and rows:
        print("  Each row is, byte for byte, what its device computes alone: the devices themselves "
              "round differently.")
    elif count:
        failed = True
        print("WRONG: nothing explains the difference")

    print(f"Picture: {job.draw(together, rows)}")
    return 1 if failed else 0


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
