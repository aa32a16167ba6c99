// SPDX-License-Identifier: Apache-2.0
// See stub_vendor.h. One lock for script and counters; none for objects: tests use them properly.
#include "stub_vendor.h"
#include "stub_answers.h"
#include "stub_meeting.h"

#include <CL/cl_icd.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

struct Handle {
  cl_icd_dispatch* dispatch;
  std::atomic<int> references{1};
};
struct _cl_platform_id : Handle {};
struct _cl_device_id : Handle {};
struct _cl_context : Handle {};
struct _cl_command_queue : Handle {
  cl_command_queue_properties properties = 0;
  std::vector<std::function<void()>> waiting;  // native kernels of "native:wait"
};
struct _cl_mem : Handle {
  std::byte* data = nullptr;
  size_t size = 0;
  void* host = nullptr;  // of a USE_HOST_PTR buffer that is a copy
  std::vector<std::byte> own;
  cl_mem parent = nullptr;
};
struct _cl_program : Handle {
  std::string source, log;
};
struct _cl_kernel : Handle {
  std::string name;
  std::map<cl_uint, std::vector<std::byte>> arguments;
};
struct _cl_event : Handle {
  cl_command_queue queue = nullptr;
  cl_int status = CL_COMPLETE;
  cl_ulong time = 0;
};

// A named namespace: the functions have the names of OpenCL's own declarations.
namespace stub {

std::mutex mutex;
std::map<std::string, uint64_t> calls;
std::atomic<int64_t> live_objects{0};
std::atomic<cl_ulong> clock_ns{1000};
cl_icd_dispatch table{};
_cl_platform_id the_platform{};
_cl_device_id the_devices[8]{};

std::string& script() {
  static auto* text = new std::string([] {
    const char* value = getenv("TUTTI_TEST_STUB");
    return value ? value : "";
  }());
  return *text;
}

bool has(const std::string& word) {
  std::lock_guard lock(mutex);
  std::istringstream words(script());
  for (std::string each; words >> each;) {
    if (each == word) return true;
  }
  return false;
}
// The part after "PREFIX:" of the first such word.
std::string option(const std::string& prefix, const std::string& otherwise) {
  std::lock_guard lock(mutex);
  std::istringstream words(script());
  for (std::string each; words >> each;) {
    if (each.rfind(prefix + ":", 0) == 0) return each.substr(prefix.size() + 1);
  }
  return otherwise;
}

// Counts a call and does what the script says of it; a code other than CL_SUCCESS is to be
// returned.
cl_int enter(const char* function) {
  {
    std::lock_guard lock(mutex);
    ++calls[function];
    if (script().empty()) return CL_SUCCESS;
  }
  if (has(std::string("crash:") + function)) {
    std::signal(SIGSEGV, SIG_DFL);
    std::raise(SIGSEGV);
  }
  if (has(std::string("hang:") + function)) {
    for (;;) pause();
  }
  if (const auto folder = option(std::string("meet:") + function, ""); !folder.empty())
    meet(folder);
  return std::atoi(option(std::string("error:") + function, "0").c_str());
}
#define ENTER()                                  \
  if (const cl_int scripted = enter(__func__)) { \
    return scripted;                             \
  }
// An error of a release frees all the same, so that what leaks is the driver's doing.
#define ENTER_RELEASE(object)                    \
  if (const cl_int scripted = enter(__func__)) { \
    (void)release(object);                       \
    return scripted;                             \
  }
#define ENTER_CREATE()                           \
  if (const cl_int scripted = enter(__func__)) { \
    if (errcode) *errcode = scripted;            \
    return nullptr;                              \
  }

template <typename T>
T* make() {
  ++live_objects;
  T* object = new T();
  object->dispatch = &table;
  return object;
}
template <typename T>
cl_int release(T* object) {
  if (--object->references == 0) {
    --live_objects;
    delete object;
  }
  return CL_SUCCESS;
}

cl_device_pci_bus_info_khr pci_address(cl_uint bus) { return {bus ? 0xfff0u : 0, bus, 0, 0}; }
std::string version_text() { return "OpenCL " + option("version", "3.0") + " stub"; }

cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id, cl_platform_info what, size_t size, void* out,
                                     size_t* size_ret) {
  ENTER()
  switch (what) {
    case CL_PLATFORM_VERSION:
      return give(version_text(), size, out, size_ret);
    case CL_PLATFORM_NAME:
      return give(option("platform", "Stub"), size, out, size_ret);
    case CL_PLATFORM_EXTENSIONS:
      return give(std::string("cl_khr_icd"), size, out, size_ret);
    case CL_PLATFORM_PROFILE:
      return give(std::string("FULL_PROFILE"), size, out, size_ret);
    case CL_PLATFORM_VENDOR:
      return give(option("platform-vendor", "STUB"), size, out, size_ret);
    case CL_PLATFORM_ICD_SUFFIX_KHR:
      return give(std::string("STUB"), size, out, size_ret);
    default:
      return CL_INVALID_VALUE;
  }
}

