// SPDX-License-Identifier: Apache-2.0
#include "side.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace tutti::bench {
namespace {

constexpr std::size_t kPage = 4096 / sizeof(cl_uint);  // elements

constexpr const char* kSource = R"(
__kernel void tiny(__global uint* counters) { counters[get_global_id(0)] += 1u; }
__kernel void add(__global uint* counters, uint number) { counters[get_global_id(0)] += number; }
__kernel void add_from(__global uint* counters, __global const uint* number) {
  counters[get_global_id(0)] += *number;
}
__kernel void forth(__global uint* to, __global const uint* from) {
  to[get_global_id(0)] = from[get_global_id(0)] + 1u;
}
__kernel void back(__global uint* to, __global const uint* from) {
  to[get_global_id(0)] = from[get_global_id(0)] + 1u;
}
)";

}  // namespace

Side::Side(std::string name, const std::string& platform, const std::string& device)
    : name_(std::move(name)),
      session_(choose_device(platform, device)),
      unordered_(make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)),
      profiling_(make_queue(CL_QUEUE_PROFILING_ENABLE)),
      second_(make_queue(0)),
      // An option of its own keeps the drivers' program caches of the two sides apart.
      program_(session_.build(kSource, "-cl-std=CL1.2 -DSIDE_" + name_)),
      tiny_(make_kernel(program_, "tiny")),
      add_(make_kernel(program_, "add")),
      add_from_(make_kernel(program_, "add_from")),
      forth_(make_kernel(program_, "forth")),
      back_(make_kernel(program_, "back")),
      add_mapped_(make_kernel(program_, "add_from")),
      add_copied_(make_kernel(program_, "add_from")),
      add_filled_(make_kernel(program_, "add_from")),
      add_found_(make_kernel(program_, "add_from")),
      add_new_(make_kernel(program_, "add_from")),
      arrays_{DeviceArray<cl_uint>(session_, CL_MEM_READ_WRITE, kItems),
              DeviceArray<cl_uint>(session_, CL_MEM_READ_WRITE, kItems)},
      steps_{DeviceArray<cl_uint>(session_, CL_MEM_READ_WRITE, kItems),
             DeviceArray<cl_uint>(session_, CL_MEM_READ_WRITE, kItems)},
      copied_{DeviceArray<cl_uint>(session_, CL_MEM_READ_WRITE, kPage),
              DeviceArray<cl_uint>(session_, CL_MEM_READ_WRITE, kPage)},
      number_(session_, CL_MEM_READ_ONLY, 1),
      mapped_(session_, CL_MEM_READ_ONLY, host_.size()),
      page_(session_, CL_MEM_READ_WRITE, kPage),
      filled_(session_, CL_MEM_READ_WRITE, kPage),
      found_(session_, CL_MEM_READ_WRITE, 1),
      scratch_(session_, CL_MEM_READ_WRITE, kItems) {
  std::iota(numbers_.begin(), numbers_.end(), 1u);
  for (const auto& array : arrays_) array.fill(session_, 0);
  for (const auto& array : steps_) array.fill(session_, 0);
  for (cl_uint i = 0; i < copied_.size(); ++i) copied_[i].fill(session_, i + 1);
  scratch_.fill(session_, 0);
  choose(0);
  set_args(add_, arrays_[0], cl_uint{0});
  set_args(add_from_, arrays_[0], number_);
  set_args(add_mapped_, arrays_[0], mapped_);
  set_args(add_copied_, arrays_[0], page_);
  set_args(add_filled_, arrays_[0], filled_);
  set_args(add_found_, arrays_[0], found_);
  set_args(add_new_, arrays_[0]);
  set_args(forth_, steps_[1], steps_[0]);
  set_args(back_, steps_[0], steps_[1]);
  add(1);  // compiles, where the driver does so lazily
  add_from(1);
  launch();
  step(false);
  step(true);
  record_twenty();
  session_.finish();
}

void Side::record_twenty() {
  auto begun = RecordedCommands::begin(choice().platform, choice().device, session_.queue());
  if (!begun) return;
  recorded_.emplace(std::move(*begun));
  for (cl_uint i = 0; i < kTwenty / 5; ++i) {
    recorded_->copy(copied_[i % 2].get(), page_.get(), page_.bytes());
    recorded_->launch(add_copied_.get(), kItems);
    detail::set_arg(add_.get(), 1, i);
    recorded_->launch(add_.get(), kItems);
    recorded_->launch(forth_.get(), kItems);
    recorded_->launch(back_.get(), kItems);
  }
  recorded_->finalize();
}

void Side::expect_twenty() {
  for (cl_uint i = 0; i < kTwenty / 5; ++i) {
    expected_[0] += 1 + i % 2 + i;
    expected_steps_[1] = expected_steps_[0] + 1;
    expected_steps_[0] = expected_steps_[1] + 1;
  }
}

