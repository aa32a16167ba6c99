// SPDX-License-Identifier: Apache-2.0
// The files of base/live_counters.h as plain data. They are copied, bounded and checked before
// anything is believed: a file that is damaged, of another user or of a process that is gone counts
// as none. Stateless, thread-safe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/kept_file.h"
#include "base/live_counters.h"

namespace tutti::live {

/// Files of a folder that are looked at.
inline constexpr size_t kMostFiles = 1024;

struct LiveKernel {
  std::string name;
  uint64_t launches = 0;
};

struct LiveDevice {
  uint32_t index = 0, type = 0;
  bool lost = false;  // it takes no part, since it fails
  std::string name, platform, vendor, pci_address;
  uint64_t busy_us = 0, commands = 0, bytes_to_device = 0, bytes_to_host = 0;
  // Where the file tells whether it is busy (the state of live::Busy), and until when it should be;
  // bytes. 0: an older version does not tell that.
  uint64_t busy_state_place = 0, busy_until_place = 0;
  std::vector<LiveKernel> kernels;
  std::string last_kernel;  // empty: none yet
};

struct LiveProcess {
  int process = 0;
  uint64_t start_ticks = 0, pid_namespace = 0;
  std::string program;
  uint64_t published_ns = 0;
  uint64_t waiting = 0, waited = 0, waited_ns = 0;
  std::vector<LiveDevice> devices;
};

/// All processes of this user that publish, by number; and when that was, by now_ns().
struct LiveSample {
  uint64_t at_ns = 0;
  std::vector<LiveProcess> processes;
};

/// One that is alive, by its file's name; absent where that tells of none.
std::optional<LiveProcess> read_process(const OwnFolder& folder, const std::string& name);
/// Removes what processes left that are gone.
LiveSample read_processes(const std::string& folder);
/// What can be told of the process that a file of `user` is named after. Gone is also one of
/// another user, in whose name it lies. Where /proc hides other users' processes (hidepid), of one
/// of these only that there is one of its number.
enum class Life : uint8_t { kGone, kAlive, kHidden };
Life life_of(const FileOwner& owner, uid_t user);
/// One file's content. False: it is damaged.
bool parse_process(std::string_view content, uint64_t at_ns, LiveProcess& into);

}  // namespace tutti::live
