#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the runner: with a made-up suite, a made-up piglit and a made-up `tutti`."""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.append(str(Path(__file__).resolve().parents[1] / "scripts"))

import execution
import progress
import results
import store
import suites
import table

HERE = Path(__file__).resolve().parent
loader = importlib.machinery.SourceFileLoader("conformance_run", str(HERE / "run"))
run = importlib.util.module_from_spec(importlib.util.spec_from_loader("conformance_run", loader))
loader.exec_module(run)

# A CTS program. UNDER_TUTTI is what the made-up `tutti` sets. `hangs` leaves a child behind, too.
FAKE_CTS = f"""#!{sys.executable}
import json, os, signal, subprocess, sys
tests = ["good", "bad", "skipped", "dies", "hangs", "lost", "gained", "silent", "arguments"]
if sys.argv[1] == "--list":
    print("not a name")
    print("".join(f"\\t{{test}}\\n" for test in tests))
    sys.exit(0)
test, tutti = sys.argv[1], "UNDER_TUTTI" in os.environ
outcome = {{"bad": "fail", "skipped": "skip", "lost": "fail" if tutti else "pass",
            "gained": "pass" if tutti else "fail"}}.get(test, "pass")
if test == "arguments" and sys.argv[2:] != ["-w"]:
    outcome = "fail"
if test == "dies":
    os.kill(os.getpid(), signal.SIGSEGV)
if test == "hangs":
    subprocess.run([sys.executable, "-c", "import signal; signal.pause()"])
if test != "silent":
    with open(os.environ["CL_CONFORMANCE_RESULTS_FILENAME"], "w") as file:
        json.dump({{"cmd": sys.argv[0], "results": {{test: outcome}}}}, file)
print("FAILED" if outcome == "fail" else "PASSED", test)
sys.exit(outcome == "fail")
"""
FAKE_TUTTI = '#!/bin/sh\nshift 2\nUNDER_TUTTI=1 exec "$@"\n'


def write_program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


