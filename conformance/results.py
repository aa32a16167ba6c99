# SPDX-License-Identifier: Apache-2.0
"""What two runs' results mean: lost, gained, same; and what was expected of them."""

import dataclasses
import tomllib

import suites


class ExpectationError(Exception):
    """A file of expectations that says nothing or something unknown."""


@dataclasses.dataclass(frozen=True)
class Difference:
    name: str
    native: str
    tutti: str

    @property
    def change(self):
        """`lost` when Tutti is worse than the vendor's own driver, `gained` when it passes and the
        vendor's does not, else `same`. A time-out and a crash are equally bad."""
        native, tutti = (min(suites.OUTCOMES.index(outcome), suites.OUTCOMES.index("timeout"))
                         for outcome in (self.native, self.tutti))
        if tutti > native:
            return "lost"
        return "gained" if self.tutti == "pass" != self.native else "same"


def worst(runs):
    """What several drivers' results of one case come to: each outcome is the worst of all."""
    def of(outcomes):
        return max(outcomes, key=suites.OUTCOMES.index)

    names = sorted({name for run in runs for name in run.get("parts", {})})
    parts = {name: of(run.get("parts", {}).get(name, run["outcome"]) for run in runs)
             for name in names}
    result = {"outcome": of(run["outcome"] for run in runs),
              "seconds": max(run["seconds"] for run in runs)}
    return {**result, "parts": parts} if parts else result


def flatten(one, other):
    """Name -> outcome of one case's result, with every part that either side reports. A part that
    was not reached counts as what ended the case."""
    parts = one.get("parts", {})
    names = list(parts) + [name for name in other.get("parts", {}) if name not in parts]
    if not names:
        return {"": one["outcome"]}
    return {name: parts.get(name, one["outcome"]) for name in names}


def compare(native, tutti):
    """The differences of two runs, each case name -> result, for the cases that both have."""
    differences = []
    for case, result in tutti.items():
        if case not in native:
            continue
        before, now = flatten(native[case], result), flatten(result, native[case])
        found = [Difference(f"{case}/{part}" if part else case, before[part], now[part])
                 for part in now]
        # The process may also go wrong when all its parts are done.
        whole = Difference(case, native[case]["outcome"], result["outcome"])
        if whole.change == "lost" and all(part.change != "lost" for part in found):
            found.append(whole)
        differences += found
    return differences


# ---- expectations -------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Expectation:
    tests: tuple  # patterns
    reason: str
    result: str  # "lost", or "unsteady": lost or not, from run to run
    where: dict  # facts of the run that must hold, for example vendor = "pocl"


def parse_expectations(text):
    try:
        tables = tomllib.loads(text).get("expect", [])
    except tomllib.TOMLDecodeError as error:
        raise ExpectationError(str(error)) from error
    expectations = []
    for table in tables:
        unknown = set(table) - {"tests", "reason", "result", "where"}
        if unknown or not table.get("tests") or not str(table.get("reason", "")).strip():
            raise ExpectationError(f"wants tests and a reason, and may have result and where: {table}")
        if table.get("result", "lost") not in ("lost", "unsteady"):
            raise ExpectationError(f"result is lost or unsteady: {table}")
        expectations.append(Expectation(tuple(table["tests"]), table["reason"],
                                        table.get("result", "lost"), table.get("where", {})))
    return expectations


@dataclasses.dataclass
class Verdict:
    lost: list  # differences that nobody expected
    expected: list  # (difference, expectation)
    gained: list
    same: list
    unexpected: list  # (difference that is not lost, expectation)

    @property
    def comparable(self):
        """Of a vendor that passes nothing nothing can be lost: such a run says nothing of Tutti."""
        everything = (self.lost + self.gained + self.same
                      + [difference for difference, _ in self.expected])
        return any(difference.native == "pass" for difference in everything)

    @property
    def good(self):
        return self.comparable and not self.lost and not self.unexpected


def judge(differences, expectations, facts):
    """`facts` describe the run, for the expectations' `where`."""
    applying = [e for e in expectations
                if all(facts.get(key) == value for key, value in e.where.items())]
    verdict = Verdict([], [], [], [], [])
    for difference in differences:
        expectation = next((e for e in applying if suites.matches(difference.name, e.tests)), None)
        if difference.change != "lost":
            getattr(verdict, difference.change).append(difference)
            if expectation and expectation.result == "lost":
                verdict.unexpected.append((difference, expectation))
        elif expectation:
            verdict.expected.append((difference, expectation))
        else:
            verdict.lost.append(difference)
    return verdict


def suite_of(name):
    return "/".join(name.split("/")[:2])


def count_by_suite(verdict):
    """Suite -> counts of cases: native and tutti (passed), total, lost, expected, gained."""
    counts = {}
    lost = [(d, "lost") for d in verdict.lost] + [(d, "expected") for d, _ in verdict.expected]
    for difference, kind in lost + [(d, d.change) for d in verdict.gained + verdict.same]:
        row = counts.setdefault(suite_of(difference.name), dict.fromkeys(
            ("total", "native", "tutti", "lost", "expected", "gained", "same"), 0))
        row["total"] += 1
        row["native"] += difference.native == "pass"
        row["tutti"] += difference.tutti == "pass"
        row[kind] += 1
    return dict(sorted(counts.items()))
