// SPDX-License-Identifier: Apache-2.0
#include "platform/vendor_loader.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "backends/opencl/device_traits.h"
#include "backends/opencl/quirks.h"
#include "base/cl_error_name.h"
#include "base/keep_forever.h"
#include "base/log.h"
#include "base/lower_case.h"
#include "base/process_exit.h"
#include "platform/device_selection.h"
#include "platform/platform_object.h"

namespace tutti::platform {
namespace {

// Why a device cannot take part, or nothing.
std::string unusable(const backends::VendorFunctions& cl, cl_device_id device,
                     const backends::DeviceTraits& traits) {
  backends::DeviceQuery query(cl, device);
  const auto available = query.value<cl_bool>(CL_DEVICE_AVAILABLE);
  const auto compiler = query.value<cl_bool>(CL_DEVICE_COMPILER_AVAILABLE);
  const auto little = query.value<cl_bool>(CL_DEVICE_ENDIAN_LITTLE);
  const auto address_bits = query.value<cl_uint>(CL_DEVICE_ADDRESS_BITS);
  if (const Status status = query.status(); !status) return status.error().message;
  if (!available) return "the vendor says that it is not available";
  if (!compiler) return "it has no compiler";
  if (traits.type == CL_DEVICE_TYPE_CUSTOM) return "it is a custom device, which runs no OpenCL C";
  // Buffers and arguments are passed from device to device as they are.
  if (little != (std::endian::native == std::endian::little)) {
    return "its byte order is not the host's";
  }
  if (address_bits != 8 * sizeof(void*)) {
    return fmt::format("its addresses have {} bits, the host's {}", address_bits,
                       8 * sizeof(void*));
  }
  return {};
}

std::string hint_for_hidden(const std::string& library) {
  return contains_ignoring_case(library, "rusticl")
             ? " (Rusticl shows devices only for the drivers that RUSTICL_ENABLE names, for "
               "example "
               "RUSTICL_ENABLE=llvmpipe)"
             : "";
}

}  // namespace

VendorLoader::VendorLoader(const DiscoveryOptions& options) : options_(options) {
  StaysApart stays_apart;
  if (options.isolate != "none" && !options.isolate.empty()) {
    stays_apart = [this](VendorLibrary& library) { return look_from_apart(library); };
  }
  for (const VendorLibrary& library : discover_vendors(options, stays_apart)) add_driver(library);
  add_nodes();
  watch_process_exit();
  std::vector<SelectableDevice> selectable;
  for (const FoundDevice& device : devices_) {
    selectable.push_back({device.traits.platform_name, device.traits.device_name});
  }
  for (const std::string& problem : isolation_problems(options.isolate, selectable)) {
    log(LogLevel::kWarning, "{}", problem);
  }
}

bool VendorLoader::isolates(size_t index, const backends::DeviceTraits& traits) const {
  return platform::isolates(options_.isolate, index, {traits.platform_name, traits.device_name});
}

bool VendorLoader::look_from_apart(VendorLibrary& library) {
  auto helper = backends::process::start_helper({options_.device_program, library.library, {}});
  if (!helper) {
    library.reason = helper.error().message;
    return false;
  }
  const backends::process::Listing& listing = helper->listing;
  if (listing.devices.empty()) {
    library.reason = listing.reason.empty() ? "it has no device" : listing.reason;
    return false;
  }
  const MutexLock lock(mutex_);
  if (helpers_.contains(listing.path)) {
    library.reason = "already loaded";
    return false;
  }
  const size_t first = std::exchange(listed_, listed_ + listing.devices.size());
  size_t apart = 0;
  for (size_t i = 0; i < listing.devices.size(); ++i) {
    apart += isolates(first + i, listing.devices[i].traits) ? 1 : 0;
  }
  const bool all = apart == listing.devices.size();
  if (all) library.path = listing.path;
  // Loaded here, it is asked here.
  if (apart > 0) helpers_.emplace(listing.path, std::move(*helper));
  return all;
}

backends::process::StartedHelper VendorLoader::take_helper(const FoundDevice& device) const {
  const MutexLock lock(mutex_);
  const auto found = helpers_.find(device.node.empty() ? device.device.place.library : device.node);
  return found == helpers_.end() ? backends::process::StartedHelper{}
                                 : std::exchange(found->second, {});
}

void VendorLoader::end_helpers() const {
  Helpers left;  // let go of with no lock held
  const MutexLock lock(mutex_);
  left.swap(helpers_);
}

void VendorLoader::add_apart(const VendorLibrary& library) {
  const MutexLock lock(mutex_);
  for (const auto& listed : helpers_.at(library.path).listing.devices) {
    add_listed(listed, library.path);
  }
}

void VendorLoader::add_listed(const backends::process::ListedDevice& listed,
                              const std::string& library) {
  FoundDevice& found = devices_.emplace_back();
  found.traits = listed.traits;
  found.reason = listed.reason;
  found.apart = true;
  found.device.name = listed.traits.device_name;
  found.device.place = {library, listed.platform, listed.device};
  if (!found.reason.empty()) {
    log(LogLevel::kInfo, "device {} is left out: {}", found.device.name, found.reason);
  }
}

void VendorLoader::add_driver(const VendorLibrary& library) {
  FoundDriver driver{library.icd, library.library, false, library.reason, library.path};
  if (library.ok() || library.apart) {
    const size_t before = devices_.size();
    if (library.apart) add_apart(library);
    Result<std::vector<cl_platform_id>> platforms;
    if (!library.apart) platforms = backends::vendor_platforms(library.get_extension_function);
    if (!platforms) {
      driver.reason = platforms.error().message;
    } else {
      for (uint32_t i = 0; i < platforms->size(); ++i) {
        const std::string reason = add_platform((*platforms)[i], {library.path, i, 0});
        if (driver.reason.empty()) driver.reason = reason;
      }
    }
    driver.ok = std::any_of(devices_.begin() + static_cast<std::ptrdiff_t>(before), devices_.end(),
                            [](const FoundDevice& device) { return device.reason.empty(); });
    if (driver.ok) {
      driver.reason.clear();
    } else if (driver.reason.empty()) {
      driver.reason = devices_.size() > before
                          ? "no device of it can be used"
                          : "it has no device" + hint_for_hidden(library.library);
      // Common and harmless (Clover beside Rusticl), so not worth a line at the info level.
      log(LogLevel::kDebug, "vendor driver {} is left out: {}", driver.library, driver.reason);
    } else {
      log(LogLevel::kInfo, "vendor driver {} is left out: {}", driver.library, driver.reason);
    }
  }
  drivers_.push_back(std::move(driver));
}

std::string VendorLoader::add_platform(cl_platform_id platform, backends::DevicePlace place) {
  auto functions = backends::read_vendor_functions(platform);
  if (!functions) return functions.error().message;
  // Objects of the vendor may be used until the process ends.
  const auto* cl = keep_forever(std::make_unique<backends::VendorFunctions>(std::move(*functions)));
  cl_uint count = 0;
  // ALL, as Rusticl finds nothing for DEFAULT.
  cl_int code = backends::ask_vendor(
      [&] { return cl->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count); });
  if (code == CL_DEVICE_NOT_FOUND || (code == CL_SUCCESS && count == 0)) return {};
  std::vector<cl_device_id> devices(code == CL_SUCCESS ? count : 0);
  if (code == CL_SUCCESS) {
    code = backends::ask_vendor([&] {
      return cl->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices.data(), nullptr);
    });
  }
  if (code != CL_SUCCESS) return "clGetDeviceIDs: " + cl_error_name(code);
  // PoCL loads LLVM when it is first asked for devices. From here on an exit of the process waits:
  // it would destroy what the driver uses.
  watch_process_exit();
  const ExitHold hold;
  if (vendors_gone()) return "the process ends";
  std::string reason;
  for (uint32_t i = 0; i < devices.size(); ++i) {
    const cl_device_id device = devices[i];
    auto traits = backends::read_traits(*cl, platform, device, options_.node);
    if (!traits) {
      log(LogLevel::kInfo, "a device is left out: {}", traits.error().message);
      reason = traits.error().message;
      continue;
    }
    // Its platform may be called as its primary's (TUTTI_IDENTITY).
    if (traits->platform_name == kPlatformName ||
        traits->device_version.find(" Tutti ") != std::string::npos) {
      return "this is another copy of Tutti";
    }
    FoundDevice found;
    found.device = {cl, platform, device, traits->device_name, backends::quirks_of(*traits)};
    place.device = i;
    found.device.place = place;
    found.traits = std::move(*traits);
    found.apart = isolates(devices_.size(), found.traits);
    found.reason = unusable(*cl, device, found.traits);
    if (!found.reason.empty()) {
      log(LogLevel::kInfo, "device {} is left out: {}", found.traits.device_name, found.reason);
    }
    devices_.push_back(std::move(found));
  }
  return reason;
}

}  // namespace tutti::platform
