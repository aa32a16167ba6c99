# SPDX-License-Identifier: Apache-2.0
"""A program of tutti-bench that runs in several ways in turns: natively on the devices that may be the
best one for it, and behind Tutti."""

import dataclasses
import time
from statistics import median

from . import runs, slower

# A device that is so many times slower than the fastest one is measured no further.
HOPELESS = 3


@dataclasses.dataclass
class Way:
    """Behind Tutti."""
    devices: list
    alone: int = None  # index of the device that it is compared with; None: the best one
    cache: str = "cache"  # Tutti's, a folder's name
    variables: dict = dataclasses.field(default_factory=dict)  # of the environment


class Failed(Exception):
    """The text names the configuration and what went wrong."""


def times_of(configuration, kernel):
    samples = runs.Samples()
    configuration.run(kernel, samples)
    if samples.failure is not None:
        raise Failed(f"{configuration.name}: {samples.failure}")
    return slower.settled({time: {"all": getattr(samples, time)} for time in slower.TIMES})


class Program:
    """One program on one set of devices, round by round."""

    def __init__(self, setting, kernel, arguments):
        self.setting, self.kernel, self.arguments = setting, kernel, arguments
        self.candidates = {}  # {index: Times of each round}
        self.comparisons = {}
        self.failure = None

    def native(self, index):
        return self.setting.native_on(next(device for device in self.setting.devices
                                           if device.index == index))

    def find_candidates(self):
        """The devices that may be the best one, by one short run each; the first one of equal ones."""
        kinds = {}
        for device in self.setting.devices:
            kinds.setdefault((device.platform, device.name), device)
        first = {device.index: times_of(self.setting.native_on(device, launches=1), self.kernel)
                 for device in kinds.values()}
        least = min(times.total_ms for times in first.values())
        self.candidates = {index: [] for index, times in first.items()
                           if times.total_ms <= HOPELESS * least}

    def best(self):
        """(index, Times) of the device that is fastest in the middle."""
        middles = {index: slower.Times(*(median(getattr(one, time) for one in all_times)
                                         for time in slower.TIMES))
                   for index, all_times in self.candidates.items() if all_times}
        if not middles:
            return None, None
        index = min(middles, key=lambda one: middles[one].total_ms)
        return index, middles[index]

    def round(self, number):
        """All configurations in turn, another one first each time."""
        todo = [(index, self.native(index)) for index in self.candidates]
        # Without a summary, which is not free.
        todo += [(name, self.setting.behind_tutti(name, one.devices, summary=False, TUTTI_CACHE=str(
            self.setting.folder / one.cache), **one.variables))
            for name, one in self.ways().items()]
        start = number % len(todo)
        mine = {name: times_of(configuration, self.kernel)
                for name, configuration in todo[start:] + todo[:start]}
        for index in self.candidates:
            self.candidates[index].append(mine[index])
        best = self.best()[0]
        for name, one in self.ways().items():
            # Only times of one round are compared: the machine may be another one in the next.
            self.comparisons.setdefault(name, slower.Comparison()).add(
                mine[name], mine[best if one.alone is None else one.alone])

    def ways(self):
        """How it runs behind Tutti, by name."""
        found = {f"on {index}": Way([device for device in self.setting.devices
                                     if device.index == index], index)
                 for index in self.candidates}
        if len(self.setting.devices) > 1:
            found["on all"] = Way(self.setting.devices)
        return found

    def open(self):
        """Whether more rounds could tell more."""
        raise NotImplementedError

    def measure(self, progress):
        arguments = self.arguments
        begin = time.monotonic()
        try:
            self.find_candidates()
            for number in range(arguments.most_rounds):
                progress.step(f"{self.kernel.name}: round {number + 1}")
                self.round(number)
                late = arguments.seconds and time.monotonic() - begin > arguments.seconds
                if late or number + 1 >= arguments.rounds and not self.open():
                    break
        except Failed as failure:
            self.failure = str(failure)
