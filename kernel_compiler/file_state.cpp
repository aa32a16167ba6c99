// SPDX-License-Identifier: Apache-2.0
#include "kernel_compiler/file_state.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tutti::kernel_compiler {

std::string state_of_content(std::string_view content) {
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, XXH3_128bits(content.data(), content.size()));
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes.digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace tutti::kernel_compiler
