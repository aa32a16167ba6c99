// SPDX-License-Identifier: Apache-2.0
// What the devices' energy sensors tell while the process runs: for the summary, the trace and the
// planner. Owns the sensors and the thread that reads them. Thread-safe once started; off, a call
// costs one test.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/energy_sampler.h"
#include "base/energy_sensor.h"
#include "base/thread_annotations.h"
#include "scheduler/devices/backend_set.h"
#include "scheduler/model/energy_account.h"
#include "scheduler/plan/planner.h"

namespace tutti::scheduler {

inline constexpr size_t kSummaryColumns = 80;

/// Which sensor serves which device. A sensor may serve several devices: those on one socket.
struct SensorAssignment {
  std::vector<std::unique_ptr<EnergySensor>> sensors;
  std::vector<SensorInfo> infos;    // of the sensors; devices by their place in the list
  std::vector<std::string> absent;  // by device: why it has none; empty: it has one
};

/// CPU devices, and GPUs in the host's memory, have RAPL's packages; GPUs of NVIDIA have NVML.
SensorAssignment assign_sensors(const std::vector<const backends::DeviceTraits*>& devices,
                                const EnergySources& sources);

class EnergyMonitor {
 public:
  EnergyMonitor(BackendSet& backends, const EnergySettings& settings, Objective objective)
      : backends_(backends), settings_(settings), objective_(objective) {}
  ~EnergyMonitor() { stop(); }
  EnergyMonitor(const EnergyMonitor&) = delete;
  EnergyMonitor& operator=(const EnergyMonitor&) = delete;

  /// Looks for the sensors and begins to read them, if that is wanted. Once, before all else.
  void start();
  /// Takes the last readings, and has the performance model keep what was learned.
  void stop();
  /// There are sensors that are being read: whoever runs kernels shall tell.
  bool on() const { return sampler_ != nullptr; }

  /// A kernel may begin to run from now on, until what is returned is released.
  std::shared_ptr<void> under_way();
  void ran(const std::string& kernel, uint32_t backend, uint64_t begin_ns, uint64_t end_ns);
  void launched(const std::string& kernel, uint64_t begin_ns, uint64_t end_ns);

  bool wanted() const { return settings_.wanted; }
  EnergyTotals totals() const;
  /// Lines for the summary.
  std::string text() const;
  nlohmann::json json() const;
  static std::string kernel_text(const EnergyTotals::Kernel& kernel);
  nlohmann::json kernel_json(const EnergyTotals::Kernel& kernel) const;

 private:
  /// Commands may outlive the engine, and then end nothing any more.
  struct Book {
    explicit Book(std::vector<SensorInfo> sensors) : account(std::move(sensors)) {}
    Mutex mutex;
    EnergyAccount account TUTTI_GUARDED_BY(mutex);
    std::vector<PowerSums> stored TUTTI_GUARDED_BY(mutex);  // of earlier runs; by real device
    std::vector<uint64_t> last_ns TUTTI_GUARDED_BY(mutex);  // when each sensor was read
    uint32_t readings TUTTI_GUARDED_BY(mutex) = 0;
    bool stopped TUTTI_GUARDED_BY(mutex) = false;
  };
  void take(const std::vector<EnergyReading>& readings);
  void refresh_power(Book& book) const TUTTI_REQUIRES(book.mutex);
  void trace_sensor(const SensorInfo& info, size_t sensor) const;
  void trace_power(const SensorInfo& info, uint64_t time_ns, double watts) const;
  void say_absent() const;
  std::string device_names(const std::vector<uint32_t>& devices) const;
  /// The devices without a sensor, by reason; as numbers, or with their names.
  std::string absent_text(bool names) const;

  BackendSet& backends_;
  const EnergySettings& settings_;
  const Objective objective_;
  std::vector<std::string> absent_;  // by device; constant once started
  std::shared_ptr<Book> book_;
  std::unique_ptr<EnergySampler> sampler_;
};

}  // namespace tutti::scheduler
