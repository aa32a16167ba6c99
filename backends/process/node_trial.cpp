// SPDX-License-Identifier: Apache-2.0
#include "backends/process/node_trial.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace tutti::backends::process {
namespace {

constexpr size_t kWidth = 24, kHeight = 16, kWords = kWidth * kHeight;
// The rows that are written, and read: columns 3 to 18.
constexpr size_t kColumn = 3, kColumns = 16;
constexpr cl_uint kFactor = 3, kUntouched = 0xdeadbeef;
constexpr const char* kSource =
    "kernel void tutti_trial(global uint* words, uint factor) {\n"
    "  words[get_global_id(0)] = words[get_global_id(0)] * factor + 1u;\n"
    "}\n";

Status wrong(const char* what) { return fail(CL_DEVICE_NOT_AVAILABLE, what); }

Status run_kernel(Backend& device, Queue& queue, Memory& memory) {
  BuildResult built = device.build(kSource, {});
  if (!built.module) return fail(built.code, "a kernel cannot be built: " + built.log);
  TUTTI_ASSIGN(const auto kernel, built.module->create_kernel("tutti_trial"));
  std::vector<Argument> arguments(2);
  arguments[0].kind = Argument::Kind::kMemory;
  arguments[0].memory = &memory;
  arguments[0].size = memory.size();
  arguments[1].bytes = std::as_bytes(std::span(&kFactor, 1));
  Launch launch;
  launch.kernel = kernel.get();
  launch.arguments = arguments;
  // All but the first row, as a package of a split launch.
  launch.offset[0] = kWidth;
  launch.global[0] = kWords - kWidth;
  TUTTI_ASSIGN(const auto launched, queue.launch(launch, {}));
  return launched->wait();
}

}  // namespace

Status try_node(Backend& device) {
  TUTTI_ASSIGN(const auto queue, device.create_queue({}));
  TUTTI_ASSIGN(const auto memory, device.allocate(kWords * sizeof(cl_uint), nullptr));
  std::vector<cl_uint> words(kWords), expected(kWords);
  std::iota(words.begin(), words.end(), 1u);
  const std::vector<cl_uint> before(kWords, 7u);
  TUTTI_TRY(queue->write_blocking(*memory, 0, memory->size(), before.data()));
  BufferRows rows;
  rows.offset = kColumn * sizeof(cl_uint);
  rows.length = kColumns * sizeof(cl_uint);
  rows.pitch = kWidth * sizeof(cl_uint);
  rows.count = kHeight;
  TUTTI_TRY(queue->write_rows(*memory, rows, words.data() + kColumn));
  const auto inside = [](size_t i) {
    return i % kWidth >= kColumn && i % kWidth < kColumn + kColumns;
  };
  for (size_t i = 0; i < kWords; ++i) {
    const cl_uint given = inside(i) ? words[i] : before[i];
    expected[i] = i < kWidth ? given : given * kFactor + 1u;
  }
  TUTTI_TRY(run_kernel(device, *queue, *memory));
  std::vector<cl_uint> whole(kWords), part(kWords, kUntouched);
  TUTTI_TRY(queue->read_blocking(*memory, 0, memory->size(), whole.data()));
  if (whole != expected) return wrong("a kernel's results, or rows that were written, are wrong");
  TUTTI_TRY(queue->read_rows(*memory, rows, part.data() + kColumn));
  for (size_t i = 0; i < kWords; ++i) {
    if (part[i] != (inside(i) ? expected[i] : kUntouched)) {
      return wrong("rows that were read are wrong");
    }
  }
  return {};
}

}  // namespace tutti::backends::process
