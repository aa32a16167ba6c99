// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/vendor_functions.h"

#include <fmt/core.h>

#include <cstdio>

#include "base/cl_error_name.h"
#include "base/log.h"

namespace tutti::backends {

uint32_t version_of(const std::string& text) {
  unsigned major = 0, minor = 0;
  if (std::sscanf(text.c_str(), "OpenCL %u.%u", &major, &minor) != 2 || major == 0 || minor > 9) {
    return 10;
  }
  return 10 * major + minor;
}

std::string text_of(const std::vector<std::byte>& bytes) {
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  text.resize(std::min(text.find('\0'), text.size()));
  const size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

Result<VendorFunctions> read_vendor_functions(cl_platform_id platform) {
  const cl_icd_dispatch* table =
      platform ? *reinterpret_cast<cl_icd_dispatch**>(platform) : nullptr;
  if (!table) return fail(CL_INVALID_PLATFORM, "the platform has no dispatch table");
  if (!table->clGetPlatformInfo) {
    return fail(CL_INVALID_PLATFORM, "the driver lacks clGetPlatformInfo");
  }
  auto version = query_bytes("clGetPlatformInfo", [&](size_t size, void* value, size_t* size_ret) {
    return table->clGetPlatformInfo(platform, CL_PLATFORM_VERSION, size, value, size_ret);
  });
  if (!version) {
    return fail(version.error().code,
                "clGetPlatformInfo(CL_PLATFORM_VERSION): " + cl_error_name(version.error().code));
  }
  VendorFunctions functions;
  functions.version = version_of(text_of(*version));
  enum Need { Required, Optional };
  std::string missing;
  const auto check = [&missing](const char* name, bool there, Need need) {
    if (!there && need == Required) missing += (missing.empty() ? "" : ", ") + std::string(name);
  };
#define TUTTI_VENDOR_FUNCTION(name, since, need)                \
  if (functions.version >= since) functions.name = table->name; \
  check(#name, functions.name != nullptr, need);
#include "backends/opencl/vendor_functions.def"
#undef TUTTI_VENDOR_FUNCTION
  check("clCreateCommandQueue",
        functions.clCreateCommandQueue || functions.clCreateCommandQueueWithProperties, Required);
  if (!missing.empty()) return fail(CL_INVALID_PLATFORM, "the driver lacks " + missing);
  if (functions.version >= 12 && table->clGetExtensionFunctionAddressForPlatform) {
#define TUTTI_VENDOR_EXTENSION(name)            \
  functions.name = reinterpret_cast<name##_fn>( \
      table->clGetExtensionFunctionAddressForPlatform(platform, #name));
#include "backends/opencl/vendor_extensions.def"
#undef TUTTI_VENDOR_EXTENSION
  }
  return functions;
}

Result<std::vector<cl_platform_id>> vendor_platforms(void* get_extension_function) {
  const auto address = reinterpret_cast<decltype(cl_icd_dispatch::clGetExtensionFunctionAddress)>(
      get_extension_function);
  const auto get = reinterpret_cast<clIcdGetPlatformIDsKHR_fn>(address("clIcdGetPlatformIDsKHR"));
  if (!get) return fail(CL_INVALID_PLATFORM, "not an ICD (no clIcdGetPlatformIDsKHR)");
  cl_uint count = 0;
  cl_int code = ask_vendor([&] { return get(0, nullptr, &count); });
  if (code == CL_PLATFORM_NOT_FOUND_KHR) return std::vector<cl_platform_id>{};
  std::vector<cl_platform_id> platforms(code == CL_SUCCESS ? count : 0);
  if (code == CL_SUCCESS && count > 0) {
    code = ask_vendor([&] { return get(count, platforms.data(), nullptr); });
  }
  if (code != CL_SUCCESS) return fail(code, "clIcdGetPlatformIDsKHR: " + cl_error_name(code));
  return platforms;
}

void note_vendor_error(const std::string& vendor, const char* call, cl_int code) noexcept {
  if (!log_enabled(LogLevel::kWarning)) return;
  try {
    const std::string text = vendor + ": " + call + ": " + cl_error_name(code);
    log_once(text, LogLevel::kWarning, "{}", text);
  } catch (...) {  // NOLINT(bugprone-empty-catch): no memory for a line of the log
  }
}

}  // namespace tutti::backends
