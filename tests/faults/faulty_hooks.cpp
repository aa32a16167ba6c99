// SPDX-License-Identifier: Apache-2.0
#include "faulty_hooks.h"

#include <csignal>
#include <cstddef>
#include <memory>
#include <tuple>
#include <type_traits>
#include <vector>

#include "faulty_commands.h"
#include "faulty_kernels.h"
#include "faulty_plan.h"

namespace tutti::faulty {
namespace {

std::vector<cl_device_id>& devices() {
  static auto* kept = new std::vector<cl_device_id>;
  return *kept;
}

// Which device
// ---------------------------------------------------------------------------------------

constexpr int kNone = -1;

int number_of(cl_device_id device) {
  for (size_t i = 0; i < devices().size(); ++i) {
    if (devices()[i] == device) return static_cast<int>(i);
  }
  return 0;
}

template <typename T>
int number_of(T /*no object*/) {
  return kNone;
}
int number_of(cl_context context) {
  cl_device_id device = nullptr;
  // Of several devices nothing is told here, and what belongs to them counts as the first one's.
  vendor().clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof device, &device, nullptr);
  return number_of(device);
}
int number_of(cl_command_queue queue) { return device_of(queue); }
/// `query`: the function that tells the object's context, by that name.
template <typename Query, typename Object>
int number_by_context(Query query, Object object, cl_uint name) {
  cl_context context = nullptr;
  query(object, name, sizeof context, &context, nullptr);
  return number_of(context);
}
int number_of(cl_mem memory) {
  return number_by_context(vendor().clGetMemObjectInfo, memory, CL_MEM_CONTEXT);
}
int number_of(cl_program program) {
  return number_by_context(vendor().clGetProgramInfo, program, CL_PROGRAM_CONTEXT);
}
int number_of(cl_kernel kernel) {
  return number_by_context(vendor().clGetKernelInfo, kernel, CL_KERNEL_CONTEXT);
}
int number_of(cl_sampler sampler) {
  return number_by_context(vendor().clGetSamplerInfo, sampler, CL_SAMPLER_CONTEXT);
}
int number_of(cl_event event) { return device_of(event); }
int number_of(const cl_device_id* list) { return list != nullptr ? number_of(*list) : kNone; }
int number_of(const cl_event* list) { return list != nullptr ? number_of(*list) : kNone; }

/// Of the first object among the arguments; kNone where there is none.
template <typename... A>
int device_among(A... arguments) {
  int found = kNone;
  ((found = found == kNone ? number_of(arguments) : found), ...);
  return found;
}

// Which context
// --------------------------------------------------------------------------------------

template <typename T>
cl_context context_of(T /*no object*/) {
  return nullptr;
}
template <typename Query, typename Object>
cl_context told_context(Query query, Object object, cl_uint name) {
  cl_context context = nullptr;
  query(object, name, sizeof context, &context, nullptr);
  return context;
}
cl_context context_of(cl_context context) { return context; }
cl_context context_of(cl_command_queue queue) {
  return told_context(vendor().clGetCommandQueueInfo, queue, CL_QUEUE_CONTEXT);
}
cl_context context_of(cl_mem memory) {
  return told_context(vendor().clGetMemObjectInfo, memory, CL_MEM_CONTEXT);
}
cl_context context_of(cl_program program) {
  return told_context(vendor().clGetProgramInfo, program, CL_PROGRAM_CONTEXT);
}
cl_context context_of(cl_kernel kernel) {
  return told_context(vendor().clGetKernelInfo, kernel, CL_KERNEL_CONTEXT);
}
cl_context context_of(cl_sampler sampler) {
  return told_context(vendor().clGetSamplerInfo, sampler, CL_SAMPLER_CONTEXT);
}
cl_context context_of(cl_event event) {
  return told_context(vendor().clGetEventInfo, event, CL_EVENT_CONTEXT);
}
cl_context context_of(const cl_event* list) {
  return list != nullptr ? context_of(*list) : nullptr;
}

/// Of the first object among the arguments that has one.
template <typename... A>
cl_context context_among(A... arguments) {
  cl_context found = nullptr;
  ((found = found == nullptr ? context_of(arguments) : found), ...);
  return found;
}

// Copies for later
// -----------------------------------------------------------------------------------

/// `arguments`: an enqueuing function's, but for the last three, wait list and event.
template <typename Function, typename Tuple>
CarryOut with(Function function, Tuple arguments) {
  return [=](cl_uint count, const cl_event* wait, cl_event* event) {
    return std::apply([&](auto... values) { return function(values..., count, wait, event); },
                      arguments);
  };
}

template <auto Member>
struct Later {  // what needs no copies but of its arguments, or cannot be done later
  template <typename Tuple>
  static CarryOut keep(const Tuple& /*arguments*/) {
    return nullptr;
  }
  template <typename Tuple>
  static CarryOut half(const Tuple& /*arguments*/) {
    return nullptr;
  }
};

using Table = cl_icd_dispatch;

/// Reads and writes: queue, buffer, blocking, offset, size, pointer.
template <auto Member>
struct LaterTransfer {
  template <typename Tuple>
  static CarryOut keep(const Tuple& arguments) {
    return with(vendor().*Member, arguments);
  }
  template <typename Tuple>
  static CarryOut half(Tuple arguments) {
    std::get<4>(arguments) /= 2;
    if (std::get<4>(arguments) == 0) return nullptr;
    return with(vendor().*Member, arguments);
  }
};
template <>
struct Later<&Table::clEnqueueReadBuffer> : LaterTransfer<&Table::clEnqueueReadBuffer> {};
template <>
struct Later<&Table::clEnqueueWriteBuffer> : LaterTransfer<&Table::clEnqueueWriteBuffer> {};

template <>
struct Later<&Table::clEnqueueMarkerWithWaitList> {
  template <typename Tuple>
  static CarryOut keep(const Tuple& arguments) {
    return with(vendor().clEnqueueMarkerWithWaitList, arguments);
  }
  template <typename Tuple>
  static CarryOut half(const Tuple& /*arguments*/) {
    return nullptr;
  }
};

template <>
struct Later<&Table::clEnqueueCopyBuffer> {  // queue, from, to, offset, offset, size
  template <typename Tuple>
  static CarryOut keep(const Tuple& arguments) {
    return with(vendor().clEnqueueCopyBuffer, arguments);
  }
  template <typename Tuple>
  static CarryOut half(Tuple arguments) {
    std::get<5>(arguments) /= 2;
    if (std::get<5>(arguments) == 0) return nullptr;
    return with(vendor().clEnqueueCopyBuffer, arguments);
  }
};

template <>
struct Later<&Table::clEnqueueFillBuffer> {  // queue, buffer, pattern, size of it, offset, size
  template <typename Tuple>
  static CarryOut keep(Tuple arguments) {
    const auto* bytes = static_cast<const unsigned char*>(std::get<2>(arguments));
    auto pattern =
        std::make_shared<std::vector<unsigned char>>(bytes, bytes + std::get<3>(arguments));
    return [=](cl_uint count, const cl_event* wait, cl_event* event) mutable {
      std::get<2>(arguments) = pattern->data();
      return with(vendor().clEnqueueFillBuffer, arguments)(count, wait, event);
    };
  }
  template <typename Tuple>
  static CarryOut half(Tuple arguments) {
    const size_t unit = std::get<3>(arguments);
    std::get<5>(arguments) = std::get<5>(arguments) / 2 / unit * unit;
    if (std::get<5>(arguments) == 0) return nullptr;
    return with(vendor().clEnqueueFillBuffer, arguments);
  }
};

template <>
struct Later<&Table::clEnqueueNDRangeKernel> {  // queue, kernel, dims, offset, global, local
  template <typename Tuple>
  static CarryOut keep(Tuple arguments) {
    if (vendor().clCloneKernel == nullptr) return nullptr;
    cl_int code = CL_SUCCESS;
    const cl_kernel clone = vendor().clCloneKernel(std::get<1>(arguments), &code);
    if (code != CL_SUCCESS || clone == nullptr) return nullptr;
    struct Copies {
      explicit Copies(cl_kernel kernel_) : kernel(kernel_) {}
      ~Copies() { vendor().clReleaseKernel(kernel); }
      cl_kernel kernel;
      std::vector<size_t> offset, global, local;
    };
    auto copies = std::make_shared<Copies>(clone);
    const cl_uint dims = std::get<2>(arguments);
    const auto copy = [dims](std::vector<size_t>& to, const size_t* from) {
      if (from != nullptr) to.assign(from, from + dims);
    };
    copy(copies->offset, std::get<3>(arguments));
    copy(copies->global, std::get<4>(arguments));
    copy(copies->local, std::get<5>(arguments));
    return [=](cl_uint count, const cl_event* wait, cl_event* event) mutable {
      const auto given = [](const std::vector<size_t>& list) {
        return list.empty() ? nullptr : list.data();
      };
      std::get<1>(arguments) = copies->kernel;
      std::get<3>(arguments) = given(copies->offset);
      std::get<4>(arguments) = given(copies->global);
      std::get<5>(arguments) = given(copies->local);
      return with(vendor().clEnqueueNDRangeKernel, arguments)(count, wait, event);
    };
  }
  template <typename Tuple>
  static CarryOut half(Tuple arguments) {
    const cl_uint dims = std::get<2>(arguments);
    if (std::get<5>(arguments) == nullptr) return nullptr;
    return [=](cl_uint count, const cl_event* wait, cl_event* event) mutable {
      const size_t* whole = std::get<4>(arguments);
      std::vector<size_t> global(whole, whole + dims);
      const size_t* local = std::get<5>(arguments);
      const size_t groups = global[dims - 1] / local[dims - 1] / 2;
      if (groups == 0) return CL_SUCCESS;
      global[dims - 1] = groups * local[dims - 1];
      std::get<4>(arguments) = global.data();
      return with(vendor().clEnqueueNDRangeKernel, arguments)(count, wait, event);
    };
  }
};

// The hooks
// ------------------------------------------------------------------------------------------

template <size_t Back, typename... A>
constexpr bool ends_with_event() {
  if constexpr (sizeof...(A) < 3 + Back) {
    return false;
  } else {
    using All = std::tuple<A...>;
    constexpr size_t kEnd = sizeof...(A) - Back;
    return std::is_same_v<std::tuple_element_t<kEnd - 1, All>, cl_event*> &&
           std::is_same_v<std::tuple_element_t<kEnd - 2, All>, const cl_event*> &&
           std::is_same_v<std::tuple_element_t<kEnd - 3, All>, cl_uint>;
  }
}

template <typename Tuple, size_t... I>
auto first_of(const Tuple& all, std::index_sequence<I...> /*indices*/) {
  return std::make_tuple(std::get<I>(all)...);
}

/// Transfers say whether they block in their third argument.
template <typename Tuple>
bool blocks(const Tuple& all) {
  if constexpr (std::is_same_v<std::tuple_element_t<1, Tuple>, cl_mem> &&
                std::is_same_v<std::tuple_element_t<2, Tuple>, cl_bool>) {
    return std::get<2>(all) != CL_FALSE;
  }
  return false;
}

void crash_if(const Fault& fault) {
  if (fault.mode != Mode::kCrash) return;
  std::signal(SIGSEGV, SIG_DFL);
  std::raise(SIGSEGV);
}

/// The function without a fault: the vendor's, or what knows of commands that are ours.
template <auto Member>
struct Real {
  template <typename... A>
  static auto call(A... arguments) {
    return (vendor().*Member)(arguments...);
  }
};
template <>
struct Real<&Table::clFlush> {
  static cl_int call(cl_command_queue queue) { return flush(queue); }
};
template <>
struct Real<&Table::clFinish> {
  static cl_int call(cl_command_queue queue) { return finish(queue); }
};
template <>
struct Real<&Table::clWaitForEvents> {
  static cl_int call(cl_uint count, const cl_event* events) { return wait_for(count, events); }
};

template <auto Member>
struct Hook;

template <typename R, typename... A, R (*Table::*Member)(A...)>
struct Hook<Member> {
  static inline int number = 0;

