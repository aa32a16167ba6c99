// SPDX-License-Identifier: Apache-2.0
// Values as bytes, and back: what the application and a helper, which are programs of one build,
// send each other. For one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tutti::backends::process {

class Writer {
 public:
  Writer() { bytes_.reserve(512); }

  template <typename T>
  Writer& put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>);
    append(&value, sizeof value);
    return *this;
  }
  Writer& text(std::string_view text) {
    put<uint64_t>(text.size());
    append(text.data(), text.size());
    return *this;
  }
  Writer& block(std::span<const std::byte> bytes) {
    put<uint64_t>(bytes.size());
    append(bytes.data(), bytes.size());
    return *this;
  }
  template <typename T>
  Writer& list(std::span<const T> items) {
    return block(std::as_bytes(items));
  }
  /// Room for so many bytes, to be filled at once.
  std::byte* room(uint64_t size) {
    put<uint64_t>(size);
    bytes_.resize(bytes_.size() + size);
    return bytes_.data() + bytes_.size() - size;
  }

  const std::vector<std::byte>& bytes() const { return bytes_; }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  void append(const void* data, uint64_t size) {
    const auto* bytes = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), bytes, bytes + size);
  }
  std::vector<std::byte> bytes_;
};

/// What is not there is zero or empty, and from then on the message is not whole. Refers to the
/// bytes.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <typename T>
  T get() {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>);
    T value{};
    const std::span<const std::byte> bytes = take(sizeof value);
    if (bytes.size() == sizeof value) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  template <typename T>
  void into(T& value) {
    value = get<T>();
  }
  std::span<const std::byte> block() { return take(get<uint64_t>()); }
  std::string text() {
    const auto bytes = block();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  void into(std::string& text) { text = this->text(); }
  std::vector<std::byte> bytes() {
    const auto found = block();
    return {found.begin(), found.end()};
  }
  template <typename T>
  std::vector<T> list() {
    const auto found = block();
    std::vector<T> items(found.size() / sizeof(T));
    if (!items.empty()) std::memcpy(items.data(), found.data(), items.size() * sizeof(T));
    return items;
  }
  bool whole() const { return whole_; }

 private:
  std::span<const std::byte> take(uint64_t size) {
    if (size > rest_.size()) {
      whole_ = false;
      rest_ = {};
      return {};
    }
    const auto taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }
  std::span<const std::byte> rest_;
  bool whole_ = true;
};

}  // namespace tutti::backends::process
