// SPDX-License-Identifier: Apache-2.0
// What a scenario works with: one context with a queue, kernels, buffers, and the judge of what the
// driver delivers. A result is told when, before or at the delivery of wrong bytes, a call returned
// an error or an event that the scenario holds had failed. Errors of releases count for nothing.
//
// To be used from one thread.
#pragma once

#include <CL/cl.h>

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace tutti::faults {

using Numbers = std::vector<cl_uint>;

/// Nothing more can be done, since an object could not be made. The application has been told.
struct CannotGoOn : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class World {
 public:
  /// `hold_events`: every command's event is held, and looked at with each delivery.
  explicit World(bool hold_events);
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World();

  cl_context context() const { return context_; }
  cl_command_queue queue() const { return queue_; }
  cl_device_id device() const { return device_; }

  /// Objects belong to the world.
  cl_command_queue make_queue(cl_command_queue_properties properties = 0);
  cl_mem buffer(size_t bytes, cl_mem_flags flags = CL_MEM_READ_WRITE, void* host = nullptr);
  cl_mem buffer_of(const Numbers& content, cl_mem_flags flags = CL_MEM_READ_WRITE);
  cl_mem sub_buffer(cl_mem parent, size_t origin, size_t bytes);
  cl_mem image(size_t width, size_t height);
  cl_kernel kernel(const char* name);
  /// Numbers that commands may use until the process has ended, also those that nobody waited for.
  static Numbers& kept(Numbers numbers);

  /// A call's code: an error is told from here on.
  void call(const char* what, cl_int code);
  void set(cl_kernel kernel, cl_uint index, cl_mem memory);
  void set(cl_kernel kernel, cl_uint index, cl_uint value);
  /// One-dimensional, in groups of 64, with `arguments` set first.
  void launch(cl_command_queue queue, cl_kernel kernel, size_t items);
  void launch(cl_kernel kernel, size_t items) { launch(queue_, kernel, items); }

  /// Where the command's event goes: null, unless the scenario holds them.
  cl_event* hold();
  /// An event that the scenario needs in any case.
  cl_event* event();
  void wait(const std::vector<cl_event>& events);
  void finish(cl_command_queue queue);
  void finish() { finish(queue_); }

  /// Blocking.
  void read(cl_command_queue queue, cl_mem memory, const Numbers& expected, size_t first = 0);
  void read(cl_mem memory, const Numbers& expected, size_t first = 0) {
    read(queue_, memory, expected, first);
  }
  /// Kernels that devices whose contexts were lost got in other ones; set by main().
  std::function<int()> launches_after_loss;
  /// What was told so far is no excuse for what comes.
  void begin_anew();
  /// An error was told since.
  bool told() const { return told_; }
  /// Bytes that a call with this code has just delivered.
  void delivered(const char* what, cl_int code, bool right);

  /// The last chance to tell; then the verdict: right, told, late or untold.
  std::string verdict();
  const std::string& first_error() const { return first_error_; }
  const std::string& first_wrong() const { return first_wrong_; }

 private:
  void look_at_events();

  bool hold_events_ = false;
  bool told_ = false, wrong_told_ = false, wrong_untold_ = false;
  std::string first_error_, first_wrong_;
  cl_device_id device_ = nullptr;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  cl_program program_ = nullptr;
  std::vector<cl_event*> events_;
  std::vector<cl_command_queue> queues_;
  std::vector<cl_mem> memory_;
  std::vector<cl_kernel> kernels_;
};

struct Scenario {
  const char* name;
  void (*run)(World&);
};

const std::vector<Scenario>& scenarios();
/// One that goes on until a device whose context was lost works again (comes_back.py).
void comes_back(World& w);

/// Some numbers, always the same.
Numbers noise(size_t count, cl_uint seed = 1);

}  // namespace tutti::faults
