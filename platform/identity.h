// SPDX-License-Identifier: Apache-2.0
// Who the virtual device says that it is (TUTTI_IDENTITY): programs tune by vendor, and some refuse
// those that they do not know. Pure functions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/config.h"
#include "platform/capability_merger.h"
#include "platform/device_answers.h"
#include "platform/platform_object.h"

namespace tutti::platform {

/// "NVIDIA H100 (Tutti: NVIDIA H100, cpu)", "NVIDIA H100" or "Tutti (NVIDIA H100, cpu)".
std::string merged_name(std::span<const DeviceFacts> devices, const DeviceFacts& primary,
                        IdentityChoice identity);

/// "Tutti", or the primary's platform where the identity is the primary's alone: programs that know
/// vendors by their platform take no other.
PlatformNames platform_names(const DeviceFacts& primary, IdentityChoice identity);

/// Type, names, vendor and versions.
void put_identity(Answers& answers, const Capabilities& caps, const DeviceFacts& primary,
                  const ShownAs& shown);

/// Extensions of clGetDeviceInfo that the device offers, for CL_DEVICE_EXTENSIONS: the primary's
/// vendor's (unless the identity is our own), whose queries go to the primary
/// (Capabilities::primary_queries), and cl_khr_device_uuid, by which a set of devices is known
/// again.
std::vector<std::string> put_device_queries(Answers& answers, Capabilities& caps,
                                            std::span<const DeviceFacts> devices,
                                            const DeviceFacts& primary, IdentityChoice identity);

}  // namespace tutti::platform
