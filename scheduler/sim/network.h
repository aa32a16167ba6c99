// SPDX-License-Identifier: Apache-2.0
// How the devices of other hosts are reached: content passes the link of the program's own host,
// which all hosts share, then the link of the device's host, which that host's devices share. Each
// link passes on one package after the other, the next one from when the one before has begun to.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

namespace tutti::scheduler::sim {

/// Of a package of x slices: seconds per slice are for what it reads and what it writes together.
struct Network {
  double latency = 0;      // seconds, each way, between the program's host and each other one
  double shared_link = 0;  // seconds per slice over the link of the program's host
  double link = 0;         // seconds per slice over the link of another host
};

class Links {
 public:
  /// When a package's data begin to arrive at its device's host, and when all of them have:
  /// seconds.
  struct Passage {
    double begin = 0;
    double end = 0;
  };

  /// `hosts`: how many there are, the program's own (0) among them.
  Links(const Network& network, uint32_t hosts) : network_(network), free_(hosts, 0) {}

  /// Of `slices` that are sent `now`. At once, to the program's own host.
  Passage send(uint32_t host, double slices, double now);
  /// Seconds until the program hears of the end of a package there.
  double delay(uint32_t host) const { return host == 0 ? 0 : network_.latency; }

 private:
  Network network_;
  std::vector<double> free_;  // when each host's link is; 0: the program's own
};

}  // namespace tutti::scheduler::sim
