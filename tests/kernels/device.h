// SPDX-License-Identifier: Apache-2.0
// One OpenCL device that runs kernel cases. OpenCL errors are exceptions, but for what a case asks
// of the device: whether it builds and launches is part of the answer. One thread.
#pragma once

#include <CL/cl.h>

#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernel_case.h"

namespace tutti::kernel_fuzz {

struct ClError : std::runtime_error {
  ClError(const char* call, cl_int error_code)
      : std::runtime_error(std::string(call) + ": " + std::to_string(error_code)),
        code(error_code) {}
  cl_int code;
};

/// A launch that was accepted, and whose event says that it failed.
struct LaunchFailed : ClError {
  explicit LaunchFailed(cl_int status) : ClError("the launch's event", status) {}
};

using Program = std::shared_ptr<std::remove_pointer_t<cl_program>>;

/// Recording which bytes the groups [first, end) along a dimension touch (the twin's program).
struct Recording {
  uint32_t dimension = 0;
  uint64_t first = 0;
  uint64_t end = ~uint64_t{0};
  std::array<uint64_t, 3> local = {1, 1, 1};  // where the case gives none
};

/// A launch in pieces, as Tutti makes packages, but one after the other on one device.
struct Pieces {
  uint32_t dimension = 0;
  std::vector<std::pair<uint64_t, uint64_t>> ranges;  // of groups: first, count
  std::array<uint64_t, 3> local = {1, 1, 1};
  bool rewritten = false;  // the kernel is a sub-range variant, with the hidden argument
};

/// For each root, byte by byte: 1 where it was …
struct Touched {
  std::vector<Bytes> read, stored, atomic;
};

class Device {
 public:
  /// The first device of the platform whose name contains `platform`; null where there is none.
  /// `watched`: each launch has an event, and throws LaunchFailed where that says so. Some drivers
  /// report a failure there alone, and leave all bytes as they were.
  static std::unique_ptr<Device> find(const std::string& platform, bool watched);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// Throws ClError with the log.
  Program build(const std::string& source, const std::string& options);
  /// The contents of all roots afterwards. `initial`: before, in place of the case's own.
  std::vector<Bytes> run(const Program& program, uint64_t number, const KernelCase& kernel,
                         const std::vector<Bytes>* initial = nullptr);
  /// The same, where roots that are unwritten hold whatever a new buffer holds.
  std::vector<Bytes> run_unwritten(const Program& program, uint64_t number,
                                   const KernelCase& kernel);
  /// In pieces; `program` is Tutti's variant of the case's.
  std::vector<Bytes> run_pieces(const Program& program, uint64_t number, const KernelCase& kernel,
                                const Pieces& pieces);
  Touched record(const Program& program, uint64_t number, const KernelCase& kernel,
                 const Recording& recording);

  const std::string& name() const { return name_; }
  const std::string& extensions() const { return extensions_; }
  uint64_t max_work_group() const { return max_work_group_; }
  bool has(const std::string& extension) const;
  bool has_feature(const std::string& name) const { return features_.contains(name); }
  const std::set<std::string>& features() const { return features_; }
  bool atomics64() const;
  /// Of OpenCL C, the highest: 120, 200, 300 …
  uint32_t language() const { return language_; }
  /// Coarse-grained, with addresses of eight bytes.
  bool shared_memory() const { return shared_memory_; }

 private:
  Device() = default;
  void ask_for_features();
  std::vector<Bytes> launch(const Program& program, uint64_t number, const KernelCase& kernel,
                            const std::vector<Bytes>& initial, const Recording* recording,
                            const Pieces* pieces, bool leave_unwritten = false);

  cl_device_id id_ = nullptr;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  std::string name_;
  std::string extensions_;
  std::set<std::string> features_;
  uint32_t language_ = 120;
  bool shared_memory_ = false;
  uint64_t max_work_group_ = 1;
  bool watched_ = false;
};

}  // namespace tutti::kernel_fuzz
