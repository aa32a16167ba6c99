// SPDX-License-Identifier: Apache-2.0
// All vendor drivers of the machine and their devices, in a fixed order: that of the .icd files,
// then the vendors' own; those of other hosts (nodes) last. A device's place in devices() is the
// index that `tutti devices` shows. Immutable once made; the vendors' libraries and function tables
// stay for the life of the process.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backends/opencl/opencl_objects.h"
#include "backends/process/channel.h"
#include "platform/discovery.h"

namespace tutti::platform {

struct FoundDriver {
  std::string icd;        // the .icd file; empty where the library itself was named
  std::string library;    // as named there
  bool ok = false;        // it has a device that we can use
  std::string reason;     // why not
  std::string path{};     // the file that was loaded, when known
  std::string node{};     // drives the device of another host; empty: those of this one
  bool required = false;  // nothing is offered without it

  /// What people know it by.
  std::string label() const {
    const std::string file = icd.empty() ? node.empty() ? "" : "node " + node : icd;
    if (file.empty() || library.empty()) return file + library;
    return file + " (" + library + ")";
  }
};

struct FoundDevice {
  backends::VendorDevice device;
  backends::DeviceTraits traits;  // shares_host_memory is not known here
  std::string reason;             // why it cannot be used; empty if it can
  bool apart = false;             // a process of its own drives it; `device` is but its place
  std::string node{};             // as text_of(Node); empty: it is on this host
  uint32_t start_seconds = backends::process::kStartSeconds;  // of a helper …
  uint32_t trial_seconds = backends::process::kStartSeconds;  // … and of its trial of the device
  std::string away{};     // why it is not there now, and known of earlier processes alone
  bool required = false;  // nothing is offered without it

  /// What a helper is started with that is to drive it.
  backends::process::HelperSubject subject(std::string program) const {
    return {std::move(program), device.place.library, node, start_seconds};
  }
};

class VendorLoader {
 public:
  /// Loads every driver that `options` names; logs what is left out.
  explicit VendorLoader(const DiscoveryOptions& options);

  const std::vector<FoundDriver>& drivers() const { return drivers_; }
  const std::vector<FoundDevice>& devices() const { return devices_; }
  /// One that has loaded a driver whose devices are driven apart: for who comes first.
  backends::process::StartedHelper take_helper(const FoundDevice& device) const
      TUTTI_EXCLUDES(mutex_);
  /// Ends those that nobody has taken.
  void end_helpers() const TUTTI_EXCLUDES(mutex_);

 private:
  /// By the library, or the node.
  using Helpers = std::map<std::string, backends::process::StartedHelper>;

  /// Has a helper say which devices a driver has: true where none of them is for this process.
  bool look_from_apart(VendorLibrary& library) TUTTI_EXCLUDES(mutex_);
  bool isolates(size_t index, const backends::DeviceTraits& traits) const;
  void add_driver(const VendorLibrary& library);
  void add_apart(const VendorLibrary& library) TUTTI_EXCLUDES(mutex_);
  void add_listed(const backends::process::ListedDevice& listed, const std::string& library);
  /// Has helpers try the nodes, all at once, with one driver after the other.
  void add_nodes() TUTTI_EXCLUDES(mutex_);
  std::vector<std::string> node_drivers() const;
  /// Adds the platform's devices; why there are none, otherwise.
  std::string add_platform(cl_platform_id platform, backends::DevicePlace place);

  const DiscoveryOptions options_;
  size_t listed_ = 0;  // devices that helpers have told of
  std::vector<FoundDriver> drivers_;
  std::vector<FoundDevice> devices_;
  mutable Mutex mutex_;
  mutable Helpers helpers_ TUTTI_GUARDED_BY(mutex_);
};

}  // namespace tutti::platform
