// SPDX-License-Identifier: Apache-2.0
#include "device.h"

#include <algorithm>

#include "scheduler/access/hidden_argument.h"
#include "shared_roots.h"

namespace tutti::kernel_fuzz {
namespace {

void check(cl_int error, const char* call) {
  if (error != CL_SUCCESS) throw ClError(call, error);
}

std::string device_text(cl_device_id device, cl_device_info what) {
  size_t size = 0;
  check(clGetDeviceInfo(device, what, 0, nullptr, &size), "clGetDeviceInfo");
  std::string text(size, '\0');
  check(clGetDeviceInfo(device, what, size, text.data(), nullptr), "clGetDeviceInfo");
  return text.c_str();
}

using Memory = std::shared_ptr<std::remove_pointer_t<cl_mem>>;
using Kernel = std::shared_ptr<std::remove_pointer_t<cl_kernel>>;
using Event = std::shared_ptr<std::remove_pointer_t<cl_event>>;

}  // namespace

std::unique_ptr<Device> Device::find(const std::string& platform, bool watched) {
  cl_uint count = 0;
  if (clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS) return nullptr;
  std::vector<cl_platform_id> platforms(count);
  clGetPlatformIDs(count, platforms.data(), nullptr);
  for (cl_platform_id id : platforms) {
    char name[256] = "";
    clGetPlatformInfo(id, CL_PLATFORM_NAME, sizeof name, name, nullptr);
    cl_device_id device = nullptr;
    if (std::string(name).find(platform) == std::string::npos ||
        clGetDeviceIDs(id, CL_DEVICE_TYPE_ALL, 1, &device, nullptr) != CL_SUCCESS) {
      continue;
    }
    std::unique_ptr<Device> result(new Device);
    cl_int error = CL_SUCCESS;
    result->id_ = device;
    result->watched_ = watched;
    result->name_ = device_text(device, CL_DEVICE_NAME);
    result->extensions_ = device_text(device, CL_DEVICE_EXTENSIONS) + ' ';
    result->ask_for_features();
    size_t most = 1;
    check(clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof most, &most, nullptr),
          "clGetDeviceInfo");
    result->max_work_group_ = most;
    result->context_ = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &error);
    check(error, "clCreateContext");
    result->queue_ = clCreateCommandQueue(result->context_, device, 0, &error);
    check(error, "clCreateCommandQueue");
    return result;
  }
  return nullptr;
}

Device::~Device() {
  if (queue_ != nullptr) clReleaseCommandQueue(queue_);
  if (context_ != nullptr) clReleaseContext(context_);
}

void Device::ask_for_features() {
  const auto list = [&](cl_device_info what) {
    size_t size = 0;
    std::vector<cl_name_version> entries;
    // Before OpenCL 3.0 there is no such question.
    if (clGetDeviceInfo(id_, what, 0, nullptr, &size) != CL_SUCCESS) return entries;
    entries.resize(size / sizeof(cl_name_version));
    clGetDeviceInfo(id_, what, size, entries.data(), nullptr);
    return entries;
  };
  for (const auto& entry : list(CL_DEVICE_OPENCL_C_FEATURES)) features_.insert(entry.name);
  for (const auto& entry : list(CL_DEVICE_OPENCL_C_ALL_VERSIONS)) {
    language_ = std::max(
        language_, CL_VERSION_MAJOR(entry.version) * 100 + CL_VERSION_MINOR(entry.version) * 10);
  }
  cl_device_svm_capabilities shared = 0;
  cl_uint bits = 0;
  clGetDeviceInfo(id_, CL_DEVICE_SVM_CAPABILITIES, sizeof shared, &shared, nullptr);
  clGetDeviceInfo(id_, CL_DEVICE_ADDRESS_BITS, sizeof bits, &bits, nullptr);
  shared_memory_ = (shared & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) != 0 && bits == 64;
}

bool Device::has(const std::string& extension) const {
  return extensions_.find(extension + ' ') != std::string::npos;
}

bool Device::atomics64() const {
  return has("cl_khr_int64_base_atomics") && has("cl_khr_int64_extended_atomics");
}

