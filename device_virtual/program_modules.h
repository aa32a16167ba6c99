// SPDX-License-Identifier: Apache-2.0
// The vendors' modules of one program: per backend and variant, each made when it is first needed.
// Which are ready, what making others is expected to take, and whether that is worth while: a build
// takes as long as many launches do (docs/platform-notes.md). Thread-safe; no lock is held while a
// vendor builds.
#pragma once

#include <CL/cl.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/api/backend.h"
#include "base/result.h"
#include "device_virtual/compiled_unit.h"
#include "scheduler/command/work.h"
#include "scheduler/devices/backend_set.h"

namespace tutti::device_virtual {

using CompiledUnits = std::vector<std::shared_ptr<CompiledUnit>>;

/// What vendors make an executable of.
struct ProgramTexts {
  struct Unit {
    std::string source;     // as a binary keeps it and the front end reads it again
    std::string text;       // as vendors compile it
    std::string rewritten;  // the sub-range variant; empty where it is the same as `text`
    std::string options;    // for vendors' compilers
    backends::ProgramForm form = backends::ProgramForm::kSource;  // of `source` and `text`
  };
  std::vector<Unit> units;
  CompiledUnits objects;     // of clLinkProgram: one per unit; empty: one unit, built in one go
  std::string link_options;  // for vendors' linkers
  scheduler::ProgramSummary summary;
  /// The one unit with these kernels alone, for devices that cannot run the others; empty: no such
  /// device takes part.
  std::function<Result<Unit>(const ProgramTexts& all, const std::vector<std::string>& kernels)>
      only;
  /// The shard or panel variant of the one unit, as `rewritten`, and KernelSummary::shard_arguments
  /// and panel_arguments by kernel; empty: there is none. Takes the front end's time.
  struct Shards {
    Unit unit;
    std::vector<uint32_t> arguments, panels;
  };
  std::function<Result<Shards>(const ProgramTexts& all, scheduler::KernelVariant variant)> shards;

  bool linked() const { return !objects.empty(); }
};

/// For messages.
std::string device_title(const backends::DeviceTraits& traits);
/// Whether a device of these traits loads the other one's binaries.
bool loads(const backends::DeviceTraits& traits, const backends::DeviceTraits& other);

/// On which of the devices that can build a kernel it may run: all; the primary and those like it,
/// whose sub-groups have the same sizes; or the primary, where its variables and queues are.
enum class Bound : uint8_t { kNo, kToLikeDevices, kToPrimary };
Bound bound_of(const scheduler::KernelSummary& summary);
/// So do kernels of which nothing is known.
bool may_use_variables(const scheduler::KernelSummary& summary);

class ProgramModules : public std::enable_shared_from_this<ProgramModules> {
 public:
  /// Makes nothing yet. Backends without a feature that the program uses will not be asked to.
  ProgramModules(scheduler::BackendSet& backends, ProgramTexts texts,
                 scheduler::BackendMask wanted);

  scheduler::BackendSet& backends() const { return backends_; }
  const ProgramTexts& texts() const { return texts_; }
  /// Backends from this number on are not wanted.
  uint32_t backend_end() const { return static_cast<uint32_t>(std::bit_width(wanted_)); }
  /// Equal for equal preprocessed sources and options.
  uint64_t key() const { return key_; }
  /// Equal if the kernel's name is, too.
  uint64_t kernel_key(std::string_view kernel) const;
  /// All wanted but those that are known not to build the program.
  scheduler::BackendMask usable() const;
  /// Those that are known not to build the program, or not to have all that the kernel uses.
  scheduler::BackendMask unable(uint32_t kernel) const { return wanted_ & ~usable(kernel); }
  /// Those of usable() that have all that the kernel uses, which may be none.
  scheduler::BackendMask usable(uint32_t kernel) const;
  /// Those that have all that any kernel uses.
  scheduler::BackendMask complete() const { return complete_; }
  /// What the kernel uses and the backend does not have: "cl_khr_fp64"; empty: nothing.
  std::string lacking(uint32_t backend, uint32_t kernel) const;
  /// The device was lost and began anew behind the untouched variant: what the program kept there
  /// in variables of its own is gone.
  bool lost_variables(uint32_t backend) const;
  /// Where the variant is there already.
  scheduler::BackendMask ready(scheduler::KernelVariant variant) const;
  /// The untouched variant, with what the vendor says of it. A backend of the kind that another
  /// one is of that is ready loads its binary. Where it fails since the device is lost, it is tried
  /// again when it is next asked for.
  Result<backends::Module*> get(uint32_t backend, scheduler::KernelVariant variant);

