// SPDX-License-Identifier: Apache-2.0
#include "fixtures.h"

#include <algorithm>
#include <chrono>

namespace tutti::api_tests {
namespace {

Options& mutable_options() {
  static Options instance;
  return instance;
}

}  // namespace

const Options& options() { return mutable_options(); }
void set_options(const Options& chosen) { mutable_options() = chosen; }

Query query_of(cl_platform_id object, cl_platform_info param) {
  return [=](size_t size, void* value, size_t* ret) {
    return clGetPlatformInfo(object, param, size, value, ret);
  };
}
Query query_of(cl_device_id object, cl_device_info param) {
  return [=](size_t size, void* value, size_t* ret) {
    return clGetDeviceInfo(object, param, size, value, ret);
  };
}
Query query_of(cl_context object, cl_context_info param) {
  return [=](size_t size, void* value, size_t* ret) {
    return clGetContextInfo(object, param, size, value, ret);
  };
}
Query query_of(cl_command_queue object, cl_command_queue_info param) {
  return [=](size_t size, void* value, size_t* ret) {
    return clGetCommandQueueInfo(object, param, size, value, ret);
  };
}
Query query_of(cl_mem object, cl_mem_info param) {
  return [=](size_t size, void* value, size_t* ret) {
    return clGetMemObjectInfo(object, param, size, value, ret);
  };
}
Query query_of(cl_program object, cl_program_info param) {
  return [=](size_t size, void* value, size_t* ret) {
    return clGetProgramInfo(object, param, size, value, ret);
  };
}
Query query_of(cl_program object, cl_device_id device, cl_program_build_info param) {
  return [=](size_t size, void* value, size_t* ret) {
    return clGetProgramBuildInfo(object, device, param, size, value, ret);
  };
}
Query query_of(cl_kernel object, cl_kernel_info param) {
  return [=](size_t size, void* value, size_t* ret) {
    return clGetKernelInfo(object, param, size, value, ret);
  };
}
Query query_of(cl_kernel object, cl_device_id device, cl_kernel_work_group_info param) {
  return [=](size_t size, void* value, size_t* ret) {
    return clGetKernelWorkGroupInfo(object, device, param, size, value, ret);
  };
}
Query query_of(cl_kernel object, cl_uint index, cl_kernel_arg_info param) {
  return [=](size_t size, void* value, size_t* ret) {
    return clGetKernelArgInfo(object, index, param, size, value, ret);
  };
}
Query query_of(cl_event object, cl_event_info param) {
  return [=](size_t size, void* value, size_t* ret) {
    return clGetEventInfo(object, param, size, value, ret);
  };
}
Query profiling_of(cl_event object, cl_profiling_info param) {
  return [=](size_t size, void* value, size_t* ret) {
    return clGetEventProfilingInfo(object, param, size, value, ret);
  };
}

std::vector<std::byte> check_query(const Query& query) {
  constexpr size_t kGuard = 16;
  size_t size = ~size_t{0};
  const cl_int code = query(0, nullptr, &size);
  EXPECT_SUCCESS(code);
  if (code != CL_SUCCESS) return {};

  // Two different backgrounds: a byte that differs between the answers was never written.
  std::vector<std::byte> first(size + kGuard, std::byte{0x00});
  std::vector<std::byte> second(size + kGuard, std::byte{0xff});
  size_t first_size = 0;
  size_t second_size = 0;
  EXPECT_SUCCESS(query(size, first.data(), &first_size));
  EXPECT_SUCCESS(query(size + kGuard, second.data(), &second_size));
  EXPECT_EQ(first_size, size);
  EXPECT_EQ(second_size, size);
  EXPECT_TRUE(
      std::equal(first.begin(), first.begin() + static_cast<ptrdiff_t>(size), second.begin()))
      << "two queries of the same value disagree, or part of it was not written";
  for (size_t i = size; i < size + kGuard; ++i) {
    EXPECT_EQ(first[i], std::byte{0x00}) << "written past the value's end";
    EXPECT_EQ(second[i], std::byte{0xff}) << "written past the value's end";
  }
  EXPECT_SUCCESS(query(size, second.data(), nullptr));
  if (size > 0) {
    // "CL_INVALID_VALUE if [...] size in bytes specified by param_value_size is < size of return
    // type [...] and param_value is not a NULL value."
    EXPECT_CL(CL_INVALID_VALUE, query(size - 1, second.data(), nullptr));
    EXPECT_CL(CL_INVALID_VALUE, query(0, second.data(), nullptr));
  }
  first.resize(size);
  return first;
}

std::string string_of(const Query& query) {
  const std::vector<std::byte> bytes = check_query(query);
  EXPECT_FALSE(bytes.empty()) << "a string has at least its terminating null";
  if (bytes.empty()) return {};
  EXPECT_EQ(bytes.back(), std::byte{0}) << "a string ends with a null";
  std::string text(bytes.size() - 1, '\0');
  std::memcpy(text.data(), bytes.data(), text.size());
  EXPECT_EQ(text.find('\0'), std::string::npos) << "a string holds one null, at its end";
  return text;
}

namespace {
int version_in(const std::string& text) {
  int major = 0;
  int minor = 0;
  if (std::sscanf(text.c_str(), "OpenCL %d.%d", &major, &minor) != 2) return 0;
  return major * 100 + minor * 10;
}
}  // namespace

int device_version() {
  static const int version = version_in(string_of(query_of(options().device, CL_DEVICE_VERSION)));
  return version;
}

int platform_version() {
  return version_in(string_of(query_of(options().platform, CL_PLATFORM_VERSION)));
}

bool device_supports_out_of_order() {
  const auto properties = value_of<cl_command_queue_properties>(
      query_of(options().device, CL_DEVICE_QUEUE_ON_HOST_PROPERTIES));
  return (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0;
}

bool device_supports_c(int version) {
  if (device_version() < 300) return false;
  const auto versions =
      array_of<cl_name_version>(query_of(options().device, CL_DEVICE_OPENCL_C_ALL_VERSIONS));
  return std::any_of(versions.begin(), versions.end(), [version](const cl_name_version& entry) {
    return static_cast<int>(CL_VERSION_MAJOR(entry.version) * 100 +
                            CL_VERSION_MINOR(entry.version) * 10) == version;
  });
}

std::vector<uint8_t> noise(size_t size, uint32_t seed) {
  std::vector<uint8_t> bytes(size);
  uint32_t state = seed * 2654435761u + 12345u;
  for (uint8_t& byte : bytes) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    byte = static_cast<uint8_t>(state >> 11);
  }
  return bytes;
}

void Latch::count_down() {
  const std::lock_guard<std::mutex> lock(mutex_);
  --count_;
  changed_.notify_all();
}

bool Latch::wait() {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_for(lock, std::chrono::minutes(1), [this] { return count_ <= 0; });
}

void CL_CALLBACK notify(cl_program program, void* user_data) {
  auto* notified = static_cast<Notified*>(user_data);
  notified->program = program;
  notified->latch.count_down();
}

// ---- fixtures ----------------------------------------------------------------------------------

void ContextTest::SetUp() {
  context_ = make_context();
  ASSERT_NE(context_.get(), nullptr);
}

Context ContextTest::make_context() const {
  const cl_context_properties properties[] = {
      CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(platform_), 0};
  cl_int code = CL_INVALID_VALUE;
  Context context(clCreateContext(properties, 1, &device_, nullptr, nullptr, &code));
  EXPECT_SUCCESS(code);
  return context;
}

Queue ContextTest::make_queue(cl_command_queue_properties properties) const {
  const cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, properties, 0};
  cl_int code = CL_INVALID_VALUE;
  Queue queue;
  if (device_version() >= 200) {
    queue = Queue(clCreateCommandQueueWithProperties(context_, device_, list, &code));
  } else {
    queue = Queue(clCreateCommandQueue(context_, device_, properties, &code));
  }
  EXPECT_SUCCESS(code);
  return queue;
}

