// SPDX-License-Identifier: Apache-2.0
#include "scheduler/order/memory_room.h"

#include <algorithm>

#include "base/clock.h"
#include "base/log.h"
#include "scheduler/devices/transfer_trace.h"

namespace tutti::scheduler {
namespace {

/// Lets go of a lock that is held when it is made.
class TUTTI_SCOPED_CAPABILITY AdoptedLock {
 public:
  explicit AdoptedLock(Mutex& mutex) TUTTI_REQUIRES(mutex) : mutex_(mutex) {}
  ~AdoptedLock() TUTTI_RELEASE() { mutex_.unlock(); }
  AdoptedLock(const AdoptedLock&) = delete;
  AdoptedLock& operator=(const AdoptedLock&) = delete;

 private:
  Mutex& mutex_;
};

/// Somebody uses the buffer's memory on the device, and has begun to.
bool uses_memory(const RangeUse& use, uint32_t backend) {
  if (use.late) return use.late_on == backend;
  return !use.command->allocating;
}

}  // namespace

void MemoryRoom::allocate_what_fits(std::span<const BufferUse> uses, uint32_t backend) {
  for (const BufferUse& use : uses) {
    if (allocated({&use, 1}, {&backend, 1})) continue;
    // What has a part of the buffer gets more when nobody uses it (allocate_one).
    if (use.buffer->has_memory(backend)) return;
    if (!backends_.memory(backend).has_room(use.buffer->size())) return;
    if (!use.buffer->device_memory(backend)) return;  // who needs it will say so
  }
}

void MemoryRoom::allocate_at_once(std::span<const BufferUse> uses, uint32_t backend) {
  free_unused(backend, [&] {
    allocate_what_fits(uses, backend);
    return allocated(uses, {&backend, 1});
  });
}

void MemoryRoom::free_at_once(uint32_t backend, uint64_t bytes) {
  free_unused(backend, [&] { return backends_.memory(backend).has_room(bytes); });
}

void MemoryRoom::free_unused(uint32_t backend, const std::function<bool()>& enough) {
  if (enough()) return;
  // Who has the lock may wait for the caller.
  if (!mutex_.try_lock()) return;
  const AdoptedLock lock(mutex_);
  // What is lacking then, who needs it will say.
  while (!enough() && free_some(nullptr, backend).value_or(false)) {
  }
}

Result<bool> MemoryRoom::free_some(const Node* command, uint32_t backend) {
  if (log_.any_idle()) others_.end_idle();
  auto owners = backends_.memory(backend).owners();
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
                                   [&](const RangeUse& use) { return use.command == command; });
      const bool busy = std::any_of(uses.begin(), uses.end(),
                                    [&](const RangeUse& use) { return uses_memory(use, backend); });
      // Any that is free goes before those that are in use.
      const uint64_t rank = owner->last_use + (busy ? UINT64_MAX / 2 : 0);
      if (own || (busy && !command) || rank >= age) continue;
      oldest = Ref<LogicalBuffer>(owner);
      age = rank;
      users = users_of(*owner, backend);
    }
    if (!oldest && command) users = others_.with_own_memory();
    if (oldest && users.empty()) {
      const BufferUse all{oldest.get(), 0, oldest->size(), true};
      eviction->state = Node::State::kRunning;
      log_.hold(*eviction, {&all, 1});
    }
  }
  owners.clear();  // what the application has released goes, also while others are waited for
  for (const auto& user : users) others_.wait_for_data(user);
  if (!users.empty()) return true;
  if (!oldest) return false;
  const uint64_t bytes = oldest->shard_range(backend).size();
  tutti::log(LogLevel::kInfo, "the memory of {} is full: {} bytes go back to the host",
             backends_.traits(backend).device_name, bytes);
  const TransferCause cause("the device's memory is full", 0);
  const uint64_t began_ns = now_ns();
  const Status evicted = oldest->evict(backend);
  log_.finish(eviction, code_of(evicted));
  if (!evicted) return tl::unexpected<Error>(evicted.error());
  backends_.memory(backend).history().evicted(bytes, began_ns);
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

