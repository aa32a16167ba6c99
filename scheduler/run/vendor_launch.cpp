// SPDX-License-Identifier: Apache-2.0
#include "scheduler/run/vendor_launch.h"

namespace tutti::scheduler {

Result<std::vector<backends::Argument>> vendor_arguments(const ArgumentSet& arguments,
                                                         uint32_t backend,
                                                         std::span<const std::byte> hidden) {
  size_t count = arguments.size();
  while (count > 0 && arguments[count - 1].kind == ArgumentSlot::Kind::kReached) --count;
  std::vector<backends::Argument> result(count + (hidden.empty() ? 0 : 1));
  for (size_t i = 0; i < count; ++i) {
    const ArgumentSlot& slot = arguments[i];
    switch (slot.kind) {
      case ArgumentSlot::Kind::kUnset:
        return fail(CL_INVALID_KERNEL_ARGS, "an argument is not set");
      case ArgumentSlot::Kind::kBytes:
        result[i].bytes = {slot.bytes.data(), slot.bytes.size()};
        break;
      case ArgumentSlot::Kind::kLocal:
        result[i].kind = backends::Argument::Kind::kLocal;
        result[i].local_size = slot.local_size;
        break;
      case ArgumentSlot::Kind::kSampler:
        result[i].kind = backends::Argument::Kind::kSampler;
        result[i].sampler = slot.sampler;
        break;
      case ArgumentSlot::Kind::kQueue:
        result[i].kind = backends::Argument::Kind::kQueue;
        result[i].queue = slot.queue.get();
        break;
      case ArgumentSlot::Kind::kBuffer:
        result[i].kind = backends::Argument::Kind::kMemory;
        if (slot.image) {
          TUTTI_ASSIGN(result[i].memory, slot.image->device_memory(backend));
          result[i].size = result[i].memory->size();
        } else if (slot.view.buffer) {
          TUTTI_ASSIGN(result[i].memory, slot.view.buffer->device_memory(backend));
          result[i].origin = slot.view.origin;
          result[i].size = slot.view.size;
        }
        break;
      case ArgumentSlot::Kind::kReached:
        return fail(CL_INVALID_KERNEL_ARGS, "what is no argument stands among them");
    }
  }
  if (!hidden.empty()) result.back().bytes = hidden;
  for (size_t i = count; i < arguments.size(); ++i) {
    backends::Argument& reached = result.emplace_back();
    reached.kind = backends::Argument::Kind::kReached;
    TUTTI_ASSIGN(reached.memory, arguments[i].view.buffer->device_memory(backend));
    reached.size = arguments[i].view.size;
  }
  return result;
}

backends::Launch vendor_launch(backends::Kernel& kernel,
                               std::span<const backends::Argument> arguments,
                               const LaunchShape& shape, bool local_given) {
  backends::Launch launch;
  launch.kernel = &kernel;
  launch.arguments = arguments;
  launch.dims = shape.dims;
  for (uint32_t d = 0; d < shape.dims; ++d) {
    launch.offset[d] = shape.offset[d];
    launch.global[d] = shape.global[d];
  }
  if (local_given) launch.local = {shape.local[0], shape.local[1], shape.local[2]};
  return launch;
}

void narrow(backends::Launch& launch, const LaunchShape& shape, uint32_t dimension, uint64_t first,
            uint64_t count) {
  launch.offset[dimension] += first * shape.local[dimension];
  launch.global[dimension] = count * shape.local[dimension];
}

}  // namespace tutti::scheduler
