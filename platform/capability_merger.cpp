// SPDX-License-Identifier: Apache-2.0
#include "platform/capability_merger.h"

#include <CL/cl_ext.h>

#include <algorithm>
#include <string_view>

#include "backends/api/buffer_address_api.h"
#include "device_virtual/command_buffer_api.h"
#include "platform/device_answers.h"
#include "platform/identity.h"
#include "platform/language.h"
#include "platform/platform_object.h"
#include "platform/sharing.h"
#include "scheduler/access/hidden_argument.h"

namespace tutti::platform {
namespace {

constexpr std::string_view kImageFromBuffer = "cl_khr_image2d_from_buffer";

// "The minimum value is 1024 for devices that are not of type CL_DEVICE_TYPE_CUSTOM."
constexpr size_t kMinimumParameterSize = 1024;

constexpr cl_command_queue_properties kQueueProperties =
    CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE;

using Devices = std::span<const DeviceFacts>;

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

void put_extensions(Answers& answers, const Capabilities& caps, const DeviceFacts& primary,
                    const std::vector<std::string>& host_extensions,
                    const std::vector<cl_name_version>& sharing_extensions) {
  answers.boolean(CL_DEVICE_COMPILER_AVAILABLE, true);
  // "Must be CL_TRUE if CL_DEVICE_COMPILER_AVAILABLE is CL_TRUE." A device that has none is left
  // out for programs that are linked.
  answers.boolean(CL_DEVICE_LINKER_AVAILABLE, true);
  std::string extensions;
  std::vector<cl_name_version> with_version;
  const auto add = [&](std::string_view name, cl_version version = CL_MAKE_VERSION(1, 0, 0)) {
    if (!extensions.empty()) extensions += ' ';
    extensions += name;
    with_version.push_back(name_version(name, version));
  };
  for (const HostExtension& extension : kHostExtensions) add(extension.name, extension.version);
  for (const std::string& name : host_extensions) add(name);
  if (caps.buffer_addresses) add(backends::kBufferAddresses, backends::kBufferAddressesVersion);
  for (const cl_name_version& entry : sharing_extensions) add(entry.name, entry.version);
  const auto told = ask_list<cl_name_version>(primary, CL_DEVICE_EXTENSIONS_WITH_VERSION);
  for (const std::string& name : caps.language_extensions) {
    add(name, version_in(told, name, CL_MAKE_VERSION(1, 0, 0)));
  }
  answers.string(CL_DEVICE_EXTENSIONS, extensions);
  answers.list(CL_DEVICE_EXTENSIONS_WITH_VERSION, with_version);
}

void put_built_in_kernels(Answers& answers, const DeviceFacts& primary, Capabilities& caps) {
  caps.built_in_kernels = primary.traits.built_in_kernels;
  std::string names;
  for (const std::string& name : caps.built_in_kernels) {
    if (!names.empty()) names += ';';
    names += name;
  }
  answers.string(CL_DEVICE_BUILT_IN_KERNELS, names);
  std::vector<cl_name_version> with_version;
  const auto told = ask_list<cl_name_version>(primary, CL_DEVICE_BUILT_IN_KERNELS_WITH_VERSION);
  for (const std::string& name : caps.built_in_kernels) {
    cl_name_version entry = name_version(name, CL_MAKE_VERSION(1, 0, 0));
    entry.version = version_in(told, entry.name, entry.version);
    with_version.push_back(entry);
  }
  answers.list(CL_DEVICE_BUILT_IN_KERNELS_WITH_VERSION, with_version);
}

/// Those where kernels that use it run.
std::vector<DeviceFacts> with_feature(Devices devices, std::string_view feature) {
  std::vector<DeviceFacts> able;
  std::copy_if(devices.begin(), devices.end(), std::back_inserter(able),
               [&](const DeviceFacts& device) { return has_feature(device.traits, feature); });
  return able;
}

// How precisely kernels compute is what all devices that may run them promise.
void put_execution(Answers& answers, Devices devices, const DeviceFacts& primary,
                   const Capabilities& caps) {
  cl_uint units = 0;
  for (const DeviceFacts& device : devices) {
    units += ask<cl_uint>(device, CL_DEVICE_MAX_COMPUTE_UNITS, device.traits.compute_units);
  }
  answers.put<cl_uint>(CL_DEVICE_MAX_COMPUTE_UNITS, std::max(units, 1u));
  answers.put<cl_uint>(CL_DEVICE_MAX_CLOCK_FREQUENCY,
                       ask<cl_uint>(primary, CL_DEVICE_MAX_CLOCK_FREQUENCY, 0));
  answers.put<cl_uint>(CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS, 3);
  answers.put<size_t>(CL_DEVICE_MAX_WORK_GROUP_SIZE, caps.max_work_group_size);
  answers.put<std::array<size_t, 3>>(CL_DEVICE_MAX_WORK_ITEM_SIZES, caps.max_work_item_sizes);
  const auto multiple = ask<size_t>(primary, CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, 1);
  answers.put<size_t>(CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE,
                      std::clamp<size_t>(multiple, 1, caps.max_work_group_size));
  for (const cl_device_info what :
       {CL_DEVICE_PREFERRED_VECTOR_WIDTH_CHAR, CL_DEVICE_PREFERRED_VECTOR_WIDTH_SHORT,
        CL_DEVICE_PREFERRED_VECTOR_WIDTH_INT, CL_DEVICE_PREFERRED_VECTOR_WIDTH_LONG,
        CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT, CL_DEVICE_NATIVE_VECTOR_WIDTH_CHAR,
        CL_DEVICE_NATIVE_VECTOR_WIDTH_SHORT, CL_DEVICE_NATIVE_VECTOR_WIDTH_INT,
        CL_DEVICE_NATIVE_VECTOR_WIDTH_LONG, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT}) {
    answers.put<cl_uint>(what, ask<cl_uint>(primary, what, 1));
  }
  // "If cl_khr_fp64 is not supported … must return 0"; likewise for half.
  const bool fp16 = contains(caps.language_extensions, kFp16);
  for (const cl_device_info what :
       {CL_DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE, CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE}) {
    answers.put<cl_uint>(what, caps.fp64 ? ask<cl_uint>(primary, what, 1) : 0);
  }
  for (const cl_device_info what :
       {CL_DEVICE_PREFERRED_VECTOR_WIDTH_HALF, CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF}) {
    answers.put<cl_uint>(what, fp16 ? ask<cl_uint>(primary, what, 1) : 0);
  }
  answers.put<cl_device_fp_config>(
      CL_DEVICE_SINGLE_FP_CONFIG,
      common_bits<cl_device_fp_config>(devices, CL_DEVICE_SINGLE_FP_CONFIG));
  answers.put<cl_device_fp_config>(
      CL_DEVICE_DOUBLE_FP_CONFIG,
      caps.fp64 ? common_bits<cl_device_fp_config>(with_feature(devices, kFp64),
                                                   CL_DEVICE_DOUBLE_FP_CONFIG)
                : 0);
  if (fp16) {
    answers.put<cl_device_fp_config>(
        CL_DEVICE_HALF_FP_CONFIG,
        common_bits<cl_device_fp_config>(with_feature(devices, kFp16), CL_DEVICE_HALF_FP_CONFIG));
  }
  answers.put<cl_device_exec_capabilities>(
      CL_DEVICE_EXECUTION_CAPABILITIES,
      CL_EXEC_KERNEL | (caps.native_kernels ? CL_EXEC_NATIVE_KERNEL : 0));
  answers.put<cl_command_queue_properties>(CL_DEVICE_QUEUE_ON_HOST_PROPERTIES, kQueueProperties);
  // Tutti has command buffers whatever the vendors have.
  answers.put<cl_device_command_buffer_capabilities_khr>(
      CL_DEVICE_COMMAND_BUFFER_CAPABILITIES_KHR,
      CL_COMMAND_BUFFER_CAPABILITY_KERNEL_PRINTF_KHR |
          CL_COMMAND_BUFFER_CAPABILITY_SIMULTANEOUS_USE_KHR |
          (caps.device_queues.properties != 0 ? CL_COMMAND_BUFFER_CAPABILITY_DEVICE_SIDE_ENQUEUE_KHR
                                              : 0));
  answers.put<cl_command_queue_properties>(CL_DEVICE_COMMAND_BUFFER_SUPPORTED_QUEUE_PROPERTIES_KHR,
                                           kQueueProperties);
  answers.put<cl_command_queue_properties>(CL_DEVICE_COMMAND_BUFFER_REQUIRED_QUEUE_PROPERTIES_KHR,
                                           0);
  answers.put<cl_bitfield>(device_virtual::kMutableDispatchCapabilities, device_virtual::kUpdates);
  answers.put<size_t>(
      CL_DEVICE_PROFILING_TIMER_RESOLUTION,
      std::max<size_t>(maximum<size_t>(devices, CL_DEVICE_PROFILING_TIMER_RESOLUTION, 1), 1));
  answers.put<size_t>(CL_DEVICE_PRINTF_BUFFER_SIZE,
                      minimum<size_t>(devices, CL_DEVICE_PRINTF_BUFFER_SIZE, size_t{1} << 20));
  answers.boolean(CL_DEVICE_PREFERRED_INTEROP_USER_SYNC, true);
  answers.boolean(CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT, caps.smaller_groups);
}

void put_memory(Answers& answers, Devices devices, const DeviceFacts& primary,
                const Capabilities& caps) {
  answers.put<cl_uint>(CL_DEVICE_ADDRESS_BITS, caps.address_bits);
  answers.boolean(CL_DEVICE_ENDIAN_LITTLE, caps.little_endian);
  answers.put<cl_ulong>(CL_DEVICE_MAX_MEM_ALLOC_SIZE, caps.max_allocation);
  answers.put<cl_ulong>(CL_DEVICE_GLOBAL_MEM_SIZE, caps.global_memory);
  answers.put<size_t>(CL_DEVICE_MAX_PARAMETER_SIZE, caps.max_parameter_size);
  answers.put<cl_uint>(CL_DEVICE_MEM_BASE_ADDR_ALIGN, caps.memory_alignment * 8);
  answers.put<cl_uint>(CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE,
                       maximum<cl_uint>(devices, CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE, 128));
  const auto cache =
      ask<cl_device_mem_cache_type>(primary, CL_DEVICE_GLOBAL_MEM_CACHE_TYPE, CL_NONE);
  const bool cached = cache != CL_NONE;
  answers.put<cl_device_mem_cache_type>(CL_DEVICE_GLOBAL_MEM_CACHE_TYPE, cache);
  answers.put<cl_uint>(CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE,
                       cached ? ask<cl_uint>(primary, CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE, 0) : 0);
  answers.put<cl_ulong>(CL_DEVICE_GLOBAL_MEM_CACHE_SIZE,
                        cached ? ask<cl_ulong>(primary, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, 0) : 0);
  answers.put<cl_ulong>(
      CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE,
      ask<cl_ulong>(primary, CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE, uint64_t{64} << 10));
  answers.put<cl_uint>(CL_DEVICE_MAX_CONSTANT_ARGS,
                       ask<cl_uint>(primary, CL_DEVICE_MAX_CONSTANT_ARGS, 8));
  answers.put<cl_device_local_mem_type>(
      CL_DEVICE_LOCAL_MEM_TYPE,
      ask<cl_device_local_mem_type>(primary, CL_DEVICE_LOCAL_MEM_TYPE, CL_GLOBAL));
  answers.put<cl_ulong>(CL_DEVICE_LOCAL_MEM_SIZE, caps.local_memory);
  answers.boolean(CL_DEVICE_ERROR_CORRECTION_SUPPORT,
                  minimum<cl_bool>(devices, CL_DEVICE_ERROR_CORRECTION_SUPPORT, CL_FALSE) != 0);
  answers.boolean(CL_DEVICE_HOST_UNIFIED_MEMORY,
                  std::all_of(devices.begin(), devices.end(), [](const DeviceFacts& device) {
                    return device.traits.shares_host_memory;
                  }));
}

void put_images(Answers& answers, const DeviceFacts& primary, const Capabilities& caps) {
  answers.boolean(CL_DEVICE_IMAGE_SUPPORT, caps.images);
  for (const cl_device_info what :
       {CL_DEVICE_MAX_READ_IMAGE_ARGS, CL_DEVICE_MAX_WRITE_IMAGE_ARGS, CL_DEVICE_MAX_SAMPLERS}) {
    answers.put<cl_uint>(what, caps.images ? ask<cl_uint>(primary, what, 0) : 0);
  }
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
  answers.put<cl_device_affinity_domain>(CL_DEVICE_PARTITION_AFFINITY_DOMAIN, 0);
}

/// The primary's. Memory that the host may touch at any time is kept in no other device's copy, so
/// it takes that the device stands alone and computes in the host's memory.
cl_device_svm_capabilities shared_memory(std::span<const DeviceFacts> devices,
                                         const DeviceFacts& primary) {
  cl_device_svm_capabilities kept = CL_DEVICE_SVM_COARSE_GRAIN_BUFFER;
  if (devices.size() == 1 && primary.traits.shares_host_memory) {
    kept |= CL_DEVICE_SVM_FINE_GRAIN_BUFFER | CL_DEVICE_SVM_ATOMICS;
  }
  return primary.traits.svm & kept;
}

/// The primary's, of what is its own and the host's: memory of all of the system is not offered,
/// nor is a kernel elsewhere that uses a device's memory at the same time.
backends::UnifiedMemory unified_memory(const DeviceFacts& primary) {
  backends::UnifiedMemory unified = primary.traits.unified;
  unified.device &=
      CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL | CL_UNIFIED_SHARED_MEMORY_ATOMIC_ACCESS_INTEL;
  return unified;
}

void put_unified_memory(Answers& answers, const backends::UnifiedMemory& unified) {
  using Can = cl_device_unified_shared_memory_capabilities_intel;
  answers.put<Can>(CL_DEVICE_HOST_MEM_CAPABILITIES_INTEL, unified.host);
  answers.put<Can>(CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL, unified.device);
  answers.put<Can>(CL_DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL, unified.single_shared);
  answers.put<Can>(CL_DEVICE_CROSS_DEVICE_SHARED_MEM_CAPABILITIES_INTEL, unified.cross_shared);
  answers.put<Can>(CL_DEVICE_SHARED_SYSTEM_MEM_CAPABILITIES_INTEL, 0);
}

void take_image_limits(Capabilities& caps, const DeviceFacts& primary) {
  if (!caps.images) return;
  const auto size = [&](cl_device_info what) { return ask<size_t>(primary, what, 0); };
  Capabilities::ImageLimits& limits = caps.image_limits;
  limits.extent_2d = {size(CL_DEVICE_IMAGE2D_MAX_WIDTH), size(CL_DEVICE_IMAGE2D_MAX_HEIGHT)};
  limits.extent_3d = {size(CL_DEVICE_IMAGE3D_MAX_WIDTH), size(CL_DEVICE_IMAGE3D_MAX_HEIGHT),
                      size(CL_DEVICE_IMAGE3D_MAX_DEPTH)};
  limits.buffer_pixels = size(CL_DEVICE_IMAGE_MAX_BUFFER_SIZE);
  limits.layers = size(CL_DEVICE_IMAGE_MAX_ARRAY_SIZE);
  if (!contains(caps.language_extensions, kImageFromBuffer)) return;
  limits.pitch_alignment = ask<cl_uint>(primary, CL_DEVICE_IMAGE_PITCH_ALIGNMENT, 0);
  limits.base_alignment = ask<cl_uint>(primary, CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT, 0);
}

/// How much memory the virtual device has, and how large a buffer may be.
void merge_memory(Capabilities& caps, Devices devices, const ShownAs& shown) {
  // A smaller device sits out what does not fit it, or has its part of it.
  caps.max_undivided = maximum<cl_ulong>(devices, CL_DEVICE_MAX_MEM_ALLOC_SIZE, 0);
  caps.max_allocation = caps.max_undivided;
  caps.global_memory = maximum<cl_ulong>(devices, CL_DEVICE_GLOBAL_MEM_SIZE, 0);
  if (shown.memory == MemorySize::kLargest) return;
  // What is divided has a copy there, too.
  const uint64_t of_host = shown.host_memory / 4 * 3;
  uint64_t all = of_host;
  if (shown.memory == MemorySize::kSum) {
    uint64_t apart = 0, in_host = 0;  // devices that share the host's memory share it all
    for (const DeviceFacts& device : devices) {
      const auto memory = ask<cl_ulong>(device, CL_DEVICE_GLOBAL_MEM_SIZE, 0);
      if (device.traits.shares_host_memory) {
        in_host = std::max<uint64_t>(in_host, memory);
      } else {
        apart += memory;
      }
    }
    all = apart + in_host;
  }
  caps.global_memory = std::max(caps.global_memory, all);
  caps.max_allocation = std::max(caps.max_allocation, std::min(all, of_host));
}

void merge_limits(Capabilities& caps, Devices devices, const DeviceFacts& primary) {
  caps.max_work_group_size =
      std::max<size_t>(ask<size_t>(primary, CL_DEVICE_MAX_WORK_GROUP_SIZE, 1), 1);
  using Sizes = std::array<size_t, 3>;
  caps.max_work_item_sizes = ask<Sizes>(primary, CL_DEVICE_MAX_WORK_ITEM_SIZES, Sizes{1, 1, 1});
  caps.local_memory = ask<cl_ulong>(primary, CL_DEVICE_LOCAL_MEM_SIZE, 0);
  caps.address_bits = minimum<cl_uint>(devices, CL_DEVICE_ADDRESS_BITS, 64);
  // Tutti runs them itself.
  caps.native_kernels =
      (ask<cl_device_exec_capabilities>(primary, CL_DEVICE_EXECUTION_CAPABILITIES, 0) &
       CL_EXEC_NATIVE_KERNEL) != 0;
  caps.smaller_groups = primary.traits.smaller_groups;
  caps.little_endian = minimum<cl_bool>(devices, CL_DEVICE_ENDIAN_LITTLE, CL_TRUE) != 0;
  caps.memory_alignment =
      std::max<uint32_t>(maximum<cl_uint>(devices, CL_DEVICE_MEM_BASE_ADDR_ALIGN, 1024) / 8, 1);
  // The rewritten variant of a kernel takes one argument more.
  const auto parameters = ask<size_t>(primary, CL_DEVICE_MAX_PARAMETER_SIZE, 0);
  const size_t hidden = scheduler::HiddenArgument::kBytes;
  caps.max_parameter_size =
      std::max(parameters > hidden ? parameters - hidden : 0, kMinimumParameterSize);
}

}  // namespace

Capabilities merge_capabilities(std::span<const DeviceFacts> devices, size_t primary_index,
                                const ShownAs& shown) {
  const DeviceFacts& primary = devices[primary_index];
  Capabilities caps;
  caps.type = merged_type(devices, shown.type);
  caps.name = merged_name(devices, primary, shown.identity);
  take_language(caps, primary);
  merge_limits(caps, devices, primary);
  merge_memory(caps, devices, shown);
  take_image_limits(caps, primary);
  caps.svm = shared_memory(devices, primary);
  caps.unified = unified_memory(primary);
  caps.buffer_addresses = primary.traits.buffer_addresses;

  Answers answers(caps.answers);
  put_identity(answers, caps, primary, shown);
  std::vector<std::string> host_extensions =
      put_device_queries(answers, caps, devices, primary, shown.identity);
  // Each vendor that has them is told; to others they are without effect, as hints may be.
  caps.priority_hints = has_feature(primary.traits, backends::kPriorityHints);
  caps.throttle_hints = has_feature(primary.traits, backends::kThrottleHints);
  if (caps.priority_hints) host_extensions.emplace_back(backends::kPriorityHints);
  if (caps.throttle_hints) host_extensions.emplace_back(backends::kThrottleHints);
  put_intermediate_languages(answers, caps, primary, host_extensions);
  if (caps.unified.any()) {
    host_extensions.emplace_back(backends::kUnifiedMemory);
    put_unified_memory(answers, caps.unified);
  }
  put_extensions(answers, caps, primary, host_extensions, put_sharing(answers, caps, primary));
  put_built_in_kernels(answers, primary, caps);
  put_language(answers, caps, primary, shown.driver_version);
  put_execution(answers, devices, primary, caps);
  put_memory(answers, devices, primary, caps);
  put_images(answers, primary, caps);
  answers.put<cl_device_svm_capabilities>(CL_DEVICE_SVM_CAPABILITIES, caps.svm);
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

}  // namespace

std::vector<LeftOut> devices_to_leave_out(std::span<const DeviceFacts> devices) {
  std::vector<LeftOut> left_out;
  for (size_t i = 0; i < devices.size(); ++i) {
    std::string reason = misfit(devices[i]);
    if (!reason.empty()) left_out.push_back({i, std::move(reason)});
  }
  return left_out;
}

}  // namespace tutti::platform
