// SPDX-License-Identifier: Apache-2.0
#include "runner.h"

#include <algorithm>
#include <chrono>

namespace tutti::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// One launch from poisoned outputs, transfers included. Returns the seconds it took.
double run_once(const Session& session, Benchmark& benchmark, Reference& reference,
                RunResult& result) {
  benchmark.clear(session);
  session.finish();
  const Clock::time_point start = Clock::now();
  benchmark.upload(session);
  benchmark.launch(session);
  benchmark.download(session);
  session.finish();
  const double seconds = seconds_since(start);
  reference.verify(1, result);
  return seconds;
}

}  // namespace

Reference::Reference(Benchmark& benchmark, const Entry& entry, const RunOptions& options,
                     std::size_t lanes)
    : benchmark_(benchmark) {
  if (options.reference == nullptr) {
    benchmark.make_reference();
    return;
  }
  kept_ = dynamic_cast<KernelBenchmark*>(&benchmark);
  if (kept_ == nullptr || !kept_->divisible()) {
    throw std::invalid_argument("a device cannot give the reference of this benchmark");
  }
  const Session& session = *options.reference;
  const EndsCommands ends_commands(session);
  const Program program = session.build(entry.source, options.build_options);
  const Part everything{0, kept_->groups()};
  kept_->open_lane(session, program, lanes);
  kept_->upload_part(session, lanes, everything);
  kept_->launch_part(session, lanes, everything);
  kept_->download_part(session, lanes, everything);
  session.finish();
  kept_->close_lane();
  kept_->keep();
}

void Reference::verify(std::size_t launches, RunResult& result) {
  ++result.verifications;
  if (result.verdict.wrong != 0) return;
  result.verdict = kept_ != nullptr ? kept_->verify_kept() : benchmark_.verify(launches);
}

RunResult run_benchmark(const Session& session, const Entry& entry, const RunOptions& options) {
  RunResult result;
  result.name = entry.name;
  result.size = options.size != 0 ? options.size : entry.default_size;
  const std::unique_ptr<Benchmark> benchmark = entry.make(result.size);
  result.range = benchmark->range();
  const EndsCommands ends_commands(session);

  const Clock::time_point build_start = Clock::now();
  const Program program = session.build(entry.source, options.build_options);
  result.build_seconds = seconds_since(build_start);
  benchmark->set_up(session, program);
  Reference reference(*benchmark, entry, options, 1);

  // Drivers compile at the first launch: that one is verified, not timed.
  run_once(session, *benchmark, reference, result);
  for (std::size_t i = 0; i < options.repeat; ++i) {
    result.total_seconds.push_back(run_once(session, *benchmark, reference, result));
  }

  benchmark->clear(session);
  benchmark->upload(session);
  benchmark->launch(session);
  session.finish();
  for (std::size_t i = 0; i < options.repeat; ++i) {
    const Clock::time_point start = Clock::now();
    benchmark->launch(session);
    session.finish();
    result.kernel_seconds.push_back(seconds_since(start));
  }
  benchmark->download(session);
  session.finish();
  reference.verify(1 + options.repeat, result);
  result.work = benchmark->work();
  return result;
}

double minimum(const std::vector<double>& values) {
  return *std::min_element(values.begin(), values.end());
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 != 0 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace tutti::bench
