// SPDX-License-Identifier: Apache-2.0
#include "icd/recorder/plain_call.h"

#include <string_view>

#include "base/config.h"
#include "base/log.h"
#include "device_virtual/handle.h"
#include "icd/dispatch.h"
#include "icd/recorder/recording_functions.h"

namespace tutti::icd::recorder {
namespace {

#define TUTTI_RECORDING(name, shape) PlainCall<&icd::name, [] { return #name; }, shape>::function

constexpr auto kCreateQueueKHR =
    &TUTTI_RECORDING(clCreateCommandQueueWithPropertiesKHR, Shape{.sizes = 0});

void* CL_API_CALL get_extension_function(cl_platform_id platform, const char* name) {
  void* function = icd::clGetExtensionFunctionAddressForPlatform(platform, name);
  void* recording = function != nullptr ? extension_function(name) : nullptr;
  return recording != nullptr ? recording : function;
}

/// What the application does in such memory, and which pointers its kernels find there, is not to
/// be seen in its calls.
void* CL_API_CALL allocate_shared(cl_context context, cl_svm_mem_flags flags, size_t size,
                                  cl_uint alignment) {
  RecordedCall call("clSVMAlloc", Shape{});
  void* const memory = icd::clSVMAlloc(context, flags, size, alignment);
  if (memory == nullptr || !call.active()) return memory;
  note_not_recorded(
      call, "shared virtual memory is not recorded: launches that use it cannot be replayed");
  return memory;
}

cl_program CL_API_CALL create_program_with_il(cl_context context, const void* il, size_t length,
                                              cl_int* errcode_ret) {
  RecordedCall call("clCreateProgramWithIL", Shape{});
  cl_program made = icd::clCreateProgramWithIL(context, il, length, errcode_ret);
  if (made == nullptr || !call.active()) return made;
  note_not_recorded(
      call,
      "programs in an intermediate language are not recorded: what they compute is not replayed");
  return made;
}

cl_program CL_API_CALL create_built_in_program(cl_context context, cl_uint num_devices,
                                               const cl_device_id* device_list,
                                               const char* kernel_names, cl_int* errcode_ret) {
  RecordedCall call("clCreateProgramWithBuiltInKernels", Shape{});
  cl_program made = icd::clCreateProgramWithBuiltInKernels(context, num_devices, device_list,
                                                           kernel_names, errcode_ret);
  if (made == nullptr || !call.active()) return made;
  note_not_recorded(
      call, "kernels built into a device are not recorded: what they compute is not replayed");
  return made;
}

void* noted_unified(RecordedCall& call, void* memory) {
  if (memory == nullptr || !call.active()) return memory;
  note_not_recorded(
      call, "unified shared memory is not recorded: launches that use it cannot be replayed");
  return memory;
}

void* CL_API_CALL allocate_host(cl_context context, const cl_mem_properties_intel* properties,
                                size_t size, cl_uint alignment, cl_int* errcode_ret) {
  RecordedCall call("clHostMemAllocINTEL", Shape{});
  return noted_unified(call,
                       icd::clHostMemAllocINTEL(context, properties, size, alignment, errcode_ret));
}

void* CL_API_CALL allocate_device(cl_context context, cl_device_id device,
                                  const cl_mem_properties_intel* properties, size_t size,
                                  cl_uint alignment, cl_int* errcode_ret) {
  RecordedCall call("clDeviceMemAllocINTEL", Shape{});
  return noted_unified(
      call, icd::clDeviceMemAllocINTEL(context, device, properties, size, alignment, errcode_ret));
}

void* CL_API_CALL allocate_both(cl_context context, cl_device_id device,
                                const cl_mem_properties_intel* properties, size_t size,
                                cl_uint alignment, cl_int* errcode_ret) {
  RecordedCall call("clSharedMemAllocINTEL", Shape{});
  return noted_unified(
      call, icd::clSharedMemAllocINTEL(context, device, properties, size, alignment, errcode_ret));
}

cl_semaphore_khr CL_API_CALL create_semaphore(cl_context context,
                                              const cl_semaphore_properties_khr* properties,
                                              cl_int* errcode_ret) {
  RecordedCall call("clCreateSemaphoreWithPropertiesKHR", Shape{});
  cl_semaphore_khr made = icd::clCreateSemaphoreWithPropertiesKHR(context, properties, errcode_ret);
  if (made == nullptr || !call.active()) return made;
  note_not_recorded(call, "semaphores are not recorded: what they order is not in a replay");
  return made;
}

cl_command_buffer_khr CL_API_CALL
create_command_buffer(cl_uint num_queues, const cl_command_queue* queues,
                      const cl_command_buffer_properties_khr* properties, cl_int* errcode_ret) {
  RecordedCall call("clCreateCommandBufferKHR", Shape{});
  cl_command_buffer_khr made =
      icd::clCreateCommandBufferKHR(num_queues, queues, properties, errcode_ret);
  if (made == nullptr || !call.active()) return made;
  note_not_recorded(call, "command buffers are not recorded: what they compute is not replayed");
  return made;
}

}  // namespace

void note_not_recorded(RecordedCall& call, const char* text) {
  call.guarded([&] {
    log_once(text, LogLevel::kWarning, "TUTTI_RECORD: {}", text);
    call.recorder().note_once(text);
  });
}

void* extension_function(const char* name) noexcept {
  if (Recorder::current() == nullptr || name == nullptr) return nullptr;
  const std::string_view wanted = name;
  if (wanted == "clCreateCommandQueueWithPropertiesKHR") {
    return reinterpret_cast<void*>(kCreateQueueKHR);
  }
  if (wanted == "clCreateProgramWithILKHR") {
    return reinterpret_cast<void*>(&create_program_with_il);
  }
  if (wanted == "clCreateCommandBufferKHR") {
    return reinterpret_cast<void*>(&create_command_buffer);
  }
  if (wanted == "clCreateSemaphoreWithPropertiesKHR") {
    return reinterpret_cast<void*>(&create_semaphore);
  }
  if (void* const of_gl = gl_function(wanted)) return of_gl;
  if (wanted == "clHostMemAllocINTEL") return reinterpret_cast<void*>(&allocate_host);
  if (wanted == "clDeviceMemAllocINTEL") return reinterpret_cast<void*>(&allocate_device);
  if (wanted == "clSharedMemAllocINTEL") return reinterpret_cast<void*>(&allocate_both);
  return nullptr;
}

void add_plain_calls(cl_icd_dispatch& table) {
#define TUTTI_PLAIN_CALL(name, ...) table.name = &TUTTI_RECORDING(name, (__VA_ARGS__));
#include "icd/recorder/plain_calls.def"
#undef TUTTI_PLAIN_CALL
  table.clSVMAlloc = &allocate_shared;
  table.clCreateProgramWithIL = &create_program_with_il;
  table.clCreateProgramWithBuiltInKernels = &create_built_in_program;
  table.clGetExtensionFunctionAddressForPlatform = &get_extension_function;
}

void start_if_wanted() {
  static const bool started = [] {
    const std::string& folder = process_config().record.value;
    if (folder.empty()) return false;
    Recorder::start(folder);
    if (Recorder::current() == nullptr) return false;
    static DispatchTable table = dispatch_table();
    add_plain_calls(table.before);
    add_object_calls(table.before);
    add_transfer_calls(table.before);
    add_gl_calls(table.before);
    device_virtual::g_dispatch = &table;
    return true;
  }();
  (void)started;
}

}  // namespace tutti::icd::recorder
