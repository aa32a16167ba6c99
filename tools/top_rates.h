// SPDX-License-Identifier: Apache-2.0
// What `tutti top` computes of what processes tell (base/live_processes.h). Pure functions.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/live_processes.h"

namespace tutti::tools {

using live::LiveDevice;
using live::LiveKernel;
using live::LiveProcess;
using live::LiveSample;

/// What happened between two samples; of a process that is new, since it began to publish.
struct TopDevice {
  LiveDevice device;
  double busy = 0;      // share of the time
  double commands = 0;  // per second, as are the next
  double bytes_to_device = 0, bytes_to_host = 0;
  std::vector<std::pair<std::string, double>> kernels;  // launches per second, the most first
};
struct TopProcess {
  LiveProcess process;
  double waiting = 0;       // commands that waited for others, on average over the time
  double wait_seconds = 0;  // each of those that have begun, on average
  std::vector<TopDevice> devices;
};
std::vector<TopProcess> compare(const LiveSample& before, const LiveSample& now);

}  // namespace tutti::tools
