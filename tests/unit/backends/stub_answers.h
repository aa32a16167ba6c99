// SPDX-License-Identifier: Apache-2.0
// How the stub vendor driver answers queries.
#pragma once

#include <CL/cl.h>

#include <cstdio>
#include <cstring>
#include <string>

namespace stub {

inline cl_int give(const void* value, size_t length, size_t size, void* out, size_t* size_ret) {
  if (out && size < length) return CL_INVALID_VALUE;
  if (out) std::memcpy(out, value, length);
  if (size_ret) *size_ret = length;
  return CL_SUCCESS;
}
inline cl_int give(const std::string& text, size_t size, void* out, size_t* size_ret) {
  return give(text.c_str(), text.size() + 1, size, out, size_ret);
}
template <typename T>
cl_int give_value(T value, size_t size, void* out, size_t* size_ret) {
  return give(&value, sizeof value, size, out, size_ret);
}

/// `version` as "3.0".
inline cl_name_version name_version(const char* name, const std::string& version) {
  cl_name_version entry{};
  unsigned major = 0, minor = 0;
  std::sscanf(version.c_str(), "%u.%u", &major, &minor);
  entry.version = CL_MAKE_VERSION(major, minor, 0);
  std::snprintf(entry.name, sizeof entry.name, "%s", name);
  return entry;
}

}  // namespace stub
