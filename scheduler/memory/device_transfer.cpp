// SPDX-License-Identifier: Apache-2.0
#include "scheduler/memory/device_transfer.h"

#include <algorithm>
#include <array>
#include <vector>

#include "scheduler/devices/stage.h"
#include "scheduler/memory/image_boxes.h"
#include "scheduler/memory/image_transfer.h"

namespace tutti::scheduler {
namespace {

// Of memory that no driver pins: what a processor's cache holds. A large block would be new memory
// each time, and take several times as long to get as to copy.
constexpr uint64_t kPlainBlock = 512 << 10;

std::vector<HostBox> boxes_in(const backends::ImageShape& shape, const ByteRange& block,
                              std::byte* memory) {
  std::vector<HostBox> boxes;
  for (const auto& [box, offset] : boxes_of(shape, block.begin, block.end)) {
    boxes.push_back({box, memory + (offset - block.begin)});
  }
  return boxes;
}

}  // namespace

Status move_between(BackendSet& backends, const DeviceCopy& from, const DeviceCopy& to,
                    const backends::ImageShape* image, const ByteRange& range) {
  // Of its own: what comes to that device meanwhile goes the other way.
  TUTTI_ASSIGN(backends::Queue * out, backends.reading_queue(from.backend));
  TUTTI_ASSIGN(backends::Queue * in, backends.transfer_queue(to.backend));
  const auto move = [&](const ByteRange& block, Stage& stage, uint64_t first) -> Status {
    TUTTI_TRY(stage.wait());
    std::byte* const memory = stage.memory(first);
    const TransferTimer timer(backends, from.backend);
    if (image) {
      const auto boxes = boxes_in(*image, block, memory);
      const size_t second = image->second_pitch(), third = image->slice_pitch;
      TUTTI_TRY(move_boxes(*out, *from.shard.memory, false, boxes, second, third));
      TUTTI_TRY(enqueue_boxes(*in, *to.shard.memory, true, boxes, second, third, stage.sent()));
    } else {
      TUTTI_TRY(
          out->read_blocking(*from.shard.memory, from.shard.at(block.begin), block.size(), memory));
      timer.ended(kFromDevice, block.size());
      TUTTI_ASSIGN(auto sent,
                   in->write(*to.shard.memory, to.shard.at(block.begin), block.size(), memory, {}));
      stage.sent().push_back(std::move(sent));
    }
    return in->flush();
  };
  // Rows of an image in one piece, where several fit.
  const uint64_t row = image ? image->second_pitch() : 1;
  const bool pins = backends.traits(from.backend).pins_host_memory ||
                    backends.traits(to.backend).pins_host_memory;
  const uint64_t most = pins ? kTransferBlock : kPlainBlock;
  const uint64_t step = row < most ? most / row * row : most;
  std::array<Stage, 2> stages{Stage(backends, to.backend, kTransferBlock),
                              Stage(backends, to.backend, kTransferBlock)};
  Status status;
  size_t next = 0;
  for (uint64_t at = range.begin; status && at < range.end; next ^= 1) {
    const ByteRange block{at, std::min(at + step, range.end)};
    status = move(block, stages[next], std::min(step, range.size()));
    at = block.end;
  }
  // Also after a failure: the stages are read until then.
  for (Stage& stage : stages) {
    Status ended = stage.wait();
    if (status) status = std::move(ended);
  }
  return status;
}

}  // namespace tutti::scheduler
