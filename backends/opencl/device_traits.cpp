// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/device_traits.h"

#include <CL/cl_ext.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <optional>
#include <sstream>
#include <utility>

#include "backends/opencl/external_memory.h"
#include "backends/opencl/gl_sharing.h"
#include "backends/opencl/quirks.h"
#include "backends/opencl/semaphore.h"
#include "backends/opencl/shared_memory.h"
#include "base/cl_error_name.h"
#include "base/name_list.h"

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

/// Asks what keeps nobody from using the device when it does not answer: errors are only noted.
class OptionalQuery {
 public:
  OptionalQuery(const VendorFunctions& cl, cl_device_id device, std::string name)
      : cl_(cl), device_(device), name_(std::move(name)) {}

  /// An error other than `expected` is noted.
  template <typename T>
  std::optional<T> value(cl_device_info what, const char* title, cl_int expected = CL_SUCCESS) {
    T value{};
    const cl_int code = ask_vendor(
        [&] { return cl_.clGetDeviceInfo(device_, what, sizeof value, &value, nullptr); });
    if (code == CL_SUCCESS) return value;
    if (code != expected) note_vendor_error(name_, call(title).c_str(), code);
    return std::nullopt;
  }
  /// Empty where there is none.
  template <typename T>
  std::vector<T> list(cl_device_info what, const char* title, cl_int expected = CL_SUCCESS) {
    const auto bytes = query_bytes("", [&](size_t size, void* value, size_t* size_ret) {
      return cl_.clGetDeviceInfo(device_, what, size, value, size_ret);
    });
    if (!bytes) {
      if (bytes.error().code != expected) {
        note_vendor_error(name_, call(title).c_str(), bytes.error().code);
      }
      return {};
    }
    std::vector<T> result(bytes->size() / sizeof(T));
    if (!result.empty()) std::memcpy(result.data(), bytes->data(), result.size() * sizeof(T));
    return result;
  }
  std::string text(cl_device_info what, const char* title, cl_int expected = CL_SUCCESS) {
    const std::vector<char> chars = list<char>(what, title, expected);
    return {chars.begin(), std::find(chars.begin(), chars.end(), '\0')};
  }

 private:
  static std::string call(const char* title) { return fmt::format("clGetDeviceInfo({})", title); }

  const VendorFunctions& cl_;
  const cl_device_id device_;
  const std::string name_;
};

// The answer of drivers to questions that they do not know.
constexpr cl_int kUnknownQuestion = CL_INVALID_VALUE;

// Into how many parts of any sizes the vendor can cut the device.
uint32_t max_parts(const VendorFunctions& cl, OptionalQuery& query) {
  if (!cl.clCreateSubDevices || cl.version < 12) return 1;
  const auto ways = query.list<cl_device_partition_property>(CL_DEVICE_PARTITION_PROPERTIES,
                                                             "CL_DEVICE_PARTITION_PROPERTIES");
  if (std::find(ways.begin(), ways.end(), CL_DEVICE_PARTITION_BY_COUNTS) == ways.end()) return 1;
  const auto most = query.value<cl_uint>(CL_DEVICE_PARTITION_MAX_SUB_DEVICES,
                                         "CL_DEVICE_PARTITION_MAX_SUB_DEVICES");
  return std::max(most.value_or(1), 1u);
}

// What the device says of doubles counts when it is all that the specification demands: "the
// mandated minimum double precision floating-point capability".
constexpr cl_device_fp_config kLeastDouble = CL_FP_FMA | CL_FP_ROUND_TO_NEAREST |
                                             CL_FP_ROUND_TO_ZERO | CL_FP_ROUND_TO_INF |
                                             CL_FP_INF_NAN | CL_FP_DENORM;

// What OpenCL C 2.0 has, by the names that OpenCL C 3.0 gives it where it is optional.
constexpr const char* kOfVersion2[] = {
    "__opencl_c_atomic_order_acq_rel",
    "__opencl_c_atomic_order_seq_cst",
    "__opencl_c_atomic_scope_device",
    "__opencl_c_atomic_scope_all_devices",
    "__opencl_c_device_enqueue",
    "__opencl_c_generic_address_space",
    "__opencl_c_pipes",
    "__opencl_c_program_scope_global_variables",
    "__opencl_c_read_write_images",
    "__opencl_c_work_group_collective_functions",
};

