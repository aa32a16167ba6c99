// SPDX-License-Identifier: Apache-2.0
#include "platform/identity.h"

#include <CL/cl_ext.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <utility>

namespace tutti::platform {
namespace {

constexpr cl_uint kOwnVendorId = 0x5475'7474;  // "Tutt": no PCI or Khronos vendor

struct QueryExtension {
  std::string_view name;
  cl_device_info first, last;
};
// Extensions that are nothing but questions about a device: they hold for the primary, and say no
// more. Ranges as in CL/cl_ext.h.
constexpr QueryExtension kOfVendor[] = {
    {"cl_nv_device_attribute_query", 0x4000, 0x400A},
    {"cl_amd_device_attribute_query", 0x4030, 0x404C},
    {"cl_intel_device_attribute_query", 0x4250, 0x4256},
    {"cl_khr_pci_bus_info", CL_DEVICE_PCI_BUS_INFO_KHR, CL_DEVICE_PCI_BUS_INFO_KHR},
};
constexpr std::string_view kUuid = "cl_khr_device_uuid";

using Uuid = std::array<cl_uchar, CL_UUID_SIZE_KHR>;

Uuid hashed(const std::string& text) {
  const XXH128_canonical_t bytes = [&] {
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits(text.data(), text.size()));
    return canonical;
  }();
  Uuid uuid;
  static_assert(sizeof uuid == sizeof bytes.digest);
  std::memcpy(uuid.data(), bytes.digest, sizeof uuid);
  return uuid;
}

/// What tells a device from others: its own UUID, else its names and where it is plugged in.
std::string told_by(const DeviceFacts& device) {
  const backends::DeviceTraits& traits = device.traits;
  std::string text = traits.platform_name + '\0' + traits.device_name + '\0' + traits.pci_address;
  const auto own = has_feature(traits, kUuid) ? device.info(CL_DEVICE_UUID_KHR)
                                              : Result<std::vector<std::byte>>();
  if (own) text.append(reinterpret_cast<const char*>(own->data()), own->size());
  return text + '\0';
}

void put_uuid(Answers& answers, std::span<const DeviceFacts> devices) {
  std::string set, drivers;
  for (const DeviceFacts& device : devices) {
    set += told_by(device);
    drivers += device.traits.driver_version + '\0';
  }
  Uuid uuid = hashed(set);
  Uuid driver = hashed("Tutti " + std::string(driver_version()) + '\0' + drivers);
  std::array<cl_uchar, CL_LUID_SIZE_KHR> luid{};
  cl_bool luid_valid = CL_FALSE;
  cl_uint node_mask = 0;
  if (devices.size() == 1 && has_feature(devices[0].traits, kUuid)) {  // it is that device
    uuid = ask(devices[0], CL_DEVICE_UUID_KHR, uuid);
    driver = ask(devices[0], CL_DRIVER_UUID_KHR, driver);
    luid_valid = ask(devices[0], CL_DEVICE_LUID_VALID_KHR, luid_valid);
    luid = ask(devices[0], CL_DEVICE_LUID_KHR, luid);
    node_mask = ask(devices[0], CL_DEVICE_NODE_MASK_KHR, node_mask);
  }
  answers.put<Uuid>(CL_DEVICE_UUID_KHR, uuid);
  answers.put<Uuid>(CL_DRIVER_UUID_KHR, driver);
  answers.put<cl_bool>(CL_DEVICE_LUID_VALID_KHR, luid_valid);
  answers.put<std::array<cl_uchar, CL_LUID_SIZE_KHR>>(CL_DEVICE_LUID_KHR, luid);
  answers.put<cl_uint>(CL_DEVICE_NODE_MASK_KHR, node_mask);
}

/// "2 x cpu, llvmpipe".
std::string listed(std::span<const DeviceFacts> devices) {
  std::vector<std::pair<std::string, int>> names;
  for (const DeviceFacts& device : devices) {
    const auto found = std::find_if(names.begin(), names.end(), [&](const auto& entry) {
      return entry.first == device.traits.device_name;
    });
    if (found != names.end()) {
      ++found->second;
    } else {
      names.emplace_back(device.traits.device_name, 1);
    }
  }
  std::string text;
  for (const auto& [name, count] : names) {
    if (!text.empty()) text += ", ";
    if (count > 1) text += std::to_string(count) + " x ";
    text += name;
  }
  return text;
}

}  // namespace

std::string merged_name(std::span<const DeviceFacts> devices, const DeviceFacts& primary,
                        IdentityChoice identity) {
  const std::string& name = primary.traits.device_name;
  switch (identity) {
    case IdentityChoice::kPrimary:
      return name;
    case IdentityChoice::kOwn:
      return "Tutti (" + listed(devices) + ")";
    case IdentityChoice::kAuto:
      break;
  }
  return devices.size() == 1 ? name + " (Tutti)" : name + " (Tutti: " + listed(devices) + ")";
}

PlatformNames platform_names(const DeviceFacts& primary, IdentityChoice identity) {
  if (identity != IdentityChoice::kPrimary) return {};
  return {primary.traits.platform_name, primary.traits.platform_vendor};
}

void put_identity(Answers& answers, const Capabilities& caps, const DeviceFacts& primary,
                  const ShownAs& shown) {
  const bool own = shown.identity == IdentityChoice::kOwn;
  const bool wholly = shown.identity == IdentityChoice::kPrimary;
  answers.put<cl_device_type>(CL_DEVICE_TYPE, caps.type);
  answers.put<cl_uint>(CL_DEVICE_VENDOR_ID,
                       own ? kOwnVendorId : ask(primary, CL_DEVICE_VENDOR_ID, kOwnVendorId));
  answers.string(CL_DEVICE_NAME, caps.name);
  answers.string(CL_DEVICE_VENDOR, own ? std::string(kPlatformVendor) : primary.traits.vendor);
  answers.string(CL_DRIVER_VERSION, wholly ? primary.traits.driver_version : shown.driver_version);
  answers.string(CL_DEVICE_PROFILE, "FULL_PROFILE");
  answers.string(CL_DEVICE_VERSION,
                 "OpenCL " + version_text(caps.version) + " Tutti " + shown.driver_version);
  answers.put<cl_version>(CL_DEVICE_NUMERIC_VERSION, packed_version(caps.version));
  // None; but clients take the string for a date, which has no month or day 0.
  answers.string(CL_DEVICE_LATEST_CONFORMANCE_VERSION_PASSED, "v0000-01-01-00");
  answers.boolean(CL_DEVICE_AVAILABLE, true);
}

std::vector<std::string> put_device_queries(Answers& answers, Capabilities& caps,
                                            std::span<const DeviceFacts> devices,
                                            const DeviceFacts& primary, IdentityChoice identity) {
  std::vector<std::string> extensions;
  for (const QueryExtension& extension : kOfVendor) {
    if (identity == IdentityChoice::kOwn || !has_feature(primary.traits, extension.name)) continue;
    extensions.emplace_back(extension.name);
    caps.primary_queries.emplace_back(extension.first, extension.last);
  }
  put_uuid(answers, devices);
  extensions.emplace_back(kUuid);
  return extensions;
}

}  // namespace tutti::platform
