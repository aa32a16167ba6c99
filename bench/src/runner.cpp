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

/// Keeps the first wrong verdict.
void verify(Benchmark& benchmark, std::size_t launches, RunResult& result) {
  ++result.verifications;
  if (result.verdict.wrong == 0) result.verdict = benchmark.verify(launches);
}

/// One launch from poisoned outputs, transfers included. Returns the seconds it took.
double run_once(const Session& session, Benchmark& benchmark, RunResult& result) {
  benchmark.clear(session);
  session.finish();
  const Clock::time_point start = Clock::now();
  benchmark.upload(session);
  benchmark.launch(session);
  benchmark.download(session);
  session.finish();
  const double seconds = seconds_since(start);
  verify(benchmark, 1, result);
  return seconds;
}

}  // namespace

RunResult run_benchmark(const Session& session, const Entry& entry, const RunOptions& options) {
  RunResult result;
  result.name = entry.name;
  result.size = options.size != 0 ? options.size : entry.default_size;
  const std::unique_ptr<Benchmark> benchmark = entry.make(result.size);
  result.range = benchmark->range();
  result.work = benchmark->work();

  const Clock::time_point build_start = Clock::now();
  const Program program = session.build(entry.source, options.build_options);
  result.build_seconds = seconds_since(build_start);
  benchmark->set_up(session, program);

  // Drivers compile at the first launch: that one is verified, not timed.
  run_once(session, *benchmark, result);
  for (std::size_t i = 0; i < options.repeat; ++i) {
    result.total_seconds.push_back(run_once(session, *benchmark, result));
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
  verify(*benchmark, 1 + options.repeat, result);
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
