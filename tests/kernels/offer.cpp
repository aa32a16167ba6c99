// SPDX-License-Identifier: Apache-2.0
#include "offer.h"

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "device.h"

namespace tutti::kernel_fuzz {
namespace {

constexpr const char* kKinds[] = {"exchange-loops", "float-atomics", "explicit-atomics",
                                  "sub-groups",     "collectives",   "generic",
                                  "variables",      "shared-memory", "columns"};

}  // namespace

std::vector<std::string> kinds_of(const std::string& text) {
  if (text == "all") return {std::begin(kKinds), std::end(kKinds)};
  std::vector<std::string> list;
  std::istringstream items(text);
  for (std::string item; std::getline(items, item, ',');) {
    if (std::find(std::begin(kKinds), std::end(kKinds), item) == std::end(kKinds)) {
      throw std::runtime_error("no kind '" + item + "'");
    }
    list.push_back(item);
  }
  return list;
}

Offer offer_of(const Device& native, const Device& tutti, const std::vector<std::string>& kinds) {
  Offer offer;
  offer.atomics64 = native.atomics64() && tutti.atomics64();
  const auto asked = [&](const char* kind) {
    return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
  };
  const auto extension = [&](const char* name) { return native.has(name) && tutti.has(name); };
  const bool language = native.language() >= 300 && tutti.language() >= 300;
  const auto feature = [&](const std::string& name) {
    const std::string full = "__opencl_c_" + name;
    return language && native.has_feature(full) && tutti.has_feature(full);
  };
  offer.fp64 = extension("cl_khr_fp64");
  offer.exchange_loops = asked("exchange-loops");
  offer.device_scope = feature("atomic_scope_device");
  if (asked("float-atomics") && offer.device_scope && extension("cl_ext_float_atomics")) {
    offer.float_add = feature("ext_fp32_global_atomic_add");
    offer.float_min_max = feature("ext_fp32_global_atomic_min_max");
    offer.double_add = offer.atomics64 && feature("ext_fp64_global_atomic_add");
    offer.double_min_max = offer.atomics64 && feature("ext_fp64_global_atomic_min_max");
  }
  offer.explicit_atomics = asked("explicit-atomics") && offer.device_scope;
  offer.acquire_release = feature("atomic_order_acq_rel");
  offer.sequential = feature("atomic_order_seq_cst");
  offer.all_devices = feature("atomic_scope_all_devices");
  offer.sub_groups = asked("sub-groups") && feature("subgroups");
  offer.shuffles = extension("cl_khr_subgroup_shuffle");
  offer.ballots = extension("cl_khr_subgroup_ballot");
  offer.collectives = asked("collectives") && feature("work_group_collective_functions");
  offer.generic = asked("generic") && feature("generic_address_space");
  offer.constants = asked("variables");
  offer.variables = offer.constants && feature("program_scope_global_variables");
  offer.columns = asked("columns");
  offer.shared_memory = asked("shared-memory") && native.shared_memory() && tutti.shared_memory();
  return offer;
}

}  // namespace tutti::kernel_fuzz
