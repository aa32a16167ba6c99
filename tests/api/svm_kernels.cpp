// SPDX-License-Identifier: Apache-2.0
// Kernels and shared virtual memory: arguments at any place of it, launches over many work-groups,
// which a driver may divide among devices, and pointers that kernels find in memory.
#include "svm.h"

#include <algorithm>
#include <numeric>

namespace tutti::api_tests {
namespace {

constexpr size_t kSvmItems = 256 * 64;

const char* const kSvmSource = R"(
kernel void add(global const int* a, global const int* b, global int* sum) {
  size_t i = get_global_id(0);
  sum[i] = a[i] + b[i];
}
kernel void double_it(global int* data) { data[get_global_id(0)] *= 2; }
// From its pointer it goes back, too.
kernel void differences(global const int* middle, global int* out, int back) {
  int i = (int)get_global_id(0);
  out[i] = middle[i - back] - middle[i];
}
typedef struct Node { global struct Node* next; int value; } Node;
kernel void link(global Node* nodes, int count) {
  int i = (int)get_global_id(0);
  nodes[i].value = i * 3;
  nodes[i].next = i + 1 < count ? &nodes[i + 1] : 0;
}
kernel void sum_list(global Node* head, global int* sum) {
  int result = 0;
  for (global Node* node = head; node; node = node->next) result += node->value;
  *sum = result;
}
kernel void grow_list(global Node* head) {
  for (global Node* node = head; node; node = node->next) node->value += 1;
}
// A number is a pointer's way in, too.
kernel void through_number(ulong address, global int* out) {
  global int* data = (global int*)address;
  out[get_global_id(0)] = data[get_global_id(0)] + 1;
}
typedef struct { global int* data; int factor; } Plan;
kernel void by_table(global const Plan* plans) {
  size_t i = get_global_id(0);
  plans[i / 64].data[i % 64] *= plans[i / 64].factor;
}
)";

struct Node {
  Node* next;
  cl_int value;
};
struct Plan {
  cl_int* data;
  cl_int factor;
};

class SvmKernels : public SvmTest {
 protected:
  void SetUp() override {
    SvmTest::SetUp();
    if (IsSkipped()) return;
    program_ = build(kSvmSource);
  }
  Kernel kernel(const char* name) const { return make_kernel(program_, name); }
  static void set_pointers(cl_kernel kernel, const std::vector<const void*>& pointers) {
    for (cl_uint i = 0; i < pointers.size(); ++i) {
      EXPECT_SUCCESS(clSetKernelArgSVMPointer(kernel, i, pointers[i])) << i;
    }
  }
  Shared<cl_int> ints(const std::vector<cl_int>& data) const {
    Shared<cl_int> shared(context_, data.size());
    store(shared, data);
    return shared;
  }
  static std::vector<cl_int> counted(size_t count, cl_int factor = 1) {
    std::vector<cl_int> data(count);
    for (size_t i = 0; i < count; ++i) data[i] = static_cast<cl_int>(i) * factor;
    return data;
  }

