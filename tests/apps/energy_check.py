#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Energy in the summary, the trace and the report, from RAPL counters in a folder that is advanced
here while the application runs.

usage: energy_check.py TUTTI BENCH      the environment chooses two CPU devices (cmake/TuttiTesting.cmake)
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time

from trace_reading import Failure, expect

WATTS = 50
RANGE = 400_000_000  # µJ


class Counter(threading.Thread):
    """A package that draws WATTS, and whose counter wraps around early in the run."""

    def __init__(self, folder):
        super().__init__()
        self.zone = folder / "intel-rapl:0"
        self.zone.mkdir(parents=True)
        (self.zone / "name").write_text("package-0\n")
        (self.zone / "max_energy_range_uj").write_text(f"{RANGE}\n")
        core = folder / "intel-rapl:0:0"  # within the package: must not count again
        core.mkdir()
        (core / "name").write_text("core\n")
        (core / "energy_uj").write_text("1\n")
        self.begun = time.monotonic()
        self.ended = threading.Event()
        self.write()

    def write(self):
        joules = WATTS * (time.monotonic() - self.begun)
        value = (RANGE - 10_000_000 + int(joules * 1e6)) % (RANGE + 1)
        (self.zone / "next").write_text(f"{value}\n")
        (self.zone / "next").rename(self.zone / "energy_uj")  # never seen half written

    def run(self):
        while not self.ended.wait(0.005):
            self.write()


def bench(program, size=512, repeat=3, **environment):
    ended = subprocess.run([program, "--platform", "Tutti", "--size", str(size),
                            "--repeat", str(repeat), "mandelbrot"],
                           text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           env=dict(os.environ, **environment))
    expect(ended.returncode == 0, ended.stdout + ended.stderr)
    return ended


def near(value, wanted, part, what):
    expect(abs(value - wanted) <= part * abs(wanted), f"{what}: {value} in place of {wanted}")


def check_summary(summary):
    energy = summary["energy"]
    expect(energy["measured"] and not energy["absent"], energy)
    expect(energy["seconds"] > 0.2, f"too short to tell: {energy}")
    near(energy["joules"], WATTS * energy["seconds"], 0.2, "joules of the run")
    near(energy["energy_delay"], energy["joules"] * energy["seconds"], 1e-9, "energy-delay product")
    sensor, = energy["sensors"]
    expect(sensor["name"] == "RAPL package-0" and sensor["devices"] == [0, 1], sensor)
    near(sensor["joules"], energy["joules"], 1e-9, "the only sensor")
    expect(0 < sensor["busy_joules"] <= sensor["joules"] * (1 + 1e-9), sensor)
    near(sum(device["joules"] for device in energy["devices"]), sensor["busy_joules"], 1e-6,
         "the devices together")
    kernels = [kernel["energy"] for kernel in summary["kernels"]]
    near(sum(kernel["joules"] for kernel in kernels), sensor["busy_joules"], 1e-6,
         "the kernels together")
    for kernel in kernels:
        near(kernel["energy_delay"], kernel["joules"] * kernel["seconds"], 1e-9, "a kernel's product")
        near(sum(device["joules"] for device in kernel["devices"]), kernel["joules"], 1e-6,
             "a kernel's devices")
        # Devices of one socket share: together they draw no more than it does.
        expect(kernel["joules"] <= 1.3 * WATTS * kernel["seconds"], kernel)
    return energy, kernels


def number(pattern, text):
    found = re.search(pattern, text)
    expect(found, f"no {pattern} in:\n{text}")
    return float(found.group(1))


