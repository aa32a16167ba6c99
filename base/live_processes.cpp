// SPDX-License-Identifier: Apache-2.0
#include "base/live_processes.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/clock.h"
#include "base/printable.h"

namespace tutti::live {
namespace {

constexpr uint64_t kFewestDeviceBytes = offsetof(Device, busy_until_ns);  // the first version's

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

}  // namespace

bool parse_process(std::string_view content, uint64_t at_ns, LiveProcess& into) {
  if (content.size() < sizeof(Header)) return false;
  const Copy<Header> header(content, 0, sizeof(Header));
  if (std::memcmp(content.data(), kMagic.data(), kMagic.size()) != 0 ||
      TUTTI_U32(header, Header, version) != kVersion) {
    return false;
  }
  const uint64_t header_bytes = TUTTI_U32(header, Header, header_bytes);
  const uint64_t device_bytes = TUTTI_U32(header, Header, device_bytes);
  const uint64_t device_records = TUTTI_U32(header, Header, device_records);
  const uint64_t kernel_bytes = TUTTI_U32(header, Header, kernel_bytes);
  const uint64_t kernel_records = TUTTI_U32(header, Header, kernel_records);
  constexpr uint64_t kMostRecords = 4096;
  if (header_bytes < sizeof(Header) || device_bytes < kFewestDeviceBytes ||
      kernel_bytes < sizeof(Kernel) || device_records > kMostRecords ||
      kernel_records > kMostRecords ||
      header_bytes + device_records * device_bytes + kernel_records * kernel_bytes >
          content.size()) {
    return false;
  }
  into.process = header.number<int32_t>(offsetof(Header, process));
  into.start_ticks = TUTTI_U64(header, Header, start_ticks);
  into.pid_namespace = TUTTI_U64(header, Header, pid_namespace);
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
    device.busy_us = Busy::total(record.number<uint64_t>(busy),
                                 record.number<uint64_t>(busy + sizeof(uint64_t)), at_ns);
    device.commands = TUTTI_U64(record, Device, commands);
    device.bytes_to_device = TUTTI_U64(record, Device, bytes_to_device);
    device.bytes_to_host = TUTTI_U64(record, Device, bytes_to_host);
    const uint64_t place = header_bytes + i * device_bytes;
    device.busy_state_place = place + busy + kBusyStatePlace;
    if (device_bytes >= kFewestDeviceBytes + sizeof(uint64_t)) {
      device.busy_until_place = place + offsetof(Device, busy_until_ns);
    }
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

Life life_of(const FileOwner& owner, uid_t user) {
  if (owner.start_ticks == 0 || owner.process <= 0) return Life::kGone;
  if (const uint64_t ticks = start_ticks(owner.process); ticks != 0) {
    struct stat status {};
    const bool users =
        user == geteuid() || (stat(fmt::format("/proc/{}", owner.process).c_str(), &status) == 0 &&
                              status.st_uid == user);
    return ticks == owner.start_ticks && users ? Life::kAlive : Life::kGone;
  }
  const bool of_another = kill(owner.process, 0) != 0 && errno == EPERM;
  return of_another && user != geteuid() ? Life::kHidden : Life::kGone;
}

std::optional<LiveProcess> read_process(const OwnFolder& folder, const std::string& name) {
  const auto content = folder.read(name, kMostFileBytes);
  LiveProcess process;
  if (!content || !parse_process(*content, now_ns(), process) ||
      !FileOwner{process.process, process.start_ticks}.alive()) {
    return std::nullopt;
  }
  return process;
}

LiveSample read_processes(const std::string& folder) {
  LiveSample sample;
  sample.at_ns = now_ns();
  const auto opened = OwnFolder::open(folder, OwnFolder::Missing::kFails);
  if (!opened) return sample;
  remove_stale(*opened);
  for (const std::string& name : opened->names(kMostFiles)) {
    if (auto process = read_process(*opened, name)) sample.processes.push_back(std::move(*process));
  }
  std::sort(sample.processes.begin(), sample.processes.end(),
            [](const auto& a, const auto& b) { return a.process < b.process; });
  return sample;
}

}  // namespace tutti::live
