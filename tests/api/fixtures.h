// SPDX-License-Identifier: Apache-2.0
//
// What every API test stands on: the chosen platform, owning handles, checks that print error
// names, query checks, and the fixture layers platform -> device -> context -> queue.
//
// Ownership: a Handle owns one reference. Fixtures own what they create, for one test.
// Thread-safety: the options are fixed before the first test; everything else belongs to the
// thread that runs the test, unless a test says otherwise.
#pragma once

#include <CL/cl.h>
#include <gtest/gtest.h>

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace tutti::api_tests {

struct Options {
  std::string platform_name = "Tutti";
  // False when a vendor's own driver is tested, to validate the tests themselves.
  bool tutti = true;
  // Whether handles of the wrong kind are passed: some vendors crash on them.
  bool strict_handles = true;
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
};
const Options& options();
void set_options(const Options& chosen);

// ---- checks ------------------------------------------------------------------------------------

std::string error_name(cl_int code);
testing::AssertionResult same_code(const char* expected_text, const char* actual_text,
                                   cl_int expected, cl_int actual);
// True when `code` is one of those that the specification allows.
testing::AssertionResult is_one_of(cl_int code, std::initializer_list<cl_int> allowed);

#define EXPECT_CL(expected, actual) \
  EXPECT_PRED_FORMAT2(::tutti::api_tests::same_code, expected, actual)
#define ASSERT_CL(expected, actual) \
  ASSERT_PRED_FORMAT2(::tutti::api_tests::same_code, expected, actual)
#define EXPECT_SUCCESS(actual) EXPECT_CL(CL_SUCCESS, actual)
#define ASSERT_SUCCESS(actual) ASSERT_CL(CL_SUCCESS, actual)

// First difference of two sequences, with its index and both values; success when equal.
template <typename T>
testing::AssertionResult same_elements(const std::vector<T>& expected,
                                       const std::vector<T>& actual) {
  if (expected.size() != actual.size()) {
    return testing::AssertionFailure()
           << "sizes differ: expected " << expected.size() << ", got " << actual.size();
  }
  size_t wrong = 0;
  size_t first = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::memcmp(&expected[i], &actual[i], sizeof(T)) != 0 && wrong++ == 0) first = i;
  }
  if (wrong == 0) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << wrong << " of " << expected.size() << " elements differ, first at " << first
         << ": expected " << testing::PrintToString(expected[first]) << ", got "
         << testing::PrintToString(actual[first]);
}

// ---- owning handles ----------------------------------------------------------------------------

