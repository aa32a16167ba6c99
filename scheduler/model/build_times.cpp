// SPDX-License-Identifier: Apache-2.0
#include "scheduler/model/build_times.h"

#include <algorithm>
#include <thread>

namespace tutti::scheduler {
namespace {

// Of the first build of a driver in a process, what is not its start (docs/platform-notes.md): that
// takes no longer for a large program.
constexpr double kWithoutStart = 1.0 / 4, kLongestStart = 0.5;
// A build so many times as short as expected was found in the vendor's cache, and tells nothing.
constexpr double kCached = 1.0 / 4;
// PoCL takes 0.3 to 2 s for a kernel.
constexpr double kUnknownSeconds = 0.3;

}  // namespace

double BuildTimes::note(uint32_t device, const std::string& driver, uint64_t bytes, Took took) {
  {
    MutexLock lock(mutex_);
    if (started_.insert(driver).second) {
      return std::max(kWithoutStart * took.seconds, took.seconds - kLongestStart);
    }
  }
  const TimeFit known = model_.fit(kBuilding, device);
  const double once_more = known.predict(static_cast<double>(bytes));
  if (known.empty() || took.seconds > kCached * once_more) {
    model_.add(kBuilding, device, bytes, took.seconds, "builds of programs");
  }
  // Those of several devices at once wait for each other, and are no longer for that.
  if (!known.empty() && took.own <= kCached * once_more) {
    model_.add(kFinding, device, bytes, took.own, "programs found on disk");
  }
  return took.seconds;
}

double BuildTimes::expected(uint32_t device, uint64_t bytes, double known) {
  const TimeFit learned = model_.fit(kBuilding, device);
  const auto size = static_cast<double>(bytes);
  if (learned.empty() || !learned.reliable(size)) return known;
  const double anew = learned.predict(size);
  // A driver's start may be a part of what is known, but not of much more than that takes.
  if (known > kCached * anew) return known > kLongestStart ? known : std::min(known, anew);
  const TimeFit finding = model_.fit(kFinding, device);
  return finding.empty() || !finding.reliable(size) ? known
                                                    : std::max(known, finding.predict(size));
}

double BuildTimes::expected_anew(uint32_t device, uint64_t bytes, double known) {
  const TimeFit learned = model_.fit(kBuilding, device);
  const auto size = static_cast<double>(bytes);
  const bool reliable = !learned.empty() && learned.reliable(size);
  return std::max(known, reliable ? learned.predict(size) : kUnknownSeconds);
}

double BuildTimes::side_by_side(int count) {
  const auto processors = static_cast<int>(std::thread::hardware_concurrency());
  return std::clamp(count, 1, std::max(1, processors));
}

}  // namespace tutti::scheduler
