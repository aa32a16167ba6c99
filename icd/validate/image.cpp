// SPDX-License-Identifier: Apache-2.0
#include "icd/validate/image.h"

#include <algorithm>

#include "device_virtual/image_format.h"
#include "icd/validate/memory.h"
#include "icd/validate/memory_properties.h"

namespace tutti::icd::validate {
namespace {

using backends::ImageShape;
using device_virtual::Capabilities;
using device_virtual::image_dimensions;
using device_virtual::is_image_array;

tl::unexpected<Error> bad_description(const char* why) {
  return fail(CL_INVALID_IMAGE_DESCRIPTOR, why);
}

/// Type and extent. "CL_INVALID_IMAGE_DESCRIPTOR if values specified in image_desc are not valid or
/// if image_desc is NULL."
Result<ImageShape> shape_of(const cl_image_desc& description) {
  ImageShape shape;
  shape.type = description.image_type;
  const unsigned dimensions = image_dimensions(shape.type);
  if (dimensions == 0) return bad_description("image_type is no image");
  shape.extent[0] = description.image_width;
  if (dimensions >= 2) shape.extent[1] = description.image_height;
  if (dimensions == 3) shape.extent[2] = description.image_depth;
  if (is_image_array(shape.type)) shape.extent[dimensions] = description.image_array_size;
  // "must be greater than or equal to 1".
  if (shape.extent[0] == 0 || shape.extent[1] == 0 || shape.extent[2] == 0) {
    return bad_description("an extent is 0");
  }
  // "num_mip_levels and num_samples must be 0."
  if (description.num_mip_levels != 0 || description.num_samples != 0) {
    return bad_description("mip levels and samples are not supported");
  }
  return shape;
}

/// Row and slice pitch, as given or as they follow from the extent.
Status set_pitches(const cl_image_desc& description, bool given, ImageShape& shape) {
  const size_t row = shape.extent[0] * shape.pixel_size;
  // "image_row_pitch … must be 0 if host_ptr is NULL and can be either 0 or >= image_width * size
  // of element in bytes if host_ptr is not NULL. … must be a multiple of the image element size".
  if (description.image_row_pitch != 0 && (!given || description.image_row_pitch < row ||
                                           description.image_row_pitch % shape.pixel_size != 0)) {
    return bad_description("image_row_pitch does not fit");
  }
  shape.row_pitch = description.image_row_pitch != 0 ? description.image_row_pitch : row;
  const bool slices = is_image_array(shape.type) || shape.type == CL_MEM_OBJECT_IMAGE3D;
  if (!slices) {
    shape.slice_pitch = 0;
    return {};
  }
  const size_t slice = shape.type == CL_MEM_OBJECT_IMAGE1D_ARRAY
                           ? shape.row_pitch
                           : shape.row_pitch * shape.extent[1];
  // "image_slice_pitch … must be 0 if host_ptr is NULL. If host_ptr is not NULL, image_slice_pitch
  // can be either 0 or >= image_row_pitch * image_height for a 2D image array or 3D image and can
  // be either 0 or >= image_row_pitch for a 1D image array. … must be a multiple of the
  // image_row_pitch."
  if (description.image_slice_pitch != 0 &&
      (!given || description.image_slice_pitch < slice ||
       description.image_slice_pitch % shape.row_pitch != 0)) {
    return bad_description("image_slice_pitch does not fit");
  }
  shape.slice_pitch = description.image_slice_pitch != 0 ? description.image_slice_pitch : slice;
  return {};
}

/// "CL_INVALID_IMAGE_SIZE if image dimensions specified in image_desc exceed the maximum image
/// dimensions described in the Device Queries table for all devices in context."
Status check_extent(const ImageShape& shape, const Capabilities::ImageLimits& limits) {
  std::array<size_t, 3> most{limits.extent_2d[0], 1, 1};
  switch (shape.type) {
    case CL_MEM_OBJECT_IMAGE1D_BUFFER:
      most[0] = limits.buffer_pixels;
      break;
    case CL_MEM_OBJECT_IMAGE1D_ARRAY:
      most[1] = limits.layers;
      break;
    case CL_MEM_OBJECT_IMAGE2D_ARRAY:
      most[2] = limits.layers;
      most[1] = limits.extent_2d[1];
      break;
    case CL_MEM_OBJECT_IMAGE2D:
      most[1] = limits.extent_2d[1];
      break;
    case CL_MEM_OBJECT_IMAGE3D:
      most = limits.extent_3d;
      break;
    default:
      break;
  }
  for (size_t d = 0; d < 3; ++d) {
    if (shape.extent[d] > most[d]) return fail(CL_INVALID_IMAGE_SIZE, "larger than devices allow");
  }
  return {};
}

/// An image over a buffer: "mem_object".
Status check_parent(CreateImage& call, const cl_image_desc& description, cl_mem_flags flags,
                    const void* host_ptr) {
  ImageShape& shape = *call.options.image;
  const auto& limits = call.context->capabilities().image_limits;
  // "mem_object may refer to a valid buffer … It must be a buffer object if image_type is
  // CL_MEM_OBJECT_IMAGE1D_BUFFER. … may be … if image_type is CL_MEM_OBJECT_IMAGE2D. … Otherwise it
  // must be NULL."
  const bool is_2d = shape.type == CL_MEM_OBJECT_IMAGE2D;
  if (shape.type != CL_MEM_OBJECT_IMAGE1D_BUFFER && !is_2d) {
    return bad_description("images of this type are not made from buffers");
  }
  auto parent = buffer(description.mem_object);
  if (!parent) return bad_description("mem_object is not a valid buffer");
  call.buffer = *parent;
  if (&call.buffer->context() != call.context) return bad_description("of another context");
  if (is_2d) {
    // "For a 2D image created from a buffer, … CL_DEVICE_IMAGE_PITCH_ALIGNMENT" and
    // "CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT … in pixels": "CL_INVALID_IMAGE_FORMAT_DESCRIPTOR if
    // a 2D image is created from a buffer and the row pitch and base address alignment does not
    // follow the rules".
    // "Returns CL_INVALID_OPERATION if no devices in context support Creating a 2D Image from a
    // Buffer" (appendix on optional features).
    if (limits.pitch_alignment == 0) {
      return fail(CL_INVALID_OPERATION, "2-D images from buffers are not supported");
    }
    const auto base = reinterpret_cast<uintptr_t>(call.buffer->origin());
    if (shape.row_pitch % (size_t{limits.pitch_alignment} * shape.pixel_size) != 0 ||
        base % std::max<size_t>(size_t{limits.base_alignment} * shape.pixel_size, 1) != 0) {
      return fail(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, "pitch or address is not aligned");
    }
  }
  // "The size … must be <= the size of the buffer".
  if (shape.span() > call.buffer->size()) return bad_description("the buffer is too small");
  if (host_ptr != nullptr) return fail(CL_INVALID_HOST_PTR, "the buffer has the memory");
  // "CL_INVALID_VALUE if an image buffer is being created from a buffer … and flags …": as for
  // sub-buffers.
  TUTTI_ASSIGN(call.options.flags, flags_under(call.buffer->flags(), flags));
  return {};
}

bool valid_addressing(cl_ulong mode) {
  return mode >= CL_ADDRESS_NONE && mode <= CL_ADDRESS_MIRRORED_REPEAT;
}
bool valid_filter(cl_ulong mode) { return mode == CL_FILTER_NEAREST || mode == CL_FILTER_LINEAR; }

}  // namespace

Result<CreateImage> create_image(cl_context context_handle, const cl_mem_properties* properties,
                                 cl_mem_flags flags, const cl_image_format* format,
                                 const cl_image_desc* description, void* host_ptr) {
  CreateImage call;
  // "CL_INVALID_CONTEXT if context is not a valid context."
  TUTTI_ASSIGN(call.context, context(context_handle));
  // "CL_INVALID_PROPERTY if a property name in properties is not a supported property name".
  if (properties != nullptr) {
    TUTTI_TRY(take_image_properties(*call.context, properties, call.options));
  }
  if (!valid_flags(flags)) return fail(CL_INVALID_VALUE, "invalid memory flags");
  TUTTI_TRY(check_external(call.options, flags, host_ptr));
  const Capabilities& capabilities = call.context->capabilities();
  // "CL_INVALID_OPERATION if there are no devices in context that support images."
  if (!capabilities.images) return fail(CL_INVALID_OPERATION, "the devices have no images");
  // "CL_INVALID_IMAGE_FORMAT_DESCRIPTOR if values specified in image_format are not valid or if
  // image_format is NULL."
  const size_t pixel = format != nullptr ? device_virtual::pixel_size(*format) : 0;
  if (pixel == 0) return fail(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, "no valid image format");
  if (description == nullptr) return bad_description("image_desc is NULL");
  TUTTI_ASSIGN(ImageShape shape, shape_of(*description));
  TUTTI_TRY(check_extent(shape, capabilities.image_limits));
  shape.format = *format;
  shape.pixel_size = pixel;
  const bool from_buffer = description->mem_object != nullptr;
  if (from_buffer && !call.options.external.empty()) {
    return bad_description("a buffer has memory already");
  }
  TUTTI_TRY(set_pitches(*description, host_ptr != nullptr || from_buffer, shape));
  call.options.flags = flags == 0 ? CL_MEM_READ_WRITE : flags;
  call.options.image = shape;
  if (from_buffer) {
    TUTTI_TRY(check_parent(call, *description, flags, host_ptr));
  } else {
    if (shape.type == CL_MEM_OBJECT_IMAGE1D_BUFFER) return bad_description("a buffer is needed");
    // "CL_INVALID_HOST_PTR if host_ptr is NULL and CL_MEM_USE_HOST_PTR or CL_MEM_COPY_HOST_PTR are
    // set in flags or if host_ptr is not NULL but [neither is] set in flags."
    if ((host_ptr != nullptr) != ((flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR)) != 0)) {
      return fail(CL_INVALID_HOST_PTR, "host_ptr and flags contradict each other");
    }
    call.options.host_ptr = host_ptr;
  }
  call.options.size = shape.span();
  if (call.options.size > capabilities.max_undivided) {
    return fail(CL_MEM_OBJECT_ALLOCATION_FAILURE, "above CL_DEVICE_MAX_MEM_ALLOC_SIZE");
  }
  if ((call.options.flags & kKernelAccess) == 0) call.options.flags |= CL_MEM_READ_WRITE;
  call.options.image->access = call.options.flags & kKernelAccess;
  // "CL_IMAGE_FORMAT_NOT_SUPPORTED if there are no devices in context that support image_format."
  TUTTI_ASSIGN(const auto formats,
               call.context->image_formats(call.options.image->access, shape.type));
  if (std::none_of(formats.begin(), formats.end(), [&](const cl_image_format& supported) {
        return backends::same_format(supported, *format);
      })) {
    return fail(CL_IMAGE_FORMAT_NOT_SUPPORTED, "no device supports the image format");
  }
  return call;
}

