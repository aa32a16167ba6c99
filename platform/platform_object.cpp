// SPDX-License-Identifier: Apache-2.0
#include "platform/platform_object.h"

#include <CL/cl_ext.h>

#include <algorithm>
#include <string>
#include <vector>

#include "platform/device_answers.h"

namespace tutti::platform {
namespace {

constexpr cl_ulong kHostTimerResolution = 1;  // nanoseconds: the process's steady clock

}  // namespace

std::string_view driver_version() { return TUTTI_VERSION; }

cl_name_version name_version(std::string_view name, cl_version version) {
  cl_name_version result{};
  result.version = version;
  const size_t length = std::min(name.size(), size_t{CL_NAME_VERSION_MAX_NAME_SIZE - 1});
  std::copy_n(name.data(), length, result.name);
  return result;
}

Status Platform::info(cl_platform_info what, const device_virtual::InfoAnswer& answer) const {
  const auto device_answer = [&](cl_device_info question) -> Status {
    const auto found = device_->answers.find(question);
    if (found == device_->answers.end()) return device_virtual::unknown_query();
    return answer.bytes(found->second.data(), found->second.size());
  };
  switch (what) {
    case CL_PLATFORM_PROFILE:
      return answer.string("FULL_PROFILE");
    case CL_PLATFORM_VERSION:
      return answer.string("OpenCL " + version_text(version()) + " Tutti " +
                           std::string(driver_version()));
    case CL_PLATFORM_NUMERIC_VERSION:
      return answer.value(packed_version(version()));
    case CL_PLATFORM_NAME:
      return answer.string(names_.name);
    case CL_PLATFORM_VENDOR:
      return answer.string(names_.vendor);
    // "Each extension that is supported by all devices associated with this platform must be
    // reported here."
    case CL_PLATFORM_EXTENSIONS:
      return device_answer(CL_DEVICE_EXTENSIONS);
    case CL_PLATFORM_EXTENSIONS_WITH_VERSION:
      return device_answer(CL_DEVICE_EXTENSIONS_WITH_VERSION);
    // "Returns the list of the … types supported by all devices".
    case CL_PLATFORM_SEMAPHORE_TYPES_KHR:
      return device_answer(CL_DEVICE_SEMAPHORE_TYPES_KHR);
    case CL_PLATFORM_SEMAPHORE_IMPORT_HANDLE_TYPES_KHR:
      return device_answer(CL_DEVICE_SEMAPHORE_IMPORT_HANDLE_TYPES_KHR);
    case CL_PLATFORM_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR:
      return device_answer(CL_DEVICE_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR);
    case CL_PLATFORM_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR:
      return device_answer(CL_DEVICE_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR);
    case CL_PLATFORM_HOST_TIMER_RESOLUTION:
      return answer.value(kHostTimerResolution);
    case CL_PLATFORM_ICD_SUFFIX_KHR:
      return answer.string("TUTTI");
    default:
      return device_virtual::unknown_query();
  }
}

}  // namespace tutti::platform
