// SPDX-License-Identifier: Apache-2.0
#include "scheduler/devices/backend_set.h"

#include <algorithm>

#include "base/clock.h"
#include "scheduler/devices/transfer_trace.h"

namespace tutti::scheduler {
namespace {

// What parts of devices add to their numbers: apart from those of all real devices, which count
// from 0, and the same in every run (vendors' caches of built programs depend on it).
constexpr uint32_t kPartNumbers = 1000;
constexpr uint64_t kUsableMemory = 95;  // percent of a device's memory
constexpr uint64_t kTelling = 1 << 20;  // bytes: of less, a transfer shows no speed

/// A device as the performance model knows it in every run: equal devices share what is known.
std::string identity_of(const backends::DeviceTraits& traits) {
  return traits.platform_name + " / " + traits.device_name + " (" +
         std::to_string(traits.compute_units) + " units, driver " + traits.driver_version + ")";
}

}  // namespace

size_t primary_of(std::span<const backends::DeviceTraits* const> devices,
                  std::optional<uint32_t> preferred) {
  size_t best = 0;
  for (size_t i = 0; i < devices.size(); ++i) {
    // A part of a device is the device for this.
    if (preferred && devices[i]->index == *preferred) return i;
    const bool here = !devices[i]->came_later, best_here = !devices[best]->came_later;
    const bool faster = devices[i]->nominal_gflops > devices[best]->nominal_gflops;
    if (here == best_here ? faster : here) best = i;
  }
  return best;
}

BackendSet::BackendSet(std::vector<std::unique_ptr<backends::Backend>> backends,
                       uint64_t memory_limit, std::optional<uint32_t> preferred)
    : real_count_(static_cast<uint32_t>(std::min<size_t>(backends.size(), kMostBackends))),
      memory_limit_(memory_limit),
      preferred_(preferred),
      count_(real_count_) {
  std::move(backends.begin(), backends.begin() + real_count_, backends_.begin());
  // One in a process of its own begins anew, with which nobody else has to do.
  if (real_count_ == 1 && !traits(0).own_process) health_.set_alone();
  std::vector<uint32_t> in_host;
  for (uint32_t i = 0; i < real_count_; ++i) {
    model_.set_device(i, identity_of(traits(i)));
    health_.set_device(i, traits(i).device_name, traits(i).own_process);
    if (traits(i).came_later) health_.begin_lost(i);
    others_.add_device(i, traits(i));
    limit_memory(i);
    memory_apart_ |= !traits(i).shares_host_memory;
    all_synchronous_ &= traits(i).synchronous && traits(i).shares_host_memory;
    if (traits(i).shares_host_memory) in_host.push_back(i);
  }
  if (in_host.size() > 1) model_.set_neighbours(std::move(in_host));
}

uint32_t BackendSet::primary(BackendMask backends) const {
  std::array<const backends::DeviceTraits*, kMostBackends> devices;
  std::array<uint32_t, kMostBackends> indices;
  size_t count = 0;
  for (BackendMask rest = backends; rest != 0; rest &= rest - 1) {
    indices[count] = static_cast<uint32_t>(std::countr_zero(rest));
    devices[count] = &traits(indices[count]);
    ++count;
  }
  return indices[primary_of(std::span(devices).first(count), preferred_)];
}

Result<std::vector<cl_image_format>> BackendSet::image_formats(uint32_t backend,
                                                               cl_mem_flags access,
                                                               cl_mem_object_type type) {
  const std::tuple key(backend, access, type);
  {
    const MutexLock lock(mutex_);
    if (const auto known = image_formats_.find(key); known != image_formats_.end()) {
      return known->second;
    }
  }
  auto formats = at(backend).image_formats(access, type);
  if (!formats) formats = at(backend).image_formats(access, type);
  if (!formats) return formats;
  const MutexLock lock(mutex_);
  return image_formats_.emplace(key, std::move(*formats)).first->second;
}

BackendMask BackendSet::takers_of(const backends::ImageShape& shape) {
  BackendMask takers = ~real_devices();
  for (uint32_t i = 0; i < real_count_; ++i) {
    if (!backends::takes_extent(traits(i), shape)) continue;
    const auto formats = image_formats(i, shape.access, shape.type);
    // One that does not answer, or knows no format at all, is tried where it is needed.
    const auto same = [&shape](const cl_image_format& format) {
      return backends::same_format(format, shape.format);
    };
    if (!formats || formats->empty() || std::any_of(formats->begin(), formats->end(), same))
      takers |= backend_bit(i);
  }
  return takers;
}

TransferTimer::TransferTimer(BackendSet& backends, uint32_t backend)
    : backends_(backends),
      backend_(backend),
      serial_(backends.traits(backend).serial),
      kernels_begun_(backends.activity(backend).begun),
      alone_(backends.activity(backend).computing == 0),
      began_ns_(now_ns()) {}

void TransferTimer::ended(uint64_t direction, uint64_t bytes, uint64_t rows) const {
  if (bytes < kTelling) return;
  double seconds = seconds_between(began_ns_, now_ns());
  // What the way there takes is no matter of size.
  seconds = std::max(seconds - backends_.traits(backend_).link.round_trip, seconds / 4);
  if (serial_ && !(alone_ && backends_.activity(backend_).begun == kernels_begun_)) return;
  backends_.model().add(
      direction, backend_, transfer_size(bytes, rows), seconds,
      direction == kToDevice ? "transfers to the device" : "transfers to the host");
}

void BackendSet::note_whole(uint64_t kernel, uint32_t backend, uint64_t items, double seconds,
                            const std::string& name) {
  const auto part = part_of_device(kernel, backend);
  if (part) model_.add_whole(kernel, backend, items, seconds * *part, name);
}

std::optional<double> BackendSet::part_of_device(uint64_t kernel, uint32_t backend) {
  const uint32_t beside = others_.beside(backend, now_ns());
  if (beside == 0) return 1;
  if (!model_.fit(kernel, backend).empty()) return std::nullopt;
  return 1.0 / (1 + beside);
}

void BackendSet::note_write(uint32_t backend, uint64_t bytes, uint64_t began_ns) {
  if (bytes < kTelling) return;
  Link& link = links_[backend];
  const double rate = static_cast<double>(bytes) / seconds_between(began_ns, now_ns());
  double best = link.best.load(std::memory_order_relaxed);
  while (rate > best && !link.best.compare_exchange_weak(best, rate, std::memory_order_relaxed)) {
  }
  link.writes.fetch_add(1, std::memory_order_relaxed);
}

bool BackendSet::slow_link(uint32_t backend) const {
  if (traits(backend).is_far()) return true;
  constexpr uint32_t kEnough = 3;  // writes
  constexpr double kSlow = 0.25;
  const auto rate = [this](uint32_t i) {
    const bool known = links_[i].writes.load(std::memory_order_relaxed) >= kEnough;
    return known ? links_[i].best.load(std::memory_order_relaxed) : 0;
  };
  double fastest = 0;
  for (uint32_t i = 0; i < real_count_; ++i) fastest = std::max(fastest, rate(i));
  const double own = rate(backend);
  return own > 0 && own < kSlow * fastest;
}

Status BackendSet::try_out(uint32_t backend, bool anew) {
  if (anew) TUTTI_TRY(at(backend).renew());
  return try_device(at(backend));
}

void BackendSet::limit_memory(uint32_t backend) {
  // Programs, queues and local memory need some of it, too.
  memories_[backend].set_capacity(
      std::min(memory_limit_, traits(backend).global_memory / 100 * kUsableMemory));
  memories_[backend].history().set_device(device_process(backend, traits(backend)),
                                          traits(backend).index);
}

Result<backends::Queue*> BackendSet::transfer_queue(uint32_t backend) {
  return own_queue(transfer_queues_, TransferKind::kUsual, backend);
}

Result<backends::Queue*> BackendSet::reading_queue(uint32_t backend) {
  return own_queue(reading_queues_, TransferKind::kEarlyRead, backend);
}

Result<backends::Queue*> BackendSet::own_queue(Queues& queues, TransferKind kind,
                                               uint32_t backend) {
  {
    MutexLock lock(mutex_);
    if (queues[backend]) return queues[backend].get();
  }
  // Made once per device and process, with no lock held: of two threads that need it first, one
  // makes it in vain, and uses the other's.
  TUTTI_ASSIGN(auto made, backends_[backend]->create_queue({}));
  made = traced_transfers(std::move(made), backend, traits(backend), kind);
  MutexLock lock(mutex_);
  if (!queues[backend]) queues[backend] = std::move(made);
  return queues[backend].get();
}

Result<std::vector<uint32_t>> BackendSet::parts(uint32_t backend, std::span<const uint32_t> units) {
  MutexLock lock(partition_mutex_);
  const auto indices = [&units](uint32_t first) {
    std::vector<uint32_t> list;
    for (uint32_t i = 0; i < units.size(); ++i) list.push_back(first + i);
    return list;
  };
  for (const Partition& made : partitions_) {
    if (made.whole == backend && made.units.size() >= units.size() &&
        std::equal(units.begin(), units.end(), made.units.begin())) {
      return indices(made.first);
    }
  }
  const uint32_t first = count();
  if (units.size() > kMostBackends - first) {
    return fail(CL_DEVICE_PARTITION_FAILED, "too many different parts of devices in one process");
  }
  TUTTI_ASSIGN(auto made, backends_[backend]->divide(units, kPartNumbers + first));
  const uint32_t all = add(std::move(made));
  partitions_.push_back({backend, {units.begin(), units.end()}, first});
  count_.store(all, std::memory_order_release);
  return indices(first);
}

uint32_t BackendSet::add(std::vector<std::unique_ptr<backends::Backend>> made) {
  uint32_t next = count();
  for (auto& backend : made) {
    backends_[next] = std::move(backend);
    model_.set_device(next, identity_of(traits(next)));
    health_.set_device(next, traits(next).device_name, traits(next).own_process);
    limit_memory(next);
    ++next;
  }
  return next;
}

Result<BackendLeasePtr> BackendSet::lease(uint32_t backend,
                                          const backends::ContextProperties& properties) {
  MutexLock lock(partition_mutex_);
  for (Lease& free : leases_) {
    if (free.taken || free.whole != backend) continue;
    TUTTI_TRY(at(free.backend).change_context(properties));
    auto lease = std::make_shared<BackendLease>(*this, free.backend);
    free.taken = true;
    return lease;
  }
  const uint32_t next = count();
  if (next == kMostBackends) {
    return fail(CL_OUT_OF_RESOURCES, "too many contexts that share with OpenGL in one process");
  }
  std::vector<std::unique_ptr<backends::Backend>> made(1);
  TUTTI_ASSIGN(made[0], at(backend).in_context(properties, kPartNumbers + next));
  const uint32_t all = add(std::move(made));
  leases_.push_back({backend, next});
  count_.store(all, std::memory_order_release);
  auto lease = std::make_shared<BackendLease>(*this, next);
  leases_.back().taken = true;
  return lease;
}

void BackendSet::end_lease(uint32_t backend) {
  {
    std::unique_ptr<backends::Queue> transfers, reads;  // let go of with no lock held
    const MutexLock lock(mutex_);
    transfers = std::move(transfer_queues_[backend]);
    reads = std::move(reading_queues_[backend]);
  }
  memory(backend).drop_kept();
  static_cast<void>(at(backend).change_context({}));  // where it cannot, nobody uses it either
  const MutexLock lock(partition_mutex_);
  for (Lease& lease : leases_) {
    if (lease.backend == backend) lease.taken = false;
  }
}

BackendLease::~BackendLease() { backends_.end_lease(backend_); }

}  // namespace tutti::scheduler