class MadeUpSuite(unittest.TestCase):
    """The whole runner on made-up programs."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        write_program(self.folder / "cts" / "deep" / "test_fake", FAKE_CTS)
        (self.folder / "cts" / "test_notes.txt").write_text("no program")
        write_program(self.folder / "build" / "bin" / "tutti", FAKE_TUTTI)
        (self.folder / "fake.icd").write_text("libfake.so\n")
        (self.folder / "none.toml").write_text("")
        self.tiers('cts = [{ suite = "fake", except = ["hangs", "arguments"] }]')

    def tiers(self, line):
        (self.folder / "tiers.toml").write_text(f"[minutes]\nlimit = 20\n{line}\n")

    def run_it(self, *arguments, expectations=""):
        """(exit status, what it printed, the results)."""
        (self.folder / "expectations.toml").write_text(expectations)
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            status = run.main(["--cts", str(self.folder / "cts"), "--build",
                               str(self.folder / "build"), "--vendor", str(self.folder / "fake.icd"),
                               "--tiers", str(self.folder / "tiers.toml"), "--expectations",
                               str(self.folder / "expectations.toml"), "--json",
                               str(self.folder / "out.json"), *arguments])
        file = self.folder / "out.json"
        return status, output.getvalue(), json.loads(file.read_text()) if file.exists() else None

    def test_outcomes_and_difference(self):
        status, text, outcomes = self.run_it("-j", "4", "--logs", str(self.folder / "logs"))
        self.assertEqual({name: result["outcome"] for name, result in outcomes["native"].items()}, {
            "cts/fake/good": "pass", "cts/fake/bad": "fail", "cts/fake/skipped": "skip",
            "cts/fake/dies": "crash", "cts/fake/lost": "pass", "cts/fake/gained": "fail",
            "cts/fake/silent": "fail"})
        self.assertEqual(outcomes["tutti"]["cts/fake/lost"]["outcome"], "fail")
        self.assertEqual(status, 1)
        self.assertIn("LOST       cts/fake/lost: pass -> fail", text)
        self.assertIn("gained     cts/fake/gained: fail -> pass", text)
        self.assertIn("1 lost, 0 known, 1 gained, 5 same", text)
        log = (self.folder / "logs" / "tutti" / "cts+fake+lost.log").read_text()
        self.assertIn("FAILED lost", log)
        self.assertNotIn("\x1b", text)

    def test_what_hangs_is_ended_with_its_children(self):
        self.tiers('cts = [{ suite = "fake", tests = ["hangs"], limit = 0.5 }, '
                   '{ suite = "fake", tests = ["good"] }]')
        status, _, outcomes = self.run_it()
        self.assertEqual(outcomes["native"]["cts/fake/hangs"]["outcome"], "timeout")
        self.assertEqual(status, 0)  # on both sides

    def test_a_vendor_that_passes_nothing_is_no_yardstick(self):
        for names in (["cts/fake/bad", "cts/fake/skipped", "cts/fake/dies"], ["cts/fake/gained"]):
            with self.subTest(names=names):
                status, text, _ = self.run_it(*names)
                self.assertEqual(status, 1)
                self.assertIn("0 lost", text)
                self.assertIn("conformance: the vendor passes none of these tests natively", text)
        status, text, _ = self.run_it("cts/fake/bad", "cts/fake/good")
        self.assertEqual(status, 0)
        self.assertNotIn("natively, so that", text)

    def test_arguments_make_a_suite_of_their_own(self):
        self.tiers('cts = [{ suite = "fake", tests = ["arg*"], arguments = ["-w"] }]')
        _, _, outcomes = self.run_it()
        self.assertEqual(outcomes["tutti"]["cts/fake -w/arguments"]["outcome"], "pass")

    def test_expected_loss(self):
        expected = '[[expect]]\ntests = ["cts/fake/l*"]\nreason = "because"\n'
        status, text, _ = self.run_it(expectations=expected)
        self.assertEqual(status, 0)
        self.assertIn("known      cts/fake/lost: pass -> fail  (because)", text)

    def test_an_expected_loss_that_is_none_fails(self):
        expected = '[[expect]]\ntests = ["cts/fake/*"]\nreason = "because"\n'
        status, text, _ = self.run_it("cts/fake/good", expectations=expected)
        self.assertEqual(status, 1)
        self.assertIn("UNEXPECTED cts/fake/good: pass -> pass", text)

    def test_native_results_are_used_again(self):
        _, _, outcomes = self.run_it("cts/fake/good", "cts/fake/bad")
        outcomes["native"]["cts/fake/bad"]["outcome"] = "skip"
        native = self.folder / "native.json"
        native.write_text(json.dumps(outcomes))
        _, text, outcomes = self.run_it("--native", str(native), "cts/fake/[bgs]*")
        self.assertEqual(outcomes["native"]["cts/fake/bad"]["outcome"], "skip")
        self.assertEqual(outcomes["native"]["cts/fake/silent"]["outcome"], "fail")
        self.assertIn("LOST       cts/fake/bad: skip -> fail", text)

    def test_a_driver_that_is_missing_is_no_loss(self):
        write_program(self.folder / "build" / "bin" / "tutti",
                      "#!/bin/sh\necho 'tutti run: no driver' >&2\nexit 125\n")
        status, text, _ = self.run_it("cts/fake/good")
        self.assertEqual(status, 2)
        self.assertIn("conformance: tutti run: no driver", text)

    def test_native_results_of_another_driver_are_refused(self):
        self.run_it("cts/fake/good")
        native = self.folder / "native.json"
        outcomes = json.loads((self.folder / "out.json").read_text())
        outcomes["facts"]["native_title"] = 'other ""'
        native.write_text(json.dumps(outcomes))
        status, text, _ = self.run_it("--native", str(native), "cts/fake/good")
        self.assertEqual(status, 2)
        self.assertIn('native results of other "", not of fake ""', text)

    def test_several_vendors(self):
        # Only `other` natively knows "gained", and only `fake` "lost", which so is not lost.
        (self.folder / "other.icd").write_text("libother.so\n")
        text = FAKE_CTS.replace(
            'if test == "arguments"', """if not tutti and not "vendor-fake" in os.environ["OCL_ICD_VENDORS"]:
    outcome = {"lost": "fail", "gained": "pass"}.get(test, outcome)
if test == "vendors":
    outcome = "pass" if tutti and os.environ["TUTTI_VENDORS"].count(".icd") == 2 else "fail"
