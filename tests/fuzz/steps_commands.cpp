// SPDX-License-Identifier: Apache-2.0
// Command buffers of launches, mutable ones among them, that are given back at once: what they have
// enqueued, and handles of their commands, must not need them. The functions and structures are
// those of cl_khr_command_buffer 0.9.8 and …_mutable_dispatch 0.9.5, whatever the headers have.
#include <CL/cl_ext.h>

#include <algorithm>

#include "steps.h"

namespace tutti::api_fuzz {
namespace {

struct Argument {
  cl_uint index;
  size_t size;
  const void* value;
};
struct Config {
  cl_mutable_command_khr command;
  cl_uint num_args, num_svm_args, num_exec_infos, work_dim;
  const Argument* args;
  const Argument* svm_args;
  const Argument* exec_infos;
  const size_t *offset, *global, *local;
};
constexpr cl_int kInvalidCommand = -1141;  // CL_INVALID_MUTABLE_COMMAND_KHR
constexpr cl_uint kCommandType = 0x12AD;   // CL_MUTABLE_COMMAND_COMMAND_TYPE_KHR

struct Functions {
  decltype(&clCreateCommandBufferKHR) create;
  decltype(&clReleaseCommandBufferKHR) release;
  decltype(&clFinalizeCommandBufferKHR) finalize;
  decltype(&clEnqueueCommandBufferKHR) enqueue;
  cl_int(CL_API_CALL* kernel)(cl_command_buffer_khr, cl_command_queue, const cl_properties*,
                              cl_kernel, cl_uint, const size_t*, const size_t*, const size_t*,
                              cl_uint, const cl_sync_point_khr*, cl_sync_point_khr*,
                              cl_mutable_command_khr*);
  cl_int(CL_API_CALL* update)(cl_command_buffer_khr, cl_uint, const cl_uint*, const void**);
  cl_int(CL_API_CALL* info)(cl_mutable_command_khr, cl_uint, size_t, void*, size_t*);
};

template <typename Function>
void find(World& w, Function& function, const char* name) {
  function = reinterpret_cast<Function>(clGetExtensionFunctionAddressForPlatform(w.platform, name));
}

/// Whether the platform has them all.
bool find_all(World& w, Functions& f) {
  find(w, f.create, "clCreateCommandBufferKHR");
  find(w, f.release, "clReleaseCommandBufferKHR");
  find(w, f.finalize, "clFinalizeCommandBufferKHR");
  find(w, f.enqueue, "clEnqueueCommandBufferKHR");
  find(w, f.kernel, "clCommandNDRangeKernelKHR");
  find(w, f.update, "clUpdateMutableCommandsKHR");
  find(w, f.info, "clGetMutableCommandInfoKHR");
  return f.create != nullptr && f.update != nullptr;
}

/// A launch that was recorded, and what is known of it.
struct Recorded {
  cl_mutable_command_khr command = nullptr;
  cl_uint number_index = 0;  // of the argument that limits its reach
  cl_int most = 0;           // that it may be
  bool may_change = false;
};

/// One update, rarely a wrong one.
void update(World& w, const Functions& f, cl_command_buffer_khr commands, const Recorded& launch) {
  cl_int number = static_cast<cl_int>(w.random.below(static_cast<uint64_t>(launch.most) + 1));
  Argument argument{launch.number_index, sizeof number, &number};
  const size_t global = w.random.below(5) * 64, offset = w.random.below(8);
  Config config{};
  config.command = launch.command;
  if (w.random.one_in(2)) config.global = &global;
  if (w.random.one_in(2)) config.offset = &offset;
  if (w.random.one_in(2)) {
    config.args = &argument;
    config.num_args = 1;
  }
  Expected expected;
  cl_uint type = 0, count = 1;
  const void* configs[] = {&config};
  if (!launch.may_change) expected.error(CL_INVALID_OPERATION);
  switch (w.random.below(16)) {
    case 0:
      config.command = w.wrong<cl_mutable_command_khr>(Kind::kMemory, true);
      expected.error(kInvalidCommand);
      break;
    case 1:
      config.work_dim = w.random.pick<cl_uint>({2, 4, UINT32_MAX});
      expected.error(CL_INVALID_OPERATION);
      break;
    case 2:
      config.num_args = config.num_args == 0 ? 1 : 0;
      expected.error(CL_INVALID_VALUE);
      break;
    case 3:
      config.num_exec_infos = 1;
      expected.error(CL_INVALID_VALUE);
      break;
    case 4:
      type = 1 + static_cast<cl_uint>(w.random.below(9));
      expected.error(CL_INVALID_VALUE);
      break;
    case 5:
      count = 0;
      expected.error(CL_INVALID_VALUE);
      break;
    case 6:
      argument.index += 100;
      expected.error_if(config.num_args != 0, CL_INVALID_ARG_INDEX);
      break;
    case 7:
      argument.size = w.random.below(4);
      expected.error_if(config.num_args != 0, CL_INVALID_ARG_SIZE);
      break;
    case 8:
      configs[0] = nullptr;
      expected.error(CL_INVALID_VALUE);
      break;
    default:
      break;
  }
  w.check("clUpdateMutableCommandsKHR", expected, f.update(commands, count, &type, configs));
}

void command_buffers(World& w) {
  static thread_local Functions f{};
  QueueChoice on;
  if ((f.create == nullptr && !find_all(w, f)) || !choose_queue(w, on) || on.wrong) return;
  const ObjectRef& context = on.queue->context;
  const bool is_mutable = !w.random.one_in(3);
  const cl_properties properties[] = {CL_COMMAND_BUFFER_FLAGS_KHR, cl_properties{is_mutable} << 1,
                                      0};
  cl_int code = 1;
  cl_command_buffer_khr commands = f.create(1, &on.handle, properties, &code);
  w.check("clCreateCommandBufferKHR", {}, code);
  if (commands == nullptr) return;
  std::vector<Recorded> launches;
  for (uint64_t i = w.random.below(4); i > 0; --i) {
    const ObjectRef kernel = w.any_of(Kind::kKernel, context);
    const ObjectRef in = w.any_of(Kind::kMemory, context), out = w.any_of(Kind::kMemory, context);
    if (!kernel || !in || !out || out->size < sizeof(cl_int)) continue;
    w.check("clSetKernelArg", {}, choose_arguments(kernel, in, out));
    Recorded launch;
    launch.number_index = arguments_of(kernel) == "mmil" ? 2 : 1;
    launch.most = static_cast<cl_int>(std::min(in->size, out->size) / sizeof(cl_int));
    launch.may_change = is_mutable;
    const size_t global = w.random.below(5) * 64;
    code = f.kernel(commands, nullptr, nullptr, kernel->as<cl_kernel>(), 1, nullptr, &global,
                    nullptr, 0, nullptr, nullptr, &launch.command);
    if (code == CL_INVALID_PROGRAM_EXECUTABLE) continue;  // as in a launch
    w.check("clCommandNDRangeKernelKHR", {}, code);
    if (code == CL_SUCCESS) launches.push_back(launch);
  }
  w.check("clFinalizeCommandBufferKHR", {}, f.finalize(commands));
  for (uint64_t i = w.random.below(4); i > 0; --i) {
    if (!launches.empty()) update(w, f, commands, w.random.pick(launches));
    cl_event event = nullptr;
    code = f.enqueue(0, nullptr, commands, 0, nullptr, w.random.one_in(2) ? &event : nullptr);
    w.check("clEnqueueCommandBufferKHR", {}, code);
    if (code == CL_SUCCESS) w.enqueued(on.queue, {}, event);
  }
  w.check("clReleaseCommandBufferKHR", {}, f.release(commands));
  if (!w.alone || launches.empty()) return;
  Expected gone;
  gone.error(kInvalidCommand);
  cl_command_type type = 0;
  w.check("clGetMutableCommandInfoKHR", gone,
          f.info(launches.front().command, kCommandType, sizeof type, &type, nullptr));
}

}  // namespace

Steps command_steps() { return {{"command buffers", 6, command_buffers}}; }

}  // namespace tutti::api_fuzz