// Where the vendor does not answer the device has none, and takes no part in what uses them.
std::vector<std::string> features(OptionalQuery& query) {
  std::vector<std::string> result;
  const auto add = [&result](std::string feature) {
    if (std::find(result.begin(), result.end(), feature) == result.end()) {
      result.push_back(std::move(feature));
    }
  };
  std::istringstream words(query.text(CL_DEVICE_EXTENSIONS, "CL_DEVICE_EXTENSIONS"));
  for (std::string word; words >> word;) {
    if (word == "cl_khr_fp64") {
      const auto config = query.value<cl_device_fp_config>(
          CL_DEVICE_DOUBLE_FP_CONFIG, "CL_DEVICE_DOUBLE_FP_CONFIG", kUnknownQuestion);
      if ((config.value_or(0) & kLeastDouble) != kLeastDouble) continue;
    }
    if (word == kIlPrograms) continue;  // it may be a function that we do not know
    if (word == "cl_khr_subgroups" || word == "cl_intel_subgroups") add("__opencl_c_subgroups");
    add(std::move(word));
  }
  const auto images =
      query.value<cl_bool>(CL_DEVICE_IMAGE_SUPPORT, "CL_DEVICE_IMAGE_SUPPORT", kUnknownQuestion);
  if (images.value_or(CL_FALSE) != CL_FALSE) add("__opencl_c_images");
  uint32_t major = 0;
  const std::string language = query.text(CL_DEVICE_OPENCL_C_VERSION, "CL_DEVICE_OPENCL_C_VERSION");
  if (std::sscanf(language.c_str(), "OpenCL C %u", &major) == 1 && major == 2) {
    for (const char* feature : kOfVersion2) add(feature);
  }
  for (const cl_name_version& entry : query.list<cl_name_version>(
           CL_DEVICE_OPENCL_C_FEATURES, "CL_DEVICE_OPENCL_C_FEATURES", kUnknownQuestion)) {
    // It says of doubles and images what was asked above.
    const std::string feature(entry.name, strnlen(entry.name, sizeof entry.name));
    if (feature != "__opencl_c_fp64" && feature != "__opencl_c_images") add(feature);
  }
  for (const cl_name_version& entry : query.list<cl_name_version>(
           CL_DEVICE_OPENCL_C_ALL_VERSIONS, "CL_DEVICE_OPENCL_C_ALL_VERSIONS", kUnknownQuestion)) {
    if (CL_VERSION_MAJOR(entry.version) == 3 && CL_VERSION_MINOR(entry.version) >= 1) {
      add(std::string(kOpenClC31));
    }
  }
  return result;
}

// "A semi-colon separated list of built-in kernels supported by the device."
std::vector<std::string> built_in_kernels(const VendorFunctions& cl, OptionalQuery& query) {
  if (!cl.clCreateProgramWithBuiltInKernels || !cl.clGetKernelArgInfo) return {};
  return split_names(
      query.text(CL_DEVICE_BUILT_IN_KERNELS, "CL_DEVICE_BUILT_IN_KERNELS", kUnknownQuestion));
}

