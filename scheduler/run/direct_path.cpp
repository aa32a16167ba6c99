// SPDX-License-Identifier: Apache-2.0
#include "scheduler/run/direct_path.h"

#include <algorithm>

#include "scheduler/memory/image_boxes.h"
#include "scheduler/observe/run_trace.h"
#include "scheduler/run/image_rect.h"

namespace tutti::scheduler {

bool DirectPath::fits(const LogicalBuffer& buffer, uint32_t backend) const {
  return buffer.size() <= backends_.traits(backend).max_allocation;
}

bool DirectPath::valid(const BufferView& view, uint64_t offset, uint64_t size,
                       uint32_t backend) const {
  const uint64_t begin = view.origin + offset;
  return fits(*view.buffer, backend) &&
         view.buffer->valid_at(view.buffer->place_on(backend), begin, begin + size);
}

bool DirectPath::reachable(const BufferUse& use, uint32_t backend) const {
  if (!fits(*use.buffer, backend)) return false;
  const Place place = use.buffer->place_on(backend);
  if (!use.needed || use.buffer->valid_at(place, use.begin, use.end)) return true;
  if (place == kHostPlace) return false;
  for (const auto& segment : use.buffer->segments(use.begin, use.end)) {
    if (segment.places != 0 && !(segment.places & (place_bit(place) | place_bit(kHostPlace)))) {
      return false;
    }
  }
  return true;
}

bool DirectPath::possible(std::span<const BufferUse> uses, uint32_t backend) const {
  return std::all_of(uses.begin(), uses.end(),
                     [&](const BufferUse& use) { return reachable(use, backend); });
}

bool DirectPath::possible(const Work& work, uint32_t backend) const {
  if (const auto* read = std::get_if<ReadWork>(&work)) {
    return valid(read->from, read->offset, read->size, backend);
  }
  if (const auto* rect = std::get_if<RectWork>(&work)) {
    const backends::ImageShape* shape = rect->view.buffer->image();
    if (!shape) return false;
    const bool all = covers(box_of(rect->buffer_rect, rect->region, *shape), *shape);
    return rect->write && all ? fits(*rect->view.buffer, backend)
                              : valid(rect->view, 0, rect->view.size, backend);
  }
  if (const auto* write = std::get_if<WriteWork>(&work)) return fits(*write->to.buffer, backend);
  if (const auto* fill = std::get_if<FillWork>(&work)) return fits(*fill->to.buffer, backend);
  if (const auto* copy = std::get_if<CopyWork>(&work)) {
    return valid(copy->from, copy->from_offset, copy->size, backend) &&
           fits(*copy->to.buffer, backend);
  }
  return false;
}

bool DirectPath::only_order(const Work& work) const {
  if (std::holds_alternative<MarkerWork>(work)) return true;
  if (const auto* map = std::get_if<MapWork>(&work)) {
    const uint64_t begin = map->view.origin + map->offset;
    const uint64_t end = begin + map->size;
    return map->discard ? map->view.buffer->valid_only_at(kHostPlace, begin, end)
                        : map->view.buffer->valid_at(kHostPlace, begin, end);
  }
  if (const auto* unmap = std::get_if<UnmapWork>(&work)) {
    const uint64_t begin = unmap->view.origin + unmap->offset;
    return !unmap->written ||
           unmap->view.buffer->valid_only_at(kHostPlace, begin, begin + unmap->size);
  }
  return false;
}

bool DirectPath::sends(std::span<const BufferUse> uses, uint32_t backend) const {
  return std::any_of(uses.begin(), uses.end(), [&](const BufferUse& use) {
    return use.needed && !use.buffer->valid_at(use.buffer->place_on(backend), use.begin, use.end);
  });
}

struct DirectPath::Submitter {
  BackendSet& backends;
  backends::Queue& queue;
  uint32_t backend;
  backends::WaitList wait;
  bool observed = true;
  std::vector<SentRange>* sent = nullptr;
  CommandTrace* trace = nullptr;
  std::span<const BufferUse> uses{};  // of kernels
  VendorLaunch* made = nullptr;       // gets what the vendor gets
  backends::CompletionPtr newest{};   // whatever was submitted last

