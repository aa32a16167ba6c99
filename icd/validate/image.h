// SPDX-License-Identifier: Apache-2.0
// Checks of the creation of images and samplers. Pure functions, thread-safe.
#pragma once

#include <vector>

#include "icd/validate/common.h"

namespace tutti::icd::validate {

struct CreateImage {
  device_virtual::Context* context = nullptr;
  device_virtual::Buffer* buffer = nullptr;  // that the image is made from; usually null
  device_virtual::Buffer::Options options;
};
Result<CreateImage> create_image(cl_context context, const cl_mem_properties* properties,
                                 cl_mem_flags flags, const cl_image_format* format,
                                 const cl_image_desc* description, void* host_ptr);
/// clCreateImage2D and clCreateImage3D: their own words for sizes that do not fit.
Result<CreateImage> create_legacy_image(cl_context context, cl_mem_flags flags,
                                        const cl_image_format* format,
                                        const cl_image_desc& description, void* host_ptr);

struct SupportedFormats {
  device_virtual::Context* context = nullptr;
  cl_mem_flags access = 0;
};
Result<SupportedFormats> supported_image_formats(cl_context context, cl_mem_flags flags,
                                                 cl_mem_object_type type, cl_uint num_entries,
                                                 const cl_image_format* formats);

struct CreateSampler {
  device_virtual::Context* context = nullptr;
  backends::SamplerState state;
  std::vector<cl_sampler_properties> properties;
};
Result<CreateSampler> create_sampler(cl_context context, cl_bool normalized,
                                     cl_addressing_mode addressing, cl_filter_mode filter);
Result<CreateSampler> create_sampler_with_properties(cl_context context,
                                                     const cl_sampler_properties* properties);

}  // namespace tutti::icd::validate
