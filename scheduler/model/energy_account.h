// SPDX-License-Identifier: Apache-2.0
// Whose energy it was: readings of sensors on one side, runs of kernels on devices on the other, in
// any order. Pure logic, also for `tutti report`; not thread-safe.
//
// The energy between two readings of a sensor is divided among the runs on the sensor's devices by
// busy time; what belongs to no run is idle. So with readings of `length` and runs of b_1 … b_n in
// between, run i gets  joules · b_i / max(length, Σ b).  The device's idle power is thus included
// while it computes. Devices of one sensor (PoCL's devices on one socket) share; what else draws on
// the sensor meanwhile (the host's threads on a CPU) is included, too.
//
// Old readings are kept at ever coarser steps, so that memory is bounded.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "scheduler/model/power_model.h"

namespace tutti::scheduler {

struct SensorInfo {
  std::string name;
  std::vector<uint32_t> devices;
};

struct EnergyTotals {
  struct Sensor {
    double joules = 0;       // over the whole run
    double busy_joules = 0;  // of that: divided among kernels
    double seconds = 0;      // read
  };
  struct Device {
    double joules = 0;  // while kernels ran there
    double busy_seconds = 0;
  };
  struct Kernel {
    double seconds = 0;                 // of its launches, from begin to end
    double joules = 0;                  // of all devices, while it ran there
    std::map<uint32_t, double> device;  // joules
    /// Joules times seconds, of all launches together.
    double delay_product() const { return joules * seconds; }
  };
  double seconds = 0;  // from the first reading to the last
  double joules = 0;   // of all sensors
  std::vector<Sensor> sensors;
  std::map<uint32_t, Device> devices;
  std::map<std::string, Kernel> kernels;
  double delay_product() const { return joules * seconds; }
};

class EnergyAccount {
 public:
  explicit EnergyAccount(std::vector<SensorInfo> sensors);

  const std::vector<SensorInfo>& sensors() const { return sensors_; }
  /// A further device of a sensor: a part of one, say.
  void add_device(size_t sensor, uint32_t device) { sensors_[sensor].devices.push_back(device); }

  /// `joules` were used between two readings; of each sensor, one after the other.
  void read(size_t sensor, uint64_t begin_ns, uint64_t end_ns, double joules);
  /// `kernel` ran on the device. Runs on devices without a sensor count for their time alone.
  void ran(const std::string& kernel, uint32_t device, uint64_t begin_ns, uint64_t end_ns);
  /// A launch of the kernel, from begin to end.
  void launched(const std::string& kernel, uint64_t begin_ns, uint64_t end_ns);
  /// A kernel is under way since then: until it is told, nobody knows who was idle.
  void begun(uint64_t since_ns) { under_way_.insert(since_ns); }
  void ended(uint64_t since_ns);

  EnergyTotals totals() const;
  /// What was seen of a device's power.
  PowerSums power(uint32_t device) const;

 private:
  struct Part {
    uint32_t kernel = 0, device = 0;
    double busy_ns = 0;
  };
  /// What lies between two readings, or several of them.
  struct Bucket {
    uint64_t begin_ns = 0, end_ns = 0;
    double joules = 0;
    std::vector<Part> parts;
    bool learned = false;  // its sums are in Series::learned already
    /// One part for each kernel and device.
    void add(const Part& part);
  };
  struct Run {
    uint32_t kernel = 0, device = 0;
    uint64_t begin_ns = 0, end_ns = 0;
  };
  struct Series {
    std::deque<Bucket> buckets;
    std::deque<Run> ahead;  // of readings
    std::map<uint32_t, PowerSums> learned;
  };

  uint32_t number_of(const std::string& kernel);
  static void put(Bucket& bucket, const Run& run);
  void learn(const Bucket& bucket, const SensorInfo& sensor,
             std::map<uint32_t, PowerSums>& sums) const;
  void thin_out(size_t sensor);

  std::vector<SensorInfo> sensors_;
  std::vector<Series> series_;
  std::map<std::string, uint32_t> numbers_;
  std::vector<std::pair<std::string, double>> kernels_;  // name, seconds of launches; by number
  std::map<uint32_t, double> busy_ns_;                   // by device
  std::multiset<uint64_t> under_way_;                    // since when
  uint64_t first_ns_ = 0, last_ns_ = 0;
};

}  // namespace tutti::scheduler
