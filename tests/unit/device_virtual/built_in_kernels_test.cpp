// SPDX-License-Identifier: Apache-2.0
#include "device_virtual/built_in_kernels.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <utility>

#include "base/name_list.h"

namespace tutti::device_virtual {
namespace {

using scheduler::ArgKind;

struct Told {
  std::string type;
  cl_kernel_arg_address_qualifier address = CL_KERNEL_ARG_ADDRESS_PRIVATE;
  cl_kernel_arg_access_qualifier access = CL_KERNEL_ARG_ACCESS_NONE;
  cl_kernel_arg_type_qualifier qualifiers = CL_KERNEL_ARG_TYPE_NONE;
};

template <typename T>
std::vector<std::byte> raw(const T& value) {
  std::vector<std::byte> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}
std::vector<std::byte> raw_text(const std::string& text) {
  const auto* begin = reinterpret_cast<const std::byte*>(text.c_str());
  return {begin, begin + text.size() + 1};
}

class TellingKernel : public backends::Kernel {
 public:
  explicit TellingKernel(std::vector<Told> arguments) : arguments_(std::move(arguments)) {}
  Result<std::vector<std::byte>> work_group_info(cl_kernel_work_group_info what) override {
    if (what != CL_KERNEL_COMPILE_WORK_GROUP_SIZE) return fail(CL_INVALID_VALUE);
    return raw(std::array<size_t, 3>{8, 2, 1});
  }
  size_t argument_count() override { return arguments_.size(); }
  Result<std::vector<std::byte>> argument_info(uint32_t index, cl_kernel_arg_info what) override {
    const Told& told = arguments_.at(index);
    switch (what) {
      case CL_KERNEL_ARG_ADDRESS_QUALIFIER:
        return raw(told.address);
      case CL_KERNEL_ARG_ACCESS_QUALIFIER:
        return raw(told.access);
      case CL_KERNEL_ARG_TYPE_QUALIFIER:
        return raw(told.qualifiers);
      case CL_KERNEL_ARG_TYPE_NAME:
        return raw_text(told.type);
      default:
        return raw_text("a" + std::to_string(index));
    }
  }

 private:
  const std::vector<Told> arguments_;
};

TEST(BuiltInKernels, NamesHaveSemicolonsBetweenThem) {
  EXPECT_EQ(split_names("a.b;c"), (std::vector<std::string>{"a.b", "c"}));
  EXPECT_EQ(split_names(";a;;"), (std::vector<std::string>{"a"}));
  EXPECT_TRUE(split_names("").empty());
}

TEST(BuiltInKernels, ArgumentsAreWhatTheVendorTells) {
  TellingKernel kernel(
      {{"float*", CL_KERNEL_ARG_ADDRESS_GLOBAL, CL_KERNEL_ARG_ACCESS_NONE,
        CL_KERNEL_ARG_TYPE_CONST},
       {"uchar*", CL_KERNEL_ARG_ADDRESS_CONSTANT},
       {"int*", CL_KERNEL_ARG_ADDRESS_LOCAL},
       {"image2d_t", CL_KERNEL_ARG_ADDRESS_GLOBAL, CL_KERNEL_ARG_ACCESS_WRITE_ONLY},
       {"sampler_t"},
       {"uint3"},
       {"unsigned char"},
       {"size_t"},
       {"double16"},
       {"struct pair"}});
  const auto summary = built_in_kernel(kernel, "a.b");
  ASSERT_TRUE(summary);
  std::vector<std::pair<ArgKind, uint32_t>> found;
  for (const scheduler::Argument& argument : summary->arguments) {
    found.emplace_back(argument.kind, argument.size);
  }
  EXPECT_EQ(found, (std::vector<std::pair<ArgKind, uint32_t>>{{ArgKind::kGlobal, 0},
                                                              {ArgKind::kConstant, 0},
                                                              {ArgKind::kLocal, 0},
                                                              {ArgKind::kImage, 0},
                                                              {ArgKind::kSampler, 0},
                                                              {ArgKind::kScalar, 16},
                                                              {ArgKind::kScalar, 1},
                                                              {ArgKind::kScalar, 8},
                                                              {ArgKind::kScalar, 128},
                                                              {ArgKind::kOther, 0}}));
  EXPECT_EQ(summary->arguments[3].access, "write_only");
  EXPECT_TRUE(summary->arguments[0].is_const);
  EXPECT_EQ(summary->arguments[5].name, "a5");
  EXPECT_EQ(summary->reqd_local[0], 8u);
  EXPECT_FALSE(summary->whole_reason.empty());
  EXPECT_TRUE(summary->uses("a.b"));
}

TEST(BuiltInKernels, WithoutAWordOfArgumentsThereIsNone) {
  class SilentKernel : public TellingKernel {
   public:
    SilentKernel() : TellingKernel(std::vector<Told>(1)) {}
    Result<std::vector<std::byte>> argument_info(uint32_t, cl_kernel_arg_info) override {
      return fail(CL_KERNEL_ARG_INFO_NOT_AVAILABLE);
    }
  };
  SilentKernel kernel;
  const auto summary = built_in_kernel(kernel, "a");
  ASSERT_FALSE(summary);
  EXPECT_EQ(summary.error().code, CL_KERNEL_ARG_INFO_NOT_AVAILABLE);
}

}  // namespace
}  // namespace tutti::device_virtual
