// SPDX-License-Identifier: Apache-2.0
// Summaries and rewritten kernels against what installed devices really do. For each trial:
//
// 1. The launch runs twice: on the given data, and with every byte changed that the summary does
//    not call read. Bytes that change must be ones the summary calls written; every byte must
//    come out equal in both runs or untouched in both; bytes called surely written come out equal.
// 2. The launch runs again in packages, as sub-ranges of the rewritten (or untouched) program, and
//    must give the same bytes.
#include <CL/cl.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <stdexcept>

#include "concrete_accesses.h"
#include "scheduler/access/hidden_argument.h"
#include "test_support.h"

namespace tutti::kernel_compiler {
namespace {

using Bytes = std::vector<uint8_t>;

template <typename T>
Bytes bytes_of(std::vector<T> values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
template <typename T>
Bytes scalar(T value) {
  return bytes_of(std::vector<T>{value});
}
/// `count` ints from 0 up, times `factor`, modulo `modulo`.
Bytes ints(size_t count, int factor = 1, int modulo = 1 << 20) {
  std::vector<int> values(count);
  for (size_t i = 0; i < count; ++i) {
    values[i] = static_cast<int>(i) * factor % modulo;
  }
  return bytes_of(values);
}
Bytes floats(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(i % 13) * 0.5f + 1.0f;
  }
  return bytes_of(values);
}
Bytes space(size_t count) { return Bytes(count, 0x5c); }

struct Trial {
  const char* name;
  const char* source;
  std::vector<Bytes> arguments;  // buffers' contents and scalars; local memory: its size
  std::array<uint64_t, 3> global;
  std::array<uint64_t, 3> local;
  std::array<uint64_t, 3> offset = {0, 0, 0};
};

const std::vector<Trial>& trials();

void check(cl_int error, const char* what) {
  if (error != CL_SUCCESS) {
    throw std::runtime_error(std::string(what) + ": " + std::to_string(error));
  }
}

/// One device with a context and an in-order queue.
class Device {
 public:
  explicit Device(cl_device_id id) : id_(id) {
    cl_int error = CL_SUCCESS;
    context_ = clCreateContext(nullptr, 1, &id_, nullptr, nullptr, &error);
    check(error, "clCreateContext");
    queue_ = clCreateCommandQueue(context_, id_, 0, &error);
    check(error, "clCreateCommandQueue");
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device() {
    for (const auto& [text, program] : programs_) {
      clReleaseProgram(program);
    }
    clReleaseCommandQueue(queue_);
    clReleaseContext(context_);
  }

  cl_program build(const std::string& text) {
    if (const auto it = programs_.find(text); it != programs_.end()) {
      return it->second;
    }
    const char* source = text.c_str();
    cl_int error = CL_SUCCESS;
    cl_program program = clCreateProgramWithSource(context_, 1, &source, nullptr, &error);
    check(error, "clCreateProgramWithSource");
    error = clBuildProgram(program, 1, &id_, "", nullptr, nullptr);
    if (error != CL_SUCCESS) {
      std::string log(1 << 16, '\0');
      clGetProgramBuildInfo(program, id_, CL_PROGRAM_BUILD_LOG, log.size(), log.data(), nullptr);
      clReleaseProgram(program);
      throw std::runtime_error("build: " + std::string(log.c_str()) + "\n" + text);
    }
    programs_.emplace(text, program);
    return program;
  }

  cl_device_id id_;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;

 private:
  std::map<std::string, cl_program> programs_;
};

/// A part of the launch: from where, and how large, in work-items.
struct Package {
  std::array<uint64_t, 3> begin;
  std::array<uint64_t, 3> size;
};

/// Runs the packages on buffers with the arguments' contents; returns the contents afterwards.
std::vector<Bytes> run(Device& device, const std::string& text,
                       const scheduler::KernelSummary& kernel, const Trial& trial,
                       const std::vector<Bytes>& arguments, const std::vector<Package>& packages,
                       bool hidden) {
  using scheduler::ArgKind;
  cl_program program = device.build(text);
  cl_int error = CL_SUCCESS;
  cl_kernel handle = clCreateKernel(program, "k", &error);
  check(error, "clCreateKernel");
  std::vector<cl_mem> buffers(arguments.size());
  for (cl_uint i = 0; i < arguments.size(); ++i) {
    const Bytes& data = arguments[i];
    const ArgKind kind = kernel.arguments.at(i).kind;
    if (kind == ArgKind::kGlobal || kind == ArgKind::kConstant) {
      buffers[i] = clCreateBuffer(device.context_, CL_MEM_COPY_HOST_PTR, data.size(),
                                  const_cast<uint8_t*>(data.data()), &error);
      check(error, "clCreateBuffer");
      check(clSetKernelArg(handle, i, sizeof(cl_mem), &buffers[i]), "clSetKernelArg");
    } else {
      check(clSetKernelArg(handle, i, data.size(), kind == ArgKind::kLocal ? nullptr : data.data()),
            "clSetKernelArg");
    }
  }
  for (const Package& package : packages) {
    std::array<size_t, 3> offset;
    std::array<size_t, 3> size;
    std::array<size_t, 3> local;
    scheduler::HiddenArgument values;
    values.set_dimensions(3);
    for (size_t d = 0; d < 3; ++d) {
      offset[d] = trial.offset[d] + package.begin[d];
      size[d] = package.size[d];
      local[d] = trial.local[d];
      const auto dimension = static_cast<uint32_t>(d);
      values.set_launch(dimension, trial.global[d] / trial.local[d], trial.global[d],
                        trial.offset[d]);
      values.set_first_group(dimension, package.begin[d] / trial.local[d]);
    }
    if (hidden) {
      check(clSetKernelArg(handle, static_cast<cl_uint>(arguments.size()), values.bytes().size(),
                           values.bytes().data()),
            "clSetKernelArg of the hidden argument");
    }
    check(clEnqueueNDRangeKernel(device.queue_, handle, 3, offset.data(), size.data(), local.data(),
                                 0, nullptr, nullptr),
          "clEnqueueNDRangeKernel");
  }
  std::vector<Bytes> result = arguments;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i] != nullptr) {
      check(clEnqueueReadBuffer(device.queue_, buffers[i], CL_TRUE, 0, result[i].size(),
                                result[i].data(), 0, nullptr, nullptr),
            "clEnqueueReadBuffer");
      clReleaseMemObject(buffers[i]);
    }
  }
  check(clFinish(device.queue_), "clFinish");
  clReleaseKernel(handle);
  return result;
}

