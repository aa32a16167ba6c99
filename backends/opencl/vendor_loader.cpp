// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/vendor_loader.h"

#include <CL/cl_ext.h>
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "backends/opencl/quirks.h"
#include "platform/cl_error_name.h"
#include "platform/keep_forever.h"
#include "platform/log.h"
#include "platform/lower_case.h"

namespace tutti::backends {
namespace {

// Reads several properties of a device and keeps the first error.
class DeviceQuery {
 public:
  DeviceQuery(const VendorFunctions& cl, cl_device_id device) : cl_(cl), device_(device) {}

  std::string text(cl_device_info what) {
    auto bytes = query_bytes("clGetDeviceInfo", [&](size_t size, void* value, size_t* size_ret) {
      return cl_.clGetDeviceInfo(device_, what, size, value, size_ret);
    });
    if (!bytes) {
      note(bytes.error().code, what);
      return {};
    }
    return text_of(*bytes);
  }
  template <typename T>
  T value(cl_device_info what) {
    T result{};
    note(cl_.clGetDeviceInfo(device_, what, sizeof result, &result, nullptr), what);
    return result;
  }
  Status status() const { return status_; }

 private:
  void note(cl_int code, cl_device_info what) {
    if (code == CL_SUCCESS || !status_) return;
    status_ = fail(code, fmt::format("clGetDeviceInfo({:#x}): {}", what, cl_error_name(code)));
  }
  const VendorFunctions& cl_;
  const cl_device_id device_;
  Status status_;
};

// The specification allows no unions, some drivers report them all the same.
cl_device_type one_type(cl_device_type type) {
  for (const cl_device_type one :
       {CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_ACCELERATOR}) {
    if (type & static_cast<cl_device_type>(one)) return one;
  }
  return CL_DEVICE_TYPE_CUSTOM;
}

// Why a device cannot take part, or nothing.
std::string unusable(const VendorFunctions& cl, cl_device_id device, const DeviceTraits& traits) {
  DeviceQuery query(cl, device);
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

// Into how many parts of any sizes the vendor can cut the device.
uint32_t max_parts(const VendorFunctions& cl, cl_device_id device, const std::string& name) {
  if (!cl.clCreateSubDevices || cl.version < 12) return 1;
  const auto ways = query_bytes("clGetDeviceInfo", [&](size_t size, void* value, size_t* size_ret) {
    return cl.clGetDeviceInfo(device, CL_DEVICE_PARTITION_PROPERTIES, size, value, size_ret);
  });
  if (!ways) {
    note_vendor_error(name, "clGetDeviceInfo(CL_DEVICE_PARTITION_PROPERTIES)", ways.error().code);
  }
  bool by_counts = false;
  using Property = cl_device_partition_property;
  for (size_t at = 0; ways && at + sizeof(Property) <= ways->size(); at += sizeof(Property)) {
    Property way;
    std::memcpy(&way, ways->data() + at, sizeof way);
    by_counts |= way == CL_DEVICE_PARTITION_BY_COUNTS;
  }
  if (!by_counts) return 1;
  cl_uint most = 0;
  const cl_int code =
      cl.clGetDeviceInfo(device, CL_DEVICE_PARTITION_MAX_SUB_DEVICES, sizeof most, &most, nullptr);
  if (code == CL_SUCCESS) return std::max(most, 1u);
  note_vendor_error(name, "clGetDeviceInfo(CL_DEVICE_PARTITION_MAX_SUB_DEVICES)", code);
  return 1;
}

// "0000:3b:00.0", as the kernel and NVML write it; empty where the vendor does not say.
std::string pci_address(const VendorFunctions& cl, cl_device_id device, const std::string& name) {
  const auto answer = [&](cl_device_info what, auto& value) {
    const cl_int code = cl.clGetDeviceInfo(device, what, sizeof value, &value, nullptr);
    // The answer to questions that a driver does not know.
    if (code != CL_SUCCESS && code != CL_INVALID_VALUE) {
      note_vendor_error(name, "clGetDeviceInfo of the PCI address", code);
    }
    return code == CL_SUCCESS;
  };
  const auto address = [](cl_uint domain, cl_uint bus, cl_uint slot, cl_uint function) {
    return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", domain, bus, slot, function);
  };
  cl_device_pci_bus_info_khr info{};
  if (answer(CL_DEVICE_PCI_BUS_INFO_KHR, info)) {
    return address(info.pci_domain, info.pci_bus, info.pci_device, info.pci_function);
  }
  // NVIDIA's older drivers: cl_nv_device_attribute_query; the slot holds the function, too.
  constexpr cl_device_info kBusNv = 0x4008, kSlotNv = 0x4009, kDomainNv = 0x400a;
  cl_uint bus = 0, slot = 0, domain = 0;
  if (!answer(kBusNv, bus) || !answer(kSlotNv, slot)) return {};
  if (!answer(kDomainNv, domain)) domain = 0;
  return address(domain, bus, slot >> 3, slot & 7);
}

std::string hint_for_hidden(const std::string& library) {
  return contains_ignoring_case(library, "rusticl")
             ? " (Rusticl shows devices only for the drivers that RUSTICL_ENABLE names, for "
               "example "
               "RUSTICL_ENABLE=llvmpipe)"
             : "";
}

}  // namespace

Result<DeviceTraits> read_traits(const VendorFunctions& cl, cl_platform_id platform,
                                 cl_device_id device) {
  DeviceTraits traits;
  auto name = query_bytes("clGetPlatformInfo", [&](size_t size, void* value, size_t* size_ret) {
    return cl.clGetPlatformInfo(platform, CL_PLATFORM_NAME, size, value, size_ret);
  });
  if (!name) {
    return fail(name.error().code,
                "clGetPlatformInfo(CL_PLATFORM_NAME): " + cl_error_name(name.error().code));
  }
  traits.platform_name = text_of(*name);
  DeviceQuery query(cl, device);
  traits.device_name = query.text(CL_DEVICE_NAME);
  traits.vendor = query.text(CL_DEVICE_VENDOR);
  traits.driver_version = query.text(CL_DRIVER_VERSION);
  traits.device_version = query.text(CL_DEVICE_VERSION);
  traits.type = one_type(query.value<cl_device_type>(CL_DEVICE_TYPE));
  traits.compute_units = query.value<cl_uint>(CL_DEVICE_MAX_COMPUTE_UNITS);
  traits.clock_mhz = query.value<cl_uint>(CL_DEVICE_MAX_CLOCK_FREQUENCY);
  traits.global_memory = query.value<cl_ulong>(CL_DEVICE_GLOBAL_MEM_SIZE);
  traits.max_allocation = query.value<cl_ulong>(CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  traits.max_work_group = query.value<size_t>(CL_DEVICE_MAX_WORK_GROUP_SIZE);
  traits.memory_alignment = std::max(1u, query.value<cl_uint>(CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8);
  TUTTI_TRY(query.status());
  traits.pci_address = pci_address(cl, device, traits.device_name);
  traits.max_parts = max_parts(cl, device, traits.device_name);
  describe_quirks(quirks_of(traits), traits);
  traits.nominal_gflops = nominal_gflops(traits);
  return traits;
}

VendorLoader::VendorLoader(const DiscoveryOptions& options) {
  for (const VendorLibrary& library : discover_vendors(options)) add_driver(library);
  watch_process_exit();
}

void VendorLoader::add_driver(const VendorLibrary& library) {
  FoundDriver driver{library.icd, library.library, false, library.reason};
  if (library.ok()) {
    const size_t before = devices_.size();
    auto platforms = vendor_platforms(library.get_extension_function);
    if (!platforms) {
      driver.reason = platforms.error().message;
    } else {
      for (cl_platform_id platform : *platforms) {
        const std::string reason = add_platform(platform);
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

std::string VendorLoader::add_platform(cl_platform_id platform) {
  auto functions = read_vendor_functions(platform);
  if (!functions) return functions.error().message;
  // Objects of the vendor may be used until the process ends.
  const auto* cl = keep_forever(std::make_unique<VendorFunctions>(std::move(*functions)));
  cl_uint count = 0;
  // ALL, as Rusticl finds nothing for DEFAULT.
  cl_int code = cl->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count);
  if (code == CL_DEVICE_NOT_FOUND || (code == CL_SUCCESS && count == 0)) return {};
  std::vector<cl_device_id> devices(code == CL_SUCCESS ? count : 0);
  if (code == CL_SUCCESS) {
    code = cl->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices.data(), nullptr);
  }
  if (code != CL_SUCCESS) return "clGetDeviceIDs: " + cl_error_name(code);
  std::string reason;
  for (cl_device_id device : devices) {
    auto traits = read_traits(*cl, platform, device);
    if (!traits) {
      log(LogLevel::kInfo, "a device is left out: {}", traits.error().message);
      reason = traits.error().message;
      continue;
    }
    if (traits->platform_name == "Tutti") return "this is another copy of Tutti";
    FoundDevice found;
    found.device = {cl, platform, device, traits->device_name, quirks_of(*traits)};
    found.traits = std::move(*traits);
    found.reason = unusable(*cl, device, found.traits);
    if (!found.reason.empty()) {
      log(LogLevel::kInfo, "device {} is left out: {}", found.traits.device_name, found.reason);
    }
    devices_.push_back(std::move(found));
  }
  return reason;
}

}  // namespace tutti::backends
