// SPDX-License-Identifier: Apache-2.0
#include <fmt/chrono.h>
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/config.h"
#include "scheduler/model/model_store.h"
#include "tools/commands.h"
#include "tools/terminal.h"

namespace tutti::tools {
namespace {

struct ModelOptions {
  bool clear = false;
  bool json = false;
};

using scheduler::ModelStore;
using scheduler::TimeFit;

void print_json(const std::string& file, const std::vector<ModelStore::Entry>& entries,
                const std::vector<ModelStore::Power>& power, uint64_t launches) {
  nlohmann::ordered_json output{{"file", file},
                                {"entries", nlohmann::ordered_json::array()},
                                {"power", nlohmann::ordered_json::array()},
                                {"launches", launches}};
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
  fmt::print("{}", json_text(output));
}

/// A table of kernels for each device, whose names are long.
void print_entries(const std::vector<ModelStore::Entry>& entries) {
  const size_t columns = output_columns();
  const bool dates = columns >= 72;
  const size_t width =
      std::clamp<size_t>(columns - std::min<size_t>(columns, dates ? 56 : 38), 12, 28);
  std::vector<std::string> devices;
  for (const ModelStore::Entry& entry : entries) {
    if (std::count(devices.begin(), devices.end(), entry.device) == 0) {
      devices.push_back(entry.device);
    }
  }
  for (const std::string& device : devices) {
    put("\n" + paragraph("", printable(device), 2, columns, LongWords::kBreak));
    const std::string head = fmt::format("  {} {:>12} {:>11} {:>9}", padded("kernel", width),
                                         "items or B/s", "start-up", "deviation");
    say("{}{}\n", toned(Tone::kStrong, head), dates ? toned(Tone::kStrong, "  last") : "");
    for (const ModelStore::Entry& entry : entries) {
      if (entry.device != device) continue;
      const TimeFit fit(entry.sums);
      const auto updated = fmt::localtime(static_cast<std::time_t>(entry.updated));
      say("  {} {:>12.4g} {:>8.1f} us {:>7.1f} %{}\n", fitted(printable(entry.name), width),
          fit.rate(), fit.startup() * 1e6, fit.irregularity() * 100,
          dates ? fmt::format("  {:%Y-%m-%d %H:%M}", updated) : std::string());
    }
  }
}

void print_text(const std::string& file, const std::vector<ModelStore::Entry>& entries,
                const std::vector<ModelStore::Power>& power, uint64_t launches) {
  say("{}: {} entries{}\n", file, entries.size(),
      launches > 0 ? fmt::format(", {} launches with what they read and what followed", launches)
                   : std::string());
  const auto watts = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.1f} W", *value) : std::string("-");
  };
  if (!power.empty()) {
    const std::string head = fmt::format("{:>10} {:>16}  {}", "idle", "more when busy", "device");
    say("\n{}\n", toned(Tone::kStrong, head));
  }
  for (const ModelStore::Power& entry : power) {
    say("{:>10} {:>16}  {}\n", watts(entry.sums.idle_watts()), watts(entry.sums.extra_watts()),
        printable(entry.device));
  }
  print_entries(entries);
}

int model(const ModelOptions& options) {
  const std::string folder = cache_folder(process_config());
  if (folder.empty()) {
    complain("model", "there is no cache folder: HOME and TUTTI_CACHE are not set");
    return kFailed;
  }
  const std::string file = ModelStore::file_in(folder);
  if (!std::filesystem::exists(file)) {
    if (options.json) {
      print_json(file, {}, {}, 0);
    } else {
      say("{}: nothing is remembered yet\n", file);
    }
    return 0;
  }
  auto store = ModelStore::open(
      file, options.clear ? ModelStore::Mode::kCreate : ModelStore::Mode::kReadOnly);
  if (!store) {
    complain("model", store.error().message + "; the next run begins it anew");
    return kFailed;
  }
  if (options.clear) {
    if (Status cleared = (*store)->clear(); !cleared) {
      complain("model", cleared.error().message);
      return kFailed;
    }
    say("{}: forgotten\n", file);
    return 0;
  }
  auto entries = (*store)->list();
  if (!entries) {
    complain("model", entries.error().message);
    return kFailed;
  }
  if (options.json) {
    print_json(file, *entries, (*store)->list_power(), (*store)->count_launches());
  } else {
    print_text(file, *entries, (*store)->list_power(), (*store)->count_launches());
  }
  return 0;
}

CommandLine add_model(CLI::App& command) {
  const auto options = std::make_shared<ModelOptions>();
  command.require_subcommand(1);
  command.add_subcommand("show", "Every kernel on every device")
      ->add_flag("--json", options->json, "As JSON");
  const CLI::App* clear = command.add_subcommand("clear", "Forget all");
  return {[options, clear] {
    options->clear = clear->parsed();
    return model(*options);
  }};
}

}  // namespace

const Command kModelCommand{"model", "Show or forget what is remembered of kernels' speeds",
                            add_model};

}  // namespace tutti::tools
