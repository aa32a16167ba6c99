// SPDX-License-Identifier: Apache-2.0
#include "scheduler/exec/run_summary.h"

#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "platform/log.h"

namespace tutti::scheduler {

void RunSummary::launched_whole(const std::string& kernel, const KernelPlan& plan,
                                uint32_t device) {
  if (!enabled()) return;
  MutexLock lock(mutex_);
  Entry& entry = kernels_[kernel];
  ++entry.launches;
  ++entry.whole[device];
  if (entry.split > 0) return;  // the split launches are what a reader wants to see
  entry.mode = merge_mode_name(MergeMode::kWhole);
  entry.reason = plan.reason();
  const bool judged = plan.why == KernelPlan::Why::kVerdict && plan.access;
  entry.line = judged ? plan.access->verdict().line : 0;
}

void RunSummary::launched_split(const std::string& kernel, const KernelPlan& plan,
                                std::vector<PackageRecord> packages, bool repeated) {
  if (!enabled()) return;
  MutexLock lock(mutex_);
  Entry& entry = kernels_[kernel];
  ++entry.launches;
  ++entry.split;
  if (repeated) ++entry.repeated;
  const Verdict& verdict = plan.access->verdict();
  entry.mode = merge_mode_name(verdict.mode);
  entry.reason = verdict.reason;
  entry.line = verdict.line;
  entry.dimension = verdict.dimension;
  entry.shape = plan.shape;
  entry.packages = std::move(packages);
}

std::string RunSummary::json() const {
  const EnergyTotals energy = energy_.totals();
  MutexLock lock(mutex_);
  nlohmann::json kernels = nlohmann::json::array();
  for (const auto& [name, entry] : kernels_) {
    nlohmann::json kernel = {{"name", name},           {"launches", entry.launches},
                             {"split", entry.split},   {"mode", entry.mode},
                             {"reason", entry.reason}, {"line", entry.line}};
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
      kernel["last"] = {{"packages", std::move(packages)},
                        {"local_size", entry.shape.local},
                        {"global_size", entry.shape.global},
                        {"slice_size", entry.shape.local[entry.dimension]}};
    }
    nlohmann::json whole = nlohmann::json::array();
    for (const auto& [device, launches] : entry.whole) {
      whole.push_back({{"device", backends_.traits(device).index}, {"launches", launches}});
    }
    kernel["whole"] = std::move(whole);
    if (const auto used = energy.kernels.find(name); used != energy.kernels.end()) {
      kernel["energy"] = energy_.kernel_json(used->second);
    }
    kernels.push_back(std::move(kernel));
  }
  nlohmann::json devices = nlohmann::json::array();
  for (uint32_t i = 0; i < backends_.count(); ++i) {
    devices.push_back({{"index", backends_.traits(i).index},
                       {"name", backends_.traits(i).device_name},
                       {"platform", backends_.traits(i).platform_name}});
  }
  nlohmann::json output = {{"devices", std::move(devices)}, {"kernels", std::move(kernels)}};
  if (energy_.wanted()) output["energy"] = energy_.json();
  return output.dump(1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string RunSummary::text() const {
  const EnergyTotals energy = energy_.totals();
  MutexLock lock(mutex_);
  std::string text = "tutti: what ran where\n";
  for (const auto& [name, entry] : kernels_) {
    text += fmt::format("  {}: {} launches, {} split, {}", name, entry.launches, entry.split,
                        entry.mode);
    if (!entry.reason.empty()) text += ": " + entry.reason;
    text += '\n';
    if (entry.repeated > 0) text += fmt::format("    so repeated: {} launches\n", entry.repeated);
    if (const auto used = energy.kernels.find(name); used != energy.kernels.end()) {
      text += EnergyMonitor::kernel_text(used->second);
    }
    if (entry.split == 0) {
      for (const auto& [device, launches] : entry.whole) {
        text += fmt::format("    ran on {} {}", backends_.traits(device).index,
                            backends_.traits(device).device_name);
        text += entry.whole.size() > 1 ? fmt::format(", {} times\n", launches) : "\n";
      }
      continue;
    }
    uint64_t total = 0;
    for (const auto& package : entry.packages) total += package.count;
    for (uint32_t i = 0; i < backends_.count(); ++i) {
      uint64_t slices = 0, count = 0, busy = 0;
      for (const auto& package : entry.packages) {
        if (package.device != i) continue;
        slices += package.count;
        busy += package.end_ns - package.start_ns;
        ++count;
      }
      text += fmt::format(
          "    {} {}: {:.1f} % in {} packages, {:.3f} ms\n", backends_.traits(i).index,
          backends_.traits(i).device_name,
          total ? 100.0 * static_cast<double>(slices) / static_cast<double>(total) : 0.0, count,
          static_cast<double>(busy) * 1e-6);
    }
  }
  return text + energy_.text();
}

void RunSummary::write() const {
  if (!enabled()) return;
  if (target_ == "-") {
    std::fputs(text().c_str(), stderr);
    return;
  }
  std::ofstream file(target_, std::ios::trunc);
  file << json() << '\n';
  file.flush();
  if (!file) log(LogLevel::kWarning, "the summary could not be written to '{}'", target_);
}

}  // namespace tutti::scheduler
