// SPDX-License-Identifier: Apache-2.0
#include "scheduler/model/build_times.h"

#include <algorithm>

namespace tutti::scheduler {
namespace {

// Of the first build of a driver in a process, what is not its start (docs/platform-notes.md).
constexpr double kWithoutStart = 1.0 / 4;
// A build so many times as short as expected was found in the vendor's cache, and tells nothing.
constexpr double kCached = 1.0 / 4;
// PoCL takes 0.3 to 2 s for a kernel.
constexpr double kUnknownSeconds = 0.3;

}  // namespace

double BuildTimes::note(uint32_t device, const std::string& driver, uint64_t bytes,
                        double seconds) {
  {
    MutexLock lock(mutex_);
    if (started_.insert(driver).second) return kWithoutStart * seconds;
  }
  const TimeFit known = model_.fit(kBuilding, device);
  if (known.empty() || seconds > kCached * known.predict(static_cast<double>(bytes))) {
    model_.add(kBuilding, device, bytes, seconds, "builds of programs");
  }
  return seconds;
}

double BuildTimes::expected(uint32_t device, uint64_t bytes, double known) {
  const TimeFit learned = model_.fit(kBuilding, device);
  const auto size = static_cast<double>(bytes);
  return learned.empty() || !learned.reliable(size) ? known
                                                    : std::min(known, learned.predict(size));
}

double BuildTimes::expected_anew(uint32_t device, uint64_t bytes, double known) {
  const TimeFit learned = model_.fit(kBuilding, device);
  const auto size = static_cast<double>(bytes);
  const bool reliable = !learned.empty() && learned.reliable(size);
  return std::max(known, reliable ? learned.predict(size) : kUnknownSeconds);
}

}  // namespace tutti::scheduler
