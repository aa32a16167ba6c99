#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of `tutti report` in a real browser: what it shows, against the trace; what keys do.

usage: report_check.py TUTTI BENCH CHROMIUM FOLDER      page and pictures stay in FOLDER
"""

import collections
import csv
import html.parser
import io
import os
import pathlib
import shutil
import subprocess
import sys

import cv2
import numpy as np
from trace_reading import Trace, expect, read

# Draws at once: when a browser without a screen gets to its next frame is not known.
AT_ONCE = "requestAnimationFrame = (draw) => draw();"
# Chooses an event and zooms, by keys and by the wheel, as a person would.
KEYS = r"""
const rows = document.getElementById("rows");
const shown = () => document.getElementById("axis").toDataURL();
const changes = (act) => {
  const before = shown();
  act();
  return shown() !== before;
};
const press = (keys) => {
  for (const key of keys) rows.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
};
press(["ArrowDown", "ArrowRight"]);
document.body.dataset.keys = changes(() => press(["+", "+", "+"]));
const wheel = (ctrlKey) => {
  const box = rows.getBoundingClientRect();
  const event = new WheelEvent("wheel", {deltaY: -50, clientX: box.left + 200, ctrlKey,
                                         clientY: box.top + 9, cancelable: true});
  rows.dispatchEvent(event);
  return event.defaultPrevented;
};
document.body.dataset.wheel = changes(() => wheel(true));
let taken = true;
document.body.dataset.scrolls = !changes(() => { taken = wheel(false); }) && !taken;

// Shift and a drag measure; the numbers are those of the range.
const box = rows.getBoundingClientRect();
const pointer = (type, x) => rows.dispatchEvent(new PointerEvent(type, {
  clientX: box.left + x, clientY: box.top + 9, shiftKey: true, pointerId: 1, bubbles: true}));
rows.setPointerCapture = () => {};
press(["0"]);
pointer("pointerdown", 0);
pointer("pointermove", box.width / 2);
pointer("pointerup", box.width / 2);
const duration = JSON.parse(document.getElementById("data").textContent).duration;
const measured = document.querySelector('[data-key="measured"]').dataset.value;
document.body.dataset.measured = measured / duration;

// Each column sorts both ways, and says how.
const head = document.querySelector("#kernel-table th:nth-child(2)");
const names = () => [...document.querySelectorAll("#kernel-table tbody tr")].map((r) => r.dataset.kernel).join(" ");
const before = [head.getAttribute("aria-sort"), names()];
head.querySelector("button").click();
document.body.dataset.sorts = before[0] === "descending" && head.getAttribute("aria-sort") === "ascending" &&
    names() === before[1].split(" ").reverse().join(" ");
document.body.dataset.csv = decodeURIComponent(document.querySelector("a[download]").href.split(",").slice(1).join(","));

const search = document.getElementById("search");
search.value = "groupsum";
search.dispatchEvent(new Event("input"));
document.body.dataset.found = [...document.querySelectorAll("#kernel-table tbody tr:not([hidden])")]
    .map((r) => r.dataset.kernel).join(" ");
