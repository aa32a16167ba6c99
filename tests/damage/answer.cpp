// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "kernel_compiler/summary_json.h"
#include "scheduler/access/access_eval.h"
#include "world.h"

namespace tutti::damage {
namespace {

using scheduler::ArgKind;
using scheduler::ArgumentValue;
using scheduler::KernelSummary;
using scheduler::LaunchAccess;
using scheduler::LaunchShape;

void evaluate(const KernelSummary& kernel, const LaunchShape& shape) {
  constexpr uint32_t kMostScalar = 4096;
  std::vector<std::vector<std::byte>> scalars;
  for (const scheduler::Argument& argument : kernel.arguments) {
    const bool scalar = argument.kind == ArgKind::kScalar;
    scalars.emplace_back(scalar ? std::min(argument.size, kMostScalar) : 0, std::byte{3});
  }
  std::vector<ArgumentValue> values(kernel.arguments.size());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i].scalar = scalars[i];
    if (kernel.arguments[i].kind != ArgKind::kGlobal) continue;
    values[i].buffer = i + 1;
    values[i].size = 4096;
  }
  const LaunchAccess access = LaunchAccess::evaluate(kernel, shape, values);
  const uint32_t dimension = access.verdict().dimension;
  if (dimension < 3) static_cast<void>(access.package(dimension, 0, shape.groups(dimension)));
}

}  // namespace

int evaluate_answer(const std::string& file) {
  const auto output = kernel_compiler::decode_output(content_of(file));
  if (!output) {
    fmt::print("{}\n", output.error().message);
    return 1;
  }
  for (const KernelSummary& kernel : output->summary.kernels) {
    for (uint32_t dims = 1; dims <= 3; ++dims) {
      LaunchShape shape;
      shape.dims = dims;
      for (uint32_t d = 0; d < dims; ++d) shape.global[d] = 64, shape.local[d] = 8;
      evaluate(kernel, shape);
    }
  }
  return 0;
}

}  // namespace tutti::damage
