// SPDX-License-Identifier: Apache-2.0
#include "tools/live_processes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "base/live_counters.h"
#include "base/printable.h"

namespace tutti::tools {
namespace {

constexpr size_t kMostFiles = 1024;

/// A record of the file, which may be shorter than ours (then the rest is 0) or longer.
template <typename Record>
class Copy {
 public:
  Copy(std::string_view content, size_t offset, size_t size) {
    const std::string_view part = content.substr(std::min(offset, content.size()));
    std::memcpy(bytes_.data(), part.data(), std::min({sizeof(Record), size, part.size()}));
  }
  template <typename Field>
  Field number(size_t offset) const {
    Field value{};
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  std::string text(size_t offset, size_t size) const {
    const char* begin = bytes_.data() + offset;
    return {begin, strnlen(begin, size)};
  }

 private:
  std::array<char, sizeof(Record)> bytes_{};
};

#define TUTTI_TEXT(copy, Record, field) \
  (copy).text(offsetof(Record, field), sizeof(std::declval<Record>().field))
#define TUTTI_U32(copy, Record, field) (copy).number<uint32_t>(offsetof(Record, field))
#define TUTTI_U64(copy, Record, field) (copy).number<uint64_t>(offsetof(Record, field))

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }
double grown(uint64_t before, uint64_t now) {
  return now > before ? static_cast<double>(now - before) : 0;
}

}  // namespace

bool parse_process(std::string_view content, uint64_t at_ns, LiveProcess& into) {
  using live::Device;
  using live::Header;
  using live::Kernel;
  if (content.size() < sizeof(Header)) return false;
  const Copy<Header> header(content, 0, sizeof(Header));
  if (std::memcmp(content.data(), live::kMagic.data(), live::kMagic.size()) != 0 ||
      TUTTI_U32(header, Header, version) != live::kVersion) {
    return false;
  }
  const uint64_t header_bytes = TUTTI_U32(header, Header, header_bytes);
  const uint64_t device_bytes = TUTTI_U32(header, Header, device_bytes);
  const uint64_t device_records = TUTTI_U32(header, Header, device_records);
  const uint64_t kernel_bytes = TUTTI_U32(header, Header, kernel_bytes);
  const uint64_t kernel_records = TUTTI_U32(header, Header, kernel_records);
  constexpr uint64_t kMostRecords = 4096;
  if (header_bytes < sizeof(Header) || device_bytes < sizeof(Device) ||
      kernel_bytes < sizeof(Kernel) || device_records > kMostRecords ||
      kernel_records > kMostRecords ||
      header_bytes + device_records * device_bytes + kernel_records * kernel_bytes >
          content.size()) {
    return false;
  }
  into.process = header.number<int32_t>(offsetof(Header, process));
  into.start_ticks = TUTTI_U64(header, Header, start_ticks);
  into.program = printable(TUTTI_TEXT(header, Header, program));
  into.published_ns = TUTTI_U64(header, Header, published_ns);
  into.waiting = TUTTI_U64(header, Header, waiting);
  into.waited = TUTTI_U64(header, Header, waited);
  into.waited_ns = TUTTI_U64(header, Header, waited_ns);
  const uint64_t devices = std::min<uint64_t>(TUTTI_U32(header, Header, devices), device_records);
  const uint64_t kernels = std::min<uint64_t>(TUTTI_U32(header, Header, kernels), kernel_records);
  std::vector<uint32_t> last;
  for (uint64_t i = 0; i < devices; ++i) {
    const Copy<Device> record(content, header_bytes + i * device_bytes, device_bytes);
    LiveDevice device;
    device.index = TUTTI_U32(record, Device, index);
    device.type = TUTTI_U32(record, Device, type);
    device.lost = TUTTI_U32(record, Device, lost) != 0;
    device.name = printable(TUTTI_TEXT(record, Device, name));
    device.platform = printable(TUTTI_TEXT(record, Device, platform));
    device.vendor = printable(TUTTI_TEXT(record, Device, vendor));
    device.pci_address = printable(TUTTI_TEXT(record, Device, pci_address));
    const size_t busy = offsetof(Device, busy);
    device.busy_us = live::Busy::total(record.number<uint64_t>(busy),
                                       record.number<uint64_t>(busy + sizeof(uint64_t)), at_ns);
    device.commands = TUTTI_U64(record, Device, commands);
    device.bytes_to_device = TUTTI_U64(record, Device, bytes_to_device);
    device.bytes_to_host = TUTTI_U64(record, Device, bytes_to_host);
    last.push_back(TUTTI_U32(record, Device, last_kernel));
    into.devices.push_back(std::move(device));
  }
  const uint64_t first_kernel = header_bytes + device_records * device_bytes;
  for (uint64_t i = 0; i < kernels; ++i) {
    const Copy<Kernel> record(content, first_kernel + i * kernel_bytes, kernel_bytes);
    const uint32_t device = TUTTI_U32(record, Kernel, device);
    if (device >= into.devices.size()) return false;
    LiveKernel kernel{printable(TUTTI_TEXT(record, Kernel, name)),
                      TUTTI_U64(record, Kernel, launches)};
    if (last[device] == i + 1) into.devices[device].last_kernel = kernel.name;
    into.devices[device].kernels.push_back(std::move(kernel));
  }
  return true;
}

LiveSample read_processes(const std::string& folder) {
  LiveSample sample;
  sample.at_ns = now_ns();
  const auto opened = OwnFolder::open(folder, OwnFolder::Missing::kFails);
  if (!opened) return sample;
  live::remove_stale(*opened);
  for (const std::string& name : opened->names(kMostFiles)) {
    const auto content = opened->read(name, live::kMostFileBytes);
    if (!content) continue;
    LiveProcess process;
    const uint64_t now = now_ns();
    if (!parse_process(*content, now, process) || process.start_ticks == 0 ||
        live::start_ticks(process.process) != process.start_ticks) {
      continue;
    }
    sample.processes.push_back(std::move(process));
  }
  std::sort(sample.processes.begin(), sample.processes.end(),
            [](const auto& a, const auto& b) { return a.process < b.process; });
  return sample;
}

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
