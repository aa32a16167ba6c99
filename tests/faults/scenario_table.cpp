// SPDX-License-Identifier: Apache-2.0
#include "scenario_table.h"

namespace tutti::faults {

const std::vector<Scenario>& scenarios() {
#define SCENARIO(function, name) Scenario{name, &function},
  static const std::vector<Scenario> all = {TUTTI_FAULT_SCENARIOS};
#undef SCENARIO
  return all;
}

}  // namespace tutti::faults
