// SPDX-License-Identifier: Apache-2.0
// The interface that every benchmark implements: one file src/kernels/<name>.cpp per benchmark.
// The runner owns the benchmark and calls, in this order:
//   construction (inputs; also the CPU reference where that is quick), set_up, make_reference
//   unless another device gives the reference, then any number of { clear, upload, launch ×n,
//   download, finish, verify(n) }, then work.
// Everything between is enqueued on the session's in-order queue and is asynchronous; only a launch
// whose host code decides by results waits for them. A launch may be several kernels, and range()
// is the largest one's. Not thread-safe.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cl_objects.h"

namespace tutti::bench {

/// How a result compares with the CPU reference.
struct Verdict {
  std::size_t checked = 0;    ///< elements compared: all of them
  std::size_t wrong = 0;      ///< elements outside the benchmark's tolerance
  std::size_t tolerated = 0;  ///< elements that differ, but within the tolerance
  std::string first_wrong;    ///< where, found and expected; empty when none is wrong
};

/// The useful work of one launch, in units of 1e9.
struct Work {
  double amount = 0;
  std::string unit;  ///< "GFLOP" or "GB"; empty: not meaningful
};

class Benchmark {
 public:
  Benchmark() = default;
  Benchmark(const Benchmark&) = delete;
  Benchmark& operator=(const Benchmark&) = delete;
  virtual ~Benchmark() = default;

  /// Makes buffers and kernels and sets arguments.
  virtual void set_up(const Session& session, const Program& program) = 0;
  /// Puts outputs into their state before the first launch: zero where the kernel accumulates,
  /// else a poison that no right result contains.
  virtual void clear(const Session& session) = 0;
  virtual void upload(const Session& session) = 0;
  virtual void launch(const Session& session) = 0;
  virtual void download(const Session& session) = 0;
  /// What the results are compared with, where the CPU takes long for it at large sizes.
  virtual void make_reference() {}
  /// Compares every element that `download` brought, after `launches` launches since `clear`.
  virtual Verdict verify(std::size_t launches) = 0;

  virtual Work work() const = 0;
  virtual NdRange range() const = 0;
};

/// A registered benchmark.
struct Entry {
  std::string name;
  std::string summary;
  std::string size_meaning;
  std::string tolerance;
  std::size_t default_size = 0;
  std::string source;  ///< OpenCL C
  std::function<std::unique_ptr<Benchmark>(std::size_t size)> make;
  std::string file{};  ///< the source's file without ".cl"; empty: the name
};

/// All benchmarks, in the order of CMakeLists.txt.
const std::vector<Entry>& all_benchmarks();

}  // namespace tutti::bench
