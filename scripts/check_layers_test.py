#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of check_layers.py: each rule is broken once in a made-up tree, and kept once."""

import pathlib
import tempfile
import unittest

import check_layers

LICENCE = "// SPDX-License-Identifier: Apache-2.0\n"


def problems_of(files):
    """The problems of a tree with these files (path -> text)."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            file = pathlib.Path(folder, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(LICENCE + text)
        return check_layers.check_tree(folder)


class CheckLayers(unittest.TestCase):
    def assert_bad(self, path, include, part):
        problems = problems_of({path: f"\n#include {include}\n"})
        self.assertEqual(len(problems), 1, problems)
        self.assertIn(f"{path}:3:", problems[0])
        self.assertIn(part, problems[0])

    def assert_good(self, path, *includes):
        text = "".join(f"#include {include}\n" for include in includes)
        self.assertEqual(problems_of({path: text}), [])

    def test_opening_a_file_elsewhere_fails(self):
        for line in ("std::ifstream in(name);", "int f = open(p, O_RDONLY);", "fopen(p, \"rb\");",
                     "fs::create_directories(p);"):
            problems = problems_of({"record/a.cpp": f"\n{line}\n"})
            self.assertEqual(len(problems), 1, problems)
            self.assertIn("record/a.cpp:3: opens a file", problems[0])
            self.assertEqual(problems_of({"base/safe_file.cpp": line + "\n",
                                          "tests/a.cpp": line + "\n"}), [])
        self.assertEqual(problems_of({"tools/a.cpp": "auto f = Own::open(p, kMade);\n"
                                      "open(\"/dev/null\", O_RDWR);\n"}), [])

    def test_reaching_upwards_fails(self):
        upwards = [
            ("base/log.cpp", "backends/api/backend.h"),
            ("backends/api/backend.h", "backends/impl.h"),
            ("backends/opencl/queue.cpp", "scheduler/plan/planner.h"),
            ("scheduler/plan/planner.cpp", "scheduler/order/command_log.h"),
            ("scheduler/memory/logical_buffer.cpp", "scheduler/command/command.h"),
            ("scheduler/command/command.cpp", "scheduler/engine/engine.h"),
            ("scheduler/order/command_log.cpp", "scheduler/batch/launch_batches.h"),
            ("scheduler/run/direct_path.cpp", "scheduler/batch/launch_batch.h"),
            ("scheduler/batch/launch_batches.cpp", "scheduler/engine/engine.h"),
            ("scheduler/devices/backend_set.cpp", "scheduler/memory/logical_buffer.h"),
            ("scheduler/plan/planner.cpp", "device_virtual/kernel.h"),
            ("scheduler/plan/planner.cpp", "kernel_compiler/compiler_client.h"),
            ("kernel_compiler/front_end.cpp", "backends/api/backend.h"),
            ("kernel_compiler/front_end.cpp", "scheduler/plan/planner.h"),
            ("device_virtual/kernel.cpp", "icd/dispatch.h"),
            ("device_virtual/kernel.cpp", "tools/run.h"),
            ("tools/run.cpp", "icd/dispatch.h"),
        ]
        for path, target in upwards:
            with self.subTest(path=path, target=target):
                self.assert_bad(path, f'"{target}"', "may use only")

    def test_reaching_downwards_passes(self):
        self.assert_good("icd/entry/queue.cpp", '"device_virtual/queue.h"',
                         '"base/log.h"', '"icd/validate/queue.h"')
        self.assert_good("device_virtual/kernel.cpp", '"scheduler/plan/planner.h"',
                         '"kernel_compiler/compiler_client.h"', '"backends/api/backend.h"')
        self.assert_good("scheduler/plan/planner.cpp", '"backends/api/backend.h"',
                         '"scheduler/balance/balancer.h"', "<CL/cl.h>")
        self.assert_good("kernel_compiler/front_end.cpp",
                         '"scheduler/access/access_summary.h"')

    def test_concrete_backend(self):
        named = '"backends/opencl/quirks.h"'
        for path in ("device_virtual/device.cpp", "scheduler/run/executor.cpp",
                     "icd/dispatch.cpp", "backends/api/backend.h"):
            with self.subTest(path=path):
                self.assert_bad(path, named, "composition root")
        self.assert_good("platform/composition.cpp", named)
        self.assert_good("tools/devices.cpp", named)
        self.assert_good("backends/opencl/opencl_backend.cpp", named)
        self.assert_good("tests/unit/backends/loader_test.cpp", named)

    def test_pure_logic_knows_no_opencl(self):
        self.assert_bad("scheduler/balance/sigmoid.cpp", "<CL/cl.h>", "no OpenCL")
        self.assert_bad("scheduler/model/model.h", '"CL/cl.h"', "no OpenCL")
        self.assert_bad("scheduler/balance/sigmoid.cpp", '"backends/api/backend.h"',
                        "may use only")
        self.assert_bad("scheduler/balance/sigmoid.cpp", '"scheduler/run/executor.h"',
                        "may use only")
        self.assert_good("scheduler/balance/sigmoid.cpp", '"base/result.h"',
                         '"scheduler/balance/balancer.h"', '"scheduler/model/model.h"', "<vector>")

    def test_clang_stays_in_the_kernel_compiler(self):
        self.assert_bad("device_virtual/program.cpp", '"clang/AST/AST.h"', "only kernel_comp")
        self.assert_bad("tests/unit/kernel_compiler/t.cpp", "<llvm/IR/IR.h>", "only kernel_comp")
        self.assert_bad("kernel_compiler/compiler_client.cpp", '"llvm/IR/IR.h"', "linked into")
        self.assert_bad("kernel_compiler/summary_json.h", '"llvm/IR/IR.h"', "linked into")
        self.assert_good("kernel_compiler/front_end.cpp", '"clang/AST/AST.h"',
                         '"llvm/IR/IR.h"')

    def test_ordinary_programs_do_not_know_the_driver(self):
        for path in ("bench/src/main.cpp", "demo/main.cpp", "tests/api/buffer_test.cpp"):
            with self.subTest(path=path):
                self.assert_bad(path, '"base/result.h"', "ordinary OpenCL program")
        self.assert_good("bench/src/main.cpp", '"kernels/gemm.h"', "<CL/cl.h>", '"runner.h"')
        self.assert_good("tests/unit/base/log_test.cpp", '"base/log.h"')

    def test_other_habits(self):
        self.assert_bad("icd/entry/queue.cpp", '"../dispatch.h"', "steps out")
        self.assertIn("without a rule", problems_of({"mystery/a.cpp": ""})[0])
        self.assert_bad("backends/mystery/a.cpp", '"scheduler/a.h"', "may use only")
        self.assertIn("601 lines", problems_of({"base/a.cpp": "\n" * 600})[0])
        self.assertEqual(problems_of({"base/a.cpp": "\n" * 599}), [])
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "base/a.cpp")
            file.parent.mkdir(parents=True)
            file.write_text("int x;\n")
            self.assertIn("no SPDX", check_layers.check_tree(folder)[0])

    def test_the_command_fails_on_a_bad_tree(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "base/a.cpp")
            file.parent.mkdir(parents=True)
            file.write_text(LICENCE + '#include "icd/dispatch.h"\n')
            self.assertEqual(check_layers.main([folder]), 1)
            file.write_text(LICENCE)
            self.assertEqual(check_layers.main([folder]), 0)


if __name__ == "__main__":
    unittest.main()
