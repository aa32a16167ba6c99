// SPDX-License-Identifier: Apache-2.0
#include "fixtures.h"

namespace tutti::api_tests {
namespace {

const char kSource[] = R"CLC(
typedef struct { int a; float b; } Pair;
typedef unsigned int my_uint;
kernel void described(global int* restrict out, global const float4* in,
                      constant uchar* table, local short* scratch, const int number,
                      volatile global uint* flags, Pair pair, float3 v, ulong n,
                      unsigned long long_name, my_uint alias) {
  out[get_global_id(0)] = number;
}
)CLC";

class ClGetKernelArgInfo : public ContextTest {
 protected:
  std::string text(cl_kernel kernel, cl_uint index, cl_kernel_arg_info param) {
    return string_of(query_of(kernel, index, param));
  }
};

TEST_F(ClGetKernelArgInfo, Everything) {
  const Program program = build(kSource, "-cl-kernel-arg-info");
  const Kernel kernel = make_kernel(program, "described");
  struct Expected {
    const char* name;
    const char* type;
    cl_kernel_arg_address_qualifier address;
    cl_kernel_arg_type_qualifier qualifier;
  };
  const cl_kernel_arg_type_qualifier none = CL_KERNEL_ARG_TYPE_NONE;
  const cl_kernel_arg_type_qualifier is_const = CL_KERNEL_ARG_TYPE_CONST;
  // "The type name returned will be the argument type name as it was declared with any whitespace
  // removed. If argument type name is an unsigned scalar type (i.e. unsigned char, [...]),
  // uchar, ushort, uint and ulong will be returned. The argument type name returned does not
  // include any type qualifiers." CL_KERNEL_ARG_TYPE_CONST is given for pointers only.
  const Expected expected[] = {
      {"out", "int*", CL_KERNEL_ARG_ADDRESS_GLOBAL, CL_KERNEL_ARG_TYPE_RESTRICT},
      {"in", "float4*", CL_KERNEL_ARG_ADDRESS_GLOBAL, is_const},
      {"table", "uchar*", CL_KERNEL_ARG_ADDRESS_CONSTANT, is_const},
      {"scratch", "short*", CL_KERNEL_ARG_ADDRESS_LOCAL, none},
      {"number", "int", CL_KERNEL_ARG_ADDRESS_PRIVATE, none},
      {"flags", "uint*", CL_KERNEL_ARG_ADDRESS_GLOBAL, CL_KERNEL_ARG_TYPE_VOLATILE},
      {"pair", "Pair", CL_KERNEL_ARG_ADDRESS_PRIVATE, none},
      {"v", "float3", CL_KERNEL_ARG_ADDRESS_PRIVATE, none},
      {"n", "ulong", CL_KERNEL_ARG_ADDRESS_PRIVATE, none},
      {"long_name", "ulong", CL_KERNEL_ARG_ADDRESS_PRIVATE, none},
      {"alias", "my_uint", CL_KERNEL_ARG_ADDRESS_PRIVATE, none},
  };
  EXPECT_EQ(value_of<cl_uint>(query_of(kernel, CL_KERNEL_NUM_ARGS)), std::size(expected));
  for (cl_uint i = 0; i < std::size(expected); ++i) {
    SCOPED_TRACE(expected[i].name);
    EXPECT_EQ(text(kernel, i, CL_KERNEL_ARG_NAME), expected[i].name);
    EXPECT_EQ(text(kernel, i, CL_KERNEL_ARG_TYPE_NAME), expected[i].type);
    EXPECT_EQ(value_of<cl_kernel_arg_address_qualifier>(
                  query_of(kernel, i, CL_KERNEL_ARG_ADDRESS_QUALIFIER)),
              expected[i].address);
    EXPECT_EQ(value_of<cl_kernel_arg_access_qualifier>(
                  query_of(kernel, i, CL_KERNEL_ARG_ACCESS_QUALIFIER)),
              cl_kernel_arg_access_qualifier{CL_KERNEL_ARG_ACCESS_NONE});
    EXPECT_EQ(
        value_of<cl_kernel_arg_type_qualifier>(query_of(kernel, i, CL_KERNEL_ARG_TYPE_QUALIFIER)),
        expected[i].qualifier);
  }
}

TEST_F(ClGetKernelArgInfo, RejectsBadArguments) {
  const Program program = build(kSource, "-cl-kernel-arg-info");
  const Kernel kernel = make_kernel(program, "described");
  size_t size = 0;
  // "CL_INVALID_ARG_INDEX if arg_index is not a valid argument index."
  EXPECT_CL(CL_INVALID_ARG_INDEX,
            clGetKernelArgInfo(kernel, 11, CL_KERNEL_ARG_NAME, 0, nullptr, &size));
  EXPECT_CL(CL_INVALID_VALUE, clGetKernelArgInfo(kernel, 0, 0xdead, 0, nullptr, &size));
  EXPECT_CL(CL_INVALID_KERNEL,
            clGetKernelArgInfo(nullptr, 0, CL_KERNEL_ARG_NAME, 0, nullptr, &size));
}

TEST_F(ClGetKernelArgInfo, WithoutTheOption) {
  // "Kernel argument information is only available if the program object associated with kernel is
  // [...] built with the -cl-kernel-arg-info option"; "CL_KERNEL_ARG_INFO_NOT_AVAILABLE if the
  // argument information is not available".
  const Program program = build(kSource);
  const Kernel kernel = make_kernel(program, "described");
  char name[32] = {};
  EXPECT_CL(CL_KERNEL_ARG_INFO_NOT_AVAILABLE,
            clGetKernelArgInfo(kernel, 0, CL_KERNEL_ARG_NAME, sizeof(name), name, nullptr));
}

}  // namespace
}  // namespace tutti::api_tests
