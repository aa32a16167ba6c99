// SPDX-License-Identifier: Apache-2.0
// What the command line says, and what is counted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apart.h"
#include "offer.h"

namespace tutti::kernel_fuzz {

struct Options {
  uint64_t seed = 0;
  uint64_t kernels = 500;
  uint64_t program_size = 32;
  std::string native;  // empty: the first platform that is not the virtual one
  std::string virtual_platform = "Tutti";
  std::optional<uint64_t> only;
  std::vector<std::string> kinds;  // see offer.h
  std::string keep;
  std::string build_options;
  bool shrink = true;
  bool trace = false;
  Apart apart = Apart::kNone;
  uint32_t jobs = 1;
  uint32_t packages = 2;      // whose claims are checked, per kernel
  uint32_t least_split = 25;  // percent of the kernels
  // Program p is for the balancer p % size; "force": packages of random sizes. Empty: as the
  // environment says.
  std::vector<std::string> balancers;
  std::optional<uint32_t> natively;  // see natively.h
  std::string report;
  std::vector<std::string> replay;

  /// Of the programs of one lane, when there are as many lanes as balancers, or a multiple of it.
  const std::string& balancer_of(uint64_t program) const {
    static const std::string kEnvironment;
    return balancers.empty() ? kEnvironment : balancers[program % balancers.size()];
  }
  /// Whether Tutti itself decides what is split, so that a kernel must be worth it.
  bool large(uint64_t kernel) const {
    const std::string& balancer = balancer_of(kernel / program_size);
    return !balancer.empty() && balancer != "force";
  }
};

/// Of one process; in memory that its parent sees, also when it dies.
struct Counts {
  uint64_t kernels = 0;  // judged
  uint64_t launches = 0;
  uint64_t refused = 0;   // by both devices alike
  uint64_t packages = 0;  // whose claims were checked
  uint64_t failures = 0;
  uint64_t vendor_faults = 0;
  uint64_t current = 0;   // the kernel at hand, or the first of the program at hand
  bool alone = false;     // no other kernel is in its program
  bool reported = false;  // it has failed, and is being shrunk
  Offer offer;            // what its cases are made for
  char doing[32] = "starting";
};

}  // namespace tutti::kernel_fuzz
