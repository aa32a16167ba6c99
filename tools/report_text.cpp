// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "tools/report_output.h"
#include "tools/terminal.h"

namespace tutti::tools {
namespace {

constexpr size_t kBarColumns = 60;

std::string scaled(double value, double step, std::initializer_list<const char*> units) {
  size_t unit = 0;
  // What would be rounded up to the next unit is in that.
  while (value >= step - 0.5 && unit + 1 < units.size()) value /= step, ++unit;
  const int decimals = unit == 0 && value == static_cast<double>(static_cast<uint64_t>(value)) ? 0
                       : value < 9.995                                                         ? 2
                       : value < 99.95                                                         ? 1
                                                                                               : 0;
  return fmt::format("{:.{}f} {}", value, decimals, units.begin()[unit]);
}

const char* plural(uint64_t count) { return count == 1 ? "" : "s"; }

std::string device_name(const ReportNumbers& numbers, uint32_t index) {
  for (const DeviceNumbers& entry : numbers.devices) {
    if (entry.device.index == index) return fmt::format("{} {}", index, entry.device.name);
  }
  return std::to_string(index);
}

const char* way_text(TransferWay way) {
  switch (way) {
    case TransferWay::kToDevice:
      return "to";
    case TransferWay::kToHost:
      return "from";
    case TransferWay::kOnDevice:
      break;
  }
  return "within";
}

std::string moved_text(const ReportNumbers& numbers, const std::vector<MovedNumbers>& moved) {
  std::string text;
  for (const MovedNumbers& entry : moved) {
    text += fmt::format("      {:>9} {} {}: {}", bytes_text(entry.bytes), way_text(entry.way),
                        device_name(numbers, entry.device), entry.why);
    if (!entry.argument.empty()) text += fmt::format(", argument '{}'", entry.argument);
    text += fmt::format(" ({} transfer{}, {})\n", entry.transfers, plural(entry.transfers),
                        time_text(entry.ns));
  }
  return text;
}

/// When each device computed packages of the kernel's last split launch, one line per device. Each
/// package begins with a bar, so that its size shows.
std::string packages_picture(const TraceFile& trace, const ReportNumbers& numbers,
                             const KernelNumbers& kernel) {
  const auto last = std::find_if(kernel.all.rbegin(), kernel.all.rend(), [](const auto& launch) {
    return launch.split && launch.ended && launch.packages > 0 && launch.end > launch.begin;
  });
  if (last == kernel.all.rend()) return {};
  std::string text =
      fmt::format("    the last split launch, {}:\n", time_text(last->end - last->begin));
  const double columns_per_ns =
      static_cast<double>(kBarColumns) / static_cast<double>(last->end - last->begin);
  const auto column = [&](uint64_t time) {
    const uint64_t since = std::max(time, last->begin) - last->begin;
    const double columns = static_cast<double>(since) * columns_per_ns;
    return static_cast<size_t>(std::min(columns, static_cast<double>(kBarColumns)));
  };
  for (const DeviceNumbers& device : numbers.devices) {
    std::string bar(kBarColumns, '.');
    uint64_t packages = 0, slices = 0;
    for (const TraceSlice& slice : trace.slices) {
      if (slice.kind != SliceKind::kPackage || slice.command != last->command ||
          slice.device != device.device.index) {
        continue;
      }
      ++packages;
      slices += slice.count;
      const size_t begin = std::min(column(slice.begin), kBarColumns - 1);
      for (size_t i = begin; i < std::max(begin + 1, column(slice.end)); ++i) bar[i] = '=';
      bar[begin] = '|';
    }
    if (packages == 0) continue;
    const double share =
        last->slices == 0 ? 0
                          : 100 * static_cast<double>(slices) / static_cast<double>(last->slices);
    text += fmt::format("      {:>2} {} {:5.1f} % in {} package{}\n", device.device.index, bar,
                        share, packages, plural(packages));
  }
  return text;
}

/// How high the bytes are over time, the most in each column.
std::string memory_picture(const MemoryNumbers& memory) {
  constexpr const char* kLevels[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  if (memory.bytes.empty() || memory.peak == 0) return {};
  const auto whole = static_cast<double>(std::max<uint64_t>(memory.bytes.back().first, 1));
  const auto column = [&](uint64_t time) {
    const double columns = static_cast<double>(time) / whole * static_cast<double>(kBarColumns);
    return std::min(static_cast<size_t>(columns), kBarColumns - 1);
  };
  std::vector<uint64_t> most(kBarColumns, 0);
  for (size_t i = 0; i < memory.bytes.size(); ++i) {
    const auto& [begin, bytes] = memory.bytes[i];
    const size_t last =
        i + 1 < memory.bytes.size() ? column(memory.bytes[i + 1].first) : kBarColumns - 1;
    for (size_t at = column(begin); at <= last; ++at) most[at] = std::max(most[at], bytes);
  }
  std::string text;
  for (const uint64_t bytes : most) {
    text += kLevels[static_cast<size_t>(
        std::ceil(static_cast<double>(bytes) / static_cast<double>(memory.peak) * 8))];
  }
  return text;
}

std::string memory_text(const MemoryNumbers& memory) {
  std::string text = fmt::format("    memory: at most {}", bytes_text(memory.peak));
  if (memory.evictions > 0) {
    text += fmt::format("; {} eviction{}, {}", memory.evictions, plural(memory.evictions),
                        bytes_text(memory.evicted_bytes));
  }
  if (memory.shard_changes > 0) {
    text += fmt::format("; {} shard{} made or changed, {}", memory.shard_changes,
                        plural(memory.shard_changes), bytes_text(memory.shard_bytes));
  }
  const std::string picture = memory_picture(memory);
  return text + "\n" + (picture.empty() ? "" : "      |" + picture + "|\n");
}

std::string energy_text(const ReportNumbers& numbers) {
  if (numbers.sensors.empty() && numbers.energy_absent.empty()) return {};
  std::string text = "\n" + toned(Tone::kStrong, "Energy") + "\n";
  if (!numbers.sensors.empty()) {
    text += fmt::format("  {:.4g} J in {:.4g} s, energy-delay product {:.4g} J s\n", numbers.joules,
                        numbers.energy_seconds, numbers.energy_delay);
  }
  for (const SensorNumbers& sensor : numbers.sensors) {
    text += fmt::format("  {}: {:.4g} J, {:.4g} W on average, {:.4g} J of it while kernels ran\n",
                        sensor.name, sensor.joules, sensor.watts, sensor.busy_joules);
    for (const DeviceNumbers& entry : numbers.devices) {
      if (std::count(sensor.devices.begin(), sensor.devices.end(), entry.device.index) == 0)
        continue;
      text += fmt::format("    {}: {:.4g} J while it computed\n",
                          device_name(numbers, entry.device.index), entry.joules);
    }
  }
  if (!numbers.energy_absent.empty()) {
    text += fmt::format("  not measured of {}\n", numbers.energy_absent);
  }
  return text;
}

std::string kernel_text(const TraceFile& trace, const ReportNumbers& numbers,
                        const KernelNumbers& kernel) {
  std::string text = fmt::format("  {}: {} launch{}, {} split, {} in all, median {}\n",
                                 toned(Tone::kStrong, kernel.name), kernel.launches,
                                 kernel.launches == 1 ? "" : "es", kernel.split,
                                 time_text(kernel.total_ns), time_text(kernel.median_ns));
  if (kernel.failed > 0) {
    text += fmt::format("    {}\n", toned(Tone::kBad, fmt::format("{} failed", kernel.failed)));
  }
  if (kernel.unfinished > 0) {
    text += fmt::format("    {} had not ended when the trace stops\n", kernel.unfinished);
  }
  text += fmt::format("    {:.3g} % of the kernels' time, {:.3g} % of the whole time",
                      100 * kernel.share, 100 * kernel.run_share);
  if (kernel.gain > 0) {
    text += fmt::format("; {:.3g} times as fast as the best single device{}", kernel.gain,
                        kernel.gain < 1 ? ": " + toned(Tone::kBad, "lost") : std::string());
  }
  text += '\n';
  for (const VerdictNumbers& verdict : kernel.verdicts) {
    text += fmt::format("    {} x {}: {}\n", verdict.launches, verdict.mode,
                        verdict.reason.empty() ? "no reason was needed" : verdict.reason);
  }
  if (kernel.joules > 0) {
    text += fmt::format("    energy: {:.4g} J, energy-delay product {:.4g} J s\n", kernel.joules,
                        kernel.energy_delay);
  }
  if (kernel.measured_launches > 0) {
    text += fmt::format("    split launches took {}; ideal {}: efficiency {:.2f} (median {:.2f})\n",
                        time_text(kernel.split_ns), time_text(kernel.ideal_ns), kernel.efficiency,
                        kernel.median_efficiency);
    text +=
        fmt::format("    the best single device, {}, would have needed {}: {:.3g} times as long\n",
                    device_name(numbers, kernel.best_device), time_text(kernel.best_ns),
                    static_cast<double>(kernel.best_ns) /
                        static_cast<double>(std::max<uint64_t>(kernel.split_ns, 1)));
  }
  for (const KernelDeviceNumbers& device : kernel.devices) {
    text += fmt::format("    {}: {:.1f} % of the work-items", device_name(numbers, device.device),
                        100 * device.share);
    if (device.packages > 0) {
      text += fmt::format(", {} package{} of {} to {} slices", device.packages,
                          plural(device.packages), device.smallest, device.largest);
    }
    if (device.whole_launches > 0) text += fmt::format(", {} whole", device.whole_launches);
    if (device.speed > 0) text += fmt::format(", {}work-items/s", rate_text(device.speed));
    if (device.joules > 0) text += fmt::format(", {:.4g} J", device.joules);
    text += '\n';
  }
  if (kernel.merges > 0) {
    text += fmt::format("    {} merge{}, {}\n", kernel.merges, plural(kernel.merges),
                        time_text(kernel.merge_ns));
  }
  if (!kernel.moved.empty()) text += "    moved:\n" + moved_text(numbers, kernel.moved);
  return text + packages_picture(trace, numbers, kernel);
}

}  // namespace

std::string time_text(uint64_t ns) {
  return scaled(static_cast<double>(ns), 1000, {"ns", "µs", "ms", "s"});
}

std::string bytes_text(uint64_t bytes) {
  return scaled(static_cast<double>(bytes), 1024, {"B", "KiB", "MiB", "GiB", "TiB", "PiB"});
}

std::string rate_text(double rate) { return scaled(rate, 1000, {"", "k", "M", "G", "T", "P"}); }

std::string report_text(const TraceFile& trace, const ReportNumbers& numbers) {
  std::string text = fmt::format(
      "{}, process {}: {} traced, {} launch{} of {} kernel{}, {} split\n", trace.program,
      trace.process, time_text(trace.duration), numbers.launches, numbers.launches == 1 ? "" : "es",
      numbers.kernels.size(), plural(numbers.kernels.size()), numbers.split);
  if (!trace.complete) {
    text += toned(Tone::kWarning,
                  "The trace breaks off: the application crashed, was killed, or still runs.") +
            "\n";
  }
  const std::string lost =
      fmt::format("{} event{} lost while tracing", numbers.lost, plural(numbers.lost));
  text += (numbers.lost > 0 ? toned(Tone::kWarning, lost) : lost) + "\n";
  text += "\n" + toned(Tone::kStrong, "Devices") + "\n";
  for (const DeviceNumbers& entry : numbers.devices) {
    text +=
        fmt::format("  {} ({})\n", device_name(numbers, entry.device.index), entry.device.platform);
    text += fmt::format("    busy {}, {:.1f} % of the time; {:.1f} % of all devices' busy time\n",
                        time_text(entry.busy_ns), 100 * entry.utilisation, 100 * entry.share);
    text += fmt::format("    {} package{}, {} whole launch{}; {} in, {} out{}\n", entry.packages,
                        plural(entry.packages), entry.whole_launches,
                        entry.whole_launches == 1 ? "" : "es", bytes_text(entry.bytes_to_device),
                        bytes_text(entry.bytes_to_host),
                        entry.device.shares_host_memory ? "; shares the host's memory" : "");
    if (entry.memory) text += memory_text(*entry.memory);
  }
  text += energy_text(numbers);
  text += "\n" + toned(Tone::kStrong, "Kernels") + "\n";
  if (numbers.kernels.empty()) text += "  none was launched\n";
  for (const KernelNumbers& kernel : numbers.kernels) text += kernel_text(trace, numbers, kernel);
  text += "\n" + toned(Tone::kStrong, "The application") + "\n";
  text += fmt::format("  {} call{}, {} in them\n", numbers.calls, plural(numbers.calls),
                      time_text(numbers.call_ns));
  for (const AskedNumbers& entry : numbers.asked) {
    text += fmt::format("  {}: {} in {} command{}, {}\n", entry.what, bytes_text(entry.bytes),
                        entry.commands, plural(entry.commands), time_text(entry.ns));
  }
  if (!numbers.moved.empty()) text += "  moved for it:\n" + moved_text(numbers, numbers.moved);
  return text;
}

}  // namespace tutti::tools
