// SPDX-License-Identifier: Apache-2.0
#include "backends/process/shared_arena.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <boost/interprocess/mapped_region.hpp>
#include <cerrno>
#include <cstring>

#include "base/keep_forever.h"

namespace tutti::backends::process {
namespace {

using boost::interprocess::mapped_region;

constexpr uint64_t kPage = 4096;
constexpr uint64_t kLeastArena = uint64_t{64} << 20;
// So many bytes that nobody uses keep their pages, which take longer to provide than to fill; what
// is given back beyond that goes to the system.
constexpr uint64_t kMostKept = uint64_t{512} << 20;

/// As Boost.Interprocess wants a file.
struct Mappable {
  int file;
  boost::interprocess::mapping_handle_t get_mapping_handle() const { return {file, false}; }
};

uint64_t memory_of_machine() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page)
                               : kLeastArena;
}

tl::unexpected<Error> no_memory(const char* what, int error) {
  return fail(CL_OUT_OF_HOST_MEMORY,
              fmt::format("memory for helpers: {}: {}", what, std::strerror(error)));
}

}  // namespace

SharedMapping::SharedMapping(std::unique_ptr<mapped_region> region) : region_(std::move(region)) {}
SharedMapping::SharedMapping(SharedMapping&&) noexcept = default;
SharedMapping::~SharedMapping() = default;
std::byte* SharedMapping::data() const { return static_cast<std::byte*>(region_->get_address()); }
uint64_t SharedMapping::size() const { return region_->get_size(); }

Result<SharedMapping> SharedMapping::map(int file, uint64_t size) {
  try {
    auto region = std::make_unique<mapped_region>(Mappable{file}, boost::interprocess::read_write,
                                                  0, size, nullptr, MAP_NORESERVE);
    // Nobody wants it in a core file; pages are huge where the system allows that.
    madvise(region->get_address(), size, MADV_DONTDUMP);
    madvise(region->get_address(), size, MADV_HUGEPAGE);
    return SharedMapping(std::move(region));
  } catch (const boost::interprocess::interprocess_exception& error) {
    return no_memory("mmap", error.get_native_error());
  }
}

SharedRange::~SharedRange() {
  if (arena_ != nullptr) arena_->give_back(offset_, size_);
}
std::byte* SharedRange::data() const { return arena_->mapping().data() + offset_; }

SharedArena::SharedArena(Descriptor file, SharedMapping mapping)
    : file_(std::move(file)), mapping_(std::move(mapping)) {
  free_.emplace(0, mapping_.size());
  by_size_.emplace(mapping_.size(), 0);
}

Result<SharedArena*> SharedArena::of_process() {
  static NeverDestroyed<Mutex> mutex;
  static SharedArena* arena = nullptr;
  const MutexLock lock(*mutex);
  if (arena == nullptr) {
    TUTTI_ASSIGN(auto made, create(memory_of_machine()));
    arena = keep_forever(std::move(made));
  }
  return arena;
}

Result<std::unique_ptr<SharedArena>> SharedArena::create(uint64_t most) {
  Descriptor file(memfd_create("tutti", MFD_CLOEXEC));
  if (!file) return no_memory("memfd_create", errno);
  // A file that is made longer than the process may have files ends the process.
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < most) most = limit.rlim_cur;
  constexpr uint64_t kUnit = uint64_t{2} << 20;
  for (uint64_t size = most / kUnit * kUnit;; size = size / 2 / kUnit * kUnit) {
    if (size == 0) return no_memory("ulimit -f", EFBIG);
    if (ftruncate(file.get(), static_cast<off_t>(size)) != 0) return no_memory("ftruncate", errno);
    auto mapping = SharedMapping::map(file.get(), size);
    // The process's address space may be bounded.
    if (!mapping && size > kLeastArena) continue;
    if (!mapping) return tl::unexpected(mapping.error());
    return std::unique_ptr<SharedArena>(new SharedArena(std::move(file), std::move(*mapping)));
  }
}

Result<SharedRange> SharedArena::allocate(uint64_t size) {
  if (size > mapping_.size()) return no_memory("it is too small", ENOMEM);
  const uint64_t wanted = std::max(kPage, (size + kPage - 1) / kPage * kPage);
  const MutexLock lock(mutex_);
  // The smallest that will do, and of these the first: what was used before has its pages.
  const auto found = by_size_.lower_bound({wanted, 0});
  if (found == by_size_.end()) return no_memory("there is none left", ENOMEM);
  kept_ -= std::min(kept_, wanted);
  const auto [free, offset] = *found;
  by_size_.erase(found);
  free_.erase(offset);
  if (free > wanted) {
    free_.emplace(offset + wanted, free - wanted);
    by_size_.emplace(free - wanted, offset + wanted);
  }
  return SharedRange(*this, offset, wanted);
}

void SharedArena::give_back(uint64_t offset, uint64_t size) noexcept {
  if (keeps_all_.load(std::memory_order_acquire)) return;
  MutexLock lock(mutex_);
  if (kept_ + size <= kMostKept) {
    kept_ += size;
  } else {
    lock.unlock();
    fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
              static_cast<off_t>(size));
    lock.lock();
  }
  try {
    auto next = free_.lower_bound(offset);
    if (next != free_.begin()) {
      if (const auto before = std::prev(next); before->first + before->second == offset) {
        offset = before->first;
        size += before->second;
        by_size_.erase({before->second, before->first});
        free_.erase(before);
      }
    }
    if (next != free_.end() && offset + size == next->first) {
      size += next->second;
      by_size_.erase({next->second, next->first});
      free_.erase(next);
    }
    free_.emplace(offset, size);
    by_size_.emplace(size, offset);
  } catch (const std::bad_alloc&) {
    // It is lost: the arena is large.
  }
}

std::optional<uint64_t> SharedArena::offset_of(const void* data, uint64_t size) const {
  const auto first = reinterpret_cast<uintptr_t>(data);
  const auto begin = reinterpret_cast<uintptr_t>(mapping_.data());
  if (first < begin || first - begin > mapping_.size() ||
      size > mapping_.size() - (first - begin)) {
    return std::nullopt;
  }
  return first - begin;
}

}  // namespace tutti::backends::process