cl_int CL_API_CALL clGetDeviceIDs(cl_platform_id, cl_device_type, cl_uint entries,
                                  cl_device_id* devices, cl_uint* count) {
  ENTER()
  if (has("no-devices")) return CL_DEVICE_NOT_FOUND;
  const auto there = static_cast<cl_uint>(std::atoi(option("devices", "1").c_str()));
  if (count) *count = there;
  for (cl_uint i = 0; devices && i < entries && i < there; ++i) {
    the_devices[i].dispatch = &table;
    devices[i] = &the_devices[i];
  }
  return CL_SUCCESS;
}

cl_device_type scripted_type() {
  const std::string type = option("type", "cpu");
  return type == "gpu"           ? CL_DEVICE_TYPE_GPU
         : type == "accelerator" ? CL_DEVICE_TYPE_ACCELERATOR
         : type == "custom"      ? CL_DEVICE_TYPE_CUSTOM
                                 : CL_DEVICE_TYPE_CPU;
}

cl_int CL_API_CALL clGetDeviceInfo(cl_device_id, cl_device_info what, size_t size, void* out,
                                   size_t* size_ret) {
  ENTER()
  const auto number = [](const char* name, const char* otherwise) {
    return static_cast<cl_uint>(std::atoi(option(name, otherwise).c_str()));
  };
  switch (what) {
    case CL_DEVICE_TYPE:
      return give_value(scripted_type(), size, out, size_ret);
    case CL_DEVICE_NAME:
      return give(option("device", "stub-device"), size, out, size_ret);
    case CL_DEVICE_VENDOR:
      return give(option("vendor", "stub"), size, out, size_ret);
    case CL_DEVICE_EXTENSIONS:
      return give(option("extension", "stub"), size, out, size_ret);
    case CL_DRIVER_VERSION:
      return give(option("driver", "stub"), size, out, size_ret);
    case CL_DEVICE_EXECUTION_CAPABILITIES:
      return give_value<cl_device_exec_capabilities>(
          CL_EXEC_KERNEL | (option("native", "").empty() ? 0 : CL_EXEC_NATIVE_KERNEL), size, out,
          size_ret);
    case CL_DEVICE_VERSION:
      return give(version_text(), size, out, size_ret);
    case CL_DEVICE_OPENCL_C_VERSION:
      return give("OpenCL C " + option("c-version", "1.2") + " stub", size, out, size_ret);
    case CL_DEVICE_OPENCL_C_ALL_VERSIONS:
      if (option("newest-c", "").empty()) return CL_INVALID_VALUE;
      return give_value(name_version("OpenCL C", option("newest-c", "")), size, out, size_ret);
    case CL_DEVICE_ENDIAN_LITTLE:
    case CL_DEVICE_AVAILABLE:
      return give_value<cl_bool>(!has("unavailable"), size, out, size_ret);
    case CL_DEVICE_COMPILER_AVAILABLE:
      return give_value<cl_bool>(!has("no-compiler"), size, out, size_ret);
    case CL_DEVICE_ADDRESS_BITS:
      return give_value<cl_uint>(number("address-bits", "64"), size, out, size_ret);
    case CL_DEVICE_MAX_COMPUTE_UNITS:
      return give_value<cl_uint>(number("units", "2"), size, out, size_ret);
    case CL_DEVICE_MAX_CLOCK_FREQUENCY:  // MHz
    case CL_DEVICE_MEM_BASE_ADDR_ALIGN:  // bits
      return give_value<cl_uint>(1024, size, out, size_ret);
    case CL_DEVICE_GLOBAL_MEM_SIZE:
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
      return give_value<cl_ulong>(1u << 30, size, out, size_ret);
    case CL_DEVICE_LOCAL_MEM_SIZE:
      return give_value<cl_ulong>(32768, size, out, size_ret);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
      return give_value<size_t>(256, size, out, size_ret);
    case CL_DEVICE_MAX_WORK_ITEM_SIZES:
      return give_value<std::array<size_t, 3>>({256, 256, 256}, size, out, size_ret);
    case CL_DEVICE_PCI_BUS_INFO_KHR:
      if (option("pci-bus", "").empty()) return CL_INVALID_VALUE;
      return give_value(pci_address(number("pci-bus", "0")), size, out, size_ret);
    case CL_DEVICE_QUEUE_PROPERTIES:
      return give_value<cl_bitfield>(CL_QUEUE_PROFILING_ENABLE, size, out, size_ret);
    default:
      return CL_INVALID_VALUE;
  }
}

