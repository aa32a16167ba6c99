#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The demo, in small: which devices it compares, what it makes of its times, and that all pictures
are the same.   usage: demo_check.py SOURCES BUILD OUT"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCES, BUILD, OUT = (pathlib.Path(path).resolve() for path in sys.argv[1:4])
sys.path.insert(0, str(SOURCES / "demo"))
import device_choice  # noqa: E402
import machine  # noqa: E402

UNSET = ("POCL_DEVICES", "RUSTICL_ENABLE", "LP_NUM_THREADS", "TUTTI_DEVICES", "TUTTI_BALANCER",
         "TUTTI_SPLIT")


def device(index, name, kind="cpu", units=1, **more):
    return {"index": index, "name": name, "platform": "a platform", "type": kind, "used": True,
            "reason": "", "compute_units": units, **more}


def turn(one, other, together, *disturbances):
    return machine.Round({0: one, 1: other}, together,
                         [machine.Disturbance("others", amount, f"others: {amount}")
                          for amount in disturbances])


class DeviceChoice(unittest.TestCase):
    def settle(self, natural, shown, cores, **user):
        environment = {**device_choice.settings(natural, cores), **user}
        chosen, left_out = device_choice.choose(shown, environment, cores)
        self.assertLessEqual(sum(device_choice.cores_of(one, environment, cores)
                                 for one in chosen if device_choice.is_cpu(one)), max(1, cores))
        return [one["index"] for one in chosen], left_out, environment

    def test_two_cores_two_devices(self):
        # PoCL 3.1's names and PoCL 6's.
        for name in ("basic-skylake-avx512-AMD EPYC", "cpu-minimal-znver3-AMD EPYC"):
            shown = [device(0, name), device(1, name), device(2, "llvmpipe (LLVM 19)", units=8)]
            chosen, left_out, environment = self.settle([device(0, "cpu", units=2)], shown, 2,
                                                        LP_NUM_THREADS="1")
            self.assertEqual(chosen, [0, 1])
            self.assertEqual(environment["POCL_DEVICES"], "basic basic")
            self.assertIn("wants 1 core, of 2 none is left", left_out[2])

    def test_a_second_vendor_where_cores_are_left(self):
        shown = [device(i, "basic") for i in range(3)] + [device(3, "llvmpipe (LLVM 19)", units=8)]
        chosen, left_out, environment = self.settle([device(0, "cpu", units=4)], shown, 4)
        self.assertEqual((chosen, left_out), ([0, 1, 2, 3], {}))
        self.assertEqual(environment["POCL_DEVICES"], "basic basic basic")
        chosen, _, environment = self.settle([device(0, "cpu", units=64)], shown, 64)
        self.assertEqual(len(environment["POCL_DEVICES"].split()), device_choice.MOST_ONE_CORE)

    def test_one_core_one_device(self):
        chosen, _, environment = self.settle([device(0, "cpu")],
                                             [device(0, "basic"), device(1, "other")], 1)
        self.assertEqual((chosen, environment["POCL_DEVICES"]), ([0], "basic"))

    def test_gpus_and_the_cpu_beside_them(self):
        found = [device(0, "cpu", units=15), device(1, "GPU", "gpu", 132),
                 device(2, "GPU", "gpu", 132), device(3, "llvmpipe (LLVM 19)", units=8)]
        chosen, left_out, environment = self.settle(found, found, 16)
        self.assertEqual(chosen, [0, 1, 2])
        self.assertNotIn("POCL_DEVICES", environment)
        self.assertIn("wants 16 cores, of 16 1 is left", left_out[3])
        self.assertEqual(device_choice.cores_used([found[1]], {}, 16), 1)

    def test_what_tutti_leaves_out_stays_out(self):
        found = [device(0, "basic"), device(1, "slow", used=False, reason="it hardly helps")]
        chosen, left_out, _ = self.settle(found, found, 2)
        self.assertEqual((chosen, left_out), ([0], {1: "it hardly helps"}))


