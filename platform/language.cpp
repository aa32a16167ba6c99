// SPDX-License-Identifier: Apache-2.0
#include "platform/language.h"

#include <CL/cl_ext.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <string_view>

#include "backends/opencl/vendor_functions.h"
#include "platform/platform_object.h"

namespace tutti::platform {
namespace {

constexpr std::string_view kImages = "__opencl_c_images";

// What kernels may use through Tutti where the primary has it. Other extensions need functions of
// the host, or objects of it.
constexpr std::string_view kExtensions[] = {
    "cl_khr_byte_addressable_store",
    "cl_khr_global_int32_base_atomics",
    "cl_khr_global_int32_extended_atomics",
    "cl_khr_local_int32_base_atomics",
    "cl_khr_local_int32_extended_atomics",
    "cl_khr_int64_base_atomics",
    "cl_khr_int64_extended_atomics",
    kFp64,
    kFp16,
    "cl_khr_3d_image_writes",
    "cl_khr_image2d_from_buffer",
    "cl_khr_depth_images",
    "cl_khr_integer_dot_product",
    "cl_khr_extended_bit_ops",
    "cl_khr_subgroups",
    "cl_khr_subgroup_extended_types",
    "cl_khr_subgroup_non_uniform_vote",
    "cl_khr_subgroup_ballot",
    "cl_khr_subgroup_non_uniform_arithmetic",
    "cl_khr_subgroup_shuffle",
    "cl_khr_subgroup_shuffle_relative",
    "cl_khr_subgroup_clustered_reduce",
    "cl_khr_subgroup_rotate",
    "cl_khr_kernel_clock",
    "cl_ext_float_atomics",
    "cl_intel_required_subgroup_size",
    // Their functions are known to the vendor's compiler alone.
    "cl_intel_subgroups",
    "cl_intel_subgroups_char",
    "cl_intel_subgroups_short",
    "cl_intel_subgroups_long",
    "cl_intel_subgroup_local_block_io",
};

/// Questions that the primary answers where it has the extension.
struct Questions {
  std::string_view extension;
  cl_device_info first, last;
};
constexpr Questions kQuestions[] = {
    {"cl_khr_integer_dot_product", 0x1073, 0x1075},       // …_CAPABILITIES_KHR and the next two
    {"cl_khr_kernel_clock", 0x1076, 0x1076},              // CL_DEVICE_KERNEL_CLOCK_CAPABILITIES_KHR
    {"cl_intel_required_subgroup_size", 0x4108, 0x4108},  // CL_DEVICE_SUB_GROUP_SIZES_INTEL
    {"cl_ext_float_atomics", 0x4231, 0x4233},  // CL_DEVICE_…_FP_ATOMIC_CAPABILITIES_EXT
};

/// Does the device list that version, or a later one of the same major number? (In
/// CL_DEVICE_OPENCL_C_VERSION it may say 1.2 nevertheless.)
bool knows_language(const DeviceFacts& device, uint32_t version) {
  const auto listed = ask_list<cl_name_version>(device, CL_DEVICE_OPENCL_C_ALL_VERSIONS);
  return std::any_of(listed.begin(), listed.end(), [version](const cl_name_version& entry) {
    return CL_VERSION_MAJOR(entry.version) == version / 100 &&
           CL_VERSION_MINOR(entry.version) >= version / 10 % 10;
  });
}

/// The highest that Tutti has, too, of those that the device knows.
uint32_t highest_language(const DeviceFacts& device) {
  // An OpenCL 3.0 device must understand OpenCL C 3.0; one that does not is of the version that its
  // language has.
  const uint32_t said = language_version(device);
  for (const uint32_t version : {310u, 300u}) {
    if (said >= version || knows_language(device, version)) return version;
  }
  return said >= 200 ? 200 : std::clamp(said, 100u, 120u);
}

void put_versions(Answers& answers, const Capabilities& caps, const DeviceFacts& primary,
                  const std::string& driver_version) {
  // The highest that is "fully backwards compatible": programs get at most 1.2 without -cl-std.
  const uint32_t compatible = std::clamp(language_version(primary), 100u, caps.opencl_c);
  answers.string(CL_DEVICE_OPENCL_C_VERSION,
                 "OpenCL C " + version_text(compatible) + " Tutti " + driver_version);
  answers.put<cl_version>(CL_DEVICE_OPENCL_C_NUMERIC_VERSION_KHR, packed_version(compatible));
  const bool second = caps.opencl_c == 200 || knows_language(primary, 200) || compatible >= 300;
  std::vector<cl_name_version> versions;
  for (const uint32_t version : {100u, 110u, 120u, 200u, 300u, 310u}) {
    if (version > caps.opencl_c || (version == 200 && !second)) continue;
    versions.push_back(name_version("OpenCL C", packed_version(version)));
  }
  answers.list(CL_DEVICE_OPENCL_C_ALL_VERSIONS, versions);
  std::vector<cl_name_version> features;
  const auto told = ask_list<cl_name_version>(primary, CL_DEVICE_OPENCL_C_FEATURES);
  for (const std::string& name : caps.language_features) {
    features.push_back(name_version(name, version_in(told, name, CL_MAKE_VERSION(3, 0, 0))));
  }
  answers.list(CL_DEVICE_OPENCL_C_FEATURES, features);
}

void put_atomics(Answers& answers, const DeviceFacts& primary) {
  // The mandated minimum of OpenCL 3.0, at least.
  constexpr cl_device_atomic_capabilities kMemory =
      CL_DEVICE_ATOMIC_ORDER_RELAXED | CL_DEVICE_ATOMIC_SCOPE_WORK_GROUP;
  constexpr cl_device_atomic_capabilities kFence = kMemory | CL_DEVICE_ATOMIC_ORDER_ACQ_REL;
  const auto ask_of = [&](cl_device_info what) {
    return ask<cl_device_atomic_capabilities>(primary, what, 0);
  };
  answers.put<cl_device_atomic_capabilities>(
      CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES, ask_of(CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES) | kMemory);
  answers.put<cl_device_atomic_capabilities>(CL_DEVICE_ATOMIC_FENCE_CAPABILITIES,
                                             ask_of(CL_DEVICE_ATOMIC_FENCE_CAPABILITIES) | kFence);
  for (const cl_device_info what :
       {CL_DEVICE_PREFERRED_PLATFORM_ATOMIC_ALIGNMENT, CL_DEVICE_PREFERRED_GLOBAL_ATOMIC_ALIGNMENT,
        CL_DEVICE_PREFERRED_LOCAL_ATOMIC_ALIGNMENT}) {
    answers.put<cl_uint>(what, ask<cl_uint>(primary, what, 0));
  }
}

}  // namespace

uint32_t language_version(const DeviceFacts& device) {
  const std::string text = ask_string(device, CL_DEVICE_OPENCL_C_VERSION);
  uint32_t major = 0;
  uint32_t minor = 0;
  if (std::sscanf(text.c_str(), "OpenCL C %u.%u", &major, &minor) != 2) return 0;
  return major * 100 + minor * 10;
}

void take_language(Capabilities& caps, const DeviceFacts& primary) {
  caps.opencl_c = highest_language(primary);
  // OpenCL 3.1 is more than its language.
  const bool of_31 = backends::version_of(primary.traits.device_version) >= 31;
  caps.version = of_31 ? caps.opencl_c : std::min(caps.opencl_c, 300u);
  for (const std::string& name : primary.traits.features) {
    if (contains(kExtensions, name)) caps.language_extensions.push_back(name);
  }
  caps.fp64 = contains(caps.language_extensions, kFp64);
  caps.images = has_feature(primary.traits, kImages);

  const auto add = [&caps](std::string name) {
    if (!contains(caps.language_features, name)) {
      caps.language_features.push_back(std::move(name));
    }
  };
  add("__opencl_c_int64");  // mandatory in the full profile
  if (caps.fp64) add("__opencl_c_fp64");
  if (caps.images && contains(caps.language_extensions, "cl_khr_3d_image_writes")) {
    add("__opencl_c_3d_image_writes");
  }
  for (const std::string& name : primary.traits.features) {
    const bool feature = name.starts_with("__opencl_c_");
    const bool of_images =
        name == "__opencl_c_read_write_images" || name == "__opencl_c_3d_image_writes";
    if (feature && (caps.images || !of_images)) add(name);
  }
}

namespace {

void put_device_queues(Answers& answers, Capabilities& caps, const DeviceFacts& primary) {
  const bool there = caps.has_language_feature("__opencl_c_device_enqueue");
  const auto number = [&](cl_device_info what) {
    const cl_uint value = there ? ask<cl_uint>(primary, what, 0) : 0;
    answers.put<cl_uint>(what, value);
    return value;
  };
  Capabilities::DeviceQueues& queues = caps.device_queues;
  queues.preferred_size = number(CL_DEVICE_QUEUE_ON_DEVICE_PREFERRED_SIZE);
  queues.max_size = number(CL_DEVICE_QUEUE_ON_DEVICE_MAX_SIZE);
  number(CL_DEVICE_MAX_ON_DEVICE_QUEUES);
  number(CL_DEVICE_MAX_ON_DEVICE_EVENTS);
  if (there) {
    queues.properties =
        ask<cl_command_queue_properties>(primary, CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES, 0);
  }
  answers.put<cl_command_queue_properties>(CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES, queues.properties);
  // Which is the default one is a matter of Tutti's: it can be another one on any device.
  queues.replaceable = there;
  answers.put<cl_device_device_enqueue_capabilities>(
      CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES,
      there ? CL_DEVICE_QUEUE_SUPPORTED | CL_DEVICE_QUEUE_REPLACEABLE_DEFAULT : 0);
}

}  // namespace

void put_language(Answers& answers, Capabilities& caps, const DeviceFacts& primary,
                  const std::string& driver_version) {
  put_versions(answers, caps, primary, driver_version);
  put_atomics(answers, primary);
  answers.boolean(CL_DEVICE_GENERIC_ADDRESS_SPACE_SUPPORT,
                  caps.has_language_feature("__opencl_c_generic_address_space"));
  answers.boolean(CL_DEVICE_WORK_GROUP_COLLECTIVE_FUNCTIONS_SUPPORT,
                  caps.has_language_feature("__opencl_c_work_group_collective_functions"));
  const bool variables = caps.has_language_feature("__opencl_c_program_scope_global_variables");
  for (const cl_device_info what :
       {CL_DEVICE_MAX_GLOBAL_VARIABLE_SIZE, CL_DEVICE_GLOBAL_VARIABLE_PREFERRED_TOTAL_SIZE}) {
    answers.put<size_t>(what, variables ? ask<size_t>(primary, what, 0) : 0);
  }
  const bool read_write = caps.has_language_feature("__opencl_c_read_write_images");
  answers.put<cl_uint>(
      CL_DEVICE_MAX_READ_WRITE_IMAGE_ARGS,
      read_write ? ask<cl_uint>(primary, CL_DEVICE_MAX_READ_WRITE_IMAGE_ARGS, 0) : 0);
  put_device_queues(answers, caps, primary);
  const bool pipes = caps.has_language_feature("__opencl_c_pipes");
  answers.boolean(CL_DEVICE_PIPE_SUPPORT, pipes);
  for (const cl_device_info what : {CL_DEVICE_MAX_PIPE_ARGS, CL_DEVICE_PIPE_MAX_ACTIVE_RESERVATIONS,
                                    CL_DEVICE_PIPE_MAX_PACKET_SIZE}) {
    answers.put<cl_uint>(what, pipes ? ask<cl_uint>(primary, what, 0) : 0);
  }
  caps.max_pipe_packet = pipes ? ask<cl_uint>(primary, CL_DEVICE_PIPE_MAX_PACKET_SIZE, 0) : 0;
  const bool sub_groups = caps.has_language_feature("__opencl_c_subgroups");
  answers.put<cl_uint>(CL_DEVICE_MAX_NUM_SUB_GROUPS,
                       sub_groups ? ask<cl_uint>(primary, CL_DEVICE_MAX_NUM_SUB_GROUPS, 0) : 0);
  answers.boolean(
      CL_DEVICE_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS,
      sub_groups && ask<cl_bool>(primary, CL_DEVICE_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS,
                                 CL_FALSE) != CL_FALSE);
  for (const Questions& questions : kQuestions) {
    if (!contains(caps.language_extensions, questions.extension)) continue;
    caps.primary_queries.emplace_back(questions.first, questions.last);
  }
}

void put_intermediate_languages(Answers& answers, Capabilities& caps, const DeviceFacts& primary,
                                std::vector<std::string>& extensions) {
  caps.il_programs = has_feature(primary.traits, backends::kIlPrograms);
  const std::string text =
      caps.il_programs ? ask_string(primary, CL_DEVICE_IL_VERSION) : std::string();
  // "A space-separated list of IL version strings of the form: <IL_Prefix>_<Major>.<Minor>".
  std::string kept;
  std::vector<cl_name_version> with_version;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    uint32_t major = 0, minor = 0;
    if (std::sscanf(word.c_str(), "SPIR-V_%u.%u", &major, &minor) != 2) continue;
    kept += (kept.empty() ? "" : " ") + word;
    with_version.push_back(name_version("SPIR-V", CL_MAKE_VERSION(major, minor, 0)));
  }
  answers.string(CL_DEVICE_IL_VERSION, kept);
  answers.list(CL_DEVICE_ILS_WITH_VERSION, with_version);
  if (!caps.il_programs) return;
  extensions.emplace_back(backends::kIlPrograms);
  for (const std::string& name : primary.traits.features) {
    // What modules may say is between them and their vendor.
    if (name.find("_spirv_") != std::string::npos) extensions.push_back(name);
  }
  // CL_DEVICE_SPIRV_EXTENDED_INSTRUCTION_SETS_KHR and the next two.
  if (contains(extensions, "cl_khr_spirv_queries"))
    caps.primary_queries.emplace_back(0x12B9, 0x12BB);
}

}  // namespace tutti::platform
