// SPDX-License-Identifier: Apache-2.0
// Backends that build, fail to, and count, for tests of built programs; and the tests' fixture.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/temporary_folder.h"
#include "device_virtual/built_program.h"
#include "device_virtual/kernel_executable.h"

namespace tutti::device_virtual {

using scheduler::KernelVariant;

class FakeKernel : public backends::Kernel {
 public:
  explicit FakeKernel(size_t work_group) : work_group_(work_group) {}
  Result<std::vector<std::byte>> work_group_info(cl_kernel_work_group_info what) override {
    switch (what) {
      case CL_KERNEL_WORK_GROUP_SIZE:
        return raw<size_t>(work_group_);
      case CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE:
        return raw<size_t>(work_group_ / 4);
      case CL_KERNEL_LOCAL_MEM_SIZE:
        return raw<cl_ulong>(work_group_ * 2);
      default:
        return fail(CL_INVALID_VALUE);
    }
  }

 private:
  template <typename T>
  static std::vector<std::byte> raw(T value) {
    std::vector<std::byte> bytes(sizeof(T));
    std::memcpy(bytes.data(), &value, sizeof(T));
    return bytes;
  }
  const size_t work_group_;
};

class FakeModule : public backends::Module {
 public:
  FakeModule(size_t work_group, std::atomic<int>& kernels, std::function<void()> on_end = {})
      : work_group_(work_group), kernels_(kernels), on_end_(std::move(on_end)) {}
  ~FakeModule() override {
    if (on_end_) on_end_();
  }
  Result<std::unique_ptr<backends::Kernel>> create_kernel(const std::string&) override {
    ++kernels_;
    return std::make_unique<FakeKernel>(work_group_);
  }
  const std::string& build_log() const override { return log_; }
  Result<std::vector<std::byte>> binary() override { return std::vector<std::byte>(4); }
  Result<size_t> variable_bytes() override { return work_group_; }

 private:
  const size_t work_group_;
  std::atomic<int>& kernels_;
  const std::function<void()> on_end_;
  const std::string log_;
};

class FakeBackend : public backends::Backend {
 public:
  FakeBackend(std::string name, size_t work_group, std::string binary_kind, std::string build_kind)
      : work_group_(work_group) {
    traits_.binary_kind = std::move(binary_kind);
    traits_.build_kind = std::move(build_kind);
    traits_.device_name = std::move(name);
    traits_.platform_name = "Fake";
    traits_.max_work_group = work_group;
  }
  const backends::DeviceTraits& traits() const override { return traits_; }
  void set_index(uint32_t index) { traits_.index = index; }
  void set_name(std::string name) { traits_.device_name = std::move(name); }
  uint32_t renewals() const override { return begun_anew; }
  void has_own_process() { traits_.own_process = true; }
  /// Its kernels' sizes of groups are advice.
  void advises_groups(uint64_t most) {
    traits_.advises_groups = true;
    traits_.max_work_group = most;
  }
  void has(const std::string& feature) { traits_.features.push_back(feature); }
  Result<std::vector<std::byte>> device_info(cl_device_info) const override {
    return fail(CL_INVALID_VALUE);
  }
  Result<std::unique_ptr<backends::Queue>> create_queue(backends::QueueOptions) override {
    return fail(CL_OUT_OF_RESOURCES);
  }
  Result<std::unique_ptr<backends::Memory>> allocate(uint64_t, void*) override {
    return fail(CL_OUT_OF_RESOURCES);
  }
  backends::BuildResult build(const std::string& source, const std::string& options) override {
    ++builds;
    if (on_build) on_build();
    backends::BuildResult result;
    last_source = source;
    last_options = options;
    if (failure != CL_SUCCESS) {
      result.code = failure;
      result.log = traits_.device_name + " says no";
    } else {
      result.module = std::make_unique<FakeModule>(work_group_, kernels, on_module_end);
    }
    return result;
  }

