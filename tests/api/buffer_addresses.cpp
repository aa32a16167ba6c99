// SPDX-License-Identifier: Apache-2.0
// cl_ext_buffer_device_address: buffers whose addresses on the device stay, as kernels' arguments
// and in memory.
#include <algorithm>

#include "fixtures.h"

namespace tutti::api_tests {
namespace {

constexpr size_t kAddressItems = 128 * 64;

// As headers of 2025 have them.
constexpr cl_mem_properties kPrivateAddress = 0x5000;      // CL_MEM_DEVICE_PRIVATE_ADDRESS_EXT
constexpr cl_mem_info kAddressOfMemory = 0x5001;           // CL_MEM_DEVICE_ADDRESS_EXT
constexpr cl_kernel_exec_info kReachedAddresses = 0x5002;  // CL_KERNEL_EXEC_INFO_DEVICE_PTRS_EXT

const char* const kAddressSource = R"(
kernel void add(global const int* a, global const int* b, global int* sum) {
  size_t i = get_global_id(0);
  sum[i] = a[i] + b[i];
}
typedef struct Node { global struct Node* next; int value; } Node;
kernel void sum_list(global Node* head, global int* sum) {
  int result = 0;
  for (global Node* node = head; node; node = node->next) {
    result += node->value;
    node->value += 1;
  }
  *sum = result;
}
kernel void through_number(ulong address, global int* out) {
  out[get_global_id(0)] = ((global int*)address)[get_global_id(0)] + 1;
}
kernel void local_only(local int* data, int number, global int* out) {
  data[0] = number;
  *out = data[0];
}
)";

struct AddressNode {
  cl_ulong next;
  cl_int value;
};

class BufferAddresses : public QueueTest {
 protected:
  using SetPointer = cl_int(CL_API_CALL*)(cl_kernel, cl_uint, cl_ulong);

  void SetUp() override {
    QueueTest::SetUp();
    const std::string list = " " + string_of(query_of(device_, CL_DEVICE_EXTENSIONS)) + " ";
    if (list.find(" cl_ext_buffer_device_address ") == std::string::npos) {
      GTEST_SKIP() << "buffers have no addresses";
    }
    set_pointer_ = reinterpret_cast<SetPointer>(
        clGetExtensionFunctionAddressForPlatform(platform_, "clSetKernelArgDevicePointerEXT"));
    ASSERT_NE(set_pointer_, nullptr);
    program_ = build(kAddressSource);
  }
  Buffer make(size_t bytes, cl_mem_flags flags = CL_MEM_READ_WRITE, void* host = nullptr) const {
    const cl_mem_properties properties[] = {kPrivateAddress, CL_TRUE, 0};
    cl_int code = CL_SUCCESS;
    Buffer buffer(clCreateBufferWithProperties(context_, properties, flags, bytes, host, &code));
    EXPECT_SUCCESS(code);
    return buffer;
  }
  static cl_ulong address_of(cl_mem buffer) {
    const auto all = array_of<cl_ulong>(query_of(buffer, kAddressOfMemory));
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? 0 : all[0];
  }
  static std::vector<cl_int> counted(size_t count, cl_int factor = 1) {
    std::vector<cl_int> data(count);
    for (size_t i = 0; i < count; ++i) data[i] = static_cast<cl_int>(i) * factor;
    return data;
  }
  Kernel kernel(const char* name) const { return make_kernel(program_, name); }

