// SPDX-License-Identifier: Apache-2.0
#include "platform/capability_merger.h"

#include <CL/cl_ext.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <sstream>
#include <string_view>
#include <type_traits>

#include "platform/platform_object.h"
#include "scheduler/access/hidden_argument.h"

namespace tutti::platform {
namespace {

// What kernels may use through Tutti, provided that every device has it. Everything else that
// vendors offer needs support of ours first (sub-groups …) or names host functions that are
// not there.
constexpr std::string_view kPassable[] = {
    "cl_khr_byte_addressable_store",
    "cl_khr_global_int32_base_atomics",
    "cl_khr_global_int32_extended_atomics",
    "cl_khr_local_int32_base_atomics",
    "cl_khr_local_int32_extended_atomics",
    "cl_khr_int64_base_atomics",
    "cl_khr_int64_extended_atomics",
    "cl_khr_fp64",
    "cl_khr_fp16",
    "cl_khr_3d_image_writes",
    "cl_khr_image2d_from_buffer",
    "cl_khr_depth_images",
};
constexpr std::string_view kImageFromBuffer = "cl_khr_image2d_from_buffer";
constexpr std::string_view k3dImageWrites = "cl_khr_3d_image_writes";
constexpr std::string_view kImages = "images";  // as a feature, beside the extensions
constexpr std::string_view kFp64 = "cl_khr_fp64";
constexpr std::string_view kFp16 = "cl_khr_fp16";

// "The mandated minimum double precision floating-point capability."
constexpr cl_device_fp_config kMinimumDouble = CL_FP_FMA | CL_FP_ROUND_TO_NEAREST |
                                               CL_FP_ROUND_TO_ZERO | CL_FP_ROUND_TO_INF |
                                               CL_FP_INF_NAN | CL_FP_DENORM;
// "The minimum value is 1024 for devices that are not of type CL_DEVICE_TYPE_CUSTOM."
constexpr size_t kMinimumParameterSize = 1024;
constexpr cl_uint kVendorId = 0x5475'7474;  // "Tutt": no PCI or Khronos vendor
constexpr double kPoorShare = 0.05;

using Devices = std::span<const DeviceFacts>;

template <typename T>
T ask(const DeviceFacts& device, cl_device_info what, T otherwise) {
  const auto bytes = device.info(what);
  if (!bytes || bytes->size() < sizeof(T)) return otherwise;
  T value;
  std::memcpy(&value, bytes->data(), sizeof(T));
  return value;
}

std::string ask_string(const DeviceFacts& device, cl_device_info what) {
  const auto bytes = device.info(what);
  if (!bytes) return {};
  std::string text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  text.resize(std::min(text.size(), text.find('\0')));
  return text;
}

template <typename T, typename Fold>
T fold(Devices devices, cl_device_info what, T otherwise, Fold&& combine) {
  T result = ask<T>(devices[0], what, otherwise);
  for (const DeviceFacts& device : devices.subspan(1)) {
    result = combine(result, ask<T>(device, what, otherwise));
  }
  return result;
}
template <typename T>
T minimum(Devices devices, cl_device_info what, T otherwise) {
  return fold<T>(devices, what, otherwise, [](T a, T b) { return std::min(a, b); });
}
template <typename T>
T maximum(Devices devices, cl_device_info what, T otherwise) {
  return fold<T>(devices, what, otherwise, [](T a, T b) { return std::max(a, b); });
}
template <typename T>
T common_bits(Devices devices, cl_device_info what) {
  return fold<T>(devices, what, T{0}, [](T a, T b) { return static_cast<T>(a & b); });
}

/// Does the device list OpenCL C 3.0? (In CL_DEVICE_OPENCL_C_VERSION it says 1.2 nevertheless.)
bool knows_language_3(const DeviceFacts& device) {
  const auto bytes = device.info(CL_DEVICE_OPENCL_C_ALL_VERSIONS);
  if (!bytes) return false;
  for (size_t at = 0; at + sizeof(cl_name_version) <= bytes->size();
       at += sizeof(cl_name_version)) {
    cl_name_version entry;
    std::memcpy(&entry, bytes->data() + at, sizeof entry);
    if (CL_VERSION_MAJOR(entry.version) == 3) return true;
  }
  return false;
}

/// 120 from "OpenCL C 1.2 …"; 0 when it cannot be read.
uint32_t language_version(const DeviceFacts& device) {
  const std::string text = ask_string(device, CL_DEVICE_OPENCL_C_VERSION);
  uint32_t major = 0;
  uint32_t minor = 0;
  if (std::sscanf(text.c_str(), "OpenCL C %u.%u", &major, &minor) != 2) return 0;
  return major * 100 + minor * 10;
}

bool contains(const std::vector<std::string>& list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

std::vector<std::string> common(const std::vector<std::string>& a,
                                const std::vector<std::string>& b) {
  std::vector<std::string> result;
  std::copy_if(a.begin(), a.end(), std::back_inserter(result),
               [&](const std::string& item) { return contains(b, item); });
  return result;
}

cl_device_type merged_type(Devices devices, DeviceTypeChoice choice) {
  switch (choice) {
    case DeviceTypeChoice::kCpu:
      return CL_DEVICE_TYPE_CPU;
    case DeviceTypeChoice::kGpu:
      return CL_DEVICE_TYPE_GPU;
    case DeviceTypeChoice::kAccelerator:
      return CL_DEVICE_TYPE_ACCELERATOR;
    case DeviceTypeChoice::kAuto:
      break;
  }
  cl_device_type seen = 0;
  for (const DeviceFacts& device : devices) seen |= device.traits.type;
  for (const cl_device_type type :
       {CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_CPU, CL_DEVICE_TYPE_ACCELERATOR}) {
    if ((seen & type) != 0) return type;
  }
  return CL_DEVICE_TYPE_CPU;
}

/// "Tutti (2 x cpu, llvmpipe)".
std::string merged_name(Devices devices) {
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
  return "Tutti (" + text + ")";
}

std::string version_text(uint32_t version) {
  return std::to_string(version / 100) + "." + std::to_string(version / 10 % 10);
}
cl_version packed_version(uint32_t version) {
  return CL_MAKE_VERSION(version / 100, version / 10 % 10, 0);
}

/// Collects the answers, each with the type that the specification gives it.
class Answers {
 public:
  explicit Answers(std::map<cl_device_info, std::vector<std::byte>>& table) : table_(table) {}

  template <typename T>
  void put(cl_device_info what, const std::type_identity_t<T>& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes(what, &value, sizeof(T));
  }
  void string(cl_device_info what, const std::string& text) {
    bytes(what, text.c_str(), text.size() + 1);
  }
  template <typename T>
  void list(cl_device_info what, const std::vector<T>& items) {
    bytes(what, items.data(), items.size() * sizeof(T));
  }
  void boolean(cl_device_info what, bool value) { put<cl_bool>(what, value ? CL_TRUE : CL_FALSE); }

 private:
  void bytes(cl_device_info what, const void* data, size_t size) {
    const auto* begin = static_cast<const std::byte*>(data);
    table_[what].assign(begin, begin + size);
  }
  std::map<cl_device_info, std::vector<std::byte>>& table_;
};

void put_identity(Answers& answers, const Capabilities& caps, const std::string& driver_version) {
  answers.put<cl_device_type>(CL_DEVICE_TYPE, caps.type);
  answers.put<cl_uint>(CL_DEVICE_VENDOR_ID, kVendorId);
  answers.string(CL_DEVICE_NAME, caps.name);
  answers.string(CL_DEVICE_VENDOR, std::string(kPlatformVendor));
  answers.string(CL_DRIVER_VERSION, driver_version);
  answers.string(CL_DEVICE_PROFILE, "FULL_PROFILE");
  answers.string(CL_DEVICE_VERSION,
                 "OpenCL " + version_text(caps.version) + " Tutti " + driver_version);
  answers.put<cl_version>(CL_DEVICE_NUMERIC_VERSION, packed_version(caps.version));
  // None; but clients take the string for a date, which has no month or day 0.
  answers.string(CL_DEVICE_LATEST_CONFORMANCE_VERSION_PASSED, "v0000-01-01-00");
  answers.boolean(CL_DEVICE_AVAILABLE, true);
}

void put_language(Answers& answers, const Capabilities& caps, const std::string& driver_version) {
  answers.boolean(CL_DEVICE_COMPILER_AVAILABLE, true);
  // "Must be CL_TRUE if CL_DEVICE_COMPILER_AVAILABLE is CL_TRUE." A device that has none is left
  // out for programs that are linked.
  answers.boolean(CL_DEVICE_LINKER_AVAILABLE, true);
  // "For an OpenCL 3.0 device: OpenCL C 1.2", which is what programs get without -cl-std.
  answers.string(
      CL_DEVICE_OPENCL_C_VERSION,
      "OpenCL C " + version_text(std::min(caps.opencl_c, 120u)) + " Tutti " + driver_version);
  answers.put<cl_version>(CL_DEVICE_OPENCL_C_NUMERIC_VERSION_KHR,
                          packed_version(std::min(caps.opencl_c, 120u)));
  std::vector<cl_name_version> versions;
  for (const uint32_t version : {100u, 110u, 120u, 300u}) {
    if (version > caps.opencl_c) break;
    versions.push_back(name_version("OpenCL C", packed_version(version)));
  }
  answers.list(CL_DEVICE_OPENCL_C_ALL_VERSIONS, versions);
  std::vector<cl_name_version> features;
  for (const std::string& name : caps.language_features) {
    features.push_back(name_version(name, CL_MAKE_VERSION(3, 0, 0)));
  }
  answers.list(CL_DEVICE_OPENCL_C_FEATURES, features);

  std::string extensions;
  std::vector<cl_name_version> with_version;
  const auto add = [&](std::string_view name) {
    if (!extensions.empty()) extensions += ' ';
    extensions += name;
    with_version.push_back(name_version(name, CL_MAKE_VERSION(1, 0, 0)));
  };
  for (const std::string_view name : kHostExtensions) add(name);
  for (const std::string& name : caps.language_extensions) add(name);
  answers.string(CL_DEVICE_EXTENSIONS, extensions);
  answers.list(CL_DEVICE_EXTENSIONS_WITH_VERSION, with_version);
  answers.string(CL_DEVICE_BUILT_IN_KERNELS, "");
  answers.list<cl_name_version>(CL_DEVICE_BUILT_IN_KERNELS_WITH_VERSION, {});
}

void put_execution(Answers& answers, Devices devices, const Capabilities& caps) {
  cl_uint units = 0;
  for (const DeviceFacts& device : devices) {
    units += ask<cl_uint>(device, CL_DEVICE_MAX_COMPUTE_UNITS, device.traits.compute_units);
  }
  answers.put<cl_uint>(CL_DEVICE_MAX_COMPUTE_UNITS, std::max(units, 1u));
  answers.put<cl_uint>(CL_DEVICE_MAX_CLOCK_FREQUENCY,
                       maximum<cl_uint>(devices, CL_DEVICE_MAX_CLOCK_FREQUENCY, 0));
  answers.put<cl_uint>(CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS, 3);
  answers.put<size_t>(CL_DEVICE_MAX_WORK_GROUP_SIZE, caps.max_work_group_size);
  answers.put<std::array<size_t, 3>>(CL_DEVICE_MAX_WORK_ITEM_SIZES, caps.max_work_item_sizes);
  const auto multiple = fold<size_t>(
      devices, CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, 1,
      [](size_t a, size_t b) { return std::lcm(std::max<size_t>(a, 1), std::max<size_t>(b, 1)); });
  answers.put<size_t>(CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE,
                      std::clamp<size_t>(multiple, 1, caps.max_work_group_size));
  for (const cl_device_info what :
       {CL_DEVICE_PREFERRED_VECTOR_WIDTH_CHAR, CL_DEVICE_PREFERRED_VECTOR_WIDTH_SHORT,
        CL_DEVICE_PREFERRED_VECTOR_WIDTH_INT, CL_DEVICE_PREFERRED_VECTOR_WIDTH_LONG,
        CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT, CL_DEVICE_NATIVE_VECTOR_WIDTH_CHAR,
        CL_DEVICE_NATIVE_VECTOR_WIDTH_SHORT, CL_DEVICE_NATIVE_VECTOR_WIDTH_INT,
        CL_DEVICE_NATIVE_VECTOR_WIDTH_LONG, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT}) {
    answers.put<cl_uint>(what, minimum<cl_uint>(devices, what, 1));
  }
  // "If cl_khr_fp64 is not supported … must return 0"; likewise for half.
  const bool fp16 = contains(caps.language_extensions, kFp16);
  for (const cl_device_info what :
       {CL_DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE, CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE}) {
    answers.put<cl_uint>(what, caps.fp64 ? minimum<cl_uint>(devices, what, 1) : 0);
  }
  for (const cl_device_info what :
       {CL_DEVICE_PREFERRED_VECTOR_WIDTH_HALF, CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF}) {
    answers.put<cl_uint>(what, fp16 ? minimum<cl_uint>(devices, what, 1) : 0);
  }
  answers.put<cl_device_fp_config>(
      CL_DEVICE_SINGLE_FP_CONFIG,
      common_bits<cl_device_fp_config>(devices, CL_DEVICE_SINGLE_FP_CONFIG));
  answers.put<cl_device_fp_config>(
      CL_DEVICE_DOUBLE_FP_CONFIG,
      caps.fp64 ? common_bits<cl_device_fp_config>(devices, CL_DEVICE_DOUBLE_FP_CONFIG) : 0);
  if (fp16) {
    answers.put<cl_device_fp_config>(
        CL_DEVICE_HALF_FP_CONFIG,
        common_bits<cl_device_fp_config>(devices, CL_DEVICE_HALF_FP_CONFIG));
  }
  answers.put<cl_device_exec_capabilities>(
      CL_DEVICE_EXECUTION_CAPABILITIES,
      CL_EXEC_KERNEL | (caps.native_kernels ? CL_EXEC_NATIVE_KERNEL : 0));
  answers.put<cl_command_queue_properties>(
      CL_DEVICE_QUEUE_ON_HOST_PROPERTIES,
      CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE);
  answers.put<size_t>(
      CL_DEVICE_PROFILING_TIMER_RESOLUTION,
      std::max<size_t>(maximum<size_t>(devices, CL_DEVICE_PROFILING_TIMER_RESOLUTION, 1), 1));
  answers.put<size_t>(CL_DEVICE_PRINTF_BUFFER_SIZE,
                      minimum<size_t>(devices, CL_DEVICE_PRINTF_BUFFER_SIZE, size_t{1} << 20));
  answers.boolean(CL_DEVICE_PREFERRED_INTEROP_USER_SYNC, true);
}

void put_memory(Answers& answers, Devices devices, const Capabilities& caps) {
  answers.put<cl_uint>(CL_DEVICE_ADDRESS_BITS, caps.address_bits);
  answers.boolean(CL_DEVICE_ENDIAN_LITTLE, caps.little_endian);
  answers.put<cl_ulong>(CL_DEVICE_MAX_MEM_ALLOC_SIZE, caps.max_allocation);
  answers.put<cl_ulong>(CL_DEVICE_GLOBAL_MEM_SIZE, caps.global_memory);
  answers.put<size_t>(CL_DEVICE_MAX_PARAMETER_SIZE, caps.max_parameter_size);
  answers.put<cl_uint>(CL_DEVICE_MEM_BASE_ADDR_ALIGN, caps.memory_alignment * 8);
  answers.put<cl_uint>(CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE,
                       maximum<cl_uint>(devices, CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE, 128));
  const auto cache =
      minimum<cl_device_mem_cache_type>(devices, CL_DEVICE_GLOBAL_MEM_CACHE_TYPE, CL_NONE);
  const bool cached = cache != CL_NONE;
  answers.put<cl_device_mem_cache_type>(CL_DEVICE_GLOBAL_MEM_CACHE_TYPE, cache);
  answers.put<cl_uint>(
      CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE,
      cached ? maximum<cl_uint>(devices, CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE, 0) : 0);
  answers.put<cl_ulong>(
      CL_DEVICE_GLOBAL_MEM_CACHE_SIZE,
      cached ? minimum<cl_ulong>(devices, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, 0) : 0);
  answers.put<cl_ulong>(
      CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE,
      minimum<cl_ulong>(devices, CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE, uint64_t{64} << 10));
  answers.put<cl_uint>(CL_DEVICE_MAX_CONSTANT_ARGS,
                       minimum<cl_uint>(devices, CL_DEVICE_MAX_CONSTANT_ARGS, 8));
  // CL_LOCAL < CL_GLOBAL: dedicated only where every device has it.
  answers.put<cl_device_local_mem_type>(
      CL_DEVICE_LOCAL_MEM_TYPE,
      maximum<cl_device_local_mem_type>(devices, CL_DEVICE_LOCAL_MEM_TYPE, CL_GLOBAL));
  answers.put<cl_ulong>(CL_DEVICE_LOCAL_MEM_SIZE, caps.local_memory);
  answers.boolean(CL_DEVICE_ERROR_CORRECTION_SUPPORT,
                  minimum<cl_bool>(devices, CL_DEVICE_ERROR_CORRECTION_SUPPORT, CL_FALSE) != 0);
  answers.boolean(CL_DEVICE_HOST_UNIFIED_MEMORY,
                  std::all_of(devices.begin(), devices.end(), [](const DeviceFacts& device) {
                    return device.traits.shares_host_memory;
                  }));
}

void put_images(Answers& answers, Devices devices, const Capabilities& caps) {
  answers.boolean(CL_DEVICE_IMAGE_SUPPORT, caps.images);
  for (const cl_device_info what :
       {CL_DEVICE_MAX_READ_IMAGE_ARGS, CL_DEVICE_MAX_WRITE_IMAGE_ARGS, CL_DEVICE_MAX_SAMPLERS}) {
    answers.put<cl_uint>(what, caps.images ? minimum<cl_uint>(devices, what, 0) : 0);
  }
  answers.put<cl_uint>(CL_DEVICE_MAX_READ_WRITE_IMAGE_ARGS, 0);  // OpenCL C 2.0 and later
  const Capabilities::ImageLimits& limits = caps.image_limits;
  answers.put<cl_uint>(CL_DEVICE_IMAGE_PITCH_ALIGNMENT, limits.pitch_alignment);
  answers.put<cl_uint>(CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT, limits.base_alignment);
  answers.put<size_t>(CL_DEVICE_IMAGE2D_MAX_WIDTH, limits.extent_2d[0]);
  answers.put<size_t>(CL_DEVICE_IMAGE2D_MAX_HEIGHT, limits.extent_2d[1]);
  answers.put<size_t>(CL_DEVICE_IMAGE3D_MAX_WIDTH, limits.extent_3d[0]);
  answers.put<size_t>(CL_DEVICE_IMAGE3D_MAX_HEIGHT, limits.extent_3d[1]);
  answers.put<size_t>(CL_DEVICE_IMAGE3D_MAX_DEPTH, limits.extent_3d[2]);
  answers.put<size_t>(CL_DEVICE_IMAGE_MAX_BUFFER_SIZE, limits.buffer_pixels);
  answers.put<size_t>(CL_DEVICE_IMAGE_MAX_ARRAY_SIZE, limits.layers);
}

/// What the virtual device does not offer: the values that the specification gives for that.
void put_absent(Answers& answers) {
  for (const cl_device_info what :
       {CL_DEVICE_QUEUE_ON_DEVICE_PREFERRED_SIZE, CL_DEVICE_QUEUE_ON_DEVICE_MAX_SIZE,
        CL_DEVICE_MAX_ON_DEVICE_QUEUES, CL_DEVICE_MAX_ON_DEVICE_EVENTS, CL_DEVICE_MAX_PIPE_ARGS,
        CL_DEVICE_PIPE_MAX_ACTIVE_RESERVATIONS, CL_DEVICE_PIPE_MAX_PACKET_SIZE,
        CL_DEVICE_PREFERRED_PLATFORM_ATOMIC_ALIGNMENT, CL_DEVICE_PREFERRED_GLOBAL_ATOMIC_ALIGNMENT,
        CL_DEVICE_PREFERRED_LOCAL_ATOMIC_ALIGNMENT, CL_DEVICE_MAX_NUM_SUB_GROUPS}) {
    answers.put<cl_uint>(what, 0);
  }
  for (const cl_device_info what :
       {CL_DEVICE_MAX_GLOBAL_VARIABLE_SIZE, CL_DEVICE_GLOBAL_VARIABLE_PREFERRED_TOTAL_SIZE}) {
    answers.put<size_t>(what, 0);
  }
  for (const cl_device_info what :
       {CL_DEVICE_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS, CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT,
        CL_DEVICE_WORK_GROUP_COLLECTIVE_FUNCTIONS_SUPPORT, CL_DEVICE_GENERIC_ADDRESS_SPACE_SUPPORT,
        CL_DEVICE_PIPE_SUPPORT}) {
    answers.boolean(what, false);
  }
  answers.put<cl_command_queue_properties>(CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES, 0);
  answers.put<cl_device_device_enqueue_capabilities>(CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES, 0);
  answers.put<cl_device_svm_capabilities>(CL_DEVICE_SVM_CAPABILITIES, 0);
  answers.string(CL_DEVICE_IL_VERSION, "");
  answers.list<cl_name_version>(CL_DEVICE_ILS_WITH_VERSION, {});
  // The mandated minimum of OpenCL 3.0.
  answers.put<cl_device_atomic_capabilities>(
      CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES,
      CL_DEVICE_ATOMIC_ORDER_RELAXED | CL_DEVICE_ATOMIC_SCOPE_WORK_GROUP);
  answers.put<cl_device_atomic_capabilities>(CL_DEVICE_ATOMIC_FENCE_CAPABILITIES,
                                             CL_DEVICE_ATOMIC_ORDER_RELAXED |
                                                 CL_DEVICE_ATOMIC_ORDER_ACQ_REL |
                                                 CL_DEVICE_ATOMIC_SCOPE_WORK_GROUP);
  answers.put<cl_device_affinity_domain>(CL_DEVICE_PARTITION_AFFINITY_DOMAIN, 0);
}

bool has_images(const DeviceFacts& device) {
  return ask<cl_bool>(device, CL_DEVICE_IMAGE_SUPPORT, CL_FALSE) != CL_FALSE;
}

void merge_image_limits(Capabilities& caps, Devices devices) {
  caps.images = std::all_of(devices.begin(), devices.end(), has_images);
  if (!caps.images) return;
  const auto least = [&](cl_device_info what) { return minimum<size_t>(devices, what, 0); };
  Capabilities::ImageLimits& limits = caps.image_limits;
  limits.extent_2d = {least(CL_DEVICE_IMAGE2D_MAX_WIDTH), least(CL_DEVICE_IMAGE2D_MAX_HEIGHT)};
  limits.extent_3d = {least(CL_DEVICE_IMAGE3D_MAX_WIDTH), least(CL_DEVICE_IMAGE3D_MAX_HEIGHT),
                      least(CL_DEVICE_IMAGE3D_MAX_DEPTH)};
  limits.buffer_pixels = least(CL_DEVICE_IMAGE_MAX_BUFFER_SIZE);
  limits.layers = least(CL_DEVICE_IMAGE_MAX_ARRAY_SIZE);
  if (!contains(caps.language_extensions, kImageFromBuffer)) return;
  const auto most = [&](cl_device_info what) { return maximum<cl_uint>(devices, what, 0); };
  limits.pitch_alignment = most(CL_DEVICE_IMAGE_PITCH_ALIGNMENT);
  limits.base_alignment = most(CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT);
}

void merge_limits(Capabilities& caps, Devices devices) {
  caps.max_work_group_size =
      std::max<size_t>(minimum<size_t>(devices, CL_DEVICE_MAX_WORK_GROUP_SIZE, 1), 1);
  using Sizes = std::array<size_t, 3>;
  caps.max_work_item_sizes = fold<Sizes>(
      devices, CL_DEVICE_MAX_WORK_ITEM_SIZES, Sizes{1, 1, 1}, [](const Sizes& a, const Sizes& b) {
        return Sizes{std::min(a[0], b[0]), std::min(a[1], b[1]), std::min(a[2], b[2])};
      });
  // A smaller device sits out what does not fit it.
  caps.max_allocation = maximum<cl_ulong>(devices, CL_DEVICE_MAX_MEM_ALLOC_SIZE, 0);
  caps.global_memory = maximum<cl_ulong>(devices, CL_DEVICE_GLOBAL_MEM_SIZE, 0);
  caps.local_memory = minimum<cl_ulong>(devices, CL_DEVICE_LOCAL_MEM_SIZE, 0);
  caps.address_bits = minimum<cl_uint>(devices, CL_DEVICE_ADDRESS_BITS, 64);
  // Tutti runs them itself, but a program that asks is promised what every device has.
  caps.native_kernels =
      (common_bits<cl_device_exec_capabilities>(devices, CL_DEVICE_EXECUTION_CAPABILITIES) &
       CL_EXEC_NATIVE_KERNEL) != 0;
  caps.little_endian = minimum<cl_bool>(devices, CL_DEVICE_ENDIAN_LITTLE, CL_TRUE) != 0;
  caps.memory_alignment =
      std::max<uint32_t>(maximum<cl_uint>(devices, CL_DEVICE_MEM_BASE_ADDR_ALIGN, 1024) / 8, 1);
  // The rewritten variant of a kernel takes one argument more.
  const auto parameters = minimum<size_t>(devices, CL_DEVICE_MAX_PARAMETER_SIZE, 0);
  const size_t hidden = scheduler::HiddenArgument::kBytes;
  caps.max_parameter_size =
      std::max(parameters > hidden ? parameters - hidden : 0, kMinimumParameterSize);
}

}  // namespace

std::vector<std::string> passable_extensions(const DeviceFacts& device) {
  std::vector<std::string> result;
  std::istringstream words(ask_string(device, CL_DEVICE_EXTENSIONS));
  for (std::string word; words >> word;) {
    if (std::find(std::begin(kPassable), std::end(kPassable), word) == std::end(kPassable)) {
      continue;
    }
    if (word == kFp64) {
      const auto config = ask<cl_device_fp_config>(device, CL_DEVICE_DOUBLE_FP_CONFIG, 0);
      if ((config & kMinimumDouble) != kMinimumDouble) continue;
    }
    if (!contains(result, word)) result.push_back(word);
  }
  return result;
}

Capabilities merge_capabilities(std::span<const DeviceFacts> devices, DeviceTypeChoice type,
                                const std::string& driver_version) {
  Capabilities caps;
  caps.type = merged_type(devices, type);
  caps.name = merged_name(devices);
  caps.language_extensions = passable_extensions(devices[0]);
  uint32_t language = language_version(devices[0]);
  for (const DeviceFacts& device : devices.subspan(1)) {
    caps.language_extensions = common(caps.language_extensions, passable_extensions(device));
    language = std::min(language, language_version(device));
  }
  caps.opencl_c = std::clamp(language, 100u, 120u);
  // An OpenCL 3.0 device must understand OpenCL C 3.0; where one of ours does not, the answer
  // is 1.2.
  if (caps.opencl_c == 120 && std::all_of(devices.begin(), devices.end(), knows_language_3)) {
    caps.opencl_c = 300;
  }
  caps.version = caps.opencl_c;
  caps.fp64 = contains(caps.language_extensions, kFp64);
  // int64 is mandatory in the full profile.
  caps.language_features.emplace_back("__opencl_c_int64");
  if (caps.fp64) caps.language_features.emplace_back("__opencl_c_fp64");
  merge_limits(caps, devices);
  merge_image_limits(caps, devices);
  if (caps.images) {
    caps.language_features.emplace_back("__opencl_c_images");
    if (contains(caps.language_extensions, k3dImageWrites)) {
      caps.language_features.emplace_back("__opencl_c_3d_image_writes");
    }
  }

  Answers answers(caps.answers);
  put_identity(answers, caps, driver_version);
  put_language(answers, caps, driver_version);
  put_execution(answers, devices, caps);
  put_memory(answers, devices, caps);
  put_images(answers, devices, caps);
  put_absent(answers);
  return caps;
}

namespace {

/// Why a device cannot take part beside the others at all; empty when it can.
std::string misfit(const DeviceFacts& device) {
  if (ask<cl_bool>(device, CL_DEVICE_AVAILABLE, CL_TRUE) == CL_FALSE) return "is not available";
  if (ask<cl_bool>(device, CL_DEVICE_COMPILER_AVAILABLE, CL_TRUE) == CL_FALSE) {
    return "has no compiler";
  }
  const auto bits = ask<cl_uint>(device, CL_DEVICE_ADDRESS_BITS, sizeof(void*) * 8);
  if (bits != sizeof(void*) * 8) return "has " + std::to_string(bits) + "-bit addresses";
  constexpr cl_bool kHostIsLittle = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? CL_TRUE : CL_FALSE;
  if (ask<cl_bool>(device, CL_DEVICE_ENDIAN_LITTLE, kHostIsLittle) != kHostIsLittle) {
    return "has the other byte order";
  }
  if (language_version(device) < 120) return "does not offer OpenCL C 1.2";
  return {};
}

/// The first feature that every other device of `in` has and `candidate` lacks.
std::optional<std::string> lone_lack(const std::vector<std::vector<std::string>>& features,
                                     const std::vector<size_t>& in, size_t candidate) {
  std::optional<std::vector<std::string>> of_others;
  for (const size_t other : in) {
    if (other == candidate) continue;
    of_others = of_others ? common(*of_others, features[other]) : features[other];
  }
  if (!of_others) return std::nullopt;
  for (const std::string& feature : *of_others) {
    if (!contains(features[candidate], feature)) return feature;
  }
  return std::nullopt;
}

}  // namespace

std::vector<LeftOut> devices_to_leave_out(std::span<const DeviceFacts> devices,
                                          bool named_by_user) {
  std::vector<LeftOut> left_out;
  std::vector<size_t> in;
  std::vector<std::vector<std::string>> features;
  for (size_t i = 0; i < devices.size(); ++i) {
    features.push_back(passable_extensions(devices[i]));
    if (has_images(devices[i])) features.back().emplace_back(kImages);
    std::string reason = misfit(devices[i]);
    if (reason.empty()) {
      in.push_back(i);
    } else {
      left_out.push_back({i, std::move(reason)});
    }
  }
  std::vector<size_t> order;
  if (!named_by_user) order = in;
  // The slowest first, so that of two poor devices the poorer goes.
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return devices[a].traits.nominal_gflops < devices[b].traits.nominal_gflops;
  });
  for (const size_t candidate : order) {
    double total = 0;
    for (const size_t index : in) total += devices[index].traits.nominal_gflops;
    const double share = total > 0 ? devices[candidate].traits.nominal_gflops / total : 1;
    if (share >= kPoorShare) break;  // neither is any after it
    const auto lack = lone_lack(features, in, candidate);
    if (!lack) continue;
    char percent[32];
    std::snprintf(percent, sizeof percent, "%.1f %%", share * 100);
    left_out.push_back({candidate, "has no " + *lack + ", which every other device has, and adds " +
                                       percent + " of the speed"});
    in.erase(std::find(in.begin(), in.end(), candidate));
  }
  std::sort(left_out.begin(), left_out.end(),
            [](const LeftOut& a, const LeftOut& b) { return a.index < b.index; });
  return left_out;
}

}  // namespace tutti::platform