Program Device::build(const std::string& source, const std::string& options) {
  const char* text = source.c_str();
  cl_int error = CL_SUCCESS;
  cl_program made = clCreateProgramWithSource(context_, 1, &text, nullptr, &error);
  check(error, "clCreateProgramWithSource");
  Program program(made, clReleaseProgram);
  error = clBuildProgram(made, 1, &id_, options.c_str(), nullptr, nullptr);
  if (error != CL_SUCCESS) {
    size_t size = 0;
    clGetProgramBuildInfo(made, id_, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
    std::string log(size, '\0');
    clGetProgramBuildInfo(made, id_, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
    throw ClError(("clBuildProgram on " + name_ + ": " + log.substr(0, 3000)).c_str(), error);
  }
  return program;
}

std::vector<Bytes> Device::launch(const Program& program, uint64_t number, const KernelCase& kernel,
                                  const std::vector<Bytes>& initial, const Recording* recording,
                                  const Pieces* pieces, bool leave_unwritten) {
  cl_int error = CL_SUCCESS;
  const Kernel handle(clCreateKernel(program.get(), ("k" + std::to_string(number)).c_str(), &error),
                      [](cl_kernel k) {
                        if (k != nullptr) clReleaseKernel(k);
                      });
  check(error, "clCreateKernel");
  std::vector<Bytes> contents = initial;
  SharedRoots shared(context_, queue_, kernel);  // outlives the buffers over it
  std::vector<Memory> memory;
  const auto buffer = [&](Bytes& data, bool written = true) {
    const cl_mem_flags flags = CL_MEM_READ_WRITE | (written ? CL_MEM_COPY_HOST_PTR : 0);
    const Memory made(
        clCreateBuffer(context_, flags, data.size(), written ? data.data() : nullptr, &error),
        [](cl_mem m) {
          if (m != nullptr) clReleaseMemObject(m);
        });
    check(error, "clCreateBuffer");
    memory.push_back(made);
    return made.get();
  };
  for (size_t i = 0; i < contents.size(); ++i) {
    const bool written = !(leave_unwritten && kernel.roots[i].unwritten);
    if (!kernel.roots[i].shared()) {
      buffer(contents[i], written);
      continue;
    }
    if (written) shared.write(i, contents[i]);
    memory.push_back(kernel.roots[i].kind == Root::Kind::kSharedBoth
                         ? Memory(shared.buffer_over(i), clReleaseMemObject)
                         : nullptr);
  }
  shared.name_all(handle.get());
  cl_uint index = 0;
  const auto set = [&](size_t size, const void* value) {
    check(clSetKernelArg(handle.get(), index++, size, value), "clSetKernelArg");
  };
  for (const CaseArgument& argument : kernel.arguments) {
    if (argument.kind == CaseArgument::Kind::kScalar) {
      set(argument.scalar.size(), argument.scalar.data());
    } else if (argument.kind == CaseArgument::Kind::kLocal) {
      set(argument.size, nullptr);
    } else {
      const Root& root = kernel.roots[argument.root];
      if (root.kind == Root::Kind::kShared ||
          (root.kind == Root::Kind::kSharedBoth && index % 2 == 0)) {
        shared.set_argument(handle.get(), index++, argument.root, argument.origin);
        continue;
      }
      cl_mem object = memory[argument.root].get();
      if (argument.origin != 0 || argument.size != kernel.roots[argument.root].size) {
        const cl_buffer_region region = {argument.origin, argument.size};
        object = clCreateSubBuffer(object, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region,
                                   &error);
        check(error, "clCreateSubBuffer");
        memory.emplace_back(object, clReleaseMemObject);
      }
      set(sizeof object, &object);
    }
  }
  std::array<size_t, 3> offset{}, global{}, local{};
  for (size_t d = 0; d < 3; ++d) {
    offset[d] = kernel.offset[d];
    global[d] = kernel.global[d];
    local[d] =
        recording != nullptr && !kernel.local_given() ? recording->local[d] : kernel.local[d];
  }
  Bytes shadow;
  cl_mem shadow_memory = nullptr;
  if (recording != nullptr) {
    size_t total = 0;
    for (const Root& root : kernel.roots) total += root.size;
    shadow.resize(3 * total + 1);
    shadow_memory = buffer(shadow);
    set(sizeof shadow_memory, &shadow_memory);
    for (uint32_t i = 0; i < kMaxRoots; ++i) {
      if (i < kernel.roots.size() && kernel.roots[i].shared()) {
        shared.set_argument(handle.get(), index++, i, 0);
        continue;
      }
      cl_mem root = i < kernel.roots.size() ? memory[i].get() : shadow_memory;
      set(sizeof root, &root);
    }
    const cl_uint dimension = recording->dimension;
    const cl_ulong first = recording->first, end = recording->end;
    set(sizeof dimension, &dimension);
    set(sizeof first, &first);
    set(sizeof end, &end);
  }
  std::vector<Event> launches;
  const auto enqueue = [&] {
    cl_event event = nullptr;
    check(clEnqueueNDRangeKernel(queue_, handle.get(), kernel.dims, offset.data(), global.data(),
                                 local[0] != 0 ? local.data() : nullptr, 0, nullptr,
                                 watched_ ? &event : nullptr),
          "clEnqueueNDRangeKernel");
    if (event != nullptr) launches.emplace_back(event, clReleaseEvent);
  };
  if (pieces != nullptr) {
    scheduler::HiddenArgument hidden;
    hidden.set_dimensions(kernel.dims);
    for (uint32_t d = 0; d < 3; ++d) {
      local[d] = pieces->local[d];
      hidden.set_launch(d, global[d] / local[d], global[d], offset[d]);
    }
    const uint32_t d = pieces->dimension;
    for (uint32_t i = 0; i < kernel.repeat; ++i) {
      for (const auto& [first, count] : pieces->ranges) {
        hidden.set_first_group(d, first);
        if (pieces->rewritten) {
          check(clSetKernelArg(handle.get(), index, hidden.kBytes, hidden.bytes().data()),
                "clSetKernelArg");
        }
        offset[d] = kernel.offset[d] + first * local[d];
        global[d] = count * local[d];
        enqueue();
      }
    }
  } else {
    for (uint32_t i = 0; i < (recording != nullptr ? 1 : kernel.repeat); ++i) enqueue();
  }
  if (watched_) check(clFinish(queue_), "clFinish");
  for (const Event& launched : launches) {
    cl_int status = CL_COMPLETE;
    check(clGetEventInfo(launched.get(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                         nullptr),
          "clGetEventInfo");
    if (status < 0) throw LaunchFailed(status);
  }
  const auto read = [&](cl_mem object, Bytes& data) {
    check(clEnqueueReadBuffer(queue_, object, CL_TRUE, 0, data.size(), data.data(), 0, nullptr,
                              nullptr),
          "clEnqueueReadBuffer");
  };
  if (recording != nullptr) {
    read(shadow_memory, shadow);
    return {shadow};
  }
  for (size_t i = 0; i < contents.size(); ++i) {
    if (kernel.roots[i].shared()) {
      shared.read(i, contents[i]);
    } else {
      read(memory[i].get(), contents[i]);
    }
  }
  return contents;
}

std::vector<Bytes> Device::run(const Program& program, uint64_t number, const KernelCase& kernel,
                               const std::vector<Bytes>* initial) {
  return launch(program, number, kernel, initial != nullptr ? *initial : kernel.contents(), nullptr,
                nullptr);
}

std::vector<Bytes> Device::run_unwritten(const Program& program, uint64_t number,
                                         const KernelCase& kernel) {
  return launch(program, number, kernel, kernel.contents(), nullptr, nullptr, true);
}

std::vector<Bytes> Device::run_pieces(const Program& program, uint64_t number,
                                      const KernelCase& kernel, const Pieces& pieces) {
  return launch(program, number, kernel, kernel.contents(), nullptr, &pieces);
}

Touched Device::record(const Program& program, uint64_t number, const KernelCase& kernel,
                       const Recording& recording) {
  const Bytes shadow =
      launch(program, number, kernel, kernel.contents(), &recording, nullptr).front();
  Touched touched;
  auto at = shadow.begin();
  for (const Root& root : kernel.roots) {
    for (auto* plane : {&touched.read, &touched.stored, &touched.atomic}) {
      const auto end = at + static_cast<ptrdiff_t>(root.size);
      plane->emplace_back(at, end);
      at = end;
    }
  }
  return touched;
}

}  // namespace tutti::kernel_fuzz