  static constexpr bool is_set_argument() {
    if constexpr (std::is_same_v<decltype(Member), decltype(&Table::clSetKernelArg)>) {
      return Member == &Table::clSetKernelArg;
    } else {
      return false;
    }
  }

  static R call(A... arguments) {
    const Fault fault = next_call(number, device_among(arguments...), context_among(arguments...));
    crash_if(fault);
    if constexpr (ends_with_event<0, A...>()) {
      return command(fault, std::tuple<A...>(arguments...));
    } else if constexpr (ends_with_event<1, A...>()) {
      return mapping(fault, std::tuple<A...>(arguments...));
    } else if constexpr (std::is_same_v<R, cl_int>) {
      return done(fault, arguments...);
    } else {
      return made(fault, arguments...);
    }
  }

  static cl_int command(const Fault& fault, const std::tuple<A...>& all) {
    constexpr size_t kCount = sizeof...(A);
    const auto own = first_of(all, std::make_index_sequence<kCount - 3>());
    Command described;
    described.queue = std::get<0>(all);
    described.blocking = blocks(all);
    described.wait_count = std::get<kCount - 3>(all);
    described.wait = std::get<kCount - 2>(all);
    described.event = std::get<kCount - 1>(all);
    described.carry_out = with(vendor().*Member, own);
    described.keep = [&own] { return Later<Member>::keep(own); };
    described.half = Later<Member>::half(own);
    if constexpr (std::is_same_v<std::tuple_element_t<1, std::tuple<A...>>, cl_kernel>) {
      if (fault.mode == Mode::kWrong) return run_wrongly(described, std::get<1>(all));
    }
    return enqueue(described, fault);
  }

