// SPDX-License-Identifier: Apache-2.0
// Reads energy sensors again and again in a thread of its own, and hands on what was used between
// two readings. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/energy_sensor.h"
#include "base/task_thread.h"
#include "base/thread_annotations.h"

namespace tutti {

/// Times in nanoseconds of now_ns().
struct EnergyReading {
  size_t sensor = 0;
  uint64_t begin_ns = 0, end_ns = 0;
  double joules = 0;  // used in between
};

class EnergySampler {
 public:
  /// Gets the readings of one time, in the order of the sensors; a sensor that cannot be read is
  /// left out, and its next reading reaches back to its last one. Called from the sampler's thread,
  /// and once from stop()'s.
  using Sink = std::function<void(const std::vector<EnergyReading>&)>;

  EnergySampler(std::vector<std::unique_ptr<EnergySensor>> sensors, uint32_t period_milliseconds,
                Sink sink);
  ~EnergySampler() { stop(); }
  EnergySampler(const EnergySampler&) = delete;
  EnergySampler& operator=(const EnergySampler&) = delete;

  /// Begins to measure. False: there is no thread to be had.
  bool start();
  /// Takes the last readings. Nothing is called afterwards.
  void stop();

 private:
  struct State {
    std::unique_ptr<EnergySensor> sensor;
    uint64_t last_ns = 0;
    double last_joules = 0;
  };
  void run();
  void sample() TUTTI_REQUIRES(mutex_);

  const uint32_t period_milliseconds_;
  const Sink sink_;
  Mutex mutex_;
  ConditionVariable wake_;
  std::vector<State> sensors_ TUTTI_GUARDED_BY(mutex_);
  bool running_ TUTTI_GUARDED_BY(mutex_) = false;
  TaskThread thread_{"tutti-energy", TaskThread::AtExit::kLeftAlone};  // its readings are not
};

}  // namespace tutti