  /// KernelSummary::shard_arguments of the kernel; 0: it has no shard variant. The first call takes
  /// the front end's time.
  uint32_t shard_arguments(uint32_t kernel);
  /// KernelSummary::panel_arguments, likewise.
  uint32_t panel_arguments(uint32_t kernel);

  /// Of `wanted`, the backend where the program's kernels are expected to run fastest.
  uint32_t best(scheduler::BackendMask wanted) const;

  /// Seconds that it is expected to take until the variant is ready on all of them, by what builds
  /// have taken, and first launches, for which some vendors compile again.
  double seconds_until_ready(scheduler::BackendMask wanted, scheduler::KernelVariant variant) const;
  /// A launch gains so much by the variant's being ready on `wanted`, or would if it were.
  void note_gain(double seconds, scheduler::BackendMask wanted, scheduler::KernelVariant variant);
  /// Builds what is lacking of `wanted` if so much was foregone that it would have paid: whenever
  /// the program ends, it then lost no more by waiting, or by building, than it needed in any case.
  /// True when something was built. Nobody waits for what helpers build: it is ready some time
  /// later.
  bool build_if_worth(scheduler::BackendMask wanted, scheduler::KernelVariant variant);
  /// Builds what gains more in a process than it takes in each, and has gained so much in earlier
  /// ones that some more of them pay for what it takes once.
  void build_what_gained();

 private:
  using Mask = std::atomic<scheduler::BackendMask>;
  static size_t index(scheduler::KernelVariant variant) { return static_cast<size_t>(variant); }
  /// Builds of a variant on a device that was lost meanwhile, one after the other.
  struct LostBuilds {
    uint32_t count = 0;
    uint32_t renewals = 0;  // of the device, at the last of them
  };
  /// One more, which began at so many renewals; whether it is worth another try.
  bool worth_another_try(LostBuilds& lost, uint32_t renewals) const;
  backends::BuildResult make(uint32_t backend, scheduler::KernelVariant variant);
  backends::BuildResult build(uint32_t backend, scheduler::KernelVariant variant);
  void build_on(scheduler::BackendMask wanted, scheduler::KernelVariant variant);
  /// The same in the background; of `wanted`, those whose builds have begun so.
  scheduler::BackendMask begin_on(scheduler::BackendMask wanted, scheduler::KernelVariant variant);
  uint64_t gain_key(scheduler::KernelVariant variant) const;
  uint64_t source_bytes() const;
  /// What drivers build, of a program that is not linked: those of complete(), and others.
  const ProgramTexts::Unit& unit() const { return texts_.units.front(); }
  Result<ProgramTexts::Unit*> reduced_unit(uint32_t backend);
  Result<ProgramTexts::Shards*> shards(scheduler::KernelVariant variant);
  /// Seconds until what is lacking is ready: in each process, and beside that until vendors have it
  /// on disk.
  struct Readying {
    double each = 0, once = 0;
  };
  Readying readying(scheduler::BackendMask wanted, scheduler::KernelVariant variant) const;
  /// Of `wanted`, those whose drivers are known not to have the variant on disk.
  scheduler::BackendMask new_to(scheduler::BackendMask wanted,
                                scheduler::KernelVariant variant) const;

  scheduler::BackendSet& backends_;
  const ProgramTexts texts_;
  const scheduler::BackendMask wanted_;
  scheduler::BackendMask helped_ = 0;                      // helpers build there; constant
  uint64_t key_ = 0;                                       // constant
  std::map<std::string, scheduler::BackendMask> who_has_;  // what kernels use; constant
  std::vector<scheduler::BackendMask> able_;     // by kernel: who has what it uses; constant
  scheduler::BackendMask complete_ = 0;          // constant
  std::vector<std::atomic<uint32_t>> renewals_;  // of the backends, when it was built
  std::array<MadeOnce<backends::Module>, scheduler::kKernelVariants> modules_;
  std::array<std::vector<LostBuilds>, scheduler::kKernelVariants>
      lost_;                              // by variant and backend; used by who builds
  bool bound_ = false;                    // a kernel of it is; constant
  MadeOnce<ProgramTexts::Unit> reduced_;  // for those that are not complete
  MadeOnce<ProgramTexts::Shards> shards_{scheduler::kKernelVariants};
  std::array<Mask, scheduler::kKernelVariants> ready_{}, failed_{}, begun_{};    // begin_on()
  mutable std::array<Mask, scheduler::kKernelVariants> looked_at_{}, new_to_{};  // by new_to()
  std::atomic<double> build_seconds_{0};  // of the first one, without a driver's start
  std::atomic<double> foregone_{0};       // seconds, since something was last built for that
};

}  // namespace tutti::device_virtual
