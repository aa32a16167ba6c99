// SPDX-License-Identifier: Apache-2.0
// Decides, per launch, whether a kernel runs whole (and where) or split (along which dimension,
// over which devices). Stateless beside the model and its settings; thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "platform/config.h"
#include "scheduler/balance/balancer.h"
#include "scheduler/exec/backend_set.h"
#include "scheduler/exec/work.h"
#include "scheduler/model/performance_model.h"
#include "scheduler/plan/access_eval.h"

namespace tutti::scheduler {

struct EngineSettings {
  BalancerSpec balancer;
  SplitMode split = SplitMode::kAuto;
  uint64_t seed = 1;            // of forced splits
  bool distrust_races = false;  // as TUTTI_RACES
  Verify verify;                // as TUTTI_VERIFY
  std::string summary;          // as TUTTI_SUMMARY
};

struct KernelPlan {
  enum class Why : uint8_t { kOneDevice, kSingle, kNever, kSmall, kFewGroups, kMerge, kVerdict };
  bool split = false;
  Why why = Why::kVerdict;                     // of a whole run; kVerdict: see access->verdict()
  uint32_t backend = 0;                        // whole: the device
  std::vector<uint32_t> participants;          // split: the devices
  LaunchShape shape;                           // split: with the local size decided
  std::shared_ptr<const LaunchAccess> access;  // absent where it was not needed
  std::string reason() const;
};

/// Arguments that some store or atomic of the kernel may reach, as bits (argument 63 stands for all
/// from there on). Everything writable when the kernel is not understood.
uint64_t written_arguments(const KernelSummary& summary);
inline bool argument_written(uint64_t bits, size_t index) {
  return bits >> (index < 63 ? index : 63) & 1;
}

class Planner {
 public:
  Planner(BackendSet& backends, PerformanceModel& model, const EngineSettings& settings);

  /// CL_OUT_OF_RESOURCES when none of the `allowed` devices can run the kernel.
  Result<KernelPlan> plan(const KernelWork& work, BackendMask allowed) const;
  /// Devices as the balancer sees them, speeds in slices per second for this kernel.
  std::vector<BalancerDevice> balancer_devices(const KernelWork& work,
                                               const KernelPlan& plan) const;

 private:
  std::vector<uint32_t> candidates(const KernelWork& work, BackendMask allowed) const;
  uint32_t best_device(const KernelWork& work, const std::vector<uint32_t>& candidates) const;
  /// Whether a split gains more time than its merges cost.
  bool merge_pays(const KernelWork& work, const KernelPlan& plan) const;
  double relative_speed(uint64_t kernel, uint32_t backend,
                        const std::vector<uint32_t>& others) const;

  BackendSet& backends_;
  PerformanceModel& model_;
  const EngineSettings& settings_;
};

}  // namespace tutti::scheduler