/// The launch cut along `dimension` into uneven packages of whole groups.
std::vector<Package> cut(const Trial& trial, size_t dimension) {
  std::vector<Package> packages;
  const uint64_t groups = trial.global[dimension] / trial.local[dimension];
  uint64_t begin = 0;
  for (uint64_t length = 1; begin < groups; length = length * 2 + 1) {
    const uint64_t count = std::min(length, groups - begin);
    Package package{{0, 0, 0}, trial.global};
    package.begin[dimension] = begin * trial.local[dimension];
    package.size[dimension] = count * trial.local[dimension];
    packages.push_back(package);
    begin += count;
  }
  return packages;
}

/// Part 1; gives the results of the whole launch.
void check_summary(Device& device, const CompileOutput& output, const Trial& trial,
                   std::vector<Bytes>& first) {
  const auto& kernel = kernel_of(output, "k");
  const Launch launch{trial.global, trial.local, trial.offset, trial.arguments};
  const auto touched = touched_bytes(kernel, launch);
  std::vector<Bytes> changed = trial.arguments;
  for (const auto& [argument, bytes] : touched) {
    for (size_t i = 0; i < changed[argument].size(); ++i) {
      if (!bytes.read[i]) {
        changed[argument][i] ^= 0xa5;
      }
    }
  }
  const std::vector<Package> all = {{{0, 0, 0}, trial.global}};
  first = run(device, output.preprocessed, kernel, trial, trial.arguments, all, false);
  const auto second = run(device, output.preprocessed, kernel, trial, changed, all, false);
  size_t sure = 0;
  for (const auto& [argument, bytes] : touched) {
    for (size_t i = 0; i < bytes.read.size(); ++i) {
      const bool same = first[argument][i] == trial.arguments[argument][i] &&
                        second[argument][i] == changed[argument][i];
      const std::string where = kernel.arguments[argument].name + " byte " + std::to_string(i);
      ASSERT_TRUE(same || bytes.written[i]) << "written, not predicted: " << where;
      ASSERT_TRUE(same || first[argument][i] == second[argument][i])
          << "depends on bytes not predicted to be read: " << where;
      ASSERT_TRUE(!bytes.surely_written[i] || first[argument][i] == second[argument][i])
          << "predicted to be surely written, and not: " << where;
      sure += bytes.surely_written[i] ? 1 : 0;
    }
  }
  testing::Test::RecordProperty("surely_written_bytes", static_cast<int>(sure));
}

