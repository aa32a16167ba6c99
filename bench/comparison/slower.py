# SPDX-License-Identifier: Apache-2.0
"""Whether Tutti is slower than the best device alone: the arithmetic of never-slower, and its table."""

import dataclasses
from math import comb, inf
from statistics import median

TIMES = ("total_ms", "kernel_ms")
ERROR = 0.05  # a figure may be taken for another one so often


@dataclasses.dataclass
class Comparison:
    """Ratios of one program, Tutti's time over the best device's, one per round."""
    total_ms: list = dataclasses.field(default_factory=list)
    kernel_ms: list = dataclasses.field(default_factory=list)

    def add(self, mine, best):
        """`mine`, `best`: one process's times of each kind, in milliseconds."""
        for time in TIMES:
            getattr(self, time).append(getattr(mine, time) / getattr(best, time))

    def verdict(self, limit, error=ERROR):
        """"slower" where the rounds leave no doubt but `error`, "not told" where only the medians are
        above the limit, "fine" where none is; None before the first round."""
        return verdict(self.lists(), limit, error) if self.total_ms else None

    def open(self, limit, error=ERROR):
        """Whether more rounds could tell more: the limit lies within what a median may yet become."""
        return undecided(self.lists(), limit, error) if self.total_ms else False

    def lists(self):
        return [getattr(self, time) for time in TIMES]


def verdict(lists, limit, error=ERROR):
    """Of lists of ratios, all of which must keep the limit: as Comparison.verdict()."""
    if any(bounds(ratios, error)[0] > limit for ratios in lists):
        return "slower"
    return "not told" if any(median(ratios) > limit for ratios in lists) else "fine"


def undecided(lists, limit, error=ERROR):
    """Likewise: as Comparison.open()."""
    return (any(low <= limit < high for low, high in (bounds(one, error) for one in lists)) and
            verdict(lists, limit, error) != "slower")


@dataclasses.dataclass
class Times:
    """What one process needs from its third launch on; medians, in milliseconds."""
    total_ms: float
    kernel_ms: float


def settled(result):
    """Times of a process's JSON. tutti-bench launches once before it measures, and each of its lists
    begins with the launch after that: without the first entries these are the third and later ones."""
    return Times(*(median(result[time]["all"][1:] or result[time]["all"]) for time in TIMES))


def bounds(values, error=ERROR):
    """An interval that holds the median of what `values` are drawn from in all cases but `error` of
    them, by the binomial distribution of the signs; infinite where they are too few for that."""
    ordered = sorted(values)
    count = len(ordered)
    cut, tail = 0, 1 / 2 ** count
    while tail <= error / 2 and cut < (count - 1) / 2:
        cut += 1
        tail += comb(count, cut) / 2 ** count
    return (ordered[cut - 1], ordered[-cut]) if cut > 0 else (-inf, inf)


def table(rows, limit):
    """rows: of (program, best device's Times, {configuration: Comparison or a failure's text},
    verdict)."""
    names = []
    for _, _, entries, _ in rows:
        names += [name for name in entries if name not in names]
    width = max([12, *(len(name) for name in names)])
    head = "".join(f" {name:>{2 * width + 1}}" for name in names)
    sub = "".join(f" {'total':>{width}} {'kernel':>{width}}" for _ in names)
    lines = [f"{'':14} {'best device alone, ms':>25}{head}",
             f"{'program':14} {'total':>12} {'kernel':>12}{sub}"]
    for program, best, entries, verdict in rows:
        line = f"{program:14} {best.total_ms:12.3f} {best.kernel_ms:12.3f}" if best else \
            f"{program:14} {'-':>12} {'-':>12}"
        for name in names:
            entry = entries.get(name)
            if isinstance(entry, Comparison) and entry.total_ms:
                line += "".join(f" {median(getattr(entry, time)):{width}.3f}" for time in TIMES)
            else:
                line += f" {'-':>{width}} {'-':>{width}}"
        lines.append(f"{line}  {verdict}".rstrip())
    lines.append(f"Times of Tutti over those of the best device alone, from the third launch on; the "
                 f"limit is {limit:g}.")
    return "\n".join(lines) + "\n"
