// SPDX-License-Identifier: Apache-2.0
// The functions of one vendor platform, taken from the dispatch table that the ICD extension puts
// behind every handle. Slots may be null even in drivers of a version that has the function
// (docs/platform-notes.md), so they are checked here, once. Immutable after reading.
#pragma once

#include <CL/cl_ext.h>
#include <CL/cl_icd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "backends/api/buffer_address_api.h"
#include "backends/api/sharing_api.h"
#include "base/result.h"

namespace tutti::backends {

struct VendorFunctions {
#define TUTTI_VENDOR_FUNCTION(name, version, need) decltype(cl_icd_dispatch::name) name = nullptr;
#include "backends/opencl/vendor_functions.def"
#undef TUTTI_VENDOR_FUNCTION
  // Extensions', null where the platform has none; a device that has it says so.
#define TUTTI_VENDOR_EXTENSION(name) name##_fn name = nullptr;
#include "backends/opencl/vendor_extensions.def"
#undef TUTTI_VENDOR_EXTENSION
  uint32_t version = 10;  // of the platform: 10 * major + minor

  /// For clSetKernelArg. Before OpenCL 3.1 the size may not be zero; a kernel that is to have no
  /// local memory uses none.
  uint64_t local_memory_size(uint64_t asked) const {
    return asked == 0 && version < 31 ? 1 : asked;
  }
};

/// "OpenCL 1.2 anything" is 12; 10 where the text is not understood.
uint32_t version_of(const std::string& text);

/// Reads the table behind `platform`. A driver that lacks required functions is an error that names
/// them.
Result<VendorFunctions> read_vendor_functions(cl_platform_id platform);

/// The platforms of a driver. `get_extension_function` is its clGetExtensionFunctionAddress.
Result<std::vector<cl_platform_id>> vendor_platforms(void* get_extension_function);

/// The code of a call that only asks, which is made once more where it has failed for want of
/// something: who looks for devices would else do without one, or without all of a driver's.
template <typename Ask>
cl_int ask_vendor(Ask ask) {
  const cl_int code = ask();
  return code == CL_OUT_OF_RESOURCES || code == CL_OUT_OF_HOST_MEMORY ? ask() : code;
}

/// clGet…Info of any kind as bytes; `query(size, value, size_ret)` makes the call.
template <typename Query>
Result<std::vector<std::byte>> query_bytes(const char* call, Query query) {
  size_t size = 0;
  cl_int code = ask_vendor([&] { return query(size_t{0}, nullptr, &size); });
  std::vector<std::byte> value(code == CL_SUCCESS ? size : 0);
  if (code == CL_SUCCESS && size > 0) {
    code = ask_vendor([&] { return query(size, value.data(), nullptr); });
  }
  if (code != CL_SUCCESS) return fail(code, call);
  return value;
}

/// Tells the log of an error that nobody else hears of: `vendor: call: CL_…`, a warning, once for
/// each.
void note_vendor_error(const std::string& vendor, const char* call, cl_int code) noexcept;

/// A text from clGet…Info, without the terminating zero and blanks at its ends.
std::string text_of(const std::vector<std::byte>& bytes);

}  // namespace tutti::backends
