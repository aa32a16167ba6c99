// SPDX-License-Identifier: Apache-2.0
#include "base/rapl.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <vector>

#include "base/safe_file.h"

namespace tutti {
namespace {

namespace fs = std::filesystem;

constexpr double kJoulesPerMicrojoule = 1e-6;

std::optional<uint64_t> number_in(const fs::path& path) {
  const std::string text = first_line_of(path);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

struct Package {
  fs::path counter;
  uint64_t range = 0;  // the counter's largest value, in µJ; 0: not known
  uint64_t last = 0;   // µJ
  double joules = 0;

  bool update() {
    const auto now = number_in(counter);
    if (!now) return false;
    uint64_t used = 0;
    if (*now >= last) {
      used = *now - last;
    } else if (last > range / 2 && *now < range / 2 && last <= range) {
      used = range - last + *now;
    } else {
      used = *now;  // no wrap: it began anew, as after a suspend
    }
    joules += static_cast<double>(used) * kJoulesPerMicrojoule;
    last = *now;
    return true;
  }
};

class RaplSensor final : public EnergySensor {
 public:
  RaplSensor(std::string name, std::vector<Package> packages)
      : name_(std::move(name)), packages_(std::move(packages)) {}

  const std::string& name() const override { return name_; }
  std::optional<double> joules() override {
    double sum = 0;
    bool all = true;
    for (Package& package : packages_) {
      all = package.update() && all;
      sum += package.joules;
    }
    if (!all) return std::nullopt;
    return sum;
  }

 private:
  const std::string name_;
  std::vector<Package> packages_;
};

/// "intel-rapl:0", but not "intel-rapl:0:1" (a part of it) or "intel-rapl-mmio:0" (the same again).
bool is_zone(std::string_view name) {
  constexpr std::string_view kPrefix = "intel-rapl:";
  return name.starts_with(kPrefix) && name.size() > kPrefix.size() &&
         name.find_first_not_of("0123456789", kPrefix.size()) == std::string_view::npos;
}

}  // namespace

FoundSensor find_rapl(const std::string& folder) {
  std::vector<fs::path> zones;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (is_zone(at->path().filename().string())) zones.push_back(at->path());
  }
  std::sort(zones.begin(), zones.end());
  std::vector<Package> packages;
  std::string names;
  for (const fs::path& zone : zones) {
    const std::string name = first_line_of(zone / "name");
    if (!name.starts_with("package")) continue;
    Package package{zone / "energy_uj"};
    const auto now = number_in(package.counter);
    if (!now) {
      const int reason = errno;
      if (reason == EACCES || reason == EPERM) {
        return {nullptr,
                fmt::format("only root may read {} (Linux since CVE-2020-8694); until the next "
                            "boot, this lets everybody: sudo chmod a+r {}/intel-rapl:*/energy_uj",
                            package.counter.string(), folder)};
      }
      return {nullptr, fmt::format("{} cannot be read: {}", package.counter.string(),
                                   reason != 0 ? std::strerror(reason) : "it holds no number")};
    }
    package.last = *now;
    package.range = number_in(zone / "max_energy_range_uj").value_or(0);
    names += (names.empty() ? "RAPL " : ", ") + name;
    packages.push_back(std::move(package));
  }
  if (packages.empty()) {
    return {nullptr,
            fmt::format("no RAPL counters of CPU packages in {} (the processor has none, or a "
                        "virtual machine or container hides them)",
                        folder)};
  }
  return {std::make_unique<RaplSensor>(std::move(names), std::move(packages)), {}};
}

}  // namespace tutti
