// SPDX-License-Identifier: Apache-2.0
// Runs one benchmark on one device: builds, warms up, measures with the host's clock, verifies.
// Not thread-safe; throws ClError when OpenCL fails.
#pragma once

#include <string>
#include <vector>

#include "array_benchmark.h"

namespace tutti::bench {

struct RunOptions {
  std::size_t size = 0;                ///< 0: the benchmark's default
  const Session* reference = nullptr;  ///< a device that computes the reference instead of the CPU
  std::size_t repeat = 5;
  std::string build_options = "-cl-std=CL1.2";
};

struct RunResult {
  std::string name;
  std::size_t size = 0;
  NdRange range;
  Work work;
  double build_seconds = 0;
  /// Enqueue to finish of the launch alone, one entry per repetition; the inputs were uploaded and
  /// used by an earlier launch.
  std::vector<double> kernel_seconds;
  /// Upload of the inputs, launch, download of the results, until all is finished.
  std::vector<double> total_seconds;
  /// The first wrong verdict, else the last one.
  Verdict verdict;
  std::size_t verifications = 0;
};

/// What results are compared with: the benchmark's own reference, or what `options.reference`
/// computes, to the bit. Made when the benchmark is set up with `lanes` lanes. Throws
/// std::invalid_argument where a device cannot give it.
class Reference {
 public:
  Reference(Benchmark& benchmark, const Entry& entry, const RunOptions& options, std::size_t lanes);
  /// Keeps the first wrong verdict.
  void verify(std::size_t launches, RunResult& result);

 private:
  Benchmark& benchmark_;
  KernelBenchmark* kept_ = nullptr;  // the same, where a device gave the reference
};

RunResult run_benchmark(const Session& session, const Entry& entry, const RunOptions& options);

double minimum(const std::vector<double>& values);
double median(std::vector<double> values);

}  // namespace tutti::bench