  Program program_;
};

TEST_F(SvmKernels, ManyWorkGroups) {
  const Kernel add = kernel("add");
  const auto a = ints(counted(kSvmItems)), b = ints(counted(kSvmItems, 5));
  const Shared<cl_int> sum(context_, kSvmItems);
  set_pointers(add, {a.get(), b.get(), sum.get()});
  for (int round = 0; round < 4; ++round) ASSERT_SUCCESS(launch(add, kSvmItems, 64));
  EXPECT_TRUE(same_elements(counted(kSvmItems, 6), load(sum)));
  EXPECT_TRUE(same_elements(counted(kSvmItems), load(a)));
}

TEST_F(SvmKernels, ResultsOfOneAreAnothersArguments) {
  const Kernel twice = kernel("double_it");
  const auto data = ints(counted(kSvmItems));
  set_pointers(twice, {data.get()});
  for (int round = 0; round < 3; ++round) ASSERT_SUCCESS(launch(twice, kSvmItems, 64));
  auto expected = counted(kSvmItems, 8);
  EXPECT_TRUE(same_elements(expected, load(data)));
  // The host's own work in between.
  ASSERT_SUCCESS(map(data.get() + 100, 40, CL_MAP_READ | CL_MAP_WRITE));
  for (int i = 100; i < 110; ++i) data.get()[i] = expected[static_cast<size_t>(i)] = i;
  ASSERT_SUCCESS(unmap(data.get() + 100));
  ASSERT_SUCCESS(launch(twice, kSvmItems, 64));
  for (cl_int& value : expected) value *= 2;
  EXPECT_TRUE(same_elements(expected, load(data)));
}

TEST_F(SvmKernels, MemoryThatKernelsOnlyReadOrWrite) {
  const Kernel add = kernel("add");
  const Shared<cl_int> a(context_, kSvmItems, CL_MEM_READ_ONLY);
  const Shared<cl_int> sum(context_, kSvmItems, CL_MEM_WRITE_ONLY);
  store(a, counted(kSvmItems));
  set_pointers(add, {a.get(), a.get(), sum.get()});
  ASSERT_SUCCESS(launch(add, kSvmItems, 64));
  EXPECT_TRUE(same_elements(counted(kSvmItems, 2), load(sum)));
}

TEST_F(SvmKernels, InnerPointers) {
  const Kernel add = kernel("add");
  for (const size_t origin : {size_t{1}, size_t{3}, alignment() / 4, size_t{1024}, kSvmItems}) {
    const auto data = ints(counted(3 * kSvmItems + 2048));
    // Three windows on one allocation, the result beside its inputs.
    set_pointers(add, {data.get(), data.get() + origin, data.get() + origin + kSvmItems + 64});
    ASSERT_SUCCESS(launch(add, kSvmItems, 64));
    auto expected = counted(data.count());
    for (size_t i = 0; i < kSvmItems; ++i) {
      expected[origin + kSvmItems + 64 + i] = static_cast<cl_int>(i + i + origin);
    }
    EXPECT_TRUE(same_elements(expected, load(data))) << origin;
  }
}

TEST_F(SvmKernels, BackFromAPointer) {
  const Kernel differences = kernel("differences");
  const auto data = ints(counted(kSvmItems + 5000, 7));
  const Shared<cl_int> out(context_, kSvmItems);
  set_pointers(differences, {data.get() + 4096, out.get()});
  for (const cl_int back : {0, 1, 4096}) {
    EXPECT_SUCCESS(set_arg(differences, 2, back));
    ASSERT_SUCCESS(launch(differences, kSvmItems, 64));
    EXPECT_TRUE(same_elements(std::vector<cl_int>(kSvmItems, -7 * back), load(out))) << back;
  }
}

TEST_F(SvmKernels, MixedWithBuffers) {
  const Kernel add = kernel("add");
  const auto a = ints(counted(kSvmItems));
  const Buffer b = make_buffer_of(counted(kSvmItems, 2));
  const Buffer over = make_buffer(kSvmItems * 4, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, a.get());
  const Buffer sum = make_buffer(kSvmItems * 4);
  EXPECT_SUCCESS(clSetKernelArgSVMPointer(add, 0, a.get()));
  EXPECT_SUCCESS(set_arg(add, 1, b));
  EXPECT_SUCCESS(set_arg(add, 2, sum));
  ASSERT_SUCCESS(launch(add, kSvmItems, 64));
  EXPECT_TRUE(same_elements(counted(kSvmItems, 3), read_all<cl_int>(sum, kSvmItems)));
  // A buffer over the memory is the memory.
  const Kernel twice = kernel("double_it");
  set_args(twice, over);
  ASSERT_SUCCESS(launch(twice, kSvmItems, 64));
  ASSERT_SUCCESS(launch(add, kSvmItems, 64));
  EXPECT_TRUE(same_elements(counted(kSvmItems, 4), read_all<cl_int>(sum, kSvmItems)));
  EXPECT_TRUE(same_elements(counted(kSvmItems, 2), load(a)));
}

TEST_F(SvmKernels, ListMadeByTheHost) {
  const Shared<Node> nodes(context_, 1000), others(context_, 1000);
  ASSERT_SUCCESS(map(nodes.get(), nodes.bytes(), CL_MAP_WRITE));
  ASSERT_SUCCESS(map(others.get(), others.bytes(), CL_MAP_WRITE));
  // From one allocation to the other and back.
  for (int i = 0; i < 1000; ++i) {
    nodes.get()[i] = {&others.get()[999 - i], i};
    others.get()[999 - i] = {i + 1 < 1000 ? &nodes.get()[i + 1] : nullptr, 2 * i};
  }
  ASSERT_SUCCESS(unmap(nodes.get()));
  ASSERT_SUCCESS(unmap(others.get()));
  const Kernel sum_list = kernel("sum_list");
  const Shared<cl_int> sum(context_, 1);
  set_pointers(sum_list, {nodes.get(), sum.get()});
  void* reached[] = {others.get()};
  EXPECT_SUCCESS(
      clSetKernelExecInfo(sum_list, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof reached, reached));
  ASSERT_SUCCESS(launch(sum_list, 1, 1));
  EXPECT_EQ(load(sum)[0], 3 * 999 * 1000 / 2);
  // What it changes beyond its arguments is seen.
  const Kernel grow = kernel("grow_list");
  set_pointers(grow, {nodes.get()});
  EXPECT_SUCCESS(clSetKernelExecInfo(grow, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof reached, reached));
  ASSERT_SUCCESS(launch(grow, 1, 1));
  EXPECT_EQ(load(others)[999].value, 1);
  ASSERT_SUCCESS(launch(sum_list, 1, 1));
  EXPECT_EQ(load(sum)[0], 3 * 999 * 1000 / 2 + 2000);
}

TEST_F(SvmKernels, ListMadeByAKernel) {
  constexpr cl_int kNodes = 64 * 64;
  const Shared<Node> nodes(context_, kNodes);
  const Kernel link = kernel("link");
  EXPECT_SUCCESS(clSetKernelArgSVMPointer(link, 0, nodes.get()));
  EXPECT_SUCCESS(set_arg(link, 1, kNodes));
  ASSERT_SUCCESS(launch(link, kNodes, 64));
  // The host follows the same pointers.
  ASSERT_SUCCESS(map(nodes.get(), nodes.bytes(), CL_MAP_READ));
  int count = 0, value = 0;
  for (const Node* node = nodes.get(); node != nullptr; node = node->next, ++count) {
    ASSERT_GE(node, nodes.get());
    ASSERT_LT(node, nodes.get() + kNodes);
    value += node->value;
  }
  ASSERT_SUCCESS(unmap(nodes.get()));
  EXPECT_EQ(count, kNodes);
  EXPECT_EQ(value, 3 * kNodes * (kNodes - 1) / 2);
  const Kernel sum_list = kernel("sum_list");
  const Shared<cl_int> sum(context_, 1);
  set_pointers(sum_list, {nodes.get(), sum.get()});
  ASSERT_SUCCESS(launch(sum_list, 1, 1));
  EXPECT_EQ(load(sum)[0], 3 * kNodes * (kNodes - 1) / 2);
}

TEST_F(SvmKernels, PointersInTablesAndNumbers) {
  const auto data = ints(counted(kSvmItems));
  const Kernel by_table = kernel("by_table");
  std::vector<Plan> plans;
  auto expected = counted(kSvmItems);
  for (size_t group = 0; group < kSvmItems / 64; ++group) {
    // In another order than the work-items'.
    const size_t target = kSvmItems / 64 - 1 - group;
    plans.push_back({data.get() + 64 * target, static_cast<cl_int>(group % 7)});
    for (size_t i = 0; i < 64; ++i) expected[64 * target + i] *= static_cast<cl_int>(group % 7);
  }
  const Shared<Plan> table(context_, plans.size());
  store(table, plans);
  set_pointers(by_table, {table.get()});
  void* reached[] = {data.get()};
  EXPECT_SUCCESS(
      clSetKernelExecInfo(by_table, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof reached, reached));
  ASSERT_SUCCESS(launch(by_table, kSvmItems, 64));
  EXPECT_TRUE(same_elements(expected, load(data)));

  const Kernel through_number = kernel("through_number");
  const Shared<cl_int> out(context_, kSvmItems);
  EXPECT_SUCCESS(set_arg(through_number, 0, cl_ulong{reinterpret_cast<uintptr_t>(data.get())}));
  EXPECT_SUCCESS(clSetKernelArgSVMPointer(through_number, 1, out.get()));
  EXPECT_SUCCESS(
      clSetKernelExecInfo(through_number, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof reached, reached));
  ASSERT_SUCCESS(launch(through_number, kSvmItems, 64));
  for (cl_int& value : expected) ++value;
  EXPECT_TRUE(same_elements(expected, load(out)));
}

TEST_F(SvmKernels, OrderOfReachedMemory) {
  // Each launch reaches what the commands around it use by name, in one queue and then by events.
  const Shared<Node> nodes(context_, 2);
  const Shared<cl_int> sum(context_, 1);
  ASSERT_SUCCESS(map(nodes.get(), nodes.bytes(), CL_MAP_WRITE));
  nodes.get()[0] = {&nodes.get()[1], 1};
  nodes.get()[1] = {nullptr, 10};
  ASSERT_SUCCESS(unmap(nodes.get()));
  const Kernel grow = kernel("grow_list"), sum_list = kernel("sum_list");
  set_pointers(grow, {nodes.get()});
  set_pointers(sum_list, {nodes.get(), sum.get()});
  const cl_int zero = 0;
  for (int round = 1; round <= 20; ++round) {
    ASSERT_SUCCESS(clEnqueueSVMMemFill(queue_, sum.get(), &zero, 4, 4, 0, nullptr, nullptr));
    ASSERT_SUCCESS(launch(grow, 1, 1));
    ASSERT_SUCCESS(launch(sum_list, 1, 1));
    cl_int seen = 0;
    ASSERT_SUCCESS(clEnqueueSVMMemcpy(queue_, CL_TRUE, &seen, sum.get(), 4, 0, nullptr, nullptr));
    ASSERT_EQ(seen, 11 + 2 * round);
  }
  const Queue other = make_queue();
  Event grown, summed;
  const size_t one = 1;
  ASSERT_SUCCESS(
      clEnqueueNDRangeKernel(queue_, grow, 1, nullptr, &one, &one, 0, nullptr, grown.out()));
  ASSERT_SUCCESS(clEnqueueNDRangeKernel(other, sum_list, 1, nullptr, &one, &one, 1, grown.list(),
                                        summed.out()));
  cl_int seen = 0;
  ASSERT_SUCCESS(
      clEnqueueSVMMemcpy(queue_, CL_TRUE, &seen, sum.get(), 4, 1, summed.list(), nullptr));
  EXPECT_EQ(seen, 53);
}

TEST_F(SvmKernels, FreedWhileInUse) {
  const Kernel twice = kernel("double_it");
  Shared<cl_int> data(context_, kSvmItems);
  store(data, counted(kSvmItems));
  set_pointers(twice, {data.get()});
  ASSERT_SUCCESS(launch(twice, kSvmItems, 64));
  std::vector<cl_int> seen(kSvmItems);
  ASSERT_SUCCESS(clEnqueueSVMMemcpy(queue_, CL_FALSE, seen.data(), data.get(), data.bytes(), 0,
                                    nullptr, nullptr));
  void* pointers[] = {data.release()};
  ASSERT_SUCCESS(clEnqueueSVMFree(queue_, 1, pointers, nullptr, nullptr, 0, nullptr, nullptr));
  ASSERT_SUCCESS(clFinish(queue_));
  EXPECT_TRUE(same_elements(counted(kSvmItems, 2), seen));
  // The argument went with it.
  if (!options().tutti) return;
  EXPECT_CL(CL_INVALID_KERNEL_ARGS, launch(twice, kSvmItems, 64));
}

TEST_F(SvmKernels, ClonesKeepPointers) {
  const Kernel twice = kernel("double_it");
  const auto data = ints(counted(kSvmItems));
  set_pointers(twice, {data.get()});
  cl_int code = CL_SUCCESS;
  const Kernel clone(clCloneKernel(twice, &code));
  ASSERT_SUCCESS(code);
  ASSERT_SUCCESS(launch(clone, kSvmItems, 64));
  EXPECT_TRUE(same_elements(counted(kSvmItems, 2), load(data)));
}

TEST_F(SvmKernels, FineGrained) {
  if ((capabilities() & CL_DEVICE_SVM_FINE_GRAIN_BUFFER) == 0) GTEST_SKIP() << "not fine-grained";
  // Nothing is mapped: the host looks and writes between the launches.
  const Shared<cl_int> data(context_, kSvmItems, CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER);
  std::iota(data.get(), data.get() + kSvmItems, 0);
  const Kernel twice = kernel("double_it");
  set_pointers(twice, {data.get()});
  for (cl_int round = 1; round < 5; ++round) {
    ASSERT_SUCCESS(launch(twice, kSvmItems, 64));
    ASSERT_SUCCESS(clFinish(queue_));
    ASSERT_EQ(data.get()[kSvmItems - 1], 2 * (static_cast<cl_int>(kSvmItems) - 1 + round - 1));
    std::iota(data.get(), data.get() + kSvmItems, round);
  }
}

TEST_F(SvmKernels, RejectBadArguments) {
  const Kernel add = kernel("add"), link = kernel("link");
  const Shared<cl_int> data(context_, 16);
  EXPECT_CL(CL_INVALID_KERNEL, clSetKernelArgSVMPointer(nullptr, 0, data.get()));
  EXPECT_CL(CL_INVALID_ARG_INDEX, clSetKernelArgSVMPointer(add, 3, data.get()));
  EXPECT_SUCCESS(clSetKernelArgSVMPointer(add, 0, nullptr));
  EXPECT_CL(CL_INVALID_KERNEL_ARGS, launch(add, 64, 64));  // the others are not set
  EXPECT_CL(CL_INVALID_VALUE, clSetKernelExecInfo(add, CL_KERNEL_EXEC_INFO_SVM_PTRS, 8, nullptr));
  void* pointers[] = {data.get()};
  EXPECT_CL(CL_INVALID_VALUE, clSetKernelExecInfo(add, CL_KERNEL_EXEC_INFO_SVM_PTRS, 3, pointers));
  const cl_bool yes = CL_TRUE;
  EXPECT_CL(CL_INVALID_OPERATION,
            clSetKernelExecInfo(add, CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM, sizeof yes, &yes));
  if (!options().tutti) return;
  cl_int outside = 0;
  EXPECT_CL(CL_INVALID_ARG_VALUE, clSetKernelArgSVMPointer(add, 0, &outside));
  EXPECT_CL(CL_INVALID_ARG_VALUE, clSetKernelArgSVMPointer(add, 0, data.get() + 16));
  EXPECT_CL(CL_INVALID_ARG_VALUE, clSetKernelArgSVMPointer(link, 1, data.get()));
}

}  // namespace
}  // namespace tutti::api_tests
