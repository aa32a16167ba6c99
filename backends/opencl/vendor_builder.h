// SPDX-License-Identifier: Apache-2.0
// A vendor's compiler in a helper process (tutti-builder), for drivers that build one program at a
// time and find again on disk what another process has built (Quirks::serial_builds): a program
// that more than one device of the driver builds is built side by side, and a compiler that crashes
// costs that device the program. The first of them builds in the application, where the others'
// helpers run meanwhile: its driver must start there in any case, and starting another one takes
// longer than most programs' builds have to spare. Where equal devices share what one of them has
// built (no Quirks::distinct_builds), one builds at a time, and the others find it.
//
// Thread-safe; no lock is held while a vendor builds.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "backends/opencl/opencl_objects.h"
#include "base/helper_process.h"
#include "base/result.h"
#include "base/thread_annotations.h"

namespace tutti::backends {

/// What a program was built of in one go.
struct BuiltText {
  std::string source, options;
};

class VendorBuilder {
 public:
  /// Of the device, both of which outlive it.
  VendorBuilder(const VendorDevice& device, const DeviceTraits& traits)
      : device_(device), traits_(traits) {}

  /// Has the program built where that is worth while and no earlier process has, so that building
  /// it here takes next to nothing. An error: the device's compiler has crashed or taken too much
  /// with it, now or in an earlier process; it is not to be built here.
  Status build_ahead(const std::string& source, const std::string& options);

  /// Has what is compiled at a first launch compiled where a helper has built the program and is
  /// still there, or else returns false. `launch`: as of launch_text(). That it fails means
  /// nothing.
  bool launch_ahead(const BuiltText& text, const std::string& launch);

  /// Whether it is for a helper to build what others find on disk, but for the first of them.
  bool in_helpers() const;

  /// Whether an earlier process has had it built by build_ahead(); absent: nobody notes that.
  std::optional<bool> is_kept(const std::string& source, const std::string& options) const;

  /// Held while the device builds: no equal device builds the same meanwhile, where it would find
  /// it afterwards.
  class Turn {
   public:
    Turn() = default;
    explicit Turn(uint64_t build);  // waits for its turn
    ~Turn();
    Turn(Turn&& other) noexcept : build_(std::exchange(other.build_, 0)) {}
    Turn& operator=(Turn&&) = delete;

   private:
    uint64_t build_ = 0;  // 0: there is nothing to wait for
  };
  Turn turn(const std::string& source, const std::string& options) const;

 private:
  /// One that has nothing to do; null where there is none.
  std::unique_ptr<HelperProcess> idle_helper() TUTTI_EXCLUDES(mutex_);
  /// At the latest a new one; null where there is none to be had.
  std::unique_ptr<HelperProcess> helper() TUTTI_EXCLUDES(mutex_);
  /// It is used again where it has answered.
  HelperMessage ask(std::unique_ptr<HelperProcess> process, const std::string& request)
      TUTTI_EXCLUDES(mutex_);

  const VendorDevice& device_;
  const DeviceTraits& traits_;
  Mutex mutex_;
  std::unique_ptr<HelperProcess> idle_ TUTTI_GUARDED_BY(mutex_);
};

/// In a helper: the device at a place, ready to build. Error: what a driver lacks, or another
/// device than the one that is meant.
Result<VendorDevice> find_device(const DevicePlace& place, const std::string& name);

/// In a helper: builds and launches what build_ahead() and launch_ahead() ask for. For one thread.
class HelpersBuilds {
 public:
  HelpersBuilds(VendorDevice device, cl_context context)
      : device_(std::move(device)), context_(context) {}
  /// That a program has errors is no failure.
  void carry_out(std::string_view request);

 private:
  /// Of the last one that was built. Null where the vendor makes none.
  cl_program build(std::string_view text);

  const VendorDevice device_;
  const cl_context context_;
  std::string text_;  // options, a zero and the source
  OwnedProgram program_;
};

}  // namespace tutti::backends
