// SPDX-License-Identifier: Apache-2.0
// cl_khr_external_memory: buffers and images in memory of another interface, which here is a file
// in memory. A vendor's own driver takes its own interfaces' handles alone.
#include <CL/cl_ext.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "fixtures.h"

namespace tutti::api_tests {
namespace {

constexpr cl_mem_properties kMemoryDeviceList = 0x2051;  // CL_MEM_DEVICE_HANDLE_LIST_KHR
constexpr cl_uint kMemoryType = CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR;
constexpr size_t kMemoryItems = 1 << 16, kMemoryBytes = kMemoryItems * sizeof(cl_int);

/// The other interface's memory.
class File {
 public:
  File() : file_(memfd_create("memory", MFD_CLOEXEC)) {
    EXPECT_EQ(ftruncate(file_, kMemoryBytes), 0);
    items_ = static_cast<cl_int*>(
        mmap(nullptr, kMemoryBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0));
  }
  ~File() {
    munmap(items_, kMemoryBytes);
    close(file_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  /// Whoever imports it owns it.
  int handle() const { return dup(file_); }
  cl_int* items() { return items_; }
  void count_from(cl_int first) {
    for (size_t i = 0; i < kMemoryItems; ++i) items_[i] = first + static_cast<cl_int>(i);
  }
  std::vector<cl_int> content() const { return {items_, items_ + kMemoryItems}; }

 private:
  const int file_;
  cl_int* items_ = nullptr;
};

std::vector<cl_int> counted_from(cl_int first) {
  std::vector<cl_int> items(kMemoryItems);
  for (size_t i = 0; i < kMemoryItems; ++i) items[i] = first + static_cast<cl_int>(i);
  return items;
}

class ExternalMemory : public KernelTest {
 protected:
  void SetUp() override {
    KernelTest::SetUp();
    if (HasFatalFailure()) return;
    const std::string list = " " + string_of(query_of(device_, CL_DEVICE_EXTENSIONS)) + " ";
    if (list.find(" cl_khr_external_memory_opaque_fd ") == std::string::npos) {
      GTEST_SKIP() << "no external memory";
    }
    find(acquire_, "clEnqueueAcquireExternalMemObjectsKHR");
    find(release_, "clEnqueueReleaseExternalMemObjectsKHR");
    cl_int code = CL_SUCCESS;
    const int handle = file_.handle();
    const cl_mem_properties properties[] = {kMemoryType, static_cast<cl_mem_properties>(handle), 0};
    buffer_ = Buffer(clCreateBufferWithProperties(context_, properties, CL_MEM_READ_WRITE,
                                                  kMemoryBytes, nullptr, &code));
    if (code != CL_SUCCESS) close(handle);
    if (code != CL_SUCCESS) GTEST_SKIP() << "the driver takes no files";
  }
  template <typename Function>
  void find(Function& function, const char* name) const {
    function =
        reinterpret_cast<Function>(clGetExtensionFunctionAddressForPlatform(platform_, name));
    ASSERT_NE(function, nullptr) << name;
  }
  void acquire(cl_mem memory, cl_event* event = nullptr) const {
    ASSERT_SUCCESS(acquire_(queue_, 1, &memory, 0, nullptr, event));
  }
  void release(cl_mem memory, cl_event* event = nullptr) const {
    ASSERT_SUCCESS(release_(queue_, 1, &memory, 0, nullptr, event));
  }
  void add_one(cl_mem memory) const {
    const Kernel add = kernel("add_one");
    ASSERT_SUCCESS(clSetKernelArg(add, 0, sizeof memory, &memory));
    ASSERT_SUCCESS(clEnqueueNDRangeKernel(queue_, add, 1, nullptr, &kMemoryItems, nullptr, 0,
                                          nullptr, nullptr));
  }
  cl_int create(std::vector<cl_mem_properties> properties, cl_mem_flags flags = CL_MEM_READ_WRITE,
                void* host = nullptr) const {
    cl_int code = CL_SUCCESS;
    const Buffer buffer(clCreateBufferWithProperties(context_, properties.data(), flags,
                                                     kMemoryBytes, host, &code));
    EXPECT_EQ(buffer.get() != nullptr, code == CL_SUCCESS);
    return code;
  }

  clEnqueueAcquireExternalMemObjectsKHR_fn acquire_ = nullptr;
  clEnqueueReleaseExternalMemObjectsKHR_fn release_ = nullptr;
  File file_;
  Buffer buffer_;
};

TEST_F(ExternalMemory, ComesAndGoes) {
  for (cl_int round = 0; round < 5; ++round) {
    file_.count_from(round * 100);
    Event acquired, released;
    acquire(buffer_, acquired.out());
    for (int i = 0; i < 3; ++i) add_one(buffer_);
    release(buffer_, released.out());
    ASSERT_SUCCESS(clWaitForEvents(1, released.list()));
    EXPECT_TRUE(same_elements(counted_from(round * 100 + 3), file_.content()));
    EXPECT_EQ(value_of<cl_command_type>(query_of(acquired, CL_EVENT_COMMAND_TYPE)),
              cl_command_type{CL_COMMAND_ACQUIRE_EXTERNAL_MEM_OBJECTS_KHR});
    EXPECT_EQ(value_of<cl_command_type>(query_of(released, CL_EVENT_COMMAND_TYPE)),
              cl_command_type{CL_COMMAND_RELEASE_EXTERNAL_MEM_OBJECTS_KHR});
  }
}

// What the host writes is there when the memory is released, and what it reads is not from before.
TEST_F(ExternalMemory, IsTheHostsToo) {
  for (cl_int round = 0; round < 3; ++round) {
    file_.count_from(round);
    acquire(buffer_);
    EXPECT_TRUE(same_elements(counted_from(round), read_all<cl_int>(buffer_, kMemoryItems)));
    const cl_int small[] = {7, 8, 9};
    ASSERT_SUCCESS(clEnqueueWriteBuffer(queue_, buffer_, CL_FALSE, 40, sizeof small, small, 0,
                                        nullptr, nullptr));
    cl_int code = CL_SUCCESS;
    auto* const mapped = static_cast<cl_int*>(clEnqueueMapBuffer(queue_, buffer_, CL_TRUE,
                                                                 CL_MAP_READ | CL_MAP_WRITE, 4000,
                                                                 400, 0, nullptr, nullptr, &code));
    ASSERT_SUCCESS(code);
    EXPECT_EQ(mapped[1], round + 1001);
    mapped[1] = -1;
    ASSERT_SUCCESS(clEnqueueUnmapMemObject(queue_, buffer_, mapped, 0, nullptr, nullptr));
    const Buffer copy = make_buffer(kMemoryBytes);
    ASSERT_SUCCESS(
        clEnqueueCopyBuffer(queue_, buffer_, copy, 0, 0, kMemoryBytes, 0, nullptr, nullptr));
    const cl_int five = 5;
    ASSERT_SUCCESS(
        clEnqueueFillBuffer(queue_, buffer_, &five, sizeof five, 80, 8, 0, nullptr, nullptr));
    release(buffer_);
    ASSERT_SUCCESS(clFinish(queue_));
    auto expected = counted_from(round);
    expected[10] = 7;
    expected[11] = 8;
    expected[12] = 9;
    expected[1001] = -1;
    EXPECT_TRUE(same_elements(expected, read_all<cl_int>(copy, kMemoryItems)));
    expected[20] = expected[21] = 5;
    EXPECT_TRUE(same_elements(expected, file_.content()));
  }
}

TEST_F(ExternalMemory, InPartsAndOutOfOrder) {
  file_.count_from(0);
  const Queue other = make_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  const size_t half = kMemoryItems / 2;
  const Buffer part = make_sub_buffer(buffer_, kMemoryBytes / 2, kMemoryBytes / 2);
  const Kernel add = kernel("add_one");
  set_args(add, part);
  Event acquired, added, released;
  cl_int code = CL_SUCCESS;
  const Event user(clCreateUserEvent(context_, &code));
  ASSERT_SUCCESS(acquire_(other, 1, buffer_.list(), 1, user.list(), acquired.out()));
  ASSERT_SUCCESS(clEnqueueNDRangeKernel(other, add, 1, nullptr, &half, nullptr, 1, acquired.list(),
                                        added.out()));
  ASSERT_SUCCESS(release_(other, 1, buffer_.list(), 1, added.list(), released.out()));
  EXPECT_CL(CL_INVALID_MEM_OBJECT, acquire_(other, 1, part.list(), 0, nullptr, nullptr));
  file_.count_from(10);
  ASSERT_SUCCESS(clSetUserEventStatus(user, CL_COMPLETE));
  ASSERT_SUCCESS(clWaitForEvents(1, released.list()));
  auto expected = counted_from(10);
  for (size_t i = half; i < kMemoryItems; ++i) ++expected[i];
  EXPECT_TRUE(same_elements(expected, file_.content()));
}

TEST_F(ExternalMemory, AsImages) {
  if (value_of<cl_bool>(query_of(device_, CL_DEVICE_IMAGE_SUPPORT)) == CL_FALSE) {
    GTEST_SKIP() << "no images";
  }
  const Program program = build(R"(
kernel void invert(read_only image2d_t in, write_only image2d_t out) {
  int2 at = (int2)(get_global_id(0), get_global_id(1));
  write_imageui(out, at, 255 - read_imageui(in, at));
}
)");
  File other;
  constexpr size_t kWidth = 256, kHeight = kMemoryItems / kWidth;
  const cl_image_format format{CL_RGBA, CL_UNSIGNED_INT8};
  cl_image_desc description{};
  description.image_type = CL_MEM_OBJECT_IMAGE2D;
  description.image_width = kWidth;
  description.image_height = kHeight;
  const auto import = [&](const File& file, cl_mem_flags flags) {
    const cl_mem_properties properties[] = {kMemoryType,
                                            static_cast<cl_mem_properties>(file.handle()), 0};
    cl_int code = CL_SUCCESS;
    Buffer image(clCreateImageWithProperties(context_, properties, flags, &format, &description,
                                             nullptr, &code));
    EXPECT_SUCCESS(code);
    EXPECT_EQ(array_of<cl_mem_properties>(query_of(image, CL_MEM_PROPERTIES)),
              std::vector<cl_mem_properties>(std::begin(properties), std::end(properties)));
    return image;
  };
  const Buffer in = import(file_, CL_MEM_READ_ONLY), out = import(other, CL_MEM_WRITE_ONLY);
  const Kernel invert = make_kernel(program, "invert");
  set_args(invert, in, out);
  const cl_mem both[] = {in, out};
  for (cl_int round = 0; round < 2; ++round) {
    file_.count_from(round * 1000);
    ASSERT_SUCCESS(acquire_(queue_, 2, both, 0, nullptr, nullptr));
    const size_t global[] = {kWidth, kHeight};
    ASSERT_SUCCESS(
        clEnqueueNDRangeKernel(queue_, invert, 2, nullptr, global, nullptr, 0, nullptr, nullptr));
    const size_t origin[] = {3, 0, 0}, region[] = {2, 1, 1};
    const cl_int pixels[] = {77, 78};
    ASSERT_SUCCESS(clEnqueueWriteImage(queue_, out, CL_FALSE, origin, region, 0, 0, pixels, 0,
                                       nullptr, nullptr));
    ASSERT_SUCCESS(release_(queue_, 2, both, 0, nullptr, nullptr));
    ASSERT_SUCCESS(clFinish(queue_));
    auto expected = counted_from(round * 1000);
    for (cl_int& item : expected) item = ~item;
    expected[3] = 77;
    expected[4] = 78;
    EXPECT_TRUE(same_elements(expected, other.content()));
    EXPECT_TRUE(same_elements(counted_from(round * 1000), file_.content()));
  }
}

TEST_F(ExternalMemory, Queries) {
  const auto types =
      array_of<cl_uint>(query_of(device_, CL_DEVICE_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR));
  EXPECT_NE(std::find(types.begin(), types.end(), kMemoryType), types.end());
  EXPECT_EQ(
      array_of<cl_uint>(query_of(platform_, CL_PLATFORM_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR)),
      types);
  for (const cl_uint type : array_of<cl_uint>(query_of(device_, 0x2052))) {  // linear images
    EXPECT_NE(std::find(types.begin(), types.end(), type), types.end());
  }
  EXPECT_EQ(array_of<cl_mem_properties>(query_of(buffer_, CL_MEM_PROPERTIES)).size(), 3u);
}

TEST_F(ExternalMemory, TakesValidArguments) {
  const auto device = static_cast<cl_mem_properties>(reinterpret_cast<uintptr_t>(device_));
  const auto none = static_cast<cl_mem_properties>(-1);
  const int handle = file_.handle();
  const auto file = static_cast<cl_mem_properties>(handle);
  EXPECT_CL(CL_INVALID_PROPERTY, create({0x7777, 1, 0}));
  EXPECT_CL(CL_INVALID_PROPERTY, create({kMemoryDeviceList, device, 0, 0}));
  EXPECT_CL(CL_INVALID_PROPERTY, create({kMemoryType, file, kMemoryType, file, 0}));
  if (options().strict_handles) {
    const auto other = static_cast<cl_mem_properties>(reinterpret_cast<uintptr_t>(platform_));
    EXPECT_CL(CL_INVALID_DEVICE, create({kMemoryDeviceList, other, 0, kMemoryType, file, 0}));
  }
  EXPECT_CL(CL_INVALID_VALUE, create({kMemoryType, file, 0}, CL_MEM_ALLOC_HOST_PTR));
  cl_int number = 0;
  EXPECT_CL(CL_INVALID_HOST_PTR, create({kMemoryType, file, 0}, CL_MEM_READ_WRITE, &number));
  EXPECT_LT(create({kMemoryType, none, 0}), 0);
  EXPECT_SUCCESS(
      create({kMemoryDeviceList, device, 0, kMemoryType, file, 0}));  // which takes it over
  const Buffer plain = make_buffer(64);
  cl_int code = CL_SUCCESS;
  const Event failed(clCreateUserEvent(context_, &code));
  ASSERT_SUCCESS(clSetUserEventStatus(failed, -1));
  for (const auto command : {acquire_, release_}) {
    EXPECT_CL(CL_INVALID_COMMAND_QUEUE, command(nullptr, 1, buffer_.list(), 0, nullptr, nullptr));
    EXPECT_CL(CL_INVALID_VALUE, command(queue_, 0, buffer_.list(), 0, nullptr, nullptr));
    EXPECT_CL(CL_INVALID_VALUE, command(queue_, 1, nullptr, 0, nullptr, nullptr));
    EXPECT_CL(CL_INVALID_MEM_OBJECT, command(queue_, 1, plain.list(), 0, nullptr, nullptr));
    EXPECT_CL(CL_INVALID_EVENT_WAIT_LIST, command(queue_, 1, buffer_.list(), 1, nullptr, nullptr));
    EXPECT_CL(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
              command(queue_, 1, buffer_.list(), 1, failed.list(), nullptr));
    // "the command will trivially succeed after its event dependencies are satisfied".
    EXPECT_SUCCESS(command(queue_, 0, nullptr, 0, nullptr, nullptr));
  }
  EXPECT_SUCCESS(clFinish(queue_));
}

class NoExternalMemory : public ContextTest {};

TEST_F(NoExternalMemory, WhereSeveralDevicesStandBehind) {
  const std::string list = " " + string_of(query_of(device_, CL_DEVICE_EXTENSIONS)) + " ";
  if (list.find("cl_khr_external_memory") != std::string::npos) GTEST_SKIP() << "there is";
  if (!options().tutti) GTEST_SKIP() << "for Tutti only";
  EXPECT_EQ(
      clGetExtensionFunctionAddressForPlatform(platform_, "clEnqueueAcquireExternalMemObjectsKHR"),
      nullptr);
  const File file;
  const int handle = file.handle();
  const cl_mem_properties properties[] = {kMemoryType, static_cast<cl_mem_properties>(handle), 0};
  cl_int code = CL_SUCCESS;
  EXPECT_EQ(clCreateBufferWithProperties(context_, properties, 0, kMemoryBytes, nullptr, &code),
            nullptr);
  EXPECT_CL(CL_INVALID_PROPERTY, code);
  close(handle);
}

}  // namespace
}  // namespace tutti::api_tests
