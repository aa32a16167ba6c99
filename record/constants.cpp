// SPDX-License-Identifier: Apache-2.0
#include "record/constants.h"

#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <fmt/core.h>

#include <algorithm>
#include <iterator>

namespace tutti::record {
namespace {

struct Constant {
  std::string_view family, name;
  uint64_t value;
};

constexpr Constant kConstants[] = {
#define TUTTI_CL_CONSTANT(family, name) {family, #name, static_cast<uint64_t>(name)},
#include "cl_constants.inc"
#undef TUTTI_CL_CONSTANT
};

enum class Form : uint8_t { kOne, kFlags, kBool, kFormat, kImage, kProperties };

struct Parameter {
  std::string_view call;  // how its name begins; for queries all of it
  size_t index;
  Form form;
  std::string_view family;
};

// Which family a number belongs to is known from its place alone: 0x1000 means different things.
constexpr Parameter kParameters[] = {
    {"clGetPlatformInfo", 1, Form::kOne, "cl_platform_info"},
    {"clGetDeviceIDs", 1, Form::kFlags, "cl_device_type"},
    {"clGetDeviceInfo", 1, Form::kOne, "cl_device_info"},
    {"clCreateSubDevices", 1, Form::kProperties, "cl_device_partition_property"},
    {"clCreateContext", 0, Form::kProperties, "cl_context_properties"},
    {"clCreateContextFromType", 0, Form::kProperties, "cl_context_properties"},
    {"clCreateContextFromType", 1, Form::kFlags, "cl_device_type"},
    {"clGetContextInfo", 1, Form::kOne, "cl_context_info"},
    {"clCreateCommandQueue", 2, Form::kFlags, "cl_command_queue_properties"},
    {"clCreateCommandQueueWithProperties", 2, Form::kProperties, "cl_command_queue_info"},
    {"clCreateCommandQueueWithPropertiesKHR", 2, Form::kProperties, "cl_command_queue_info"},
    {"clGetCommandQueueInfo", 1, Form::kOne, "cl_command_queue_info"},
    {"clCreateBuffer", 1, Form::kFlags, "cl_mem_flags"},
    {"clCreateBufferWithProperties", 2, Form::kFlags, "cl_mem_flags"},
    {"clCreateSubBuffer", 1, Form::kFlags, "cl_mem_flags"},
    {"clCreateSubBuffer", 2, Form::kOne, "cl_buffer_create_type"},
    {"clCreateImage", 1, Form::kFlags, "cl_mem_flags"},
    {"clCreateImage", 2, Form::kFormat, "cl_channel_order"},
    {"clCreateImage", 3, Form::kImage, "cl_mem_object_type"},
    {"clCreateImageWithProperties", 2, Form::kFlags, "cl_mem_flags"},
    {"clCreateImageWithProperties", 3, Form::kFormat, "cl_channel_order"},
    {"clCreateImageWithProperties", 4, Form::kImage, "cl_mem_object_type"},
    {"clCreateImage2D", 1, Form::kFlags, "cl_mem_flags"},
    {"clCreateImage2D", 2, Form::kFormat, "cl_channel_order"},
    {"clCreateImage3D", 1, Form::kFlags, "cl_mem_flags"},
    {"clCreateImage3D", 2, Form::kFormat, "cl_channel_order"},
    {"clGetSupportedImageFormats", 1, Form::kFlags, "cl_mem_flags"},
    {"clGetSupportedImageFormats", 2, Form::kOne, "cl_mem_object_type"},
    {"clGetMemObjectInfo", 1, Form::kOne, "cl_mem_info"},
    {"clGetImageInfo", 1, Form::kOne, "cl_image_info"},
    {"clCreatePipe", 1, Form::kFlags, "cl_mem_flags"},
    {"clGetPipeInfo", 1, Form::kOne, "cl_pipe_info"},
    {"clCreateSampler", 1, Form::kBool, ""},
    {"clCreateSampler", 2, Form::kOne, "cl_addressing_mode"},
    {"clCreateSampler", 3, Form::kOne, "cl_filter_mode"},
    {"clCreateSamplerWithProperties", 1, Form::kProperties, "cl_sampler_info"},
    {"clGetSamplerInfo", 1, Form::kOne, "cl_sampler_info"},
    {"clGetProgramInfo", 1, Form::kOne, "cl_program_info"},
    {"clGetProgramBuildInfo", 2, Form::kOne, "cl_program_build_info"},
    {"clGetKernelInfo", 1, Form::kOne, "cl_kernel_info"},
    {"clGetKernelArgInfo", 2, Form::kOne, "cl_kernel_arg_info"},
    {"clGetKernelWorkGroupInfo", 2, Form::kOne, "cl_kernel_work_group_info"},
    {"clGetEventInfo", 1, Form::kOne, "cl_event_info"},
    {"clGetEventProfilingInfo", 1, Form::kOne, "cl_profiling_info"},
    {"clSetEventCallback", 1, Form::kOne, "command"},
    {"clSetUserEventStatus", 1, Form::kOne, "command"},
    {"clEnqueueReadBuffer", 2, Form::kBool, ""},
    {"clEnqueueWriteBuffer", 2, Form::kBool, ""},
    {"clEnqueueReadBufferRect", 2, Form::kBool, ""},
    {"clEnqueueWriteBufferRect", 2, Form::kBool, ""},
    {"clEnqueueReadImage", 2, Form::kBool, ""},
    {"clEnqueueWriteImage", 2, Form::kBool, ""},
    {"clEnqueueMapBuffer", 2, Form::kBool, ""},
    {"clEnqueueMapBuffer", 3, Form::kFlags, "cl_map_flags"},
    {"clEnqueueMapImage", 2, Form::kBool, ""},
    {"clEnqueueMapImage", 3, Form::kFlags, "cl_map_flags"},
    {"clEnqueueMigrateMemObjects", 3, Form::kFlags, "cl_mem_migration_flags"},
};

const Parameter* find(std::string_view call, size_t index) {
  const auto* at =
      std::find_if(std::begin(kParameters), std::end(kParameters),
                   [&](const Parameter& each) { return each.call == call && each.index == index; });
  return at == std::end(kParameters) ? nullptr : at;
}

std::string name_or_number(std::string_view family, uint64_t value) {
  const std::string_view name = constant_name(family, value);
  return name.empty() ? fmt::format("{:#x}", value) : std::string(name);
}

/// What stands behind a property's name.
std::string property_value(std::string_view name, uint64_t value) {
  if (name == "CL_QUEUE_PROPERTIES") return flags_text("cl_command_queue_properties", value);
  if (name == "CL_SAMPLER_ADDRESSING_MODE") return name_or_number("cl_addressing_mode", value);
  if (name == "CL_SAMPLER_FILTER_MODE") return name_or_number("cl_filter_mode", value);
  if (name == "CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN") {
    return flags_text("cl_device_affinity_domain", value);
  }
  return name == "CL_CONTEXT_PLATFORM" ? fmt::format("{:#x}", value) : fmt::format("{}", value);
}

std::string properties_text(std::string_view family, const std::vector<uint64_t>& values) {
  std::string out = "[";
  for (size_t i = 0; i < values.size() && values[i] != 0; i += 2) {
    const std::string name = name_or_number(family, values[i]);
    out += (out.size() > 1 ? ", " : "") + name;
    if (name == "CL_DEVICE_PARTITION_BY_COUNTS") {  // any number of them, to a zero
      for (++i; i < values.size() && values[i] != 0; ++i) out += fmt::format(" {}", values[i]);
      break;
    }
    if (i + 1 < values.size()) out += " " + property_value(name, values[i + 1]);
  }
  return out + "]";
}

}  // namespace

std::string_view constant_name(std::string_view family, uint64_t value) {
  // The core's family first; then those that extensions add to, which are named alike.
  for (const bool core : {true, false}) {
    for (const Constant& each : kConstants) {
      const bool of_family = core ? each.family == family
                                  : each.family.size() > family.size() &&
                                        each.family.starts_with(family) &&
                                        each.family[family.size()] == '_';
      if (of_family && each.value == value) return each.name;
    }
  }
  return {};
}

std::string flags_text(std::string_view family, uint64_t value) {
  if (const std::string_view whole = constant_name(family, value); !whole.empty()) {
    return std::string(whole);
  }
  if (value == 0) return "0";
  std::string out;
  uint64_t rest = value;
  for (uint64_t bit = 1; bit != 0 && rest != 0; bit <<= 1) {
    const std::string_view name = (value & bit) != 0 ? constant_name(family, bit) : "";
    if (name.empty()) continue;
    out += (out.empty() ? "" : " | ") + std::string(name);
    rest &= ~bit;
  }
  if (rest != 0) out += (out.empty() ? "" : " | ") + fmt::format("{:#x}", rest);
  return out;
}

std::string constant_text(std::string_view call, size_t index, uint64_t value) {
  const Parameter* parameter = find(call, index);
  if (parameter == nullptr) return {};
  switch (parameter->form) {
    case Form::kOne:
      return name_or_number(parameter->family, value);
    case Form::kFlags:
      return flags_text(parameter->family, value);
    case Form::kBool:
      return value == CL_FALSE ? "CL_FALSE" : value == CL_TRUE ? "CL_TRUE" : std::to_string(value);
    default:
      return {};
  }
}

std::string constant_text(std::string_view call, size_t index,
                          const std::vector<uint64_t>& values) {
  const Parameter* parameter = find(call, index);
  if (parameter == nullptr || values.empty()) return {};
  if (parameter->form == Form::kProperties) return properties_text(parameter->family, values);
  if (parameter->form == Form::kFormat && values.size() == 2) {
    return "[" + name_or_number("cl_channel_order", values[0]) + ", " +
           name_or_number("cl_channel_type", values[1]) + "]";
  }
  if (parameter->form == Form::kImage) {
    std::string out = "[" + name_or_number("cl_mem_object_type", values[0]);
    for (size_t i = 1; i < values.size(); ++i) out += fmt::format(", {}", values[i]);
    return out + "]";
  }
  return {};
}

}  // namespace tutti::record
