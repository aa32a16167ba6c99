// SPDX-License-Identifier: Apache-2.0
// The kinds of features beyond OpenCL C 1.2's core that random kernels may use: those that were
// asked for (--kinds) and that both devices offer.
#pragma once

#include <string>
#include <vector>

namespace tutti::kernel_fuzz {

class Device;

/// Trivially copyable: it lies in memory that processes share.
struct Offer {
  bool atomics64 = false;  // whatever was asked for
  // Of the kinds.
  bool fp64 = false;
  bool exchange_loops = false;
  bool float_add = false, float_min_max = false;    // atomics on float
  bool double_add = false, double_min_max = false;  // and on double
  bool explicit_atomics = false;                    // with scopes as large as the device
  bool device_scope = false;                        // theirs is there, whether asked for or not
  bool acquire_release = false, sequential = false, all_devices = false;
  bool sub_groups = false, shuffles = false, ballots = false;
  bool collectives = false;
  bool generic = false;
  bool constants = false, variables = false;  // of the program's scope: constant; also mutable
  bool shared_memory = false;
  bool columns = false;

  bool float_atomics() const { return float_add || float_min_max || double_add || double_min_max; }
  bool any() const {
    return exchange_loops || float_atomics() || explicit_atomics || sub_groups || collectives ||
           generic || constants || shared_memory || columns;
  }
};

/// "all" or names with commas. Throws std::runtime_error for an unknown one.
std::vector<std::string> kinds_of(const std::string& text);

Offer offer_of(const Device& native, const Device& tutti, const std::vector<std::string>& kinds);

}  // namespace tutti::kernel_fuzz
