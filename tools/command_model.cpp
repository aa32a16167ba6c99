// SPDX-License-Identifier: Apache-2.0
#include <fmt/chrono.h>
#include <fmt/core.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/config.h"
#include "scheduler/model/model_store.h"
#include "tools/commands.h"

namespace tutti::tools {
namespace {

using scheduler::ModelStore;
using scheduler::TimeFit;

void print_json(const std::string& file, const std::vector<ModelStore::Entry>& entries,
                const std::vector<ModelStore::Power>& power) {
  nlohmann::ordered_json output{{"file", file},
                                {"entries", nlohmann::ordered_json::array()},
                                {"power", nlohmann::ordered_json::array()}};
  const auto watts = [](const std::optional<double>& value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
  };
  for (const ModelStore::Power& entry : power) {
    output["power"].push_back({{"device", entry.device},
                               {"idle_watts", watts(entry.sums.idle_watts())},
                               {"extra_watts", watts(entry.sums.extra_watts())},
                               {"updated", entry.updated}});
  }
  for (const ModelStore::Entry& entry : entries) {
    const TimeFit fit(entry.sums);
    output["entries"].push_back({{"name", entry.name},
                                 {"kernel", fmt::format("{:016x}", entry.kernel)},
                                 {"device", entry.device},
                                 {"rate", fit.rate()},
                                 {"startup_s", fit.startup()},
                                 {"irregularity", fit.irregularity()},
                                 {"largest", entry.sums.largest},
                                 {"updated", entry.updated}});
  }
  fmt::print("{}\n", output.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

void print_text(const std::string& file, const std::vector<ModelStore::Entry>& entries,
                const std::vector<ModelStore::Power>& power) {
  fmt::print("{}: {} entries\n", file, entries.size());
  const auto watts = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.1f} W", *value) : std::string("-");
  };
  if (!power.empty()) {
    fmt::print("\n{:>10} {:>16}  {}\n", "idle", "more when busy", "device");
  }
  for (const ModelStore::Power& entry : power) {
    fmt::print("{:>10} {:>16}  {}\n", watts(entry.sums.idle_watts()),
               watts(entry.sums.extra_watts()), entry.device);
  }
  if (entries.empty()) return;
  fmt::print("\n{:<28} {:>13} {:>12} {:>10}  {:<16}  {}\n", "kernel", "items or B/s", "start-up",
             "deviation", "last", "device");
  for (const ModelStore::Entry& entry : entries) {
    const TimeFit fit(entry.sums);
    fmt::print("{:<28.28} {:>13.4g} {:>9.1f} us {:>8.1f} %  {:%Y-%m-%d %H:%M}  {}\n", entry.name,
               fit.rate(), fit.startup() * 1e6, fit.irregularity() * 100,
               fmt::localtime(static_cast<std::time_t>(entry.updated)), entry.device);
  }
}

}  // namespace

int model(const ModelOptions& options) {
  const std::string folder = cache_folder(process_config());
  if (folder.empty()) {
    fmt::print(stderr, "tutti model: there is no cache folder: HOME and TUTTI_CACHE are not set\n");
    return kFailed;
  }
  const std::string file = ModelStore::file_in(folder);
  if (!std::filesystem::exists(file)) {
    if (options.json) {
      print_json(file, {}, {});
    } else {
      fmt::print("{}: nothing is remembered yet\n", file);
    }
    return 0;
  }
  auto store = ModelStore::open(
      file, options.clear ? ModelStore::Mode::kCreate : ModelStore::Mode::kReadOnly);
  if (!store) {
    fmt::print(stderr, "tutti model: {}; the next run begins it anew\n", store.error().message);
    return kFailed;
  }
  if (options.clear) {
    if (Status cleared = (*store)->clear(); !cleared) {
      fmt::print(stderr, "tutti model: {}\n", cleared.error().message);
      return kFailed;
    }
    fmt::print("{}: forgotten\n", file);
    return 0;
  }
  auto entries = (*store)->list();
  if (!entries) {
    fmt::print(stderr, "tutti model: {}\n", entries.error().message);
    return kFailed;
  }
  if (options.json) {
    print_json(file, *entries, (*store)->list_power());
  } else {
    print_text(file, *entries, (*store)->list_power());
  }
  return 0;
}

}  // namespace tutti::tools
