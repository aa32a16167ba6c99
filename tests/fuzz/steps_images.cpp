// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "steps.h"

namespace tutti::api_fuzz {
namespace {

constexpr size_t kMostImages = 8, kPixel = 4;
constexpr cl_image_format kFormat = {CL_RGBA, CL_UNSIGNED_INT8};
using Triple = std::array<size_t, 3>;

bool has_images(World& w) {
  cl_bool images = CL_FALSE;
  clGetDeviceInfo(w.root->as<cl_device_id>(), CL_DEVICE_IMAGE_SUPPORT, sizeof images, &images,
                  nullptr);
  return images != CL_FALSE;
}

cl_image_desc description_of(cl_mem_object_type type, const Triple& extent) {
  cl_image_desc description = {};
  description.image_type = type;
  description.image_width = extent[0];
  if (type == CL_MEM_OBJECT_IMAGE1D_ARRAY) {
    description.image_array_size = extent[1];
  } else {
    description.image_height = extent[1];
    description.image_depth = extent[2];
    description.image_array_size = extent[2];
  }
  return description;
}

void create_image(World& w) {
  const ObjectRef context = w.any(Kind::kContext);
  if (!context || !has_images(w) || w.all(Kind::kImage).size() >= kMostImages) return;
  const auto type = w.random.pick<cl_mem_object_type>(
      {CL_MEM_OBJECT_IMAGE1D, CL_MEM_OBJECT_IMAGE1D_ARRAY, CL_MEM_OBJECT_IMAGE2D,
       CL_MEM_OBJECT_IMAGE2D_ARRAY, CL_MEM_OBJECT_IMAGE3D});
  Triple extent{1 + w.random.below(40), 1, 1};
  if (type != CL_MEM_OBJECT_IMAGE1D) extent[1] = 1 + w.random.below(20);
  if (type == CL_MEM_OBJECT_IMAGE2D_ARRAY || type == CL_MEM_OBJECT_IMAGE3D) {
    extent[2] = 1 + w.random.below(6);
  }
  cl_image_desc description = description_of(type, extent);
  cl_image_format format = kFormat;
  Expected expected;
  switch (w.random.below(25)) {
    case 0:
      description.image_width = 0;
      expected.error(CL_INVALID_IMAGE_DESCRIPTOR);
      break;
    case 1:
      description.image_width = SIZE_MAX - w.random.below(64);
      expected.error(CL_INVALID_IMAGE_SIZE);
      break;
    case 2:
      description.image_type = static_cast<cl_mem_object_type>(w.random.bits() | 0x10000);
      expected.error(CL_INVALID_IMAGE_DESCRIPTOR);
      break;
    case 3:
      format.image_channel_order = static_cast<cl_channel_order>(w.random.bits() | 0x10000);
      expected.error(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
      break;
    case 4:
      description.image_row_pitch = extent[0] * kPixel;  // without memory
      expected.error(CL_INVALID_IMAGE_DESCRIPTOR);
      break;
    case 5:
      description.num_mip_levels = 1 + static_cast<cl_uint>(w.random.below(9));
      expected.error(CL_INVALID_IMAGE_DESCRIPTOR);
      break;
    default:
      break;
  }
  const auto flags = w.random.pick<cl_mem_flags>(
      {0, CL_MEM_READ_WRITE, CL_MEM_ALLOC_HOST_PTR, CL_MEM_USE_HOST_PTR, CL_MEM_COPY_HOST_PTR});
  const bool wants_memory = flags == CL_MEM_USE_HOST_PTR || flags == CL_MEM_COPY_HOST_PTR;
  if (wants_memory && !expected.success()) return;
  void* const host =
      wants_memory ? w.lasting_memory(extent[0] * extent[1] * extent[2] * kPixel) : nullptr;
  cl_int code = 1;
  cl_mem made = clCreateImage(context->as<cl_context>(), flags, &format, &description, host, &code);
  w.check("clCreateImage", expected, code);
  if (made == nullptr) return;
  const ObjectRef image = w.add(Kind::kImage, made, context);
  image->image_type = type;
  image->extent = extent;
}

void create_sampler(World& w) {
  const ObjectRef context = w.any(Kind::kContext);
  if (!context || !has_images(w) || w.all(Kind::kSampler).size() >= kMostImages) return;
  auto addressing = static_cast<cl_addressing_mode>(CL_ADDRESS_NONE + w.random.below(5));
  auto filter = static_cast<cl_filter_mode>(CL_FILTER_NEAREST + w.random.below(2));
  Expected expected;
  if (w.random.one_in(6)) {
    addressing = static_cast<cl_addressing_mode>(w.random.bits() | 0x10000);
    expected.error(CL_INVALID_VALUE);
  }
  cl_int code = 1;
  cl_sampler made = clCreateSampler(context->as<cl_context>(), CL_FALSE, addressing, filter, &code);
  w.check("clCreateSampler", expected, code);
  if (made != nullptr) w.add(Kind::kSampler, made, context);
}

/// A box of the image, sometimes beyond it.
struct Box {
  Triple origin{}, region{};
  bool wrong = false;
};
Box any_box(World& w, const Object& image) {
  Box box;
  for (size_t d = 0; d < 3; ++d) {
    box.origin[d] = w.random.below(image.extent[d]);
    box.region[d] = 1 + w.random.below(image.extent[d] - box.origin[d]);
  }
  if (w.random.one_in(20)) {
    const size_t d = w.random.below(3);
    (w.random.one_in(2) ? box.origin : box.region)[d] = w.random.odd_size();
  }
  for (size_t d = 0; d < 3; ++d) {
    box.wrong = box.wrong || box.region[d] == 0 || box.origin[d] > image.extent[d] ||
                box.region[d] > image.extent[d] - box.origin[d];
  }
  return box;
}

struct Setting {
  QueueChoice on;
  ObjectRef image;
  cl_mem handle = nullptr;
  World::WaitList waits;
  Expected expected;
  cl_event event = nullptr;
  cl_event* event_place = nullptr;
};
bool choose(World& w, Setting& s) {
  if (!choose_queue(w, s.on)) return false;
  s.image = w.any_of(Kind::kImage, s.on.queue->context);
  if (!s.image) return false;
  s.waits = w.wait_list(s.on.queue->context);
  s.expected = s.waits.expected;
  s.expected.error_if(s.on.wrong, CL_INVALID_COMMAND_QUEUE);
  s.handle = s.image->as<cl_mem>();
  if (w.random.one_in(40)) {
    const ObjectRef buffer = w.any_of(Kind::kMemory, s.on.queue->context);
    s.handle = buffer ? buffer->as<cl_mem>() : nullptr;
    s.expected.error(CL_INVALID_MEM_OBJECT);
  }
  if (w.random.one_in(2)) s.event_place = &s.event;
  return true;
}
void finish_step(World& w, const char* call, Setting& s, bool blocking, cl_int code) {
  const bool valid = s.expected.success();
  w.expect_waiting(s.expected, s.waits, blocking && valid);
  w.check(call, s.expected, code);
  if (valid) w.enqueued(s.on.queue, s.waits, s.event);
}

void transfer(World& w) {
  Setting s;
  if (!choose(w, s)) return;
  const Box box = any_box(w, *s.image);
  const bool write = w.random.one_in(2);
  bool blocking = w.random.one_in(3);
  void* host = w.host_memory(s.image->extent[0] * s.image->extent[1] * s.image->extent[2] * kPixel);
  if (w.random.one_in(40)) host = nullptr;
  const size_t row_pitch = w.random.one_in(30) ? 1 : 0;  // less than a row
  s.expected.error_if(box.wrong || host == nullptr || row_pitch != 0, CL_INVALID_VALUE);
  blocking = blocking && s.expected.success();
  w.make_way(s.on.queue, s.waits, blocking);
  const cl_bool block = blocking ? CL_TRUE : CL_FALSE;
  const cl_int code =
      write
          ? clEnqueueWriteImage(s.on.handle, s.handle, block, box.origin.data(), box.region.data(),
                                row_pitch, 0, host, s.waits.count, s.waits.list(), s.event_place)
          : clEnqueueReadImage(s.on.handle, s.handle, block, box.origin.data(), box.region.data(),
                               row_pitch, 0, host, s.waits.count, s.waits.list(), s.event_place);
  finish_step(w, write ? "clEnqueueWriteImage" : "clEnqueueReadImage", s, blocking, code);
}

void fill(World& w) {
  Setting s;
  if (!choose(w, s)) return;
  const Box box = any_box(w, *s.image);
  cl_uint color[4] = {1, 2, 3, 4};
  const bool none = w.random.one_in(30);
  s.expected.error_if(box.wrong || none, CL_INVALID_VALUE);
  const cl_int code =
      clEnqueueFillImage(s.on.handle, s.handle, none ? nullptr : color, box.origin.data(),
                         box.region.data(), s.waits.count, s.waits.list(), s.event_place);
  finish_step(w, "clEnqueueFillImage", s, false, code);
}

void copy(World& w) {
  Setting s;
  if (!choose(w, s)) return;
  const ObjectRef to = w.any_of(Kind::kImage, s.on.queue->context);
  if (to == s.image) return;  // whether the boxes overlap is another test's matter
  const Box from_box = any_box(w, *s.image);
  const Box to_box = any_box(w, *to);
  Triple region{};
  bool wrong = false;
  for (size_t d = 0; d < 3; ++d) {
    region[d] = std::min(from_box.region[d], to_box.region[d]);
    const auto outside = [&](const Object& image, size_t origin) {
      return region[d] == 0 || origin > image.extent[d] || region[d] > image.extent[d] - origin;
    };
    wrong = wrong || outside(*s.image, from_box.origin[d]) || outside(*to, to_box.origin[d]);
  }
  s.expected.error_if(wrong, CL_INVALID_VALUE);
  const cl_int code = clEnqueueCopyImage(
      s.on.handle, s.handle, to->as<cl_mem>(), from_box.origin.data(), to_box.origin.data(),
      region.data(), s.waits.count, s.waits.list(), s.event_place);
  finish_step(w, "clEnqueueCopyImage", s, false, code);
}

void copy_with_buffer(World& w) {
  Setting s;
  if (!choose(w, s)) return;
  const ObjectRef buffer = w.any_of(Kind::kMemory, s.on.queue->context);
  if (!buffer) return;
  const Box box = any_box(w, *s.image);
  const size_t offset = w.random.one_in(30) ? w.random.odd_size() : w.random.below(64);
  s.expected.error_if(box.wrong, CL_INVALID_VALUE);
  if (!box.wrong) {
    const size_t bytes = box.region[0] * box.region[1] * box.region[2] * kPixel;
    s.expected.error_if(offset > buffer->size || bytes > buffer->size - offset, CL_INVALID_VALUE);
  }
  const bool to_buffer = w.random.one_in(2);
  const cl_int code =
      to_buffer ? clEnqueueCopyImageToBuffer(s.on.handle, s.handle, buffer->as<cl_mem>(),
                                             box.origin.data(), box.region.data(), offset,
                                             s.waits.count, s.waits.list(), s.event_place)
                : clEnqueueCopyBufferToImage(s.on.handle, buffer->as<cl_mem>(), s.handle, offset,
                                             box.origin.data(), box.region.data(), s.waits.count,
                                             s.waits.list(), s.event_place);
  finish_step(w, to_buffer ? "clEnqueueCopyImageToBuffer" : "clEnqueueCopyBufferToImage", s, false,
              code);
}

void map_and_unmap(World& w) {
  Setting s;
  if (!choose(w, s) || !s.expected.success()) return;
  const Box box = any_box(w, *s.image);
  if (box.wrong) return;
  const bool failing = s.waits.failure_unknown || w.failed(s.waits.fails_with);
  if (failing) return;
  w.make_way(s.on.queue, s.waits, true);
  size_t row = 0, slice = 0;
  cl_int code = 1;
  void* const pointer =
      clEnqueueMapImage(s.on.handle, s.handle, CL_TRUE, CL_MAP_READ, box.origin.data(),
                        box.region.data(), &row, &slice, 0, nullptr, nullptr, &code);
  w.check("clEnqueueMapImage", {}, code);
  if (pointer == nullptr) return;
  w.check("clEnqueueUnmapMemObject", {},
          clEnqueueUnmapMemObject(s.on.handle, s.handle, pointer, 0, nullptr, nullptr));
}

}  // namespace

Steps image_steps() {
  return {
      {"create image", 4, create_image}, {"create sampler", 1, create_sampler},
      {"image transfer", 6, transfer},   {"image fill", 2, fill},
      {"image copy", 3, copy},           {"image and buffer", 3, copy_with_buffer},
      {"map image", 2, map_and_unmap},
  };
}

}  // namespace tutti::api_fuzz
