// SPDX-License-Identifier: Apache-2.0
#include "base/energy_sampler.h"

#include <exception>
#include <utility>

#include "base/calling_threads.h"
#include "base/clock.h"
#include "base/process_exit.h"

namespace tutti {

EnergySampler::EnergySampler(std::vector<std::unique_ptr<EnergySensor>> sensors,
                             uint32_t period_milliseconds, Sink sink)
    : period_milliseconds_(period_milliseconds), sink_(std::move(sink)) {
  for (auto& sensor : sensors) sensors_.push_back({std::move(sensor)});
}

bool EnergySampler::start() {
  {
    MutexLock lock(mutex_);
    if (running_) return true;
    for (State& state : sensors_) {
      state.last_joules = state.sensor->joules().value_or(0);
      state.last_ns = now_ns();
    }
    running_ = true;
  }
  try {
    thread_.post([this] { run(); });
    return true;
  } catch (const std::exception&) {
    MutexLock lock(mutex_);
    running_ = false;
    return false;
  }
}

void EnergySampler::run() {
  MutexLock lock(mutex_);
  while (running_) {
    wake_.wait_for(mutex_, period_milliseconds_);
    if (!running_) return;
    // Then it must not keep the process alive. What is used meanwhile is in the next reading.
    if (application_gone()) return thread_.post_for_application([this] { run(); });
    const ExitHold hold;
    sample();
  }
}

void EnergySampler::sample() {
  std::vector<EnergyReading> readings;
  for (size_t i = 0; i < sensors_.size(); ++i) {
    State& state = sensors_[i];
    const auto joules = state.sensor->joules();
    const uint64_t now = now_ns();
    if (!joules || now <= state.last_ns) continue;
    readings.push_back({i, state.last_ns, now, *joules - state.last_joules});
    state.last_ns = now;
    state.last_joules = *joules;
  }
  sink_(readings);
}

void EnergySampler::stop() {
  {
    MutexLock lock(mutex_);
    if (!running_) return;
    sample();
    running_ = false;
    wake_.notify_all();
  }
  thread_.stop();
}

}  // namespace tutti
