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
#include <utility>

#include "backends/opencl/opencl_objects.h"
#include "base/helper_process.h"
#include "base/result.h"
#include "base/thread_annotations.h"

namespace tutti::backends {

class VendorBuilder {
 public:
  /// Of the device, both of which outlive it.
  VendorBuilder(const VendorDevice& device, const DeviceTraits& traits)
      : device_(device), traits_(traits) {}

  /// Has the program built where that is worth while and no earlier process has, so that building
  /// it here takes next to nothing. An error: the device's compiler has crashed or taken too much
  /// with it, now or in an earlier process; it is not to be built here.
  Status build_ahead(const std::string& source, const std::string& options);

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
  /// Whether it is for a helper to build what others find on disk, but for the first of them.
  bool in_helpers() const;
  /// Null where there is none to be had.
  std::unique_ptr<HelperProcess> helper();

  const VendorDevice& device_;
  const DeviceTraits& traits_;
  Mutex mutex_;
  std::unique_ptr<HelperProcess> idle_ TUTTI_GUARDED_BY(mutex_);
};

/// In a helper: the device at a place, ready to build. Error: what a driver lacks, or another
/// device than the one that is meant.
Result<VendorDevice> find_device(const DevicePlace& place, const std::string& name);

/// In a helper: builds what build_ahead() was asked for. That a program has errors is no failure.
void build_in_helper(const VendorDevice& device, cl_context context, std::string_view request);

}  // namespace tutti::backends
