// SPDX-License-Identifier: Apache-2.0
// What happens to the devices of a run: how long they take, and what fails.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/unit/engine/fake_backend.h"

namespace tutti::simulation {

/// A log of what a run does, where it is asked for.
extern bool logs;
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...);

struct Fault {
  enum class Kind : uint8_t {
    kRefused,  // the call fails
    kFails,    // the command fails, after so much of it was done
    kLost,     // this call and all later ones are refused, for so long
    kLate,     // the command is carried out so much later
  };
  Kind kind = Kind::kRefused;
  uint32_t device = 0;
  testing::FakeCall call = testing::FakeCall::kLaunch;
  bool any_call = false;
  uint32_t number = 1;  // of the device's calls of that kind
  double done = 0;
  uint64_t ns = 0;
  bool happened = false;
  uint32_t seen = 0;
};

class Faults {
 public:
  /// Draws them. `deadline_ns`: devices that take longer hang, and those here may; 0: none do.
  void draw(uint32_t devices, uint64_t deadline_ns);
  void attach(testing::FakeBackend& device, uint32_t number);
  /// Has any happened that is more than a delay?
  bool any_failed() const;
  std::string text() const;

 private:
  testing::FakeFate fate_of(uint32_t device, testing::FakeCall call);

  std::vector<Fault> faults_;
  std::vector<uint64_t> lost_until_ns_;
  uint64_t most_ns_ = 0;  // that a command takes
};

}  // namespace tutti::simulation
