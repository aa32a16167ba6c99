// SPDX-License-Identifier: Apache-2.0
// Reads fields of JSON that may be damaged.
#pragma once

#include <CL/cl.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <utility>

#include "base/result.h"

namespace tutti::kernel_compiler {

/// Reads fields and remembers the first that is missing, of a wrong type or out of range; after a
/// failure every read yields a harmless default. Keeps the readers below free of error ladders.
class JsonReader {
 public:
  bool failed() const { return !what_.empty(); }
  void fail(std::string what) {
    if (what_.empty()) {
      what_ = std::move(what);
    }
  }
  tl::unexpected<Error> error() const {
    return tutti::fail(CL_INVALID_VALUE, "damaged kernel data: " + what_);
  }

  const nlohmann::json* find(const nlohmann::json& object, const char* key) {
    if (object.is_object()) {
      if (auto it = object.find(key); it != object.end()) {
        return &*it;
      }
    }
    fail(std::string("no ") + key);
    return nullptr;
  }

  template <typename T>
  T number(const nlohmann::json* value, const char* what, T most = std::numeric_limits<T>::max()) {
    if (value == nullptr || !value->is_number_integer()) {
      fail(what);
      return T{};
    }
    if constexpr (std::is_signed_v<T>) {
      if (value->is_number_unsigned() &&
          value->get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<T>::max())) {
        fail(what);
        return T{};
      }
      const auto number = value->get<int64_t>();
      if (number < std::numeric_limits<T>::min() || number > most) {
        fail(what);
        return T{};
      }
      return static_cast<T>(number);
    } else {
      if (!value->is_number_unsigned() || value->get<uint64_t>() > most) {
        fail(what);
        return T{};
      }
      return static_cast<T>(value->get<uint64_t>());
    }
  }

  template <typename Enum>
  Enum choice(const nlohmann::json* value, const char* what, Enum last) {
    return static_cast<Enum>(number<uint32_t>(value, what, static_cast<uint32_t>(last)));
  }

  bool boolean(const nlohmann::json& object, const char* key) {
    const nlohmann::json* value = find(object, key);
    if (value != nullptr && !value->is_boolean()) {
      fail(key);
    }
    return value != nullptr && value->is_boolean() && value->get<bool>();
  }

  std::string text(const nlohmann::json& value, const char* what) {
    if (!value.is_string()) {
      fail(what);
      return {};
    }
    return value.get<std::string>();
  }

  std::string string(const nlohmann::json& object, const char* key) {
    const nlohmann::json* value = find(object, key);
    return value != nullptr ? text(*value, key) : std::string();
  }

  /// Calls `each(element)` for an array's elements; `least` and `most` bound their number.
  template <typename Each>
  void array(const nlohmann::json* value, const char* what, Each&& each, size_t least = 0,
             size_t most = 1u << 22) {
    if (value == nullptr || !value->is_array() || value->size() < least || value->size() > most) {
      fail(what);
      return;
    }
    for (const nlohmann::json& element : *value) {
      if (failed()) {
        return;
      }
      each(element);
    }
  }

 private:
  std::string what_;
};

}  // namespace tutti::kernel_compiler
