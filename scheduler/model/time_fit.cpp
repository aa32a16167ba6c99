// SPDX-License-Identifier: Apache-2.0
#include "scheduler/model/time_fit.h"

#include <cmath>

namespace tutti::scheduler {
namespace {

// Each sample weighs so much of the next one's: some twenty samples count.
constexpr double kMemory = 0.95;
// The same for the speed, which follows what the program does now.
constexpr double kSpeedMemory = 0.5;
// Sizes tell start-up from rate when their spread is more than this part of their mean.
constexpr double kDistinct = 0.1;
// A sample of this many seconds shows more than a device's start-up.
constexpr double kLongSeconds = 1e-3;
constexpr double kFarBeyond = 8;
constexpr double kCorrelated = 0.98;  // r², from which on a line is believed

}  // namespace

void TimeFit::add(const Sample& sample) {
  const double size = sample.size, seconds = sample.seconds;
  if (size <= 0 || seconds <= 0) return;
  for (double* sum : {&sums_.n, &sums_.x, &sums_.t, &sums_.xt, &sums_.xx, &sums_.tt}) {
    *sum *= kMemory;
  }
  sums_.n += 1;
  sums_.x += size;
  sums_.t += seconds;
  sums_.xt += size * seconds;
  sums_.xx += size * size;
  sums_.tt += seconds * seconds;
  sums_.largest = std::max(sums_.largest, size);
  if (sample.speed <= 0) return;
  sums_.speed = sums_.speed > 0 ? sums_.speed * kSpeedMemory + sample.speed * (1 - kSpeedMemory)
                                : sample.speed;
}

double TimeFit::slope() const {
  const double variance = sums_.n * sums_.xx - sums_.x * sums_.x;
  if (sums_.n < 1.5 || variance <= kDistinct * kDistinct * sums_.x * sums_.x) return 0;
  const double together = sums_.n * sums_.xt - sums_.x * sums_.t;
  const double spread = sums_.n * sums_.tt - sums_.t * sums_.t;
  // Of an irregular kernel a line through clouds of points would tell a start-up that is none.
  if (together * together < kCorrelated * variance * spread) return 0;
  const double slope = together / variance;
  const double intercept = (sums_.t - slope * sums_.x) / sums_.n;
  // Larger that took less, or less than nothing at the start: an irregular kernel.
  return slope > 0 && intercept >= 0 ? slope : 0;
}

double TimeFit::startup() const {
  const double per_size = slope();
  return per_size > 0 ? std::max(0.0, (sums_.t - per_size * sums_.x) / sums_.n) : 0;
}

double TimeFit::rate() const {
  const double per_size = slope();
  return per_size > 0 ? 1 / per_size : speed();
}

double TimeFit::predict(double size) const {
  if (empty()) return 0;
  return startup() + size / rate();
}

bool TimeFit::reliable(double size) const {
  return !empty() && (size <= kFarBeyond * sums_.largest || predict(sums_.largest) >= kLongSeconds);
}

double TimeFit::irregularity() const {
  if (sums_.n < 1.5) return 0;
  // Σ(t − α − x/r)² for the line in use.
  const double a = startup();
  const double b = 1 / rate();
  const double square = sums_.tt + sums_.n * a * a + b * b * sums_.xx - 2 * a * sums_.t -
                        2 * b * sums_.xt + 2 * a * b * sums_.x;
  return std::sqrt(std::max(0.0, square / sums_.n)) / (sums_.t / sums_.n);
}

}  // namespace tutti::scheduler