Result<CreateImage> create_legacy_image(cl_context context_handle, cl_mem_flags flags,
                                        const cl_image_format* format,
                                        const cl_image_desc& description, void* host_ptr) {
  auto call = create_image(context_handle, nullptr, flags, format, &description, host_ptr);
  // OpenCL 1.1: "CL_INVALID_IMAGE_SIZE if image_width or image_height are 0 or … or if values
  // specified in image_row_pitch do not follow rules described in the argument description above."
  if (!call && call.error().code == CL_INVALID_IMAGE_DESCRIPTOR) {
    return fail(CL_INVALID_IMAGE_SIZE, call.error().message);
  }
  return call;
}

Result<SupportedFormats> supported_image_formats(cl_context context_handle, cl_mem_flags flags,
                                                 cl_mem_object_type type, cl_uint num_entries,
                                                 const cl_image_format* formats) {
  SupportedFormats call;
  // "CL_INVALID_CONTEXT if context is not a valid context."
  TUTTI_ASSIGN(call.context, context(context_handle));
  // "CL_INVALID_VALUE if flags or image_type are not valid, or if num_entries is 0 and
  // image_formats is not NULL."
  if (!valid_flags(flags & ~cl_mem_flags{CL_MEM_KERNEL_READ_AND_WRITE})) {
    return fail(CL_INVALID_VALUE, "invalid memory flags");
  }
  if (image_dimensions(type) == 0) return fail(CL_INVALID_VALUE, "not an image type");
  if (num_entries == 0 && formats != nullptr) return fail(CL_INVALID_VALUE, "num_entries is 0");
  call.access = flags & (kKernelAccess | CL_MEM_KERNEL_READ_AND_WRITE);
  if (call.access == 0) call.access = CL_MEM_READ_WRITE;
  return call;
}

