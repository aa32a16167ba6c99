# SPDX-License-Identifier: Apache-2.0
"""What of the machine the demo may use, and what else went on there while it measured."""

import os
import resource
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

# A run counts as disturbed beyond these. Others may use the cores that a run leaves free.
OTHERS_ALLOWED = 0.15  # cores
STEAL_ALLOWED = 0.03  # of the cores' time
WAITING_ALLOWED = 0.15  # of the run's time
# The middle half of the rounds' factors may be so wide, relative to their median.
SPREAD_ALLOWED = 0.15
LEAST_ROUNDS = 3  # undisturbed ones, for a factor


def physical_cores(cpus, sysfs=Path("/sys/devices/system/cpu")):
    """How many cores these logical CPUs belong to: two threads of one core compete for it."""
    cores = set()
    for cpu in cpus:
        topology = sysfs / f"cpu{cpu}" / "topology"
        try:
            cores.add(tuple((topology / name).read_text().strip()
                            for name in ("physical_package_id", "core_id")))
        except OSError:
            cores.add(cpu)
    return len(cores)


def cgroup_quota(proc=Path("/proc/self/cgroup"), root=Path("/sys/fs/cgroup")):
    """The cores' worth of time that the control group allows; None without a limit."""
    limits = []
    try:
        lines = proc.read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        _, controllers, path = line.split(":", 2)
        for folder in (path.lstrip("/"), ""):  # a container sees its own group as the root
            try:
                if not controllers:
                    quota, period = (root / folder / "cpu.max").read_text().split()
                elif "cpu" in controllers.split(","):
                    group = root / "cpu" / folder
                    quota = (group / "cpu.cfs_quota_us").read_text()
                    period = (group / "cpu.cfs_period_us").read_text()
                else:
                    continue
                if quota != "max" and int(quota) > 0:
                    limits.append(int(quota) / int(period))
            except (OSError, ValueError):
                continue
    return min(limits, default=None)


def usable_cores():
    """How many cores this process may keep busy, at least 1."""
    cores = physical_cores(os.sched_getaffinity(0))
    quota = cgroup_quota()
    return max(1, cores if quota is None else min(cores, int(quota)))


def waiting_seconds(path=Path("/proc/pressure/cpu")):
    """Seconds in which some task waited for a core (PSI); None where the kernel does not tell."""
    try:
        return int(path.read_text().split("\n")[0].rpartition("total=")[2]) / 1e6
    except (OSError, ValueError):
        return None


def cpu_seconds(cpus, path=Path("/proc/stat")):
    """(busy, stolen) seconds of these CPUs together; None where the kernel does not tell."""
    tick = os.sysconf("SC_CLK_TCK")
    busy = stolen = 0
    found = False
    try:
        for line in path.read_text().splitlines():
            name, *fields = line.split()
            if name[:3] != "cpu" or not name[3:].isdigit() or int(name[3:]) not in cpus:
                continue
            user, nice, system, _idle, _io, irq, softirq, steal = map(int, fields[:8])
            busy += user + nice + system + irq + softirq
            stolen += steal
            found = True
    except (OSError, ValueError):
        return None
    return (busy / tick, stolen / tick) if found else None


@dataclass
class Disturbance:
    kind: str
    amount: float
    text: str


@dataclass
class Load:
    """What others did during a run."""
    wall: float  # seconds
    others: float = 0.0  # cores that other programs kept busy
    steal: float = 0.0  # share of the cores' time that a hypervisor gave to others
    waiting: float = 0.0  # share of the time in which some task waited for a core

    def disturbances(self, cores, used):
        """What disturbed a run that uses so many of the cores; empty: nothing did."""
        found = []

        def add(kind, amount, text):
            found.append(Disturbance(kind, amount, text))

        # The kernel counts in ticks: the shorter the run, the less exact.
        if self.others > max(0, cores - used) + OTHERS_ALLOWED + 0.05 / self.wall:
            add("others", self.others, f"other programs kept {self.others:.1f} of {cores} "
                f"core{'s' if cores > 1 else ''} busy")
        elif self.waiting > WAITING_ALLOWED + 0.02 / self.wall:
            add("waiting", self.waiting,
                f"tasks waited for a core {100 * self.waiting:.0f} % of the time")
        if self.steal > STEAL_ALLOWED + 0.02 / self.wall:
            add("steal", self.steal,
                f"the hypervisor took {100 * self.steal:.0f} % of the cores' time away")
        return found


class Watch:
    """Measures the load from its making until read(). Child processes have to be waited for."""

    def __init__(self):
        self.cpus = os.sched_getaffinity(0)
        self.start = self.snapshot()

    def snapshot(self):
        own = sum(sum(resource.getrusage(who)[:2])
                  for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return time.monotonic(), own, cpu_seconds(self.cpus), waiting_seconds()

    def read(self):
        began, ended = self.start, self.snapshot()
        load = Load(max(ended[0] - began[0], 1e-3))
        if began[2] and ended[2]:
            busy, stolen = (after - before for before, after in zip(began[2], ended[2]))
            load.others = max(0.0, busy - (ended[1] - began[1])) / load.wall
            load.steal = stolen / load.wall / len(self.cpus)
        if began[3] is not None and ended[3] is not None:
            load.waiting = (ended[3] - began[3]) / load.wall
        return load


@dataclass
class Round:
    """One run of each set of devices, in turn."""
    alone: dict  # device's index → seconds
    together: float  # seconds
    disturbances: list  # of its runs


@dataclass
class Verdict:
    best: int  # the device that is fastest alone
    factor: float  # how much faster all together are: the median of the rounds
    low: float  # the middle half of the rounds
    high: float
    rounds: int  # those that count
    doubts: list  # why the factor is not to be believed; empty: it is


def middle_half(values):
    if len(values) < 2:
        return values[0], values[0]
    lower, _, upper = statistics.quantiles(values, n=4, method="inclusive")
    return lower, upper


def judge(rounds):
    """All together against the fastest device alone, by undisturbed rounds if there are enough."""
    quiet = [one for one in rounds if not one.disturbances]
    counted = quiet if len(quiet) >= LEAST_ROUNDS else rounds
    devices = counted[0].alone
    best = min(devices, key=lambda index: statistics.median(one.alone[index] for one in counted))
    factors = [one.alone[best] / one.together for one in counted]
    low, high = middle_half(factors)
    verdict = Verdict(best, statistics.median(factors), low, high, len(counted), [])
    if len(rounds) < LEAST_ROUNDS:
        verdict.doubts.append(f"{len(rounds)} round{'s are' if len(rounds) > 1 else ' is'} too few "
                              "to see how much the times vary")
    elif counted is rounds and len(quiet) < len(rounds):
        verdict.doubts.append(f"the machine was busy in {len(rounds) - len(quiet)} of "
                              f"{len(rounds)} rounds, at worst so:")
        worst = {}  # by kind
        for one in (disturbance for turn in rounds for disturbance in turn.disturbances):
            if one.kind not in worst or one.amount > worst[one.kind].amount:
                worst[one.kind] = one
        verdict.doubts += [f"  {one.text}" for one in worst.values()]
    if (high - low) / verdict.factor > SPREAD_ALLOWED:
        verdict.doubts.append(f"the times vary too much: the middle half of {len(counted)} rounds "
                              f"gives {low:.2f} to {high:.2f}")
    return verdict
