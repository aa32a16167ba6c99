// SPDX-License-Identifier: Apache-2.0
// One call being replayed: its arguments as C++ values, made from recorded ones by the types of the
// entry point's parameters, and the memory behind its pointers, which lives until the command ends.
#pragma once

#include <CL/cl.h>

#include <array>
#include <cstring>
#include <deque>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tools/replay.h"

namespace tutti::tools {

/// Why calls of a damaged record are not made.
inline constexpr char kArgumentsMissing[] = "arguments are missing in the record";
inline constexpr char kListsContradict[] = "a list has another length than the call says";

struct ReplayFrame {
  ReplayFrame(Replay& the_replay, size_t the_index) : replay(the_replay), index(the_index) {}
  ReplayFrame(const ReplayFrame&) = delete;
  ReplayFrame& operator=(const ReplayFrame&) = delete;

  Replay& replay;
  const size_t index;  // of the call
  std::deque<std::vector<std::byte>> memory;
  std::deque<std::vector<void*>> handles;
  std::deque<std::vector<const char*>> texts;
  std::deque<std::vector<uint64_t>> lists;
  std::deque<cl_image_desc> images;
  std::array<size_t, 4> sizes{};
  size_t next_size = 0;
  void* pointer = nullptr;  // for pointers to what was not kept
  cl_int code = CL_SUCCESS;
  cl_event event = nullptr;
  bool called = false;
  std::string failure;  // why the call cannot be made
  // Of commands that give data: where they lie.
  bool gives_data = false;
  std::byte* rows = nullptr;
  size_t row_bytes = 0, row_count = 1, slice_count = 1, row_pitch = 0, slice_pitch = 0;

  size_t size() const { return row_bytes * row_count * slice_count; }  // of the rows
  void* content(const record::Content& content);
  std::vector<std::byte> packed() const;
  void unpack(const std::vector<std::byte>& bytes) const;

  template <typename T>
  T argument(const record::Value& value) {
    using Type = record::Value::Type;
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(value.number);
    } else if constexpr (std::is_same_v<T, cl_event*>) {
      return &event;  // also where the application wanted none: to know when the command ends
    } else if constexpr (std::is_same_v<T, cl_int*>) {
      return &code;
    } else if constexpr (std::is_same_v<T, size_t*>) {
      return &sizes[next_size++ % sizes.size()];
    } else if constexpr (std::is_function_v<std::remove_pointer_t<T>>) {
      return nullptr;
    } else if constexpr (std::is_same_v<T, const char*>) {
      return value.type == Type::kText ? value.texts.front().c_str() : nullptr;
    } else if constexpr (std::is_same_v<T, const char**>) {
      if (value.type != Type::kTexts) return nullptr;
      auto& list = texts.emplace_back();
      for (const std::string& text : value.texts) list.push_back(text.c_str());
      return list.data();
    } else if constexpr (std::is_same_v<T, const cl_image_format*>) {
      const bool whole =
          value.type == Type::kBytes && value.texts.front().size() == sizeof(cl_image_format);
      return whole ? static_cast<T>(bytes_of(value.texts.front())) : nullptr;
    } else if constexpr (std::is_same_v<T, const cl_image_desc*>) {
      return image(value);
    } else if constexpr (std::is_same_v<T, const size_t*>) {
      return value.type == Type::kNumbers ? ended_list(value.numbers).data() : nullptr;
    } else if constexpr (std::is_same_v<T, const cl_context_properties*>) {
      return value.type == Type::kNumbers ? properties(value.numbers) : nullptr;
    } else if constexpr (std::is_void_v<std::remove_pointer_t<T>>) {
      return behind(value);
    } else if constexpr (std::is_const_v<std::remove_pointer_t<T>>) {
      // Handles: a pointer to an incomplete type each.
      if (value.type != Type::kObjects) return nullptr;
      auto& list = handles.emplace_back();
      for (const record::Object object : value.objects) list.push_back(live(object));
      return reinterpret_cast<T>(list.data());
    } else if constexpr (is_handle<T>()) {
      return value.type == Type::kObject ? static_cast<T>(live(value.objects.front())) : nullptr;
    } else {
      return nullptr;
    }
  }

  template <typename R, typename... A>
  R call(R(CL_API_CALL* function)(A...), const record::Call& recorded) {
    return call(function, recorded, std::index_sequence_for<A...>{});
  }

 private:
  template <typename T>
  static constexpr bool is_handle() {
    return std::is_same_v<T, cl_platform_id> || std::is_same_v<T, cl_device_id> ||
           std::is_same_v<T, cl_context> || std::is_same_v<T, cl_command_queue> ||
           std::is_same_v<T, cl_mem> || std::is_same_v<T, cl_program> ||
           std::is_same_v<T, cl_kernel> || std::is_same_v<T, cl_event> ||
           std::is_same_v<T, cl_sampler>;
  }
  /// The number that stands before a list, or one before, where it is a list of texts.
  template <typename T>
  static bool has_its_length(const record::Call& call, size_t index) {
    using Element = std::remove_pointer_t<T>;
    const record::Value& value = call.arguments[index];
    if constexpr (std::is_same_v<T, const char**>) {
      return value.type != record::Value::Type::kTexts || index < 2 ||
             call.arguments[index - 2].number == value.texts.size();
    } else if constexpr (std::is_pointer_v<T> && std::is_const_v<Element> &&
                         is_handle<std::remove_const_t<Element>>()) {
      return value.type != record::Value::Type::kObjects || index < 1 ||
             call.arguments[index - 1].number == value.objects.size();
    } else {
      return true;
    }
  }
  template <typename R, typename... A, size_t... kIndex>
  R call(R(CL_API_CALL* function)(A...), const record::Call& recorded,
         std::index_sequence<kIndex...>) {
    if (recorded.arguments.size() < sizeof...(A)) {
      failure = kArgumentsMissing;
      return R{};
    }
    if (!(has_its_length<A>(recorded, kIndex) && ...)) {
      failure = kListsContradict;
      return R{};
    }
    const std::tuple<A...> arguments{argument<A>(recorded.arguments[kIndex])...};
    if (!failure.empty()) return R{};
    called = true;
    return std::apply(function, arguments);
  }
  void* live(record::Object object) const { return replay.live(object); }
  void* bytes_of(const std::string& text);
  void* behind(const record::Value& value);
  const cl_image_desc* image(const record::Value& value);
  const cl_context_properties* properties(std::vector<uint64_t> list);
  /// With zeros behind: what ends lists of properties, and sizes that are missing.
  const std::vector<uint64_t>& ended_list(std::vector<uint64_t> list);
};

}  // namespace tutti::tools