Result<CreateSampler> create_sampler(cl_context context_handle, cl_bool normalized,
                                     cl_addressing_mode addressing, cl_filter_mode filter) {
  CreateSampler call;
  // "CL_INVALID_CONTEXT if context is not a valid context."
  TUTTI_ASSIGN(call.context, context(context_handle));
  // "CL_INVALID_VALUE if addressing_mode, filter_mode or normalized_coords or combination of these
  // argument values are not valid."
  if (!valid_addressing(addressing) || !valid_filter(filter) ||
      (normalized != CL_FALSE && normalized != CL_TRUE)) {
    return fail(CL_INVALID_VALUE, "not a valid sampler");
  }
  // "CL_INVALID_OPERATION if images are not supported by any device associated with context".
  if (!call.context->capabilities().images) {
    return fail(CL_INVALID_OPERATION, "the devices have no images");
  }
  call.state = {normalized != CL_FALSE, addressing, filter};
  return call;
}

Result<CreateSampler> create_sampler_with_properties(cl_context context_handle,
                                                     const cl_sampler_properties* properties) {
  cl_ulong normalized = CL_TRUE, addressing = CL_ADDRESS_CLAMP, filter = CL_FILTER_NEAREST;
  std::vector<cl_sampler_properties> kept;
  // "CL_INVALID_CONTEXT if context is not a valid context."
  TUTTI_ASSIGN([[maybe_unused]] auto* const found, context(context_handle));
  std::array<bool, 3> seen{};
  for (const cl_sampler_properties* at = properties; at != nullptr && *at != 0; at += 2) {
    size_t which = 0;
    switch (*at) {
      case CL_SAMPLER_NORMALIZED_COORDS:
        normalized = at[1];
        break;
      case CL_SAMPLER_ADDRESSING_MODE:
        addressing = at[1];
        which = 1;
        break;
      case CL_SAMPLER_FILTER_MODE:
        filter = at[1];
        which = 2;
        break;
      default:
        // "CL_INVALID_VALUE if the property name in sampler_properties is not a supported property
        // name, if the value specified for a supported property name is not valid, or if the same
        // property name is specified more than once."
        return fail(CL_INVALID_VALUE, "not a supported sampler property");
    }
    if (seen[which]) return fail(CL_INVALID_VALUE, "a sampler property is given twice");
    seen[which] = true;
    kept.insert(kept.end(), {at[0], at[1]});
  }
  if (normalized > CL_TRUE || !valid_addressing(addressing) || !valid_filter(filter)) {
    return fail(CL_INVALID_VALUE, "not a valid sampler");
  }
  if (properties != nullptr) kept.push_back(0);
  TUTTI_ASSIGN(CreateSampler call, create_sampler(context_handle, static_cast<cl_bool>(normalized),
                                                  static_cast<cl_addressing_mode>(addressing),
                                                  static_cast<cl_filter_mode>(filter)));
  call.properties = std::move(kept);
  return call;
}

}  // namespace tutti::icd::validate
