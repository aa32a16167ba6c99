// SPDX-License-Identifier: Apache-2.0
#include "damage.h"

#include <algorithm>

namespace tutti::damage {

uint64_t odd_number(Random& random, uint64_t value) {
  static const std::vector<uint64_t> kLimits = {0,
                                                1,
                                                2,
                                                3,
                                                255,
                                                256,
                                                65535,
                                                65536,
                                                0x7fffffff,
                                                0x80000000,
                                                0xffffffff,
                                                0x100000000,
                                                uint64_t{1} << 40,
                                                uint64_t{1} << 56,
                                                INT64_MAX,
                                                uint64_t{1} << 63,
                                                UINT64_MAX - 7,
                                                UINT64_MAX};
  switch (random.below(6)) {
    case 0:
      return value + 1;
    case 1:
      return value - 1;
    case 2:
      return value * 2;
    case 3:
      return value ^ uint64_t { 1 } << random.below(64);
    case 4:
      return random.bits();
    default:
      return kLimits[random.below(kLimits.size())];
  }
}

std::string odd_text(Random& random) {
  switch (random.below(10)) {
    case 0:
      return "\x1b[2J\x1b[31mred\x07";
    case 1:
      return "\xc2\x9b"
             "2J\x7f\r\n\tnext";
    case 2:
      return "a\xe2\x80\xae"
             "b\xe2\x80\x8f\xef\xbb\xbf";
    case 3:
      return std::string("\xff\xfe\xc3\x28\xed\xa0\x80\x00z", 9);
    case 4:
      return {};
    case 5:
      return std::string(1 << 16, '<');
    case 6:
      return "</script><b>&quot;\"\\";
    case 7:
      return "{}{:>9999999}%s%n";
    case 8:
      return std::string(3000, '[');
    default: {
      std::string text(random.below(200), '\0');
      for (char& c : text) c = static_cast<char>(random.bits());
      return text;
    }
  }
}

void damage_bytes(Random& random, std::string& bytes) {
  for (uint64_t times = 1 + random.below(3); times > 0 && !bytes.empty(); --times) {
    const size_t at = random.below(bytes.size());
    const size_t length = 1 + random.below(std::min<size_t>(16, bytes.size() - at));
    switch (random.below(7)) {
      case 0:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));
        break;
      case 1:
        bytes[at] = static_cast<char>(random.bits());
        break;
      case 2:
        bytes.resize(at);
        break;
      case 3:
        bytes.erase(at, length);
        break;
      case 4:
        bytes.insert(at, bytes.substr(random.below(bytes.size()), length));
        break;
      case 5:
        bytes.insert(at, odd_text(random));
        break;
      default:
        for (size_t i = 0; i < length; ++i)
          bytes[at + i] = static_cast<char>(random.one_in(2) ? 0 : 0xff);
        break;
    }
  }
}

}  // namespace tutti::damage