if test == "arguments" """).replace('"silent", "arg', '"silent", "vendors", "arg')
        write_program(self.folder / "cts" / "deep" / "test_fake", text)
        both = f"{self.folder / 'fake.icd'}+{self.folder / 'other.icd'}"
        status, text, outcomes = self.run_it("--vendor", both)
        self.assertEqual(outcomes["native"]["cts/fake/gained"]["outcome"], "fail")
        self.assertIn("cts/fake/gained: fail -> pass", text)
        self.assertIn("cts/fake/vendors: fail -> pass", text)
        self.assertIn("0 lost, 0 known, 2 gained", text)
        self.assertIn('Tutti on fake "" and other ""; against fake "" and other ""', text)
        self.assertEqual((outcomes["facts"]["vendor"], status), ("fake+other", 0))
        # The other half is known from a run on that vendor alone.
        _, _, alone = self.run_it("--vendor", str(self.folder / "fake.icd"))
        alone["native"]["cts/fake/good"]["outcome"] = "skip"
        (self.folder / "alone.json").write_text(json.dumps(alone))
        _, _, outcomes = self.run_it("--vendor", both, "--native", str(self.folder / "alone.json"))
        self.assertEqual(outcomes["native"]["cts/fake/good"]["outcome"], "skip")
        self.assertEqual(self.run_it("--vendor", both, "--devices", "a+b+c")[0], 2)

    def test_a_version_is_a_configuration_of_its_own(self):
        expected = ('[[expect]]\ntests = ["cts/fake/lost"]\nreason = "new"\n'
                    'where = { vendor = "fake", version = "6" }\n')
        self.assertEqual(self.run_it(expectations=expected)[0], 1)
        status, text, outcomes = self.run_it("--vendor-version", "6", expectations=expected)
        self.assertEqual(status, 0)
        self.assertIn('Tutti on fake 6 ""; against fake 6 ""', text)
        self.assertIn("known      cts/fake/lost", text)
        new = self.folder / "new.json"
        new.write_text(json.dumps(outcomes))
        old, _ = self.result("old.json")
        self.assertIn('| suite | fake "" | fake 6 "" | all |', self.run_table(old, new)[1])
        # What one version does natively says nothing of another.
        self.assertEqual(self.run_it("--native", str(new))[0], 2)
        self.assertEqual(self.run_it("--vendor-version", "6+7")[0], 2)

    def run_table(self, *names, expectations=""):
        """(exit status, the page), from what is kept in this test's folder."""
        page, kept = self.folder / "page.md", self.folder / "kept.json"
        status, text, _ = self.run_it("--table", str(page), "--store", str(kept), *map(str, names),
                                      expectations=expectations)
        return status, page.read_text() if page.exists() else text

    def result(self, name, *arguments):
        """A run's results in a file of that name."""
        _, _, outcomes = self.run_it(*arguments)
        path = self.folder / name
        path.write_text(json.dumps(outcomes))
        return path, outcomes

    def test_seed_and_table(self):
        self.assertEqual(self.run_table()[0], 2)  # nothing is kept yet
        status, text, _ = self.run_it("--split", "force", "--seed", "17", "--note", "fake 1.0")
        self.assertIn("seed 17", text)
        first, outcomes = self.result("first.json", "--split", "force", "--note", "fake 1.0")
        status, page = self.run_table(first)
        self.assertEqual(status, 0)
        self.assertIn('| suite | fake "", split force | all |', page)
        self.assertIn("| cts/fake | 2, 2 of 7, **1 lost** | 2, 2 of 7, **1 lost** |", page)
        self.assertIn("| **all** | 2, 2 of 7, **1 lost** |", page)
        self.assertIn('- fake "", split force: fake 1.0.', page)
        self.assertIn('| `cts/fake/lost` | pass | fail | fake "", split force | **not known** |', page)
        # A later result of the same configuration replaces the first one.
        outcomes["tutti"]["cts/fake/lost"]["outcome"] = "pass"
        second = self.folder / "second.json"
        second.write_text(json.dumps(outcomes))
        status, page = self.run_table(first, second)
        self.assertIn("| cts/fake | 3, 2 of 7 | 3, 2 of 7 |", page)
        self.assertNotIn("cts/fake/lost", page)
        # One of fewer tests does not, and says so; what is kept makes the same page again.
        for side in ("native", "tutti"):
            del outcomes[side]["cts/fake/good"]
        second.write_text(json.dumps(outcomes))
        self.assertEqual(self.run_table(second), (0, page))
        self.assertEqual(self.run_table(), (0, page))
        # Another configuration is a column of its own, with totals over both.
        alone, _ = self.result("alone.json")
        status, page = self.run_table(alone)
        self.assertIn('| suite | fake "", split force | fake "" | all |', page)
        self.assertIn("| cts/fake | 3, 2 of 7 | 2, 2 of 7, **1 lost** | 5, 4 of 14, **1 lost** |", page)
        self.assertIn("| gained | 1 | 1 | 2 |", page)
        self.assertIn("| cts/fake | `gained` |", page)

    def test_table_tells_known_losses_once(self):
        expected = '[[expect]]\ntests = ["cts/fake/lost"]\nreason = "so | it is"\n'
        alone, _ = self.result("alone.json")
        split, _ = self.result("split.json", "--split", "force")
        _, page = self.run_table(alone, split, expectations=expected)
        self.assertEqual(page.count("cts/fake/lost"), 1)
        self.assertIn('| `cts/fake/lost` | pass | fail | fake ""; fake "", split force | so \\| it is |',
                      page)
        self.assertIn("| known losses | 1 | 1 | 2 |", page)

    def test_damaged_store(self):
        for text in ("{", "[]", '{"a": {}}', '{"a": {"note": "", "suites": {"x": {}}, "differ": []}}',
                     '{"a": {"note": 1, "suites": {}, "differ": []}}'):
            (self.folder / "kept.json").write_text(text)
            with self.subTest(text=text):
                self.assertEqual(self.run_table()[0], 2)

    def test_wrong_usage(self):
        for arguments in (["--tier", "nothing"], ["no such test"], ["--cts", "/nowhere"],
                          ["--build", "/nowhere"], ["--vendor", "/nowhere.icd"]):
            with self.subTest(arguments=arguments):
                self.assertEqual(self.run_it(*arguments)[0], 2)
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
            run.main([])