// Sizes that keep nobody from using the device where the vendor does not say.
void read_launch_limits(OptionalQuery& query, DeviceTraits& traits) {
  using Sizes = std::array<size_t, 3>;
  const auto items =
      query.value<Sizes>(CL_DEVICE_MAX_WORK_ITEM_SIZES, "CL_DEVICE_MAX_WORK_ITEM_SIZES");
  if (items) std::copy(items->begin(), items->end(), traits.max_work_items.begin());
  traits.local_memory =
      query.value<cl_ulong>(CL_DEVICE_LOCAL_MEM_SIZE, "CL_DEVICE_LOCAL_MEM_SIZE").value_or(0);
  const auto constant = query.value<cl_ulong>(
      CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE, "CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE", kUnknownQuestion);
  if (constant.value_or(0) > 0) traits.max_constant = *constant;
  // All devices of OpenCL 2.x have it; older ones do not know the question.
  const auto smaller =
      query.value<cl_bool>(CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT,
                           "CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT", kUnknownQuestion);
  traits.smaller_groups =
      traits.device_version.starts_with("OpenCL 2.") || smaller.value_or(CL_FALSE) != CL_FALSE;
  const auto size = [&query](cl_device_info what, const char* title, uint64_t& most) {
    const auto said = query.value<size_t>(what, title, kUnknownQuestion);
    if (said) most = *said;
  };
  DeviceTraits::ImageSizes& images = traits.image_sizes;
  size(CL_DEVICE_IMAGE2D_MAX_WIDTH, "CL_DEVICE_IMAGE2D_MAX_WIDTH", images.width);
  size(CL_DEVICE_IMAGE2D_MAX_HEIGHT, "CL_DEVICE_IMAGE2D_MAX_HEIGHT", images.height);
  size(CL_DEVICE_IMAGE3D_MAX_WIDTH, "CL_DEVICE_IMAGE3D_MAX_WIDTH", images.width_3d);
  size(CL_DEVICE_IMAGE3D_MAX_HEIGHT, "CL_DEVICE_IMAGE3D_MAX_HEIGHT", images.height_3d);
  size(CL_DEVICE_IMAGE3D_MAX_DEPTH, "CL_DEVICE_IMAGE3D_MAX_DEPTH", images.depth_3d);
  size(CL_DEVICE_IMAGE_MAX_BUFFER_SIZE, "CL_DEVICE_IMAGE_MAX_BUFFER_SIZE", images.buffer);
  size(CL_DEVICE_IMAGE_MAX_ARRAY_SIZE, "CL_DEVICE_IMAGE_MAX_ARRAY_SIZE", images.layers);
}

// None where the driver is older than that, or has not all functions.
cl_device_svm_capabilities shared_memory(const VendorFunctions& cl, OptionalQuery& query) {
  if (!has_shared_memory(cl)) return 0;
  return query
      .value<cl_device_svm_capabilities>(CL_DEVICE_SVM_CAPABILITIES, "CL_DEVICE_SVM_CAPABILITIES",
                                         kUnknownQuestion)
      .value_or(0);
}

UnifiedMemory unified_memory(const VendorFunctions& cl, OptionalQuery& query) {
  if (!has_unified_memory(cl)) return {};
  const auto can = [&query](cl_device_info what, const char* title) {
    return query
        .value<cl_device_unified_shared_memory_capabilities_intel>(what, title, kUnknownQuestion)
        .value_or(0);
  };
  UnifiedMemory unified;
  unified.host =
      can(CL_DEVICE_HOST_MEM_CAPABILITIES_INTEL, "CL_DEVICE_HOST_MEM_CAPABILITIES_INTEL");
  unified.device =
      can(CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL, "CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL");
  unified.single_shared = can(CL_DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL,
                              "CL_DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL");
  unified.cross_shared = can(CL_DEVICE_CROSS_DEVICE_SHARED_MEM_CAPABILITIES_INTEL,
                             "CL_DEVICE_CROSS_DEVICE_SHARED_MEM_CAPABILITIES_INTEL");
  return unified;
}

// Before that version addresses were given to kernels in another way.
bool buffer_addresses(const VendorFunctions& cl, OptionalQuery& query) {
  if (!has_buffer_addresses(cl)) return false;
  for (const cl_name_version& entry :
       query.list<cl_name_version>(CL_DEVICE_EXTENSIONS_WITH_VERSION,
                                   "CL_DEVICE_EXTENSIONS_WITH_VERSION", kUnknownQuestion)) {
    if (std::string_view(entry.name, strnlen(entry.name, sizeof entry.name)) == kBufferAddresses) {
      return entry.version >= kBufferAddressesVersion;
    }
  }
  return false;
}

