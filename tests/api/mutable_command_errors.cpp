// SPDX-License-Identifier: Apache-2.0
// Updates of recorded launches that are refused, each with its error code, and what they leave.
#include <algorithm>

#include "mutable_commands.h"

namespace tutti::api_tests {
namespace {

class MutableErrors : public MutableTest {
 protected:
  static constexpr size_t kCount = 256;

  void SetUp() override {
    MutableTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    buffer_ = make_buffer_of(std::vector<cl_int>(kCount, 0));
    add_ = kernel("add_scalar");
    set_args(add_, buffer_, cl_int{1});
  }
  // That the command still does what it was recorded to do.
  void expect_unchanged(cl_command_buffer_khr commands) const {
    const auto before = read_all<cl_int>(buffer_, kCount);
    enqueue(commands);
    auto expected = before;
    for (cl_int& value : expected) ++value;
    EXPECT_TRUE(same_elements(expected, read_all<cl_int>(buffer_, kCount)));
  }

  Buffer buffer_;
  Kernel add_;
};

TEST_F(MutableErrors, OfCreation) {
  cl_int code = CL_SUCCESS;
  const auto refused = [&](const std::vector<cl_properties>& properties) {
    EXPECT_EQ(f_.create(1, queue_.list(), properties.data(), &code), nullptr);
    return code;
  };
  EXPECT_CL(CL_INVALID_VALUE, refused({kCommandBufferAsserts, 2, 0}));
  EXPECT_CL(CL_INVALID_VALUE, refused({kCommandBufferAsserts, 1, kCommandBufferAsserts, 1, 0}));
  const std::vector<cl_properties> both{kCommandBufferAsserts, 1, CL_COMMAND_BUFFER_FLAGS_KHR,
                                        kMutableFlag, 0};
  const CommandBuffer commands = make_with(both);
  EXPECT_EQ(array_of<cl_properties>(query_of(commands, CL_COMMAND_BUFFER_PROPERTIES_ARRAY_KHR)),
            both);
}

TEST_F(MutableErrors, OfRecording) {
  const CommandBuffer commands = make_mutable();
  cl_mutable_command_khr handle = nullptr;
  const auto with = [&](const std::vector<cl_properties>& properties,
                        const size_t* local = nullptr) {
    return record_as(commands, add_, kCount, properties, local, &handle);
  };
  const size_t local = 4;
  EXPECT_CL(CL_INVALID_VALUE, with({CL_QUEUE_PROPERTIES, 0, 0}));
  EXPECT_CL(CL_INVALID_VALUE, with({kUpdatableFields, 1, kUpdatableFields, 1, 0}));
  EXPECT_CL(CL_INVALID_VALUE, with({kUpdatableFields, 1 << 5, 0}));
  EXPECT_CL(CL_INVALID_VALUE, with({kDispatchAsserts, 2, 0}, &local));
  EXPECT_CL(CL_INVALID_VALUE, with({kDispatchAsserts, 1, 0}));
  EXPECT_EQ(handle, nullptr);
  EXPECT_SUCCESS(with({kDispatchAsserts, 1, kUpdatableFields, 0, 0}, &local));
  const CommandBuffer asserted =
      make_with({CL_COMMAND_BUFFER_FLAGS_KHR, kMutableFlag, kCommandBufferAsserts, 1, 0});
  EXPECT_CL(CL_INVALID_VALUE, record_as(asserted, add_, kCount, {}, nullptr, &handle));
  EXPECT_SUCCESS(record_as(asserted, add_, kCount, {}, &local, &handle));
  // Arguments that may not be set later must be set, and in a command buffer that is not mutable
  // all must be.
  const Kernel unset = kernel("add_scalar");
  EXPECT_CL(
      CL_INVALID_KERNEL_ARGS,
      record_as(commands, unset, kCount, {kUpdatableFields, kUpdateGlobal, 0}, nullptr, &handle));
  const CommandBuffer immutable = make_commands();
  EXPECT_CL(CL_INVALID_KERNEL_ARGS,
            record_as(immutable, unset, kCount, {kUpdatableFields, kUpdateArguments, 0}, nullptr,
                      &handle));
  // Only launches have handles.
  EXPECT_CL(CL_INVALID_VALUE, f_.barrier(commands, nullptr, nullptr, 0, nullptr, nullptr, &handle));
  EXPECT_CL(CL_INVALID_VALUE, f_.copy(commands, nullptr, nullptr, buffer_, buffer_, 0, 64, 16, 0,
                                      nullptr, nullptr, &handle));
}

TEST_F(MutableErrors, OfTheCommandBuffer) {
  const CommandBuffer immutable = make_commands(), commands = make_mutable();
  cl_mutable_command_khr const fixed = record(immutable, add_, kCount);
  cl_mutable_command_khr const command = record(commands, add_, kCount);
  Change change(command);
  change.arg(1, cl_int{2});
  EXPECT_CL(CL_INVALID_OPERATION, update(commands, change));  // not finalized
  finalize(immutable);
  finalize(commands);
  EXPECT_CL(CL_INVALID_COMMAND_BUFFER_KHR, update(nullptr, change));
  EXPECT_CL(CL_INVALID_OPERATION, update(immutable, Change(fixed).arg(1, cl_int{2})));
  EXPECT_EQ(value_of<cl_kernel>(info_of(fixed, kOfKernel)), add_.get());
  const cl_uint type = 0, unknown = 1;
  const void* config = &change.raw();
  const void* none = nullptr;
  EXPECT_CL(CL_INVALID_VALUE, m_.update(commands, 1, nullptr, &config));
  EXPECT_CL(CL_INVALID_VALUE, m_.update(commands, 1, &type, nullptr));
  EXPECT_CL(CL_INVALID_VALUE, m_.update(commands, 0, &type, nullptr));
  EXPECT_CL(CL_INVALID_VALUE, m_.update(commands, 0, nullptr, &config));
  EXPECT_CL(CL_INVALID_VALUE, m_.update(commands, 1, &unknown, &config));
  EXPECT_CL(CL_INVALID_VALUE, m_.update(commands, 1, &type, &none));
  EXPECT_SUCCESS(m_.update(commands, 0, nullptr, nullptr));
  expect_unchanged(commands);
}

TEST_F(MutableErrors, OfTheHandle) {
  const CommandBuffer commands = make_mutable(), others = make_mutable();
  record(commands, add_, kCount);
  cl_mutable_command_khr const other = record(others, add_, kCount);
  finalize(commands);
  finalize(others);
  EXPECT_CL(kInvalidMutableCommand, update(commands, Change(other).arg(1, cl_int{2})));
  EXPECT_CL(kInvalidMutableCommand, update(commands, Change(nullptr).arg(1, cl_int{2})));
  size_t size = 0;
  EXPECT_CL(kInvalidMutableCommand, m_.info(nullptr, kOfType, 0, nullptr, &size));
  if (!options().strict_handles) return;
  auto* const buffer = reinterpret_cast<cl_mutable_command_khr>(buffer_.get());
  EXPECT_CL(kInvalidMutableCommand, m_.info(buffer, kOfType, 0, nullptr, &size));
  EXPECT_CL(kInvalidMutableCommand, update(commands, Change(buffer).arg(1, cl_int{2})));
  cl_mutable_command_khr dead = nullptr;
  {
    const CommandBuffer ended = make_mutable();
    dead = record(ended, add_, kCount);
  }
  EXPECT_CL(kInvalidMutableCommand, m_.info(dead, kOfType, 0, nullptr, &size));
  expect_unchanged(commands);
}

TEST_F(MutableErrors, OfFieldsThatMayNotBeUpdated) {
  const CommandBuffer commands = make_mutable();
  const size_t local = 4;
  cl_mutable_command_khr const command =
      record(commands, add_, kCount, {kUpdatableFields, 0, 0}, &local);
  finalize(commands);
  const auto refused = [&](Change& change) {
    EXPECT_CL(CL_INVALID_OPERATION, update(commands, change));
  };
  refused(Change(command).offset({1}));
  refused(Change(command).global({8}));
  refused(Change(command).local({8}));
  refused(Change(command).arg(1, cl_int{2}));
  refused(Change(command).svm(0, nullptr));
  refused(Change(command).exec_info(CL_KERNEL_EXEC_INFO_SVM_PTRS, 0, nullptr));
  refused(Change(command).dims(2));
  EXPECT_SUCCESS(update(commands, Change(command).dims(1)));
  expect_unchanged(commands);
}

TEST_F(MutableErrors, OfLists) {
  const CommandBuffer commands = make_mutable();
  cl_mutable_command_khr const command = record(commands, add_, kCount);
  finalize(commands);
  const RawArgument list{1, sizeof(cl_int), &kCount};
  const auto refused = [&](auto&& contradict) {
    RawConfig config{};
    config.command = command;
    contradict(config);
    const cl_uint type = 0;
    const void* configs[] = {&config};
    EXPECT_CL(CL_INVALID_VALUE, m_.update(commands, 1, &type, configs));
  };
  refused([&](RawConfig& config) { config.num_args = 1; });
  refused([&](RawConfig& config) { config.args = &list; });
  refused([&](RawConfig& config) { config.num_svm_args = 1; });
  refused([&](RawConfig& config) { config.svm_args = &list; });
  refused([&](RawConfig& config) { config.num_exec_infos = 1; });
  refused([&](RawConfig& config) { config.exec_infos = &list; });
  expect_unchanged(commands);
}

TEST_F(MutableErrors, OfArguments) {
  const CommandBuffer commands = make_mutable();
  cl_mutable_command_khr const command = record(commands, add_, kCount);
  const Kernel reverse = kernel("reverse_in_group");
  set_args(reverse, buffer_, buffer_, LocalBytes{16});
  cl_mutable_command_khr const with_local = record(commands, reverse, 0);
  finalize(commands);
  const auto expect = [&](cl_int code, Change& change) {
    EXPECT_CL(code, update(commands, change));
  };
  expect(CL_INVALID_ARG_INDEX, Change(command).arg(2, cl_int{1}));
  expect(CL_INVALID_ARG_SIZE, Change(command).arg(1, cl_long{1}));
  expect(CL_INVALID_ARG_SIZE, Change(command).arg(0, cl_char{1}));
  expect(CL_INVALID_ARG_VALUE, Change(command).arg(1, LocalBytes{sizeof(cl_int)}));
  if (platform_version() < 310) {  // from then on it is a size like others
    expect(CL_INVALID_ARG_SIZE, Change(with_local).arg(2, LocalBytes{0}));
  }
  expect(CL_INVALID_ARG_VALUE, Change(with_local).arg(2, cl_int{1}));
  if (options().strict_handles) {
    expect(CL_INVALID_MEM_OBJECT, Change(command).arg(0, add_));
  }
  const Context elsewhere = make_context();
  cl_int code = CL_SUCCESS;
  const Buffer foreign(clCreateBuffer(elsewhere, CL_MEM_READ_WRITE, 64, nullptr, &code));
  ASSERT_SUCCESS(code);
  if (options().tutti) expect(CL_INVALID_CONTEXT, Change(command).arg(0, foreign));
  const cl_ulong room =
      value_of<cl_ulong>(::tutti::api_tests::query_of(device_, CL_DEVICE_LOCAL_MEM_SIZE));
  expect(CL_OUT_OF_RESOURCES, Change(with_local).arg(2, LocalBytes{2 * room}));
  cl_int on_the_host = 0;
  const cl_int svm = update(commands, Change(command).svm(0, &on_the_host));
  EXPECT_TRUE(is_one_of(svm, {CL_INVALID_OPERATION, CL_INVALID_ARG_VALUE}));
  expect(CL_INVALID_VALUE, Change(command).exec_info(77, 0, nullptr));
  expect_unchanged(commands);
}

TEST_F(MutableErrors, OfSizes) {
  const CommandBuffer commands = make_mutable();
  const size_t local = 4;
  cl_mutable_command_khr const command = record(commands, add_, kCount, {}, &local);
  const Kernel required = kernel("required_size");
  set_args(required, buffer_);
  const size_t two_dims[] = {8, 4};
  cl_mutable_command_khr with_required = nullptr;
  ASSERT_SUCCESS(f_.kernel(commands, nullptr, nullptr, required, 2, nullptr, two_dims, nullptr, 0,
                           nullptr, nullptr, &with_required));
  finalize(commands);
  const auto expect = [&](cl_int code, Change& change) {
    EXPECT_CL(code, update(commands, change));
  };
  expect(CL_INVALID_OPERATION, Change(command).dims(2).global({kCount, 1}));
  expect(CL_INVALID_WORK_GROUP_SIZE, Change(command).local({0}));
  expect(CL_INVALID_GLOBAL_OFFSET, Change(command).offset({~size_t{0}}));
  expect(CL_INVALID_WORK_GROUP_SIZE, Change(with_required).local({2, 2}));
  const auto most =
      array_of<size_t>(::tutti::api_tests::query_of(device_, CL_DEVICE_MAX_WORK_ITEM_SIZES));
  const cl_int many = update(commands, Change(command).local({2 * most[0]}).global({2 * most[0]}));
  EXPECT_TRUE(is_one_of(many, {CL_INVALID_WORK_ITEM_SIZE, CL_INVALID_WORK_GROUP_SIZE}));
  // The last work-group would be smaller than the others, which none was.
  const cl_int uneven = update(commands, Change(command).local({kCount / 2 + 1}));
  EXPECT_TRUE(is_one_of(uneven, {CL_INVALID_OPERATION, CL_INVALID_WORK_GROUP_SIZE}));
  EXPECT_EQ(array_of<size_t>(info_of(command, kOfLocal)), std::vector<size_t>{4});
  EXPECT_EQ(array_of<size_t>(info_of(command, kOfGlobal)), std::vector<size_t>{kCount});
}

}  // namespace
}  // namespace tutti::api_tests