class Piglit(unittest.TestCase):
    def test_list(self):
        text = ("noise\napi@clgetdeviceids\t../lib/piglit/bin/cl-api-get-device-ids\n"
                "program@execute@add\t../lib/piglit/bin/cl-program-tester /usr/add.cl\n")
        cases = suites.parse_piglit_list(text, Path("/usr/bin"), 7)
        self.assertEqual(cases, [
            suites.Case("piglit/api/clgetdeviceids", ("/usr/lib/piglit/bin/cl-api-get-device-ids",), 7),
            suites.Case("piglit/program/execute/add",
                        ("/usr/lib/piglit/bin/cl-program-tester", "/usr/add.cl"), 7)])

    def outcome(self, output, status=0, timed_out=False):
        case = suites.Case("piglit/program/x", (), 1)
        return suites.read_outcome(case, suites.Ending(status, timed_out, output))

    def test_outcomes(self):
        parts = 'PIGLIT: {"subtest": {"a" : "pass"}}\nPIGLIT: {"subtest": {"b" : "warn"}}\n'
        self.assertEqual(self.outcome(f'{parts}PIGLIT: {{"result": "fail" }}\n'),
                         ("fail", {"a": "pass", "b": "pass"}))
        self.assertEqual(self.outcome('PIGLIT: {"result": "skip" }'), ("skip", {}))
        self.assertEqual(self.outcome("nothing"), ("fail", {}))
        self.assertEqual(self.outcome("PIGLIT: {broken}"), ("fail", {}))
        self.assertEqual(self.outcome(parts, -11), ("crash", {"a": "pass", "b": "pass"}))
        self.assertEqual(self.outcome(parts, -9, True)[0], "timeout")


