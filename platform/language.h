// SPDX-License-Identifier: Apache-2.0
// What of OpenCL C the virtual device offers: the language versions, extensions and features of the
// primary, as far as kernels that use them need no object of the host that is not there. Pure
// functions.
#pragma once

#include <string_view>

#include "platform/device_answers.h"

namespace tutti::platform {

inline constexpr std::string_view kFp64 = "cl_khr_fp64";
inline constexpr std::string_view kFp16 = "cl_khr_fp16";

/// 120 from "OpenCL C 1.2 …"; 0 when it cannot be read.
uint32_t language_version(const DeviceFacts& device);

/// Sets the versions, extensions and features of `caps`.
void take_language(Capabilities& caps, const DeviceFacts& primary);

/// Answers what clGetDeviceInfo says of them: versions, sub-groups, atomics, variables …
void put_language(Answers& answers, Capabilities& caps, const DeviceFacts& primary,
                  const std::string& driver_version);

/// Programs in SPIR-V, and the extensions that are about them; `extensions` are the device's.
void put_intermediate_languages(Answers& answers, device_virtual::Capabilities& caps,
                                const DeviceFacts& primary, std::vector<std::string>& extensions);

}  // namespace tutti::platform
