// SPDX-License-Identifier: Apache-2.0
// Random small kernels and launches, half of them made of the index patterns of real kernels, half
// of arbitrary expressions. Every choice comes from a list of numbers, so that cases shrink.
#pragma once

#include <vector>

#include "kernel_maker.h"

namespace tutti::scheduler::test {

struct RandomCase {
  KernelMaker kernel;
  LaunchShape shape;
};

RandomCase make_random_case(const std::vector<uint32_t>& choices);

}  // namespace tutti::scheduler::test
