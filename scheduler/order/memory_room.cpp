// SPDX-License-Identifier: Apache-2.0
#include "scheduler/order/memory_room.h"

#include <algorithm>

#include "base/log.h"
#include "scheduler/devices/transfer_trace.h"

namespace tutti::scheduler {
namespace {

/// Somebody uses the buffer's memory on the device, and has begun to.
bool uses_memory(const RangeUse& use, uint32_t backend) {
  if (use.late) return use.late_on == backend;
  return !use.command->allocating;
}

}  // namespace

void MemoryRoom::allocate_what_fits(std::span<const BufferUse> uses, uint32_t backend) {
  for (const BufferUse& use : uses) {
    if (allocated({&use, 1}, {&backend, 1})) continue;
    if (!backends_.memory(backend).has_room(use.buffer->size())) return;
    if (!use.buffer->device_memory(backend)) return;  // who needs it will say so
  }
}

Result<bool> MemoryRoom::free_some(const Node& command, uint32_t backend) {
  if (log_.any_idle()) others_.end_idle();
  const auto owners = backends_.memory(backend).owners();
  Ref<LogicalBuffer> oldest;
  uint64_t age = UINT64_MAX;
  std::vector<Ref<Node>> users;  // of the oldest: its memory is free when they have ended
  auto eviction = make_ref<Node>(owner_, 0, MarkerWork{});
  {
    MutexLock lock(log_.mutex());
    for (const auto& entry : owners) {
      auto* const owner = static_cast<LogicalBuffer*>(entry.get());  // nothing else owns memory
      const auto& uses = owner->uses;
      const bool own = std::any_of(uses.begin(), uses.end(),
                                   [&](const RangeUse& use) { return use.command == &command; });
      const bool busy = std::any_of(uses.begin(), uses.end(),
                                    [&](const RangeUse& use) { return uses_memory(use, backend); });
      // Any that is free goes before those that are in use.
      const uint64_t rank = owner->last_use + (busy ? UINT64_MAX / 2 : 0);
      if (own || rank >= age) continue;
      oldest = Ref<LogicalBuffer>(owner);
      age = rank;
      users = users_of(*owner, backend);
    }
    if (!oldest) users = others_.with_own_memory();
    if (oldest && users.empty()) {
      const BufferUse all{oldest.get(), 0, oldest->size(), true};
      eviction->state = Node::State::kRunning;
      log_.hold(*eviction, {&all, 1});
    }
  }
  for (const auto& user : users) others_.wait_for_data(user);
  if (!users.empty()) return true;
  if (!oldest) return false;
  tutti::log(LogLevel::kInfo, "the memory of {} is full: {} bytes go back to the host",
             backends_.traits(backend).device_name, oldest->size());
  const TransferCause cause("the device's memory is full", 0);
  const Status evicted = oldest->evict(backend);
  log_.finish(eviction, code_of(evicted));
  if (!evicted) return tl::unexpected<Error>(evicted.error());
  return true;
}

std::vector<Ref<Node>> MemoryRoom::users_of(const LogicalBuffer& buffer, uint32_t backend) const {
  log_.mutex().assert_held();
  std::vector<Ref<Node>> users;
  for (const RangeUse& use : buffer.uses) {
    if (uses_memory(use, backend)) users.emplace_back(use.command);
  }
  return users;
}

std::vector<Ref<Node>> MemoryRoom::let_go_of_unused(uint32_t backend) {
  MutexLock room(mutex_);
  backends_.memory(backend).drop_kept();
  std::vector<Ref<Node>> users;
  for (const auto& entry : backends_.memory(backend).owners()) {
    auto& buffer = static_cast<LogicalBuffer&>(*entry);
    const auto eviction = make_ref<Node>(owner_, 0, MarkerWork{});
    {
      MutexLock lock(log_.mutex());
      auto busy = users_of(buffer, backend);
      if (!busy.empty()) {
        users.insert(users.end(), busy.begin(), busy.end());
        continue;
      }
      const BufferUse all{&buffer, 0, buffer.size(), true};
      eviction->state = Node::State::kRunning;
      log_.hold(*eviction, {&all, 1});
    }
    // Commands may have ended well there after it was lost.
    log_.note_lost(buffer, buffer.lose(backend), CL_DEVICE_NOT_AVAILABLE);
    buffer.forget(backend);
    log_.finish(eviction, CL_COMPLETE);
  }
  return users;
}

bool MemoryRoom::let_go(uint32_t backend) {
  constexpr int kAttempts = 3;
  for (int i = 1;; ++i) {
    if (log_.any_idle()) others_.end_idle();
    const auto users = let_go_of_unused(backend);
    if (users.empty()) return true;
    if (i == kAttempts) return false;
    for (const auto& user : users) others_.wait_for_data(user);
  }
}

Status MemoryRoom::allocate_one(const Node& command, LogicalBuffer& buffer, uint32_t backend) {
  for (bool more = true;;) {
    if (!more || backends_.memory(backend).has_room(buffer.size())) {
      const auto memory = buffer.device_memory(backend);
      if (memory) return {};
      if (!more) return tl::unexpected<Error>(memory.error());
    }
    TUTTI_ASSIGN(more, free_some(command, backend));
  }
}

Status MemoryRoom::allocate(Node& command, std::span<const BufferUse> uses,
                            std::span<const uint32_t> devices) {
  if (!command.allocating) return {};
  Status status;
  MutexLock room(mutex_);
  for (const BufferUse& use : uses) {
    for (const uint32_t backend : devices) {
      if (!status || allocated({&use, 1}, {&backend, 1})) continue;
      status = allocate_one(command, *use.buffer, backend);
    }
  }
  MutexLock lock(log_.mutex());
  command.allocating = false;
  return status;
}

}  // namespace tutti::scheduler
