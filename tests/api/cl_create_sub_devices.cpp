// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <thread>

#include "fixtures.h"

namespace tutti::api_tests {
namespace {

using Property = cl_device_partition_property;
using SubDevice = Handle<cl_device_id, clReleaseDevice>;

cl_uint units_of(cl_device_id device) {
  return value_of<cl_uint>(query_of(device, CL_DEVICE_MAX_COMPUTE_UNITS));
}

bool can_partition(cl_device_id device, Property kind) {
  const auto kinds = array_of<Property>(query_of(device, CL_DEVICE_PARTITION_PROPERTIES));
  return std::count(kinds.begin(), kinds.end(), kind) > 0;
}

class ClCreateSubDevices : public DeviceTest {
 protected:
  // Empty when the device cannot be partitioned in this way after all.
  static std::vector<SubDevice> partition(cl_device_id device,
                                          const std::vector<Property>& properties) {
    std::vector<SubDevice> parts;
    cl_uint count = 0;
    const cl_int code = clCreateSubDevices(device, properties.data(), 0, nullptr, &count);
    if (code == CL_DEVICE_PARTITION_FAILED) return parts;
    EXPECT_SUCCESS(code);
    std::vector<cl_device_id> handles(count);
    cl_uint again = 0;
    EXPECT_SUCCESS(clCreateSubDevices(device, properties.data(), count, handles.data(), &again));
    EXPECT_EQ(again, count);
    for (const cl_device_id handle : handles) parts.emplace_back(handle);
    return parts;
  }
  std::vector<SubDevice> single_units() const {
    return partition(device_, {CL_DEVICE_PARTITION_EQUALLY, 1, 0});
  }
};

TEST_F(ClCreateSubDevices, RootDevicesAreNotCounted) {
  // "If device is a root level device i.e. a cl_device_id returned by clGetDeviceIDs, the device
  // reference count remains unchanged."
  EXPECT_SUCCESS(clRetainDevice(device_));
  EXPECT_EQ(value_of<cl_uint>(query_of(device_, CL_DEVICE_REFERENCE_COUNT)), 1u);
  EXPECT_SUCCESS(clReleaseDevice(device_));
  EXPECT_SUCCESS(clReleaseDevice(device_));
  EXPECT_EQ(value_of<cl_uint>(query_of(device_, CL_DEVICE_REFERENCE_COUNT)), 1u);
}

TEST_F(ClCreateSubDevices, TheRootTellsHowItCanBePartitioned) {
  EXPECT_EQ(value_of<cl_device_id>(query_of(device_, CL_DEVICE_PARENT_DEVICE)), nullptr);
  const auto most = value_of<cl_uint>(query_of(device_, CL_DEVICE_PARTITION_MAX_SUB_DEVICES));
  const auto kinds = array_of<Property>(query_of(device_, CL_DEVICE_PARTITION_PROPERTIES));
  // "The value returned cannot exceed CL_DEVICE_MAX_COMPUTE_UNITS."
  EXPECT_LE(most, units_of(device_));
  ASSERT_FALSE(kinds.empty());
  if (kinds.front() == 0) {
    EXPECT_EQ(kinds.size(), 1u);
  } else {
    EXPECT_GE(most, 2u);
  }
  const auto type = array_of<Property>(query_of(device_, CL_DEVICE_PARTITION_TYPE));
  EXPECT_TRUE(type.empty() || type.front() == 0);
  const bool by_affinity = can_partition(device_, CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN);
  const auto domains =
      value_of<cl_device_affinity_domain>(query_of(device_, CL_DEVICE_PARTITION_AFFINITY_DOMAIN));
  EXPECT_EQ(by_affinity, domains != 0);
}

TEST_F(ClCreateSubDevices, RejectsBadProperties) {
  // "CL_INVALID_VALUE if values specified in properties are not valid or if values specified in
  // properties are valid but not supported by the device."
  cl_uint count = 0;
  const Property unknown[] = {0x7777, 1, 0};
  EXPECT_CL(CL_INVALID_VALUE, clCreateSubDevices(device_, unknown, 0, nullptr, &count));
  EXPECT_CL(CL_INVALID_VALUE, clCreateSubDevices(device_, nullptr, 0, nullptr, &count));
  EXPECT_CL(CL_INVALID_DEVICE, clCreateSubDevices(nullptr, unknown, 0, nullptr, &count));
  for (const Property kind : {CL_DEVICE_PARTITION_EQUALLY, CL_DEVICE_PARTITION_BY_COUNTS,
                              CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN}) {
    if (can_partition(device_, kind)) continue;
    const Property unsupported[] = {kind, 1, 0, 0};
    EXPECT_CL(CL_INVALID_VALUE, clCreateSubDevices(device_, unsupported, 0, nullptr, &count));
  }
}

TEST_F(ClCreateSubDevices, RejectsSizesThatAreNotThere) {
  if (!can_partition(device_, CL_DEVICE_PARTITION_EQUALLY)) GTEST_SKIP() << "not supported";
  if (!can_partition(device_, CL_DEVICE_PARTITION_BY_COUNTS)) GTEST_SKIP() << "not supported";
  const auto units = static_cast<Property>(units_of(device_));
  cl_uint count = 0;
  const Property none[] = {CL_DEVICE_PARTITION_EQUALLY, 0, 0};
  EXPECT_CL(CL_INVALID_VALUE, clCreateSubDevices(device_, none, 0, nullptr, &count));
  // "CL_DEVICE_PARTITION_FAILED if […] in_device could not be further partitioned."
  const Property whole[] = {CL_DEVICE_PARTITION_EQUALLY, units, 0};
  EXPECT_CL(CL_DEVICE_PARTITION_FAILED, clCreateSubDevices(device_, whole, 0, nullptr, &count));
  const Property too_big[] = {CL_DEVICE_PARTITION_EQUALLY, units + 1, 0};
  // As the conformance tests ask for; vendors have other codes, too.
  EXPECT_TRUE(
      is_one_of(clCreateSubDevices(device_, too_big, 0, nullptr, &count),
                {CL_INVALID_DEVICE_PARTITION_COUNT, CL_INVALID_VALUE, CL_DEVICE_PARTITION_FAILED}));
  // "CL_INVALID_DEVICE_PARTITION_COUNT if … the total number of compute units requested exceeds
  // CL_DEVICE_MAX_COMPUTE_UNITS for in_device, or the number of compute units requested for one or
  // more sub-devices is less than zero".
  const Property end = CL_DEVICE_PARTITION_BY_COUNTS_LIST_END;
  const Property over[] = {CL_DEVICE_PARTITION_BY_COUNTS, units, 1, end, 0};
  EXPECT_CL(CL_INVALID_DEVICE_PARTITION_COUNT,
            clCreateSubDevices(device_, over, 0, nullptr, &count));
  const Property negative[] = {CL_DEVICE_PARTITION_BY_COUNTS, 1, -1, end, 0};
  EXPECT_CL(CL_INVALID_DEVICE_PARTITION_COUNT,
            clCreateSubDevices(device_, negative, 0, nullptr, &count));
  // "CL_INVALID_VALUE if out_devices is not NULL and num_devices is less than the number of
  // sub-devices created by the partition scheme."
  // Devices that cannot be cut are parts as they are.
  Property two[] = {CL_DEVICE_PARTITION_BY_COUNTS, 1, 1, end, 0};
  if (clCreateSubDevices(device_, two, 0, nullptr, &count) != CL_SUCCESS) {
    two[1] = two[2] = units / 2;
  }
  cl_device_id one = nullptr;
  EXPECT_CL(CL_INVALID_VALUE, clCreateSubDevices(device_, two, 1, &one, &count));
}

TEST_F(ClCreateSubDevices, EquallyCountsAndDescribesItsParts) {
  if (!can_partition(device_, CL_DEVICE_PARTITION_EQUALLY)) GTEST_SKIP() << "not supported";
  const auto parts = single_units();
  if (parts.empty()) GTEST_SKIP() << "not into single units";
  EXPECT_EQ(parts.size(), units_of(device_));
  for (const SubDevice& part : parts) {
    EXPECT_EQ(value_of<cl_device_id>(query_of(part, CL_DEVICE_PARENT_DEVICE)), device_);
    EXPECT_EQ(value_of<cl_platform_id>(query_of(part, CL_DEVICE_PLATFORM)), platform_);
    EXPECT_EQ(units_of(part), 1u);
    EXPECT_FALSE(string_of(query_of(part, CL_DEVICE_NAME)).empty());
    const std::vector<Property> type = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
    EXPECT_EQ(array_of<Property>(query_of(part, CL_DEVICE_PARTITION_TYPE)), type);
    const auto ways = array_of<Property>(query_of(part, CL_DEVICE_PARTITION_PROPERTIES));
    EXPECT_EQ(ways, std::vector<Property>{0}) << "one unit can be divided no more";
    EXPECT_EQ(value_of<cl_uint>(query_of(part, CL_DEVICE_REFERENCE_COUNT)), 1u);
    EXPECT_SUCCESS(clRetainDevice(part));
    EXPECT_EQ(value_of<cl_uint>(query_of(part, CL_DEVICE_REFERENCE_COUNT)), 2u);
    EXPECT_SUCCESS(clReleaseDevice(part));
    EXPECT_EQ(value_of<cl_uint>(query_of(part, CL_DEVICE_REFERENCE_COUNT)), 1u);
  }
}

TEST_F(ClCreateSubDevices, ByCountsGivesTheCountsInOrder) {
  if (!can_partition(device_, CL_DEVICE_PARTITION_BY_COUNTS)) GTEST_SKIP() << "not supported";
  const auto rest = static_cast<Property>(units_of(device_) - 1);
  for (const auto& [first, second] : {std::pair<Property, Property>{1, rest}, {rest, 1}}) {
    const std::vector<Property> properties = {CL_DEVICE_PARTITION_BY_COUNTS, first, second,
                                              CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0};
    const auto parts = partition(device_, properties);
    if (parts.empty()) continue;
    ASSERT_EQ(parts.size(), 2u);
    EXPECT_EQ(units_of(parts[0]), static_cast<cl_uint>(first));
    EXPECT_EQ(units_of(parts[1]), static_cast<cl_uint>(second));
    EXPECT_EQ(array_of<Property>(query_of(parts[1], CL_DEVICE_PARTITION_TYPE)), properties);
  }
}

TEST_F(ClCreateSubDevices, PartsOfPartsKnowTheirParents) {
  if (!can_partition(device_, CL_DEVICE_PARTITION_BY_COUNTS)) GTEST_SKIP() << "not supported";
  const auto all = static_cast<Property>(units_of(device_));
  auto whole = partition(
      device_, {CL_DEVICE_PARTITION_BY_COUNTS, all, CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0});
  ASSERT_EQ(whole.size(), 1u);
  if (!can_partition(whole[0], CL_DEVICE_PARTITION_BY_COUNTS)) GTEST_SKIP() << "not twice";
  const auto parts = partition(
      whole[0], {CL_DEVICE_PARTITION_BY_COUNTS, 1, CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0});
  if (parts.empty()) GTEST_SKIP() << "not into these parts";
  const cl_device_id parent = whole[0];
  EXPECT_EQ(value_of<cl_device_id>(query_of(parts[0], CL_DEVICE_PARENT_DEVICE)), parent);
  EXPECT_EQ(units_of(parts[0]), 1u);
  // A part keeps its parent.
  whole[0].reset();
  EXPECT_EQ(value_of<cl_device_id>(query_of(parts[0], CL_DEVICE_PARENT_DEVICE)), parent);
}

TEST_F(ClCreateSubDevices, AgainAndAgain) {
  if (!can_partition(device_, CL_DEVICE_PARTITION_BY_COUNTS)) GTEST_SKIP() << "not supported";
  const auto units = static_cast<Property>(units_of(device_));
  for (int round = 0; round < 200; ++round) {
    const Property first = 1 + round % units;
    const auto parts = partition(
        device_, {CL_DEVICE_PARTITION_BY_COUNTS, first, CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0});
    if (parts.empty()) continue;
    EXPECT_EQ(units_of(parts[0]), static_cast<cl_uint>(first));
  }
}

TEST_F(ClCreateSubDevices, AReleasedPartIsNoDevice) {
  if (!can_partition(device_, CL_DEVICE_PARTITION_EQUALLY)) GTEST_SKIP() << "not supported";
  if (!options().strict_handles) GTEST_SKIP() << "--strict-handles is off";
  auto parts = single_units();
  if (parts.empty()) GTEST_SKIP() << "not into single units";
  const cl_device_id dead = parts.back();
  parts.pop_back();
  EXPECT_CL(CL_INVALID_DEVICE, clReleaseDevice(dead));
  EXPECT_CL(CL_INVALID_DEVICE, clRetainDevice(dead));
  cl_int code = CL_SUCCESS;
  EXPECT_EQ(clCreateContext(nullptr, 1, &dead, nullptr, nullptr, &code), nullptr);
  EXPECT_CL(CL_INVALID_DEVICE, code);
}

// A context over parts of the device, perhaps with the device itself, and a queue for each part.
class SubDeviceContext : public ClCreateSubDevices {
 protected:
  void SetUp() override {
    if (!can_partition(device_, CL_DEVICE_PARTITION_EQUALLY)) GTEST_SKIP() << "not supported";
    parts_ = single_units();
    if (parts_.size() < 2) GTEST_SKIP() << "not into single units";
  }
  void make_context(bool with_root) {
    for (const SubDevice& part : parts_) devices_.push_back(part);
    if (with_root) devices_.push_back(device_);
    cl_int code = CL_INVALID_VALUE;
    context_ = Context(clCreateContext(nullptr, static_cast<cl_uint>(devices_.size()),
                                       devices_.data(), nullptr, nullptr, &code));
    ASSERT_SUCCESS(code);
    for (const cl_device_id device : devices_) {
      queues_.emplace_back(clCreateCommandQueue(context_, device, 0, &code));
      ASSERT_SUCCESS(code);
      EXPECT_EQ(value_of<cl_device_id>(query_of(queues_.back(), CL_QUEUE_DEVICE)), device);
    }
  }
  void build(const std::vector<cl_device_id>& list) {
    const char* text = common_source().c_str();
    cl_int code = CL_INVALID_VALUE;
    program_ = Program(clCreateProgramWithSource(context_, 1, &text, nullptr, &code));
    ASSERT_SUCCESS(code);
    ASSERT_SUCCESS(clBuildProgram(program_, static_cast<cl_uint>(list.size()),
                                  list.empty() ? nullptr : list.data(), "", nullptr, nullptr));
  }
  Kernel kernel(const char* name) const {
    cl_int code = CL_INVALID_VALUE;
    Kernel made(clCreateKernel(program_, name, &code));
    EXPECT_SUCCESS(code);
    return made;
  }
  Buffer buffer_of(std::vector<cl_uint>& data) const {
    cl_int code = CL_INVALID_VALUE;
    Buffer made(clCreateBuffer(context_, CL_MEM_COPY_HOST_PTR, data.size() * sizeof(cl_uint),
                               data.data(), &code));
    EXPECT_SUCCESS(code);
    return made;
  }
  // Every queue in turn computes on the buffer that all share, and sees what the last one did.
  void compute_in_turns(bool wait_with_events) {
    const size_t count = 1000;
    std::vector<cl_uint> expected(count), actual(count);
    std::iota(expected.begin(), expected.end(), 0u);
    const Buffer buffer = buffer_of(expected);
    const Kernel step = kernel("times_plus");
    Event last;
    for (int round = 0; round < 3; ++round) {
      for (size_t i = 0; i < queues_.size(); ++i) {
        const auto term = static_cast<cl_uint>(round * 10 + static_cast<int>(i));
        set_args(step, buffer, cl_uint{3}, term);
        Event done;
        EXPECT_SUCCESS(clEnqueueNDRangeKernel(
            queues_[i], step, 1, nullptr, &count, nullptr, last.get() != nullptr ? 1 : 0,
            last.get() != nullptr ? last.list() : nullptr, done.out()));
        if (wait_with_events) {
          EXPECT_SUCCESS(clFlush(queues_[i]));
        } else {
          EXPECT_SUCCESS(clFinish(queues_[i]));
        }
        last = std::move(done);
        for (cl_uint& value : expected) value = value * 3 + term;
      }
    }
    for (const Queue& queue : queues_) {
      EXPECT_SUCCESS(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, count * sizeof(cl_uint),
                                         actual.data(), 1, last.list(), nullptr));
      EXPECT_TRUE(same_elements(expected, actual));
    }
  }

