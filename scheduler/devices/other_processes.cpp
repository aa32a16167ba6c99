// SPDX-License-Identifier: Apache-2.0
#include "scheduler/devices/other_processes.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <utility>

#include "base/clock.h"
#include "base/printable.h"

namespace tutti::scheduler {
namespace {

// Processes come and go seldom, and to look for them takes some 10 µs, and as much for each; to
// read what one of them claims takes one.
constexpr uint64_t kBetweenSearches = 200'000'000;  // nanoseconds
constexpr uint64_t kBetweenLooks = 1'000'000;
constexpr uint64_t kLeastPause = 50;  // times what was taken
// Files that are not known yet, of which each is opened, and copied where its process is there.
constexpr size_t kMostOpened = 64;
constexpr uint64_t kMostBoardBytes = uint64_t{256} << 10;
// Each keeps a file open. Nobody can keep others off the board by having many.
constexpr size_t kMostProcesses = 64, kMostOfAnotherUser = 16;
// Whoever claims more is mistaken, or lies.
constexpr uint64_t kLongestClaim = 60'000'000'000;
constexpr uint64_t kLongestGuess = 1'000'000'000;

/// As it stands in the file.
template <size_t kSize>
std::string as_shown(const std::array<char, kSize>&, const std::string& text) {
  return printable(text.substr(0, kSize - 1));
}

struct Names {
  std::string platform, device;
  explicit Names(const backends::DeviceTraits& traits)
      : platform(as_shown(live::Device().platform, traits.platform_name)),
        device(as_shown(live::Device().name, traits.device_name)) {}
  bool operator==(const Names&) const = default;
  bool of(const live::LiveDevice& shown) const {
    return shown.pci_address.empty() && shown.platform == platform && shown.name == device;
  }
};

uint64_t remaining(uint64_t until_ns, uint64_t from_ns) {
  const uint64_t left = until_ns > from_ns ? until_ns - from_ns : 0;
  return left > kLongestClaim ? 0 : left;
}

std::optional<uint64_t> number_at(const Descriptor& file, uint64_t place) {
  uint64_t value = 0;
  const ssize_t got = pread(file.get(), &value, sizeof value, static_cast<off_t>(place));
  if (place == 0 || got != sizeof value) return std::nullopt;
  return value;
}

}  // namespace

const live::LiveDevice* same_device(const backends::DeviceTraits& device,
                                    std::span<const backends::DeviceTraits* const> devices,
                                    const live::LiveProcess& process) {
  const live::LiveDevice* found = nullptr;
  if (!device.pci_address.empty()) {
    for (const live::LiveDevice& shown : process.devices) {
      if (shown.pci_address == as_shown(live::Device().pci_address, device.pci_address)) {
        found = &shown;
      }
    }
    return found;
  }
  const Names names(device);
  const auto ours =
      std::count_if(devices.begin(), devices.end(), [&](const backends::DeviceTraits* other) {
        return other->pci_address.empty() && Names(*other) == names;
      });
  size_t theirs = 0;
  const live::LiveDevice* same_number = nullptr;
  for (const live::LiveDevice& shown : process.devices) {
    if (!names.of(shown)) continue;
    ++theirs;
    found = &shown;
    if (shown.index == device.index) same_number = &shown;
  }
  return ours == 1 && theirs == 1 ? found : same_number;
}

void OtherProcesses::add_device(uint32_t backend, const backends::DeviceTraits& traits) {
  MutexLock lock(mutex_);
  devices_.push_back({backend, traits});
  processes_.clear();  // they are asked for this device, too
  next_search_ns_ = 0;
  shown_[backend].store(live::on_board(live::device(
                            {traits.index, static_cast<uint32_t>(traits.type), traits.device_name,
                             traits.platform_name, traits.vendor, traits.pci_address})),
                        std::memory_order_release);
}

void OtherProcesses::watch(std::string folder) {
  MutexLock lock(mutex_);
  folder_ = std::move(folder);
  next_search_ns_ = 0;
  next_look_ns_.store(folder_.empty() ? UINT64_MAX : 0, std::memory_order_relaxed);
}

void OtherProcesses::look_again(uint64_t now) {
  if (!mutex_.try_lock()) return;  // somebody does
  // Whatever lies on the board, either takes one part of this thread's time in so many.
  const auto next = [now](uint64_t pause, uint64_t begun) {
    return now + std::max(pause, kLeastPause * (thread_ns() - begun));
  };
  if (now >= next_search_ns_) {
    const uint64_t begun = thread_ns();
    try {
      find_processes();
    } catch (const std::bad_alloc&) {
      // Who cannot be looked at counts as nobody; the lock is not kept for that.
    }
    next_search_ns_ = next(kBetweenSearches, begun);
  }
  const uint64_t begun = thread_ns();
  read_claims(now);
  next_look_ns_.store(next(processes_.empty() ? kBetweenSearches : kBetweenLooks, begun),
                      std::memory_order_relaxed);
  mutex_.unlock();
}

void OtherProcesses::find_processes() {
  // One that has a device more than when it was read is read again.
  std::erase_if(processes_, [](const Process& known) {
    uint32_t devices = 0;
    const ssize_t got = pread(known.file.get(), &devices, sizeof devices,
                              static_cast<off_t>(offsetof(live::Header, devices)));
    return got != sizeof devices || devices != known.devices ||
           live::life_of(known.owner, known.user) == live::Life::kGone;
  });
  const auto folder = SharedFolder::open(folder_);
  if (!folder) return;
  const int self = getpid();
  size_t opened = 0;
  for (const std::string& name : folder->names(live::kMostFiles)) {
    const live::FileOwner owner = live::owner_of(name);
    const bool known = std::any_of(processes_.begin(), processes_.end(),
                                   [&](const Process& process) { return process.owner == owner; });
    if (known || owner.start_ticks == 0 || owner.process == self) continue;
    if (++opened > kMostOpened || processes_.size() == kMostProcesses) break;
    auto file = folder->open_anybodys(name, kMostBoardBytes);
    if (!file) continue;
    if (auto process = process_of(std::move(*file), owner)) {
      processes_.push_back(std::move(*process));
    }
  }
}

bool OtherProcesses::has_room_for(uid_t user) const {
  if (user == geteuid()) return true;
  return std::count_if(processes_.begin(), processes_.end(), [user](const Process& process) {
           return process.user == user;
         }) < static_cast<std::ptrdiff_t>(kMostOfAnotherUser);
}

std::optional<OtherProcesses::Process> OtherProcesses::process_of(
    Descriptor file, const live::FileOwner& owner) const {
  struct stat status {};
  if (fstat(file.get(), &status) != 0 || !has_room_for(status.st_uid)) return std::nullopt;
  const live::Life life = live::life_of(owner, status.st_uid);
  if (life == live::Life::kGone) return std::nullopt;
  const auto content = read_rest(file, kMostBoardBytes);
  live::LiveProcess found;
  if (!content || !live::parse_process(*content, now_ns(), found) ||
      live::FileOwner{found.process, found.start_ticks} != owner) {
    return std::nullopt;
  }
  const bool hidden = life == live::Life::kHidden;
  // A number of another namespace is another process's here.
  if (hidden && found.pid_namespace != live::pid_namespace()) return std::nullopt;
  std::vector<const backends::DeviceTraits*> devices;
  for (const Known& ours : devices_) devices.push_back(&ours.traits);
  Process process{
      owner, status.st_uid, hidden, std::move(file), static_cast<uint32_t>(found.devices.size()),
      {}};
  for (const Known& ours : devices_) {
    const live::LiveDevice* shown = same_device(ours.traits, devices, found);
    if (shown == nullptr) continue;
    process.places.push_back({ours.backend, shown->busy_state_place, shown->busy_until_place});
  }
  return process;
}

void OtherProcesses::read_claims(uint64_t now) {
  std::array<uint32_t, kMostBackends> counts{};
  for (const Process& process : processes_) {
    for (const Process::Place& place : process.places) {
      // What has no expected end goes on for as long as it has gone on; in a file that a crash has
      // left, for ever.
      const uint64_t state =
          process.hidden ? 0 : number_at(process.file, place.busy_state).value_or(0);
      const uint64_t busy = live::Busy::going_on(state, now);
      const uint64_t expected = number_at(process.file, place.busy_until).value_or(0);
      const uint64_t until = std::max(busy == 0 ? 0 : now + std::min(busy, kLongestGuess),
                                      remaining(expected, now) == 0 ? 0 : expected);
      uint32_t& count = counts[place.backend];
      if (until == 0 || count == kMost) continue;
      claims_[place.backend].until_ns[count++].store(until, std::memory_order_relaxed);
    }
  }
  for (const Known& known : devices_) {
    claims_[known.backend].count.store(counts[known.backend], std::memory_order_release);
  }
}

Contention OtherProcesses::contention(uint32_t backend, uint64_t from_ns, double seconds) const {
  Contention result;
  const Claims& claims = claims_[backend];
  const uint32_t count = claims.count.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t until = claims.until_ns[i].load(std::memory_order_relaxed);
    const double left = static_cast<double>(remaining(until, from_ns)) * 1e-9;
    if (left <= 0) continue;
    // Two processes that have work share a device evenly, until one of them has none: what the
    // other one lost by then is as much as that one had.
    if (2 * left >= seconds) {
      ++result.beside;
    } else {
      result.wait += left;
    }
  }
  return result;
}

uint32_t OtherProcesses::beside(uint32_t backend, uint64_t at_ns) const {
  return contention(backend, at_ns, 0).beside;
}

}  // namespace tutti::scheduler