Buffer ContextTest::make_buffer(size_t size, cl_mem_flags flags, void* host_ptr) const {
  cl_int code = CL_INVALID_VALUE;
  Buffer buffer(clCreateBuffer(context_, flags, size, host_ptr, &code));
  EXPECT_SUCCESS(code);
  return buffer;
}

Buffer ContextTest::make_sub_buffer(cl_mem parent, size_t origin, size_t size,
                                    cl_mem_flags flags) const {
  const cl_buffer_region region = {origin, size};
  cl_int code = CL_INVALID_VALUE;
  Buffer buffer(clCreateSubBuffer(parent, flags, CL_BUFFER_CREATE_TYPE_REGION, &region, &code));
  EXPECT_SUCCESS(code);
  return buffer;
}

Program ContextTest::build(const std::string& source, const std::string& build_options) const {
  const char* text = source.c_str();
  cl_int code = CL_INVALID_VALUE;
  Program program(clCreateProgramWithSource(context_, 1, &text, nullptr, &code));
  EXPECT_SUCCESS(code);
  if (code != CL_SUCCESS) return program;
  code = clBuildProgram(program, 1, &device_, build_options.c_str(), nullptr, nullptr);
  EXPECT_SUCCESS(code);
  if (code != CL_SUCCESS) {
    ADD_FAILURE() << "build log:\n" << string_of(query_of(program, device_, CL_PROGRAM_BUILD_LOG));
  }
  return program;
}

