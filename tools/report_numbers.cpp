// SPDX-License-Identifier: Apache-2.0
#include "tools/report_numbers.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "tools/report_energy.h"
#include "tools/report_memory.h"

namespace tutti::tools {
namespace {

double ratio(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

double speed_of(uint64_t items, uint64_t ns) {
  return items == 0 || ns == 0 ? 0 : static_cast<double>(items) / (static_cast<double>(ns) * 1e-9);
}

template <typename T>
T median(std::vector<T> values) {
  if (values.empty()) return T{};
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// What one device did in one launch.
struct Part {
  uint64_t items = 0, busy_ns = 0, packages = 0;
};
using Parts = std::map<uint32_t, Part>;  // by device

struct Counter {
  explicit Counter(const TraceFile& file) : trace(file) {
    for (size_t i = 0; i < trace.launches.size(); ++i) by_command[trace.launches[i].command] = i;
    parts.resize(trace.launches.size());
    for (const TraceSlice& slice : trace.slices) {
      if (slice.kind == SliceKind::kHost) host_commands.insert(slice.command);
    }
  }

  const TraceFile& trace;
  ReportNumbers report;
  std::unordered_map<uint64_t, size_t> by_command;
  std::vector<Parts> parts;  // by launch
  std::map<std::string, KernelNumbers> kernels;
  std::map<std::string, std::map<uint32_t, KernelDeviceNumbers>> kernel_devices;
  using MovedKey = std::tuple<std::string, TransferWay, uint32_t, std::string, std::string>;
  std::map<MovedKey, MovedNumbers> moved;  // the first: kernel, or empty
  std::map<std::string, AskedNumbers> asked;
  std::unordered_set<uint64_t> host_commands;  // those with a slice of host work

  const std::string& text(uint32_t number) const { return trace.texts[number]; }

  const TraceLaunch* launch_of(const TraceSlice& slice) const {
    const auto found = by_command.find(slice.command);
    return found == by_command.end() ? nullptr : &trace.launches[found->second];
  }

  DeviceNumbers& device(uint32_t index) {
    for (DeviceNumbers& entry : report.devices) {
      if (entry.device.index == index) return entry;
    }
    report.devices.push_back({.device = {index, "unknown", {}, false}});
    return report.devices.back();
  }

  void take_run(const TraceSlice& slice) {
    const uint64_t busy = slice.end - slice.begin;
    const bool package = slice.kind == SliceKind::kPackage;
    DeviceNumbers& on = device(slice.device);
    on.busy_ns += busy;
    ++(package ? on.packages : on.whole_launches);
    const TraceLaunch* launch = launch_of(slice);
    if (!launch) return;
    const uint64_t items = !package              ? launch->items
                           : launch->slices == 0 ? 0
                                                 : launch->items / launch->slices * slice.count;
    Part& part = parts[by_command.at(slice.command)][slice.device];
    part.items += items;
    part.busy_ns += busy;
    ++part.packages;
    KernelDeviceNumbers& entry = kernel_devices[text(launch->kernel)][slice.device];
    entry.device = slice.device;
    entry.items += items;
    entry.busy_ns += busy;
    if (!package) {
      ++entry.whole_launches;
      return;
    }
    entry.smallest = entry.packages == 0 ? slice.count : std::min(entry.smallest, slice.count);
    entry.largest = std::max(entry.largest, slice.count);
    ++entry.packages;
  }

  void take_transfer(const TraceSlice& slice) {
    DeviceNumbers& on = device(slice.device);
    if (slice.way == TransferWay::kToDevice) on.bytes_to_device += slice.bytes;
    if (slice.way == TransferWay::kToHost) on.bytes_to_host += slice.bytes;
    MovedNumbers& entry =
        moved[{text(slice.kernel), slice.way, slice.device, text(slice.why), text(slice.argument)}];
    entry.way = slice.way;
    entry.device = slice.device;
    entry.why = text(slice.why);
    entry.argument = text(slice.argument);
    entry.bytes += slice.bytes;
    entry.ns += slice.end - slice.begin;
    ++entry.transfers;
    // On the direct path the transfer is the whole command.
    if (slice.kernel == 0 && slice.command != 0 && !host_commands.contains(slice.command)) {
      take_asked(slice);
    }
  }

  void take_asked(const TraceSlice& slice) {
    AskedNumbers& entry = asked[text(slice.why)];
    entry.what = text(slice.why);
    entry.bytes += slice.bytes;
    entry.ns += slice.end - slice.begin;
    ++entry.commands;
  }

  void take_slices() {
    uint64_t call_end = 0;
    uint32_t call_row = UINT32_MAX;
    for (const TraceSlice& slice : trace.slices) {
      switch (slice.kind) {
        case SliceKind::kApi:
          // Calls within calls (from callbacks) count once.
          if (slice.row != call_row) call_end = 0;
          call_row = slice.row;
          ++report.calls;
          if (slice.end > call_end) {
            report.call_ns += slice.end - std::max(slice.begin, call_end);
            call_end = slice.end;
          }
          break;
        case SliceKind::kPackage:
        case SliceKind::kKernel:
          take_run(slice);
          break;
        case SliceKind::kTransfer:
          take_transfer(slice);
          break;
        case SliceKind::kMerge: {
          KernelNumbers& kernel = kernels[text(slice.kernel)];
          ++kernel.merges;
          kernel.merge_ns += slice.end - slice.begin;
          break;
        }
        case SliceKind::kHost:
          take_asked(slice);
          break;
        case SliceKind::kDecision:
          break;
      }
    }
  }

  /// t_ideal = G / Σ s_i over the devices whose speed is known: in this launch, or else in all.
  void compare_with_ideal(const TraceLaunch& launch, const Parts& did, LaunchNumbers& numbers) {
    if (!launch.split || !launch.ended || launch.failed || launch.end <= launch.begin) return;
    double sum = 0, best = 0;
    const auto& everywhere = kernel_devices[text(launch.kernel)];
    for (const uint32_t index : launch.candidates) {
      double speed = 0;
      if (const auto part = did.find(index); part != did.end()) {
        speed = speed_of(part->second.items, part->second.busy_ns);
      }
      if (const auto all = everywhere.find(index); speed == 0 && all != everywhere.end()) {
        speed = speed_of(all->second.items, all->second.busy_ns);
      }
      sum += speed;
      if (speed > best) {
        best = speed;
        numbers.best_device = index;
      }
    }
    if (sum == 0) return;
    const auto items = static_cast<double>(launch.items);
    numbers.ideal_ns = static_cast<uint64_t>(items / sum * 1e9);
    numbers.best_ns = static_cast<uint64_t>(items / best * 1e9);
    numbers.efficiency = ratio(numbers.ideal_ns, launch.end - launch.begin);
  }

  void take_launch(size_t index) {
    const TraceLaunch& launch = trace.launches[index];
    KernelNumbers& kernel = kernels[text(launch.kernel)];
    LaunchNumbers numbers{
        launch.command, 0,          launch.split, launch.failed, launch.ended,
        launch.begin,   launch.end, launch.items, launch.slices, launch.dimension};
    for (const auto& [device, part] : parts[index]) numbers.packages += part.packages;
    numbers.expected_whole_ns = launch.expected_whole;
    numbers.expected_split_ns = launch.expected_split;
    ++kernel.launches;
    ++report.launches;
    if (launch.split) ++kernel.split, ++report.split;
    if (launch.failed) ++kernel.failed;
    if (!launch.ended) ++kernel.unfinished;
    if (launch.ended) kernel.total_ns += launch.end - launch.begin;
    compare_with_ideal(launch, parts[index], numbers);
    if (numbers.ideal_ns != 0) {
      ++kernel.measured_launches;
      kernel.split_ns += launch.end - launch.begin;
      kernel.ideal_ns += numbers.ideal_ns;
      kernel.best_ns += numbers.best_ns;
    }
    if (const uint64_t best = alone(launch, numbers); best != 0) {
      kernel.alone_ns += best;
      kernel.compared_ns += own_time(launch, parts[index]);
    }
    auto same = std::find_if(
        kernel.verdicts.begin(), kernel.verdicts.end(), [&](const VerdictNumbers& verdict) {
          return verdict.mode == launch.mode && verdict.reason == launch.reason;
        });
    if (same == kernel.verdicts.end()) {
      kernel.verdicts.push_back({launch.mode, launch.reason, launch.line, 0});
      same = std::prev(kernel.verdicts.end());
    }
    ++same->launches;
    numbers.verdict = static_cast<uint32_t>(same - kernel.verdicts.begin());
    kernel.all.push_back(numbers);
  }

  void finish_kernel(KernelNumbers& kernel) {
    std::vector<uint64_t> times;
    std::vector<double> efficiencies;
    std::map<uint32_t, uint64_t> best;
    for (const LaunchNumbers& launch : kernel.all) {
      if (launch.ended) times.push_back(launch.end - launch.begin);
      if (launch.ideal_ns == 0) continue;
      efficiencies.push_back(launch.efficiency);
      const uint64_t count = ++best[launch.best_device];
      if (count >= best[kernel.best_device]) kernel.best_device = launch.best_device;
    }
    kernel.median_ns = median(std::move(times));
    kernel.median_efficiency = median(std::move(efficiencies));
    kernel.efficiency = ratio(kernel.ideal_ns, kernel.split_ns);
    uint64_t items = 0;
    for (const auto& [index, entry] : kernel_devices[kernel.name]) items += entry.items;
    for (auto& [index, entry] : kernel_devices[kernel.name]) {
      entry.share = ratio(entry.items, items);
      entry.speed = speed_of(entry.items, entry.busy_ns);
      kernel.devices.push_back(entry);
    }
  }

  void finish_devices() {
    uint64_t begin = UINT64_MAX, end = 0, busy = 0;
    for (const TraceSlice& slice : trace.slices) {
      if (slice.kind != SliceKind::kPackage && slice.kind != SliceKind::kKernel) continue;
      begin = std::min(begin, slice.begin);
      end = std::max(end, slice.end);
    }
    for (const DeviceNumbers& entry : report.devices) busy += entry.busy_ns;
    for (DeviceNumbers& entry : report.devices) {
      entry.share = ratio(entry.busy_ns, busy);
      entry.utilisation = end > begin ? ratio(entry.busy_ns, end - begin) : 0;
      report.bytes_to_device += entry.bytes_to_device;
      report.bytes_to_host += entry.bytes_to_host;
    }
  }

  /// What the best single device would have needed; 0: not known. Of a whole launch the one that it
  /// ran on counts by that launch, and others by how fast they were in the trace.
  uint64_t alone(const TraceLaunch& launch, const LaunchNumbers& numbers) {
    if (!launch.ended || launch.failed || launch.end <= launch.begin) return 0;
    if (launch.split) return numbers.best_ns;
    uint64_t best = launch.end - launch.begin;
    const auto& ran = parts[by_command.at(launch.command)];
    for (const auto& [index, entry] : kernel_devices[text(launch.kernel)]) {
      if (ran.contains(index)) continue;
      const double speed = speed_of(entry.items, entry.busy_ns);
      if (speed == 0) continue;
      best = std::min(best, static_cast<uint64_t>(static_cast<double>(launch.items) / speed * 1e9));
    }
    return best;
  }

  /// What a launch took of its own: one that began behind others that it waited for has not ended
  /// before them, however short it is. But not less than a device computed for it.
  uint64_t own_time(const TraceLaunch& launch, const Parts& did) const {
    uint64_t begin = launch.begin;
    const auto command = std::lower_bound(
        trace.commands.begin(), trace.commands.end(), launch.command,
        [](const TraceCommand& entry, uint64_t number) { return entry.number < number; });
    if (command != trace.commands.end() && command->number == launch.command) {
      for (const TraceWait& wait : command->waits) {
        const auto before = by_command.find(wait.on);
        if (before == by_command.end()) continue;
        begin = std::max(begin, std::min(trace.launches[before->second].end, launch.end));
      }
    }
    uint64_t computed = 0;
    for (const auto& [device, part] : did) computed = std::max(computed, part.busy_ns);
    return std::max(launch.end - begin, std::min(computed, launch.end - launch.begin));
  }

  void finish_shares() {
    uint64_t all = 0;
    for (const KernelNumbers& kernel : report.kernels) all += kernel.total_ns;
    for (KernelNumbers& kernel : report.kernels) {
      kernel.share = ratio(kernel.total_ns, all);
      kernel.gain = ratio(kernel.alone_ns, kernel.compared_ns);
      for (const MovedNumbers& entry : kernel.moved) kernel.moved_bytes += entry.bytes;
      std::vector<std::pair<uint64_t, uint64_t>> times;
      for (const LaunchNumbers& launch : kernel.all) {
        if (launch.ended) times.emplace_back(launch.begin, launch.end);
      }
      std::sort(times.begin(), times.end());
      uint64_t covered = 0, until = 0;
      for (const auto& [begin, end] : times) {
        if (end <= until) continue;
        covered += end - std::max(begin, until);
        until = end;
      }
      kernel.run_share = ratio(covered, trace.duration);
    }
  }

  void take_commands() {
    std::unordered_map<uint64_t, size_t> place;
    for (const TraceCommand& command : trace.commands) {
      place[command.number] = report.commands.size();
      CommandNumbers& entry = report.commands.emplace_back();
      entry.number = command.number;
      entry.queue = command.queue;
      entry.what = text(command.what);
      entry.kernel = text(command.kernel);
      entry.enqueued = command.enqueued;
      for (const TraceWait& wait : command.waits) {
        if (place.contains(wait.on)) entry.waits.push_back(wait);
      }
    }
    for (const TraceSlice& slice : trace.slices) {
      if (slice.kind == SliceKind::kApi || slice.kind == SliceKind::kDecision) continue;
      const auto found = place.find(slice.command);
      if (found == place.end()) continue;
      CommandNumbers& entry = report.commands[found->second];
      entry.begin = entry.end == 0 ? slice.begin : std::min(entry.begin, slice.begin);
      entry.end = std::max(entry.end, slice.end);
    }
    const auto last = std::max_element(report.commands.begin(), report.commands.end(),
                                       [](const auto& a, const auto& b) { return a.end < b.end; });
    CommandNumbers* on = last == report.commands.end() ? nullptr : &*last;
    while (on) {  // each waits for earlier ones only
      on->critical = true;
      CommandNumbers* before = nullptr;
      for (const TraceWait& wait : on->waits) {
        CommandNumbers& other = report.commands[place.at(wait.on)];
        if (!before || other.end > before->end) before = &other;
      }
      on = before;
    }
  }

  ReportNumbers count() {
    for (const TraceDevice& entry : trace.devices) report.devices.push_back({.device = entry});
    take_slices();
    for (size_t i = 0; i < trace.launches.size(); ++i) take_launch(i);
    for (auto& [name, kernel] : kernels) {
      kernel.name = name;
      finish_kernel(kernel);
    }
    for (const auto& [key, entry] : moved) {
      const auto kernel = kernels.find(std::get<0>(key));
      (kernel == kernels.end() ? report.moved : kernel->second.moved).push_back(entry);
    }
    const auto most = [](const MovedNumbers& a, const MovedNumbers& b) {
      return a.bytes > b.bytes;
    };
    for (const auto& [what, entry] : asked) report.asked.push_back(entry);
    std::stable_sort(report.moved.begin(), report.moved.end(), most);
    for (auto& [name, kernel] : kernels) {
      std::stable_sort(kernel.moved.begin(), kernel.moved.end(), most);
      report.kernels.push_back(std::move(kernel));
    }
    std::stable_sort(report.kernels.begin(), report.kernels.end(),
                     [](const auto& a, const auto& b) { return a.total_ns > b.total_ns; });
    finish_devices();
    finish_shares();
    take_commands();
    report.lost = trace.lost;
    add_energy(trace, report);
    add_memory(trace, report);
    return std::move(report);
  }
};

}  // namespace

ReportNumbers report_numbers(const TraceFile& trace) { return Counter(trace).count(); }

}  // namespace tutti::tools
