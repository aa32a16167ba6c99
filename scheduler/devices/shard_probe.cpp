// SPDX-License-Identifier: Apache-2.0
#include "scheduler/devices/shard_probe.h"

#include <array>
#include <numeric>
#include <span>

#include "base/log.h"
#include "scheduler/devices/backend_set.h"

namespace tutti::scheduler {
namespace {

// As the rewriter writes it. The shift is beyond 32 bits, as is the index that undoes it.
constexpr const char* kSource = R"(
__kernel void tutti_shifted(__global uint* a, ulong16 shards) {
  a=(__global void*)((size_t)a-(size_t)shards.s0);
  const size_t i = get_global_id(0) + (size_t)(shards.s0 / sizeof(uint));
  a[i] = a[i] * 3u + (uint)get_global_id(0);
}
)";
constexpr uint64_t kBefore = (uint64_t{1} << 33) + (uint64_t{1} << 20);
constexpr uint32_t kItems = 256;

Status try_out(BackendSet& backends, uint32_t backend) {
  backends::Backend& device = backends.at(backend);
  const backends::BuildResult built = device.build(kSource, "");
  if (!built.module) return fail(built.code, built.log);
  TUTTI_ASSIGN(const auto kernel, built.module->create_kernel("tutti_shifted"));
  std::array<uint32_t, kItems> numbers{};
  std::iota(numbers.begin(), numbers.end(), 7u);
  TUTTI_ASSIGN(const auto memory, device.allocate(sizeof numbers, nullptr));
  TUTTI_ASSIGN(backends::Queue * queue, backends.transfer_queue(backend));
  TUTTI_TRY(queue->write_blocking(*memory, 0, sizeof numbers, numbers.data()));
  alignas(16) std::array<uint64_t, 16> shards{kBefore};
  std::array<backends::Argument, 2> arguments;
  arguments[0].kind = backends::Argument::Kind::kMemory;
  arguments[0].memory = memory.get();
  arguments[0].size = sizeof numbers;
  arguments[1].kind = backends::Argument::Kind::kBytes;
  arguments[1].bytes = std::as_bytes(std::span(shards));
  backends::Launch launch;
  launch.kernel = kernel.get();
  launch.arguments = arguments;
  launch.global[0] = kItems;
  TUTTI_ASSIGN(const auto computed, queue->launch(launch, {}));
  TUTTI_TRY(computed->wait());
  TUTTI_TRY(queue->read_blocking(*memory, 0, sizeof numbers, numbers.data()));
  for (uint32_t i = 0; i < kItems; ++i) {
    if (numbers[i] != (i + 7) * 3 + i) return fail(CL_INVALID_OPERATION, "wrong results");
  }
  return {};
}

}  // namespace

bool ShardProbe::passed(BackendSet& backends, uint32_t backend) {
  MutexLock lock(mutex_);
  Answer& answer = answers_[backend];
  if (answer == Answer::kNotAsked) {
    const Status tried = try_out(backends, backend);
    answer = tried ? Answer::kYes : Answer::kNo;
    if (!tried) {
      log(LogLevel::kInfo,
          "device {} has all of each buffer that it uses, since it shifts no "
          "pointers: {}",
          backends.traits(backend).device_name, tried.error().message);
    }
  }
  return answer == Answer::kYes;
}

}  // namespace tutti::scheduler
