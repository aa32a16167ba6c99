// SPDX-License-Identifier: Apache-2.0
#include "backends/process/remote.h"

namespace tutti::backends::process {
namespace {
constexpr size_t kMostStages = 4;  // that nobody uses

DeviceTraits seen_from_here(DeviceTraits traits) {
  leave_out_what_stays_behind(traits);
  return traits;
}
}  // namespace

RemoteDevice::RemoteDevice(SharedArena& shared, std::unique_ptr<Channel> first)
    : arena(shared),
      traits(seen_from_here(first->traits())),
      counters(live::device({traits.index, static_cast<uint32_t>(traits.type), traits.device_name,
                             traits.platform_name, traits.vendor, traits.pci_address})),
      present_(first.get()) {
  const MutexLock lock(mutex_);
  channels_.push_back(std::move(first));
}

void RemoteDevice::replace(std::unique_ptr<Channel> channel) {
  const MutexLock lock(mutex_);
  Channel* const present = channel.get();
  channels_.push_back(std::move(channel));
  present_.store(present, std::memory_order_release);
  renewals_.fetch_add(1, std::memory_order_acq_rel);
}

uint64_t RemoteDevice::pin(Channel& channel, const SharedRange& range) const {
  if (!channel.traits().pins_host_memory) return 0;
  Writer request;
  request.put(range.offset()).put(range.size());
  const auto answer = channel.call("pinning memory", Op::kPin, request);
  // Transfers are slower without.
  return answer ? answer->reader().get<uint64_t>() : 0;
}

Result<RemoteDevice::Stage> RemoteDevice::take_stage() {
  {
    const MutexLock lock(mutex_);
    if (!stages_.empty()) {
      Stage stage = std::move(stages_.back());
      stages_.pop_back();
      return stage;
    }
  }
  Stage stage;
  TUTTI_ASSIGN(stage.range, arena.allocate(2 * kStage));
  stage.channel = &present();
  stage.pinned = pin(*stage.channel, stage.range);
  return stage;
}

void RemoteDevice::give_back(Stage stage) {
  if (stage.channel != &present()) return;
  {
    const MutexLock lock(mutex_);
    if (stages_.size() < kMostStages) {
      stages_.push_back(std::move(stage));
      return;
    }
  }
  stage.channel->drop(ObjectKind::kPinned, stage.pinned);
}

void RemoteDevice::count_to_device(uint64_t bytes) {
  to_device_.fetch_add(bytes, std::memory_order_relaxed);
  if (counters != nullptr) live::add(counters->bytes_to_device, bytes);
}
void RemoteDevice::count_to_host(uint64_t bytes) {
  to_host_.fetch_add(bytes, std::memory_order_relaxed);
  if (counters != nullptr) live::add(counters->bytes_to_host, bytes);
}

Result<uint64_t> Remote::in(Channel& channel) {
  const MutexLock lock(mutex_);
  if (channel_ == &channel) return number_;
  if (!make_) return channel_->gone("using what was lost");
  TUTTI_ASSIGN(number_, make_(channel));
  channel_ = &channel;
  return number_;
}

}  // namespace tutti::backends::process