Status MemoryRoom::reshape(LogicalBuffer& buffer, uint32_t backend, const ByteRange& range) {
  for (;;) {
    if (log_.any_idle()) others_.end_idle();
    // To all others it is one more command that uses the buffer, as an eviction is.
    const auto reshaping = make_ref<Node>(owner_, 0, MarkerWork{});
    std::vector<Ref<Node>> users;
    {
      MutexLock lock(log_.mutex());
      users = users_of(buffer, backend);
      if (users.empty()) {
        const BufferUse all{&buffer, 0, buffer.size(), true};
        reshaping->state = Node::State::kRunning;
        log_.hold(*reshaping, {&all, 1});
      }
    }
    for (const auto& user : users) others_.wait_for_data(user);
    if (!users.empty()) continue;
    tutti::log(LogLevel::kDebug, "{} has bytes {} to {} of a buffer of {}",
               backends_.traits(backend).device_name, range.begin, range.end, buffer.size());
    const TransferCause cause("the device has another part of the buffer", 0);
    const uint64_t began_ns = now_ns();
    const Status reshaped = buffer.reshape(backend, range);
    log_.finish(reshaping, code_of(reshaped));
    if (reshaped) backends_.memory(backend).history().reshaped(range.size(), began_ns);
    return reshaped;
  }
}

Status MemoryRoom::shrink(const MemoryNeeds& needs, const MemoryNeed& wanted) {
  for (const MemoryNeed& need : needs) {
    if (!need.part || need.backend != wanted.backend || need.buffer == wanted.buffer ||
        need.buffer->shard_memory(need.backend) <= need.range.size()) {
      continue;
    }
    TUTTI_TRY(reshape(*need.buffer, need.backend, need.range));
  }
  return {};
}

Status MemoryRoom::allocate_one(const Node& command, const MemoryNeeds& needs,
                                const MemoryNeed& need) {
  LogicalBuffer& buffer = *need.buffer;
  ByteRange there = buffer.shard_range(need.backend);
  // What launches in turn use stays together, while there is room for that.
  ByteRange wanted{0, buffer.size()};
  if (need.part) {
    wanted = need.range;
    if (!there.empty()) {
      wanted = {std::min(there.begin, wanted.begin), std::max(there.end, wanted.end)};
    }
  }
  for (bool more = true;; there = buffer.shard_range(need.backend)) {
    if (allocated(need)) return {};  // by others, while somebody was waited for
    if (!more && need.part) {
      wanted = need.range;
      TUTTI_TRY(shrink(needs, need));
    }
    const uint64_t added = wanted.size() - std::min(wanted.size(), there.size());
    DeviceMemory& memory = backends_.memory(need.backend);
    if (!more) memory.insist(added);
    if (!more || memory.has_room(added)) {
      const Status made = need.part || !there.empty()
                              ? reshape(buffer, need.backend, wanted)
                              : buffer.device_memory(need.backend).map([](auto*) {});
      if (made || !more) return made;
    }
    TUTTI_ASSIGN(more, free_some(&command, need.backend));
  }
}

Status MemoryRoom::allocate_all(const Node& command, const MemoryNeeds& needs) {
  for (const MemoryNeed& need : needs) TUTTI_TRY(allocate_one(command, needs, need));
  return {};
}

Status MemoryRoom::allocate(Node& command, const MemoryNeeds& needs, const MemoryNeeds& otherwise) {
  if (!command.allocating) return {};
  MutexLock room(mutex_);
  const Status status = allocate_all(command, needs);
  if (!status) static_cast<void>(allocate_all(command, otherwise));
  MutexLock lock(log_.mutex());
  command.allocating = false;
  return status;
}

}  // namespace tutti::scheduler