void Side::enqueue_twenty(cl_event* event) {
  for (cl_uint i = 0; i < kTwenty / 5; ++i) {
    check(clEnqueueCopyBuffer(session_.queue(), copied_[i % 2].get(), page_.get(), 0, 0,
                              page_.bytes(), 0, nullptr, nullptr),
          "clEnqueueCopyBuffer");
    enqueue(session_.queue(), add_copied_, nullptr);
    detail::set_arg(add_.get(), 1, i);
    enqueue(session_.queue(), add_, nullptr);
    enqueue(session_.queue(), forth_, nullptr);
    enqueue(session_.queue(), back_, (i + 1) * 5 == kTwenty ? event : nullptr);
  }
  expect_twenty();
}

void Side::replay_twenty(cl_event* event) {
  recorded_->enqueue(event);
  expect_twenty();
}

void Side::wait_and_release(cl_event event) {
  check(clWaitForEvents(1, &event), "clWaitForEvents");
  release(event);
}

Queue Side::make_queue(cl_command_queue_properties wanted) const {
  cl_command_queue_properties offered = 0;
  check(clGetDeviceInfo(session_.choice().device, CL_DEVICE_QUEUE_PROPERTIES, sizeof offered,
                        &offered, nullptr),
        "clGetDeviceInfo");
  cl_int status = CL_SUCCESS;
  Queue queue(clCreateCommandQueue(session_.context(), session_.choice().device, wanted & offered,
                                   &status));
  check(status, "clCreateCommandQueue");
  return queue;
}

void Side::enqueue(cl_command_queue queue, const Kernel& kernel, cl_event* event,
                   const cl_event* after) {
  static constexpr std::size_t kGlobal = kItems;
  check(clEnqueueNDRangeKernel(queue, kernel.get(), 1, nullptr, &kGlobal, &kGlobal, after ? 1 : 0,
                               after, event),
        "clEnqueueNDRangeKernel");
}

void Side::launch(cl_event* event, const cl_event* after) {
  enqueue(session_.queue(), tiny_, event, after);
  ++expected_[target_];
}

void Side::add(cl_uint number) {
  detail::set_arg(add_.get(), 1, number);
  enqueue(session_.queue(), add_, nullptr);
  expected_[0] += number;
}

void Side::add_from(cl_uint number) {
  number_.write(session_, std::span(numbers_).subspan(number - 1, 1));
  enqueue(session_.queue(), add_from_, nullptr);
  expected_[0] += number;
}

void Side::add_from_at_once(cl_uint number) {
  check(clEnqueueWriteBuffer(session_.queue(), number_.get(), CL_TRUE, 0, sizeof number, &number, 0,
                             nullptr, nullptr),
        "clEnqueueWriteBuffer");
  enqueue(session_.queue(), add_from_, nullptr);
  expected_[0] += number;
}

void Side::choose(std::size_t target) {
  if (target == target_) return;
  set_args(tiny_, arrays_[target]);
  target_ = target;
}

void Side::read_counter() {
  check(clEnqueueReadBuffer(session_.queue(), arrays_[target_].get(), CL_TRUE, 0, sizeof(cl_uint),
                            host_.data(), 0, nullptr, nullptr),
        "clEnqueueReadBuffer");
}

void Side::read() {
  check(clEnqueueReadBuffer(session_.queue(), scratch_.get(), CL_TRUE, 0, sizeof(host_),
                            host_.data(), 0, nullptr, nullptr),
        "clEnqueueReadBuffer");
}

void Side::write() {
  check(clEnqueueWriteBuffer(session_.queue(), scratch_.get(), CL_TRUE, 0, sizeof(host_),
                             host_.data(), 0, nullptr, nullptr),
        "clEnqueueWriteBuffer");
}

void Side::launch_and_barrier() {
  enqueue(unordered_.get(), tiny_, nullptr);
  check(clEnqueueBarrierWithWaitList(unordered_.get(), 0, nullptr, nullptr),
        "clEnqueueBarrierWithWaitList");
  ++expected_[target_];
}

void Side::launch_and_mark() {
  launch();
  cl_event event = nullptr;
  check(clEnqueueMarkerWithWaitList(session_.queue(), 0, nullptr, &event),
        "clEnqueueMarkerWithWaitList");
  release(event);
}

void CL_CALLBACK Side::count_callback(cl_event /*event*/, cl_int status, void* side) {
  Side& self = *static_cast<Side*>(side);
  if (status != CL_COMPLETE) return;  // it is missed
  // Either the waiter sees the last callback, or the last callback sees that it is awaited.
  const cl_uint called = self.called_back_.fetch_add(1) + 1;
  if (called == self.awaited_callbacks_.load()) self.called_back_.notify_one();
}

