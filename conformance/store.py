# SPDX-License-Identifier: Apache-2.0
"""measured.json: what the last run of each suite on each configuration gave, for docs/conformance.md.

A configuration is what `run` calls a title, `pocl "basic basic", split force`. Of each suite the counts
are kept, and of each configuration the tests that differ; the tests that went alike are only counted.
"""

import json

import results

COLUMNS = ("total", "native", "tutti", "lost", "expected", "gained")


class StoreError(Exception):
    """A file that is none of ours."""


def read(path):
    """The configurations by title, in the order in which they were first kept."""
    if not path.exists():
        return {}
    try:
        kept = json.loads(path.read_text())
        for one in kept.values():
            for count in one["suites"].values():
                if set(count) != set(COLUMNS):
                    raise KeyError(f"counts are {', '.join(COLUMNS)}")
            if not isinstance(one["note"], str) or not isinstance(one["differ"], list):
                raise TypeError("a note is a text, what differs is a list")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(f"{path}: {error}") from error
    return kept


def write(path, kept):
    path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")


def title_of(facts):
    return facts["title"].removeprefix("Tutti on ")


def differing(verdict):
    """What differs, as it is kept: kind, test, outcomes of both, and the reason where one is known."""
    rows = [("lost", d, "") for d in verdict.lost]
    rows += [("known", d, expectation.reason) for d, expectation in verdict.expected]
    rows += [("gained", d, "") for d in verdict.gained]
    return [{"kind": kind, "test": d.name, "native": d.native, "tutti": d.tutti, "why": why}
            for kind, d, why in rows]


def keep(kept, facts, verdict, warn):
    """Puts a run in the place of what was kept of its suites. A suite of which it has fewer tests than
    were kept stays as it is."""
    one = kept.setdefault(title_of(facts), {"note": "", "suites": {}, "differ": []})
    taken = set()
    for suite, count in results.count_by_suite(verdict).items():
        before = one["suites"].get(suite)
        if before and count["total"] < before["total"]:
            warn(f"{suite} stays as it was: {count['total']} tests, where {before['total']} were kept")
            continue
        taken.add(suite)
        one["suites"][suite] = {column: count[column] for column in COLUMNS}
    if taken and facts["note"]:
        one["note"] = facts["note"]
    rows = [row for row in one["differ"] if results.suite_of(row["test"]) not in taken]
    rows += [row for row in differing(verdict) if results.suite_of(row["test"]) in taken]
    one["differ"] = sorted(rows, key=lambda row: row["test"])
