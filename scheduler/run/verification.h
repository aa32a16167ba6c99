// SPDX-License-Identifier: Apache-2.0
// TUTTI_VERIFY: every split launch is repeated whole on one device, into copies, and compared.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/config.h"
#include "base/thread_annotations.h"
#include "scheduler/command/work.h"
#include "scheduler/observe/run_summary.h"
#include "scheduler/order/stream.h"
#include "scheduler/plan/planner.h"
#include "scheduler/run/launch_copies.h"

namespace tutti::scheduler {

/// How the elements of an argument compare: floating-point ones by the tolerance, all others
/// exactly.
enum class ElementKind : uint8_t { kExact, kHalf, kFloat, kDouble };
struct ElementType {
  ElementKind kind = ElementKind::kExact;
  uint32_t bytes = 1;  // of one element; vectors count as several
};
/// Of a pointer's type as OpenCL names it, for example "float4*". Structures compare byte by byte.
ElementType element_type(const std::string& type_name);
/// Of an image's channels.
ElementType element_type(const cl_image_format& format);
/// The first element of `split` that differs from `whole` by more than the relative `tolerance`
/// (sizes are equal): its byte offset. Two NaNs are equal.
std::optional<size_t> first_difference(const ElementType& type, std::span<const std::byte> split,
                                       std::span<const std::byte> whole, double tolerance);
/// An element as text.
std::string element_text(const ElementType& type, std::span<const std::byte> bytes);

/// What was found in this process. Thread-safe.
class VerificationReport {
 public:
  struct Kernel {
    uint64_t launches = 0;
    uint64_t differing = 0;
    uint64_t unverified = 0;  // the repetition could not be run
    std::string first;        // the first difference, or why it could not be run
  };

  /// `votes`: launches are voted on (vote.h), and differ where no result was found.
  explicit VerificationReport(bool votes = false) : votes_(votes) {}
  void add(const std::string& kernel, bool differs, const std::string& what);
  void add_unverified(const std::string& kernel, const std::string& why);
  /// A line per kernel and one for all; empty when nothing was verified.
  std::string text() const;

 private:
  const bool votes_;
  mutable Mutex mutex_;
  std::map<std::string, Kernel> kernels_ TUTTI_GUARDED_BY(mutex_);
};

/// The repetition of one launch. Made before the split run begins, when nothing writes to the
/// launch's buffers; one thread at a time.
class Verification {
 public:
  /// Copies what the launch may write to `plan.backend`.
  static Result<std::unique_ptr<Verification>> begin(BackendSet& backends, const KernelWork& work,
                                                     const KernelPlan& plan);
  /// After the split run: runs the launch whole, compares, and reports. An error is of the
  /// repetition only.
  Status compare(Stream& stream, std::span<const PackageRecord> packages, double tolerance,
                 VerificationReport& report);

 private:
  Verification(BackendSet& backends, const KernelWork& work, const KernelPlan& plan)
      : work_(work), plan_(plan), copies_(backends, plan.backend), backends_(backends) {}
  Status copy(const BufferView& view) {
    return copies_.add(view.buffer, view.origin, view.origin + view.size);
  }
  Status run_whole(Stream& stream);
  std::string owner_of(uint32_t argument, uint64_t byte,
                       std::span<const PackageRecord> packages) const;

  const KernelWork work_;
  const KernelPlan plan_;
  LaunchCopies copies_;  // of what it may write
  BackendSet& backends_;
};

}  // namespace tutti::scheduler