  std::optional<bool> build_is_kept(const std::string&, const std::string& options) const override {
    EXPECT_TRUE(options.ends_with(" -w")) << "as build() gets them: " << options;
    return kept;
  }
  backends::BuildResult load(std::span<const std::byte> binary) override {
    ++loads;
    EXPECT_EQ(binary.size(), 4u);
    if (load_failure != CL_SUCCESS) return {nullptr, load_failure, "unknown binary"};
    return {std::make_unique<FakeModule>(work_group_, kernels), CL_SUCCESS, {}};
  }
  backends::ObjectResult compile(const std::string& source, const std::string&) override {
    ++compilations;
    if (failure != CL_SUCCESS) return {nullptr, failure, traits_.device_name + " says no"};
    last_source = source;
    return {std::make_unique<backends::Object>(), CL_SUCCESS, {}};
  }
  backends::BuildResult link(std::span<backends::Object* const> objects,
                             const std::string& options) override {
    last_options = options;
    linked_objects.assign(objects.begin(), objects.end());
    if (link_failure != CL_SUCCESS) return {nullptr, link_failure, "does not link"};
    return {std::make_unique<FakeModule>(work_group_, kernels), CL_SUCCESS, {}};
  }

  uint32_t begun_anew = 0;   // what renewals() answers
  std::optional<bool> kept;  // what build_is_kept() answers
  cl_int failure = CL_SUCCESS;
  cl_int link_failure = CL_SUCCESS, load_failure = CL_SUCCESS;
  std::vector<backends::Object*> linked_objects;
  std::atomic<int> compilations{0};
  std::function<void()> on_build, on_module_end;
  std::atomic<int> builds{0}, loads{0};
  std::atomic<int> kernels{0};
  std::string last_source, last_options;

 private:
  const size_t work_group_;
  backends::DeviceTraits traits_;
};

class BuiltProgramTest : public testing::Test {
 protected:
  BuiltProgramTest() { make_devices(""); }

  void make_devices(const std::string& binary_kind, size_t count = 2,
                    const std::string& build_kind = "",
                    std::optional<uint32_t> preferred = std::nullopt) {
    fakes_.clear();
    std::vector<std::unique_ptr<backends::Backend>> made;
    while (made.size() < count) {
      const size_t work_group = made.empty() ? 256 : 64;
      auto backend = std::make_unique<FakeBackend>("device " + std::to_string(made.size()),
                                                   work_group, binary_kind, build_kind);
      backend->set_index(static_cast<uint32_t>(made.size()));
      fakes_.push_back(backend.get());
      made.push_back(std::move(backend));
    }
    set_ = std::make_unique<scheduler::BackendSet>(std::move(made), UINT64_MAX, preferred);
  }

  std::shared_ptr<BuiltProgram> built(bool needs_rewrite) {
    kernel_compiler::CompileOutput output;
    output.ok = true;
    output.preprocessed = "untouched";
    output.rewritten = "rewritten";
    output.vendor_options = "-O";
    output.summary.kernels.resize(1);
    output.summary.kernels[0].name = "k";
    output.summary.kernels[0].needs_rewrite = needs_rewrite;
    const auto modules =
        std::make_shared<ProgramModules>(*set_, texts_of(std::move(output)), everywhere());
    for (uint32_t i = 0; i < fakes_.size(); ++i) {
      EXPECT_TRUE(modules->get(i, KernelVariant::kUntouched));
    }
    return std::make_shared<BuiltProgram>(modules);
  }

  scheduler::BackendMask everywhere() const { return set_->real_devices(); }
  /// Behind one device.
  BackendGroups together() const { return {everywhere()}; }
  /// Each behind a device of its own.
  BackendGroups apart() const { return {1, 2}; }

  kernel_compiler::CompileRequest request(const char* source) {
    kernel_compiler::CompileRequest result;
    result.source = source;
    return result;
  }

  std::vector<FakeBackend*> fakes_;
  std::unique_ptr<scheduler::BackendSet> set_;
};

}  // namespace tutti::device_virtual