cl_context CL_API_CALL clCreateContext(const cl_context_properties*, cl_uint, const cl_device_id*,
                                       void(CL_CALLBACK* notify)(const char*, const void*, size_t,
                                                                 void*),
                                       void* notify_data, cl_int* errcode) {
  ENTER_CREATE()
  const std::string words = option("notify", "");
  if (notify && !words.empty()) notify(words.c_str(), nullptr, 0, notify_data);
  if (errcode) *errcode = CL_SUCCESS;
  return make<_cl_context>();
}
cl_int CL_API_CALL clReleaseContext(cl_context context) {
  ENTER_RELEASE(context)
  return release(context);
}

cl_command_queue CL_API_CALL clCreateCommandQueue(cl_context, cl_device_id,
                                                  cl_command_queue_properties properties,
                                                  cl_int* errcode) {
  ENTER_CREATE()
  if (errcode) *errcode = CL_SUCCESS;
  auto* queue = make<_cl_command_queue>();
  queue->properties = properties;
  return queue;
}
cl_command_queue CL_API_CALL clCreateCommandQueueWithProperties(cl_context context,
                                                                cl_device_id device,
                                                                const cl_queue_properties* list,
                                                                cl_int* errcode) {
  ENTER_CREATE()
  cl_command_queue_properties properties = 0;
  for (; list && list[0]; list += 2) {
    if (list[0] == CL_QUEUE_PROPERTIES) properties = list[1];
    // A hint is counted as a call.
    if (list[0] != CL_QUEUE_PROPERTIES) enter(("hint:" + std::to_string(list[1])).c_str());
  }
  return stub::clCreateCommandQueue(context, device, properties, errcode);
}
cl_int CL_API_CALL clReleaseCommandQueue(cl_command_queue queue) {
  ENTER_RELEASE(queue)
  return release(queue);
}

cl_mem CL_API_CALL clCreateBuffer(cl_context, cl_mem_flags flags, size_t size, void* host,
                                  cl_int* errcode) {
  ENTER_CREATE()
  if (errcode) *errcode = size ? CL_SUCCESS : CL_INVALID_BUFFER_SIZE;
  if (!size) return nullptr;
  auto* memory = make<_cl_mem>();
  memory->size = size;
  if ((flags & CL_MEM_USE_HOST_PTR) && !has("host-copy")) {
    memory->data = static_cast<std::byte*>(host);
  } else {
    memory->own.resize(size);
    memory->data = memory->own.data();
    if (host) std::memcpy(memory->data, host, size);
  }
  return memory;
}
cl_mem CL_API_CALL clCreateSubBuffer(cl_mem parent, cl_mem_flags, cl_buffer_create_type,
                                     const void* info, cl_int* errcode) {
  ENTER_CREATE()
  const auto& region = *static_cast<const cl_buffer_region*>(info);
  const bool aligned = region.origin % 128 == 0;
  if (errcode) *errcode = aligned ? CL_SUCCESS : CL_MISALIGNED_SUB_BUFFER_OFFSET;
  if (!aligned) return nullptr;
  auto* memory = make<_cl_mem>();
  memory->data = parent->data + region.origin;
  memory->size = region.size;
  memory->parent = parent;
  ++parent->references;
  return memory;
}
cl_int CL_API_CALL clReleaseMemObject(cl_mem memory) {
  const cl_int scripted = enter(__func__);
  cl_mem parent = memory->references == 1 ? memory->parent : nullptr;
  release(memory);
  if (parent) release(parent);
  return scripted;
}

