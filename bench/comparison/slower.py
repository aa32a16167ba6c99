# SPDX-License-Identifier: Apache-2.0
"""Whether Tutti is slower than the best device alone: the arithmetic of never-slower, and its table."""

import dataclasses
from math import comb
from statistics import median

TIMES = ("total_ms", "kernel_ms")


@dataclasses.dataclass
class Comparison:
    """Ratios of one program, Tutti's time over the best device's, one per round."""
    total_ms: list = dataclasses.field(default_factory=list)
    kernel_ms: list = dataclasses.field(default_factory=list)

    def add(self, mine, best):
        """`mine`, `best`: one process's times of each kind, in milliseconds."""
        for time in TIMES:
            getattr(self, time).append(getattr(mine, time) / getattr(best, time))

    def verdict(self, limit):
        """"slower" where the rounds leave no doubt, "not told" where only the medians are above the
        limit, "fine" where none is; None before the first round."""
        return verdict(self.lists(), limit) if self.total_ms else None

    def open(self, limit):
        """Whether more rounds could tell more: the limit lies within what a median may yet become."""
        return undecided(self.lists(), limit) if self.total_ms else False

    def lists(self):
        return [getattr(self, time) for time in TIMES]


def verdict(lists, limit):
    """Of lists of ratios, all of which must keep the limit: as Comparison.verdict()."""
    if any(bounds(ratios)[0] > limit for ratios in lists):
        return "slower"
    return "not told" if any(median(ratios) > limit for ratios in lists) else "fine"


def undecided(lists, limit):
    """Likewise: as Comparison.open()."""
    return (any(low <= limit < high for low, high in map(bounds, lists)) and
            verdict(lists, limit) != "slower")


@dataclasses.dataclass
class Times:
    """What one process needs from its third launch on; medians, in milliseconds."""
    total_ms: float
    kernel_ms: float


def settled(result):
    """Times of a process's JSON. tutti-bench launches once before it measures, and each of its lists
    begins with the launch after that: without the first entries these are the third and later ones."""
    return Times(*(median(result[time]["all"][1:] or result[time]["all"]) for time in TIMES))


def bounds(values):
    """An interval that holds the median of what `values` are drawn from in at least 19 of 20 cases,
    by the binomial distribution of the signs; all of them where they are fewer than six."""
    ordered = sorted(values)
    count = len(ordered)
    cut, tail = 0, 0.0
    while cut < count / 2 - 1:
        tail += comb(count, cut) / 2 ** count
        if tail > 0.025:
            break
        cut += 1
    cut = max(cut - 1, 0)
    return ordered[cut], ordered[-1 - cut]


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
