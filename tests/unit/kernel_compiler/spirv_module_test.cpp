// SPDX-License-Identifier: Apache-2.0
// What is read of modules in SPIR-V, and what is written into them.
#include "kernel_compiler/spirv_module.h"

#include <CL/cl.h>
#include <gmock/gmock.h>

#include <cstring>

#include "spirv_words.h"

namespace tutti::kernel_compiler {
namespace {

using scheduler::ArgKind;
using spirv_words::Words;
using testing::Contains;
using testing::HasSubstr;

Result<SpirvModule> read(const std::vector<uint32_t>& words) {
  return SpirvModule::read(std::as_bytes(std::span(words)));
}

template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

TEST(SpirvModule, KernelsWithTheirArguments) {
  const auto module = read(spirv_words::scale_add());
  ASSERT_TRUE(module);
  const auto summary = module->summary("");
  ASSERT_EQ(summary.kernels.size(), 1u);
  const auto& kernel = summary.kernels[0];
  EXPECT_EQ(kernel.name, "scale_add");
  EXPECT_THAT(kernel.whole_reason, HasSubstr("SPIR-V"));
  EXPECT_TRUE(kernel.uses_addresses);
  EXPECT_TRUE(kernel.uses("cl_khr_il_program"));
  EXPECT_FALSE(kernel.uses("cl_khr_fp64"));
  EXPECT_TRUE(kernel.smaller_groups);
  ASSERT_EQ(kernel.arguments.size(), 2u);
  EXPECT_EQ(kernel.arguments[0].kind, ArgKind::kGlobal);
  EXPECT_EQ(kernel.arguments[0].name, "data");
  EXPECT_EQ(kernel.arguments[1].kind, ArgKind::kScalar);
  EXPECT_EQ(kernel.arguments[1].size, 4u);
  EXPECT_FALSE(module->summary("-cl-uniform-work-group-size").kernels[0].smaller_groups);
}

TEST(SpirvModule, ArgumentsOfEveryKind) {
  enum Id : uint32_t {
    kVoid = 1,
    kFloat,
    kThree,
    kSampler,
    kImage,
    kLayers,
    kPipe,
    kLocal,
    kConstant,
    kByValue,
    kShort,
    kCount,
    kArray,
    kMixed,
    kPacked,
    kEvent,
    kUint,
    kFunction,
    kKernel,
    kFirst = 40
  };
  Words words;
  words.add(17, {10}).add(17, {17}).add(17, {38}).add(14, {2, 2});
  words.add(15, {6, kKernel}, "k").add(16, {kKernel, 17, 8, 4, 2});
  words.add(71, {kPacked, 10}).add(71, {kFirst + 8, 38, 2}).add(71, {kFirst + 9, 38, 2});
  words.add(19, {kVoid}).add(22, {kFloat, 32}).add(21, {kShort, 16, 0}).add(21, {kUint, 32, 0});
  words.add(23, {kThree, kFloat, 3}).add(26, {kSampler}).add(34, {kEvent});
  words.add(25, {kImage, kVoid, 1, 0, 0, 0, 0, 0, 1});   // 2-D, written
  words.add(25, {kLayers, kVoid, 0, 0, 1, 0, 0, 0, 0});  // 1-D array, read
  words.add(38, {kPipe, 1});
  words.add(43, {kUint, kCount, 5}).add(28, {kArray, kShort, kCount});
  words.add(30, {kMixed, kShort, kFloat, kArray}).add(30, {kPacked, kShort, kFloat, kArray});
  words.add(32, {kLocal, 4, kFloat}).add(32, {kConstant, 0, kFloat}).add(32, {kByValue, 7, kMixed});
  words.add(32, {60, 7, kPacked});
  words.add(54, {kVoid, kKernel, 0, kFunction});
  uint32_t id = kFirst;
  for (const uint32_t type :
       {uint32_t{kThree}, uint32_t{kSampler}, uint32_t{kImage}, uint32_t{kLayers}, uint32_t{kPipe},
        uint32_t{kLocal}, uint32_t{kConstant}, uint32_t{kEvent}, uint32_t{kByValue}, uint32_t{60},
        uint32_t{kMixed}}) {
    words.add(55, {type, id++});
  }
  words.add(56, {});
  // A function that is no kernel has arguments, too.
  words.add(54, {kVoid, 61, 0, kFunction}).add(55, {kFloat, 62}).add(56, {});
  const auto module = read(words.words());
  ASSERT_TRUE(module);
  const auto summary = module->summary("");
  ASSERT_EQ(summary.kernels.size(), 1u);
  const auto& kernel = summary.kernels[0];
  const std::pair<ArgKind, uint32_t> expected[] = {
      {ArgKind::kScalar, 16}, {ArgKind::kSampler, 0}, {ArgKind::kImage, 0},    {ArgKind::kImage, 0},
      {ArgKind::kPipe, 0},    {ArgKind::kLocal, 0},   {ArgKind::kConstant, 0}, {ArgKind::kOther, 0},
      {ArgKind::kScalar, 20}, {ArgKind::kScalar, 16}, {ArgKind::kScalar, 20}};
  ASSERT_EQ(kernel.arguments.size(), std::size(expected));
  for (size_t i = 0; i < std::size(expected); ++i) {
    EXPECT_EQ(std::pair(kernel.arguments[i].kind, kernel.arguments[i].size), expected[i]) << i;
  }
  EXPECT_EQ(kernel.arguments[2].type_name, "image2d_t");
  EXPECT_EQ(kernel.arguments[2].access, "write_only");
  EXPECT_EQ(kernel.arguments[3].type_name, "image1d_array_t");
  EXPECT_EQ(kernel.arguments[3].access, "read_only");
  EXPECT_EQ(kernel.arguments[4].access, "write_only");
  EXPECT_EQ(kernel.reqd_local[0] * 100 + kernel.reqd_local[1] * 10 + kernel.reqd_local[2], 842u);
  for (const char* feature :
       {"cl_khr_fp64", "__opencl_c_pipes", "__opencl_c_generic_address_space"}) {
    EXPECT_TRUE(kernel.uses(feature)) << feature;
  }
}

TEST(SpirvModule, VariablesOfThePrograms) {
  const auto uses = [](bool constant) {
    Words words;
    words.add(15, {6, 9}, "k");
    if (constant) words.add(71, {3, 22});
    words.add(21, {1, 32, 0}).add(32, {2, 5, 1}).add(59, {2, 3, 5});
    words.add(54, {1, 9, 0, 1}).add(56, {});
    return read(words.words())
        ->summary("")
        .kernels.at(0)
        .uses("__opencl_c_program_scope_global_variables");
  };
  EXPECT_TRUE(uses(false));
  EXPECT_FALSE(uses(true));
}

TEST(SpirvModule, SpecializationConstants) {
  Words words;
  words.add(71, {10, 1, 100}).add(71, {11, 1, 101}).add(71, {12, 1, 102}).add(71, {13, 1, 103});
  words.add(20, {1}).add(21, {2, 16, 0}).add(21, {3, 64, 0}).add(22, {4, 32});
  words.add(48, {1, 10}).add(50, {2, 11, 5}).add(50, {3, 12, 1, 2}).add(50, {4, 13, 0x3f800000});
  auto module = read(words.words());
  ASSERT_TRUE(module);
  EXPECT_EQ(module->constant_size(100), 1u);
  EXPECT_EQ(module->constant_size(101), 2u);
  EXPECT_EQ(module->constant_size(102), 8u);
  EXPECT_EQ(module->constant_size(103), 4u);
  EXPECT_EQ(module->constant_size(99), std::nullopt);

  module->specialize(100, bytes_of(uint8_t{0}));
  module->specialize(101, bytes_of(uint16_t{0xfffe}));
  module->specialize(102, bytes_of(uint64_t{0x500000006}));
  module->specialize(103, bytes_of(2.0f));
  Words expected;
  expected.add(71, {10, 1, 100}).add(71, {11, 1, 101}).add(71, {12, 1, 102}).add(71, {13, 1, 103});
  expected.add(20, {1}).add(21, {2, 16, 0}).add(21, {3, 64, 0}).add(22, {4, 32});
  expected.add(49, {1, 10}).add(50, {2, 11, 0xfffe}).add(50, {3, 12, 6, 5});
  expected.add(50, {4, 13, 0x40000000});
  const std::string text = module->text();
  std::vector<uint32_t> seen(text.size() / 4);
  std::memcpy(seen.data(), text.data(), text.size());
  EXPECT_EQ(seen, expected.words());
  // Back again.
  module->specialize(100, bytes_of(uint8_t{1}));
  EXPECT_EQ(module->constant_size(100), 1u);
  EXPECT_NE(module->text(), text);
}

TEST(SpirvModule, OfTheOtherByteOrder) {
  auto words = spirv_words::scale_add();
  const auto plain = read(words);
  for (uint32_t& word : words) word = __builtin_bswap32(word);
  const auto swapped = read(words);
  ASSERT_TRUE(plain && swapped);
  EXPECT_EQ(swapped->text(), plain->text());
}

TEST(SpirvModule, WhatIsNone) {
  EXPECT_FALSE(read({}));
  EXPECT_FALSE(read({0x07230203, 0x00010000}));
  EXPECT_FALSE(read({1, 2, 3, 4, 5, 6}));
  auto words = spirv_words::scale_add();
  const auto all = std::as_bytes(std::span<const uint32_t>(words));
  EXPECT_FALSE(SpirvModule::read(all.first(all.size() - 1)));
  EXPECT_FALSE(SpirvModule::read(all.first(all.size() - 12)));  // in the middle of an instruction
  words[5] = 17;                                                // of no words
  const auto error = read(words);
  ASSERT_FALSE(error);
  EXPECT_EQ(error.error().code, CL_INVALID_VALUE);
}

TEST(SpirvModule, DamagedOnesAreReadWithoutHarm) {
  const auto good = spirv_words::scale_add();
  for (size_t i = 5; i < good.size(); ++i) {
    for (const uint32_t value : {0u, 1u, 6u, 0xffffu, 0x10000u, 0x2001cu, 0xffffffffu}) {
      auto words = good;
      words[i] = value;
      auto module = read(words);
      if (!module) continue;
      (void)module->summary("");
      if (module->constant_size(spirv_words::kAmountId)) {
        module->specialize(spirv_words::kAmountId, bytes_of(uint32_t{3}));
      }
    }
  }
  // A structure that holds itself, a group that decorates itself.
  Words words;
  words.add(71, {20, 10}).add(73, {20});
  for (int i = 0; i < 100; ++i) words.add(74, {20, 20, 2});
  words.add(15, {6, 9}, "k").add(30, {2, 2, 2}).add(54, {1, 9, 0, 1}).add(55, {2, 3}).add(56, {});
  const auto module = read(words.words());
  ASSERT_TRUE(module);
  EXPECT_EQ(module->summary("").kernels.at(0).arguments.at(0).kind, ArgKind::kOther);
}

}  // namespace
}  // namespace tutti::kernel_compiler
