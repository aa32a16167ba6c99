// SPDX-License-Identifier: Apache-2.0
// OpenCL error codes in words. Pure functions.
#pragma once

#include <CL/cl.h>

#include <string>

namespace tutti {

/// "CL_INVALID_VALUE", or "error -9999" for a code that OpenCL does not name.
std::string cl_error_name(cl_int code);

}  // namespace tutti
