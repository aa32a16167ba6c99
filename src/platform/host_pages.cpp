// SPDX-License-Identifier: Apache-2.0
#include "platform/host_pages.h"

#include <CL/cl.h>
#include <sys/mman.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace tutti {
namespace {

constexpr uint64_t kPage = 4096, kHugePage = 2 << 20;
// Bytes that are worth a thread, which takes some 30 µs to start: touched in a millisecond.
constexpr uint64_t kPerThread = 4 << 20;
constexpr uint64_t kMostThreads = 4;  // more gain little, and the application needs some, too

uint64_t round_up(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

}  // namespace

Result<HostPages> HostPages::allocate(uint64_t size) {
  const uint64_t alignment = size >= kHugePage ? kHugePage : kPage;
  const uint64_t used = round_up(size, kPage);
  const uint64_t mapped_size = used + alignment - kPage;
  if (used < size || mapped_size < used) return fail(CL_OUT_OF_HOST_MEMORY, "too much memory");
  void* const mapped =
      mmap(nullptr, mapped_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return fail(CL_OUT_OF_HOST_MEMORY, "no pages");
  const auto begin = reinterpret_cast<uintptr_t>(mapped);
  auto* const first = static_cast<std::byte*>(mapped);
  std::byte* const data = first + (round_up(begin, alignment) - begin);
  // Where the system has none, small pages do as well.
  if (alignment == kHugePage) madvise(data, used, MADV_HUGEPAGE);
  return HostPages(first, mapped_size, data, used);
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
  std::vector<std::thread> others;
  for (uint64_t begin = part; begin < size_; begin += part) {
    others.emplace_back(touch_part, begin, begin + part);
  }
  touch_part(0, part);
  for (std::thread& other : others) other.join();
}

}  // namespace tutti
