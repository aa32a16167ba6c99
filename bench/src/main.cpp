// SPDX-License-Identifier: Apache-2.0
// tutti-bench: correctness and speed of OpenCL kernels on any one device.
// Exit status: 0 all right, 1 a result was wrong, 2 wrong usage or OpenCL failed.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "hand_split.h"
#include "runner.h"

namespace tutti::bench {
namespace {

using Json = nlohmann::ordered_json;

struct Arguments {
  std::string platform;
  std::string device;
  std::string source_folder;
  std::string hand_split;
  std::string reference;
  std::vector<double> shares;
  std::vector<std::string> names;
  RunOptions run;
  bool list = false;
  bool json = false;
};

enum ExitStatus { kRight = 0, kWrong = 1, kFailed = 2 };

void list_all(bool as_json) {
  const std::vector<PlatformListing> platforms = list_platforms();
  if (as_json) {
    Json out = {{"benchmarks", Json::array()}, {"platforms", Json::array()}};
    for (const Entry& entry : all_benchmarks()) {
      out["benchmarks"].push_back({{"name", entry.name},
                                   {"summary", entry.summary},
                                   {"size", entry.size_meaning},
                                   {"default_size", entry.default_size},
                                   {"tolerance", entry.tolerance}});
    }
    for (const PlatformListing& platform : platforms) {
      Json devices = Json::array();
      for (cl_device_id id : platform.devices) devices.push_back(device_text(id, CL_DEVICE_NAME));
      out["platforms"].push_back(
          {{"index", platform.index}, {"name", platform.name}, {"devices", devices}});
    }
    std::cout << out.dump(2) << '\n';
    return;
  }
  for (const Entry& entry : all_benchmarks()) {
    std::printf("%-12s %s\n%12s --size (default %zu): %s\n%12s right when: %s\n",
                entry.name.c_str(), entry.summary.c_str(), "", entry.default_size,
                entry.size_meaning.c_str(), "", entry.tolerance.c_str());
  }
  std::printf("\n");
  for (const PlatformListing& platform : platforms) {
    std::printf("platform %zu: %s\n", platform.index, platform.name.c_str());
    for (std::size_t i = 0; i < platform.devices.size(); ++i) {
      const std::string name = device_text(platform.devices[i], CL_DEVICE_NAME);
      std::printf("  device %zu: %s\n", i, name.c_str());
    }
  }
}

Json to_json(const RunResult& result) {
  const auto times = [](const std::vector<double>& seconds) {
    Json all = Json::array();
    for (const double one : seconds) all.push_back(one * 1e3);
    return Json{{"min", minimum(seconds) * 1e3}, {"median", median(seconds) * 1e3}, {"all", all}};
  };
  Json out = {{"kernel", result.name},
              {"size", result.size},
              {"global", result.range.global},
              {"local", result.range.local},
              {"correct", result.verdict.wrong == 0},
              {"checked", result.verdict.checked},
              {"wrong", result.verdict.wrong},
              {"tolerated", result.verdict.tolerated},
              {"verifications", result.verifications},
              {"build_ms", result.build_seconds * 1e3},
              {"kernel_ms", times(result.kernel_seconds)},
              {"total_ms", times(result.total_seconds)}};
  if (result.verdict.wrong != 0) out["first_wrong"] = result.verdict.first_wrong;
  if (!result.work.unit.empty()) {
    out["rate"] = {{"value", result.work.amount / median(result.kernel_seconds)},
                   {"unit", result.work.unit + "/s"}};
  }
  return out;
}

void print_header(const std::vector<Session>& sessions) {
  for (const Session& session : sessions) {
    const DeviceChoice& choice = session.choice();
    std::printf("%s / %s (driver %s)\n", choice.platform_name.c_str(), choice.device_name.c_str(),
                choice.driver_version.c_str());
  }
  std::printf("\n");
  std::printf("%-12s %9s %21s %21s %17s  %s\n", "", "", "launch+finish, ms", "with transfers, ms",
              "", "");
  std::printf("%-12s %9s %10s %10s %10s %10s %17s  %s\n", "kernel", "size", "min", "median", "min",
              "median", "rate", "result");
}

void print_row(const RunResult& result) {
  std::ostringstream rate;
  if (!result.work.unit.empty()) {
    rate.precision(3);
    rate << result.work.amount / median(result.kernel_seconds) << ' ' << result.work.unit << "/s";
  }
  std::string verdict = "right, all " + std::to_string(result.verdict.checked);
  if (result.verdict.wrong != 0) {
    verdict = "WRONG, " + std::to_string(result.verdict.wrong) + " of " +
              std::to_string(result.verdict.checked) +
              "\n  first wrong: " + result.verdict.first_wrong;
  } else if (result.verdict.tolerated != 0) {
    verdict += " but " + std::to_string(result.verdict.tolerated) + " tolerated";
  }
  std::printf("%-12s %9zu %10.3f %10.3f %10.3f %10.3f %17s  %s\n", result.name.c_str(), result.size,
              minimum(result.kernel_seconds) * 1e3, median(result.kernel_seconds) * 1e3,
              minimum(result.total_seconds) * 1e3, median(result.total_seconds) * 1e3,
              rate.str().c_str(), verdict.c_str());
  std::fflush(stdout);
}

std::vector<Entry> choose_entries(const Arguments& arguments) {
  std::vector<Entry> chosen;
  if (arguments.names.empty()) chosen = all_benchmarks();
  for (const std::string& name : arguments.names) {
    const auto& all = all_benchmarks();
    const auto entry =
        std::find_if(all.begin(), all.end(), [&](const Entry& e) { return e.name == name; });
    if (entry == all.end()) {
      std::string known;
      for (const Entry& one : all) known += " " + one.name;
      throw std::invalid_argument("no benchmark \"" + name + "\"; there are:" + known);
    }
    chosen.push_back(*entry);
  }
  if (!arguments.source_folder.empty()) {
    for (Entry& entry : chosen) {
      const auto path = std::filesystem::path(arguments.source_folder) /
                        ((entry.file.empty() ? entry.name : entry.file) + ".cl");
      if (!std::filesystem::exists(path)) continue;
      std::ifstream file(path, std::ios::binary);
      entry.source.assign(std::istreambuf_iterator<char>(file), {});
      if (!file) throw std::invalid_argument("cannot read " + path.string());
    }
  }
  return chosen;
}

/// The devices that everything runs on: one, or those of a split by hand.
std::vector<Session> open_sessions(const Arguments& arguments) {
  std::vector<Session> sessions;
  if (arguments.hand_split.empty()) {
    sessions.emplace_back(choose_device(arguments.platform, arguments.device));
    return sessions;
  }
  for (const DeviceChoice& choice : choose_devices(arguments.hand_split)) {
    sessions.emplace_back(choice);
  }
  if (!arguments.shares.empty() && arguments.shares.size() != sessions.size()) {
    throw std::invalid_argument("--shares needs a number for each device of --hand-split");
  }
  return sessions;
}

/// Runs one benchmark and reports it; returns whether it was right.
bool run_one(const std::vector<Session>& sessions, const Entry& entry, const Arguments& arguments,
             Json& results) {
  RunResult result;
  Json parts = Json::array();
  if (arguments.hand_split.empty()) {
    result = run_benchmark(sessions.front(), entry, arguments.run);
  } else {
    HandSplitResult split = run_hand_split(sessions, entry, arguments.run, arguments.shares);
    result = std::move(split.run);
    for (const Part& part : split.parts) {
      parts.push_back({{"first", part.first}, {"groups", part.groups}});
    }
  }
  if (arguments.json) {
    results.push_back(to_json(result));
    if (!arguments.hand_split.empty()) results.back()["parts"] = parts;
  } else {
    print_row(result);
  }
  return result.verdict.wrong == 0;
}

ExitStatus run_all(Arguments arguments) {
  std::optional<Session> reference;
  if (!arguments.reference.empty()) {
    reference.emplace(choose_devices(arguments.reference).front());
    arguments.run.reference = &*reference;
  }
  const std::vector<Entry> entries = choose_entries(arguments);
  const std::vector<Session> sessions = open_sessions(arguments);
  Json out = {{"platform", sessions.front().choice().platform_name},
              {"device", sessions.front().choice().device_name},
              {"driver_version", sessions.front().choice().driver_version},
              {"repeat", arguments.run.repeat},
              {"results", Json::array()}};
  if (!arguments.hand_split.empty()) {
    out["devices"] = Json::array();
    for (const Session& session : sessions) {
      out["devices"].push_back(
          {{"platform", session.choice().platform_name}, {"device", session.choice().device_name}});
    }
  }
  if (!arguments.json) print_header(sessions);

  ExitStatus status = kRight;
  for (const Entry& entry : entries) {
    try {
      if (!run_one(sessions, entry, arguments, out["results"]) && status == kRight) {
        status = kWrong;
      }
    } catch (const std::exception& error) {
      // Not asked for by name: a split by hand leaves out what cannot be divided.
      if (arguments.names.empty() && dynamic_cast<const NotDivisible*>(&error) != nullptr) continue;
      // The others may still run; what failed is said and decides the exit status.
      status = kFailed;
      std::cerr << entry.name << ": " << error.what() << '\n';
      out["results"].push_back(
          {{"kernel", entry.name}, {"correct", false}, {"error", error.what()}});
    }
  }
  out["correct"] = status == kRight;
  if (arguments.json) std::cout << out.dump(2) << '\n';
  return status;
}

int main_with_errors(int argc, char** argv) {
  Arguments arguments;
  CLI::App app{"Checks and times OpenCL kernels on one device, against a CPU reference."};
  app.add_flag("--list", arguments.list, "List benchmarks, platforms and devices");
  app.add_option("--platform", arguments.platform,
                 "Index or part of the name (default: the first with a device)");
  app.add_option("--device", arguments.device, "Index or part of the name (default: the first)");
  CLI::Option* const hand_split = app.add_option(
      "--hand-split", arguments.hand_split,
      "Comma list of PLATFORM/DEVICE: divides each range over them by hand, a context and a thread "
      "per device (kernels for which that is simple)");
  hand_split->excludes("--platform")->excludes("--device");
  app.add_option("--shares", arguments.shares,
                 "Comma list: each device's share of a split by hand (default: by measured speeds)")
      ->delimiter(',')
      ->check(CLI::PositiveNumber)
      ->needs(hand_split);
  app.add_option("--reference", arguments.reference,
                 "PLATFORM/DEVICE whose results are the reference, to the bit, where the CPU would "
                 "take too long (kernels that can be divided by hand)");
  app.add_option("--size", arguments.run.size, "Problem size; --list says what it means")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 30));
  app.add_option("--repeat", arguments.run.repeat, "Timed repetitions of each kind")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1000000}))
      ->capture_default_str();
  app.add_flag("--json", arguments.json, "Print one JSON document instead of a table");
  app.add_option("--build-options", arguments.run.build_options, "Options of clBuildProgram")
      ->capture_default_str();
  app.add_option("--source-folder", arguments.source_folder,
                 "Take <kernel>.cl from this folder, where it exists, instead of the built-in one")
      ->check(CLI::ExistingDirectory);
  app.add_option("kernels", arguments.names, "Names of benchmarks (default: all)");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kRight : kFailed;
  }
  if (arguments.list) {
    list_all(arguments.json);
    return kRight;
  }
  return run_all(std::move(arguments));
}

}  // namespace
}  // namespace tutti::bench

int main(int argc, char** argv) {
  try {
    return tutti::bench::main_with_errors(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "tutti-bench: " << error.what() << '\n';
    return tutti::bench::kFailed;
  }
}