  SetPointer set_pointer_ = nullptr;
  Program program_;
};

TEST_F(BufferAddresses, Stay) {
  const Buffer a = make(kAddressItems * 4), b = make(kAddressItems * 4);
  const cl_ulong address = address_of(a);
  EXPECT_NE(address, 0u);
  EXPECT_TRUE(address + kAddressItems * 4 <= address_of(b) ||
              address_of(b) + kAddressItems * 4 <= address);
  write_all(a, counted(kAddressItems));
  EXPECT_TRUE(same_elements(counted(kAddressItems), read_all<cl_int>(a, kAddressItems)));
  EXPECT_EQ(address_of(a), address);
  const Buffer part = make_sub_buffer(a, alignment(), 64);
  EXPECT_EQ(address_of(part), address + alignment());
  EXPECT_EQ(array_of<cl_mem_properties>(query_of(a, CL_MEM_PROPERTIES)),
            (std::vector<cl_mem_properties>{kPrivateAddress, CL_TRUE, 0}));
}

TEST_F(BufferAddresses, AreLikeAnyBuffer) {
  auto data = counted(kAddressItems, 3);
  const Buffer copied =
      make(kAddressItems * 4, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, data.data());
  const Buffer mapped = make(kAddressItems * 4);
  const Kernel add = kernel("add");
  set_args(add, copied, copied, mapped);
  for (int round = 0; round < 3; ++round) ASSERT_SUCCESS(launch(add, kAddressItems, 64));
  cl_int code = CL_SUCCESS;
  auto* const pointer =
      static_cast<cl_int*>(clEnqueueMapBuffer(queue_, mapped, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE,
                                              0, kAddressItems * 4, 0, nullptr, nullptr, &code));
  ASSERT_SUCCESS(code);
  EXPECT_EQ(pointer[7], 42);
  pointer[7] = 1;
  ASSERT_SUCCESS(clEnqueueUnmapMemObject(queue_, mapped, pointer, 0, nullptr, nullptr));
  auto expected = counted(kAddressItems, 6);
  expected[7] = 1;
  EXPECT_TRUE(same_elements(expected, read_all<cl_int>(mapped, kAddressItems)));
}

TEST_F(BufferAddresses, AsArguments) {
  const Buffer data = make((kAddressItems + 5) * 4), sum = make(kAddressItems * 4);
  write_all(data, counted(kAddressItems + 5));
  const Kernel add = kernel("add");
  ASSERT_SUCCESS(set_pointer_(add, 0, address_of(data)));
  ASSERT_SUCCESS(set_pointer_(add, 1, address_of(data) + 5 * 4));
  ASSERT_SUCCESS(set_pointer_(add, 2, address_of(sum)));
  for (int round = 0; round < 3; ++round) ASSERT_SUCCESS(launch(add, kAddressItems, 64));
  auto expected = counted(kAddressItems, 2);
  for (cl_int& value : expected) value += 5;
  EXPECT_TRUE(same_elements(expected, read_all<cl_int>(sum, kAddressItems)));
}

TEST_F(BufferAddresses, FoundInMemory) {
  const Buffer even = make(100 * sizeof(AddressNode)), odd = make(100 * sizeof(AddressNode));
  const Buffer sum = make_buffer(4);
  std::vector<AddressNode> evens(100), odds(100);
  for (size_t i = 0; i < 100; ++i) {
    evens[i] = {address_of(odd) + i * sizeof(AddressNode), static_cast<cl_int>(2 * i)};
    const cl_ulong next = address_of(even) + (i + 1) * sizeof(AddressNode);
    odds[i] = {i + 1 < 100 ? next : 0, static_cast<cl_int>(2 * i + 1)};
  }
  write_all(even, evens);
  write_all(odd, odds);
  const Kernel sum_list = kernel("sum_list");
  const cl_ulong reached[] = {address_of(odd)};
  EXPECT_SUCCESS(clSetKernelExecInfo(sum_list, kReachedAddresses, sizeof reached, reached));
  set_args(sum_list, even, sum);
  for (cl_int round = 0; round < 3; ++round) {
    ASSERT_SUCCESS(launch(sum_list, 1, 1));
    EXPECT_EQ(read_all<cl_int>(sum, 1)[0], 199 * 200 / 2 + 200 * round);
    // The host's own work on what the kernel has changed unseen.
    auto nodes = read_all<AddressNode>(odd, 100);
    EXPECT_EQ(nodes[50].value, 101 + round + 1);
    write_all(odd, nodes);
  }
  const Kernel number = kernel("through_number");
  const Buffer data = make(64 * 4);
  write_all(data, counted(64));
  const Buffer out = make_buffer(64 * 4);
  set_args(number, address_of(data), out);
  ASSERT_SUCCESS(launch(number, 64, 64));
  EXPECT_EQ(read_all<cl_int>(out, 64)[63], 64);
}

TEST_F(BufferAddresses, OverSharedMemoryAreItsOwn) {
  const auto svm =
      value_of<cl_device_svm_capabilities>(query_of(device_, CL_DEVICE_SVM_CAPABILITIES));
  if ((svm & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) == 0) GTEST_SKIP() << "no shared virtual memory";
  if (!options().tutti) GTEST_SKIP() << "PoCL 8.0-pre says that there is no such object";
  auto* const memory =
      static_cast<cl_int*>(clSVMAlloc(context_, CL_MEM_READ_WRITE, kAddressItems * 4, 0));
  ASSERT_NE(memory, nullptr);
  {
    const Buffer buffer = make(kAddressItems * 4, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, memory);
    EXPECT_EQ(address_of(buffer), reinterpret_cast<uintptr_t>(memory));
    write_all(buffer, counted(kAddressItems));
    const Kernel add = kernel("add");
    ASSERT_SUCCESS(set_pointer_(add, 0, address_of(buffer)));
    ASSERT_SUCCESS(set_pointer_(add, 1, address_of(buffer)));
    ASSERT_SUCCESS(set_pointer_(add, 2, address_of(buffer)));
    ASSERT_SUCCESS(launch(add, kAddressItems, 64));
    EXPECT_TRUE(same_elements(counted(kAddressItems, 2), read_all<cl_int>(buffer, kAddressItems)));
  }
  clSVMFree(context_, memory);
}

TEST_F(BufferAddresses, AreForgottenWithTheBuffer) {
  if (!options().tutti) GTEST_SKIP() << "of no defined meaning";
  const Kernel add = kernel("add");
  const Buffer sum = make_buffer(kAddressItems * 4);
  cl_ulong address = 0;
  {
    const Buffer data = make(kAddressItems * 4);
    address = address_of(data);
    ASSERT_SUCCESS(set_pointer_(add, 0, address));
    ASSERT_SUCCESS(set_pointer_(add, 1, address));
    EXPECT_SUCCESS(set_arg(add, 2, sum));
  }
  EXPECT_CL(CL_INVALID_KERNEL_ARGS, launch(add, kAddressItems, 64));
  EXPECT_CL(CL_INVALID_ARG_VALUE, set_pointer_(add, 0, address));
}

TEST_F(BufferAddresses, RejectBadArguments) {
  if (!options().tutti) GTEST_SKIP() << "vendors are lenient";
  const Kernel only = kernel("local_only");
  const Buffer buffer = make(64), plain = make_buffer(64);
  EXPECT_CL(CL_INVALID_KERNEL, set_pointer_(nullptr, 0, 0));
  EXPECT_CL(CL_INVALID_ARG_INDEX, set_pointer_(only, 3, 0));
  EXPECT_CL(CL_INVALID_ARG_INDEX, set_pointer_(only, 0, address_of(buffer)));
  EXPECT_CL(CL_INVALID_ARG_INDEX, set_pointer_(only, 1, address_of(buffer)));
  EXPECT_SUCCESS(set_pointer_(only, 2, 0));
  EXPECT_CL(CL_INVALID_OPERATION, clGetMemObjectInfo(plain, kAddressOfMemory, 0, nullptr, nullptr));
  cl_ulong address = 0;
  EXPECT_CL(CL_INVALID_VALUE, clGetMemObjectInfo(buffer, kAddressOfMemory, 4, &address, nullptr));
  EXPECT_CL(CL_INVALID_VALUE, clSetKernelExecInfo(only, kReachedAddresses, 8, nullptr));
  EXPECT_CL(CL_INVALID_VALUE, clSetKernelExecInfo(only, kReachedAddresses, 7, &address));
  cl_int code = CL_SUCCESS;
  for (const std::vector<cl_mem_properties>& properties :
       {std::vector<cl_mem_properties>{kPrivateAddress, 7, 0},
        std::vector<cl_mem_properties>{kPrivateAddress, 1, kPrivateAddress, 1, 0},
        std::vector<cl_mem_properties>{0x4fff, 1, 0}}) {
    EXPECT_EQ(clCreateBufferWithProperties(context_, properties.data(), 0, 64, nullptr, &code),
              nullptr);
    EXPECT_CL(CL_INVALID_PROPERTY, code);
  }
}

}  // namespace
}  // namespace tutti::api_tests
