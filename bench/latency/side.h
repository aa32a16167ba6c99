// SPDX-License-Identifier: Apache-2.0
// One platform's side of tutti-latency: a device with the queues, kernels and buffers that the rows
// use, and what each of these commands has to have computed, so that lost, doubled or misplaced
// ones show. One thread drives it; callbacks may come from any.
#pragma once

#include <array>
#include <atomic>
#include <optional>
#include <span>
#include <string>

#include "cl_objects.h"
#include "recorded_commands.h"

namespace tutti::bench {

constexpr std::size_t kItems = 64;
constexpr cl_uint kLaunches = 1000;
constexpr cl_uint kTwenty = 20;

class Side {
 public:
  Side(std::string name, const std::string& platform, const std::string& device);

  const std::string& name() const { return name_; }
  const DeviceChoice& choice() const { return session_.choice(); }

  void launch(cl_event* event = nullptr, const cl_event* after = nullptr);
  /// With another number than before: one argument is set.
  void add(cl_uint number);
  /// With a number, at most kLaunches, that a small write without an event brings.
  void add_from(cl_uint number);
  /// The same, behind a blocking write.
  void add_from_at_once(cl_uint number);
  /// Whose counters launch() adds to.
  void choose(std::size_t target);
  void release(cl_event event) { check(clReleaseEvent(event), "clReleaseEvent"); }
  void finish() { session_.finish(); }
  void read_counter();
  void read();
  void write();

  /// On an out-of-order queue, where the device has such.
  void launch_and_barrier();
  void finish_unordered() { finish(unordered_); }
  void launch_and_mark();
  /// The callback is counted.
  void launch_and_call_back();
  /// Until `count` callbacks have been made that were not waited for before.
  void wait_for_callbacks(cl_uint count);
  /// On a profiling queue: waits for the launch, and reads when it began and ended.
  void launch_and_read_times();
  /// With a number, in each element of 64 bytes that are mapped for it.
  void add_from_mapped(cl_uint number);
  /// With 1 or 2, the first of 4 KiB that are copied for it.
  void add_from_copied(cl_uint number);
  /// A step of a search: a number is filled in, two launches, one with that number, the number is
  /// read, and all is finished.
  void search(cl_uint number);
  /// With a number that 4 KiB are filled with.
  void add_from_filled(cl_uint number);
  /// With a number in a buffer that is made for it, and released at once.
  void add_from_new(cl_uint number);
  /// On the second queue, or the first; and flushes it, so that the other one may wait for `event`.
  void launch_on(bool second, cl_event* event, const cl_event* after);
  void finish_second() { finish(second_); }
  /// Of two kernels one: from the first buffer into the second, or back.
  void step(bool back);
  /// Four times a copy and a launch of each of four kernels; `event` is of the last.
  void enqueue_twenty(cl_event* event = nullptr);
  /// The same, recorded before; its event is the command buffer's.
  void replay_twenty(cl_event* event = nullptr);
  bool can_record() const { return recorded_.has_value(); }
  void wait_and_release(cl_event event);
  /// Whether commands may wait for a user event: of PoCL's device without threads the call that
  /// sets its status never returns.
  bool can_hold_back() const;
  cl_event make_user_event();
  void complete(cl_event user_event);

  /// Whether every launch was computed exactly once.
  bool counters_are_right();

 private:
  static void CL_CALLBACK count_callback(cl_event event, cl_int status, void* side);
  Queue make_queue(cl_command_queue_properties wanted) const;
  void record_twenty();
  void expect_twenty();
  void finish(const Queue& queue) { check(clFinish(queue.get()), "clFinish"); }
  /// Raw and without allocation: the call itself is what is measured.
  void enqueue(cl_command_queue queue, const Kernel& kernel, cl_event* event,
               const cl_event* after = nullptr);

  std::string name_;
  Session session_;
  Queue unordered_, profiling_, second_;
  Program program_;
  Kernel tiny_, add_, add_from_, forth_, back_;
  Kernel add_mapped_, add_copied_, add_filled_, add_found_,
      add_new_;  // as add_from_, of other buffers
  std::array<DeviceArray<cl_uint>, 2> arrays_;
  std::array<DeviceArray<cl_uint>, 2> steps_;
  std::array<DeviceArray<cl_uint>, 2> copied_;  // hold 1 and 2
  DeviceArray<cl_uint> number_, mapped_, page_, filled_, found_, scratch_;
  std::optional<RecordedCommands> recorded_;
  std::array<cl_uint, 16> host_{};
  std::array<cl_uint, kLaunches> numbers_{};
  std::array<cl_uint, 2> expected_{};
  std::array<cl_uint, 2> expected_steps_{};
  std::size_t target_ = SIZE_MAX;
  std::atomic<cl_uint> called_back_{0};
  std::atomic<cl_uint> awaited_callbacks_{0};  // of all so far
  bool times_are_right_ = true;
};

}  // namespace tutti::bench
