// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "device_virtual/kernel.h"

namespace tutti::device_virtual {
namespace {

using scheduler::ArgKind;
using scheduler::Argument;

Argument argument(ArgKind kind) {
  Argument result;
  result.kind = kind;
  return result;
}

TEST(KernelArgumentInfo, AddressQualifier) {
  EXPECT_EQ(address_qualifier(argument(ArgKind::kGlobal)), CL_KERNEL_ARG_ADDRESS_GLOBAL);
  EXPECT_EQ(address_qualifier(argument(ArgKind::kImage)), CL_KERNEL_ARG_ADDRESS_GLOBAL);
  EXPECT_EQ(address_qualifier(argument(ArgKind::kPipe)), CL_KERNEL_ARG_ADDRESS_GLOBAL);
  EXPECT_EQ(address_qualifier(argument(ArgKind::kConstant)), CL_KERNEL_ARG_ADDRESS_CONSTANT);
  EXPECT_EQ(address_qualifier(argument(ArgKind::kLocal)), CL_KERNEL_ARG_ADDRESS_LOCAL);
  EXPECT_EQ(address_qualifier(argument(ArgKind::kScalar)), CL_KERNEL_ARG_ADDRESS_PRIVATE);
  EXPECT_EQ(address_qualifier(argument(ArgKind::kSampler)), CL_KERNEL_ARG_ADDRESS_PRIVATE);
}

TEST(KernelArgumentInfo, AccessQualifier) {
  EXPECT_EQ(access_qualifier(argument(ArgKind::kGlobal)), CL_KERNEL_ARG_ACCESS_NONE);
  Argument image = argument(ArgKind::kImage);
  EXPECT_EQ(access_qualifier(image), CL_KERNEL_ARG_ACCESS_READ_ONLY);
  image.access = "write_only";
  EXPECT_EQ(access_qualifier(image), CL_KERNEL_ARG_ACCESS_WRITE_ONLY);
  image.access = "read_write";
  EXPECT_EQ(access_qualifier(image), CL_KERNEL_ARG_ACCESS_READ_WRITE);
  Argument pipe = argument(ArgKind::kPipe);
  EXPECT_EQ(access_qualifier(pipe), CL_KERNEL_ARG_ACCESS_READ_ONLY);
  pipe.access = "write_only";
  EXPECT_EQ(access_qualifier(pipe), CL_KERNEL_ARG_ACCESS_WRITE_ONLY);
}

TEST(KernelArgumentInfo, TypeQualifier) {
  Argument pointer = argument(ArgKind::kGlobal);
  EXPECT_EQ(type_qualifier(pointer), CL_KERNEL_ARG_TYPE_NONE);
  pointer.is_const = pointer.is_restrict = pointer.is_volatile = true;
  EXPECT_EQ(type_qualifier(pointer),
            CL_KERNEL_ARG_TYPE_CONST | CL_KERNEL_ARG_TYPE_RESTRICT | CL_KERNEL_ARG_TYPE_VOLATILE);
  EXPECT_EQ(type_qualifier(argument(ArgKind::kConstant)), CL_KERNEL_ARG_TYPE_CONST);
  EXPECT_EQ(type_qualifier(argument(ArgKind::kPipe)), CL_KERNEL_ARG_TYPE_PIPE);
  Argument value = argument(ArgKind::kScalar);
  value.is_const = true;
  EXPECT_EQ(type_qualifier(value), CL_KERNEL_ARG_TYPE_NONE);
}

}  // namespace
}  // namespace tutti::device_virtual
