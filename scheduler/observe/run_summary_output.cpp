// SPDX-License-Identifier: Apache-2.0
// The summary as text, for 80 columns, and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/output_file.h"
#include "base/paragraph.h"
#include "base/printable.h"
#include "scheduler/observe/run_summary.h"

namespace tutti::scheduler {
namespace {

std::string counted(uint64_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

std::string launches(uint64_t count) {
  return fmt::format("{} launch{}", count, count == 1 ? "" : "es");
}

/// Three digits.
std::string digits(double value) {
  return fmt::format("{:.{}f}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
}

std::string duration(double seconds) {
  if (seconds < 0.9995e-3) return digits(seconds * 1e6) + " us";
  if (seconds < 0.9995) return digits(seconds * 1e3) + " ms";
  return digits(seconds) + " s";
}

std::string link_text(const backends::DeviceLink& link) {
  return fmt::format("{} there and back, {:.3g} MB/s there, {:.3g} back", duration(link.round_trip),
                     link.to_device * 1e-6, link.from_device * 1e-6);
}

std::string bytes(uint64_t count) {
  const char* const units[] = {"KiB", "MiB", "GiB", "TiB"};
  if (count < 1024) return counted(count, "byte");
  auto value = static_cast<double>(count) / 1024;
  size_t unit = 0;
  for (; value >= 1000 && unit + 1 < std::size(units); ++unit) value /= 1024;
  return digits(value) + " " + units[unit];
}

std::string times_as_fast(double gain) {
  return digits(gain) + " times as fast as the best device alone";
}

/// `text` indented, broken into lines that are indented further.
std::string lines(size_t indentation, std::string_view text) {
  return paragraph(std::string(indentation, ' '), text, indentation + 2, kSummaryColumns);
}

nlohmann::json or_null(const std::optional<double>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

/// As the end of a sentence about the device.
std::string losses_text(const DeviceHealth::Losses& losses) {
  if (losses.count == 0) return {};
  return fmt::format(", was lost {}, for {} in all, and {}", counted(losses.count, "time"),
                     duration(static_cast<double>(losses.ns) * 1e-9),
                     losses.now ? "takes no part" : "takes part again");
}

}  // namespace

std::string RunSummary::device_name(uint32_t device) const {
  const backends::DeviceTraits& traits = backends_.traits(device);
  return fmt::format("{} {}", traits.index, traits.device_name);
}

nlohmann::json RunSummary::kernel_json(const Shown& shown) const {
  const Entry& entry = *shown.entry;
  const Numbers& numbers = shown.numbers;
  nlohmann::json kernel = {{"name", *shown.name},
                           {"launches", numbers.launches()},
                           {"split", numbers.split},
                           {"seconds", numbers.seconds()},
                           {"split_seconds", numbers.split_seconds},
                           {"gain", or_null(numbers.gain())}};
  nlohmann::json verdicts = nlohmann::json::array();
  for (const Kind& kind : entry.kinds) {
    verdicts.push_back({{"split", kind.split},
                        {"launches", kind.launches},
                        {"mode", merge_mode_name(kind.mode)},
                        {"reason", kind.reason()},
                        {"forbids", kind.whole.forbids},
                        {"unprofitable", kind.whole.unprofitable},
                        {"line", kind.line},
                        {"of_last", kind.varies}});
  }
  // Beside the list, the one that tells most: how it was split, or else the commonest reason.
  const auto most =
      std::max_element(entry.kinds.begin(), entry.kinds.end(), [](const Kind& a, const Kind& b) {
        return std::pair(a.split, a.launches) < std::pair(b.split, b.launches);
      });
  const bool any = most != entry.kinds.end();
  kernel["mode"] = merge_mode_name(any ? most->mode : MergeMode::kWhole);
  kernel["reason"] = any ? most->reason() : std::string();
  kernel["line"] = any ? most->line : 0;
  kernel["verdicts"] = std::move(verdicts);
  if (entry.split > 0) {
    nlohmann::json packages = nlohmann::json::array();
    for (const PackageRecord& package : entry.packages) {
      packages.push_back({{"device", backends_.traits(package.device).index},
                          {"name", backends_.traits(package.device).device_name},
                          {"first", package.first},
                          {"count", package.count},
                          {"start_ns", package.start_ns},
                          {"end_ns", package.end_ns}});
    }
    kernel["dimension"] = entry.dimension;
    kernel["repeated"] = entry.repeated;
    kernel["streamed"] = entry.streamed;
    kernel["panels"] = entry.panels;
    kernel["last"] = {{"packages", std::move(packages)},
                      {"local_size", entry.shape.local},
                      {"global_size", entry.shape.global},
                      {"slice_size", entry.shape.local[entry.dimension]}};
  }
  nlohmann::json whole = nlohmann::json::array();
  for (const auto& [device, time] : numbers.devices) {
    whole.push_back({{"device", backends_.traits(device).index},
                     {"launches", time.launches},
                     {"measured", time.measured},
                     {"unknown", time.unknown},
                     {"seconds", time.seconds}});
  }
  kernel["whole"] = std::move(whole);
  return kernel;
}

std::string RunSummary::votes_text() const {
  std::string text;
  for (uint32_t i = 0; i < backends_.count(); ++i) {
    const DeviceHealth::Votes votes = backends_.health().votes(i);
    if (votes.all == 0) continue;
    text += lines(2, fmt::format("{} was outvoted {} of {} times ({:.3g} %)", device_name(i),
                                 votes.wrong, votes.all, 100 * votes.failure_rate()));
  }
  return text;
}

std::string RunSummary::json() const {
  const EnergyTotals energy = energy_.totals();
  MutexLock lock(mutex_);
  const auto [shown, total] = by_time();
  const backends::Traffic moved = traffic();
  nlohmann::json kernels = nlohmann::json::array();
  for (const Shown& kernel : shown) {
    nlohmann::json& made = kernels.emplace_back(kernel_json(kernel));
    if (const auto used = energy.kernels.find(*kernel.name); used != energy.kernels.end()) {
      made["energy"] = energy_.kernel_json(used->second);
    }
  }
  nlohmann::json devices = nlohmann::json::array();
  for (uint32_t i = 0; i < backends_.count(); ++i) {
    const backends::Traffic of = backends_.at(i).traffic();
    const backends::Traffic staged = backends_.transfers().staged(i);
    const DeviceHealth::Losses losses = backends_.health().losses(i);
    const DeviceHealth::Votes votes = backends_.health().votes(i);
    const MemoryHistory::Sums memory = backends_.memory(i).history().sums();
    const backends::DeviceTraits& traits = backends_.traits(i);
    nlohmann::json link;
    if (traits.is_far()) {
      link = {{"round_trip", traits.link.round_trip},
              {"to_device", traits.link.to_device},
              {"from_device", traits.link.from_device}};
    }
    devices.push_back({{"index", traits.index},
                       {"name", traits.device_name},
                       {"platform", traits.platform_name},
                       {"own_process", traits.own_process},
                       {"link", std::move(link)},
                       {"bytes_to_device", of.to_device},
                       {"bytes_to_host", of.to_host},
                       {"staged_to_device", staged.to_device},
                       {"staged_to_host", staged.to_host},
                       {"memory_peak", backends_.memory(i).peak()},
                       {"evictions", memory.evicted.count},
                       {"evicted_bytes", memory.evicted.bytes},
                       {"shard_changes", memory.reshaped.count},
                       {"shard_bytes", memory.reshaped.bytes},
                       {"failures", backends_.health().failures(i)},
                       {"votes", votes.all},
                       {"outvoted", votes.wrong},
                       {"lost", losses.now},
                       {"losses", losses.count},
                       {"lost_seconds", static_cast<double>(losses.ns) * 1e-9},
                       {"late", losses.late}});
  }
  nlohmann::json output = {
      {"devices", std::move(devices)},
      {"total",
       {{"kernels", shown.size()},
        {"launches", total.launches()},
        {"split", total.split},
        {"whole", total.whole.launches},
        {"seconds", total.seconds()},
        {"split_seconds", total.split_seconds},
        {"gain", or_null(total.gain())},
        {"unknown", total.whole.unknown},
        {"beside_others", beside_others_},
        {"bytes_to_devices", moved.to_device},
        {"bytes_to_host", moved.to_host},
        {"bytes_prefetched", sent_ahead_.load()},
        {"guesses", {{"right", guessed_right_.load()}, {"wrong", guessed_wrong_.load()}}}}},
      {"kernels", std::move(kernels)}};
  if (energy_.wanted()) output["energy"] = energy_.json();
  return printable_json(output.dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
}

std::string RunSummary::kernel_text(const Shown& shown, double total_seconds) const {
  const Entry& entry = *shown.entry;
  const Numbers& numbers = shown.numbers;
  const auto time = [](const WholeTime& of) {
    if (of.unknown == of.launches) return std::string("not measured");
    return (of.measured < of.launches ? "about " : "") + duration(of.seconds);
  };
  std::string head = fmt::format("{}: {}", *shown.name, launches(numbers.launches()));
  if (numbers.seconds() > 0) {
    head += fmt::format(", {}{}", numbers.whole.measured < numbers.whole.launches ? "about " : "",
                        duration(numbers.seconds()));
    if (total_seconds > 0)
      head += fmt::format(", {:.1f} %", 100 * numbers.seconds() / total_seconds);
  }
  std::string text = lines(2, head);
  const auto reasons = [&](bool split) {
    for (const Kind& kind : entry.kinds) {
      if (kind.split != split) continue;
      const std::string_view mode = split ? merge_mode_name(kind.mode) : "";
      text += lines(6, fmt::format("{}{}{}{}: {}", kind.launches, split ? " " : "", mode,
                                   kind.varies ? ", the last" : "", kind.reason()));
    }
  };
  if (numbers.split > 0) {
    std::string line = fmt::format("{} split, {}", numbers.split, duration(numbers.split_seconds));
    if (const auto gain = numbers.gain()) line += ", " + times_as_fast(*gain);
    text += lines(4, line);
    reasons(true);
    if (entry.streamed > 0) {
      text += lines(6, fmt::format("streamed, since devices have no memory for their shares: {}",
                                   entry.streamed));
    }
    if (entry.panels > 0) {
      text += lines(6, fmt::format("with columns packed in panels: {}", entry.panels));
    }
    if (entry.repeated > 0) text += fmt::format("      so repeated: {}\n", entry.repeated);
    text += shares_text(entry);
  }
  if (numbers.whole.launches > 0) {
    std::string line = fmt::format("{} whole, {}", numbers.whole.launches, time(numbers.whole));
    const bool one = numbers.devices.size() == 1;
    if (one) line += " on " + device_name(numbers.devices.begin()->first);
    text += lines(4, line);
    reasons(false);
    for (const auto& [device, of] : numbers.devices) {
      if (one) continue;
      text +=
          lines(6, fmt::format("{}: {}, {}", device_name(device), launches(of.launches), time(of)));
    }
  }
  return text;
}

std::string RunSummary::shares_text(const Entry& entry) const {
  std::string text = entry.split == 1 ? "" : "      the last of them:\n";
  uint64_t all = 0;
  for (const auto& package : entry.packages) all += package.count;
  for (uint32_t i = 0; i < backends_.count(); ++i) {
    uint64_t slices = 0, count = 0, busy = 0;
    for (const auto& package : entry.packages) {
      if (package.device != i) continue;
      slices += package.count;
      busy += package.end_ns - package.start_ns;
      ++count;
    }
    const double part = all ? 100 * static_cast<double>(slices) / static_cast<double>(all) : 0;
    text +=
        lines(entry.split == 1 ? 6 : 8,
              fmt::format("{}: {:.1f} % in {}, {}", device_name(i), part, counted(count, "package"),
                          duration(static_cast<double>(busy) * 1e-9)));
  }
  return text;
}

std::string RunSummary::text() const {
  const EnergyTotals energy = energy_.totals();
  MutexLock lock(mutex_);
  const auto [shown, total] = by_time();
  std::string text = "tutti: what ran where\n";
  std::string line = fmt::format("{}, {}: {} split, {} whole", counted(shown.size(), "kernel"),
                                 launches(total.launches()), total.split, total.whole.launches);
  if (total.seconds() > 0) {
    line += fmt::format("; {}{} of computing",
                        total.whole.measured < total.whole.launches ? "about " : "",
                        duration(total.seconds()));
  }
  text += lines(2, line);
  if (total.split > 0) {
    line = "split launches: " + duration(total.split_seconds);
    if (const auto gain = total.gain()) line += ", " + times_as_fast(*gain);
    text += lines(2, line);
  }
  if (beside_others_ > 0) {
    text += lines(2, fmt::format("planned around other processes on the devices: {}",
                                 launches(beside_others_)));
  }
  const backends::Traffic moved = traffic();
  text += moved.to_device + moved.to_host == 0
              ? "  nothing was moved to or from devices\n"
              : lines(2, fmt::format("moved: {} to devices, {} from them", bytes(moved.to_device),
                                     bytes(moved.to_host)));
  if (const uint64_t right = guessed_right_.load(), wrong = guessed_wrong_.load(); right + wrong) {
    text += lines(2, fmt::format("prefetched: {}; which launch comes next was right {}, wrong {}",
                                 bytes(sent_ahead_.load()), counted(right, "time"), wrong));
  }
  for (uint32_t i = 0; i < backends_.count(); ++i) {
    const uint64_t failures = backends_.health().failures(i);
    const DeviceHealth::Losses losses = backends_.health().losses(i);
    const backends::DeviceTraits& traits = backends_.traits(i);
    if (traits.own_process) {
      text += lines(2, fmt::format("{} is in a process of its own", device_name(i)));
    }
    const backends::Traffic staged = backends_.transfers().staged(i);
    if (staged.to_device + staged.to_host > 0) {
      text += lines(2, fmt::format("staged: {} to {}, {} from it", bytes(staged.to_device),
                                   device_name(i), bytes(staged.to_host)));
    }
    if (const uint64_t peak = backends_.memory(i).peak()) {
      text += lines(2, fmt::format("buffers had at most {} on {}", bytes(peak), device_name(i)));
    }
    const MemoryHistory::Sums memory = backends_.memory(i).history().sums();
    if (memory.evicted.count > 0) {
      text += lines(
          2, fmt::format("the memory of {} was full: {} went back to the host, {}", device_name(i),
                         counted(memory.evicted.count, "buffer"), bytes(memory.evicted.bytes)));
    }
    if (memory.reshaped.count > 0) {
      text += lines(
          2, fmt::format("shards on {} were made or changed {}, {} in all", device_name(i),
                         counted(memory.reshaped.count, "time"), bytes(memory.reshaped.bytes)));
    }
    if (traits.is_far()) {
      text += lines(2, fmt::format("the link of {}: {}", device_name(i), link_text(traits.link)));
    }
    if (losses.late > 0) {
      text += lines(2, fmt::format("launches went on without {} of {}",
                                   counted(losses.late, "package"), device_name(i)));
    }
    if (failures == 0) continue;
    text += lines(2, fmt::format("{} has failed {}{}", device_name(i), counted(failures, "time"),
                                 losses_text(losses)));
  }
  text += votes_text();
  for (const Shown& kernel : shown) {
    text += kernel_text(kernel, total.seconds());
    if (const auto used = energy.kernels.find(*kernel.name); used != energy.kernels.end()) {
      text += EnergyMonitor::kernel_text(used->second);
    }
  }
  // Names are what programs and drivers call things.
  return printable(text + energy_.text(), "\n");
}

void RunSummary::write() const {
  if (!enabled()) return;
  if (target_ == "-") {
    std::fputs(text().c_str(), stderr);
    return;
  }
  if (holds_something_else(target_, {Written::kSummary})) {
    log(LogLevel::kWarning, "TUTTI_SUMMARY={}: it exists and is no summary; it stays as it is",
        target_);
    return;
  }
  if (const Status written = write_output(target_, json() + '\n'); !written) {
    log(LogLevel::kWarning, "the summary could not be written to '{}': {}", target_,
        written.error().message);
  }
}

}  // namespace tutti::scheduler