void Side::launch_and_call_back() {
  cl_event event = nullptr;
  launch(&event);
  check(clSetEventCallback(event, CL_COMPLETE, count_callback, this), "clSetEventCallback");
  release(event);
}

void Side::wait_for_callbacks(cl_uint count) {
  const cl_uint all = awaited_callbacks_.load() + count;
  awaited_callbacks_.store(all);
  for (;;) {
    const cl_uint called = called_back_.load();
    if (called == all) return;
    called_back_.wait(called);
  }
}

void Side::launch_and_read_times() {
  cl_event event = nullptr;
  enqueue(profiling_.get(), tiny_, &event);
  ++expected_[target_];
  check(clWaitForEvents(1, &event), "clWaitForEvents");
  cl_ulong begun = 0, ended = 0;
  check(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof begun, &begun, nullptr),
        "clGetEventProfilingInfo");
  check(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof ended, &ended, nullptr),
        "clGetEventProfilingInfo");
  times_are_right_ &= begun != 0 && begun <= ended;
  release(event);
}

void Side::add_from_mapped(cl_uint number) {
  cl_int status = CL_SUCCESS;
  void* mapped = clEnqueueMapBuffer(session_.queue(), mapped_.get(), CL_TRUE, CL_MAP_WRITE, 0,
                                    sizeof(host_), 0, nullptr, nullptr, &status);
  check(status, "clEnqueueMapBuffer");
  std::fill_n(static_cast<cl_uint*>(mapped), host_.size(), number);
  check(clEnqueueUnmapMemObject(session_.queue(), mapped_.get(), mapped, 0, nullptr, nullptr),
        "clEnqueueUnmapMemObject");
  enqueue(session_.queue(), add_mapped_, nullptr);
  expected_[0] += number;
}

void Side::add_from_copied(cl_uint number) {
  check(clEnqueueCopyBuffer(session_.queue(), copied_[number - 1].get(), page_.get(), 0, 0,
                            page_.bytes(), 0, nullptr, nullptr),
        "clEnqueueCopyBuffer");
  enqueue(session_.queue(), add_copied_, nullptr);
  expected_[0] += number;
}

void Side::search(cl_uint number) {
  found_.fill(session_, number);
  launch();
  enqueue(session_.queue(), add_found_, nullptr);
  expected_[0] += number;
  found_.read(session_, std::span(host_).first(1));
  finish();
}

void Side::add_from_filled(cl_uint number) {
  filled_.fill(session_, number);
  enqueue(session_.queue(), add_filled_, nullptr);
  expected_[0] += number;
}

void Side::add_from_new(cl_uint number) {
  const DeviceArray<cl_uint> made(session_, CL_MEM_READ_ONLY, host_.size());
  made.write(session_, std::span(numbers_).subspan(number - 1, 1));
  detail::set_arg(add_new_.get(), 1, made);
  enqueue(session_.queue(), add_new_, nullptr);
  expected_[0] += number;
}

void Side::launch_on(bool second, cl_event* event, const cl_event* after) {
  cl_command_queue queue = second ? second_.get() : session_.queue();
  enqueue(queue, tiny_, event, after);
  ++expected_[target_];
  check(clFlush(queue), "clFlush");
}

void Side::step(bool back) {
  enqueue(session_.queue(), back ? back_ : forth_, nullptr);
  expected_steps_[back ? 0 : 1] = expected_steps_[back ? 1 : 0] + 1;
}

bool Side::can_hold_back() const {
  if (choice().platform_name != "Portable Computing Language") return true;
  const std::string& device = choice().device_name;
  return !device.starts_with("basic") && !device.starts_with("cpu-minimal");
}

cl_event Side::make_user_event() {
  cl_int status = CL_SUCCESS;
  cl_event event = clCreateUserEvent(session_.context(), &status);
  check(status, "clCreateUserEvent");
  return event;
}

void Side::complete(cl_event user_event) {
  check(clSetUserEventStatus(user_event, CL_COMPLETE), "clSetUserEventStatus");
}

bool Side::counters_are_right() {
  const auto holds = [this](const DeviceArray<cl_uint>& array, cl_uint expected) {
    std::vector<cl_uint> found(kItems);
    array.read(session_, found);
    session_.finish();
    return std::all_of(found.begin(), found.end(), [&](cl_uint v) { return v == expected; });
  };
  bool right = times_are_right_;
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    right = right && holds(arrays_[i], expected_[i]) && holds(steps_[i], expected_steps_[i]);
  }
  return right && called_back_.load() == awaited_callbacks_.load();
}

}  // namespace tutti::bench
