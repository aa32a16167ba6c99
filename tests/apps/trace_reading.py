# SPDX-License-Identifier: Apache-2.0
"""Reads a trace of TUTTI_TRACE apart from Tutti's own reader, and checks what every trace must hold."""

import collections
import json
import pathlib

NS = 1e-3  # of a microsecond, the format's unit: what rounding may cost


class Failure(Exception):
    pass


def expect(condition, message):
    if not condition:
        raise Failure(message)


def read(path, complete):
    """The events. A trace that is not complete lacks its end, and perhaps a part of its last line."""
    text = pathlib.Path(path).read_text()
    if complete:
        return json.loads(text)
    expect(not text.rstrip().endswith("]"), "the trace is complete")
    lines = text.split(",\n")
    try:
        json.loads(lines[-1])
    except json.JSONDecodeError:
        lines.pop()
    return json.loads(",\n".join(lines) + "]")


class Trace:
    def __init__(self, events):
        self.events = events
        self.slices = collections.defaultdict(list)  # category -> events
        self.rows = collections.defaultdict(list)    # (process, thread) -> slices
        self.arrows = collections.defaultdict(dict)  # id -> phase -> event
        self.spans = collections.defaultdict(dict)   # id -> phase -> event
        for event in events:
            if event["ph"] == "X":
                self.slices[event["cat"]].append(event)
                self.rows[row(event)].append(event)
            elif event["ph"] in "sf":
                self.arrows[event["id"]][event["ph"]] = event
            elif event["ph"] in "be":
                self.spans[event["id"]][event["ph"]] = event
        self.decisions = {d["args"]["command"]: d for d in self.slices["decision"]}
        self.packages = collections.defaultdict(list)  # command -> packages in order of slices
        for package in self.slices["package"]:
            self.packages[package["args"]["command"]].append(package)
        for packages in self.packages.values():
            packages.sort(key=lambda package: package["args"]["first"])


def row(event):
    return event["pid"], event["tid"]


def end(event):
    return event["ts"] + event["dur"]


def holds(event, time):
    return event["ts"] - NS <= time <= end(event) + NS


def check_rows(trace):
    """Slices of one row lie in each other or apart; each row and process has a name."""
    names = {(e["name"], e["pid"], e["tid"]) for e in trace.events if e["ph"] == "M"}
    for where, slices in trace.rows.items():
        expect(("thread_name", *where) in names, f"row {where} has no name")
        expect(("process_name", where[0], 0) in names, f"process {where[0]} has no name")
        open_ends = []
        for event in sorted(slices, key=lambda e: (e["ts"], -e["dur"])):
            while open_ends and open_ends[-1] <= event["ts"] + NS:
                open_ends.pop()
            expect(not open_ends or end(event) <= open_ends[-1] + NS,
                   f"{event} is not nested in row {where}")
            open_ends.append(end(event))


def check_packages(trace, complete):
    """The packages of each split launch tile its slices, within the launch's time."""
    for command, decision in trace.decisions.items():
        if not decision["args"]["split"]:
            expect(command not in trace.packages, f"packages of a whole launch: {decision}")
            continue
        span = trace.spans.get(command, {})
        if not complete and "e" not in span:
            continue
        expect(span.keys() == {"b", "e"}, f"no begin and end of {decision}")
        next_slice = 0
        for package in trace.packages[command]:
            expect(package["args"]["first"] == next_slice,
                   f"gap or overlap at slice {next_slice} of {decision}")
            next_slice += package["args"]["count"]
            expect(span["b"]["ts"] - NS <= package["ts"] and end(package) <= span["e"]["ts"] + NS,
                   f"{package} is not within its launch")
        expect(next_slice == decision["args"]["slices"], f"{next_slice} slices of {decision}")


def check_arrows(trace):
    """Each decision is reached from a call that enqueues, each package and launch from its decision."""
    def at(where, category, time):
        return [e for e in trace.rows[where] if e["cat"] == category and holds(e, time)]

    reached = set()
    for arrow in trace.arrows.values():
        if arrow.keys() != {"s", "f"}:
            continue
        start, finish = arrow["s"], arrow["f"]
        expect(start["ts"] <= finish["ts"], f"an arrow back in time: {arrow}")
        for target in at(row(finish), start["cat"], finish["ts"]):
            command = target["args"]["command"]
            if start["cat"] == "decision":
                sources = at(row(start), "api", start["ts"])
                good = any(e["name"] in ("clEnqueueNDRangeKernel", "clEnqueueTask") for e in sources)
            elif start["cat"] in ("package", "kernel"):
                good = any(e["args"]["command"] == command
                           for e in at(row(start), "decision", start["ts"]))
            else:
                good = bool(at(row(start), "api", start["ts"]))
            if good:
                reached.add((start["cat"], id(target)))
    for category in ("decision", "package", "kernel"):
        for event in trace.slices[category]:
            expect((category, id(event)) in reached, f"no arrow leads to {event}")
