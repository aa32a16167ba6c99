// SPDX-License-Identifier: Apache-2.0
// Shares of launches that follow each other over the same data. Each is best divided where its data
// lie, and these lie where the others were divided: once shares that do not fit the devices' speeds
// have cost as much as it takes to move the data of all these launches, all are divided anew, with
// the same shares. Pure logic; thread-safe: one lock, short.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/thread_annotations.h"

namespace tutti::scheduler {

class CommonShares {
 public:
  /// A launch whose data lie right for other shares than those that fit its devices' speeds.
  struct Launch {
    uint64_t key = 0;  // of the kernel and its size
    std::span<const uint32_t> devices;
    std::span<const uint64_t> fitting;  // slices per device, by their speeds
    double seconds = 0;                 // with these, were the data in place
    double gain = 0;                    // seconds that these would save, were the data in place
    double moving = 0;                  // seconds for which the data would move now
  };
  /// Slices per device (each at least one) if the launch is to be divided anew now; empty: as its
  /// data lie.
  std::vector<uint64_t> divide_anew(const Launch& launch);

 private:
  struct Group {
    double foregone = 0;                          // seconds, by all launches
    std::unordered_map<uint64_t, double> moving;  // of each kernel the newest, seconds
    std::vector<double> fitting;                  // parts per device, weighted by seconds
    std::vector<double> parts;                    // of the newest division
    std::unordered_set<uint64_t> to_divide;       // kernels that are yet to be divided so
  };

  Mutex mutex_;
  std::map<std::vector<uint32_t>, Group> groups_ TUTTI_GUARDED_BY(mutex_);  // by devices
};

}  // namespace tutti::scheduler
