// SPDX-License-Identifier: Apache-2.0
// The shape of every recording function: note the arguments by their types, call the entry point,
// write what it returned. Used by one thread for one call; when nothing is recorded (any more) it
// does nothing. Never throws: a record that cannot be written ends.
#pragma once

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "base/clock.h"
#include "icd/entry/entries.h"
#include "icd/recorder/recorder.h"
#include "icd/validate/gl_sharing.h"
#include "record/call.h"

namespace tutti::icd::recorder {

template <typename T>
struct KindOf {};
template <record::ObjectKind k>
using KindConstant = std::integral_constant<record::ObjectKind, k>;
template <>
struct KindOf<cl_platform_id> : KindConstant<record::ObjectKind::kPlatform> {};
template <>
struct KindOf<cl_device_id> : KindConstant<record::ObjectKind::kDevice> {};
template <>
struct KindOf<cl_context> : KindConstant<record::ObjectKind::kContext> {};
template <>
struct KindOf<cl_command_queue> : KindConstant<record::ObjectKind::kQueue> {};
template <>
struct KindOf<cl_mem> : KindConstant<record::ObjectKind::kMemory> {};
template <>
struct KindOf<cl_program> : KindConstant<record::ObjectKind::kProgram> {};
template <>
struct KindOf<cl_kernel> : KindConstant<record::ObjectKind::kKernel> {};
template <>
struct KindOf<cl_event> : KindConstant<record::ObjectKind::kEvent> {};
template <>
struct KindOf<cl_sampler> : KindConstant<record::ObjectKind::kSampler> {};
template <typename T>
concept ApiHandle = requires {
  KindOf<T>::value;
};

/// What the types of arguments do not tell.
struct Shape {
  size_t sizes = 3;    // elements behind a const size_t*; 0: a list of properties
  bool tells = false;  // may tell the application that commands have ended
  bool timed = false;  // enqueues a kernel, whose times are recorded
  bool asks = false;   // a query: its last arguments are size, value and the value's size
};

class RecordedCall {
 public:
  RecordedCall(const char* name, Shape shape) noexcept
      : recorder_(Recorder::current()), shape_(shape) {
    if (recorder_ == nullptr) return;
    guarded([&] {
      call_.name = name;
      call_.start_ns = now_ns();
      call_.begin = recorder_->tick();
    });
  }
  RecordedCall(const RecordedCall&) = delete;
  RecordedCall& operator=(const RecordedCall&) = delete;

  bool active() const { return recorder_ != nullptr; }
  Recorder& recorder() { return *recorder_; }
  uint64_t begin() const { return call_.begin; }

  /// Runs `step` if there is still a record; ends the record when it throws.
  template <typename Step>
  void guarded(Step&& step) noexcept {
    if (recorder_ == nullptr) return;
    try {
      step();
    } catch (...) {
      recorder_->stop("out of memory");
      recorder_ = nullptr;
    }
  }

  /// What stands for the next void pointers among the arguments.
  void set_pointee(record::Value value) { pointee_ = std::move(value); }
  void set_pointee(const HostRegion& region) {
    guarded([&] { set_pointee(recorder_->content_of(region)); });
  }

  /// What a query answered stands for its pointers. A long answer is not kept.
  void set_answer(const void* value) {
    guarded([&] {
      answered_ = *used_;
      if (value != nullptr && *used_ <= kLongestAnswer) {
        pointee_ = record::Value::of_bytes(std::span(static_cast<const std::byte*>(value), *used_));
      }
    });
  }

  template <typename... A>
  void arguments(A... arguments) noexcept {
    guarded([&] { (call_.arguments.push_back(value_of(arguments)), ...); });
  }
  template <typename T>
  void created(T handle) noexcept {
    guarded([&] {
      if (handle) call_.created.push_back(recorder_->created(KindOf<T>::value, handle));
    });
  }
  template <typename T>
  void found(T handle) noexcept {
    guarded([&] { call_.created.push_back(recorder_->found(KindOf<T>::value, handle)); });
  }

  /// An argument as the entry point gets it: errors, the sizes of queries' answers and, of commands
  /// that are watched, events come here where the application does not want them.
  template <typename T>
  T passed(T argument) {
    if constexpr (std::is_same_v<T, cl_int*>) {
      if (argument == nullptr) argument = &own_code_;
      code_ = argument;
    } else if constexpr (std::is_same_v<T, cl_event*>) {
      wanted_event_ = argument;
      if (argument == nullptr && (shape_.timed || watches_)) argument = &own_event_;
      event_ = argument;
    } else if constexpr (std::is_same_v<T, size_t*>) {
      if (argument == nullptr && shape_.asks) argument = &own_used_;
      used_ = argument;
    }
    return argument;
  }
  /// The data that the command gives the application are recorded when it has ended.
  void watch() { watches_ = true; }

  cl_int code() const { return code_ != nullptr ? *code_ : CL_SUCCESS; }

