// SPDX-License-Identifier: Apache-2.0
// One entry of a record: a call with its arguments, or a note. Plain values, and their encoding in
// the file (little-endian, lengths first). Every argument of the C function is one value, in order.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tutti::record {

/// XXH3, 128 bits, of at most kPieceBytes bytes.
struct Hash {
  uint64_t low = 0, high = 0;
  auto operator<=>(const Hash&) const = default;
};
Hash hash_of(std::span<const std::byte> bytes);

/// Content in the store: pieces of kPieceBytes, the last one shorter.
inline constexpr uint64_t kPieceBytes = uint64_t{4} << 20;
struct Content {
  uint64_t size = 0;
  std::vector<Hash> pieces;
  bool operator==(const Content&) const = default;
};
/// What the store would call these bytes.
Content content_of(std::span<const std::byte> bytes);

enum class ObjectKind : uint8_t {
  kPlatform,
  kDevice,
  kContext,
  kQueue,
  kMemory,
  kProgram,
  kKernel,
  kEvent,
  kSampler
};

/// A handle as a number that is never used again in a record. 0 is null.
struct Object {
  ObjectKind kind = ObjectKind::kPlatform;
  uint64_t number = 0;
  bool operator==(const Object&) const = default;
};
/// A handle that the recorder has never seen.
inline constexpr uint64_t kUnknownObject = (uint64_t{1} << 56) - 1;

struct Value {
  enum class Type : uint8_t {
    kNull,     // a null pointer
    kPointer,  // a pointer to something that is not kept
    kNumber,
    kNumbers,
    kObject,
    kObjects,
    kText,
    kTexts,
    kBytes,  // short data
    kContent
  };
  Type type = Type::kNull;
  uint64_t number = 0;
  std::vector<uint64_t> numbers;
  std::vector<Object> objects;
  std::vector<std::string> texts;  // kBytes: one
  Content content;

  static Value null() { return {}; }
  static Value pointer() { return of(Type::kPointer); }
  static Value of_number(uint64_t number) {
    Value value = of(Type::kNumber);
    value.number = number;
    return value;
  }
  static Value of_numbers(std::vector<uint64_t> numbers) {
    Value value = of(Type::kNumbers);
    value.numbers = std::move(numbers);
    return value;
  }
  static Value of_object(Object object) { return of_objects({object}, Type::kObject); }
  static Value of_objects(std::vector<Object> objects, Type type = Type::kObjects) {
    Value value = of(type);
    value.objects = std::move(objects);
    return value;
  }
  static Value of_text(std::string text) { return of_texts({std::move(text)}, Type::kText); }
  static Value of_texts(std::vector<std::string> texts, Type type = Type::kTexts) {
    Value value = of(type);
    value.texts = std::move(texts);
    return value;
  }
  static Value of_bytes(std::span<const std::byte> bytes) {
    return of_texts({std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size())},
                    Type::kBytes);
  }
  static Value of_content(Content content) {
    Value value = of(Type::kContent);
    value.content = std::move(content);
    return value;
  }
  bool operator==(const Value&) const = default;

 private:
  static Value of(Type type) {
    Value value;
    value.type = type;
    return value;
  }
};

/// Entries whose names begin so tell something about an earlier call, whose `begin` is the first
/// argument: the data that the application got, a kernel's times; or, as a note, anything.
inline constexpr std::string_view kDataEntry = "@data", kTimeEntry = "@time", kNoteEntry = "@note";

struct Call {
  std::string name;
  uint64_t begin = 0, end = 0;  // of one clock that ticks at each begin and each end of a call
  uint32_t thread = 0;
  uint64_t start_ns = 0, duration_ns = 0;
  int32_t code = 0;  // what the call returned, or gave through errcode_ret
  std::vector<Value> arguments;
  std::vector<Object> created;  // what it returned or gave through its arguments
  bool operator==(const Call&) const = default;
};

std::string encode(const Call& call);
/// An error for anything that encode() cannot have made.
Result<Call> decode(std::string_view bytes);

}  // namespace tutti::record
