// SPDX-License-Identifier: Apache-2.0
// What the tests of mutable commands share.
#include <algorithm>
#include <string>

#include "mutable_commands.h"

namespace tutti::api_tests {

Change& Change::arg_bytes(cl_uint index, size_t size, const void* value) {
  const auto* const bytes = static_cast<const std::byte*>(value);
  values_.emplace_back(bytes, bytes + size);
  args_.push_back({index, size, values_.back().data()});
  return *this;
}

Change& Change::sizes_of(const size_t*& place, std::vector<size_t> sizes) {
  sizes_.push_back(std::move(sizes));
  place = sizes_.back().data();
  return *this;
}

const RawConfig& Change::raw() {
  const auto put = [](const std::vector<RawArgument>& list, const RawArgument*& place,
                      cl_uint& count) {
    place = list.empty() ? nullptr : list.data();
    count = static_cast<cl_uint>(list.size());
  };
  put(args_, raw_.args, raw_.num_args);
  put(svm_args_, raw_.svm_args, raw_.num_svm_args);
  put(exec_infos_, raw_.exec_infos, raw_.num_exec_infos);
  return raw_;
}

void MutableTest::SetUp() {
  CommandBufferTest::SetUp();
  if (IsSkipped() || HasFatalFailure()) return;
  const auto extensions = array_of<cl_name_version>(
      ::tutti::api_tests::query_of(device_, CL_DEVICE_EXTENSIONS_WITH_VERSION));
  const bool there =
      std::any_of(extensions.begin(), extensions.end(), [](const cl_name_version& extension) {
        return std::string(extension.name) == "cl_khr_command_buffer_mutable_dispatch" &&
               extension.version == CL_MAKE_VERSION(0, 9, 5);
      });
  if (!options().tutti && !there) GTEST_SKIP() << "no mutable commands of version 0.9.5";
  ASSERT_TRUE(there);
  const auto find = [](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
        clGetExtensionFunctionAddressForPlatform(options().platform, name));
    ASSERT_NE(function, nullptr) << name;
  };
  find(m_.update, "clUpdateMutableCommandsKHR");
  find(m_.info, "clGetMutableCommandInfoKHR");
}

CommandBuffer MutableTest::make_with(const std::vector<cl_properties>& properties,
                                     cl_command_queue queue) const {
  cl_int code = CL_SUCCESS;
  if (queue == nullptr) queue = queue_;
  CommandBuffer commands(f_.create(1, &queue, properties.data(), &code));
  EXPECT_SUCCESS(code);
  return commands;
}

CommandBuffer MutableTest::make_mutable(cl_command_queue queue) const {
  return make_with({CL_COMMAND_BUFFER_FLAGS_KHR, kMutableFlag, 0}, queue);
}

cl_int MutableTest::record_as(cl_command_buffer_khr commands, cl_kernel kernel, size_t global,
                              const std::vector<cl_properties>& properties, const size_t* local,
                              cl_mutable_command_khr* handle) const {
  return f_.kernel(commands, nullptr, properties.empty() ? nullptr : properties.data(), kernel, 1,
                   nullptr, &global, local, 0, nullptr, nullptr, handle);
}

cl_mutable_command_khr MutableTest::record(cl_command_buffer_khr commands, cl_kernel kernel,
                                           size_t global,
                                           const std::vector<cl_properties>& properties,
                                           const size_t* local) const {
  cl_mutable_command_khr handle = nullptr;
  EXPECT_SUCCESS(record_as(commands, kernel, global, properties, local, &handle));
  EXPECT_NE(handle, nullptr);
  return handle;
}

cl_int MutableTest::update(cl_command_buffer_khr commands,
                           std::initializer_list<Change*> changes) const {
  std::vector<const void*> configs;
  for (Change* change : changes) configs.push_back(&change->raw());
  const std::vector<cl_uint> types(configs.size(), 0);
  return m_.update(commands, static_cast<cl_uint>(configs.size()), types.data(), configs.data());
}

Query MutableTest::info_of(cl_mutable_command_khr command, cl_uint param) const {
  return [this, command, param](size_t size, void* value, size_t* size_ret) {
    return m_.info(command, param, size, value, size_ret);
  };
}

}  // namespace tutti::api_tests
