// SPDX-License-Identifier: Apache-2.0
#include "base/host_pages.h"

#include <CL/cl.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "base/all_at_once.h"

namespace tutti {
namespace {

constexpr uint64_t kPage = 4096, kHugePage = 2 << 20;
// Bytes that are worth a thread, which takes some 30 µs to start: touched in a millisecond.
constexpr uint64_t kPerThread = 4 << 20;
constexpr uint64_t kMostThreads = 4;  // more gain little, and the application needs some, too

// Second-level caches find a line by the lowest 17 bits of its address: so many pages differ in
// them.
constexpr uint64_t kColours = 32;
// Consecutive allocations are so many pages apart: further than what is fetched ahead, and odd, so
// that all colours have their turn.
constexpr uint64_t kColourStep = 5;

uint64_t round_up(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

/// Bytes from the begin of a huge page to where the next large allocation begins.
uint64_t next_stagger() {
  static std::atomic<uint64_t> count{0};
  const uint64_t turn = count.fetch_add(1, std::memory_order_relaxed);
  return turn * kColourStep % kColours * kPage;
}

}  // namespace

Result<HostPages> HostPages::allocate(uint64_t size) {
  const bool large = size >= kHugePage;
  const uint64_t alignment = large ? kHugePage : kPage;
  const uint64_t stagger = large ? next_stagger() : 0;
  const uint64_t used = round_up(size, kPage);
  const uint64_t mapped_size = used + stagger + alignment - kPage;
  if (used < size || mapped_size < used) return fail(CL_OUT_OF_HOST_MEMORY, "too much memory");
  void* const mapped =
      mmap(nullptr, mapped_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return fail(CL_OUT_OF_HOST_MEMORY, "no pages");
  const auto begin = reinterpret_cast<uintptr_t>(mapped);
  auto* const first = static_cast<std::byte*>(mapped);
  std::byte* const aligned = first + (round_up(begin, alignment) - begin);
  // Where the system has none, small pages do as well.
  if (large) madvise(aligned, stagger + used, MADV_HUGEPAGE);
  return HostPages(first, mapped_size, aligned + stagger, used);
}

HostPages::HostPages(HostPages&& other) noexcept
    : mapped_(std::exchange(other.mapped_, nullptr)),
      mapped_size_(other.mapped_size_),
      data_(other.data_),
      size_(other.size_) {}

HostPages::~HostPages() {
  if (mapped_) munmap(mapped_, mapped_size_);
}

void HostPages::touch() const {
  const uint64_t processors = std::max(1U, std::thread::hardware_concurrency());
  const uint64_t threads =
      std::clamp<uint64_t>(size_ / kPerThread, 1, std::min(kMostThreads, processors));
  const uint64_t part = round_up(size_ / threads + 1, kHugePage);
  const auto touch_part = [this](uint64_t begin, uint64_t end) {
    for (uint64_t at = begin; at < std::min(end, size_); at += kPage) {
      const_cast<volatile std::byte*>(data_)[at] = std::byte{0};
    }
  };
  std::vector<std::function<Status()>> parts;
  for (uint64_t begin = 0; begin < size_; begin += part) {
    parts.emplace_back([&touch_part, begin, part]() -> Status {
      touch_part(begin, begin + part);
      return {};
    });
  }
  // What is left untouched is so until it is used: nothing fails by that.
  static_cast<void>(all_at_once("tutti-pages", parts));
}

}  // namespace tutti
