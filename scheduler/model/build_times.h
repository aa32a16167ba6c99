// SPDX-License-Identifier: Apache-2.0
// How long devices' drivers build programs: by device and size of the sources, kept with what is
// learned of kernels. Thread-safe.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "base/thread_annotations.h"
#include "scheduler/model/performance_model.h"

namespace tutti::scheduler {

class BuildTimes {
 public:
  explicit BuildTimes(PerformanceModel& model) : model_(model) {}
  /// What a build took: by the clock, and of the thread's processor, which waits for no other one.
  struct Took {
    double seconds = 0, own = 0;
  };
  /// `driver` has built `bytes` of sources for the device. Returns the seconds that the same is
  /// expected to take once more by this alone: the first build of a driver in a process includes
  /// its start (PoCL's LLVM takes four times as long as a small program), and nothing is learned
  /// from it.
  double note(uint32_t device, const std::string& driver, uint64_t bytes, Took took);
  /// Seconds that a build is expected to take, where another one of the same program was expected
  /// to take `known` seconds by itself. Less where builds have proved shorter; that a vendor's
  /// cache holds the program is told by `known`, and what finding it takes by those that were
  /// found.
  double expected(uint32_t device, uint64_t bytes, double known);
  /// The same where the vendor's cache does not hold it, whatever it holds of that other one.
  double expected_anew(uint32_t device, uint64_t bytes, double known);
  /// How many of `count` builds in processes of their own go on at once, by the processors.
  static double side_by_side(int count);

 private:
  PerformanceModel& model_;
  Mutex mutex_;
  std::set<std::string> started_ TUTTI_GUARDED_BY(mutex_);  // drivers
};

}  // namespace tutti::scheduler
