// SPDX-License-Identifier: Apache-2.0
//
// Programs that use functions which only the device's own compiler knows: built, linked with others
// and taken from their binaries, as if they were written in plain OpenCL C.
#include <string>

#include "linking.h"

namespace tutti::api_tests {
namespace {

// `same(x)` is x, where `VENDORS(x)` is something of the vendor's that is 0.
const std::string kVendorsSame = "uint same(uint x) { return x + (uint)(VENDORS(x)); }\n";
const std::string kVendorsSum = R"CLC(
struct Numbers { int a; short b; char c[3]; };
uint same(uint x);
kernel void sum(global uint* out, global const uint* in, local uint* room, struct Numbers numbers,
                uint n) {
  size_t i = get_global_id(0), l = get_local_id(0);
  room[l] = same(in[i]);
  barrier(CLK_LOCAL_MEM_FENCE);
  out[i] += room[l ^ 1] + numbers.a + numbers.b + numbers.c[2] + n + get_group_id(0);
}
)CLC";

class VendorFunctions : public LinkTest {
 protected:
  static constexpr size_t kItems = 4096;
  static constexpr size_t kLocal = 64;
  struct Numbers {
    cl_int a;
    cl_short b;
    cl_char c[3];
  };

  void SetUp() override {
    LinkTest::SetUp();
    if (HasFatalFailure() || IsSkipped()) return;
    // PoCL's name for its square root, and a function of cl_intel_subgroups.
    for (const char* vendors :
         {"(int)_cl_sqrt((float)(x) * 0)", "intel_sub_group_shuffle(x, 0) * 0",
          "intel_sub_group_shuffle((x), 0u) - intel_sub_group_shuffle((x), 0u)"}) {
      const std::string define = "#define VENDORS(x) " + std::string(vendors) + "\n";
      // With a kernel: NVIDIA's compiler misses functions only where one calls them.
      const Program program = create((kVendorsSum + define + kVendorsSame).c_str());
      if (clBuildProgram(program, 1, &device_, "", nullptr, nullptr) != CL_SUCCESS) continue;
      same_ = define + kVendorsSame;
      return;
    }
    const std::string name = string_of(query_of(device_, CL_DEVICE_NAME));
    // The primary's name is in front.
    const bool pocl = name.starts_with("basic") || name.starts_with("pthread");
    ASSERT_FALSE(pocl) << name << " knows PoCL's functions";
    GTEST_SKIP() << "no function of the vendor's is known here";
  }
  void expect_sums(const Program& program) const {
    const Kernel kernel = make_kernel(program, "sum");
    ASSERT_NE(kernel.get(), nullptr);
    EXPECT_EQ(value_of<cl_uint>(query_of(kernel, CL_KERNEL_NUM_ARGS)), 5u);
    const auto in = noise_of<cl_uint>(kItems, 5);
    const auto before = noise_of<cl_uint>(kItems, 6);
    const Buffer from = make_buffer_of(in, CL_MEM_READ_ONLY);
    const Buffer out = make_buffer_of(before);
    const Numbers numbers{1000, -3, {1, 2, 7}};
    set_args(kernel, out, from, LocalBytes{kLocal * sizeof(cl_uint)}, numbers, cl_uint{50});
    for (int round = 0; round < 2; ++round) EXPECT_SUCCESS(launch(kernel, kItems, kLocal));
    std::vector<cl_uint> expected(kItems);
    for (size_t i = 0; i < kItems; ++i) {
      const auto group = static_cast<cl_uint>(i / kLocal);
      expected[i] = before[i] + 2 * (in[i ^ 1] + 1000 - 3 + 7 + 50 + group);
    }
    EXPECT_TRUE(same_elements(expected, read_all<cl_uint>(out, kItems)));
  }

  std::string same_;
};

TEST_F(VendorFunctions, Build) {
  const Program program = build(kVendorsSum + same_, "-cl-kernel-arg-info");
  EXPECT_EQ(string_of(query_of(program, CL_PROGRAM_KERNEL_NAMES)), "sum");
  const Kernel kernel = make_kernel(program, "sum");
  EXPECT_EQ(string_of(query_of(kernel, 1, CL_KERNEL_ARG_NAME)), "in");
  EXPECT_EQ(value_of<cl_kernel_arg_address_qualifier>(
                query_of(kernel, 2, CL_KERNEL_ARG_ADDRESS_QUALIFIER)),
            cl_kernel_arg_address_qualifier{CL_KERNEL_ARG_ADDRESS_LOCAL});
  const cl_short small = 0;
  EXPECT_CL(CL_INVALID_ARG_SIZE, clSetKernelArg(kernel, 3, sizeof small, &small));
  if (options().tutti) {
    EXPECT_NE(log(program).find("only the primary's compiler knows this program"),
              std::string::npos)
        << log(program);
  }
  expect_sums(program);
}

TEST_F(VendorFunctions, FromTheirBinaries) {
  const Program program = build(kVendorsSum + same_);
  cl_int code = CL_SUCCESS;
  const Program loaded = load(binary_of(program), code);
  ASSERT_SUCCESS(code);
  ASSERT_SUCCESS(clBuildProgram(loaded, 1, &device_, "", nullptr, nullptr));
  expect_sums(loaded);
}

TEST_F(VendorFunctions, CompiledAndLinked) {
  const Program kernel = compiled(kVendorsSum.c_str());
  const Program same = compiled(same_.c_str());
  expect_sums(linked({kernel, same}));
  const Program library = linked({same}, "-create-library");
  expect_sums(linked({kernel, library}));
}

TEST_F(VendorFunctions, OtherErrorsAreErrors) {
  for (const char* error : {"void more(void) { no_name_at_all_here(); }\n",
                            "void more(no_name_at_all_here x) {}\n", "no_name_at_all_here\n"}) {
    const Program program = create((same_ + error).c_str());
    EXPECT_CL(CL_BUILD_PROGRAM_FAILURE, clBuildProgram(program, 1, &device_, "", nullptr, nullptr));
    EXPECT_NE(log(program).find("no_name_at_all_here"), std::string::npos) << log(program);
    const Program unit = create((same_ + error).c_str());
    EXPECT_CL(CL_COMPILE_PROGRAM_FAILURE, compile(unit));
  }
}

}  // namespace
}  // namespace tutti::api_tests