  void written_now(const BufferView& view, uint64_t begin, uint64_t end) const {
    view.buffer->set_exclusive(view.buffer->place_on(backend), begin, end);
  }

  void note_sent(uint64_t bytes, const KernelWork& work, size_t argument) const {
    if (!trace) return;
    const auto& arguments = work.kernel->summary().arguments;
    trace->sent.push_back(
        {newest, bytes, argument < arguments.size() ? arguments[argument].name : std::string()});
  }

  Status send_missing(const BufferUse& use, const KernelWork& work) {
    LogicalBuffer& buffer = *use.buffer;
    const Place place = buffer.place_on(backend);
    note_used({&use, 1}, backend);
    if (!use.needed || buffer.valid_at(place, use.begin, use.end)) return {};
    TUTTI_ASSIGN(std::byte * host, buffer.host_memory());
    TUTTI_ASSIGN(const Shard there, buffer.shard(backend, use.begin, use.end));
    for (const auto& segment : buffer.segments(use.begin, use.end)) {
      if (segment.places == 0 || segment.places & place_bit(place)) continue;
      if (sent) sent->push_back({&buffer, segment.begin, segment.end});
      // The queue is in-order: the kernel comes after. The host's copy stays as it is until a later
      // command, which waits for this one, changes it.
      if (const backends::ImageShape* shape = buffer.image()) {
        for (const auto& [box, offset] : boxes_of(*shape, segment.begin, segment.end)) {
          TUTTI_ASSIGN(newest, queue.write_image(*there.memory, box, host + offset,
                                                 shape->second_pitch(), shape->slice_pitch, wait));
        }
      } else {
        TUTTI_ASSIGN(
            newest, queue.write(*there.memory, there.at(segment.begin), segment.end - segment.begin,
                                host + segment.begin, {wait, trace != nullptr}));
      }
      if (newest) note_sent(segment.end - segment.begin, work, use.argument);
      buffer.add_copy(place, segment.begin, segment.end);
    }
    return {};
  }