class Differences(unittest.TestCase):
    def test_change(self):
        def change(native, tutti):
            return results.Difference("x", native, tutti).change

        for native, tutti in (("pass", "skip"), ("pass", "crash"), ("skip", "fail"),
                              ("fail", "timeout"), ("fail", "crash")):
            self.assertEqual(change(native, tutti), "lost", (native, tutti))
        for native in ("skip", "fail", "timeout", "crash"):
            self.assertEqual(change(native, "pass"), "gained", native)
        for native, tutti in (("pass", "pass"), ("timeout", "crash"), ("crash", "timeout"),
                              ("crash", "fail"), ("fail", "skip")):
            self.assertEqual(change(native, tutti), "same", (native, tutti))

    def compare(self, native, tutti):
        return [(d.name, d.native, d.tutti) for d in results.compare({"x": native}, {"x": tutti})]

    def test_parts(self):
        whole = {"outcome": "pass", "parts": {"a": "pass", "b": "pass"}}
        self.assertEqual(self.compare(whole, whole), [("x/a", "pass", "pass"), ("x/b", "pass", "pass")])
        # What was not reached ends as the case did.
        self.assertEqual(self.compare(whole, {"outcome": "crash", "parts": {"a": "pass"}}),
                         [("x/a", "pass", "pass"), ("x/b", "pass", "crash")])
        self.assertEqual(self.compare(whole, {"outcome": "timeout"}),
                         [("x/a", "pass", "timeout"), ("x/b", "pass", "timeout")])
        # A crash after the last part is lost as well.
        self.assertEqual(self.compare(whole, {**whole, "outcome": "crash"})[-1],
                         ("x", "pass", "crash"))

    def test_expectations(self):
        lost = results.Difference("cts/a/b", "pass", "fail")
        good = results.Difference("cts/a/b", "pass", "pass")
        text = '[[expect]]\ntests = ["cts/a/*"]\nreason = "r"\nwhere = { vendor = "pocl" }\n'
        expectations = results.parse_expectations(text)
        facts = {"vendor": "pocl", "devices": 2}
        self.assertTrue(results.judge([lost], expectations, facts).good)
        self.assertFalse(results.judge([good], expectations, facts).good)
        self.assertFalse(results.judge([lost], expectations, {"vendor": "rusticl"}).good)
        self.assertTrue(results.judge([good], expectations, {"vendor": "rusticl"}).good)
        unsteady = results.parse_expectations(
            '[[expect]]\ntests = ["cts/a/*"]\nreason = "r"\nresult = "unsteady"\n')
        self.assertTrue(results.judge([lost], unsteady, facts).good)
        self.assertTrue(results.judge([good], unsteady, facts).good)

    def test_worst(self):
        whole = {"outcome": "pass", "seconds": 1, "parts": {"a": "pass", "b": "skip"}}
        self.assertEqual(results.worst([whole]), whole)
        self.assertEqual(results.worst([whole, {"outcome": "crash", "seconds": 2,
                                                "parts": {"a": "fail"}}]),
                         {"outcome": "crash", "seconds": 2, "parts": {"a": "fail", "b": "crash"}})

    def test_bad_expectations(self):
        for text in ('[[expect]]\ntests = ["x"]\n', '[[expect]]\nreason = "r"\n',
                     '[[expect]]\ntests = ["x"]\nreason = " "\n', "[[expect",
                     '[[expect]]\ntests = ["x"]\nreason = "r"\nresult = "passed"\n',
                     '[[expect]]\ntests = ["x"]\nreason = "r"\nwhy = "?"\n'):
            with self.subTest(text=text), self.assertRaises(results.ExpectationError):
                results.parse_expectations(text)


class OurData(unittest.TestCase):
    """tiers.toml and expectations.toml themselves."""

    def test_expectations(self):
        results.parse_expectations((HERE / "expectations.toml").read_text())

    def test_the_table_is_that_of_what_is_kept(self):
        page = (HERE.parent / "docs" / "conformance.md").read_text()
        self.assertEqual(page, table.render(store.read(HERE / "measured.json")))

    def test_tiers(self):
        tiers = run.tomllib.loads((HERE / "tiers.toml").read_text())
        self.assertLessEqual({"minutes", "hour", "night"}, set(tiers))
        for tier in tiers.values():
            self.assertLessEqual(set(tier), {"limit", "cts", "piglit", "piglit_except"})
            for entry in tier["cts"]:
                self.assertLessEqual(set(entry), {"suite", "tests", "except", "arguments", "limit"})


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Output(unittest.TestCase):
    def test_progress_is_for_terminals(self):
        for stream, shown in ((Terminal(), True), (io.StringIO(), False)):
            line = progress.Progress(2, stream)
            line.step("cts/a/b")
            line.step("cts/a/c", "lost")
            line.done()
            self.assertEqual("2/2, 1 lost  cts/a/c" in stream.getvalue(), shown)
            self.assertEqual(bool(stream.getvalue()), shown)

    def test_table_cells(self):
        self.assertEqual(table.row(("a|b", 1)), "| a\\|b | 1 |\n")

    def test_environment_is_clean(self):
        os.environ["TUTTI_SPLIT"] = "never"
        self.addCleanup(os.environ.pop, "TUTTI_SPLIT")
        environment = execution.clean_environment({"POCL_DEVICES": "basic"})
        self.assertNotIn("TUTTI_SPLIT", environment)
        self.assertEqual(environment["POCL_DEVICES"], "basic")


if __name__ == "__main__":
    unittest.main()
