// SPDX-License-Identifier: Apache-2.0
#include "world.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "scenario_kernels.h"

namespace tutti::faults {
namespace {

constexpr size_t kGroup = 64;

void require(const char* what, cl_int code) {
  if (code != CL_SUCCESS) throw CannotGoOn(std::string(what) + ": " + std::to_string(code));
}

}  // namespace

Numbers noise(size_t count, cl_uint seed) {
  Numbers made(count);
  cl_uint state = seed * 2654435761U + 12345;
  for (cl_uint& value : made) {
    state = state * 1664525U + 1013904223U;
    value = state >> 8;
  }
  return made;
}

World::World(bool hold_events) : hold_events_(hold_events) {
  cl_platform_id platform = nullptr;
  require("clGetPlatformIDs", clGetPlatformIDs(1, &platform, nullptr));
  require("clGetDeviceIDs", clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device_, nullptr));
  cl_int code = CL_SUCCESS;
  context_ = clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &code);
  require("clCreateContext", code);
  queue_ = make_queue();
  const char* source = kKernels;
  program_ = clCreateProgramWithSource(context_, 1, &source, nullptr, &code);
  require("clCreateProgramWithSource", code);
  require("clBuildProgram", clBuildProgram(program_, 1, &device_, "", nullptr, nullptr));
}

World::~World() {
  for (cl_event* event : events_) {
    if (*event != nullptr) clReleaseEvent(*event);
    delete event;
  }
  while (!memory_.empty()) {
    clReleaseMemObject(memory_.back());  // sub-buffers before what they are parts of
    memory_.pop_back();
  }
  for (cl_kernel kernel : kernels_) clReleaseKernel(kernel);
  if (program_ != nullptr) clReleaseProgram(program_);
  for (cl_command_queue queue : queues_) clReleaseCommandQueue(queue);
  if (context_ != nullptr) clReleaseContext(context_);
}

cl_command_queue World::make_queue(cl_command_queue_properties properties) {
  cl_int code = CL_SUCCESS;
  const cl_command_queue made = clCreateCommandQueue(context_, device_, properties, &code);
  require("clCreateCommandQueue", code);
  queues_.push_back(made);
  return made;
}

cl_mem World::buffer(size_t bytes, cl_mem_flags flags, void* host) {
  cl_int code = CL_SUCCESS;
  const cl_mem made = clCreateBuffer(context_, flags, bytes, host, &code);
  require("clCreateBuffer", code);
  memory_.push_back(made);
  return made;
}

cl_mem World::buffer_of(const Numbers& content, cl_mem_flags flags) {
  return buffer(content.size() * sizeof(cl_uint), flags | CL_MEM_COPY_HOST_PTR,
                const_cast<cl_uint*>(content.data()));
}

cl_mem World::sub_buffer(cl_mem parent, size_t origin, size_t bytes) {
  const cl_buffer_region region{origin, bytes};
  cl_int code = CL_SUCCESS;
  const cl_mem made =
      clCreateSubBuffer(parent, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
  require("clCreateSubBuffer", code);
  memory_.push_back(made);
  return made;
}

cl_mem World::image(size_t width, size_t height) {
  const cl_image_format format{CL_R, CL_UNSIGNED_INT32};
  cl_image_desc description{};
  description.image_type = CL_MEM_OBJECT_IMAGE2D;
  description.image_width = width;
  description.image_height = height;
  cl_int code = CL_SUCCESS;
  const cl_mem made =
      clCreateImage(context_, CL_MEM_READ_WRITE, &format, &description, nullptr, &code);
  require("clCreateImage", code);
  memory_.push_back(made);
  return made;
}

cl_kernel World::kernel(const char* name) {
  cl_int code = CL_SUCCESS;
  const cl_kernel made = clCreateKernel(program_, name, &code);
  require("clCreateKernel", code);
  kernels_.push_back(made);
  return made;
}

Numbers& World::kept(Numbers numbers) { return *new Numbers(std::move(numbers)); }

void World::call(const char* what, cl_int code) {
  if (code == CL_SUCCESS) return;
  told_ = true;
  if (first_error_.empty()) first_error_ = std::string(what) + ": " + std::to_string(code);
}

void World::set(cl_kernel kernel, cl_uint index, cl_mem memory) {
  call("clSetKernelArg", clSetKernelArg(kernel, index, sizeof memory, &memory));
}
void World::set(cl_kernel kernel, cl_uint index, cl_uint value) {
  call("clSetKernelArg", clSetKernelArg(kernel, index, sizeof value, &value));
}

void World::launch(cl_command_queue queue, cl_kernel kernel, size_t items) {
  const size_t local = kGroup;
  call("clEnqueueNDRangeKernel",
       clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, &local, 0, nullptr, hold()));
}

cl_event* World::hold() { return hold_events_ ? event() : nullptr; }

cl_event* World::event() {
  events_.push_back(new cl_event(nullptr));
  return events_.back();
}

void World::wait(const std::vector<cl_event>& events) {
  std::vector<cl_event> made;
  for (cl_event event : events) {
    if (event != nullptr) made.push_back(event);  // else its call has failed, which was told
  }
  if (made.empty()) return;
  call("clWaitForEvents", clWaitForEvents(static_cast<cl_uint>(made.size()), made.data()));
}

void World::finish(cl_command_queue queue) { call("clFinish", clFinish(queue)); }

void World::look_at_events() {
  for (cl_event* event : events_) {
    if (*event == nullptr) continue;
    cl_int status = CL_QUEUED;
    call("clGetEventInfo", clGetEventInfo(*event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status,
                                          &status, nullptr));
    if (status < 0) call("event", status);
  }
}

void World::read(cl_command_queue queue, cl_mem memory, const Numbers& expected, size_t first) {
  Numbers seen(expected.size(), 0xdeadbeef);
  const cl_int code =
      clEnqueueReadBuffer(queue, memory, CL_TRUE, first * sizeof(cl_uint),
                          seen.size() * sizeof(cl_uint), seen.data(), 0, nullptr, hold());
  delivered("clEnqueueReadBuffer", code, seen == expected);
}

void World::delivered(const char* what, cl_int code, bool right) {
  call(what, code);
  look_at_events();
  if (right && code == CL_SUCCESS) return;
  if (first_wrong_.empty()) first_wrong_ = what;
  (told_ ? wrong_told_ : wrong_untold_) = true;
}

void World::begin_anew() {
  look_at_events();
  for (cl_event* event : events_) {
    if (*event != nullptr) clReleaseEvent(*event);
    *event = nullptr;
  }
  told_ = false;
}

std::string World::verdict() {
  for (cl_command_queue queue : queues_) finish(queue);
  look_at_events();
  if (wrong_untold_) return told_ ? "late" : "untold";
  return wrong_told_ ? "told" : "right";
}

}  // namespace tutti::faults