def check_report(tool, trace, summary):
    energy, kernels = check_summary(summary)
    ended = subprocess.run([tool, "report", "--text", trace], text=True, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE)
    expect(ended.returncode == 0, ended.stderr)
    text = ended.stdout
    near(number(r"\n  ([\d.e+-]+) J in ", text), energy["joules"], 0.02, "the report's joules")
    near(number(r" J in [\d.e+-]+ s, energy-delay product ([\d.e+-]+) J s", text),
         energy["energy_delay"], 0.04, "the report's energy-delay product")
    near(number(r"RAPL package-0: [\d.e+-]+ J, ([\d.e+-]+) W on average", text),
         energy["joules"] / energy["seconds"], 0.02, "the report's power")
    near(number(r"    energy: ([\d.e+-]+) J, energy-delay", text), kernels[0]["joules"], 0.05,
         "the report's kernel")
    near(number(r"    energy: [\d.e+-]+ J, energy-delay product ([\d.e+-]+)", text),
         kernels[0]["energy_delay"], 0.1, "the report's product of the kernel")
    events = json.loads(pathlib.Path(trace).read_text())
    counters = [event for event in events if event["ph"] == "C"]
    expect({event["pid"] for event in counters} == {10, 11}, "each device has its watts")
    page = subprocess.run([tool, "report", "-o", "-", trace], text=True, stdout=subprocess.PIPE)
    data = json.loads(re.search(r'id="data"[^>]*>(.*?)</script>', page.stdout, re.DOTALL).group(1))
    near(data["energy"]["joules"], energy["joules"], 0.02, "the page's joules")
    near(data["kernels"][0]["energy_delay"], kernels[0]["energy_delay"], 0.1, "the page's kernel")


def main():
    tool, program = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        sensors = folder / "powercap"
        bench(program)  # so that kernels are compiled
        counter = Counter(sensors)
        counter.start()
        try:
            summary, trace = folder / "summary.json", folder / "trace.json"
            bench(program, TUTTI_SENSORS=str(sensors), TUTTI_SUMMARY=str(summary),
                  TUTTI_TRACE=str(trace), TUTTI_ENERGY_PERIOD="10")
            check_report(tool, str(trace), json.loads(summary.read_text()))

            # Without a trace, and remembered for later runs.
            cache = str(folder / "cache")
            # While the CPU makes the reference of so large a picture, the devices are idle.
            bench(program, 1503, 1, TUTTI_SENSORS=str(sensors), TUTTI_SUMMARY=str(summary),
                  TUTTI_CACHE=cache, TUTTI_MODEL="disk", TUTTI_OBJECTIVE="energy",
                  TUTTI_ENERGY_PERIOD="10")
            check_summary(json.loads(summary.read_text()))
            shown = subprocess.run([tool, "model", "show", "--json"], text=True,
                                   stdout=subprocess.PIPE, env=dict(os.environ, TUTTI_CACHE=cache))
            power = json.loads(shown.stdout)["power"]
            expect(power and all(entry["idle_watts"] for entry in power), shown.stdout)
            near(power[0]["idle_watts"], WATTS, 0.3, "idle power as it is remembered")

            ended = bench(program, TUTTI_SENSORS=str(sensors), TUTTI_SUMMARY="-")
            expect("  energy: " in ended.stderr and "    RAPL package-0: " in ended.stderr, ended.stderr)
            shown = subprocess.run([tool, "devices"], text=True, stdout=subprocess.PIPE,
                                   env=dict(os.environ, TUTTI_SENSORS=str(sensors)))
            expect(shown.stdout.count("energy: RAPL package-0") == 2, shown.stdout)
        finally:
            counter.ended.set()
            counter.join()

        # Where there is no sensor: one plain line, a warning only where one was asked for.
        nowhere = str(folder / "nowhere")
        ended = bench(program, TUTTI_SENSORS=nowhere, TUTTI_SUMMARY="-")
        expect(ended.stderr.count("energy") == 1 and "  energy: not measured of 0, 1: " in ended.stderr and
               nowhere in ended.stderr, ended.stderr)
        expect("warning" not in ended.stderr, ended.stderr)
        ended = bench(program, TUTTI_SENSORS=nowhere, TUTTI_OBJECTIVE="energy")
        expect(ended.stderr.count("launches are chosen by time") == 1 and nowhere in ended.stderr,
               ended.stderr)
        ended = bench(program, TUTTI_SENSORS=nowhere, TUTTI_ENERGY="off", TUTTI_SUMMARY="-")
        expect("energy" not in ended.stderr, ended.stderr)
    print("counted, shown, remembered; absent sensors are named")


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"FAILED: {failure}")
