// SPDX-License-Identifier: Apache-2.0
// An ordinary OpenCL program: it knows nothing of the driver. Its kernels touch the first byte of a
// buffer alone, if there is one (README.md says why).
#include <CL/cl.h>

#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "world.h"

namespace tutti::damage {
namespace {

constexpr char kSource[] = R"(
kernel void touch(global uchar* data, uint step, local uchar* scratch) {
  if (get_global_id(0) != 0 || get_global_id(1) != 0 || data == 0 || scratch == 0) return;
  scratch[0] = data[0];
  data[0] = (uchar)(scratch[0] + step);
}
kernel void shade(write_only image2d_t picture, sampler_t unused, uint4 colour) {
  if (get_global_id(0) == 0) write_imageui(picture, (int2)(0, 0), colour);
}
)";
constexpr char kLibrarySource[] = "uchar twice(uchar x) { return 2 * x; }\n";
constexpr char kUserSource[] = R"(
#include "declared.h"
kernel void doubled(global uchar* data) {
  if (get_global_id(0) == 0 && data != 0) data[0] = twice(data[0]);
}
)";
constexpr size_t kBytes = 4096;

void check(cl_int code, const char* what) {
  if (code == CL_SUCCESS) return;
  throw std::runtime_error(std::string(what) + ": " + std::to_string(code));
}
void expect(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(std::string("wrong: ") + what);
}

struct Client {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  cl_context context = nullptr;
  cl_command_queue ordered = nullptr, free = nullptr;
  cl_program program = nullptr;
  cl_kernel touch = nullptr, shade = nullptr;
  cl_mem buffer = nullptr, other = nullptr;
  cl_int code = CL_SUCCESS;
  std::vector<cl_uchar> data = std::vector<cl_uchar>(kBytes, 7);

