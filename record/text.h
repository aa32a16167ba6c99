// SPDX-License-Identifier: Apache-2.0
// Calls as people read them. Pure functions.
#pragma once

#include <string>

#include "record/call.h"

namespace tutti::record {

std::string text_of(Object object);
std::string text_of(const Value& value);
/// "clCreateBuffer(context 2, CL_MEM_READ_WRITE, 4096, null) = memory 5", without number and time.
std::string text_of(const Call& call);

}  // namespace tutti::record
