// SPDX-License-Identifier: Apache-2.0
// Lists of properties and their values, ended by 0, as the extensions for command buffers take
// them. Pure functions, thread-safe.
#pragma once

#include <CL/cl.h>

#include <cstddef>
#include <vector>

#include "base/result.h"

namespace tutti::icd::validate {

/// The list with its closing 0; empty if NULL. `check(name, value)` judges a property by itself.
/// CL_INVALID_VALUE "if the same property name is specified more than once".
template <typename Check>
Result<std::vector<cl_properties>> property_list(const cl_properties* properties, Check check) {
  std::vector<cl_properties> list;
  if (properties == nullptr) return list;
  for (const cl_properties* at = properties; *at != 0; at += 2) {
    for (size_t i = 0; i < list.size(); i += 2) {
      if (list[i] == at[0]) return tutti::fail(CL_INVALID_VALUE, "a property twice");
    }
    TUTTI_TRY(check(at[0], at[1]));
    list.insert(list.end(), {at[0], at[1]});
  }
  list.push_back(0);
  return list;
}

}  // namespace tutti::icd::validate