const node = document.querySelector("#graph .node");
node.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", bubbles: true}));
document.body.dataset.node = document.querySelector("#graph .node.chosen").dataset.command === node.dataset.command;
"""


EVICTION = """,
{"ph":"X","pid":11,"tid":900001,"cat":"memory","name":"eviction","ts":@TIME@,"dur":2,"args":{"device":1,"bytes":4096}}"""


class Page(html.parser.HTMLParser):
    """The values that elements carry, by kernel and device, and the visible text of some."""

    VOID = {"meta", "input", "br", "link", "img", "hr"}

    def __init__(self, text):
        super().__init__()
        self.open = []
        self.values = collections.defaultdict(list)  # (kernel, device, key) -> values
        self.body, self.texts, self.tags = {}, collections.defaultdict(str), collections.Counter()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags[tag] += 1
        self.tags[attributes.get("class") if tag == "line" else tag, self.nearest("data-device")] += 1
        if tag == "body":
            self.body = attributes
        if tag not in self.VOID:
            self.open.append((tag, attributes))
        if "data-value" in attributes:
            self.values[self.nearest("data-kernel"), self.nearest("data-device"),
                        attributes["data-key"]].append(attributes["data-value"])

    def handle_endtag(self, tag):
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data):
        for _, attributes in self.open:
            if "id" in attributes:
                self.texts[attributes["id"]] += data
            if "card" in attributes.get("class", "").split():
                self.texts["card " + attributes["data-key"]] += data

    def nearest(self, name):
        return next((a[name] for _, a in reversed(self.open) if name in a), None)

    def number(self, kernel, device, key):
        values = self.values[kernel, device, key]
        expect(len(values) == 1, f"{key} of {kernel} on {device} is there {len(values)} times")
        return float(values[0])


def browse(chromium, folder, page, *options):
    home = folder / "browser"
    environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    process = subprocess.run(
        [chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
         "--no-first-run", "--disable-background-networking", f"--user-data-dir={home}",
         "--virtual-time-budget=4000", "--window-size=1280,2000", *options, page.as_uri()],
        text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=dict(environment, HOME=str(folder)))
    expect(process.returncode == 0, f"{chromium} ended with {process.returncode}: {process.stderr}")
    return process.stdout


def near(found, expected, what, relative=1e-6, absolute=2):
    expect(abs(found - expected) <= max(abs(expected) * relative, absolute),
           f"{what}: {found}, not {expected}")


def check_kernel(page, trace, kernel):
    commands = [c for c, d in trace.decisions.items() if d["args"]["kernel"] == kernel]
    decisions = {c: trace.decisions[c]["args"] for c in commands}
    modes = collections.Counter(d["mode"] for d in decisions.values())
    shown = collections.Counter()
    for mode in page.values[kernel, None, "verdict"]:
        shown[mode] += 1
    expect(shown.keys() == modes.keys(), f"{kernel}: verdicts {shown}, not {modes}")

    items, busy = collections.Counter(), collections.Counter()
    sizes = collections.defaultdict(list)
    parts = collections.defaultdict(lambda: (collections.Counter(), collections.Counter()))
    for event in trace.slices["package"] + trace.slices["kernel"]:
        arguments = event["args"]
        if arguments["kernel"] != kernel:
            continue
        command, device = arguments["command"], arguments["device"]
        done = decisions[command]["items"]
        if event["cat"] == "package":
            done = done // decisions[command]["slices"] * arguments["count"]
            sizes[device].append(arguments["count"])
        for all_of, one in ((items, parts[command][0]), (busy, parts[command][1])):
            amount = done if all_of is items else event["dur"] * 1e3
            all_of[device] += amount
            one[device] += amount
    for device in items:
        name = str(device)
        near(page.number(kernel, name, "items"), items[device], "work-items")
        near(page.number(kernel, name, "busy_ns"), busy[device], "busy", 1e-5)
        near(page.number(kernel, name, "packages"), len(sizes[device]), "packages")
        near(page.number(kernel, name, "share") * 1e6, items[device] / sum(items.values()) * 1e6,
             "share")
        if sizes[device]:
            expect(page.values[kernel, name, "sizes"] ==
                   [f"{min(sizes[device])}-{max(sizes[device])}"], "sizes")

    took = ideal = best = 0
    for command, decision in decisions.items():
        if not decision["split"]:
            continue
        speeds = []
        for device in decision["candidates"]:
            part = parts[command]
            if part[0][device]:
                speeds.append(part[0][device] / part[1][device])
            elif items[device]:
                speeds.append(items[device] / busy[device])
        span = trace.spans[command]
        took += (span["e"]["ts"] - span["b"]["ts"]) * 1e3
        ideal += decision["items"] / sum(speeds)
        best += decision["items"] / max(speeds)
    if took:
        cut = 2 + len(decisions)  # nanoseconds: each launch's are whole ones
        near(page.number(kernel, None, "split_ns"), took, "took", 1e-4, cut)
        near(page.number(kernel, None, "ideal_ns"), ideal, "ideal", 1e-4, cut)
        near(page.number(kernel, None, "best_ns"), best, "best device alone", 1e-4, cut)
        near(page.number(kernel, None, "efficiency") * 1e6, ideal / took * 1e6,
             "efficiency", 1e-3, 1e6 * cut / took)


def check_page(page, trace, source):
    slices = sum(len(e) for category, e in trace.slices.items() if category != "memory")
    expect(page.body.get("data-drawn") == str(slices),
           f"{page.body.get('data-drawn')} of {slices} events drawn")
    expect("tutti-bench" in page.texts["program"] and source in page.texts["subtitle"], "title")
    kernels = {d["args"]["kernel"] for d in trace.decisions.values()}
    expect({kernel for kernel, _, _ in page.values if kernel} == kernels, "kernels")
    expect(page.texts["card launches"].startswith(str(len(trace.decisions))), "launches")
    for kernel in kernels:
        check_kernel(page, trace, kernel)
    busy = collections.Counter()
    for event in trace.slices["package"] + trace.slices["kernel"]:
        busy[event["args"]["device"]] += event["dur"] * 1e3
    for device in (0, 1):
        near(page.number(None, str(device), "busy_ns"), busy[device], "busy", 1e-5)
    for device, process in (("0", 10), ("1", 11)):
        peak = max(e["args"]["bytes"] for e in trace.events if e["ph"] == "C" and e["pid"] == process)
        near(page.number(None, device, "memory_peak"), peak, "peak of the memory", absolute=0)
        expect(page.tags["path", device] == 1, f"no picture of the memory of device {device}")
    expect(page.tags["mark", "1"] == 1, "an eviction is not marked")
    expect("1 eviction (marked), 4.00 KiB" in page.texts["memory"], page.texts["memory"])
    expect(page.tags["rect"] >= len(kernels), "no picture of packages")
    expect(page.texts["card lost"].startswith("0"), f"lost events: {page.texts['card lost']}")


def check_picture(path):
    """Both devices' colours are in the timeline and in the charts, and the page is mostly light."""
    image = cv2.imread(str(path)).astype(int)
    for name, color in (("blue", (0xdb, 0x6f, 0x2f)), ("orange", (0x12, 0x5a, 0xbd))):
        found = np.abs(image - color).max(axis=2) < 12
        expect(found.sum() > 2000, f"{found.sum()} {name} pixels in {path}")
    expect(np.median(image) > 200, "the page is not light")


