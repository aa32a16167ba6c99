// SPDX-License-Identifier: Apache-2.0
// What this process does now, for `tutti top`: counters in a small file that is mapped into memory,
// in a folder of the user's own. Whoever counts writes single words and nothing else; no reader can
// hold anybody up. Where nothing is published (TUTTI_TOP=off, no folder, no room) there are no
// counters, and who would count tests a pointer.
//
// The file: a Header, kMostDevices Device records, kMostKernels Kernel records, each as long as the
// header says, so that a later version may append fields and records. Numbers are the machine's
// own. It is removed when the process ends; what a crash leaves is known by the process's number
// and start time, and removed by the user's next one. Owned by the process, never unmapped: threads
// may still count at exit. A forked child has no part in it. Thread-safe.
//
// The board is where processes tell each other until when they keep devices busy. Where the machine
// has a folder for it, each has a second file there, which every user may read: the same records,
// with a device's name and address, since when it is busy and until when, and nothing else. Else
// the board is the folder of the user's own.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/kept_file.h"

namespace tutti::live {

inline constexpr std::array<char, 8> kMagic{'T', 'U', 'T', 'T', 'I', 'T', 'O', 'P'};
inline constexpr uint32_t kVersion = 1;
inline constexpr uint32_t kMostDevices = 64;
inline constexpr uint32_t kMostKernels = 256;

using Count = std::atomic<uint64_t>;
static_assert(Count::is_always_lock_free);

/// By one thread at a time; of two threads one may be missed.
inline void add_alone(Count& to, uint64_t more) {
  to.store(to.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}
inline void add(Count& to, uint64_t more) { to.fetch_add(more, std::memory_order_relaxed); }

/// How long something of several was going on. The state is how many there are, and since when, in
/// microseconds modulo 2^40: one word, so that it is always whole. Measured in the system's ticks:
/// tiny commands begin and end at each call, and would pay for two looks at the exact clock.
class Busy {
 public:
  static constexpr uint64_t kTimeBits = 40, kTimeMask = (uint64_t{1} << kTimeBits) - 1;
  void begin() {
    uint64_t before = state_.load(std::memory_order_relaxed);
    uint64_t now = 0;
    do {
      if (before >> kTimeBits == 0 && now == 0) now = tick_ns() / 1000;
    } while (!state_.compare_exchange_weak(
        before, (before >> kTimeBits) == 0 ? one() | (now & kTimeMask) : before + one()));
  }
  void end() {
    uint64_t before = state_.load(std::memory_order_relaxed);
    do {
      if (before >> kTimeBits == 0) return;
    } while (!state_.compare_exchange_weak(before, before >> kTimeBits == 1 ? 0 : before - one()));
    if (before >> kTimeBits == 1) add(ended_us_, since(before, tick_ns()));
  }
  /// After begin() and end(), by whoever called: `shown` tells since when it goes on, but neither
  /// how many there are nor for how long there were any. Who stores last has seen the last state,
  /// since all threads see these stores and loads in one order. `meanwhile`: what another thread
  /// may do before a store, for tests.
  template <typename Meanwhile = void (*)()>
  void show_in(
      Busy& shown, const Meanwhile& meanwhile = [] {}) const {
    const auto told = [this] {
      const uint64_t state = state_.load();
      return state >> kTimeBits == 0 ? 0 : one() | (state & kTimeMask);
    };
    uint64_t now = told(), before = 0;
    do {
      meanwhile();
      shown.state_.store(now);
      before = std::exchange(now, told());
    } while (now != before);
  }
  /// Nanoseconds for which it has been going on, at `at_ns`; 0: it is not. For a copy of the word
  /// that a reader has.
  static uint64_t going_on(uint64_t state, uint64_t at_ns) {
    return state >> kTimeBits == 0 ? 0 : since(state, at_ns) * 1000;
  }
  /// Microseconds, by `at_ns`. Likewise.
  static uint64_t total(uint64_t ended_us, uint64_t state, uint64_t at_ns) {
    return ended_us + (state >> kTimeBits == 0 ? 0 : since(state, at_ns));
  }

 private:
  static constexpr uint64_t one() { return uint64_t{1} << kTimeBits; }
  static uint64_t since(uint64_t state, uint64_t at_ns) {
    const uint64_t passed = (at_ns / 1000 - state) & kTimeMask;
    return passed >> (kTimeBits - 1) != 0 ? 0 : passed;  // a moment before it began
  }
  Count ended_us_{0}, state_{0};
};
/// Of `state` in a Busy, bytes.
inline constexpr size_t kBusyStatePlace = sizeof(Count);

struct Header {
  std::array<char, 8> magic{};  // written last
  uint32_t version = kVersion;
  uint32_t header_bytes = 0, device_bytes = 0, device_records = 0, kernel_bytes = 0,
           kernel_records = 0;
  int32_t process = 0;
  uint32_t reserved = 0;
  uint64_t start_ticks = 0;    // of the process, as /proc/PID/stat tells it
  uint64_t pid_namespace = 0;  // in which that is its number
  uint64_t published_ns = 0;   // now_ns()
  std::array<char, 64> program{};
  std::atomic<uint32_t> devices{0}, kernels{0};  // records in use
  // Commands that wait for others, and those that have: for how long.
  Count waiting{0}, waited{0}, waited_ns{0};
  std::array<char, 96> room{};
};

struct Device {
  uint32_t index = 0;                    // as `tutti devices` numbers it
  uint32_t type = 0;                     // cl_device_type
  std::atomic<uint32_t> lost{0};         // 1: it takes no part, since it fails
  std::atomic<uint32_t> last_kernel{0};  // its record's number + 1; 0: none
  std::array<char, 96> name{};
  std::array<char, 48> platform{}, vendor{};
  std::array<char, 16> pci_address{};
  Busy busy;          // something of this process is in its queues
  Count commands{0};  // given to its queues
  Count bytes_to_device{0}, bytes_to_host{0};
  Count busy_until_ns{0};  // now_ns() by which it should have done what this process gave it
};

struct Kernel {
  uint32_t device = 0;  // its record's number
  uint32_t reserved = 0;
  std::array<char, 104> name{};
  Count launches{0};  // packages count
};

/// Where files are: $XDG_RUNTIME_DIR/tutti, else `cache_folder`/top; empty: nowhere.
std::string folder(const std::string& cache_folder);

/// The file's name there.
std::string file_name(int process, uint64_t start_ticks);
/// Of a file's name; start_ticks is 0 where it is none such.
struct FileOwner {
  int process = 0;
  uint64_t start_ticks = 0;
  bool operator==(const FileOwner&) const = default;
  bool alive() const;
};
FileOwner owner_of(std::string_view file_name);

struct Board {
  std::string folder;
  bool of_machine = false;  // else of the user's own
  bool missing = false;     // the machine has none
  std::string problem;      // why the machine's is not used; empty: it is, or nobody wants it
};
/// `of_machine`: the machine's folder, or kUserBoard. `own`: folder()'s.
Board board_for(const std::string& of_machine, const std::string& own);
inline constexpr std::string_view kUserBoard = "user";

/// Begins to publish in `folder`, which is made, and on the board; once. Where that cannot be there
/// are no counters, which is worth a line of the log.
void start(const std::string& folder, const Board& board = {});
/// Removes the files. Counters stay usable.
void stop();

/// No file is larger, of whatever version.
inline constexpr uint64_t kMostFileBytes = 4 * kMiB;
/// Removes from the folder what this user's processes left that are gone.
void remove_stale(const SharedFolder& folder);

/// The process's own; null: there are none.
Header* process();

struct DeviceInfo {
  uint32_t index = 0, type = 0;
  std::string_view name, platform, vendor, pci_address;
};
/// The counters of a device; the same for the same index. Null: there are none.
Device* device(const DeviceInfo& info);
/// Its record on the board.
Device* on_board(Device* device);
/// Something more of the process is in the device's queues, or less.
void begin_busy(Device& device);
void end_busy(Device& device);
/// The device takes no part from now on, or does again.
void set_lost(uint32_t index, bool lost);
/// Of a kernel on a device, by name; null: there are none, or no record is left.
Kernel* kernel(const Device* device, std::string_view name);
uint32_t number_of(const Kernel* kernel);

/// The start time of a process of this machine, and the namespace of process numbers that this one
/// is in; 0: not known.
uint64_t start_ticks(int process);
uint64_t pid_namespace();

}  // namespace tutti::live
