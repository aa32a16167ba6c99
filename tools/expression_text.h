// SPDX-License-Identifier: Apache-2.0
// An expression of an access summary as a person would write it: "4·(width·gid1 + gid0)". Pure
// function.
#pragma once

#include <cstdint>
#include <string>

#include "scheduler/access/access_summary.h"

namespace tutti::tools {

/// gid, lid, group, … with the dimension's number where `dims` is above 1; loop counters are k0, k1
/// …; name@8 is what stands
/// 8 bytes into a structure or vector; "?" is what is known at run time only. Conversions between
/// widths are not shown. Empty when the text would be longer than `most` bytes.
std::string expression_text(const scheduler::KernelSummary& kernel, uint32_t expr, uint32_t dims,
                            size_t most);

}  // namespace tutti::tools
