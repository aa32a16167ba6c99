// SPDX-License-Identifier: Apache-2.0
//
// Every work-item function, for every work-item, against its definition on the host.
#include "fixtures.h"

namespace tutti::api_tests {
namespace {

using Triple = std::array<size_t, 3>;

// What a work-item writes down about itself.
struct Report {
  cl_uint dimensions;
  cl_uint global_id[3];
  cl_uint local_id[3];
  cl_uint group_id[3];
  cl_uint global_size[3];
  cl_uint local_size[3];
  cl_uint num_groups[3];
  cl_uint offset[3];
  cl_uint global_linear;
  cl_uint local_linear;
  cl_uint enqueued_local[3];
};
constexpr size_t kWords = sizeof(Report) / sizeof(cl_uint);

const char kSource[] = R"CLC(
kernel void report(global uint* out) {
  size_t gx = get_global_id(0) - get_global_offset(0);
  size_t gy = get_global_id(1) - get_global_offset(1);
  size_t gz = get_global_id(2) - get_global_offset(2);
  size_t item = (gz * get_global_size(1) + gy) * get_global_size(0) + gx;
  global uint* to = out + item * WORDS;
  *to++ = get_work_dim();
  for (uint d = 0; d < 3; ++d) to[d] = get_global_id(d);
  to += 3;
  for (uint d = 0; d < 3; ++d) to[d] = get_local_id(d);
  to += 3;
  for (uint d = 0; d < 3; ++d) to[d] = get_group_id(d);
  to += 3;
  for (uint d = 0; d < 3; ++d) to[d] = get_global_size(d);
  to += 3;
  for (uint d = 0; d < 3; ++d) to[d] = get_local_size(d);
  to += 3;
  for (uint d = 0; d < 3; ++d) to[d] = get_num_groups(d);
  to += 3;
  for (uint d = 0; d < 3; ++d) to[d] = get_global_offset(d);
  to += 3;
#if __OPENCL_C_VERSION__ >= 200
  *to++ = get_global_linear_id();
  *to++ = get_local_linear_id();
  for (uint d = 0; d < 3; ++d) to[d] = get_enqueued_local_size(d);
#else
  *to++ = item;
  *to++ = (get_local_id(2) * get_local_size(1) + get_local_id(1)) * get_local_size(0) +
          get_local_id(0);
  for (uint d = 0; d < 3; ++d) to[d] = get_local_size(d);
#endif
}
)CLC";

struct Launch {
  cl_uint dimensions;
  Triple offset;
  Triple global;
  Triple local;
};

void PrintTo(const Launch& launch, std::ostream* stream) {
  *stream << launch.dimensions << "-D offset " << testing::PrintToString(launch.offset)
          << " global " << testing::PrintToString(launch.global) << " local "
          << testing::PrintToString(launch.local);
}

// Few distinct local sizes: some vendors compile for each.
const Launch kLaunches[] = {
    {1, {0, 0, 0}, {64, 1, 1}, {64, 1, 1}},     {1, {0, 0, 0}, {6400, 1, 1}, {64, 1, 1}},
    {1, {777, 0, 0}, {6400, 1, 1}, {64, 1, 1}}, {2, {0, 0, 0}, {40, 36, 1}, {8, 4, 1}},
    {2, {3, 1000, 0}, {8, 400, 1}, {8, 4, 1}},  {2, {5, 0, 0}, {800, 4, 1}, {8, 4, 1}},
    {3, {0, 0, 0}, {20, 12, 10}, {4, 2, 2}},    {3, {1, 2, 3}, {4, 2, 130}, {4, 2, 2}},
    {3, {7, 0, 1}, {12, 66, 6}, {4, 2, 2}},
};

using WorkItemFunctionsPlain = QueueTest;

class WorkItemFunctions : public QueueTest, public testing::WithParamInterface<Launch> {
 protected:
  static Report expected_report(const Launch& l, const Triple& item) {
    Report r{};
    r.dimensions = l.dimensions;
    size_t global_linear = 0;
    size_t local_linear = 0;
    for (size_t d = 3; d-- > 0;) {
      const size_t offset = d < l.dimensions ? l.offset[d] : 0;
      r.global_id[d] = static_cast<cl_uint>(item[d] + offset);
      r.local_id[d] = static_cast<cl_uint>(item[d] % l.local[d]);
      r.group_id[d] = static_cast<cl_uint>(item[d] / l.local[d]);
      r.global_size[d] = static_cast<cl_uint>(l.global[d]);
      r.local_size[d] = r.enqueued_local[d] = static_cast<cl_uint>(l.local[d]);
      r.num_groups[d] = static_cast<cl_uint>(l.global[d] / l.local[d]);
      r.offset[d] = static_cast<cl_uint>(offset);
      global_linear = global_linear * l.global[d] + item[d];
      local_linear = local_linear * l.local[d] + item[d] % l.local[d];
    }
    r.global_linear = static_cast<cl_uint>(global_linear);
    r.local_linear = static_cast<cl_uint>(local_linear);
    return r;
  }
};

INSTANTIATE_TEST_SUITE_P(Launches, WorkItemFunctions, testing::ValuesIn(kLaunches));

TEST_P(WorkItemFunctions, AreRightInEveryWorkItem) {
  const Launch& l = GetParam();
  std::string build_options = "-DWORDS=" + std::to_string(kWords);
  if (device_supports_c(300)) build_options += " -cl-std=CL3.0";
  const Program program = build(kSource, build_options);
  const Kernel kernel = make_kernel(program, "report");
  const size_t items = l.global[0] * l.global[1] * l.global[2];
  const Buffer out = make_buffer_of(std::vector<cl_uint>(items * kWords, 0xdeadbeef));
  set_args(kernel, out);
  ASSERT_SUCCESS(clEnqueueNDRangeKernel(queue_, kernel, l.dimensions, l.offset.data(),
                                        l.global.data(), l.local.data(), 0, nullptr, nullptr));
  const std::vector<Report> reports = read_all<Report>(out, items);
  size_t i = 0;
  for (size_t z = 0; z < l.global[2]; ++z) {
    for (size_t y = 0; y < l.global[1]; ++y) {
      for (size_t x = 0; x < l.global[0]; ++x, ++i) {
        const Report expected = expected_report(l, {x, y, z});
        if (std::memcmp(&expected, &reports[i], sizeof(Report)) == 0) continue;
        std::vector<cl_uint> wanted(kWords);
        std::vector<cl_uint> got(kWords);
        std::memcpy(wanted.data(), &expected, sizeof(Report));
        std::memcpy(got.data(), &reports[i], sizeof(Report));
        FAIL() << "work-item " << x << " " << y << " " << z << "\nexpected "
               << testing::PrintToString(wanted) << "\ngot      " << testing::PrintToString(got);
      }
    }
  }
}

TEST_F(WorkItemFunctionsPlain, BeyondTheLastDimension) {
  // "Valid values of dimindx are 0 to get_work_dim() - 1. For other values of dimindx," the ids and
  // offsets are 0, the sizes and numbers of groups are 1.
  const Program program = build(
      "kernel void beyond(global uint* out, uint d) {\n"
      "  global uint* to = out + 7 * get_global_id(0);\n"
      "  to[0] = get_global_id(d);\n  to[1] = get_local_id(d);\n  to[2] = get_group_id(d);\n"
      "  to[3] = get_global_offset(d);\n  to[4] = get_global_size(d);\n"
      "  to[5] = get_local_size(d);\n  to[6] = get_num_groups(d);\n}\n");
  const Kernel kernel = make_kernel(program, "beyond");
  for (const cl_uint dimension : {1u, 2u, 3u, 1000u}) {
    const Buffer out = make_buffer_of(std::vector<cl_uint>(6400 * 7, 0xdeadbeef));
    set_args(kernel, out, dimension);
    ASSERT_SUCCESS(launch(kernel, 6400, 64));
    std::vector<cl_uint> expected;
    for (size_t i = 0; i < 6400; ++i) {
      for (const cl_uint value : {0u, 0u, 0u, 0u, 1u, 1u, 1u}) expected.push_back(value);
    }
    EXPECT_TRUE(same_elements(expected, read_all<cl_uint>(out, expected.size()))) << dimension;
  }
}

TEST_F(WorkItemFunctionsPlain, NullLocalSizeCoversEveryItemOnce) {
  // The driver chooses the local size; whatever it is, the report must be consistent with it.
  std::string build_options = "-DWORDS=" + std::to_string(kWords);
  if (device_supports_c(300)) build_options += " -cl-std=CL3.0";
  const Program program = build(kSource, build_options);
  const Kernel kernel = make_kernel(program, "report");
  const Triple global = {30, 7, 6};
  const size_t items = global[0] * global[1] * global[2];
  const Buffer out = make_buffer_of(std::vector<cl_uint>(items * kWords, 0xdeadbeef));
  set_args(kernel, out);
  ASSERT_SUCCESS(clEnqueueNDRangeKernel(queue_, kernel, 3, nullptr, global.data(), nullptr, 0,
                                        nullptr, nullptr));
  const std::vector<Report> reports = read_all<Report>(out, items);
  for (size_t i = 0; i < items; ++i) {
    const size_t at[3] = {i % global[0], i / global[0] % global[1], i / global[0] / global[1]};
    for (size_t d = 0; d < 3; ++d) {
      const Report& r = reports[i];
      ASSERT_EQ(r.global_id[d], at[d]) << i;
      ASSERT_EQ(r.global_size[d], global[d]) << i;
      ASSERT_GE(r.enqueued_local[d], 1u) << i;
      ASSERT_EQ(r.group_id[d], at[d] / r.enqueued_local[d]) << i;
      ASSERT_EQ(r.local_id[d], at[d] % r.enqueued_local[d]) << i;
      ASSERT_EQ(r.num_groups[d], (global[d] + r.enqueued_local[d] - 1) / r.enqueued_local[d]) << i;
    }
  }
}

}  // namespace
}  // namespace tutti::api_tests
