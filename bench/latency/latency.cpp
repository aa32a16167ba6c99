// SPDX-License-Identifier: Apache-2.0
// tutti-latency: what tiny commands cost on a native platform and on a virtual one, in the same
// process and run, with the repetitions of both interleaved in random order.
// Exit status: 0 measured, 1 a platform is missing or OpenCL failed, 2 wrong usage.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <span>

#include "cl_objects.h"

namespace tutti::bench {
namespace {

constexpr std::size_t kItems = 64;
constexpr cl_uint kLaunches = 1000;

constexpr const char* kSource = R"(
__kernel void tiny(__global uint* counters) { counters[get_global_id(0)] += 1u; }
__kernel void add(__global uint* counters, uint number) { counters[get_global_id(0)] += number; }
__kernel void add_from(__global uint* counters, __global const uint* number) {
  counters[get_global_id(0)] += *number;
}
)";

/// One platform's side: counters that every launch adds to, so that lost, doubled or misplaced
/// launches show.
class Side {
 public:
  Side(std::string name, const std::string& platform, const std::string& device)
      : name_(std::move(name)),
        session_(choose_device(platform, device)),
        // An option of its own keeps the drivers' program caches of the two sides apart.
        program_(session_.build(kSource, "-cl-std=CL1.2 -DSIDE_" + name_)),
        tiny_(make_kernel(program_, "tiny")),
        add_(make_kernel(program_, "add")),
        add_from_(make_kernel(program_, "add_from")),
        arrays_{DeviceArray<cl_uint>(session_, CL_MEM_READ_WRITE, kItems),
                DeviceArray<cl_uint>(session_, CL_MEM_READ_WRITE, kItems)},
        number_(session_, CL_MEM_READ_ONLY, 1),
        scratch_(session_, CL_MEM_READ_WRITE, kItems) {
    std::iota(numbers_.begin(), numbers_.end(), 1u);
    for (const auto& array : arrays_) array.fill(session_, 0);
    scratch_.fill(session_, 0);
    choose(0);
    set_args(add_, arrays_[0], cl_uint{0});
    set_args(add_from_, arrays_[0], number_);
    add(1);  // compiles, where the driver does so lazily
    add_from(1);
    launch();
    session_.finish();
  }

  const std::string& name() const { return name_; }
  const DeviceChoice& choice() const { return session_.choice(); }

  void launch(cl_event* event = nullptr, const cl_event* after = nullptr) {
    enqueue(tiny_, event, after);
    ++expected_[target_];
  }
  /// With another number than before: one argument is set.
  void add(cl_uint number) {
    detail::set_arg(add_.get(), 1, number);
    enqueue(add_, nullptr);
    expected_[0] += number;
  }
  /// With a number, at most kLaunches, that a small write without an event brings.
  void add_from(cl_uint number) {
    number_.write(session_, std::span(numbers_).subspan(number - 1, 1));
    enqueue(add_from_, nullptr);
    expected_[0] += number;
  }
  /// The same, behind a blocking write.
  void add_from_at_once(cl_uint number) {
    check(clEnqueueWriteBuffer(session_.queue(), number_.get(), CL_TRUE, 0, sizeof number, &number,
                               0, nullptr, nullptr),
          "clEnqueueWriteBuffer");
    enqueue(add_from_, nullptr);
    expected_[0] += number;
  }
  /// Whose counters launch() adds to.
  void choose(std::size_t target) {
    if (target == target_) return;
    set_args(tiny_, arrays_[target]);
    target_ = target;
  }
  void release(cl_event event) { check(clReleaseEvent(event), "clReleaseEvent"); }
  void finish() { session_.finish(); }
  void read_counter() {
    check(clEnqueueReadBuffer(session_.queue(), arrays_[target_].get(), CL_TRUE, 0, sizeof(cl_uint),
                              host_.data(), 0, nullptr, nullptr),
          "clEnqueueReadBuffer");
  }
  void read() {
    check(clEnqueueReadBuffer(session_.queue(), scratch_.get(), CL_TRUE, 0, sizeof(host_),
                              host_.data(), 0, nullptr, nullptr),
          "clEnqueueReadBuffer");
  }
  void write() {
    check(clEnqueueWriteBuffer(session_.queue(), scratch_.get(), CL_TRUE, 0, sizeof(host_),
                               host_.data(), 0, nullptr, nullptr),
          "clEnqueueWriteBuffer");
  }

