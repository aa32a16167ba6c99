// SPDX-License-Identifier: Apache-2.0
//
// Kernels of linked programs over many work-groups, which a driver may divide among devices: ids
// and sizes of the whole launch are asked for in another unit.
#include "linking.h"
#include "split.h"

namespace tutti::api_tests {
namespace {

class SplitLinkedPrograms : public LinkTest, public testing::WithParamInterface<size_t> {
 protected:
  const size_t count_ = round_up(GetParam(), kGroup);
};

INSTANTIATE_TEST_SUITE_P(Sizes, SplitLinkedPrograms,
                         testing::Values(size_t{1}, size_t{64 * 13}, size_t{10007}));

TEST_P(SplitLinkedPrograms, HelpersInAnotherUnit) {
  const Program kernel = compiled(kWhereKernel);
  const Program helpers = compiled(kWhereHelpers);
  const Program program = linked({kernel, helpers});
  EXPECT_TRUE(same_elements(where_expected(count_, kGroup), run(program, "where", count_, kGroup)));
  EXPECT_TRUE(same_elements(where_expected(count_, kGroup, 192),
                            run(program, "where", count_, kGroup, 192)));
}

TEST_P(SplitLinkedPrograms, LibraryFromABinary) {
  const Program helpers = compiled(kWhereHelpers);
  const Program library = loaded(binary_of(linked({helpers}, "-create-library")));
  const Program kernel = loaded(binary_of(compiled(kWhereKernel)));
  const Program program = linked({library, kernel});
  EXPECT_TRUE(same_elements(where_expected(count_, kGroup), run(program, "where", count_, kGroup)));
}

TEST_P(SplitLinkedPrograms, KernelCalledFromAnotherUnit) {
  const Program callee = compiled(
      "kernel void fill(global int* out) {\n"
      "  out[get_global_id(0)] = (int)get_group_id(0) + (int)get_num_groups(0) * 100;\n"
      "}\n");
  const Program caller = compiled(
      "kernel void fill(global int* out);\n"
      "kernel void twice(global int* out) { fill(out); out[get_global_id(0)] *= 2; }\n");
  const Program program = linked({caller, callee});
  std::vector<cl_int> expected(count_);
  for (size_t i = 0; i < count_; ++i) {
    expected[i] = static_cast<cl_int>(2 * (i / kGroup + count_ / kGroup * 100));
  }
  EXPECT_TRUE(same_elements(expected, run(program, "twice", count_, kGroup)));
}

}  // namespace
}  // namespace tutti::api_tests
