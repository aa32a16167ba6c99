# SPDX-License-Identifier: Apache-2.0
"""docs/conformance.md, from what is kept of runs (store.py)."""

import results
import store

HEAD = """# Conformance

<!-- Written by `conformance/run --table docs/conformance.md` from conformance/measured.json. -->

What OpenCL's test suites say of Tutti, next to what they say of the vendor's own driver on the same device ([conformance/](../conformance/)). A configuration is the vendor's devices behind Tutti; of several devices a test counts natively as the worst of what each gives alone.

    conformance/run --table docs/conformance.md

A test is *lost* when Tutti does worse on it than the vendor's driver (pass, skip, fail, then time-out or crash), *gained* when it passes under Tutti alone.

"""


def row(cells):
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |\n"


def sums(counts):
    counts = [count for count in counts if count]
    return {column: sum(count[column] for count in counts) for column in store.COLUMNS}


def cell(count):
    """Passed under Tutti, passed natively, tests; then what is lost, known to be lost or gained."""
    if not count or not count["total"]:
        return ""
    text = f"{count['tutti']}, {count['native']} of {count['total']}"
    return f"{text}, **{count['lost']} lost**" if count["lost"] else text


def suites_table(kept):
    suites = sorted({suite for one in kept.values() for suite in one["suites"]})
    text = row(("suite", *kept, "all")) + row(("---",) + ("--:",) * (len(kept) + 1))
    for suite in suites:
        counts = [one["suites"].get(suite) for one in kept.values()]
        text += row((suite, *map(cell, counts), cell(sums(counts))))
    totals = [sums(one["suites"].values()) for one in kept.values()]
    whole = sums(totals)
    text += row(("**all**", *map(cell, totals), cell(whole)))
    for column, name in (("lost", "lost"), ("expected", "known losses"), ("gained", "gained")):
        text += row((name, *(count[column] for count in totals), whole[column]))
    return text


def losses_table(kept):
    """Each lost test once for each reason, with the configurations where it is."""
    found = {}
    for title, one in kept.items():
        for entry in one["differ"]:
            if entry["kind"] != "gained":
                key = (entry["test"], entry["native"], entry["tutti"], entry["why"])
                found.setdefault(key, []).append(title)
    text = row(("test", "vendor", "Tutti", "on", "why")) + row(("---",) * 5)
    for (test, native, tutti, why), titles in sorted(found.items()):
        text += row((f"`{test}`", native, tutti, "; ".join(titles), why or "**not known**"))
    return text


def gained_table(kept):
    """A row per suite: what passes under Tutti alone, on whichever configuration."""
    found = {}
    for one in kept.values():
        for entry in one["differ"]:
            if entry["kind"] == "gained":
                suite = results.suite_of(entry["test"])
                found.setdefault(suite, set()).add(entry["test"].removeprefix(f"{suite}/"))
    text = row(("suite", "tests, on at least one configuration")) + row(("---",) * 2)
    for suite, tests in sorted(found.items()):
        text += row((suite, ", ".join(f"`{test}`" for test in sorted(tests))))
    return text


def render(kept):
    text = HEAD + "## Suites by configurations\n\n"
    text += "Passed under Tutti, passed natively, and how many tests were run on both.\n\n"
    text += suites_table(kept) + "\n"
    for title, one in kept.items():
        if one["note"]:
            text += f"- {title}: {one['note']}.\n"
    text += "\n## Known losses\n\n" + losses_table(kept)
    text += "\n## Gained\n\n" + gained_table(kept)
    return text