// "0000:3b:00.0", as the kernel and NVML write it; empty where the vendor does not say.
std::string pci_address(OptionalQuery& query) {
  const auto address = [](cl_uint domain, cl_uint bus, cl_uint slot, cl_uint function) {
    return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", domain, bus, slot, function);
  };
  const auto number = [&query](cl_device_info what) {
    return query.value<cl_uint>(what, "of the PCI address", kUnknownQuestion);
  };
  if (const auto info = query.value<cl_device_pci_bus_info_khr>(
          CL_DEVICE_PCI_BUS_INFO_KHR, "CL_DEVICE_PCI_BUS_INFO_KHR", kUnknownQuestion)) {
    // All zero is the host bridge: PoCL 8 says so of processors, which are on no bus.
    const bool none =
        (info->pci_domain | info->pci_bus | info->pci_device | info->pci_function) == 0;
    if (none) return {};
    return address(info->pci_domain, info->pci_bus, info->pci_device, info->pci_function);
  }
  // NVIDIA's older drivers: cl_nv_device_attribute_query; the slot holds the function, too.
  constexpr cl_device_info kBusNv = 0x4008, kSlotNv = 0x4009, kDomainNv = 0x400a;
  const auto bus = number(kBusNv), slot = number(kSlotNv);
  if (!bus || !slot) return {};
  return address(number(kDomainNv).value_or(0), *bus, *slot >> 3, *slot & 7);
}

}  // namespace

Result<DeviceTraits> read_traits(const VendorFunctions& cl, cl_platform_id platform,
                                 cl_device_id device, const std::string& node) {
  DeviceTraits traits;
  traits.node = node;
  auto name = query_bytes("clGetPlatformInfo", [&](size_t size, void* value, size_t* size_ret) {
    return cl.clGetPlatformInfo(platform, CL_PLATFORM_NAME, size, value, size_ret);
  });
  if (!name) {
    return fail(name.error().code,
                "clGetPlatformInfo(CL_PLATFORM_NAME): " + cl_error_name(name.error().code));
  }
  traits.platform_name = text_of(*name);
  const auto vendor =
      query_bytes("clGetPlatformInfo", [&](size_t size, void* value, size_t* size_ret) {
        return cl.clGetPlatformInfo(platform, CL_PLATFORM_VENDOR, size, value, size_ret);
      });
  if (vendor) {
    traits.platform_vendor = text_of(*vendor);
  } else {
    note_vendor_error(traits.platform_name, "clGetPlatformInfo(CL_PLATFORM_VENDOR)",
                      vendor.error().code);
  }
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
  OptionalQuery optional(cl, device, traits.device_name);
  traits.features = features(optional);
  if (cl.clCreateProgramWithIL &&
      !optional.text(CL_DEVICE_IL_VERSION, "CL_DEVICE_IL_VERSION").empty()) {
    traits.features.emplace_back(kIlPrograms);
  }
  traits.built_in_kernels = built_in_kernels(cl, optional);
  traits.features.insert(traits.features.end(), traits.built_in_kernels.begin(),
                         traits.built_in_kernels.end());
  read_launch_limits(optional, traits);
  traits.svm = shared_memory(cl, optional);
  if (has_feature(traits, kUnifiedMemory)) traits.unified = unified_memory(cl, optional);
  traits.buffer_addresses = has_feature(traits, kBufferAddresses) && buffer_addresses(cl, optional);
  traits.external_memory = has_feature(traits, kExternalMemory) && has_external_memory(cl);
  traits.gl_sharing = has_feature(traits, kGlSharing) && has_gl_sharing(cl);
  traits.semaphores = has_feature(traits, kSemaphores) && has_semaphores(cl);
  traits.pci_address = pci_address(optional);
  traits.max_parts = max_parts(cl, optional);
  if (!node.empty()) {
    // Equal devices of two hosts differ wherever a device is known by its name.
    traits.device_name += " at " + node;
    traits.max_parts = 1;
  }
  describe_quirks(quirks_of(traits), traits);
  traits.nominal_gflops = nominal_gflops(traits);
  return traits;
}

}  // namespace tutti::backends
