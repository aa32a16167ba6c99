// SPDX-License-Identifier: Apache-2.0
#include "device_virtual/program_binary.h"

#include <gtest/gtest.h>

namespace tutti::device_virtual {
namespace {

const ProgramBinary kProgram{
    CL_PROGRAM_BINARY_TYPE_LIBRARY,
    true,
    true,
    "-cl-finite-math-only",
    {{"kernel void k(global int* a) { a[0] = 1; }\n", "-cl-mad-enable"}, {"", ""}}};

TEST(ProgramBinary, ComesBackAsItWas) {
  EXPECT_EQ(unpack(pack(kProgram)), kProgram);
  ProgramBinary small;
  small.units.resize(1);
  EXPECT_EQ(unpack(pack(small)), small);
}

TEST(ProgramBinary, WithoutUnitsOrOfNoTypeIsRefused) {
  EXPECT_FALSE(unpack(pack({})));
  ProgramBinary none = kProgram;
  none.type = CL_PROGRAM_BINARY_TYPE_NONE;
  EXPECT_FALSE(unpack(pack(none)));
}

TEST(ProgramBinary, EveryCutIsRefused) {
  const auto binary = pack(kProgram);
  for (size_t size = 0; size < binary.size(); ++size) {
    EXPECT_FALSE(unpack(std::span(binary).first(size))) << size;
  }
}

TEST(ProgramBinary, EveryDamagedByteIsRefused) {
  const auto binary = pack(kProgram);
  for (size_t i = 0; i < binary.size(); ++i) {
    auto damaged = binary;
    damaged[i] ^= std::byte{0x10};
    EXPECT_FALSE(unpack(damaged)) << i;
  }
}

TEST(ProgramBinary, ForeignBytesAreRefused) {
  const std::vector<std::byte> foreign(1000, std::byte{0x7f});
  EXPECT_FALSE(unpack(foreign));
}

}  // namespace
}  // namespace tutti::device_virtual
