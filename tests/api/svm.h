// SPDX-License-Identifier: Apache-2.0
//
// What the tests of shared virtual memory share: an owning pointer, and the host's way to the
// memory. Skipped where the device has none.
//
// Ownership: a Shared owns its memory, for one test. Thread-safety: of the test's thread.
#pragma once

#include "fixtures.h"

namespace tutti::api_tests {

// Elements of shared memory; freed at the end.
template <typename T>
class Shared {
 public:
  Shared() = default;
  Shared(cl_context context, size_t count, cl_svm_mem_flags flags = CL_MEM_READ_WRITE,
         cl_uint alignment = 0)
      : context_(context),
        data_(static_cast<T*>(clSVMAlloc(context, flags, count * sizeof(T), alignment))),
        count_(count) {
    EXPECT_NE(data_, nullptr);
  }
  Shared(Shared&& other) noexcept
      : context_(other.context_),
        data_(std::exchange(other.data_, nullptr)),
        count_(other.count_) {}
  Shared& operator=(Shared&&) = delete;
  ~Shared() {
    if (data_ != nullptr) clSVMFree(context_, data_);
  }
  T* get() const { return data_; }
  T* release() { return std::exchange(data_, nullptr); }
  size_t count() const { return count_; }
  size_t bytes() const { return count_ * sizeof(T); }

 private:
  cl_context context_ = nullptr;
  T* data_ = nullptr;
  size_t count_ = 0;
};

class SvmTest : public QueueTest {
 protected:
  void SetUp() override;

  cl_device_svm_capabilities capabilities() const;
  // Through a map of all of it.
  template <typename T>
  void store(const Shared<T>& shared, const std::vector<T>& data) const {
    ASSERT_SUCCESS(map(shared.get(), shared.bytes(), CL_MAP_WRITE_INVALIDATE_REGION));
    std::memcpy(shared.get(), data.data(), shared.bytes());
    ASSERT_SUCCESS(unmap(shared.get()));
  }
  template <typename T>
  std::vector<T> load(const Shared<T>& shared) const {
    std::vector<T> data(shared.count());
    EXPECT_SUCCESS(map(shared.get(), shared.bytes(), CL_MAP_READ));
    std::memcpy(data.data(), shared.get(), shared.bytes());
    EXPECT_SUCCESS(unmap(shared.get()));
    return data;
  }
  cl_int map(void* pointer, size_t bytes, cl_map_flags flags) const {
    return clEnqueueSVMMap(queue_, CL_TRUE, flags, pointer, bytes, 0, nullptr, nullptr);
  }
  cl_int unmap(void* pointer) const {
    return clEnqueueSVMUnmap(queue_, pointer, 0, nullptr, nullptr);
  }
};

}  // namespace tutti::api_tests
