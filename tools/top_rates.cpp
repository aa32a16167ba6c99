// SPDX-License-Identifier: Apache-2.0
#include "tools/top_rates.h"

#include <algorithm>

#include "base/clock.h"

namespace tutti::tools {
namespace {

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }
double grown(uint64_t before, uint64_t now) {
  return now > before ? static_cast<double>(now - before) : 0;
}

}  // namespace

std::vector<TopProcess> compare(const LiveSample& before, const LiveSample& now) {
  std::vector<TopProcess> list;
  for (const LiveProcess& process : now.processes) {
    const auto earlier = std::find_if(
        before.processes.begin(), before.processes.end(), [&](const LiveProcess& other) {
          return other.process == process.process && other.start_ticks == process.start_ticks;
        });
    static const LiveProcess kNone;
    const LiveProcess& from = earlier == before.processes.end() ? kNone : *earlier;
    const uint64_t since = earlier == before.processes.end()
                               ? std::min(process.published_ns, now.at_ns)
                               : before.at_ns;
    const double seconds = seconds_between(since, now.at_ns);
    TopProcess top{process, 0, 0, {}};
    const double waits = grown(from.waited_ns, process.waited_ns) * 1e-9;
    top.wait_seconds = share(waits, grown(from.waited, process.waited));
    // What still waits has not been added up yet.
    top.waiting = std::max(share(waits, seconds), static_cast<double>(process.waiting));
    for (const LiveDevice& device : process.devices) {
      const auto known =
          std::find_if(from.devices.begin(), from.devices.end(),
                       [&](const LiveDevice& other) { return other.index == device.index; });
      static const LiveDevice kNoDevice;
      const LiveDevice& old = known == from.devices.end() ? kNoDevice : *known;
      TopDevice entry;
      entry.device = device;
      entry.busy = std::min(1.0, share(grown(old.busy_us, device.busy_us) * 1e-6, seconds));
      entry.commands = share(grown(old.commands, device.commands), seconds);
      entry.bytes_to_device = share(grown(old.bytes_to_device, device.bytes_to_device), seconds);
      entry.bytes_to_host = share(grown(old.bytes_to_host, device.bytes_to_host), seconds);
      for (const LiveKernel& kernel : device.kernels) {
        const auto same =
            std::find_if(old.kernels.begin(), old.kernels.end(),
                         [&](const LiveKernel& other) { return other.name == kernel.name; });
        const double launches =
            share(grown(same == old.kernels.end() ? 0 : same->launches, kernel.launches), seconds);
        if (launches > 0) entry.kernels.emplace_back(kernel.name, launches);
      }
      std::stable_sort(entry.kernels.begin(), entry.kernels.end(),
                       [](const auto& a, const auto& b) { return a.second > b.second; });
      // A long launch began before.
      if (entry.kernels.empty() && entry.busy > 0 && !device.last_kernel.empty()) {
        entry.kernels.emplace_back(device.last_kernel, 0);
      }
      top.devices.push_back(std::move(entry));
    }
    list.push_back(std::move(top));
  }
  return list;
}

}  // namespace tutti::tools
