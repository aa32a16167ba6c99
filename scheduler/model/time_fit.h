// SPDX-License-Identifier: Apache-2.0
// Time against size for one kernel on one device, or one direction of transfer: online linear
// regression t(x) = α + x/rate with O(1) per sample (StarPU thesis, appendix B; docs/balancers.md).
// Older samples count less and less. Pure values; not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tutti::scheduler {

/// `size` (work-items, or bytes of a transfer) took `seconds`.
struct Sample {
  double size = 0;
  double seconds = 0;
  double speed = 0;  // what it tells of the speed: that of a whole launch, for its last package; 0:
                     // nothing
};

class TimeFit {
 public:
  /// What is remembered: weighted sums over the samples, and the last speeds.
  struct Sums {
    double n = 0;  // weight of all samples
    double x = 0;  // Σ size
    double t = 0;  // Σ seconds
    double xt = 0;
    double xx = 0;
    double tt = 0;
    double largest = 0;  // the largest size seen
    double speed = 0;    // size per second of the last samples together; 0: none yet
  };

  TimeFit() = default;
  explicit TimeFit(const Sums& sums) : sums_(sums) {}

  /// Samples of no size or time are left out.
  void add(const Sample& sample);
  bool empty() const { return sums_.n <= 0; }

  /// Seconds for `size`; 0 while empty(). Beyond the sizes seen it goes on as a line.
  double predict(double size) const;
  /// Seconds that no size undercuts: 0 unless sizes differed enough to tell.
  double startup() const;
  /// Size per second once started; 0 while empty().
  double rate() const;
  /// Size per second of the last samples, start-up included; 0 while empty().
  double speed() const {
    if (sums_.speed > 0 || empty()) return sums_.speed;
    return sums_.x / sums_.t;  // no sample told of it
  }
  /// Seconds per size where the large samples count most; 0 while empty(). Says nothing of
  /// start-up.
  double per_size() const { return sums_.xx > 0 ? sums_.xt / sums_.xx : 0; }
  /// Whether predict(size) stands on anything: sizes far above all that was seen, which were too
  /// short to show more than the start-up, are guesses.
  bool reliable(double size) const;
  /// Deviation of the samples from the line, as a part of their mean time.
  double irregularity() const;

  const Sums& sums() const { return sums_; }

 private:
  /// The regression's slope; 0 where the sizes do not differ enough, or it makes no sense.
  double slope() const;

  Sums sums_;
};

}  // namespace tutti::scheduler
