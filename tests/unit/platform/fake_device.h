// SPDX-License-Identifier: Apache-2.0
// Devices that answer from a table, and what the virtual device with such devices behind it
// answers.
#pragma once

#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "platform/capability_merger.h"

namespace tutti::platform {

inline constexpr cl_device_fp_config kDouble = CL_FP_FMA | CL_FP_ROUND_TO_NEAREST |
                                               CL_FP_ROUND_TO_ZERO | CL_FP_ROUND_TO_INF |
                                               CL_FP_INF_NAN | CL_FP_DENORM;
inline const std::string kBaseExtensions =
    "cl_khr_byte_addressable_store cl_khr_global_int32_base_atomics "
    "cl_khr_global_int32_extended_atomics cl_khr_local_int32_base_atomics "
    "cl_khr_local_int32_extended_atomics";

/// A device that answers from a table.
class FakeDevice {
 public:
  FakeDevice(std::string name, cl_device_type type, double gflops) {
    traits_.device_name = std::move(name);
    traits_.type = type;
    traits_.nominal_gflops = gflops;
    set<cl_uint>(CL_DEVICE_MAX_COMPUTE_UNITS, 4);
    set<size_t>(CL_DEVICE_MAX_WORK_GROUP_SIZE, 1024);
    set(CL_DEVICE_MAX_WORK_ITEM_SIZES, std::array<size_t, 3>{1024, 1024, 64});
    set<cl_ulong>(CL_DEVICE_MAX_MEM_ALLOC_SIZE, 1u << 30);
    set<cl_ulong>(CL_DEVICE_GLOBAL_MEM_SIZE, cl_ulong{4} << 30);
    set<cl_ulong>(CL_DEVICE_LOCAL_MEM_SIZE, 48 << 10);
    set<cl_uint>(CL_DEVICE_MEM_BASE_ADDR_ALIGN, 1024);
    set<size_t>(CL_DEVICE_MAX_PARAMETER_SIZE, 4096);
    set<cl_device_fp_config>(CL_DEVICE_SINGLE_FP_CONFIG,
                             CL_FP_ROUND_TO_NEAREST | CL_FP_INF_NAN | CL_FP_FMA);
    set<cl_device_fp_config>(CL_DEVICE_DOUBLE_FP_CONFIG, kDouble);
    text(CL_DEVICE_OPENCL_C_VERSION, "OpenCL C 1.2 fake");
    set<cl_uint>(CL_DEVICE_VENDOR_ID, 0x10de);
    traits_.vendor = "Maker of the " + traits_.device_name;
    extensions(kBaseExtensions + " cl_khr_fp64");
    languages({{1, 2}, {3, 0}});
  }

  template <typename T>
  FakeDevice& set(cl_device_info what, const T& value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    table_[what].assign(bytes, bytes + sizeof(T));
    return *this;
  }
  FakeDevice& text(cl_device_info what, const std::string& value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(value.c_str());
    table_[what].assign(bytes, bytes + value.size() + 1);
    return *this;
  }
  FakeDevice& version(const std::string& text) {
    traits_.device_version = text;
    return *this;
  }
  FakeDevice& built_in_kernels(std::vector<std::string> names) {
    traits_.built_in_kernels = std::move(names);
    return *this;
  }
  FakeDevice& smaller_groups() {
    traits_.smaller_groups = true;
    return *this;
  }
  FakeDevice& languages(const std::vector<std::pair<int, int>>& versions) {
    auto& bytes = table_[CL_DEVICE_OPENCL_C_ALL_VERSIONS];
    bytes.clear();
    for (const auto& [major, minor] : versions) {
      cl_name_version entry{};
      entry.version = CL_MAKE_VERSION(static_cast<cl_uint>(major), static_cast<cl_uint>(minor), 0);
      const auto* begin = reinterpret_cast<const std::byte*>(&entry);
      bytes.insert(bytes.end(), begin, begin + sizeof entry);
    }
    return *this;
  }
  FakeDevice& extensions(const std::string& names) {
    traits_.features.clear();
    std::istringstream words(names);
    for (std::string word; words >> word;) traits_.features.push_back(word);
    return *this;
  }
  FakeDevice& semaphores() {
    traits_.semaphores = true;
    return *this;
  }
  FakeDevice& external_memory() {
    traits_.external_memory = true;
    return *this;
  }
  FakeDevice& gl_sharing() {
    traits_.gl_sharing = true;
    return *this;
  }
  FakeDevice& alone() {
    alone_ = true;
    return *this;
  }
  FakeDevice& shares_host_memory() {
    traits_.shares_host_memory = true;
    return *this;
  }

  DeviceFacts facts() const {
    return {traits_,
            [table = table_](cl_device_info what) -> Result<std::vector<std::byte>> {
              const auto found = table.find(what);
              if (found == table.end()) return fail(CL_INVALID_VALUE);
              return found->second;
            },
            alone_};
  }

 private:
  backends::DeviceTraits traits_;
  std::map<cl_device_info, std::vector<std::byte>> table_;
  bool alone_ = false;
};

inline FakeDevice cpu(double gflops = 100) { return {"cpu", CL_DEVICE_TYPE_CPU, gflops}; }
inline FakeDevice gpu(double gflops = 1000) { return {"gpu", CL_DEVICE_TYPE_GPU, gflops}; }

inline std::vector<DeviceFacts> facts_of(const std::vector<FakeDevice>& devices) {
  std::vector<DeviceFacts> facts;
  for (const FakeDevice& device : devices) facts.push_back(device.facts());
  return facts;
}
/// The primary is the last one.
inline Capabilities merge(const std::vector<FakeDevice>& devices,
                          DeviceTypeChoice type = DeviceTypeChoice::kAuto,
                          IdentityChoice identity = IdentityChoice::kAuto) {
  return merge_capabilities(facts_of(devices), devices.size() - 1, {type, identity, "1.2.3"});
}
template <typename T>
T answer(const Capabilities& caps, cl_device_info what) {
  const auto found = caps.answers.find(what);
  T value{};
  EXPECT_NE(found, caps.answers.end()) << what;
  if (found == caps.answers.end()) return value;
  EXPECT_EQ(found->second.size(), sizeof(T)) << what;
  std::memcpy(&value, found->second.data(), std::min(sizeof(T), found->second.size()));
  return value;
}
inline std::string answer_text(const Capabilities& caps, cl_device_info what) {
  const auto& bytes = caps.answers.at(what);
  EXPECT_EQ(bytes.back(), std::byte{0});
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size() - 1};
}

inline std::vector<std::string> names_in(const Capabilities& caps, cl_device_info what) {
  const auto& bytes = caps.answers.at(what);
  std::vector<cl_name_version> entries(bytes.size() / sizeof(cl_name_version));
  std::memcpy(entries.data(), bytes.data(), bytes.size());
  std::vector<std::string> names;
  for (const cl_name_version& entry : entries) {
    names.push_back(std::string(entry.name) + " " +
                    std::to_string(CL_VERSION_MAJOR(entry.version)));
  }
  return names;
}

}  // namespace tutti::platform
