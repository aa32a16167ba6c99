// SPDX-License-Identifier: Apache-2.0
#include "scheduler/run/block_compare.h"

#include <cstring>

#include "base/log.h"

namespace tutti::scheduler {
namespace {

// One work-item per 16 bytes. Several may set one flag, to the same value.
constexpr const char* kSource = R"(
__kernel void tutti_changed(__global const uint4* now, ulong first, __global const uint4* before,
                            ulong size, __global uint* changed, uint shift) {
  const ulong i = get_global_id(0);
  if (i * 16 >= size) return;
  bool differs = false;
  if (i * 16 + 16 <= size) {
    differs = any(now[first + i] != before[i]);
  } else {
    __global const uchar* a = (__global const uchar*)(now + first + i);
    __global const uchar* b = (__global const uchar*)(before + i);
    for (uint k = 0; k < (uint)(size - i * 16); ++k) differs = differs || a[k] != b[k];
  }
  if (differs) changed[i >> shift] = 1;
}
)";
constexpr uint32_t kShift = 8;  // 16-byte items in a block, as a power of two
static_assert(BlockCompare::kBlock == 16u << kShift);

template <typename T>
backends::Argument scalar(const T& value) {
  return {.kind = backends::Argument::Kind::kBytes,
          .bytes = std::as_bytes(std::span<const T, 1>(&value, 1))};
}
backends::Argument memory(backends::Memory& memory) {
  return {.kind = backends::Argument::Kind::kMemory,
          .bytes = {},
          .memory = &memory,
          .size = memory.size()};
}

}  // namespace

backends::Kernel* BlockCompare::kernel_on(uint32_t backend) {
  MutexLock lock(mutex_);
  Program& program = programs_[backend];
  if (program.tried) return program.kernel.get();
  program.tried = true;
  backends::BuildResult built = backends_.at(backend).build(kSource, "");
  if (built.module) {
    if (auto kernel = built.module->create_kernel("tutti_changed")) {
      program.module = std::move(built.module);
      program.kernel = std::move(*kernel);
    }
  }
  if (!program.kernel) {
    log(level_without_vendors(LogLevel::kWarning),
        "device {} cannot compare copies, so whole ranges travel: {}",
        backends_.traits(backend).device_name, built.log);
  }
  return program.kernel.get();
}

Result<std::vector<ByteRange>> BlockCompare::changed(uint32_t backend, backends::Memory& now,
                                                     uint64_t begin, backends::Memory& before,
                                                     uint64_t size) {
  std::vector<ByteRange> result;
  backends::Kernel* kernel = kernel_on(backend);
  if (!kernel) {
    result.push_back({begin, begin + size});
    return result;
  }
  TUTTI_ASSIGN(backends::Queue * queue, backends_.transfer_queue(backend));
  const uint64_t blocks = (size + kBlock - 1) / kBlock;
  std::vector<uint32_t> flags(blocks);
  TUTTI_ASSIGN(const auto flag_memory,
               backends_.at(backend).allocate(blocks * sizeof(uint32_t), nullptr));
  const std::array<std::byte, 4> zero{};
  TUTTI_ASSIGN(const auto cleared,
               queue->fill(*flag_memory, 0, blocks * sizeof(uint32_t), zero, {}));
  const uint64_t first = begin / kAlignment;
  const std::array<backends::Argument, 6> arguments = {memory(now),          scalar(first),
                                                       memory(before),       scalar(size),
                                                       memory(*flag_memory), scalar(kShift)};
  backends::Launch launch;
  launch.kernel = kernel;
  launch.arguments = arguments;
  launch.global[0] = (size + kAlignment - 1) / kAlignment;
  TUTTI_ASSIGN(const auto compared, queue->launch(launch, {}));
  TUTTI_TRY(queue->read_blocking(*flag_memory, 0, blocks * sizeof(uint32_t), flags.data()));
  TUTTI_TRY(cleared->wait());
  TUTTI_TRY(compared->wait());
  for (uint64_t i = 0; i < blocks; ++i) {
    if (flags[i] == 0) continue;
    const uint64_t from = begin + i * kBlock;
    const uint64_t to = std::min(from + kBlock, begin + size);
    if (!result.empty() && result.back().end == from) {
      result.back().end = to;
    } else {
      result.push_back({from, to});
    }
  }
  return result;
}

}  // namespace tutti::scheduler