cl_program CL_API_CALL clCreateProgramWithSource(cl_context, cl_uint count, const char** texts,
                                                 const size_t* lengths, cl_int* errcode) {
  ENTER_CREATE()
  if (errcode) *errcode = CL_SUCCESS;
  auto* program = make<_cl_program>();
  for (cl_uint i = 0; i < count; ++i) {
    program->source.append(texts[i], lengths && lengths[i] ? lengths[i] : std::strlen(texts[i]));
  }
  return program;
}
cl_int CL_API_CALL clBuildProgram(cl_program program, cl_uint, const cl_device_id*,
                                  const char* options, void(CL_CALLBACK*)(cl_program, void*),
                                  void*) {
  program->log = std::string("stub: options: ") + (options ? options : "");
  ENTER()
  if (program->source.find("#error") != std::string::npos) {
    program->log = "stub: <source>:1: error: #error";
    return CL_BUILD_PROGRAM_FAILURE;
  }
  return CL_SUCCESS;
}
cl_int CL_API_CALL clReleaseProgram(cl_program program) {
  ENTER_RELEASE(program)
  return release(program);
}
cl_int CL_API_CALL clGetProgramBuildInfo(cl_program program, cl_device_id,
                                         cl_program_build_info what, size_t size, void* out,
                                         size_t* size_ret) {
  ENTER()
  if (what != CL_PROGRAM_BUILD_LOG) return CL_INVALID_VALUE;
  return give(program->log, size, out, size_ret);
}
cl_int CL_API_CALL clGetProgramInfo(cl_program program, cl_program_info what, size_t size,
                                    void* out, size_t* size_ret) {
  ENTER()
  if (what == CL_PROGRAM_BINARY_SIZES) {
    return give_value<size_t>(program->source.size(), size, out, size_ret);
  }
  if (what == CL_PROGRAM_BINARIES && out) {
    std::memcpy(*static_cast<void**>(out), program->source.data(), program->source.size());
    return CL_SUCCESS;
  }
  return CL_INVALID_VALUE;
}

cl_kernel CL_API_CALL clCreateKernel(cl_program program, const char* name, cl_int* errcode) {
  ENTER_CREATE()
  const bool known = (!std::strcmp(name, "add_one") || !std::strcmp(name, "scale")) &&
                     program->source.find(name) != std::string::npos;
  if (errcode) *errcode = known ? CL_SUCCESS : CL_INVALID_KERNEL_NAME;
  if (!known) return nullptr;
  auto* kernel = make<_cl_kernel>();
  kernel->name = name;
  return kernel;
}
cl_int CL_API_CALL clReleaseKernel(cl_kernel kernel) {
  ENTER_RELEASE(kernel)
  return release(kernel);
}
cl_uint argument_count(cl_kernel kernel) { return kernel->name == "scale" ? 2 : 1; }
cl_int CL_API_CALL clSetKernelArg(cl_kernel kernel, cl_uint index, size_t size, const void* value) {
  ENTER()
  if (index >= argument_count(kernel)) return CL_INVALID_ARG_INDEX;
  const auto* bytes = static_cast<const std::byte*>(value);
  if (size != (index == 0 ? sizeof(cl_mem) : sizeof(cl_uint))) return CL_INVALID_ARG_SIZE;
  kernel->arguments[index].assign(bytes, bytes + size);
  return CL_SUCCESS;
}
cl_int CL_API_CALL clGetKernelInfo(cl_kernel kernel, cl_kernel_info what, size_t size, void* out,
                                   size_t* size_ret) {
  ENTER()
  if (what != CL_KERNEL_NUM_ARGS) return CL_INVALID_VALUE;
  return give_value<cl_uint>(argument_count(kernel), size, out, size_ret);
}
cl_int CL_API_CALL clGetKernelWorkGroupInfo(cl_kernel, cl_device_id, cl_kernel_work_group_info what,
                                            size_t size, void* out, size_t* size_ret) {
  ENTER()
  if (what != CL_KERNEL_WORK_GROUP_SIZE) return CL_INVALID_VALUE;
  return give_value<size_t>(256, size, out, size_ret);
}