  /// Whether every launch was computed exactly once.
  bool counters_are_right() {
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      std::vector<cl_uint> found(kItems);
      arrays_[i].read(session_, found);
      session_.finish();
      if (std::any_of(found.begin(), found.end(), [&](cl_uint v) { return v != expected_[i]; })) {
        return false;
      }
    }
    return true;
  }

 private:
  /// Raw and without allocation: the call itself is what is measured.
  void enqueue(const Kernel& kernel, cl_event* event, const cl_event* after = nullptr) {
    static constexpr std::size_t kGlobal = kItems;
    check(clEnqueueNDRangeKernel(session_.queue(), kernel.get(), 1, nullptr, &kGlobal, &kGlobal,
                                 after ? 1 : 0, after, event),
          "clEnqueueNDRangeKernel");
  }

  std::string name_;
  Session session_;
  Program program_;
  Kernel tiny_, add_, add_from_;
  std::array<DeviceArray<cl_uint>, 2> arrays_;
  DeviceArray<cl_uint> number_;
  DeviceArray<cl_uint> scratch_;
  std::array<cl_uint, 16> host_{};
  std::array<cl_uint, kLaunches> numbers_{};
  std::array<cl_uint, 2> expected_{};
  std::size_t target_ = SIZE_MAX;
};

struct Measurement {
  const char* name;
  void (*once)(Side&);
};

/// `once`, kLaunches times with 1, 2, …, and then a finish.
template <typename Once>
void in_a_row(Side& side, Once once) {
  for (cl_uint i = 1; i <= kLaunches; ++i) once(side, i);
  side.finish();
}

const Measurement kMeasurements[] = {
    {"enqueue_finish",
     [](Side& side) {
       side.launch();
       side.finish();
     }},
    {"enqueue_read_4_bytes",
     [](Side& side) {
       side.launch();
       side.read_counter();
     }},
    {"launch_1000_finish",
     [](Side& side) { in_a_row(side, [](Side& s, cl_uint) { s.launch(); }); }},
    {"launch_1000_numbers",
     [](Side& side) { in_a_row(side, [](Side& s, cl_uint i) { s.add(i); }); }},
    {"launch_1000_kernels",
     [](Side& side) {
       in_a_row(side, [](Side& s, cl_uint i) {
         if (i % 2 == 0) {
           s.launch();
         } else {
           s.add(1);
         }
       });
     }},
    {"launch_1000_buffers",
     [](Side& side) {
       in_a_row(side, [](Side& s, cl_uint i) {
         s.choose(i % 2);
         s.launch();
       });
     }},
    {"launch_1000_events",
     [](Side& side) {
       in_a_row(side, [](Side& s, cl_uint) {
         cl_event event = nullptr;
         s.launch(&event);
         s.release(event);
       });
     }},
    {"launch_1000_chained",
     [](Side& side) {
       cl_event last = nullptr;
       in_a_row(side, [&last](Side& s, cl_uint) {
         cl_event event = nullptr;
         s.launch(&event, last ? &last : nullptr);
         if (last != nullptr) s.release(last);
         last = event;
       });
       side.release(last);
     }},
    {"launch_1000_writes",
     [](Side& side) { in_a_row(side, [](Side& s, cl_uint i) { s.add_from(i); }); }},
    {"launch_1000_blocking_writes",
     [](Side& side) { in_a_row(side, [](Side& s, cl_uint i) { s.add_from_at_once(i); }); }},
    {"read_64_bytes", [](Side& side) { side.read(); }},
    {"write_64_bytes", [](Side& side) { side.write(); }},
};

void measure(benchmark::State& state, Side& side, const Measurement& measurement) {
  try {
    for (auto _ : state) measurement.once(side);
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
  for (const Measurement& measurement : kMeasurements) {
    const auto native = collector.median(std::string("native/") + measurement.name);
    const auto other = collector.median(std::string("virtual/") + measurement.name);
    if (!native || !other) continue;  // left out by --benchmark_filter
    std::printf("%-27s %12.3f %12.3f %14.3f %8.3f\n", measurement.name, *native, *other,
                *other - *native, *other / *native);
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
    for (const Measurement& measurement : kMeasurements) {
      benchmark::RegisterBenchmark((side->name() + "/" + measurement.name).c_str(), measure,
                                   std::ref(*side), measurement)
          ->UseRealTime()
          ->Unit(benchmark::kMicrosecond);
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
