// SPDX-License-Identifier: Apache-2.0
#include "scheduler/run/launch_copies.h"

#include <algorithm>
#include <utility>

#include "scheduler/run/vendor_launch.h"

namespace tutti::scheduler {

const LaunchCopies::Copy* LaunchCopies::find(const LogicalBuffer& buffer) const {
  const auto found = std::find_if(copies_.begin(), copies_.end(),
                                  [&](const Copy& copy) { return copy.buffer.get() == &buffer; });
  return found == copies_.end() ? nullptr : &*found;
}

Status LaunchCopies::add(const Ref<LogicalBuffer>& buffer, uint64_t begin, uint64_t end) {
  const Copy* copy = find(*buffer);
  if (!copy) {
    backends::Backend& backend = backends_.at(backend_);
    TUTTI_ASSIGN(auto memory, buffer->image() ? backend.allocate_image(*buffer->image())
                                              : backend.allocate(buffer->size(), nullptr));
    copies_.push_back({buffer, std::move(memory)});
    copy = &copies_.back();
  }
  TUTTI_TRY(buffer->define(place_bit(kHostPlace), begin, end));
  TUTTI_TRY(buffer->make_valid(kHostPlace, begin, end));
  TUTTI_ASSIGN(const std::byte* host, buffer->host_memory());
  TUTTI_ASSIGN(backends::Queue * queue, backends_.transfer_queue(backend_));
  if (const backends::ImageShape* shape = buffer->image()) {
    TUTTI_ASSIGN(const auto written,
                 queue->write_image(*copy->memory, {{0, 0, 0}, shape->extent}, host,
                                    shape->second_pitch(), shape->slice_pitch, {}));
    return written->wait();
  }
  return queue->write_blocking(*copy->memory, begin, end - begin, host + begin);
}

Result<std::vector<backends::Argument>> LaunchCopies::arguments(const ArgumentSet& arguments) {
  TUTTI_ASSIGN(auto vendor, vendor_arguments(arguments, backend_, {}, nullptr,
                                             !backends_.traits(backend_).sub_buffers));
  for (size_t i = 0; i < arguments.size(); ++i) {
    const ArgumentSlot& slot = arguments[i];
    if (slot.kind != ArgumentSlot::Kind::kBuffer || !slot.view.buffer) continue;
    const Copy* copy = find(*slot.view.buffer);
    if (!copy) continue;
    vendor[i].memory = copy->memory.get();
    if (!slot.image) continue;
    TUTTI_ASSIGN(auto image,
                 backends_.at(backend_).image_over(*copy->memory, slot.view.origin, slot.view.size,
                                                   slot.image->shape()));
    images_.push_back(std::move(image));
    vendor[i].memory = images_.back().get();
  }
  return vendor;
}

Status LaunchCopies::read(const LogicalBuffer& buffer, uint64_t begin,
                          std::span<std::byte> to) const {
  TUTTI_ASSIGN(backends::Queue * queue, backends_.transfer_queue(backend_));
  backends::Memory& memory = *find(buffer)->memory;
  if (const backends::ImageShape* shape = buffer.image()) {
    TUTTI_ASSIGN(const auto read, queue->read_image(memory, {{0, 0, 0}, shape->extent}, to.data(),
                                                    shape->second_pitch(), shape->slice_pitch, {}));
    return read->wait();
  }
  return queue->read_blocking(memory, begin, to.size(), to.data());
}

}  // namespace tutti::scheduler