cl_int CL_API_CALL clWaitForEvents(cl_uint count, const cl_event* events) {
  ENTER()
  for (cl_uint i = 0; i < count; ++i) {
    if (events[i]->status < 0) return CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
  }
  return CL_SUCCESS;
}
cl_int CL_API_CALL clGetEventInfo(cl_event event, cl_event_info what, size_t size, void* out,
                                  size_t* size_ret) {
  ENTER()
  if (what == CL_EVENT_COMMAND_QUEUE) return give_value(event->queue, size, out, size_ret);
  if (what == CL_EVENT_COMMAND_EXECUTION_STATUS) {
    return give_value(event->status, size, out, size_ret);
  }
  return CL_INVALID_VALUE;
}
cl_int CL_API_CALL clReleaseEvent(cl_event event) {
  ENTER_RELEASE(event)
  return release(event);
}
cl_int CL_API_CALL clGetEventProfilingInfo(cl_event event, cl_profiling_info what, size_t size,
                                           void* out, size_t* size_ret) {
  ENTER()
  if (!(event->queue->properties & CL_QUEUE_PROFILING_ENABLE)) {
    return CL_PROFILING_INFO_NOT_AVAILABLE;
  }
  const cl_ulong step = has("equal-times") ? 1 : 10;
  return give_value<cl_ulong>(event->time + step * (what - CL_PROFILING_COMMAND_QUEUED), size, out,
                              size_ret);
}
cl_int CL_API_CALL clFlush(cl_command_queue) { ENTER() return CL_SUCCESS; }
cl_int CL_API_CALL clFinish(cl_command_queue queue) {
  ENTER()
  for (const auto& work : std::exchange(queue->waiting, {})) work();
  return CL_SUCCESS;
}

// Ends an enqueue call: runs the command unless the script has it fail, and makes its event.
template <typename Work>
cl_int enqueue(cl_command_queue queue, cl_event* event, Work work) {
  const cl_int code = std::atoi(option("event", "0").c_str());
  if (code == 0) work();
  if (event) {
    *event = make<_cl_event>();
    (*event)->queue = queue;
    (*event)->status = code;
    (*event)->time = clock_ns += 1000;
  }
  return CL_SUCCESS;
}

cl_int CL_API_CALL clEnqueueReadBuffer(cl_command_queue queue, cl_mem memory, cl_bool,
                                       size_t offset, size_t size, void* to, cl_uint,
                                       const cl_event*, cl_event* event) {
  ENTER()
  return enqueue(queue, event, [&] { std::memcpy(to, memory->data + offset, size); });
}
cl_int CL_API_CALL clEnqueueWriteBuffer(cl_command_queue queue, cl_mem memory, cl_bool,
                                        size_t offset, size_t size, const void* from, cl_uint,
                                        const cl_event*, cl_event* event) {
  ENTER()
  return enqueue(queue, event, [&] { std::memcpy(memory->data + offset, from, size); });
}
cl_int CL_API_CALL clEnqueueNativeKernel(cl_command_queue queue, void(CL_CALLBACK* function)(void*),
                                         void* arguments, size_t size, cl_uint, const cl_mem*,
                                         const void**, cl_uint, const cl_event*, cl_event* event) {
  ENTER()
  const auto* bytes = static_cast<std::byte*>(arguments);
  const std::function<void()> work = [function, copy = std::vector(bytes, bytes + size)]() mutable {
    function(copy.data());
  };
  const std::string where = option("native", "here");
  return enqueue(queue, event, [&] {
    if (where == "here") {
      work();
    } else if (where == "thread") {
      std::thread(work).join();
    } else {
      queue->waiting.emplace_back(work);
    }
  });
}
void* CL_API_CALL clEnqueueMapBuffer(cl_command_queue queue, cl_mem memory, cl_bool, cl_map_flags,
                                     size_t offset, size_t, cl_uint, const cl_event*,
                                     cl_event* event, cl_int* errcode) {
  ENTER_CREATE()
  const cl_int code = enqueue(queue, event, [] {});
  if (errcode) *errcode = code;
  return memory->data + offset;
}
cl_int CL_API_CALL clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem, void*, cl_uint,
                                           const cl_event*, cl_event* event) {
  ENTER()
  return enqueue(queue, event, [] {});
}
cl_int CL_API_CALL clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to,
                                       size_t source, size_t target, size_t size, cl_uint,
                                       const cl_event*, cl_event* event) {
  ENTER()
  return enqueue(queue, event, [&] { std::memmove(to->data + target, from->data + source, size); });
}
cl_int CL_API_CALL clEnqueueFillBuffer(cl_command_queue queue, cl_mem memory, const void* pattern,
                                       size_t pattern_size, size_t offset, size_t size, cl_uint,
                                       const cl_event*, cl_event* event) {
  ENTER()
  return enqueue(queue, event, [&] {
    for (size_t at = 0; at < size; at += pattern_size) {
      std::memcpy(memory->data + offset + at, pattern, pattern_size);
    }
  });
}
cl_int CL_API_CALL clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint, const cl_event*,
                                               cl_event* event) {
  ENTER()
  return enqueue(queue, event, [] {});
}
cl_int CL_API_CALL clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint,
                                          const size_t* offset, const size_t* global, const size_t*,
                                          cl_uint, const cl_event*, cl_event* event) {
  ENTER()
  for (cl_uint i = 0; i < argument_count(kernel); ++i) {
    if (!kernel->arguments.count(i)) return CL_INVALID_KERNEL_ARGS;
  }
  return enqueue(queue, event, [&] {
    cl_mem memory = nullptr;
    std::memcpy(&memory, kernel->arguments[0].data(), sizeof memory);
    cl_uint factor = 1;
    if (kernel->name == "scale") std::memcpy(&factor, kernel->arguments[1].data(), sizeof factor);
    auto* values = reinterpret_cast<cl_uint*>(memory->data);
    const size_t first = offset ? offset[0] : 0;
    for (size_t i = first; i < first + global[0]; ++i) {
      values[i] = kernel->name == "scale" ? values[i] * factor : values[i] + 1;
    }
  });
}

