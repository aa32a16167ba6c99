# SPDX-License-Identifier: Apache-2.0
"""docs/conformance.md, from the JSON files of runs."""

import results

HEAD = """# Conformance

What OpenCL's test suites say of Tutti, next to what they say of the vendor's own driver on the same
device. Sections are written by `conformance/run --table` ([conformance/](../conformance/)) from results
of runs; those of suites that were not run again stay as they were.

A test is *lost* when Tutti does worse on it than the vendor's driver (pass, skip, fail, then time-out
or crash), *gained* when it passes under Tutti alone. Losses that are known stand with their reason.
"""


def row(cells):
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |\n"


def counts_table(verdict):
    counts = results.count_by_suite(verdict)
    text = row(("suite", "tests", "vendor passes", "Tutti passes", "lost", "known", "gained"))
    text += row(("---",) + ("--:",) * 6)
    columns = ("total", "native", "tutti", "lost", "expected", "gained")
    for suite, count in counts.items():
        text += row((suite, *(count[column] for column in columns)))
    sums = [sum(count[column] for count in counts.values()) for column in columns]
    return text + row(("all", *sums))


def differences_table(verdict):
    rows = [("lost", d, "") for d in verdict.lost]
    rows += [("known", d, e.reason) for d, e in verdict.expected]
    rows += [("gained", d, "") for d in verdict.gained]
    if not rows:
        return ""
    text = row(("", "test", "vendor", "Tutti", "why")) + row(("---",) * 5)
    for kind, difference, reason in rows:
        text += row((kind, f"`{difference.name}`", difference.native, difference.tutti, reason))
    return f"\n{text}"


def render(runs):
    """`runs`: (facts, verdict) of each run."""
    text = HEAD
    for facts, verdict in runs:
        text += f"\n## {facts['title']}\n\n"
        text += f"Against {facts['native_title']}; tier {facts['tier']}"
        text += "; seed " + ", ".join(map(str, facts["seed"])) if facts["seed"] else ""
        text += f"; {facts['note']}.\n\n" if facts["note"] else ".\n\n"
        text += counts_table(verdict) + differences_table(verdict)
    return text
