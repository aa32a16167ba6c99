// SPDX-License-Identifier: Apache-2.0
// Reading what real devices answer to clGetDeviceInfo, and writing what the virtual device does.
#pragma once

#include <CL/cl.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "platform/capability_merger.h"

namespace tutti::platform {

/// `otherwise` where the device does not answer, or with too little.
template <typename T>
T ask(const DeviceFacts& device, cl_device_info what, T otherwise) {
  const auto bytes = device.info(what);
  if (!bytes || bytes->size() < sizeof(T)) return otherwise;
  T value;
  std::memcpy(&value, bytes->data(), sizeof(T));
  return value;
}

/// Empty where the device does not answer.
template <typename T>
std::vector<T> ask_list(const DeviceFacts& device, cl_device_info what) {
  const auto bytes = device.info(what);
  std::vector<T> list(bytes ? bytes->size() / sizeof(T) : 0);
  if (!list.empty()) std::memcpy(list.data(), bytes->data(), list.size() * sizeof(T));
  return list;
}

inline std::string ask_string(const DeviceFacts& device, cl_device_info what) {
  const auto bytes = device.info(what);
  if (!bytes) return {};
  std::string text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  text.resize(std::min(text.size(), text.find('\0')));
  return text;
}

/// The version that a list has for this name; `otherwise` where it does not have it: devices of
/// less than OpenCL 3.0 tell no versions.
inline cl_version version_in(const std::vector<cl_name_version>& list, std::string_view name,
                             cl_version otherwise) {
  const auto found = std::find_if(list.begin(), list.end(), [name](const cl_name_version& entry) {
    return name == std::string_view(entry.name, strnlen(entry.name, sizeof entry.name));
  });
  return found != list.end() ? found->version : otherwise;
}

/// Whether a list of names has this one.
template <typename Names, typename Name>
bool contains(const Names& names, const Name& name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

/// "3.0" of 300.
inline std::string version_text(uint32_t version) {
  return std::to_string(version / 100) + "." + std::to_string(version / 10 % 10);
}
inline cl_version packed_version(uint32_t version) {
  return CL_MAKE_VERSION(version / 100, version / 10 % 10, 0);
}

/// Collects the answers, each with the type that the specification gives it.
class Answers {
 public:
  explicit Answers(std::map<cl_device_info, std::vector<std::byte>>& table) : table_(table) {}

  template <typename T>
  void put(cl_device_info what, const std::type_identity_t<T>& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes(what, &value, sizeof(T));
  }
  void string(cl_device_info what, const std::string& text) {
    bytes(what, text.c_str(), text.size() + 1);
  }
  template <typename T>
  void list(cl_device_info what, const std::vector<T>& items) {
    bytes(what, items.data(), items.size() * sizeof(T));
  }
  void boolean(cl_device_info what, bool value) { put<cl_bool>(what, value ? CL_TRUE : CL_FALSE); }

 private:
  void bytes(cl_device_info what, const void* data, size_t size) {
    const auto* begin = static_cast<const std::byte*>(data);
    table_[what].assign(begin, begin + size);
  }
  std::map<cl_device_info, std::vector<std::byte>>& table_;
};

}  // namespace tutti::platform