  /// A mapping needs its pointer at once: what fails later has been done.
  static R mapping(Fault fault, const std::tuple<A...>& all) {
    constexpr size_t kCount = sizeof...(A);
    const auto own = first_of(all, std::make_index_sequence<kCount - 4>());
    if (fault.mode == Mode::kEvent) fault.mode = Mode::kEventDone;
    R pointer = nullptr;
    Command described;
    described.queue = std::get<0>(all);
    described.blocking = blocks(all);
    described.wait_count = std::get<kCount - 4>(all);
    described.wait = std::get<kCount - 3>(all);
    described.event = std::get<kCount - 2>(all);
    described.carry_out = [&](cl_uint count, const cl_event* wait, cl_event* event) {
      cl_int code = CL_SUCCESS;
      pointer = std::apply(
          [&](auto... values) { return (vendor().*Member)(values..., count, wait, event, &code); },
          own);
      return code;
    };
    const cl_int code = enqueue(described, fault);
    if (cl_int* error = std::get<kCount - 1>(all)) *error = code;
    return code == CL_SUCCESS ? pointer : nullptr;
  }

  static cl_int done(const Fault& fault, A... arguments) {
    if (fault.mode == Mode::kFail) return fault.error;
    if (fault.mode == Mode::kHang) wait_for_ever();
    if constexpr (is_set_argument()) note_argument(arguments...);
    const cl_int code = Real<Member>::call(arguments...);
    return fault.mode == Mode::kNone ? code : fault.error;
  }

