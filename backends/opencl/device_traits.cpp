// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/device_traits.h"

#include <CL/cl_ext.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <sstream>

#include "backends/opencl/quirks.h"
#include "base/cl_error_name.h"

namespace tutti::backends {

std::string DeviceQuery::text(cl_device_info what) {
  auto bytes = query_bytes("clGetDeviceInfo", [&](size_t size, void* value, size_t* size_ret) {
    return cl_.clGetDeviceInfo(device_, what, size, value, size_ret);
  });
  if (!bytes) {
    note(bytes.error().code, what);
    return {};
  }
  return text_of(*bytes);
}

void DeviceQuery::note(cl_int code, cl_device_info what) {
  if (code == CL_SUCCESS || !status_) return;
  status_ = fail(code, fmt::format("clGetDeviceInfo({:#x}): {}", what, cl_error_name(code)));
}

namespace {

// The specification allows no unions, some drivers report them all the same.
cl_device_type one_type(cl_device_type type) {
  for (const cl_device_type one :
       {CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_ACCELERATOR}) {
    if (type & static_cast<cl_device_type>(one)) return one;
  }
  return CL_DEVICE_TYPE_CUSTOM;
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
  const cl_int code = ask_vendor([&] {
    return cl.clGetDeviceInfo(device, CL_DEVICE_PARTITION_MAX_SUB_DEVICES, sizeof most, &most,
                              nullptr);
  });
  if (code == CL_SUCCESS) return std::max(most, 1u);
  note_vendor_error(name, "clGetDeviceInfo(CL_DEVICE_PARTITION_MAX_SUB_DEVICES)", code);
  return 1;
}

// Bytes; 0 where the vendor does not say, which keeps nobody from using the device.
uint64_t local_memory(const VendorFunctions& cl, cl_device_id device, const std::string& name) {
  cl_ulong size = 0;
  const cl_int code = ask_vendor([&] {
    return cl.clGetDeviceInfo(device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof size, &size, nullptr);
  });
  if (code == CL_SUCCESS) return size;
  note_vendor_error(name, "clGetDeviceInfo(CL_DEVICE_LOCAL_MEM_SIZE)", code);
  return 0;
}

// What the device says of doubles counts when it is all that the specification demands: "the
// mandated minimum double precision floating-point capability".
constexpr cl_device_fp_config kLeastDouble = CL_FP_FMA | CL_FP_ROUND_TO_NEAREST |
                                             CL_FP_ROUND_TO_ZERO | CL_FP_ROUND_TO_INF |
                                             CL_FP_INF_NAN | CL_FP_DENORM;

// Where the vendor does not answer the device has none, and takes no part in what uses them.
std::vector<std::string> features(const VendorFunctions& cl, cl_device_id device,
                                  const std::string& name) {
  const auto answer = [&]<typename T>(cl_device_info what, const char* title, T value) {
    const cl_int code =
        ask_vendor([&] { return cl.clGetDeviceInfo(device, what, sizeof value, &value, nullptr); });
    if (code == CL_SUCCESS) return value;
    // The answer to questions that an old driver does not know.
    if (code != CL_INVALID_VALUE) note_vendor_error(name, title, code);
    return T{0};
  };
  std::vector<std::string> result;
  DeviceQuery query(cl, device);
  std::istringstream words(query.text(CL_DEVICE_EXTENSIONS));
  if (!query.status()) {
    note_vendor_error(name, "clGetDeviceInfo(CL_DEVICE_EXTENSIONS)", query.status().error().code);
  }
  for (std::string word; words >> word;) {
    if (word == "cl_khr_fp64") {
      const auto config =
          answer(CL_DEVICE_DOUBLE_FP_CONFIG, "clGetDeviceInfo(CL_DEVICE_DOUBLE_FP_CONFIG)",
                 cl_device_fp_config{0});
      if ((config & kLeastDouble) != kLeastDouble) continue;
    }
    if (std::find(result.begin(), result.end(), word) == result.end()) {
      result.push_back(std::move(word));
    }
  }
  if (answer(CL_DEVICE_IMAGE_SUPPORT, "clGetDeviceInfo(CL_DEVICE_IMAGE_SUPPORT)",
             cl_bool{CL_FALSE}) != CL_FALSE) {
    result.emplace_back("__opencl_c_images");
  }
  return result;
}

// Sizes that keep nobody from using the device where the vendor does not say.
void read_launch_limits(const VendorFunctions& cl, cl_device_id device, DeviceTraits& traits) {
  std::array<size_t, 3> items{};
  const cl_int code = ask_vendor([&] {
    return cl.clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof items, &items, nullptr);
  });
  if (code == CL_SUCCESS) {
    for (size_t d = 0; d < 3; ++d) traits.max_work_items[d] = items[d];
  } else {
    note_vendor_error(traits.device_name, "clGetDeviceInfo(CL_DEVICE_MAX_WORK_ITEM_SIZES)", code);
  }
  cl_ulong constant = 0;
  const cl_int known = ask_vendor([&] {
    return cl.clGetDeviceInfo(device, CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE, sizeof constant,
                              &constant, nullptr);
  });
  if (known == CL_SUCCESS && constant > 0) traits.max_constant = constant;
}

// "0000:3b:00.0", as the kernel and NVML write it; empty where the vendor does not say.
std::string pci_address(const VendorFunctions& cl, cl_device_id device, const std::string& name) {
  const auto answer = [&](cl_device_info what, auto& value) {
    const cl_int code =
        ask_vendor([&] { return cl.clGetDeviceInfo(device, what, sizeof value, &value, nullptr); });
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
    // All zero is the host bridge: PoCL 8 says so of processors, which are on no bus.
    const bool none = (info.pci_domain | info.pci_bus | info.pci_device | info.pci_function) == 0;
    if (none) return {};
    return address(info.pci_domain, info.pci_bus, info.pci_device, info.pci_function);
  }
  // NVIDIA's older drivers: cl_nv_device_attribute_query; the slot holds the function, too.
  constexpr cl_device_info kBusNv = 0x4008, kSlotNv = 0x4009, kDomainNv = 0x400a;
  cl_uint bus = 0, slot = 0, domain = 0;
  if (!answer(kBusNv, bus) || !answer(kSlotNv, slot)) return {};
  if (!answer(kDomainNv, domain)) domain = 0;
  return address(domain, bus, slot >> 3, slot & 7);
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
  traits.local_memory = local_memory(cl, device, traits.device_name);
  traits.features = features(cl, device, traits.device_name);
  read_launch_limits(cl, device, traits);
  traits.pci_address = pci_address(cl, device, traits.device_name);
  traits.max_parts = max_parts(cl, device, traits.device_name);
  describe_quirks(quirks_of(traits), traits);
  traits.nominal_gflops = nominal_gflops(traits);
  return traits;
}

}  // namespace tutti::backends
