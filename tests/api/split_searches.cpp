// SPDX-License-Identifier: Apache-2.0
//
// Kernels that seldom execute atomics whose results they use: searches, which number what they
// find. Devices that compute parts of such a launch must come to a result that some order of
// work-groups gives, also where more than one of them has found something.
#include <algorithm>
#include <numeric>

#include "split.h"

namespace tutti::api_tests {
namespace {

const char* const kSearches = R"(
kernel void search(global const uint* in, uint key, global uint* count, global uint* found,
                   global uint* state, uint room, uint n) {
  uint i = get_global_id(0);
  if (i >= n) return;
  state[i] = state[i] * 3 + i;
  if (in[i] == key) {
    uint at = atomic_inc(count);
    if (at >= room) {
      atomic_dec(count);
      return;
    }
    found[at] = i;
  }
}
kernel void first_come(global const uint* in, uint key, global uint* owner, global uint* mark,
                       uint n) {
  uint i = get_global_id(0);
  if (i < n && in[i] == key && atomic_cmpxchg(owner, 0u, i + 1) == 0) mark[1] = i;
}
)";

constexpr cl_uint kKey = 77;
constexpr cl_uint kNothing = 0xabababab;

class SplitSearches : public ContextTest, public testing::WithParamInterface<size_t> {
 protected:
  void SetUp() override {
    ContextTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    queue_ = make_queue();
    program_ = build(kSearches);
  }
  void launch(cl_kernel kernel) const {
    const size_t global = round_up(n_, kGroup), group = kGroup;
    ASSERT_SUCCESS(
        clEnqueueNDRangeKernel(queue_, kernel, 1, nullptr, &global, &group, 0, nullptr, nullptr));
  }
  std::vector<cl_uint> read(cl_mem buffer, size_t count) const {
    std::vector<cl_uint> data(count);
    EXPECT_SUCCESS(clEnqueueReadBuffer(queue_, buffer, CL_TRUE, 0, count * sizeof(cl_uint),
                                       data.data(), 0, nullptr, nullptr));
    return data;
  }
  /// Places where the key lies: nowhere, at one end, at both, in one place, and in many.
  std::vector<std::vector<size_t>> hits() const {
    std::vector<std::vector<size_t>> hits = {{}, {0}, {n_ - 1}, {0, n_ - 1}, {n_ / 3, n_ / 3 + 1}};
    hits.emplace_back();
    for (size_t i = 5; i < n_; i += 97) hits.back().push_back(i);
    return hits;
  }
  std::vector<cl_uint> input(const std::vector<size_t>& hits) const {
    std::vector<cl_uint> in(n_, 1);
    for (const size_t i : hits) in[i] = kKey;
    return in;
  }

  const size_t n_ = GetParam();
  const cl_uint count_ = static_cast<cl_uint>(n_);
  Queue queue_;
  Program program_;
};

INSTANTIATE_TEST_SUITE_P(Sizes, SplitSearches,
                         testing::Values(size_t{65}, size_t{1000}, size_t{40009}));

TEST_P(SplitSearches, EverythingIsFoundAndNumberedOnce) {
  const Kernel search = make_kernel(program_, "search");
  std::vector<cl_uint> state = noise_of<cl_uint>(n_, 3);
  const Buffer buffer_state = make_buffer_of(state);
  for (const std::vector<size_t>& hits : hits()) {
    const std::vector<cl_uint> in = input(hits);
    const Buffer buffer_in = make_buffer_of(in);
    const Buffer count = make_buffer_of(std::vector<cl_uint>{0});
    const size_t room = hits.size() * 3 + 2;
    const Buffer found = make_buffer_of(std::vector<cl_uint>(room, kNothing));
    set_args(search, buffer_in, kKey, count, found, buffer_state, static_cast<cl_uint>(room),
             count_);
    std::vector<size_t> expected;
    // What earlier launches found stays, and is counted on from.
    for (int round = 0; round < 3; ++round) {
      launch(search);
      expected.insert(expected.end(), hits.begin(), hits.end());
      for (size_t i = 0; i < n_; ++i) state[i] = state[i] * 3 + static_cast<cl_uint>(i);
    }
    EXPECT_EQ(read(count, 1)[0], expected.size());
    std::vector<cl_uint> seen = read(found, room);
    EXPECT_EQ(
        std::vector<cl_uint>(seen.begin() + static_cast<ptrdiff_t>(expected.size()), seen.end()),
        std::vector<cl_uint>(room - expected.size(), kNothing));
    seen.resize(expected.size());
    std::sort(seen.begin(), seen.end());
    std::sort(expected.begin(), expected.end());
    EXPECT_TRUE(std::equal(seen.begin(), seen.end(), expected.begin(), expected.end()));
    EXPECT_TRUE(same_elements(state, read(buffer_state, n_))) << hits.size() << " hits";
  }
}

TEST_P(SplitSearches, RoomForFewer) {
  const Kernel search = make_kernel(program_, "search");
  const std::vector<size_t> hits = this->hits().back();
  const cl_uint room = static_cast<cl_uint>((hits.size() + 1) / 2);
  const Buffer in = make_buffer_of(input(hits));
  const Buffer count = make_buffer_of(std::vector<cl_uint>{0});
  const Buffer found = make_buffer_of(std::vector<cl_uint>(hits.size() + 1, kNothing));
  const Buffer state = make_buffer_of(std::vector<cl_uint>(n_, 0));
  set_args(search, in, kKey, count, found, state, room, count_);
  launch(search);
  EXPECT_EQ(read(count, 1)[0], room);
  std::vector<cl_uint> seen = read(found, hits.size() + 1);
  for (size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i] == kNothing, i >= room) << i;
  seen.resize(room);
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
  for (const cl_uint i : seen) EXPECT_TRUE(std::binary_search(hits.begin(), hits.end(), size_t{i}));
}

TEST_P(SplitSearches, OneWins) {
  const Kernel kernel = make_kernel(program_, "first_come");
  for (const std::vector<size_t>& hits : hits()) {
    const Buffer in = make_buffer_of(input(hits));
    const Buffer owner = make_buffer_of(std::vector<cl_uint>{0});
    const Buffer mark = make_buffer_of(std::vector<cl_uint>(3, kNothing));
    set_args(kernel, in, kKey, owner, mark, count_);
    launch(kernel);
    launch(kernel);
    const cl_uint winner = read(owner, 1)[0];
    const std::vector<cl_uint> marked = read(mark, 3);
    EXPECT_EQ(winner == 0, hits.empty());
    EXPECT_EQ(marked[1], winner == 0 ? kNothing : winner - 1);
    EXPECT_EQ(marked[0], kNothing);
    EXPECT_EQ(marked[2], kNothing);
    EXPECT_TRUE(winner == 0 || std::binary_search(hits.begin(), hits.end(), size_t{winner - 1}));
  }
}

}  // namespace
}  // namespace tutti::api_tests