class Machine(unittest.TestCase):
    def test_threads_of_one_core_are_one_core(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for cpu, core in enumerate((0, 0, 1, 1)):
                topology = folder / f"cpu{cpu}/topology"
                topology.mkdir(parents=True)
                (topology / "physical_package_id").write_text("0\n")
                (topology / "core_id").write_text(f"{core}\n")
            self.assertEqual(machine.physical_cores({0, 1, 2, 3}, folder), 2)
            self.assertEqual(machine.physical_cores({0, 2}, folder), 2)
            self.assertEqual(machine.physical_cores({0, 1, 7}, folder), 2)  # 7 is unknown

    def test_control_groups_limit_the_cores(self):
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name)
            (root / "cgroup").write_text("0::/a\n")
            self.assertIsNone(machine.cgroup_quota(root / "cgroup", root))
            (root / "cpu.max").write_text("150000 100000\n")
            self.assertEqual(machine.cgroup_quota(root / "cgroup", root), 1.5)
            (root / "cpu.max").write_text("max 100000\n")
            self.assertIsNone(machine.cgroup_quota(root / "cgroup", root))

    def test_a_kernel_that_tells_nothing(self):
        nowhere = pathlib.Path("/nowhere")
        self.assertIsNone(machine.waiting_seconds(nowhere))
        self.assertIsNone(machine.cpu_seconds({0}, nowhere))
        self.assertEqual(machine.Load(2.0).disturbances(2, 2), [])

    def test_others_may_use_what_is_free(self):
        kinds = [one.kind for one in machine.Load(5.0, others=1.5).disturbances(4, 2)]
        self.assertEqual(kinds, [])
        kinds = [one.kind for one in machine.Load(5.0, others=1.5).disturbances(2, 1)]
        self.assertEqual(kinds, ["others"])
        kinds = [one.kind for one in machine.Load(5.0, waiting=0.5, steal=0.2).disturbances(4, 2)]
        self.assertEqual(kinds, ["waiting", "steal"])


class Verdicts(unittest.TestCase):
    def test_a_quiet_machine(self):
        verdict = machine.judge([turn(2.0, 2.1, 1.0), turn(2.02, 2.1, 1.0), turn(2.0, 2.1, 1.01)])
        self.assertEqual((verdict.best, verdict.doubts), (0, []))
        self.assertAlmostEqual(verdict.factor, 2.0, delta=0.02)

    def test_disturbed_rounds_do_not_count_where_there_are_others(self):
        quiet = [turn(2.0, 2.1, 1.0)] * 3
        verdict = machine.judge([turn(2.0, 2.1, 4.0, 1.9), *quiet, turn(2.0, 2.1, 3.0, 1.2)])
        self.assertEqual((verdict.factor, verdict.rounds, verdict.doubts), (2.0, 3, []))

    def test_a_busy_machine(self):
        verdict = machine.judge([turn(2.0, 2.1, 1.0, 0.7), turn(2.0, 2.1, 1.0, 1.9),
                                 turn(2.0, 2.1, 1.0)])
        self.assertIn("busy in 2 of 3 rounds", verdict.doubts[0])
        self.assertEqual(verdict.doubts[1:], ["  others: 1.9"])  # the worst of its kind

    def test_times_that_vary(self):
        verdict = machine.judge([turn(2.0, 2.1, together) for together in (1.0, 1.3, 1.6, 2.0)])
        self.assertIn("vary too much", verdict.doubts[0])

    def test_too_few_rounds(self):
        self.assertIn("too few", machine.judge([turn(2.0, 2.1, 1.0)]).doubts[0])


class Demo(unittest.TestCase):
    def run_demo(self, *words, before=(), **environment):
        command = [*before, sys.executable, SOURCES / "demo/run.py", "--build", BUILD, "--out", OUT,
                   "--size", "320x180", *words]
        kept = {name: value for name, value in os.environ.items() if name not in UNSET}
        process = subprocess.run([str(word) for word in command], env={**kept, **environment},
                                 text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(process.returncode, 0, process.stdout)
        self.assertTrue((OUT / "picture.png").read_bytes().startswith(b"\x89PNG"), process.stdout)
        self.assertNotIn("WRONG", process.stdout)
        return process.stdout

    def test_beside_programs_that_keep_all_cores_busy(self):
        hogs = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
                for _ in os.sched_getaffinity(0)]
        try:
            output = self.run_demo("--rounds", "3", "--size", "640x360")
        finally:
            for hog in hogs:
                hog.kill()
                hog.wait()
        if machine.usable_cores() > 1:
            self.assertIn("these times do not tell", output)
            self.assertNotIn("times as fast", output)
            self.assertRegex(output, "other programs kept|tasks waited|hypervisor")

    def test_where_no_launch_is_split(self):
        output = self.run_demo("--rounds", "1", TUTTI_SPLIT="never")
        if machine.usable_cores() > 1:
            self.assertIn("No launch was split", output)

    def test_one_core(self):
        core = min(os.sched_getaffinity(0))
        output = self.run_demo(before=("taskset", "-c", str(core)))
        if "gpu" not in output.lower().replace("no gpu", ""):
            self.assertIn("One device takes part (1 core and no GPU", output)
        self.assertNotIn("times as fast", output)

    def test_every_driver_of_the_machine_draws_the_same(self):
        output = self.run_demo("--rounds", "1", POCL_DEVICES="basic basic",
                               RUSTICL_ENABLE="llvmpipe", LP_NUM_THREADS="1",
                               TUTTI_DEVICES="0,1,2")
        self.assertIn("device 2 alone", output)
        self.assertIn("too few to see", output)
        if machine.usable_cores() < 3:
            self.assertIn("compete for", output)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
