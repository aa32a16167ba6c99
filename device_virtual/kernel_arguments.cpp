// SPDX-License-Identifier: Apache-2.0
#include "device_virtual/kernel_arguments.h"

#include <algorithm>
#include <utility>

#include "base/small_bytes.h"

namespace tutti::device_virtual {

using scheduler::ArgumentSet;
using scheduler::ArgumentSlot;
using scheduler::BufferView;

namespace {

bool same_view(const BufferView& a, const BufferView& b) {
  return a.buffer == b.buffer && a.origin == b.origin && a.size == b.size;
}

}  // namespace

KernelArguments::KernelArguments(size_t count)
    : set_(std::make_shared<ArgumentSet>(count)), owners_(count, nullptr) {}

KernelArguments::KernelArguments(const KernelArguments& other) {
  const MutexLock lock(other.mutex_);
  // A copy, not a share: "Setting arguments on the new kernel object will not affect
  // source_kernel", and the source need not remember that its set is shared.
  set_ = std::make_shared<ArgumentSet>(*other.set_);
  version_.store(set_->version, std::memory_order_relaxed);
  owners_ = other.owners_;
}

ArgumentSlot& KernelArguments::writable(uint32_t index, Retired& retired) {
  if (shared_ && set_.use_count() == 1) {
    // Nobody has it any more, nor can get it: this holds the lock. With one more reference that
    // comes and goes, what others did with theirs has happened before what comes now.
    const auto another = set_;
    shared_ = false;
  }
  if (shared_) {
    retired = std::exchange(set_, std::make_shared<ArgumentSet>(*set_));
    shared_ = false;
  }
  version_.store(++set_->version, std::memory_order_release);
  return (*set_)[index];
}

void KernelArguments::set_bytes(uint32_t index, std::span<const std::byte> value) {
  Retired retired;
  const MutexLock lock(mutex_);
  const ArgumentSlot& old = (*set_)[index];
  const bool same_size = old.kind == ArgumentSlot::Kind::kBytes && old.bytes.size() == value.size();
  // Programs set unchanged arguments again before every launch: that must not cost a copy.
  if (same_size && same_bytes({old.bytes.data(), old.bytes.size()}, value)) return;
  ArgumentSlot& slot = writable(index, retired);
  if (!same_size) slot.bytes.resize(value.size(), boost::container::default_init);
  copy_bytes({slot.bytes.data(), slot.bytes.size()}, value);
  slot.kind = ArgumentSlot::Kind::kBytes;
}

void KernelArguments::set_local(uint32_t index, uint64_t size) {
  Retired retired;
  const MutexLock lock(mutex_);
  const ArgumentSlot& old = (*set_)[index];
  if (old.kind == ArgumentSlot::Kind::kLocal && old.local_size == size) return;
  ArgumentSlot& slot = writable(index, retired);
  slot.kind = ArgumentSlot::Kind::kLocal;
  slot.local_size = size;
}

void KernelArguments::set_sampler(uint32_t index, const backends::SamplerState& sampler) {
  Retired retired;
  const MutexLock lock(mutex_);
  const ArgumentSlot& old = (*set_)[index];
  if (old.kind == ArgumentSlot::Kind::kSampler && old.sampler == sampler) return;
  ArgumentSlot& slot = writable(index, retired);
  slot.kind = ArgumentSlot::Kind::kSampler;
  slot.sampler = sampler;
}

void KernelArguments::set_queue(uint32_t index, std::shared_ptr<backends::DeviceQueue> queue,
                                uint32_t home) {
  Retired retired;
  const MutexLock lock(mutex_);
  const ArgumentSlot& old = (*set_)[index];
  if (old.kind == ArgumentSlot::Kind::kQueue && old.queue == queue) return;
  ArgumentSlot& slot = writable(index, retired);
  slot.kind = ArgumentSlot::Kind::kQueue;
  slot.queue.swap(queue);  // what was there ends after the lock
  slot.home = home;
}

bool KernelArguments::set_buffer(uint32_t index, const void* owner, const BufferView& view,
                                 const Ref<scheduler::BufferImage>& image) {
  Retired retired;
  BufferView replaced;
  Ref<scheduler::BufferImage> replaced_image;
  const MutexLock lock(mutex_);
  const ArgumentSlot& old = (*set_)[index];
  if (old.kind == ArgumentSlot::Kind::kBuffer && owners_[index] == owner &&
      same_view(old.view, view)) {
    return false;
  }
  ArgumentSlot& slot = writable(index, retired);
  replaced = std::exchange(slot.view, view);
  replaced_image = std::exchange(slot.image, image);
  slot.kind = ArgumentSlot::Kind::kBuffer;
  owners_[index] = owner;
  return owner != nullptr;
}

void KernelArguments::forget(const void* owner) {
  Retired retired;
  std::vector<BufferView> dropped;
  std::vector<Ref<scheduler::BufferImage>> dropped_images;
  const MutexLock lock(mutex_);
  for (uint32_t i = 0; i < owners_.size(); ++i) {
    if (owners_[i] != owner) continue;
    ArgumentSlot& slot = writable(i, retired);
    dropped.push_back(std::exchange(slot.view, {}));
    dropped_images.push_back(std::exchange(slot.image, nullptr));
    slot.kind = ArgumentSlot::Kind::kUnset;
    owners_[i] = nullptr;
  }
}

KernelArguments::Snapshot KernelArguments::snapshot() {
  Snapshot snapshot;
  const MutexLock lock(mutex_);
  snapshot.complete = true;
  for (const ArgumentSlot& slot : *set_) {
    if (slot.kind == ArgumentSlot::Kind::kUnset) snapshot.complete = false;
    if (slot.kind == ArgumentSlot::Kind::kLocal) snapshot.local_bytes += slot.local_size;
  }
  snapshot.set = set_;
  shared_ = true;
  return snapshot;
}

bool KernelArguments::give_numbers(scheduler::LaunchedArguments& launched) {
  // Who sets an argument while another thread launches cannot tell which value that gets.
  if (launched.are(version_.load(std::memory_order_acquire))) return true;
  const MutexLock lock(mutex_);
  return launched.take_numbers(*set_);
}

uint64_t KernelArguments::local_bytes() const {
  uint64_t sum = 0;
  const MutexLock lock(mutex_);
  for (const ArgumentSlot& slot : *set_) {
    if (slot.kind == ArgumentSlot::Kind::kLocal) sum += slot.local_size;
  }
  return sum;
}

std::vector<const void*> KernelArguments::owners() const {
  std::vector<const void*> result;
  const MutexLock lock(mutex_);
  for (const void* owner : owners_) {
    if (owner != nullptr && std::find(result.begin(), result.end(), owner) == result.end()) {
      result.push_back(owner);
    }
  }
  return result;
}

void ArgumentHolders::add(const std::shared_ptr<KernelArguments>& arguments) {
  const MutexLock lock(mutex_);
  for (Holder& holder : holders_) {
    if (holder.identity != arguments.get()) continue;
    holder.arguments = arguments;  // the entry may be of a dead kernel at the same address
    return;
  }
  if (holders_.size() >= prune_at_) {
    std::erase_if(holders_, [](const Holder& holder) { return holder.arguments.expired(); });
    prune_at_ = std::max<size_t>(16, 2 * holders_.size());
  }
  holders_.push_back({arguments.get(), arguments});
}

size_t ArgumentHolders::size() {
  const MutexLock lock(mutex_);
  return holders_.size();
}

void ArgumentHolders::forget(const void* owner) {
  std::vector<Holder> holders;
  {
    const MutexLock lock(mutex_);
    holders.swap(holders_);
  }
  for (const Holder& holder : holders) {
    if (const auto arguments = holder.arguments.lock()) arguments->forget(owner);
  }
}

}  // namespace tutti::device_virtual
