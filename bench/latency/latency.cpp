// SPDX-License-Identifier: Apache-2.0
// tutti-latency: what tiny commands cost on a native platform and on a virtual one, in the same
// process and run, with the repetitions of both interleaved in random order.
// Exit status: 0 measured, 1 a platform is missing or OpenCL failed, 2 wrong usage.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <map>
#include <memory>
#include <optional>

#include "rows.h"

namespace tutti::bench {
namespace {

void measure(benchmark::State& state, Side& side, const Row& row) {
  try {
    for (auto _ : state) row.once(side);
  } catch (const std::exception& error) {
    state.SkipWithError(error.what());
  }
}

/// Whether a run ended by SkipWithError: Google Benchmark 1.8 renamed the member.
template <typename Run>
bool was_skipped(const Run& run) {
  if constexpr (requires { run.skipped; }) {
    return static_cast<bool>(run.skipped);
  } else {
    return run.error_occurred;
  }
}

/// Keeps each repetition's time in µs, and prints of Google Benchmark's lines the medians and their
/// coefficients of variation only.
class Collector : public benchmark::ConsoleReporter {
 public:
  Collector() : ConsoleReporter(isatty(STDOUT_FILENO) != 0 ? OO_ColorTabular : OO_Tabular) {}

  void ReportRuns(const std::vector<Run>& runs) override {
    std::vector<Run> shown;
    for (const Run& run : runs) {
      if (was_skipped(run)) {
        failed_ = true;
        shown.push_back(run);
      } else if (run.run_type == Run::RT_Aggregate) {
        if (run.aggregate_name == "median" || run.aggregate_name == "cv") shown.push_back(run);
      } else if (run.iterations != 0) {
        micros_[run.run_name.function_name].push_back(run.real_accumulated_time * 1e6 /
                                                      static_cast<double>(run.iterations));
      }
    }
    if (!shown.empty()) ConsoleReporter::ReportRuns(shown);
  }

  bool failed() const { return failed_; }

  std::optional<double> median(const std::string& name) const {
    const auto found = micros_.find(name);
    if (found == micros_.end()) return std::nullopt;
    std::vector<double> values = found->second;
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 != 0 ? values[half] : (values[half - 1] + values[half]) / 2;
  }

 private:
  std::map<std::string, std::vector<double>> micros_;
  bool failed_ = false;
};

void print_comparison(const Collector& collector) {
  std::printf("\n%-27s %12s %12s %14s %8s\n", "medians, us", "native", "virtual", "difference",
              "ratio");
  for (const Row& row : rows()) {
    const auto native = collector.median(std::string("native/") + row.name);
    const auto other = collector.median(std::string("virtual/") + row.name);
    if (!other) continue;  // left out by --benchmark_filter
    if (native) {
      std::printf("%-27s %12.3f %12.3f %14.3f %8.3f\n", row.name, *native, *other, *other - *native,
                  *other / *native);
    } else {
      std::printf("%-27s %12s %12.3f %14s %8s\n", row.name, "-", *other, "-", "-");
    }
  }
}

/// Takes `--<name>=value` out of the arguments; else the environment's value; else `fallback`.
std::string take_option(std::vector<char*>& arguments, const std::string& name,
                        const char* variable, const std::string& fallback) {
  const char* inherited = variable != nullptr ? std::getenv(variable) : nullptr;
  std::string value = inherited != nullptr ? inherited : fallback;
  const std::string prefix = "--" + name + "=";
  std::erase_if(arguments, [&](char* argument) {
    const std::string text = argument;
    if (!text.starts_with(prefix)) return false;
    value = text.substr(prefix.size());
    return true;
  });
  return value;
}

constexpr const char* kUsage =
    "tutti-latency [--native=PLATFORM] [--virtual=PLATFORM] [--native-device=D]\n"
    "              [--virtual-device=D] [--benchmark_...]\n"
    "PLATFORM and D are an index or a part of a name. Defaults: the environment's LATENCY_NATIVE\n"
    "(else \"Portable Computing Language\") and LATENCY_VIRTUAL (else \"Tutti\"); first devices.\n";

int run(int argc, char** argv) {
  // Defaults go first: what the user gives later wins.
  std::string interleave = "--benchmark_enable_random_interleaving=true";
  std::string repetitions = "--benchmark_repetitions=15";
  std::string shortest = "--benchmark_min_time=0.05";
  std::vector<char*> arguments = {argv[0], interleave.data(), repetitions.data(), shortest.data()};
  arguments.insert(arguments.end(), argv + 1, argv + argc);

  const std::string native =
      take_option(arguments, "native", "LATENCY_NATIVE", "Portable Computing Language");
  const std::string other = take_option(arguments, "virtual", "LATENCY_VIRTUAL", "Tutti");
  const std::string native_device = take_option(arguments, "native-device", nullptr, "");
  const std::string other_device = take_option(arguments, "virtual-device", nullptr, "");
  for (const char* argument : arguments) {
    if (std::string(argument) == "--help" || std::string(argument) == "-h") {
      std::fputs(kUsage, stdout);
      return 0;
    }
  }
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) {
    std::fputs(kUsage, stderr);
    return 2;
  }

  std::vector<std::unique_ptr<Side>> sides;
  sides.push_back(std::make_unique<Side>("native", native, native_device));
  sides.push_back(std::make_unique<Side>("virtual", other, other_device));
  for (const auto& side : sides) {
    std::printf("%-8s %s / %s\n", side->name().c_str(), side->choice().platform_name.c_str(),
                side->choice().device_name.c_str());
    for (const Row& row : rows()) {
      if (row.holds_back && !side->can_hold_back()) continue;
      if (row.records && !side->can_record()) continue;
      auto* const registered = benchmark::RegisterBenchmark((side->name() + "/" + row.name).c_str(),
                                                            measure, std::ref(*side), row);
      registered->UseRealTime()->Unit(benchmark::kMicrosecond);
      if (row.iterations != 0) registered->Iterations(row.iterations);
    }
  }

  Collector collector;
  const std::size_t ran = benchmark::RunSpecifiedBenchmarks(&collector);
  benchmark::Shutdown();
  if (collector.failed() || ran == 0) {
    std::fputs("tutti-latency: a benchmark failed, or none was chosen\n", stderr);
    return 1;
  }
  print_comparison(collector);
  for (const auto& side : sides) {
    if (side->counters_are_right()) continue;
    std::fprintf(stderr, "tutti-latency: %s computed wrong counters\n", side->name().c_str());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace tutti::bench

int main(int argc, char** argv) {
  try {
    return tutti::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "tutti-latency: " << error.what() << '\n';
    return 1;
  }
}
