// SPDX-License-Identifier: Apache-2.0
// Sensors of the energy that parts of the machine use: RAPL (base/rapl.h) and NVML
// (base/nvml.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tutti {

/// A counter of energy. One thread at a time.
class EnergySensor {
 public:
  virtual ~EnergySensor() = default;
  /// As a person calls it: "RAPL package-0".
  virtual const std::string& name() const = 0;
  /// Joules since the sensor was made; never falls. Absent while it cannot be read.
  virtual std::optional<double> joules() = 0;
};

/// Where the sensors are; empty: there are none of that kind.
struct EnergySources {
  std::string powercap = "/sys/class/powercap";
  std::string nvml = "libnvidia-ml.so.1";
};

/// Of TUTTI_SENSORS: what it names stands in place of all defaults. A folder, or what does not look
/// like a library's name, is powercap's.
EnergySources energy_sources(std::string_view text);

}  // namespace tutti
