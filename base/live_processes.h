// SPDX-License-Identifier: Apache-2.0
// The files of base/live_counters.h as plain data. They are copied, bounded and checked before
// anything is believed: a file that is damaged, of another user or of a process that is gone counts
// as none. Stateless, thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::live {

struct LiveKernel {
  std::string name;
  uint64_t launches = 0;
};

struct LiveDevice {
  uint32_t index = 0, type = 0;
  bool lost = false;  // it takes no part, since it fails
  std::string name, platform, vendor, pci_address;
  uint64_t busy_us = 0, commands = 0, bytes_to_device = 0, bytes_to_host = 0;
  std::vector<LiveKernel> kernels;
  std::string last_kernel;  // empty: none yet
};

struct LiveProcess {
  int process = 0;
  uint64_t start_ticks = 0;
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

/// Removes what processes left that are gone.
LiveSample read_processes(const std::string& folder);
/// One file's content. False: it is damaged.
bool parse_process(std::string_view content, uint64_t at_ns, LiveProcess& into);

}  // namespace tutti::live
