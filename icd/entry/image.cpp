// SPDX-License-Identifier: Apache-2.0
// Entry points of images and samplers.
#include "icd/validate/image.h"

#include <algorithm>
#include <utility>

#include "icd/entry/entries.h"
#include "icd/entry/entry.h"

namespace tutti::icd {
namespace {

using device_virtual::Buffer;
using device_virtual::Sampler;

Result<cl_mem> make_image(validate::CreateImage call) {
  Buffer* image = nullptr;
  if (call.buffer != nullptr) {
    TUTTI_ASSIGN(image, call.buffer->create_image(call.options.flags, *call.options.image,
                                                  std::move(call.options.properties)));
  } else {
    TUTTI_ASSIGN(image, Buffer::create(*call.context, std::move(call.options)));
  }
  return image->handle();
}

cl_mem create_image(const char* name, cl_context context, const cl_mem_properties* properties,
                    cl_mem_flags flags, const cl_image_format* format,
                    const cl_image_desc* description, void* host_ptr, cl_int* errcode_ret) {
  return entry_object(name, errcode_ret, [&]() -> Result<cl_mem> {
    TUTTI_ASSIGN(auto call,
                 validate::create_image(context, properties, flags, format, description, host_ptr));
    return make_image(std::move(call));
  });
}

cl_mem create_legacy_image(const char* name, cl_context context, cl_mem_flags flags,
                           const cl_image_format* format, const cl_image_desc& description,
                           void* host_ptr, cl_int* errcode_ret) {
  return entry_object(name, errcode_ret, [&]() -> Result<cl_mem> {
    TUTTI_ASSIGN(auto call,
                 validate::create_legacy_image(context, flags, format, description, host_ptr));
    return make_image(std::move(call));
  });
}

Result<cl_sampler> make_sampler(validate::CreateSampler call) {
  return (new Sampler(*call.context, call.state, std::move(call.properties)))->handle();
}

}  // namespace

cl_mem CL_API_CALL clCreateImage(cl_context context, cl_mem_flags flags,
                                 const cl_image_format* image_format,
                                 const cl_image_desc* image_desc, void* host_ptr,
                                 cl_int* errcode_ret) {
  return create_image("clCreateImage", context, nullptr, flags, image_format, image_desc, host_ptr,
                      errcode_ret);
}

cl_mem CL_API_CALL clCreateImageWithProperties(cl_context context,
                                               const cl_mem_properties* properties,
                                               cl_mem_flags flags,
                                               const cl_image_format* image_format,
                                               const cl_image_desc* image_desc, void* host_ptr,
                                               cl_int* errcode_ret) {
  return create_image("clCreateImageWithProperties", context, properties, flags, image_format,
                      image_desc, host_ptr, errcode_ret);
}

cl_mem CL_API_CALL clCreateImage2D(cl_context context, cl_mem_flags flags,
                                   const cl_image_format* image_format, size_t image_width,
                                   size_t image_height, size_t image_row_pitch, void* host_ptr,
                                   cl_int* errcode_ret) {
  cl_image_desc description{};
  description.image_type = CL_MEM_OBJECT_IMAGE2D;
  description.image_width = image_width;
  description.image_height = image_height;
  description.image_row_pitch = image_row_pitch;
  return create_legacy_image("clCreateImage2D", context, flags, image_format, description, host_ptr,
                             errcode_ret);
}

cl_mem CL_API_CALL clCreateImage3D(cl_context context, cl_mem_flags flags,
                                   const cl_image_format* image_format, size_t image_width,
                                   size_t image_height, size_t image_depth, size_t image_row_pitch,
                                   size_t image_slice_pitch, void* host_ptr, cl_int* errcode_ret) {
  cl_image_desc description{};
  description.image_type = CL_MEM_OBJECT_IMAGE3D;
  description.image_width = image_width;
  description.image_height = image_height;
  description.image_depth = image_depth;
  description.image_row_pitch = image_row_pitch;
  description.image_slice_pitch = image_slice_pitch;
  return create_legacy_image("clCreateImage3D", context, flags, image_format, description, host_ptr,
                             errcode_ret);
}

cl_int CL_API_CALL clGetImageInfo(cl_mem image, cl_image_info param_name, size_t param_value_size,
                                  void* param_value, size_t* param_value_size_ret) {
  return entry("clGetImageInfo", [&]() -> Status {
    TUTTI_ASSIGN(const auto* const object, validate::image(image));
    return object->image_info(param_name, {param_value_size, param_value, param_value_size_ret});
  });
}

cl_int CL_API_CALL clGetSupportedImageFormats(cl_context context, cl_mem_flags flags,
                                              cl_mem_object_type image_type, cl_uint num_entries,
                                              cl_image_format* image_formats,
                                              cl_uint* num_image_formats) {
  return entry("clGetSupportedImageFormats", [&]() -> Status {
    TUTTI_ASSIGN(const auto call, validate::supported_image_formats(context, flags, image_type,
                                                                    num_entries, image_formats));
    TUTTI_ASSIGN(const auto formats, call.context->image_formats(call.access, image_type));
    if (image_formats != nullptr) {
      std::copy_n(formats.begin(), std::min<size_t>(formats.size(), num_entries), image_formats);
    }
    if (num_image_formats != nullptr) *num_image_formats = static_cast<cl_uint>(formats.size());
    return {};
  });
}

cl_sampler CL_API_CALL clCreateSampler(cl_context context, cl_bool normalized_coords,
                                       cl_addressing_mode addressing_mode,
                                       cl_filter_mode filter_mode, cl_int* errcode_ret) {
  return entry_object("clCreateSampler", errcode_ret, [&]() -> Result<cl_sampler> {
    TUTTI_ASSIGN(auto call, validate::create_sampler(context, normalized_coords, addressing_mode,
                                                     filter_mode));
    return make_sampler(std::move(call));
  });
}

cl_sampler CL_API_CALL clCreateSamplerWithProperties(
    cl_context context, const cl_sampler_properties* sampler_properties, cl_int* errcode_ret) {
  return entry_object("clCreateSamplerWithProperties", errcode_ret, [&]() -> Result<cl_sampler> {
    TUTTI_ASSIGN(auto call, validate::create_sampler_with_properties(context, sampler_properties));
    return make_sampler(std::move(call));
  });
}

cl_int CL_API_CALL clRetainSampler(cl_sampler sampler) {
  return entry("clRetainSampler", [&]() -> Status {
    TUTTI_ASSIGN(auto* const object, validate::sampler(sampler));
    object->retain_public();
    return {};
  });
}

cl_int CL_API_CALL clReleaseSampler(cl_sampler sampler) {
  return entry("clReleaseSampler", [&]() -> Status {
    TUTTI_ASSIGN(auto* const object, validate::sampler(sampler));
    if (!object->release_public()) return fail(CL_INVALID_SAMPLER, "released too often");
    return {};
  });
}

cl_int CL_API_CALL clGetSamplerInfo(cl_sampler sampler, cl_sampler_info param_name,
                                    size_t param_value_size, void* param_value,
                                    size_t* param_value_size_ret) {
  return entry("clGetSamplerInfo", [&]() -> Status {
    TUTTI_ASSIGN(const auto* const object, validate::sampler(sampler));
    return object->info(param_name, {param_value_size, param_value, param_value_size_ret});
  });
}

}  // namespace tutti::icd
