// SPDX-License-Identifier: Apache-2.0
#include "scheduler/run/vendor_launch.h"

#include <algorithm>

#include "scheduler/access/local_size.h"

namespace tutti::scheduler {
namespace {

/// The memory that an argument leads into is all that there is, which begins so many bytes behind
/// what the argument shows, or before it (modulo 2^64).
Status set_whole(backends::Argument& argument, const Shard& there, uint64_t behind, size_t index,
                 ShardArgument* shards) {
  argument.memory = there.memory;
  argument.origin = 0;
  argument.size = there.memory->size();
  if (shards ? shards->set(index, behind) : behind == 0) return {};
  return fail(CL_INVALID_OPERATION, "the driver takes no part of a buffer as an argument");
}

/// The memory that an argument leads into.
Status set_memory(backends::Argument& argument, const BufferView& view, uint32_t backend,
                  size_t index, ShardArgument* shards, bool whole_buffers) {
  const uint64_t end = view.origin + view.size;
  const ByteRange there = view.buffer->shard_range(backend);
  const bool made_now = !view.buffer->has_memory(backend) && view.buffer->takes_no_memory(backend);
  if (!shards || made_now || (there.begin <= view.origin && end <= there.end)) {
    TUTTI_ASSIGN(const Shard shard, view.buffer->shard(backend, view.origin, end));
    if (whole_buffers) {
      return set_whole(argument, shard, shard.range.begin - view.origin, index, shards);
    }
    argument.memory = shard.memory;
    argument.origin = shard.at(view.origin);
    argument.size = view.size;
    return {};
  }
  if (there.empty()) {
    return fail(CL_MEM_OBJECT_ALLOCATION_FAILURE, "the device has no part of a buffer");
  }
  TUTTI_ASSIGN(const Shard shard, view.buffer->shard(backend, there.begin, there.end));
  const ByteRange shown{std::max(view.origin, there.begin), std::min(end, there.end)};
  argument.memory = shard.memory;
  argument.origin = 0;
  argument.size = there.size();
  if (shown.empty()) return {};  // nothing of it is touched: any memory will do
  if (whole_buffers) return set_whole(argument, shard, there.begin - view.origin, index, shards);
  argument.origin = shard.at(shown.begin);
  argument.size = shown.size();
  if (shards->set(index, shown.begin - view.origin)) return {};
  return fail(CL_INVALID_KERNEL_ARGS, "an argument that is not shifted");
}

}  // namespace

Result<std::vector<backends::Argument>> vendor_arguments(const ArgumentSet& arguments,
                                                         uint32_t backend,
                                                         std::span<const std::byte> hidden,
                                                         ShardArgument* shards, bool whole_buffers,
                                                         std::span<const std::byte> panels) {
  size_t count = arguments.size();
  while (count > 0 && arguments[count - 1].kind == ArgumentSlot::Kind::kReached) --count;
  std::vector<backends::Argument> result(count + (hidden.empty() ? 0 : 1) + (shards ? 1 : 0));
  result.reserve(result.size() + 1);
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
          TUTTI_TRY(set_memory(result[i], slot.view, backend, i, shards, whole_buffers));
        }
        break;
      case ArgumentSlot::Kind::kReached:
        return fail(CL_INVALID_KERNEL_ARGS, "what is no argument stands among them");
    }
  }
  if (!hidden.empty()) result[count].bytes = hidden;
  if (shards) result.back().bytes = shards->bytes();
  if (!panels.empty()) result.emplace_back().bytes = panels;
  for (size_t i = count; i < arguments.size(); ++i) {
    backends::Argument& reached = result.emplace_back();
    reached.kind = backends::Argument::Kind::kReached;
    TUTTI_ASSIGN(reached.memory, arguments[i].view.buffer->device_memory(backend));
    reached.size = arguments[i].view.size;
  }
  return result;
}

bool shifts_pointers(const ArgumentSet& arguments, const backends::DeviceTraits& device) {
  return !device.sub_buffers &&
         std::any_of(arguments.begin(), arguments.end(), [](const ArgumentSlot& slot) {
           return slot.kind == ArgumentSlot::Kind::kBuffer && !slot.image && slot.view.buffer &&
                  slot.view.origin > 0;
         });
}

Result<backends::Kernel*> shard_variant(LaunchableKernel& kernel, uint32_t backend) {
  if (kernel.shard_arguments() != 0) return kernel.vendor_kernel(backend, KernelVariant::kShards);
  return fail(CL_INVALID_OPERATION, "the kernel has no variant with shifted pointers");
}

void describe_launch(HiddenArgument& hidden, const LaunchShape& shape) {
  for (uint32_t d = 0; d < 3; ++d) {
    hidden.set_launch(d, shape.groups(d), shape.global[d], shape.offset[d]);
  }
  hidden.set_dimensions(shape.dims);
}

Status prepare_whole(const KernelWork& work, const backends::DeviceTraits& device, uint32_t backend,
                     VendorLaunch& made) {
  if (!shifts_pointers(*work.arguments, device)) {
    TUTTI_ASSIGN(backends::Kernel * kernel,
                 work.kernel->vendor_kernel(backend, KernelVariant::kUntouched));
    TUTTI_ASSIGN(made.arguments,
                 vendor_arguments(*work.arguments, backend, {}, nullptr, !device.sub_buffers));
    made.launch = vendor_launch(*kernel, made.arguments, work.shape, work.local_given);
    return {};
  }
  TUTTI_ASSIGN(backends::Kernel * kernel, shard_variant(*work.kernel, backend));
  made.added = std::make_unique<VendorLaunch::Added>();
  made.added->shards = ShardArgument(work.kernel->shard_arguments());
  LaunchShape shape = work.shape;
  std::span<const std::byte> hidden;
  const bool rewritten = work.kernel->summary().needs_rewrite;
  if (rewritten) {
    // It is told how many groups there are.
    if (!work.local_given) {
      choose_local(shape, std::min(device.max_work_group, work.kernel->most_in_group(backend)));
    }
    describe_launch(made.added->hidden, shape);
    hidden = made.added->hidden.bytes();
  }
  TUTTI_ASSIGN(made.arguments, vendor_arguments(*work.arguments, backend, hidden,
                                                &made.added->shards, !device.sub_buffers));
  made.launch = vendor_launch(*kernel, made.arguments, shape, rewritten || work.local_given);
  return {};
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