  /// Writes the call; `region`: see watch().
  void finish(cl_int code, const HostRegion& region = {}) noexcept {
    guarded([&] {
      call_.code = code;
      call_.duration_ns = now_ns() - call_.start_ns;
      const bool has_event = code == CL_SUCCESS && event_ != nullptr && *event_ != nullptr;
      if (has_event && wanted_event_ != nullptr) created(*wanted_event_);
      recorder_->write(call_);
      if (has_event && (shape_.timed || watches_)) {
        auto* const event = device_virtual::from_handle<device_virtual::Event>(*event_);
        recorder_->add_pending({event->context().lease(),
                                Ref<scheduler::Command>(&event->command()), call_.begin,
                                shape_.timed, region});
      }
      if (own_event_ != nullptr) icd::clReleaseEvent(own_event_);
      if (shape_.tells) recorder_->write_ended();
    });
  }

 private:
  static constexpr size_t kLongestAnswer = 256;  // bytes

  template <typename T>
  record::Value value_of(T argument) {
    using record::Value;
    if constexpr (ApiHandle<T>) {
      return Value::of_object(recorder_->object_of(KindOf<T>::value, argument));
    } else if constexpr (std::is_integral_v<T>) {
      if constexpr (std::is_same_v<T, cl_uint>) count_ = argument;
      return Value::of_number(static_cast<uint64_t>(argument));
    } else {
      return argument == nullptr ? Value::null() : value_behind(argument);
    }
  }
  template <typename T>
  record::Value value_behind(T* pointer) {
    using record::Value;
    using Pointee = std::remove_const_t<T>;
    if constexpr (std::is_same_v<T, const char>) {
      return Value::of_text(pointer);
    } else if constexpr (std::is_same_v<T, const char*>) {
      return Value::of_texts({pointer, pointer + count_});
    } else if constexpr (std::is_const_v<T> && ApiHandle<Pointee>) {
      std::vector<record::Object> objects;
      for (cl_uint i = 0; i < count_; ++i) {
        objects.push_back(recorder_->object_of(KindOf<Pointee>::value, pointer[i]));
      }
      return Value::of_objects(std::move(objects));
    } else if constexpr (std::is_same_v<T, const size_t>) {
      return Value::of_numbers(shape_.sizes > 0
                                   ? std::vector<uint64_t>(pointer, pointer + shape_.sizes)
                                   : properties(pointer));
    } else if constexpr (std::is_same_v<T, const cl_context_properties>) {
      std::vector<uint64_t> list = properties(pointer);
      if (list.size() > 1 && list[0] == CL_DEVICE_PARTITION_BY_COUNTS) {
        list.assign(1, CL_DEVICE_PARTITION_BY_COUNTS);
        for (++pointer; *pointer != 0; ++pointer) list.push_back(static_cast<uint64_t>(*pointer));
        list.insert(list.end(), {0, 0});
      }
      // A replay has no context of OpenGL.
      for (size_t i = 0; i + 1 < list.size();) {
        const auto pair = list.begin() + static_cast<std::ptrdiff_t>(i);
        if (validate::is_gl_property(static_cast<cl_context_properties>(list[i]))) {
          list.erase(pair, pair + 2);
        } else {
          i += 2;
        }
      }
      return Value::of_numbers(std::move(list));
    } else if constexpr (std::is_same_v<T, const cl_image_format>) {
      return Value::of_bytes(std::as_bytes(std::span(pointer, 1)));
    } else if constexpr (std::is_same_v<T, const cl_image_desc>) {
      const record::Object memory =
          recorder_->object_of(record::ObjectKind::kMemory, pointer->mem_object);
      return Value::of_numbers({pointer->image_type, pointer->image_width, pointer->image_height,
                                pointer->image_depth, pointer->image_array_size,
                                pointer->image_row_pitch, pointer->image_slice_pitch,
                                pointer->num_mip_levels, pointer->num_samples, memory.number});
    } else if constexpr (std::is_same_v<T, size_t>) {
      return answered_ ? Value::of_number(*answered_) : Value::pointer();
    } else if constexpr (std::is_void_v<T>) {
      return pointee_.value_or(Value::pointer());
    } else {
      return Value::pointer();
    }
  }
  template <typename T>
  static std::vector<uint64_t> properties(const T* pair) {
    std::vector<uint64_t> list;
    for (; *pair != 0; pair += 2) {
      list.push_back(static_cast<uint64_t>(pair[0]));
      list.push_back(static_cast<uint64_t>(pair[1]));
    }
    list.push_back(0);
    return list;
  }

  Recorder* recorder_;
  Shape shape_;
  record::Call call_;
  std::optional<record::Value> pointee_;
  std::optional<size_t> answered_;
  size_t own_used_ = 0;
  const size_t* used_ = nullptr;
  cl_uint count_ = 0;
  bool watches_ = false;
  cl_int own_code_ = CL_SUCCESS;
  cl_int* code_ = nullptr;
  cl_event own_event_ = nullptr;
  cl_event* event_ = nullptr;
  cl_event* wanted_event_ = nullptr;
};

}  // namespace tutti::icd::recorder