  Result<backends::CompletionPtr> operator()(const KernelWork& work) {
    for (const BufferUse& use : uses) TUTTI_TRY(send_missing(use, work));
    VendorLaunch own;
    VendorLaunch& vendor = made ? *made : own;
    TUTTI_TRY(prepare_whole(work, backends.traits(backend), backend, vendor));
    vendor.queue = &queue;
    vendor.launch.observed = observed;
    const Computing computing(backends, backend);  // a synchronous device does so now
    TUTTI_ASSIGN(auto completion, queue.launch(vendor.launch, wait));
    note_changes(uses, backend);
    return completion;
  }
  Result<backends::CompletionPtr> operator()(const ReadWork& work) {
    const uint64_t begin = work.from.origin + work.offset;
    TUTTI_ASSIGN(const Shard there, work.from.buffer->shard(backend, begin, begin + work.size));
    work.from.buffer->note_read(work.size);
    return queue.read(*there.memory, there.at(begin), work.size, work.to, {wait, observed});
  }
  Result<backends::CompletionPtr> operator()(const RectWork& work) {
    LogicalBuffer& buffer = *work.view.buffer;
    TUTTI_ASSIGN(backends::Memory * memory, buffer.device_memory(backend));
    const backends::ImageBox box = box_of(work.buffer_rect, work.region, *buffer.image());
    const size_t second = work.host_rect.row_pitch, third = work.host_rect.slice_pitch;
    if (!work.write) {
      buffer.note_read(work.bytes());
      return queue.read_image(*memory, box, first_byte(work), second, third, wait);
    }
    TUTTI_ASSIGN(auto completion,
                 queue.write_image(*memory, box, first_byte(work), second, third, wait));
    written_now(work.view, 0, buffer.size());
    return completion;
  }
  Result<backends::CompletionPtr> operator()(const WriteWork& work) {
    const uint64_t begin = work.to.origin + work.offset;
    TUTTI_ASSIGN(const Shard there, work.to.buffer->shard(backend, begin, begin + work.size));
    TUTTI_ASSIGN(auto completion, queue.write(*there.memory, there.at(begin), work.size, work.from,
                                              {wait, observed}));
    written_now(work.to, begin, begin + work.size);
    return completion;
  }
  Result<backends::CompletionPtr> operator()(const FillWork& work) {
    const uint64_t begin = work.to.origin + work.offset;
    TUTTI_ASSIGN(const Shard there, work.to.buffer->shard(backend, begin, begin + work.size));
    const auto pattern = std::span(work.pattern).first(work.pattern_size);
    TUTTI_ASSIGN(auto completion,
                 queue.fill(*there.memory, there.at(begin), work.size, pattern, {wait, observed}));
    written_now(work.to, begin, begin + work.size);
    return completion;
  }
  Result<backends::CompletionPtr> operator()(const CopyWork& work) {
    const uint64_t source = work.from.origin + work.from_offset;
    const uint64_t begin = work.to.origin + work.to_offset;
    TUTTI_ASSIGN(const Shard from, work.from.buffer->shard(backend, source, source + work.size));
    TUTTI_ASSIGN(const Shard to, work.to.buffer->shard(backend, begin, begin + work.size));
    TUTTI_ASSIGN(auto completion, queue.copy(*from.memory, from.at(source), *to.memory,
                                             to.at(begin), work.size, {wait, observed}));
    written_now(work.to, begin, begin + work.size);
    return completion;
  }
  Result<backends::CompletionPtr> operator()(const MarkerWork&) {
    return queue.mark(wait, observed);
  }
  template <typename Other>
  Result<backends::CompletionPtr> operator()(const Other&) {
    return fail(CL_INVALID_OPERATION, "not a command of the direct path");
  }
};

Result<backends::CompletionPtr> DirectPath::note(Result<backends::CompletionPtr> submitted,
                                                 Submitter& submitter, Stream& stream,
                                                 const DeviceQueues::Turn& turn) {
  if (submitted) submitter.newest = *submitted;
  // What was sent ahead must not come after what others will write there.
  if (!submitted && submitter.newest) static_cast<void>(submitter.newest->wait());
  if (submitter.newest)
    stream.queues.submitted(submitter.backend, turn, std::move(submitter.newest));
  return submitted;
}

Result<backends::CompletionPtr> DirectPath::submit(const Work& work, Stream& stream,
                                                   uint32_t backend, backends::WaitList wait,
                                                   Wanted wanted) {
  TUTTI_ASSIGN(const DeviceQueues::Turn turn, stream.queues.next_turn(backend, wanted.times));
  std::vector<backends::CompletionPtr> longer;
  if (turn.after) {
    longer.assign(wait.begin(), wait.end());
    longer.push_back(turn.after);
    wait = longer;
  }
  Submitter submitter{backends_,   *turn.queue,  backend,    wait, wanted.times || wanted.own_end,
                      wanted.sent, wanted.trace, wanted.uses};
  return note(std::visit(submitter, work), submitter, stream, turn);
}

Result<backends::CompletionPtr> DirectPath::submit(const KernelWork& work, Stream& stream,
                                                   uint32_t backend,
                                                   std::span<const BufferUse> uses, bool observed,
                                                   VendorLaunch& made) {
  TUTTI_ASSIGN(const DeviceQueues::Turn turn, stream.queues.next_turn(backend, false));
  Submitter submitter{backends_, *turn.queue, backend, {}, observed, nullptr, nullptr, uses, &made};
  if (turn.after) submitter.wait = {&turn.after, 1};
  auto submitted = submitter(work);
  made.launch.observed = false;  // the next one need not be
  return note(std::move(submitted), submitter, stream, turn);
}

Status DirectPath::write_blocking(const WriteWork& work, Stream& stream, uint32_t backend) {
  TUTTI_ASSIGN(const DeviceQueues::Turn turn, stream.queues.next_turn(backend, false));
  if (turn.after) TUTTI_TRY(turn.after->wait());
  LogicalBuffer& buffer = *work.to.buffer;
  const uint64_t begin = work.to.origin + work.offset;
  TUTTI_ASSIGN(const Shard there, buffer.shard(backend, begin, begin + work.size));
  TUTTI_TRY(turn.queue->write_blocking(*there.memory, there.at(begin), work.size, work.from));
  buffer.set_exclusive(buffer.place_on(backend), begin, begin + work.size);
  return {};
}

}  // namespace tutti::scheduler
