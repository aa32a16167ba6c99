// SPDX-License-Identifier: Apache-2.0
#include "record/call.h"

#include <algorithm>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tutti::record {
namespace {

class Encoder {
 public:
  template <typename T>
  void put(T value) {
    static_assert(std::is_integral_v<T>);
    for (size_t i = 0; i < sizeof(T); ++i) {
      out_.push_back(static_cast<char>(static_cast<uint64_t>(value) >> (8 * i)));
    }
  }
  void put(const std::string& text) {
    put(uint64_t{text.size()});
    out_ += text;
  }
  void put(Object object) { put(static_cast<uint64_t>(object.kind) << 56 | object.number); }
  template <typename T>
  void put_all(const std::vector<T>& items) {
    put(static_cast<uint32_t>(items.size()));
    for (const T& item : items) put(item);
  }
  void put(Hash hash) {
    put(hash.low);
    put(hash.high);
  }
  void put(const Value& value) {
    put(static_cast<uint8_t>(value.type));
    switch (value.type) {
      case Value::Type::kNull:
      case Value::Type::kPointer:
        break;
      case Value::Type::kNumber:
        put(value.number);
        break;
      case Value::Type::kNumbers:
        put_all(value.numbers);
        break;
      case Value::Type::kObject:
      case Value::Type::kObjects:
        put_all(value.objects);
        break;
      case Value::Type::kText:
      case Value::Type::kTexts:
      case Value::Type::kBytes:
        put_all(value.texts);
        break;
      case Value::Type::kContent:
        put(value.content.size);
        put_all(value.content.pieces);
        break;
    }
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

class Decoder {
 public:
  explicit Decoder(std::string_view in) : in_(in) {}
  bool good() const { return good_; }
  bool at_end() const { return in_.empty(); }

  template <typename T>
  void get(T& value) {
    static_assert(std::is_integral_v<T>);
    uint64_t bits = 0;
    if (!has(sizeof(T))) return;
    for (size_t i = 0; i < sizeof(T); ++i) {
      bits |= static_cast<uint64_t>(static_cast<uint8_t>(in_[i])) << (8 * i);
    }
    in_.remove_prefix(sizeof(T));
    value = static_cast<T>(bits);
  }
  void get(std::string& text) {
    uint64_t size = 0;
    get(size);
    if (!has(size)) return;
    text.assign(in_.substr(0, size));
    in_.remove_prefix(size);
  }
  void get(Object& object) {
    uint64_t bits = 0;
    get(bits);
    good_ = good_ && bits >> 56 <= static_cast<uint64_t>(ObjectKind::kSampler);
    object = {static_cast<ObjectKind>(bits >> 56), bits & kUnknownObject};
  }
  void get(Hash& hash) {
    get(hash.low);
    get(hash.high);
  }
  template <typename T>
  void get_all(std::vector<T>& items) {
    uint32_t count = 0;
    get(count);
    // Each takes at least a byte: no huge allocation for damaged counts.
    if (!has(count)) return;
    for (uint32_t i = 0; i < count && good_; ++i) get(items.emplace_back());
  }
  void get(Value& value) {
    uint8_t type = 0;
    get(type);
    value.type = static_cast<Value::Type>(type);
    switch (value.type) {
      case Value::Type::kNull:
      case Value::Type::kPointer:
        return;
      case Value::Type::kNumber:
        return get(value.number);
      case Value::Type::kNumbers:
        return get_all(value.numbers);
      case Value::Type::kObject:
      case Value::Type::kObjects:
        get_all(value.objects);
        good_ = good_ && (value.type == Value::Type::kObjects || value.objects.size() == 1);
        return;
      case Value::Type::kText:
      case Value::Type::kTexts:
      case Value::Type::kBytes:
        get_all(value.texts);
        good_ = good_ && (value.type == Value::Type::kTexts || value.texts.size() == 1);
        return;
      case Value::Type::kContent:
        get(value.content.size);
        get_all(value.content.pieces);
        good_ = good_ &&
                value.content.pieces.size() == value.content.size / kPieceBytes +
                                                   (value.content.size % kPieceBytes != 0 ? 1 : 0);
        return;
    }
    good_ = false;
  }

 private:
  bool has(uint64_t size) {
    good_ = good_ && in_.size() >= size;
    return good_;
  }

  std::string_view in_;
  bool good_ = true;
};

}  // namespace

Hash hash_of(std::span<const std::byte> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.low64, hash.high64};
}

Content content_of(std::span<const std::byte> bytes) {
  Content content{bytes.size(), {}};
  for (; !bytes.empty(); bytes = bytes.subspan(std::min<size_t>(bytes.size(), kPieceBytes))) {
    content.pieces.push_back(hash_of(bytes.first(std::min<size_t>(bytes.size(), kPieceBytes))));
  }
  return content;
}

std::string encode(const Call& call) {
  Encoder out;
  out.put(call.name);
  out.put(call.begin);
  out.put(call.end);
  out.put(call.thread);
  out.put(call.start_ns);
  out.put(call.duration_ns);
  out.put(call.code);
  out.put_all(call.arguments);
  out.put_all(call.created);
  return out.take();
}

Result<Call> decode(std::string_view bytes) {
  Decoder in(bytes);
  Call call;
  in.get(call.name);
  in.get(call.begin);
  in.get(call.end);
  in.get(call.thread);
  in.get(call.start_ns);
  in.get(call.duration_ns);
  in.get(call.code);
  in.get_all(call.arguments);
  in.get_all(call.created);
  if (!in.good() || !in.at_end()) return fail(CL_INVALID_VALUE, "not a call");
  return call;
}

}  // namespace tutti::record