  static R made(const Fault& fault, A... arguments) {
    if (fault.mode == Mode::kNone) {
      const R object = (vendor().*Member)(arguments...);
      if constexpr (std::is_same_v<R, cl_context>) note_context(object, number_of(object));
      if constexpr (std::is_same_v<R, cl_mem>) note_memory(object);
      return object;
    }
    if constexpr (!std::is_same_v<R, void*>) {  // shared memory has no error but NULL
      tell(fault, std::get<sizeof...(A) - 1>(std::tuple<A...>(arguments...)));
    }
    return nullptr;
  }

  static void tell(const Fault& fault, cl_int* error) {
    if (error != nullptr) *error = fault.error;
  }
};

// What is released is released, also by a lost device; and what was delayed may need it.

cl_int CL_API_CALL release_memory(cl_mem memory) {
  carry_out_all();
  return vendor().clReleaseMemObject(memory);
}

cl_int CL_API_CALL release_queue(cl_command_queue queue) {
  carry_out_all();
  release(queue);
  return vendor().clReleaseCommandQueue(queue);
}

cl_int CL_API_CALL release_event(cl_event event) {
  release(event);
  return vendor().clReleaseEvent(event);
}

cl_int CL_API_CALL event_info(cl_event event, cl_event_info name, size_t size, void* value,
                              size_t* needed) {
  static const int number = function_number("clGetEventInfo");
  const Fault fault = next_call(number, device_of(event), context_of(event));
  if (fault.mode != Mode::kNone) return fault.error;
  if (name == CL_EVENT_COMMAND_EXECUTION_STATUS && size >= sizeof(cl_int) && value != nullptr) {
    if (const auto status = status_of(event)) {
      *static_cast<cl_int*>(value) = *status;
      if (needed != nullptr) *needed = sizeof(cl_int);
      return CL_SUCCESS;
    }
  }
  const cl_int code = vendor().clGetEventInfo(event, name, size, value, needed);
  if (code == CL_SUCCESS && name == CL_EVENT_COMMAND_EXECUTION_STATUS && value != nullptr &&
      *static_cast<cl_int*>(value) <= CL_COMPLETE) {
    note_ended(event);
  }
  return code;
}

cl_int CL_API_CALL profiling_info(cl_event event, cl_profiling_info name, size_t size, void* value,
                                  size_t* needed) {
  static const int number = function_number("clGetEventProfilingInfo");
  const Fault fault = next_call(number, device_of(event), context_of(event));
  if (fault.mode != Mode::kNone) return fault.error;
  if (is_ours(event)) return CL_PROFILING_INFO_NOT_AVAILABLE;
  return vendor().clGetEventProfilingInfo(event, name, size, value, needed);
}

template <auto Member>
void hook(Table& table, const char* name) {
  if (table.*Member == nullptr) return;
  // What is freed is freed.
  if constexpr (!std::is_same_v<decltype(Member), decltype(&Table::clSVMFree)>) {
    Hook<Member>::number = function_number(name);
    table.*Member = &Hook<Member>::call;
  }
}

}  // namespace

