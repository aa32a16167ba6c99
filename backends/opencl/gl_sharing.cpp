// SPDX-License-Identifier: Apache-2.0
// A vendor context that shares objects with an OpenGL context cannot be had of one that is there
// already: the device gets one more, as a backend of its own.
#include "backends/opencl/gl_sharing.h"

#include <CL/cl_gl.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/opencl/opencl_backend.h"

namespace tutti::backends {
namespace {

constexpr cl_uint kTexture3D = 0x806F;  // GL_TEXTURE_3D

template <typename T>
T image_answer(const VendorFunctions& cl, cl_mem image, cl_image_info what, cl_int& code) {
  T value{};
  const cl_int answered = cl.clGetImageInfo(image, what, sizeof value, &value, nullptr);
  if (answered != CL_SUCCESS) code = answered;
  return value;
}

/// As the vendor tells it, and as it lies in the host's copy.
ImageShape shape_of(const VendorFunctions& cl, cl_mem image, cl_mem_object_type type,
                    cl_mem_flags access, cl_int& code) {
  const auto size = [&](cl_image_info what) {
    return std::max<size_t>(image_answer<size_t>(cl, image, what, code), 1);
  };
  ImageShape shape;
  shape.type = type;
  shape.access = access;
  shape.format = image_answer<cl_image_format>(cl, image, CL_IMAGE_FORMAT, code);
  shape.pixel_size = size(CL_IMAGE_ELEMENT_SIZE);
  shape.extent[0] = size(CL_IMAGE_WIDTH);
  shape.row_pitch = shape.pixel_size * shape.extent[0];
  switch (type) {
    case CL_MEM_OBJECT_IMAGE1D_ARRAY:
      shape.extent[1] = size(CL_IMAGE_ARRAY_SIZE);
      shape.slice_pitch = shape.row_pitch;
      break;
    case CL_MEM_OBJECT_IMAGE2D:
      shape.extent[1] = size(CL_IMAGE_HEIGHT);
      break;
    case CL_MEM_OBJECT_IMAGE2D_ARRAY:
    case CL_MEM_OBJECT_IMAGE3D:
      shape.extent[1] = size(CL_IMAGE_HEIGHT);
      shape.extent[2] = size(type == CL_MEM_OBJECT_IMAGE3D ? CL_IMAGE_DEPTH : CL_IMAGE_ARRAY_SIZE);
      shape.slice_pitch = shape.row_pitch * shape.extent[1];
      break;
    default:
      break;
  }
  return shape;
}

struct Named {
  cl_mem memory = nullptr;
  const char* call = nullptr;
};
Named create(const VendorFunctions& cl, cl_context context, const ExternalRequest& request,
             cl_int& code) {
  const GlObject& object = *request.gl;
  const cl_mem_flags flags = request.flags;
  switch (object.kind) {
    case GlObject::Kind::kBuffer:
      return {cl.clCreateFromGLBuffer(context, flags, object.name, &code), "clCreateFromGLBuffer"};
    case GlObject::Kind::kRenderbuffer:
      return {cl.clCreateFromGLRenderbuffer(context, flags, object.name, &code),
              "clCreateFromGLRenderbuffer"};
    case GlObject::Kind::kTexture:
      break;
  }
  if (cl.clCreateFromGLTexture) {
    return {
        cl.clCreateFromGLTexture(context, flags, object.target, object.level, object.name, &code),
        "clCreateFromGLTexture"};
  }
  const auto older =
      object.target == kTexture3D ? cl.clCreateFromGLTexture3D : cl.clCreateFromGLTexture2D;
  return {older(context, flags, object.target, object.level, object.name, &code),
          "clCreateFromGLTexture2D or 3D"};
}

}  // namespace

bool has_gl_sharing(const VendorFunctions& cl) {
  return cl.clGetMemObjectInfo && cl.clGetImageInfo && cl.clCreateFromGLBuffer &&
         cl.clCreateFromGLRenderbuffer &&
         (cl.clCreateFromGLTexture || (cl.clCreateFromGLTexture2D && cl.clCreateFromGLTexture3D)) &&
         cl.clEnqueueAcquireGLObjects && cl.clEnqueueReleaseGLObjects && cl.clGetGLContextInfoKHR;
}

OpenClBackend::OpenClBackend(const OpenClBackend& whole, ContextProperties properties,
                             uint32_t number)
    : device_(whole.device_),
      traits_(whole.traits_),
      number_(number),
      builder_(device_, traits_),
      shares_gl_(true),
      properties_(std::move(properties)) {
  device_.renewals = std::make_shared<std::atomic<uint32_t>>(0);
}

ContextProperties OpenClBackend::with_platform(const ContextProperties& properties) const {
  ContextProperties all{CL_CONTEXT_PLATFORM,
                        reinterpret_cast<cl_context_properties>(device_.platform)};
  all.insert(all.end(), properties.begin(), properties.end());
  all.push_back(0);
  return all;
}

Result<std::unique_ptr<Backend>> OpenClBackend::in_context(const ContextProperties& properties,
                                                           uint32_t number) {
  if (!traits_.gl_sharing) return Backend::in_context(properties, number);
  auto made = std::make_unique<OpenClBackend>(*this, properties, number);
  TUTTI_TRY(made->context().map([](const auto&) {}));
  return made;
}

Status OpenClBackend::change_context(const ContextProperties& properties) {
  if (!shares_gl_) return Backend::change_context(properties);
  // Let go of last, with no lock held.
  ContextPtr before;
  std::shared_ptr<OpenClQueue> hand_over_queue;
  std::shared_ptr<OpenClDeviceQueue> default_queue;
  {
    const MutexLock lock(hand_over_mutex_);
    hand_over_queue = std::exchange(hand_over_queue_, nullptr);
  }
  {
    const MutexLock lock(default_queue_mutex_);
    default_queue = std::exchange(default_queue_, nullptr);
  }
  const MutexLock lock(mutex_);
  before = std::exchange(context_, nullptr);
  const uint32_t generation = device_.generation() + 1;
  device_.renewals->store(generation, std::memory_order_release);
  properties_ = properties;
  if (properties.empty()) return {};
  auto made = make_context(generation);
  if (!made) {
    properties_.clear();
    return tl::unexpected<Error>(std::move(made).error());
  }
  context_ = std::move(*made);
  return {};
}

Result<bool> OpenClBackend::is_of_gl_context(const ContextProperties& properties, bool current) {
  if (!traits_.gl_sharing) return Backend::is_of_gl_context(properties, current);
  if (vendors_gone()) return device_.gone("clGetGLContextInfoKHR");
  const ContextProperties all = with_platform(properties);
  const cl_gl_context_info what =
      current ? CL_CURRENT_DEVICE_FOR_GL_CONTEXT_KHR : CL_DEVICES_FOR_GL_CONTEXT_KHR;
  const auto bytes =
      query_bytes("clGetGLContextInfoKHR", [&](size_t size, void* value, size_t* size_ret) {
        return device_.cl->clGetGLContextInfoKHR(all.data(), what, size, value, size_ret);
      });
  if (!bytes) return device_.failure("clGetGLContextInfoKHR", bytes.error().code);
  std::vector<cl_device_id> devices(bytes->size() / sizeof(cl_device_id));
  if (!devices.empty()) {
    std::memcpy(devices.data(), bytes->data(), devices.size() * sizeof devices[0]);
  }
  return std::find(devices.begin(), devices.end(), device_.device) != devices.end();
}

Result<ExternalMemory> OpenClBackend::import_gl(const ExternalRequest& request) {
  if (!shares_gl_) return Backend::import_memory(request);
  const VendorFunctions& cl = *device_.cl;
  TUTTI_ASSIGN(const ContextPtr made, context());
  cl_int code = CL_SUCCESS;
  auto turn = device_.turn();
  const Named named = create(cl, made->get(), request, code);
  OwnedMemory memory(named.memory, cl.clReleaseMemObject);
  if (code != CL_SUCCESS || !memory.get()) {
    return device_.failure(named.call, code ? code : CL_OUT_OF_RESOURCES);
  }
  turn.unlock();
  OpenClMemory::Shape shape;
  size_t size = 0;
  code = cl.clGetMemObjectInfo(memory.get(), CL_MEM_TYPE, sizeof shape.type, &shape.type, nullptr);
  if (code == CL_SUCCESS) {
    code = cl.clGetMemObjectInfo(memory.get(), CL_MEM_SIZE, sizeof size, &size, nullptr);
  }
  if (code != CL_SUCCESS) return device_.failure("clGetMemObjectInfo", code);
  shape.size = size;
  std::optional<ImageShape> image;
  if (shape.type != CL_MEM_OBJECT_BUFFER) {
    image = shape_of(cl, memory.get(), shape.type, request.flags, code);
    if (code != CL_SUCCESS) return device_.failure("clGetImageInfo", code);
    shape.size = image->span();
    shape.pixel_size = image->pixel_size;
  }
  return ExternalMemory{
      std::make_unique<OpenClMemory>(
          device_, OpenClMemory::Made{std::move(memory), made->generation}, shape, nullptr),
      shape.size, image};
}

}  // namespace tutti::backends