  std::vector<SubDevice> parts_;  // before what uses them
  std::vector<cl_device_id> devices_;
  Context context_;
  std::vector<Queue> queues_;
  Program program_;
};

TEST_F(SubDeviceContext, NamesItsDevices) {
  make_context(true);
  EXPECT_EQ(value_of<cl_uint>(query_of(context_, CL_CONTEXT_NUM_DEVICES)), devices_.size());
  EXPECT_EQ(array_of<cl_device_id>(query_of(context_, CL_CONTEXT_DEVICES)), devices_);
}

TEST_F(SubDeviceContext, DuplicatesAreIgnored) {
  const cl_device_id twice[] = {parts_[1], parts_[0], parts_[1]};
  cl_int code = CL_INVALID_VALUE;
  const Context context(clCreateContext(nullptr, 3, twice, nullptr, nullptr, &code));
  ASSERT_SUCCESS(code);
  const std::vector<cl_device_id> expected = {parts_[1], parts_[0]};
  EXPECT_EQ(array_of<cl_device_id>(query_of(context, CL_CONTEXT_DEVICES)), expected);
}

TEST_F(SubDeviceContext, ADeviceOfAnotherContextIsInvalid) {
  const cl_device_id first = parts_[0];
  cl_int code = CL_INVALID_VALUE;
  context_ = Context(clCreateContext(nullptr, 1, &first, nullptr, nullptr, &code));
  ASSERT_SUCCESS(code);
  for (const cl_device_id other : {device_, parts_[1].get()}) {
    EXPECT_EQ(clCreateCommandQueue(context_, other, 0, &code), nullptr);
    EXPECT_CL(CL_INVALID_DEVICE, code);
  }
  build({});
  const cl_device_id other = parts_[1];
  EXPECT_CL(CL_INVALID_DEVICE, clBuildProgram(program_, 1, &other, "", nullptr, nullptr));
  cl_build_status status;
  EXPECT_CL(CL_INVALID_DEVICE, clGetProgramBuildInfo(program_, other, CL_PROGRAM_BUILD_STATUS,
                                                     sizeof status, &status, nullptr));
  size_t size;
  const Kernel made = kernel("write_one");
  EXPECT_CL(CL_INVALID_DEVICE, clGetKernelWorkGroupInfo(made, other, CL_KERNEL_WORK_GROUP_SIZE,
                                                        sizeof size, &size, nullptr));
  EXPECT_SUCCESS(clGetKernelWorkGroupInfo(made, nullptr, CL_KERNEL_WORK_GROUP_SIZE, sizeof size,
                                          &size, nullptr));
}

TEST_F(SubDeviceContext, AProgramHasABinaryForEachDevice) {
  make_context(false);
  build({});
  const size_t count = devices_.size();
  EXPECT_EQ(value_of<cl_uint>(query_of(program_, CL_PROGRAM_NUM_DEVICES)), count);
  EXPECT_EQ(array_of<cl_device_id>(query_of(program_, CL_PROGRAM_DEVICES)), devices_);
  const auto sizes = array_of<size_t>(query_of(program_, CL_PROGRAM_BINARY_SIZES));
  ASSERT_EQ(sizes.size(), count);
  std::vector<std::vector<unsigned char>> binaries;
  std::vector<unsigned char*> places;
  for (const size_t size : sizes) {
    EXPECT_GT(size, 0u);
    binaries.emplace_back(size);
  }
  for (auto& binary : binaries) places.push_back(binary.data());
  ASSERT_SUCCESS(clGetProgramInfo(program_, CL_PROGRAM_BINARIES, count * sizeof(unsigned char*),
                                  places.data(), nullptr));
  std::vector<const unsigned char*> given(places.begin(), places.end());
  std::vector<cl_int> status(count, CL_INVALID_VALUE);
  cl_int code = CL_INVALID_VALUE;
  program_ =
      Program(clCreateProgramWithBinary(context_, static_cast<cl_uint>(count), devices_.data(),
                                        sizes.data(), given.data(), status.data(), &code));
  ASSERT_SUCCESS(code);
  for (const cl_int one : status) EXPECT_SUCCESS(one);
  EXPECT_EQ(value_of<cl_uint>(query_of(program_, CL_PROGRAM_NUM_DEVICES)), count);
  ASSERT_SUCCESS(clBuildProgram(program_, 0, nullptr, "", nullptr, nullptr));
  compute_in_turns(false);
}

TEST_F(SubDeviceContext, ABuildForSomeDevicesTellsWhich) {
  make_context(false);
  const cl_device_id first = devices_[0];
  const cl_device_id second = devices_[1];
  build({first});
  const auto status = [&](cl_device_id device) {
    return value_of<cl_build_status>(query_of(program_, device, CL_PROGRAM_BUILD_STATUS));
  };
  EXPECT_EQ(status(first), CL_BUILD_SUCCESS);
  EXPECT_EQ(status(second), CL_BUILD_NONE);
  EXPECT_EQ(value_of<cl_program_binary_type>(query_of(program_, second, CL_PROGRAM_BINARY_TYPE)),
            cl_program_binary_type{CL_PROGRAM_BINARY_TYPE_NONE});
  {
    std::vector<cl_uint> data(1, 0);
    const Buffer buffer = buffer_of(data);
    const Kernel step = kernel("write_one");
    set_args(step, buffer, cl_int{7});
    const size_t one = 1;
    EXPECT_SUCCESS(
        clEnqueueNDRangeKernel(queues_[0], step, 1, nullptr, &one, nullptr, 0, nullptr, nullptr));
    // "CL_INVALID_PROGRAM_EXECUTABLE if there is no successfully built program executable available
    // for device associated with command_queue."
    EXPECT_CL(
        CL_INVALID_PROGRAM_EXECUTABLE,
        clEnqueueNDRangeKernel(queues_[1], step, 1, nullptr, &one, nullptr, 0, nullptr, nullptr));
    EXPECT_SUCCESS(clFinish(queues_[0]));
  }
  ASSERT_SUCCESS(clBuildProgram(program_, 1, &second, "", nullptr, nullptr));
  EXPECT_EQ(status(first), CL_BUILD_SUCCESS);
  EXPECT_EQ(status(second), CL_BUILD_SUCCESS);
}

TEST_F(SubDeviceContext, KernelsOfAllPartsShareABuffer) {
  make_context(false);
  build({});
  compute_in_turns(false);
  compute_in_turns(true);
}

TEST_F(SubDeviceContext, ABuildForTheRootServesItsParts) {
  make_context(true);
  build({device_});
  for (const cl_device_id device : devices_) {
    EXPECT_EQ(value_of<cl_build_status>(query_of(program_, device, CL_PROGRAM_BUILD_STATUS)),
              CL_BUILD_SUCCESS);
  }
  size_t size;
  // "… or if device is NULL but there is more than one device associated with kernel."
  const Kernel made = kernel("write_one");
  EXPECT_CL(CL_INVALID_DEVICE, clGetKernelWorkGroupInfo(made, nullptr, CL_KERNEL_WORK_GROUP_SIZE,
                                                        sizeof size, &size, nullptr));
  compute_in_turns(false);
  compute_in_turns(true);
}

TEST_F(SubDeviceContext, OutlivesTheHandlesOfItsParts) {
  make_context(false);
  build({});
  parts_.clear();
  compute_in_turns(true);
}

TEST_F(SubDeviceContext, PartsComputeAtTheSameTime) {
  make_context(false);
  build({});
  std::vector<std::thread> threads;
  for (const Queue& queue : queues_) {
    threads.emplace_back([this, &queue] {
      const size_t count = 4096;
      std::vector<cl_uint> expected(count, 1), actual(count);
      const Buffer buffer = buffer_of(expected);
      const Kernel step = kernel("times_plus");
      set_args(step, buffer, cl_uint{5}, cl_uint{1});
      for (int i = 0; i < 10; ++i) {
        EXPECT_SUCCESS(
            clEnqueueNDRangeKernel(queue, step, 1, nullptr, &count, nullptr, 0, nullptr, nullptr));
        for (cl_uint& value : expected) value = value * 5 + 1;
      }
      EXPECT_SUCCESS(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, count * sizeof(cl_uint),
                                         actual.data(), 0, nullptr, nullptr));
      EXPECT_TRUE(same_elements(expected, actual));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tutti::api_tests