template <typename T, auto kRelease>
class Handle {
 public:
  Handle() = default;
  explicit Handle(T handle) : handle_(handle) {}
  Handle(Handle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      reset();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  ~Handle() { reset(); }

  operator T() const { return handle_; }  // NOLINT(google-explicit-constructor)
  T get() const { return handle_; }
  // For an out-parameter: gives up what is held.
  T* out() {
    reset();
    return &handle_;
  }
  // For a list of one.
  const T* list() const { return &handle_; }
  T release() { return std::exchange(handle_, nullptr); }
  void reset() {
    if (handle_ == nullptr) return;
    EXPECT_SUCCESS(kRelease(std::exchange(handle_, nullptr)));
  }

 private:
  T handle_ = nullptr;
};

using Context = Handle<cl_context, clReleaseContext>;
using Queue = Handle<cl_command_queue, clReleaseCommandQueue>;
using Buffer = Handle<cl_mem, clReleaseMemObject>;
using Program = Handle<cl_program, clReleaseProgram>;
using Kernel = Handle<cl_kernel, clReleaseKernel>;
using Event = Handle<cl_event, clReleaseEvent>;

// ---- queries -----------------------------------------------------------------------------------

// One clGet*Info call with everything bound but (param_value_size, param_value, size_ret).
using Query = std::function<cl_int(size_t, void*, size_t*)>;

Query query_of(cl_platform_id object, cl_platform_info param);
Query query_of(cl_device_id object, cl_device_info param);
Query query_of(cl_context object, cl_context_info param);
Query query_of(cl_command_queue object, cl_command_queue_info param);
Query query_of(cl_mem object, cl_mem_info param);
Query query_of(cl_program object, cl_program_info param);
Query query_of(cl_program object, cl_device_id device, cl_program_build_info param);
Query query_of(cl_kernel object, cl_kernel_info param);
Query query_of(cl_kernel object, cl_device_id device, cl_kernel_work_group_info param);
Query query_of(cl_kernel object, cl_uint index, cl_kernel_arg_info param);
Query query_of(cl_event object, cl_event_info param);
Query profiling_of(cl_event object, cl_profiling_info param);

// Checks the rules that all queries share, and returns the value's bytes: size query and value
// query agree, the whole value is written and nothing behind it, a bigger buffer is accepted,
// a smaller one gives CL_INVALID_VALUE, and both outputs may be NULL.
std::vector<std::byte> check_query(const Query& query);

template <typename T>
T value_of(const Query& query) {
  const std::vector<std::byte> bytes = check_query(query);
  T value{};
  EXPECT_EQ(bytes.size(), sizeof(T));
  if (bytes.size() == sizeof(T)) std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

template <typename T>
std::vector<T> array_of(const Query& query) {
  const std::vector<std::byte> bytes = check_query(query);
  EXPECT_EQ(bytes.size() % sizeof(T), 0u);
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

// The text without its terminating null, which must be there.
std::string string_of(const Query& query);

template <typename Object>
cl_uint reference_count(Object object, cl_uint param) {
  return value_of<cl_uint>(query_of(object, param));
}

// CL_DEVICE_VERSION of the device under test as major * 100 + minor * 10, for example 300.
int device_version();
bool device_supports_out_of_order();
// CL_PLATFORM_VERSION, likewise.
int platform_version();
// Whether CL_DEVICE_OPENCL_C_ALL_VERSIONS lists this version, for example 300.
bool device_supports_c(int version);

// ---- data --------------------------------------------------------------------------------------

// Deterministic bytes, different for every seed.
std::vector<uint8_t> noise(size_t size, uint32_t seed);

template <typename T>
std::vector<T> noise_of(size_t count, uint32_t seed) {
  const std::vector<uint8_t> bytes = noise(count * sizeof(T), seed);
  std::vector<T> values(count);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// ---- kernel arguments --------------------------------------------------------------------------

struct LocalBytes {
  size_t size;
};
inline cl_int set_arg(cl_kernel kernel, cl_uint index, const LocalBytes& local) {
  return clSetKernelArg(kernel, index, local.size, nullptr);
}
template <typename T, auto kRelease>
cl_int set_arg(cl_kernel kernel, cl_uint index, const Handle<T, kRelease>& object) {
  return clSetKernelArg(kernel, index, sizeof(T), object.list());
}
template <typename T>
cl_int set_arg(cl_kernel kernel, cl_uint index, const T& value) {
  return clSetKernelArg(kernel, index, sizeof(T), &value);
}
template <typename... Args>
void set_args(cl_kernel kernel, const Args&... args) {
  cl_uint index = 0;
  const cl_int codes[] = {set_arg(kernel, index++, args)...};
  for (size_t i = 0; i < sizeof...(Args); ++i) EXPECT_SUCCESS(codes[i]) << "argument " << i;
}

// ---- threads -----------------------------------------------------------------------------------

// Counts events down from `count`. wait() gives up after a minute, so that a callback which never
// comes is a failed test instead of a hang; nothing is synchronised by that time.
class Latch {
 public:
  explicit Latch(int count = 1) : count_(count) {}
  void count_down();
  [[nodiscard]] bool wait();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_;
};

/// A program's callback was called: with `notify` and its address.
struct Notified {
  Latch latch;
  cl_program program = nullptr;
};
void CL_CALLBACK notify(cl_program program, void* user_data);

// ---- fixtures ----------------------------------------------------------------------------------

class PlatformTest : public testing::Test {
 protected:
  cl_platform_id platform_ = options().platform;
};

class DeviceTest : public PlatformTest {
 protected:
  cl_device_id device_ = options().device;
};

class ContextTest : public DeviceTest {
 protected:
  void SetUp() override;

  Context make_context() const;
  Queue make_queue(cl_command_queue_properties properties = 0) const;
  Buffer make_buffer(size_t size, cl_mem_flags flags = CL_MEM_READ_WRITE,
                     void* host_ptr = nullptr) const;
  template <typename T>
  Buffer make_buffer_of(const std::vector<T>& data, cl_mem_flags flags = CL_MEM_READ_WRITE) const {
    return make_buffer(data.size() * sizeof(T), flags | CL_MEM_COPY_HOST_PTR,
                       const_cast<T*>(data.data()));
  }
  Buffer make_sub_buffer(cl_mem parent, size_t origin, size_t size, cl_mem_flags flags = 0) const;
  // Creates and builds; fails the test with the build log when that fails.
  Program build(const std::string& source, const std::string& build_options = "") const;
  static Kernel make_kernel(cl_program program, const char* name);
  Event make_user_event() const;
  // CL_DEVICE_MEM_BASE_ADDR_ALIGN in bytes.
  size_t alignment() const;

  Context context_;
};

class QueueTest : public ContextTest {
 protected:
  void SetUp() override;
  void TearDown() override;

  template <typename T>
  std::vector<T> read_all(cl_mem buffer, size_t count) const {
    std::vector<T> data(count);
    EXPECT_SUCCESS(clEnqueueReadBuffer(queue_, buffer, CL_TRUE, 0, count * sizeof(T), data.data(),
                                       0, nullptr, nullptr));
    return data;
  }
  template <typename T>
  void write_all(cl_mem buffer, const std::vector<T>& data) const {
    EXPECT_SUCCESS(clEnqueueWriteBuffer(queue_, buffer, CL_TRUE, 0, data.size() * sizeof(T),
                                        data.data(), 0, nullptr, nullptr));
  }
  cl_int launch(cl_kernel kernel, size_t global, size_t local = 0, size_t offset = 0) const;

  Queue queue_;
};

// An out-of-order queue; skipped where the device has none.
class OutOfOrderTest : public QueueTest {
 protected:
  void SetUp() override;
};

// The small kernels that most tests share: one source, so that it is compiled once.
const std::string& common_source();

class KernelTest : public QueueTest {
 protected:
  void SetUp() override;
  Kernel kernel(const char* name) const { return make_kernel(program_, name); }

  Program program_;
};

}  // namespace tutti::api_tests
