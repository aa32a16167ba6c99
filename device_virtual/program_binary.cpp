// SPDX-License-Identifier: Apache-2.0
#include "device_virtual/program_binary.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdint>
#include <cstring>

namespace tutti::device_virtual {
namespace {

struct Header {
  char magic[8];  // "TuttiPB" and a null
  uint64_t version;
  uint64_t size;      // bytes of what follows the header
  uint64_t checksum;  // of that
};
constexpr char kMagic[8] = "TuttiPB";
constexpr uint64_t kVersion = 3;

// The content: type, flags, link options, number of units, then source, options and language of
// each. Numbers have eight bytes, strings begin with their length.
constexpr uint64_t kLinked = 1;
constexpr uint64_t kTakesLinkOptions = 2;

class Writer {
 public:
  void number(uint64_t value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    content.append(bytes, sizeof value);
  }
  void string(const std::string& text) {
    number(text.size());
    content += text;
  }
  std::string content;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> content) : rest_(content) {}

  uint64_t number() {
    uint64_t value = 0;
    if (rest_.size() < sizeof value) {
      ok_ = false;
      return 0;
    }
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_ = rest_.subspan(sizeof value);
    return value;
  }
  std::string string() {
    const uint64_t size = number();
    if (size > rest_.size()) {
      ok_ = false;
      return {};
    }
    std::string text(reinterpret_cast<const char*>(rest_.data()), size);
    rest_ = rest_.subspan(size);
    return text;
  }
  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }

 private:
  std::span<const std::byte> rest_;
  bool ok_ = true;
};

bool known_type(cl_program_binary_type type) {
  return type == CL_PROGRAM_BINARY_TYPE_EXECUTABLE || type == CL_PROGRAM_BINARY_TYPE_LIBRARY ||
         type == CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT;
}

}  // namespace

std::vector<std::byte> pack(const ProgramBinary& program) {
  Writer writer;
  writer.number(program.type);
  writer.number((program.linked ? kLinked : 0) |
                (program.takes_link_options ? kTakesLinkOptions : 0));
  writer.string(program.link_options);
  writer.number(program.units.size());
  for (const ProgramBinary::Unit& unit : program.units) {
    writer.string(unit.source);
    writer.string(unit.options);
    writer.number(unit.il ? 1 : 0);
  }
  const std::string& content = writer.content;
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.version = kVersion;
  header.size = content.size();
  header.checksum = XXH3_64bits(content.data(), content.size());
  std::vector<std::byte> binary(sizeof(Header) + content.size());
  std::memcpy(binary.data(), &header, sizeof(Header));
  std::memcpy(binary.data() + sizeof(Header), content.data(), content.size());
  return binary;
}

std::optional<ProgramBinary> unpack(std::span<const std::byte> binary) {
  Header header;
  if (binary.size() < sizeof(Header)) return std::nullopt;
  std::memcpy(&header, binary.data(), sizeof(Header));
  const std::span<const std::byte> content = binary.subspan(sizeof(Header));
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0 || header.version != kVersion ||
      header.size != content.size() ||
      header.checksum != XXH3_64bits(content.data(), content.size())) {
    return std::nullopt;
  }
  Reader reader(content);
  ProgramBinary program;
  program.type = static_cast<cl_program_binary_type>(reader.number());
  const uint64_t flags = reader.number();
  program.linked = (flags & kLinked) != 0;
  program.takes_link_options = (flags & kTakesLinkOptions) != 0;
  program.link_options = reader.string();
  const uint64_t count = reader.number();
  for (uint64_t i = 0; i < count && reader.ok(); ++i) {
    std::string source = reader.string();
    std::string options = reader.string();
    program.units.push_back({std::move(source), std::move(options), reader.number() != 0});
  }
  if (!reader.ok() || !reader.at_end() || program.units.empty() || !known_type(program.type)) {
    return std::nullopt;
  }
  return program;
}

}  // namespace tutti::device_virtual
