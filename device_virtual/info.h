// SPDX-License-Identifier: Apache-2.0
// The answer of a clGet…Info query: one rule for all of them. A plain value, used on the stack.
#pragma once

#include <CL/cl.h>

#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include "base/result.h"

namespace tutti::device_virtual {

/// "If param_value is NULL, it is ignored"; "CL_INVALID_VALUE if the size in bytes specified by
/// param_value_size is < size of return type and param_value is not NULL".
class InfoAnswer {
 public:
  InfoAnswer(size_t size, void* value, size_t* size_ret)
      : size_(size), value_(value), size_ret_(size_ret) {}

  Status bytes(const void* data, size_t size) const {
    if (value_ != nullptr) {
      if (size_ < size) return fail(CL_INVALID_VALUE, "param_value_size is too small");
      if (size != 0) std::memcpy(value_, data, size);
    }
    if (size_ret_ != nullptr) *size_ret_ = size;
    return {};
  }
  template <typename T>
  Status value(const T& answer) const {
    static_assert(std::is_trivially_copyable_v<T>);
    return bytes(&answer, sizeof(T));
  }
  Status boolean(bool answer) const { return value<cl_bool>(answer ? CL_TRUE : CL_FALSE); }
  /// With the closing NUL.
  Status string(std::string_view text) const {
    if (value_ != nullptr) {
      if (size_ < text.size() + 1) return fail(CL_INVALID_VALUE, "param_value_size is too small");
      if (!text.empty()) std::memcpy(value_, text.data(), text.size());
      static_cast<char*>(value_)[text.size()] = '\0';
    }
    if (size_ret_ != nullptr) *size_ret_ = text.size() + 1;
    return {};
  }
  template <typename T>
  Status list(std::span<const T> answer) const {
    return bytes(answer.data(), answer.size_bytes());
  }

  /// For answers that are written piece by piece (CL_PROGRAM_BINARIES).
  size_t size() const { return size_; }
  void* data() const { return value_; }
  size_t* size_ret() const { return size_ret_; }

 private:
  size_t size_;
  void* value_;
  size_t* size_ret_;
};

inline tl::unexpected<Error> unknown_query() {
  return fail(CL_INVALID_VALUE, "param_name is not one of the supported values");
}

}  // namespace tutti::device_virtual