def main():
    tutti, bench, chromium, folder = sys.argv[1:3] + sys.argv[3:4] + [pathlib.Path(sys.argv[4])]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    trace_file, page_file = folder / "trace.json", folder / "trace.html"
    subprocess.run([bench, "--platform", "Tutti", "--size", "20011", "--repeat", "2", "scatter",
                    "groupsum", "scan"], check=True, stdout=subprocess.DEVNULL,
                   env=dict(os.environ, TUTTI_TRACE=str(trace_file)))
    # Devices with room for everything evict nothing: that this one did is added by hand.
    text = trace_file.read_text()
    time = next(e["ts"] for e in read(trace_file, complete=True) if e["ph"] == "C")
    trace_file.write_text(text[:text.rindex("\n]")] + EVICTION.replace("@TIME@", str(time)) + "\n]\n")
    subprocess.run([tutti, "report", str(trace_file)], check=True)
    trace = Trace(read(trace_file, complete=True))
    text = page_file.read_text()
    for forbidden in ("http://", "https://", "src="):
        expect(forbidden not in text.replace("http://www.w3.org/", ""), f"{forbidden} in the page")

    check_page(Page(browse(chromium, folder, page_file, "--dump-dom")), trace, "trace.json")
    browse(chromium, folder, page_file, f"--screenshot={folder / 'report.png'}")
    check_picture(folder / "report.png")

    played = folder / "played.html"
    played.write_text(text.replace("</head>", f"<script>{AT_ONCE}</script></head>")
                      .replace("</body>", f"<script>{KEYS}</script></body>"))
    page = Page(browse(chromium, folder, played, "--dump-dom"))
    expect("when" in page.texts["details"] and "command" in page.texts["details"],
           f"no details of the event chosen by keys: {page.texts['details']}")
    for means in ("keys", "wheel"):
        expect(page.body.get(f"data-{means}") == "true", f"no zoom by {means}")
    for what in ("scrolls", "sorts", "node"):
        expect(page.body.get(f"data-{what}") == "true", f"{what}: {page.body.get(f'data-{what}')}")
    near(float(page.body["data-measured"]) * 1e6, 5e5, "the measured half", 0.01)
    expect(page.body["data-found"] == "groupsum", f"found: {page.body['data-found']}")
    kernels = {d["args"]["kernel"] for d in trace.decisions.values()}
    lines = list(csv.DictReader(io.StringIO(page.body["data-csv"])))
    expect({line["kernel"] for line in lines} == kernels, f"the CSV file: {lines}")
    expect(sum(int(line["launches"]) for line in lines) == len(trace.decisions), f"launches: {lines}")
    print(f"{page_file}: as the trace says")


if __name__ == "__main__":
    main()