int device_of(cl_command_queue queue) {
  cl_device_id device = nullptr;
  vendor().clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, nullptr);
  return number_of(device);
}

void note_devices(const cl_icd_dispatch& table, cl_platform_id platform) {
  cl_uint count = 0;
  table.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count);
  devices().resize(count);
  table.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices().data(), nullptr);
}

void set_hooks(cl_icd_dispatch& table) {
#define TUTTI_VENDOR_FUNCTION(name, since, need) hook<&Table::name>(table, #name);
#include "backends/opencl/vendor_functions.def"
#undef TUTTI_VENDOR_FUNCTION
  // What programs without Tutti use beside these.
  hook<&Table::clEnqueueBarrierWithWaitList>(table, "clEnqueueBarrierWithWaitList");
  hook<&Table::clEnqueueCopyBufferRect>(table, "clEnqueueCopyBufferRect");
  // What only asks, or gives back, is not made to fail.
  table.clGetEventInfo = &event_info;
  table.clGetEventProfilingInfo = &profiling_info;
  table.clReleaseMemObject = &release_memory;
  table.clReleaseCommandQueue = &release_queue;
  table.clReleaseEvent = &release_event;
  table.clReleaseContext = vendor().clReleaseContext;
  table.clReleaseProgram = vendor().clReleaseProgram;
  table.clReleaseKernel = vendor().clReleaseKernel;
  table.clReleaseSampler = vendor().clReleaseSampler;
  table.clReleaseDevice = vendor().clReleaseDevice;
}

}  // namespace tutti::faulty
