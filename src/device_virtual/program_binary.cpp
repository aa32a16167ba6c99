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
  uint64_t options_size;  // bytes, first part of what follows the header
  uint64_t source_size;   // bytes, the rest
  uint64_t checksum;      // of both
};
constexpr char kMagic[8] = "TuttiPB";
constexpr uint64_t kVersion = 1;

}  // namespace

std::vector<std::byte> pack(const ProgramBinary& program) {
  const std::string content = program.options + program.source;
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.version = kVersion;
  header.options_size = program.options.size();
  header.source_size = program.source.size();
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
      header.options_size > content.size() ||
      header.source_size != content.size() - header.options_size ||
      header.checksum != XXH3_64bits(content.data(), content.size())) {
    return std::nullopt;
  }
  const auto* text = reinterpret_cast<const char*>(content.data());
  ProgramBinary program;
  program.options.assign(text, header.options_size);
  program.source.assign(text + header.options_size, header.source_size);
  return program;
}

}  // namespace tutti::device_virtual
