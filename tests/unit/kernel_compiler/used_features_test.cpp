// SPDX-License-Identifier: Apache-2.0
// What a kernel uses that a device need not have.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test_support.h"

namespace tutti::kernel_compiler {
namespace {

struct FeatureCase {
  const char* name;
  const char* body;                   // of `kernel void k(global int* o, …)`
  std::vector<std::string> features;  // sorted
};
void PrintTo(const FeatureCase& item, std::ostream* stream) { *stream << item.name; }

CompileRequest request_of(const std::string& source) {
  CompileRequest request = request_for(source, "-cl-std=CL3.0");
  for (const char* extension :
       {"cl_khr_fp16", "cl_khr_subgroups", "cl_khr_subgroup_shuffle", "cl_khr_subgroup_ballot",
        "cl_khr_integer_dot_product", "cl_khr_extended_bit_ops", "cl_ext_float_atomics"}) {
    request.extensions.emplace_back(extension);
  }
  for (const char* feature :
       {"__opencl_c_generic_address_space", "__opencl_c_subgroups", "__opencl_c_read_write_images",
        "__opencl_c_3d_image_writes", "__opencl_c_atomic_order_acq_rel",
        "__opencl_c_atomic_order_seq_cst", "__opencl_c_atomic_scope_device",
        "__opencl_c_program_scope_global_variables",
        "__opencl_c_work_group_collective_functions"}) {
    request.device_macros[feature] = "1";
  }
  return request;
}

class UsedFeatures : public ::testing::TestWithParam<FeatureCase> {};

TEST_P(UsedFeatures, AreNamed) {
  const CompileOutput output = compiled(request_of(GetParam().body));
  EXPECT_EQ(kernel_of(output, "k").features, GetParam().features);
}

const FeatureCase kFeatureCases[] = {
    {"Nothing", "kernel void k(global int* o) { o[get_global_id(0)] = 1; }", {}},
    {"ByAnotherKernel",
     "kernel void other(global double* o) { o[0] = 1.0; }\n"
     "kernel void k(global int* o) { o[0] = 1; }",
     {}},
    {"Doubles", "kernel void k(global float* o) { o[0] = o[0] * 1.1; }", {"cl_khr_fp64"}},
    {"DoublesInAFunction",
     "float f(float x) { return x * 1.1; }\nkernel void k(global float* o) { o[0] = f(o[0]); }",
     {"cl_khr_fp64"}},
    {"DoublesInATable",
     "constant double t[2] = {1.5, 2.5};\n"
     "kernel void k(global int* o) { o[0] = (int)t[o[1] & 1]; }",
     {"cl_khr_fp64"}},
    {"Halves",
     "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
     "kernel void k(global half* o) { o[0] *= o[1]; }",
     {"cl_khr_fp16"}},
    {"LongAtomics",
     "kernel void k(global long* o) { atom_add(o, 1L); atom_max(o, 2L); }",
     {"cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"}},
    {"Image",
     "kernel void k(read_only image2d_t i, global float4* o) { o[0] = read_imagef(i, (int2)(0)); }",
     {"__opencl_c_images"}},
    {"ReadWriteImage",
     "kernel void k(read_write image2d_t i) { write_imagef(i, (int2)(0), (float4)(1)); }",
     {"__opencl_c_images", "__opencl_c_read_write_images"}},
    {"DepthImage",
     "kernel void k(read_only image2d_depth_t i, global float* o) {\n"
     "  o[0] = read_imagef(i, (int2)(0)) + get_image_width(i); }",
     {"__opencl_c_images", "cl_khr_depth_images"}},
    {"WriteTo3d",
     "kernel void k(write_only image3d_t i) { write_imagef(i, (int4)(0), (float4)(1)); }",
     {"__opencl_c_images", "cl_khr_3d_image_writes"}},
    {"GenericPointer",
     "kernel void k(global int* o, local int* l) { int* p = o[0] ? (int*)o : (int*)l; *p = 1; }",
     {"__opencl_c_generic_address_space"}},
    {"Variable",
     "global int v = 3;\nkernel void k(global int* o) { o[0] = v++; }",
     {"__opencl_c_program_scope_global_variables"}},
    {"VariableOfAFunction",
     "kernel void k(global int* o) { static global int v; o[0] = v++; }",
     {"__opencl_c_program_scope_global_variables"}},
    {"SubGroup",
     "kernel void k(global int* o) { o[0] = get_sub_group_size(); }",
     {"__opencl_c_subgroups"}},
    {"Shuffle",
     "kernel void k(global int* o) { o[0] = sub_group_shuffle(o[0], 1); }",
     {"__opencl_c_subgroups", "cl_khr_subgroup_shuffle"}},
    {"Ballot",
     "kernel void k(global uint4* o) { o[0] = sub_group_ballot(1); }",
     {"__opencl_c_subgroups", "cl_khr_subgroup_ballot"}},
    {"Collective",
     "kernel void k(global int* o) { o[0] = work_group_reduce_add(o[0]); }",
     {"__opencl_c_work_group_collective_functions"}},
    {"IntegerDot",
     "kernel void k(global int* o) { o[0] = dot((char4)(1), (char4)(2)); }",
     {"cl_khr_integer_dot_product"}},
    {"Dot", "kernel void k(global float* o) { o[0] = dot((float4)(1), (float4)(2)); }", {}},
    {"BitReverse",
     "kernel void k(global int* o) { o[0] = bit_reverse(o[0]); }",
     {"cl_khr_extended_bit_ops"}},
    {"FloatAtomic",
     "kernel void k(global atomic_float* o) {\n"
     "  atomic_fetch_add_explicit(o, 1.0f, memory_order_relaxed, memory_scope_device); }",
     {"cl_ext_float_atomics"}},
};
INSTANTIATE_TEST_SUITE_P(Cases, UsedFeatures, ::testing::ValuesIn(kFeatureCases),
                         [](const auto& test) { return std::string(test.param.name); });

const char* const kOfVersion31 =
    "kernel void k(global int* o) { printf(\"%zu %td\", get_global_size(0), (ptrdiff_t)o[0]); }\n"
    "kernel void atomic(global atomic_int* o) {\n"
    "  atomic_fetch_add_explicit(o, 1, memory_order_relaxed, memory_scope_device); }\n"
    "kernel void fence(global int* o) {\n"
    "  o[0] = 1;\n"
    "  atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acq_rel, memory_scope_device); }\n"
    "kernel void old_atomic(global int* o) { atomic_add(o, 1); }\n"
    "kernel void reverse(global int* o) { o[0] = bit_reverse(o[0]); }\n";

TEST(UsedFeaturesOfVersion31, WhatItMakesOtherwiseIsItsOwn) {
  CompileRequest request = request_of(kOfVersion31);
  request.options = "-cl-std=CL3.1 -Werror";
  const CompileOutput output = compiled(request);
  for (const char* kernel : {"k", "atomic", "fence"}) {
    EXPECT_TRUE(kernel_of(output, kernel).uses("OpenCL C 3.1")) << kernel;
  }
  EXPECT_TRUE(kernel_of(output, "old_atomic").features.empty());
  EXPECT_EQ(kernel_of(output, "reverse").features,
            std::vector<std::string>{"cl_khr_extended_bit_ops"});
  request.options = "-cl-std=CL3.0";
  for (const char* kernel : {"k", "atomic", "fence"}) {
    EXPECT_FALSE(kernel_of(compiled(request), kernel).uses("OpenCL C 3.1")) << kernel;
  }
}

}  // namespace
}  // namespace tutti::kernel_compiler