// clang-format off
#define STUB_FUNCTIONS(X)                                                                         \
  X(clGetPlatformInfo) X(clGetDeviceIDs) X(clGetDeviceInfo) X(clCreateContext)                    \
  X(clReleaseContext) X(clCreateCommandQueue) X(clCreateCommandQueueWithProperties)               \
  X(clReleaseCommandQueue) X(clCreateBuffer) X(clCreateSubBuffer) X(clReleaseMemObject)           \
  X(clCreateProgramWithSource) X(clBuildProgram) X(clReleaseProgram) X(clGetProgramBuildInfo)     \
  X(clGetProgramInfo) X(clCreateKernel) X(clReleaseKernel) X(clSetKernelArg) X(clGetKernelInfo)   \
  X(clGetKernelWorkGroupInfo) X(clWaitForEvents) X(clGetEventInfo) X(clReleaseEvent)              \
  X(clGetEventProfilingInfo) X(clFlush) X(clFinish) X(clEnqueueReadBuffer)                        \
  X(clEnqueueWriteBuffer) X(clEnqueueCopyBuffer) X(clEnqueueFillBuffer)                           \
  X(clEnqueueNDRangeKernel) X(clEnqueueMapBuffer) X(clEnqueueUnmapMemObject)                      \
  X(clEnqueueMarkerWithWaitList) X(clEnqueueNativeKernel)
// clang-format on

cl_int CL_API_CALL clIcdGetPlatformIDsKHR(cl_uint entries, cl_platform_id* platforms,
                                          cl_uint* count) {
  ENTER()
  if (has("no-platforms")) return CL_PLATFORM_NOT_FOUND_KHR;
#define SET_SLOT(name) table.name = has("null:" #name) ? nullptr : stub::name;
  STUB_FUNCTIONS(SET_SLOT)
#undef SET_SLOT
  the_platform.dispatch = &table;
  if (count) *count = 1;
  if (platforms && entries) platforms[0] = &the_platform;
  return CL_SUCCESS;
}

}  // namespace stub

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT void* CL_API_CALL clGetExtensionFunctionAddress(const char* name) {
  if (!std::strcmp(name, "clIcdGetPlatformIDsKHR")) {
    return reinterpret_cast<void*>(&stub::clIcdGetPlatformIDsKHR);
  }
  // ocl-icd asks for this one by name.
  if (!std::strcmp(name, "clGetPlatformInfo"))
    return reinterpret_cast<void*>(&stub::clGetPlatformInfo);
  return nullptr;
}
EXPORT void tutti_test_stub_script(const char* text) {
  std::lock_guard lock(stub::mutex);
  stub::script() = text;
}
EXPORT uint64_t tutti_test_stub_calls(const char* function) {
  std::lock_guard lock(stub::mutex);
  return stub::calls[function];
}
EXPORT int64_t tutti_test_stub_live_objects() { return stub::live_objects; }
