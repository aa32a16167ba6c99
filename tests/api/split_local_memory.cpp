// SPDX-License-Identifier: Apache-2.0
//
// Local memory, barriers and atomics in split launches.
#include <algorithm>

#include "split.h"

namespace tutti::api_tests {
namespace {

using SplitLocalMemory = SplitSizes;
using SplitAtomics = SplitSizes;

INSTANTIATE_TEST_SUITE_P(Sizes, SplitLocalMemory, testing::ValuesIn(kSplitSizes));
INSTANTIATE_TEST_SUITE_P(Sizes, SplitAtomics, testing::ValuesIn(kSplitSizes));

TEST_P(SplitLocalMemory, GroupSums) {
  const Kernel sum = kernel("group_sum");
  std::vector<cl_int> values = noise_of<cl_int>(n_, 1);
  for (cl_int& value : values) value /= 128;
  const Guarded<cl_int> in(values);
  const size_t groups = round_up(n_, kGroup) / kGroup;
  Guarded<cl_int> expected(std::vector<cl_int>(groups, 0));
  const Buffer buffer_in = upload(in);
  const Buffer out = upload(expected);
  set_args(sum, buffer_in, out, LocalBytes{kGroup * 4}, static_cast<cl_uint>(n_));
  launch(sum, n_);
  for (size_t i = 0; i < n_; ++i) expected[i / kGroup] += values[i];
  EXPECT_TRUE(matches(expected, out));
}

TEST_P(SplitLocalMemory, ReverseInEveryGroup) {
  const Kernel reverse = kernel("group_reverse");
  const size_t n = round_up(n_, kGroup);
  const Guarded<cl_uint> start(noise_of<cl_uint>(n, 2));
  Guarded<cl_uint> expected = start;
  const Buffer data = upload(start);
  set_args(reverse, data);
  launch(reverse, n);
  for (size_t i = 0; i < n; ++i) {
    const size_t group = i / kGroup;
    expected[i] = start[group * kGroup + (kGroup - 1 - i % kGroup)] + static_cast<cl_uint>(group);
  }
  EXPECT_TRUE(matches(expected, data));
}

TEST_P(SplitAtomics, Histogram) {
  const Kernel histogram = kernel("histogram");
  const Guarded<cl_uchar> in(noise(n_, 3));
  Guarded<cl_uint> expected(noise_of<cl_uint>(256, 4));
  const Buffer buffer_in = upload(in);
  const Buffer bins = upload(expected);
  // Twice: the counts go on from what is there.
  for (int round = 0; round < 2; ++round) {
    set_args(histogram, buffer_in, bins, static_cast<cl_uint>(n_));
    launch(histogram, n_);
    for (size_t i = 0; i < n_; ++i) ++expected[in[i]];
  }
  EXPECT_TRUE(matches(expected, bins));
}

TEST_P(SplitAtomics, EveryOperator) {
  const Kernel operators = kernel("atomic_min_max");
  const Guarded<cl_int> in(noise_of<cl_int>(n_, 5));
  Guarded<cl_int> expected(std::vector<cl_int>{100, -100, 0x1234, 0x10000, -1, 77});
  const Buffer buffer_in = upload(in);
  const Buffer out = upload(expected);
  set_args(operators, buffer_in, out, static_cast<cl_uint>(n_));
  launch(operators, n_);
  auto difference = static_cast<cl_uint>(expected[5]);
  for (size_t i = 0; i < n_; ++i) {
    expected[0] = std::min(expected[0], in[i]);
    expected[1] = std::max(expected[1], in[i]);
    expected[2] ^= in[i];
    expected[3] |= in[i] & 0xff;
    expected[4] &= in[i] | 0xf0f0;
    difference -= static_cast<cl_uint>(in[i]);
  }
  expected[5] = static_cast<cl_int>(difference);
  EXPECT_TRUE(matches(expected, out));
}

TEST_P(SplitAtomics, ResultsThatAreUsed) {
  // Every ticket is drawn once: the results of the atomics matter, not only their sum.
  const Kernel tickets = kernel("take_tickets");
  Guarded<cl_uint> counter(std::vector<cl_uint>{1000});
  Guarded<cl_uint> ticket(std::vector<cl_uint>(n_, 0));
  const Buffer buffer_counter = upload(counter);
  const Buffer buffer_ticket = upload(ticket);
  set_args(tickets, buffer_counter, buffer_ticket, static_cast<cl_uint>(n_));
  launch(tickets, n_);
  std::vector<cl_uint> seen(ticket.total());
  ASSERT_SUCCESS(clEnqueueReadBuffer(queue_, buffer_ticket, CL_TRUE, 0, ticket.bytes(), seen.data(),
                                     0, nullptr, nullptr));
  const auto first = seen.begin() + Guarded<cl_uint>::kGuard;
  std::sort(first, first + static_cast<ptrdiff_t>(n_));
  for (size_t i = 0; i < n_; ++i) ticket[i] = 1000 + static_cast<cl_uint>(i);
  EXPECT_TRUE(same_elements(ticket.all(), seen));
  counter[0] += static_cast<cl_uint>(n_);
  EXPECT_TRUE(matches(counter, buffer_counter));
}

TEST_P(SplitAtomics, CompareExchangeLoop) {
  const Kernel best_of = kernel("compare_exchange_max");
  const Guarded<cl_uint> in(noise_of<cl_uint>(n_, 6));
  Guarded<cl_uint> best(std::vector<cl_uint>{17});
  const Buffer buffer_in = upload(in);
  const Buffer buffer_best = upload(best);
  set_args(best_of, buffer_in, buffer_best, static_cast<cl_uint>(n_));
  launch(best_of, n_);
  for (size_t i = 0; i < n_; ++i) best[0] = std::max(best[0], in[i]);
  EXPECT_TRUE(matches(best, buffer_best));
}

}  // namespace
}  // namespace tutti::api_tests