  void begin() {
    check(clGetPlatformIDs(1, &platform, nullptr), "platforms");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr), "devices");
    char name[256] = "";
    clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name, name, nullptr);
    const cl_context_properties properties[] = {
        CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(platform), 0};
    context = clCreateContext(properties, 1, &device, nullptr, nullptr, &code);
    check(code, "context");
    ordered = clCreateCommandQueue(context, device, 0, &code);
    check(code, "queue");
    const cl_queue_properties list[] = {
        CL_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE, 0};
    free = clCreateCommandQueueWithProperties(context, device, list, &code);
    check(code, "second queue");
    const char* source = kSource;
    program = clCreateProgramWithSource(context, 1, &source, nullptr, &code);
    check(code, "program");
    check(clBuildProgram(program, 1, &device, "-cl-std=CL1.2", nullptr, nullptr), "build");
    touch = clCreateKernel(program, "touch", &code);
    check(code, "kernel");
    shade = clCreateKernel(program, "shade", &code);
    check(code, "second kernel");
  }

  void transfers() {
    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, kBytes, data.data(),
                            &code);
    check(code, "buffer");
    other = clCreateBuffer(context, CL_MEM_READ_WRITE, kBytes, nullptr, &code);
    check(code, "second buffer");
    const cl_buffer_region region{1024, 1024};
    cl_mem part =
        clCreateSubBuffer(buffer, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    check(code, "sub-buffer");
    const cl_uint pattern = 0x01020304;
    check(clEnqueueFillBuffer(ordered, other, &pattern, sizeof pattern, 0, kBytes, 0, nullptr,
                              nullptr),
          "fill");
    check(clEnqueueWriteBuffer(ordered, part, CL_TRUE, 0, 1000, data.data(), 0, nullptr, nullptr),
          "write");
    const size_t origin[3] = {4, 2, 0}, rows[3] = {16, 4, 2};
    check(clEnqueueWriteBufferRect(ordered, other, CL_FALSE, origin, origin, rows, 64, 1024, 32,
                                   256, data.data(), 0, nullptr, nullptr),
          "rectangle");
    check(clEnqueueCopyBuffer(ordered, buffer, other, 0, 2048, 512, 0, nullptr, nullptr), "copy");
    std::vector<cl_uchar> back(kBytes);
    check(clEnqueueReadBufferRect(ordered, other, CL_TRUE, origin, origin, rows, 64, 1024, 32, 256,
                                  back.data(), 0, nullptr, nullptr),
          "read of a rectangle");
    check(
        clEnqueueReadBuffer(ordered, buffer, CL_TRUE, 0, kBytes, back.data(), 0, nullptr, nullptr),
        "read");
    expect(back == data, "what was written");
    void* const mapped = clEnqueueMapBuffer(ordered, buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                            256, 0, nullptr, nullptr, &code);
    check(code, "map");
    std::memset(mapped, 7, 256);
    check(clEnqueueUnmapMemObject(ordered, buffer, mapped, 0, nullptr, nullptr), "unmap");
    check(clReleaseMemObject(part), "release");
  }

  void launches() {
    const cl_uint step = 1;
    const size_t global[2] = {64, 2}, local[2] = {16, 1}, offset[2] = {0, 0};
    check(clSetKernelArg(touch, 0, sizeof buffer, &buffer), "argument");
    check(clSetKernelArg(touch, 1, sizeof step, &step), "argument");
    check(clSetKernelArg(touch, 2, 64, nullptr), "argument");
    // Each waits for a user event, through others too, in both kinds of queue.
    cl_event gate = clCreateUserEvent(context, &code), first = nullptr, second = nullptr,
             third = nullptr;
    check(code, "user event");
    check(clEnqueueNDRangeKernel(free, touch, 2, offset, global, local, 1, &gate, &first),
          "launch");
    check(clEnqueueNDRangeKernel(free, touch, 1, nullptr, global, nullptr, 1, &first, &second),
          "second launch");
    check(clEnqueueBarrierWithWaitList(free, 0, nullptr, nullptr), "barrier");
    check(clEnqueueMarkerWithWaitList(ordered, 1, &second, &third), "marker");
    check(clEnqueueNDRangeKernel(ordered, touch, 1, nullptr, global, nullptr, 0, nullptr, nullptr),
          "third launch");
    check(clFlush(free), "flush");
    check(clFlush(ordered), "flush");
    check(clSetUserEventStatus(gate, CL_COMPLETE), "status");
    check(clWaitForEvents(1, &third), "wait");
    check(clFinish(ordered), "finish");
    check(clFinish(free), "finish");
    cl_uchar found = 0;
    check(clEnqueueReadBuffer(ordered, buffer, CL_FALSE, 0, 1, &found, 0, nullptr, nullptr),
          "read");
    check(clFinish(ordered), "finish");
    expect(found == 10, "what three launches made");
    for (cl_event event : {gate, first, second, third}) check(clReleaseEvent(event), "release");
  }

  void images() {
    cl_bool there = CL_FALSE;
    clGetDeviceInfo(device, CL_DEVICE_IMAGE_SUPPORT, sizeof there, &there, nullptr);
    if (there == CL_FALSE) return;
    const cl_image_format format{CL_RGBA, CL_UNSIGNED_INT8};
    cl_image_desc description{};
    description.image_type = CL_MEM_OBJECT_IMAGE2D;
    description.image_width = 16;
    description.image_height = 8;
    cl_mem image = clCreateImage(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, &format,
                                 &description, data.data(), &code);
    check(code, "image");
    cl_sampler sampler =
        clCreateSampler(context, CL_FALSE, CL_ADDRESS_CLAMP_TO_EDGE, CL_FILTER_NEAREST, &code);
    check(code, "sampler");
    const cl_uint4 colour = {{1, 2, 3, 4}};
    check(clSetKernelArg(shade, 0, sizeof image, &image), "argument");
    check(clSetKernelArg(shade, 1, sizeof sampler, &sampler), "argument");
    check(clSetKernelArg(shade, 2, sizeof colour, &colour), "argument");
    const size_t global = 32, origin[3] = {0, 0, 0}, region[3] = {8, 4, 1};
    check(clEnqueueNDRangeKernel(ordered, shade, 1, nullptr, &global, nullptr, 0, nullptr, nullptr),
          "launch");
    check(clEnqueueWriteImage(ordered, image, CL_TRUE, origin, region, 40, 0, data.data(), 0,
                              nullptr, nullptr),
          "write of an image");
    check(clEnqueueFillImage(ordered, image, &colour, origin, region, 0, nullptr, nullptr), "fill");
    std::vector<cl_uchar> back(kBytes);
    check(clEnqueueReadImage(ordered, image, CL_TRUE, origin, region, 0, 0, back.data(), 0, nullptr,
                             nullptr),
          "read of an image");
    expect(back[0] == 1 && back[3] == 4, "a colour");
    size_t row = 0;
    void* const mapped = clEnqueueMapImage(ordered, image, CL_TRUE, CL_MAP_READ, origin, region,
                                           &row, nullptr, 0, nullptr, nullptr, &code);
    check(code, "map of an image");
    check(clEnqueueUnmapMemObject(ordered, image, mapped, 0, nullptr, nullptr), "unmap");
    check(clEnqueueCopyImageToBuffer(ordered, image, other, origin, region, 0, 0, nullptr, nullptr),
          "copy");
    check(clFinish(ordered), "finish");
    check(clReleaseSampler(sampler), "release");
    check(clReleaseMemObject(image), "release");
  }

  void more_programs() {
    const char* sources[] = {kLibrarySource, kUserSource, "uchar twice(uchar x);\n"};
    cl_program parts[3] = {};
    for (int i = 0; i < 3; ++i) {
      parts[i] = clCreateProgramWithSource(context, 1, &sources[i], nullptr, &code);
      check(code, "program");
    }
    const char* header = "declared.h";
    check(clCompileProgram(parts[0], 1, &device, "", 0, nullptr, nullptr, nullptr, nullptr),
          "compile");
    check(clCompileProgram(parts[1], 1, &device, "", 1, &parts[2], &header, nullptr, nullptr),
          "compile");
    cl_program linked = clLinkProgram(context, 1, &device, "", 2, parts, nullptr, nullptr, &code);
    check(code, "link");
    size_t size = 0;
    check(clGetProgramInfo(linked, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr), "size");
    std::vector<unsigned char> binary(size);
    unsigned char* into = binary.data();
    check(clGetProgramInfo(linked, CL_PROGRAM_BINARIES, sizeof into, static_cast<void*>(&into),
                           nullptr),
          "binary");
    const unsigned char* from = binary.data();
    cl_program loaded =
        clCreateProgramWithBinary(context, 1, &device, &size, &from, nullptr, &code);
    check(code, "program from a binary");
    check(clBuildProgram(loaded, 0, nullptr, nullptr, nullptr, nullptr), "build");
    cl_kernel kernel = nullptr;
    check(clCreateKernelsInProgram(loaded, 1, &kernel, nullptr), "kernels");
    const size_t global = 16;
    check(clSetKernelArg(kernel, 0, sizeof other, &other), "argument");
    check(
        clEnqueueNDRangeKernel(ordered, kernel, 1, nullptr, &global, nullptr, 0, nullptr, nullptr),
        "launch");
    check(clFinish(ordered), "finish");
    check(clReleaseKernel(kernel), "release");
    for (cl_program each : {parts[0], parts[1], parts[2], linked, loaded}) {
      check(clReleaseProgram(each), "release");
    }
  }

  void end() {
    for (cl_kernel kernel : {touch, shade}) check(clReleaseKernel(kernel), "release");
    for (cl_mem memory : {buffer, other}) check(clReleaseMemObject(memory), "release");
    for (cl_command_queue queue : {ordered, free}) check(clReleaseCommandQueue(queue), "release");
    check(clReleaseProgram(program), "release");
    check(clReleaseContext(context), "release");
  }
};

}  // namespace

int run_client(bool programs) {
  try {
    Client client;
    client.begin();
    client.transfers();
    client.launches();
    client.images();
    if (programs) client.more_programs();
    client.end();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "client: %s\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace tutti::damage
