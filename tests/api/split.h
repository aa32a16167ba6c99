// SPDX-License-Identifier: Apache-2.0
//
// What the split_*.cpp tests share: kernels over many work-groups, which a driver may divide among
// devices, checked byte for byte against the host. Every buffer lies between guard zones.
//
// Ownership: one context, queue and program for all split tests, made at first use and released
// after the last test. Thread-safety: to be used from the test's thread.
#pragma once

#include "fixtures.h"

namespace tutti::api_tests {

// Work-group size of the one-dimensional kernels, and of the two- and three-dimensional ones.
constexpr size_t kGroup = 64;
constexpr size_t kGroup2[2] = {16, 4};
constexpr size_t kGroup3[3] = {4, 4, 4};

constexpr size_t round_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

// A device buffer of `count` elements with kGuard elements before and after them, and the bytes
// that the host expects in it. Kernels get the buffer and kGuard as the index of element 0.
template <typename T>
class Guarded {
 public:
  static constexpr size_t kGuard = 32;

  explicit Guarded(std::vector<T> inside, uint32_t seed = 99) : count_(inside.size()) {
    expected_ = noise_of<T>(count_ + 2 * kGuard, seed);
    std::copy(inside.begin(), inside.end(), expected_.begin() + kGuard);
  }
  size_t count() const { return count_; }
  size_t total() const { return expected_.size(); }
  size_t bytes() const { return expected_.size() * sizeof(T); }
  T& operator[](size_t index) { return expected_[kGuard + index]; }
  const T& operator[](size_t index) const { return expected_[kGuard + index]; }
  // Everything, guards included.
  std::vector<T>& all() { return expected_; }
  const std::vector<T>& all() const { return expected_; }

 private:
  size_t count_;
  std::vector<T> expected_;
};

class SplitTest : public ContextTest {
 protected:
  static void SetUpTestSuite();
  void SetUp() override;
  void TearDown() override;

  Kernel kernel(const char* name) const;
  template <typename T>
  Buffer upload(const Guarded<T>& data, cl_mem_flags flags = CL_MEM_READ_WRITE) const {
    return make_buffer_of(data.all(), flags);
  }
  // Reads the whole buffer and compares it, guards included, with what the host expects.
  template <typename T>
  testing::AssertionResult matches(const Guarded<T>& expected, cl_mem buffer) const {
    std::vector<T> seen(expected.total());
    const cl_int code = clEnqueueReadBuffer(queue_, buffer, CL_TRUE, 0, expected.bytes(),
                                            seen.data(), 0, nullptr, nullptr);
    if (code != CL_SUCCESS) return testing::AssertionFailure() << error_name(code);
    return same_elements(expected.all(), seen);
  }
  // Rounds the global size up to whole groups of kGroup.
  void launch(cl_kernel kernel, size_t items, size_t offset = 0) const;
  void launch2(cl_kernel kernel, size_t width, size_t height, size_t offset_x = 0,
               size_t offset_y = 0) const;
  void launch3(cl_kernel kernel, const std::array<size_t, 3>& global,
               const std::array<size_t, 3>& offset = {0, 0, 0}) const;

  cl_command_queue queue_ = nullptr;
  cl_program program_ = nullptr;
};

// Element counts: multiples of the group, one off, primes, and fewer than one group.
extern const std::vector<size_t> kSplitSizes;

class SplitSizes : public SplitTest, public testing::WithParamInterface<size_t> {
 protected:
  size_t n_ = GetParam();
};

const std::string& split_source();

}  // namespace tutti::api_tests
