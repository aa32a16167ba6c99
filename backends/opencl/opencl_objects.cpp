// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/opencl_objects.h"

#include "backends/opencl/device_queue.h"

#include <CL/cl_ext.h>

#include <algorithm>
#include <cstring>

#include "base/calling_threads.h"
#include "base/cl_error_name.h"
#include "base/log.h"

namespace tutti::backends {

Error VendorDevice::error(const char* call, cl_int code) const {
  Error error{code, name + ": " + call + ": " + cl_error_name(code)};
  log(LogLevel::kInfo, "{}", error.message);
  return error;
}

void VendorDevice::log_text(const char* call, const std::string& text) const {
  if (!text.empty()) log(LogLevel::kInfo, "{}: what {} says:\n{}", name, call, text);
}

tl::unexpected<Error> VendorDevice::gone(const char* call) const {
  return fail(CL_OUT_OF_RESOURCES,
              name + ": " + call + ": not called, since the process is exiting or was forked");
}

Result<cl_command_queue> create_vendor_queue(const VendorFunctions& cl, cl_context context,
                                             cl_device_id device,
                                             cl_command_queue_properties properties,
                                             const QueueHints& hints) {
  cl_int code = CL_SUCCESS;
  cl_command_queue queue = nullptr;
  const ApplicationSignals signals;  // Rusticl's queues have threads
  const char* call = "clCreateCommandQueue";
  const bool hinted = hints.priority != 0 || hints.throttle != 0;
  if (cl.clCreateCommandQueue && !(hinted && cl.clCreateCommandQueueWithProperties)) {
    queue = cl.clCreateCommandQueue(context, device, properties, &code);
  } else {
    call = "clCreateCommandQueueWithProperties";
    std::vector<cl_queue_properties> list{CL_QUEUE_PROPERTIES, properties};
    if (hints.priority != 0) list.insert(list.end(), {CL_QUEUE_PRIORITY_KHR, hints.priority});
    if (hints.throttle != 0) list.insert(list.end(), {CL_QUEUE_THROTTLE_KHR, hints.throttle});
    list.push_back(0);
    queue = cl.clCreateCommandQueueWithProperties(context, device, list.data(), &code);
  }
  if (code != CL_SUCCESS || !queue) return fail(code ? code : CL_OUT_OF_RESOURCES, call);
  return queue;
}

Result<cl_sampler> create_vendor_sampler(const VendorFunctions& cl, cl_context context,
                                         const SamplerState& state) {
  cl_int code = CL_INVALID_OPERATION;
  cl_sampler sampler = nullptr;
  const char* call = "clCreateSampler";
  const cl_bool normalized = state.normalized ? CL_TRUE : CL_FALSE;
  if (cl.clCreateSampler) {
    sampler = cl.clCreateSampler(context, normalized, state.addressing, state.filter, &code);
  } else if (cl.clCreateSamplerWithProperties) {
    call = "clCreateSamplerWithProperties";
    const cl_sampler_properties list[] = {CL_SAMPLER_NORMALIZED_COORDS,
                                          normalized,
                                          CL_SAMPLER_ADDRESSING_MODE,
                                          state.addressing,
                                          CL_SAMPLER_FILTER_MODE,
                                          state.filter,
                                          0};
    sampler = cl.clCreateSamplerWithProperties(context, list, &code);
  }
  if (code != CL_SUCCESS || !sampler) return fail(code ? code : CL_OUT_OF_RESOURCES, call);
  return sampler;
}

// Queues' tracks and completions
// ---------------------------------------------------------------------------------

void QueueTrack::begin_busy() {
  if (!busy_.exchange(true, std::memory_order_relaxed)) live::begin_busy(*live_);
}

void QueueTrack::end_busy(uint64_t count) {
  if (!busy_.exchange(false, std::memory_order_relaxed)) return;
  live::end_busy(*live_);
  count_calls();
  if (enqueued.load(std::memory_order_relaxed) > count)
    begin_busy();  // another thread's, meanwhile
}

void QueueTrack::count_calls() {
  const uint64_t calls = enqueued.load(std::memory_order_relaxed);
  uint64_t before = counted_.load(std::memory_order_relaxed);
  while (before < calls &&
         !counted_.compare_exchange_weak(before, calls, std::memory_order_relaxed)) {
  }
  if (before < calls) live::add(live_->commands, calls - before);
}

cl_int QueueTrack::flush(const VendorDevice& device) {
  const uint64_t handed =
      enqueued.load(std::memory_order_acquire) + markers_.load(std::memory_order_acquire);
  uint64_t known = flushed_.load(std::memory_order_acquire);
  if (known >= handed) return CL_SUCCESS;
  const cl_int code = device.cl->clFlush(queue.get());
  if (code != CL_SUCCESS) return code;
  while (known < handed &&
         !flushed_.compare_exchange_weak(known, handed, std::memory_order_acq_rel)) {
  }
  return code;
}

void QueueTrack::set_milestone(const VendorDevice& device) {
  constexpr uint32_t kDistance = 32;
  if (unmarked_.fetch_add(1, std::memory_order_relaxed) + 1 < kDistance) return;
  MutexLock lock(marking);
  const uint64_t known = ended.load(std::memory_order_acquire);
  while (!milestones_.empty() && milestones_.front().calls_before <= known) milestones_.pop_front();
  const uint64_t calls_before = enqueued.load(std::memory_order_acquire);
  cl_event marker = nullptr;
  const cl_int code = device.cl->clEnqueueMarkerWithWaitList(queue.get(), 0, nullptr, &marker);
  if (code != CL_SUCCESS) {
    device.note("clEnqueueMarkerWithWaitList", code);
    return;  // the next call tries again
  }
  note_marker();
  unmarked_.store(0, std::memory_order_relaxed);
  if (live_) count_calls();
  milestones_.push_back({{marker, device.cl->clReleaseEvent}, calls_before});
}

void QueueTrack::look_at_milestones(const VendorDevice& device, uint64_t number) {
  MutexLock lock(marking);
  if (milestones_.empty() || milestones_.back().calls_before < number) return;
  while (!milestones_.empty()) {
    const Milestone& next = milestones_.front();
    cl_int status = CL_QUEUED;
    const cl_int code = device.cl->clGetEventInfo(
        next.marker.get(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
    if (code != CL_SUCCESS) device.note("clGetEventInfo", code);
    if (code != CL_SUCCESS || status > CL_COMPLETE) return;
    if (status == CL_COMPLETE) {
      note_ended(next.calls_before);
    } else {
      device.note("command", status);  // who waits is told, too
    }
    milestones_.pop_front();
  }
}

cl_int OpenClCompletion::poll() {
  const cl_int seen = status_.load(std::memory_order_acquire);
  if (seen <= CL_COMPLETE) return seen;
  const cl_event event = event_.load(std::memory_order_acquire);
  // That others behind it have ended says nothing of how one has that can be asked itself.
  if (event == nullptr && ended_unseen()) return CL_COMPLETE;
  if (vendors_gone()) return CL_OUT_OF_RESOURCES;
  if (event == nullptr) {
    track_->look_at_milestones(device_, number_.load(std::memory_order_acquire));
    return ended_unseen() ? CL_COMPLETE : CL_SUBMITTED;
  }
  cl_int status = CL_QUEUED;
  const auto ask = [&] {
    return device_.cl->clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status,
                                      &status, nullptr);
  };
  cl_int code = ask();
  if (code != CL_SUCCESS) code = ask();  // the question has failed, which says nothing of the event
  if (code != CL_SUCCESS) {
    device_.note("clGetEventInfo", code);
    return code < 0 ? code : CL_OUT_OF_RESOURCES;
  }
  if (status < CL_COMPLETE) device_.note("command", status);  // only its code goes further
  if (status <= CL_COMPLETE) {
    status_.store(status, std::memory_order_release);
    track_->note_ended(before_);  // the queue is in-order
    track_->note_idle(number_.load(std::memory_order_relaxed));
  }
  return status;
}

OpenClCompletion::~OpenClCompletion() {
  const cl_event event = event_.load(std::memory_order_acquire);
  if (!event || vendors_gone()) return;
  const cl_int code = device_.cl->clReleaseEvent(event);
  if (code != CL_SUCCESS) device_.note("clReleaseEvent", code);
}

cl_event OpenClCompletion::event() const {
  if (const cl_event made = event_.load(std::memory_order_acquire)) return made;
  MutexLock lock(track_->marking);
  if (const cl_event made = event_.load(std::memory_order_relaxed)) return made;
  cl_event marker = nullptr;
  const cl_int code = device_.cl->clEnqueueMarkerWithWaitList(queue(), 0, nullptr, &marker);
  if (code != CL_SUCCESS) {
    device_.note("clEnqueueMarkerWithWaitList", code);
    return nullptr;
  }
  track_->note_marker();
  event_.store(marker, std::memory_order_release);
  return marker;
}

cl_int OpenClCompletion::finish_queue() const {
  const uint64_t before = track_->enqueued.load(std::memory_order_acquire);
  const cl_int code = device_.cl->clFinish(queue());
  if (code == CL_SUCCESS) track_->note_ended(before);
  return code;
}

void OpenClCompletion::flush_queue() const {
  const cl_int code = track_->flush(device_);
  if (code != CL_SUCCESS) device_.note("clFlush", code);
}

Status OpenClCompletion::wait() {
  cl_int status = poll();
  if (status > CL_COMPLETE) {
    if (vendors_gone()) return device_.gone("clWaitForEvents");
    const auto turn = device_.turn();
    const cl_event ending = event();
    if (ending == nullptr) {
      const cl_int code = finish_queue();
      if (code != CL_SUCCESS) return device_.failure("clFinish", code);
      return {};
    }
    flush_queue();
    cl_int code = device_.cl->clWaitForEvents(1, &ending);
    status = poll();
    // The wait has failed, and not the command: it may be waited for again.
    if (code != CL_SUCCESS && status >= CL_COMPLETE && !vendors_gone()) {
      code = device_.cl->clWaitForEvents(1, &ending);
      status = poll();
    }
    // The command's own error says more than "an event in the list failed".
    if (code != CL_SUCCESS && status >= CL_COMPLETE) {
      return device_.failure("clWaitForEvents", code);
    }
    if (status > CL_COMPLETE) {
      return device_.failure("clWaitForEvents", code != CL_SUCCESS ? code : CL_INVALID_EVENT);
    }
  }
  if (status < CL_COMPLETE) {
    if (vendors_gone()) return device_.gone("clWaitForEvents");
    return device_.failure("command", status);
  }
  return {};
}

std::optional<VendorTimes> OpenClCompletion::times() {
  if (!own_event_ || poll() != CL_COMPLETE || vendors_gone()) return std::nullopt;
  VendorTimes times;
  const std::pair<cl_profiling_info, uint64_t*> queries[] = {
      {CL_PROFILING_COMMAND_QUEUED, &times.queued},
      {CL_PROFILING_COMMAND_SUBMIT, &times.submitted},
      {CL_PROFILING_COMMAND_START, &times.started},
      {CL_PROFILING_COMMAND_END, &times.ended}};
  for (const auto& [what, value] : queries) {
    cl_ulong time = 0;
    const cl_int code =
        device_.cl->clGetEventProfilingInfo(event_.load(), what, sizeof time, &time, nullptr);
    if (code != CL_SUCCESS) {
      // The answer of queues that do not measure.
      if (code != CL_PROFILING_INFO_NOT_AVAILABLE) device_.note("clGetEventProfilingInfo", code);
      return std::nullopt;
    }
    *value = time;
  }
  // Mesa 22.3 on llvmpipe gives consecutive numbers, whatever ran.
  if (times.submitted == times.queued + 1 && times.started == times.submitted + 1 &&
      times.ended == times.started + 1) {
    return std::nullopt;
  }
  return times;
}

// Memory --------------------------------------------------------------------------------------

uint64_t next_object_number() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

OpenClMemory::OpenClMemory(const VendorDevice& device, Made made, const Shape& shape,
                           std::function<Result<Made>()> again)
    : device_(device),
      shape_(shape),
      again_(std::move(again)),
      generation_(made.generation),
      handle_(made.memory.get()),
      number_(next_object_number()) {
  made_.push_back(std::move(made.memory));
}

OpenClMemory::~OpenClMemory() {
  if (vendors_gone()) return;
  const auto turn = device_.turn();
  {
    MutexLock lock(mutex_);
    windows_.clear();
    old_windows_.clear();
    made_.clear();
  }
}

bool OpenClMemory::renew() {
  if (!again_) return false;
  MutexLock lock(mutex_);
  if (generation_.load(std::memory_order_relaxed) == device_.generation()) return true;
  auto made = again_();
  if (!made) return false;
  old_windows_.push_back(std::exchange(windows_, {}));
  handle_.store(made->memory.get(), std::memory_order_release);
  number_.store(next_object_number(), std::memory_order_relaxed);
  generation_.store(made->generation, std::memory_order_release);
  made_.push_back(std::move(made->memory));
  return true;
}

Result<OpenClMemory::View> OpenClMemory::view(uint64_t origin, uint64_t size) {
  if (!is_present()) return device_.of_lost_context("memory");
  if (origin == 0 && size == shape_.size) return View{handle_.load(), number_.load()};
  if (size == 0 || origin > shape_.size || size > shape_.size - origin) {
    return device_.failure("window of a buffer", CL_INVALID_VALUE);
  }
  MutexLock lock(mutex_);
  if (const auto found = windows_.find({origin, size}); found != windows_.end()) {
    return View{found->second.memory.get(), found->second.number};
  }
  if (!device_.cl->clCreateSubBuffer || device_.quirks.no_sub_buffers) {
    return device_.failure("clCreateSubBuffer", CL_INVALID_OPERATION);
  }
  // The lock is held over the vendor's call: two threads must not make the same window twice.
  const cl_buffer_region region{static_cast<size_t>(origin), static_cast<size_t>(size)};
  cl_int code = CL_SUCCESS;
  Window window{
      OwnedMemory(device_.cl->clCreateSubBuffer(made_.back().get(), CL_MEM_READ_WRITE,
                                                CL_BUFFER_CREATE_TYPE_REGION, &region, &code),
                  device_.cl->clReleaseMemObject),
      next_object_number()};
  if (code != CL_SUCCESS || !window.memory.get()) {
    return device_.failure("clCreateSubBuffer", code ? code : CL_OUT_OF_RESOURCES);
  }
  const View view{window.memory.get(), window.number};
  windows_.emplace(std::pair(origin, size), std::move(window));
  return view;
}

Result<OpenClMemory::View> OpenClMemory::argument_view(uint64_t origin, uint64_t size) {
  const std::byte* const address = shared();
  if (!address || origin >= shape_.size) return view(origin, size);
  if (origin == 0 && size == shape_.size) {
    if (shape_.shared_kind == SharedKind::kBuffer) return view(origin, size);
    return View{handle_.load(), number_.load(), address, shape_.shared_kind};
  }
  // Pointers into shared memory need no object of the vendor's: the same address is the same to it.
  const uint64_t number = reinterpret_cast<uintptr_t>(address + origin) | uint64_t{1} << 63;
  return View{handle_.load(), number, address + origin, shape_.shared_kind};
}

// Kernels -------------------------------------------------------------------------------------

OpenClKernel::OpenClKernel(const VendorDevice& device, std::shared_ptr<OpenClProgram> program,
                           const std::string& name, CompileAhead compile_ahead)
    : device_(device),
      program_(std::move(program)),
      name_(name),
      live_(live::kernel(device.live, name)),
      live_number_(live::number_of(live_)),
      compile_ahead_(std::move(compile_ahead)) {}

Result<std::unique_ptr<OpenClKernel>> OpenClKernel::create(const VendorDevice& device,
                                                           std::shared_ptr<OpenClProgram> program,
                                                           const std::string& name,
                                                           const CompileAhead& ahead) {
  std::unique_ptr<OpenClKernel> kernel(new OpenClKernel(device, std::move(program), name, ahead));
  MutexLock lock(kernel->mutex_);
  TUTTI_TRY(kernel->make());
  lock.unlock();
  return kernel;
}

Status OpenClKernel::make() {
  TUTTI_ASSIGN(const OpenClProgram::Present program, program_->present());
  cl_int code = CL_SUCCESS;
  OwnedKernel kernel(device_.cl->clCreateKernel(program.handle, name_.c_str(), &code),
                     device_.cl->clReleaseKernel);
  if (code != CL_SUCCESS || !kernel.get()) {
    return device_.failure("clCreateKernel", code ? code : CL_OUT_OF_RESOURCES);
  }
  cl_uint count = 0;
  code =
      device_.cl->clGetKernelInfo(kernel.get(), CL_KERNEL_NUM_ARGS, sizeof count, &count, nullptr);
  if (code != CL_SUCCESS) return device_.failure("clGetKernelInfo", code);
  samplers_.clear();
  reached_ = {};
  arguments_ = std::vector<Held>(count);
  kernel_ = std::move(kernel);
  generation_ = program.generation;
  return {};
}

Result<std::vector<std::byte>> OpenClKernel::work_group_info(cl_kernel_work_group_info what) {
  if (vendors_gone()) return device_.gone("clGetKernelWorkGroupInfo");
  if (what == CL_KERNEL_WORK_GROUP_SIZE && device_.quirks.understates_group_size) {
    auto limit = query_bytes("clGetDeviceInfo", [&](size_t size, void* value, size_t* ret) {
      return device_.cl->clGetDeviceInfo(device_.device, CL_DEVICE_MAX_WORK_GROUP_SIZE, size, value,
                                         ret);
    });
    if (!limit) return device_.failure("clGetDeviceInfo", limit.error().code);
    return limit;
  }
  MutexLock lock(mutex_);
  if (generation_ != device_.generation()) TUTTI_TRY(make());
  const cl_kernel kernel = kernel_.get();
  auto info = query_bytes("clGetKernelWorkGroupInfo", [&](size_t size, void* value, size_t* ret) {
    return device_.cl->clGetKernelWorkGroupInfo(kernel, device_.device, what, size, value, ret);
  });
  if (!info) return device_.failure("clGetKernelWorkGroupInfo", info.error().code);
  return info;
}

Result<std::vector<std::byte>> OpenClKernel::argument_info(uint32_t index,
                                                           cl_kernel_arg_info what) {
  if (vendors_gone()) return device_.gone("clGetKernelArgInfo");
  if (!device_.cl->clGetKernelArgInfo) return Kernel::argument_info(index, what);
  MutexLock lock(mutex_);
  if (generation_ != device_.generation()) TUTTI_TRY(make());
  const cl_kernel kernel = kernel_.get();
  auto info = query_bytes("clGetKernelArgInfo", [&](size_t size, void* value, size_t* ret) {
    return device_.cl->clGetKernelArgInfo(kernel, index, what, size, value, ret);
  });
  if (!info) return device_.failure("clGetKernelArgInfo", info.error().code);
  return info;
}

size_t OpenClKernel::argument_count() {
  const MutexLock lock(mutex_);
  return arguments_.size();
}

Result<std::vector<std::byte>> OpenClKernel::sub_group_info(cl_kernel_sub_group_info what,
                                                            std::span<const size_t> input,
                                                            size_t size) {
  if (vendors_gone()) return device_.gone("clGetKernelSubGroupInfo");
  const VendorFunctions& cl = *device_.cl;
  const auto ask =
      cl.clGetKernelSubGroupInfo ? cl.clGetKernelSubGroupInfo : cl.clGetKernelSubGroupInfoKHR;
  if (!ask) return device_.failure("clGetKernelSubGroupInfo", CL_INVALID_OPERATION);
  MutexLock lock(mutex_);
  if (generation_ != device_.generation()) TUTTI_TRY(make());
  const cl_kernel kernel = kernel_.get();
  std::vector<std::byte> answer(size);
  size_t answered = 0;
  const cl_int code = ask_vendor([&] {
    return ask(kernel, device_.device, what, input.size_bytes(),
               input.empty() ? nullptr : input.data(), size, size == 0 ? nullptr : answer.data(),
               &answered);
  });
  if (code != CL_SUCCESS) return device_.failure("clGetKernelSubGroupInfo", code);
  answer.resize(answered);
  return answer;
}

Status OpenClKernel::set_arguments(std::span<const Argument> arguments) {
  if (generation_ != device_.generation()) TUTTI_TRY(make());
  const auto end = std::find_if(arguments.begin(), arguments.end(), [](const Argument& one) {
    return one.kind == Argument::Kind::kReached;
  });
  const auto reached = arguments.subspan(static_cast<size_t>(end - arguments.begin()));
  arguments = arguments.first(arguments.size() - reached.size());
  if (!reached.empty() || !reached_.empty()) TUTTI_TRY(set_reached(reached));
  if (arguments.size() != arguments_.size()) {
    return device_.failure("clSetKernelArg", CL_INVALID_KERNEL_ARGS);
  }
  for (uint32_t i = 0; i < arguments.size(); ++i) {
    const Argument& argument = arguments[i];
    Held& held = arguments_[i];
    if (held.is(argument)) continue;
    if (held.is_number_like(argument)) {
      held.set = false;  // until the vendor has taken it
      const cl_int code = device_.cl->clSetKernelArg(kernel_.get(), i, argument.bytes.size(),
                                                     argument.bytes.data());
      if (code != CL_SUCCESS) return device_.failure("clSetKernelArg", code);
      copy_bytes(held.bytes, argument.bytes);
      held.set = true;
    } else {
      TUTTI_TRY(set_argument(i, argument, held));
    }
  }
  return {};
}

Status OpenClKernel::set_argument(uint32_t index, const Argument& argument, Held& held) {
  const bool comparable = held.set && held.kind == argument.kind;
  size_t size = 0;
  const void* value = nullptr;
  const void* address = nullptr;
  SharedKind kind = SharedKind::kVirtual;
  uint64_t number = 0;
  cl_mem memory = nullptr;
  cl_sampler sampler = nullptr;
  cl_command_queue queue = nullptr;
  switch (argument.kind) {
    case Argument::Kind::kReached:
      return device_.failure("clSetKernelArg", CL_INVALID_KERNEL_ARGS);
    case Argument::Kind::kBytes:
      size = argument.bytes.size();
      value = argument.bytes.data();
      break;
    case Argument::Kind::kLocal:
      if (comparable && held.value == argument.local_size) return {};
      size = device_.cl->local_memory_size(argument.local_size);
      number = argument.local_size;
      break;
    case Argument::Kind::kMemory:
      if (argument.memory) {
        auto view = static_cast<OpenClMemory*>(argument.memory)
                        ->argument_view(argument.origin, argument.size);
        if (!view) return tl::unexpected<Error>(std::move(view).error());
        memory = view->handle;
        number = view->number;
        address = view->address;
        kind = view->kind;
      }
      if (comparable && held.value == number) return {};
      size = sizeof memory;
      value = &memory;
      break;
    case Argument::Kind::kQueue:
      queue = static_cast<OpenClDeviceQueue*>(argument.queue)->handle();
      if (!queue) return device_.of_lost_context("queue on the device");
      number = static_cast<OpenClDeviceQueue*>(argument.queue)->number();
      if (comparable && held.value == number) return {};
      size = sizeof queue;
      value = &queue;
      break;
    case Argument::Kind::kSampler:
      if (comparable && held.sampler == argument.sampler) return {};
      TUTTI_ASSIGN(sampler, this->sampler(argument.sampler));
      size = sizeof sampler;
      value = &sampler;
      break;
  }
  held.set = false;  // until the vendor has taken it
  cl_int code = CL_SUCCESS;
  const char* call = "clSetKernelArg";
  if (!address) {
    code = device_.cl->clSetKernelArg(kernel_.get(), index, size, value);
  } else if (kind == SharedKind::kBuffer) {
    call = "clSetKernelArgDevicePointerEXT";
    code = device_.cl->clSetKernelArgDevicePointerEXT(kernel_.get(), index,
                                                      reinterpret_cast<uintptr_t>(address));
  } else if (is_unified(kind)) {
    call = "clSetKernelArgMemPointerINTEL";
    code = device_.cl->clSetKernelArgMemPointerINTEL(kernel_.get(), index, address);
  } else {
    call = "clSetKernelArgSVMPointer";
    code = device_.cl->clSetKernelArgSVMPointer(kernel_.get(), index, address);
  }
  if (code != CL_SUCCESS) return device_.failure(call, code);
  held.kind = argument.kind;
  held.value = number;
  held.sampler = argument.sampler;
  if (argument.kind == Argument::Kind::kBytes) {
    held.bytes.resize(size);
    copy_bytes(held.bytes, argument.bytes);
  }
  held.set = true;
  return {};
}

Result<cl_sampler> OpenClKernel::sampler(const SamplerState& state) {
  if (const auto found = samplers_.find(state); found != samplers_.end()) {
    return found->second.get();
  }
  cl_context context = nullptr;
  const cl_int code = device_.cl->clGetKernelInfo(kernel_.get(), CL_KERNEL_CONTEXT, sizeof context,
                                                  &context, nullptr);
  if (code != CL_SUCCESS) return device_.failure("clGetKernelInfo", code);
  auto made = create_vendor_sampler(*device_.cl, context, state);
  if (!made) return device_.failure(made.error().message.c_str(), made.error().code);
  samplers_.emplace(state, OwnedSampler(*made, device_.cl->clReleaseSampler));
  return *made;
}

}  // namespace tutti::backends