/// Part 2.
void check_packages(Device& device, const CompileOutput& output, const Trial& trial,
                    const std::vector<Bytes>& expected) {
  const auto& kernel = kernel_of(output, "k");
  const std::string& text = kernel.needs_rewrite ? output.rewritten : output.preprocessed;
  for (size_t dimension = 0; dimension < 3; ++dimension) {
    if (trial.global[dimension] > trial.local[dimension]) {
      const auto actual = run(device, text, kernel, trial, trial.arguments, cut(trial, dimension),
                              kernel.needs_rewrite);
      EXPECT_EQ(actual, expected) << "cut along dimension " << dimension;
    }
  }
}

/// The first device of every installed platform but our own.
std::vector<std::pair<std::string, cl_device_id>> devices() {
  std::vector<std::pair<std::string, cl_device_id>> result;
  cl_uint count = 0;
  if (clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS) {
    return result;
  }
  std::vector<cl_platform_id> platforms(count);
  clGetPlatformIDs(count, platforms.data(), nullptr);
  for (cl_platform_id platform : platforms) {
    char name[256] = "";
    clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name, name, nullptr);
    cl_device_id device = nullptr;
    if (std::string(name) != "Tutti" &&
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr) == CL_SUCCESS) {
      result.emplace_back(name, device);
    }
  }
  return result;
}

class RealDevice : public testing::TestWithParam<size_t> {};

TEST_P(RealDevice, DoesWhatTheSummarySays) {
  const Trial& trial = trials().at(GetParam());
  const auto all = devices();
  if (all.empty()) {
    GTEST_SKIP() << "no OpenCL device installed";
  }
  const CompileOutput output = compiled(trial.source);
  ASSERT_EQ(kernel_of(output, "k").whole_reason, "");
  for (const auto& [name, id] : all) {
    SCOPED_TRACE(name);
    try {
      Device device(id);
      std::vector<Bytes> whole;
      check_summary(device, output, trial, whole);
      if (!HasFatalFailure()) {
        check_packages(device, output, trial, whole);
      }
    } catch (const std::runtime_error& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Trials, RealDevice, testing::Range(size_t{0}, trials().size()),
                         [](const auto& trial) {
                           return std::string(trials().at(trial.param).name);
                         });

const std::vector<Trial>& trials() {
  static const Bytes kStructure = [] {
    // struct { int n; uint w; float4 v; short a[3]; char b; }
    Bytes data(48);
    const int n = 20;
    const uint32_t w = 3;
    const int16_t a[3] = {1, 2, 3};
    std::memcpy(&data[0], &n, 4);
    std::memcpy(&data[4], &w, 4);
    std::memcpy(&data[32], a, 6);
    data[38] = 4;
    return data;
  }();
  static const std::vector<Trial> kTrials = {
#include "real_device_trials.inc"
  };
  return kTrials;
}

}  // namespace
}  // namespace tutti::kernel_compiler