Kernel ContextTest::make_kernel(cl_program program, const char* name) {
  cl_int code = CL_INVALID_VALUE;
  Kernel kernel(clCreateKernel(program, name, &code));
  EXPECT_SUCCESS(code) << name;
  return kernel;
}

Event ContextTest::make_user_event() const {
  cl_int code = CL_INVALID_VALUE;
  Event event(clCreateUserEvent(context_, &code));
  EXPECT_SUCCESS(code);
  return event;
}

size_t ContextTest::alignment() const {
  return value_of<cl_uint>(query_of(device_, CL_DEVICE_MEM_BASE_ADDR_ALIGN)) / 8;
}

void QueueTest::SetUp() {
  ContextTest::SetUp();
  if (HasFatalFailure()) return;
  queue_ = make_queue();
  ASSERT_NE(queue_.get(), nullptr);
}

void QueueTest::TearDown() {
  // Keeps the host memory that a failed test may have left in flight out of the next one.
  if (queue_.get() == nullptr) return;
  EXPECT_SUCCESS(clFinish(queue_));
}

cl_int QueueTest::launch(cl_kernel kernel, size_t global, size_t local, size_t offset) const {
  return clEnqueueNDRangeKernel(queue_, kernel, 1, offset == 0 ? nullptr : &offset, &global,
                                local == 0 ? nullptr : &local, 0, nullptr, nullptr);
}

void OutOfOrderTest::SetUp() {
  if (!device_supports_out_of_order()) {
    GTEST_SKIP() << "the device has no out-of-order queues";
  }
  ContextTest::SetUp();
  if (HasFatalFailure()) return;
  queue_ = make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  ASSERT_NE(queue_.get(), nullptr);
}

const std::string& common_source() {
  static const std::string source = R"CLC(
typedef struct { int a; float4 v; char c; } Record;

kernel void add_one(global int* data) { data[get_global_id(0)] += 1; }

kernel void add_scalar(global int* data, int value) { data[get_global_id(0)] += value; }

kernel void times_plus(global uint* data, uint factor, uint term) {
  size_t i = get_global_id(0);
  data[i] = data[i] * factor + term;
}

kernel void copy_ints(global const int* in, global int* out) {
  size_t i = get_global_id(0);
  out[i] = in[i];
}

kernel void reverse_in_group(global const int* in, global int* out, local int* tile) {
  size_t l = get_local_id(0), n = get_local_size(0);
  tile[l] = in[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[get_global_id(0)] = tile[n - 1 - l];
}

kernel void is_null(global int* maybe, global int* out) { out[0] = maybe == 0 ? 1 : 2; }

kernel void many_arguments(global int* out, char c, short4 s, Record r, constant int* table,
                           local int* scratch, int d) {
  scratch[get_local_id(0)] = table[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[get_global_id(0)] = c + s.w + r.a + (int)r.v.z + r.c + scratch[0] + d;
}

kernel __attribute__((reqd_work_group_size(4, 2, 1))) void required_size(global int* out) {
  size_t w = get_global_size(0);
  out[get_global_id(1) * w + get_global_id(0)] = (int)get_local_size(0) * 10 + get_local_size(1);
}

kernel void write_one(global int* out, int value) { out[0] = value; }
)CLC";
  return source;
}

void KernelTest::SetUp() {
  QueueTest::SetUp();
  if (HasFatalFailure()) return;
  program_ = build(common_source());
  // A test that is to be skipped besides would run all the same after failures that are not fatal.
  ASSERT_FALSE(HasFailure()) << "the common kernels cannot be built";
}

}  // namespace tutti::api_tests
