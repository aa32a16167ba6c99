// SPDX-License-Identifier: Apache-2.0
// Finds the vendors' OpenCL drivers: .icd files and libraries, never through an ICD loader (which
// would show us to ourselves). A driver is first queried in a process of its own, so that one that
// crashes takes nothing with it; that verdict is remembered in the cache folder, unless it may be
// another one next time (a hang, a probe that somebody ended). Libraries stay loaded until the
// process ends. discover_vendors() may be called from any thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/nodes.h"

namespace tutti::platform {

/// A vendor driver that was found; `handle` is from dlopen and null when it was left out.
struct VendorLibrary {
  std::string icd;      // the .icd file that names it; empty where the library itself was named
  std::string library;  // as named there
  std::string path;     // the file that was loaded, when known
  void* handle = nullptr;
  void* get_extension_function = nullptr;  // clGetExtensionFunctionAddress
  std::string reason;                      // why it was left out; empty if it was not
  bool apart = false;                      // it was not loaded here: helpers drive its devices

  bool ok() const { return handle != nullptr; }
};

struct DiscoveryOptions {
  std::string vendors;  // as TUTTI_VENDORS; empty: the system's folder
  std::string system_folder = "/etc/OpenCL/vendors";
  std::string cache_folder;      // empty: nothing is remembered
  std::string probe;             // the probe program; empty: drivers are not checked beforehand
  std::string isolate = "none";  // as TUTTI_ISOLATE
  std::string device_program;    // tutti-device, which drives devices in processes of their own
  bool in_helper = false;        // this is such a process
  std::string node;              // in one: the device is there (base/nodes.h); empty: here
  std::vector<Node> nodes;       // devices of other hosts, which such processes drive …
  std::string node_driver;       // … with this driver; empty: the first that can
  uint32_t node_deadline = 0;    // seconds that a call of theirs may take; 0: for ever
  int probe_seconds = 30;        // a driver that takes longer to answer hangs, as far as users see
};

/// `stays_apart`, where given, is asked of each driver that is safe, in order: it may leave it out,
/// with a reason, or say that it need not be loaded here.
using StaysApart = std::function<bool(VendorLibrary& library)>;
std::vector<VendorLibrary> discover_vendors(const DiscoveryOptions& options,
                                            const StaysApart& stays_apart = {});

/// What the probe says of a driver: "safe" (it may still have no device), or why it is not.
struct ProbeVerdict {
  bool safe = false;
  std::string reason;
  bool transient = false;  // another trial may end otherwise: it is never remembered
};

/// Checks the libraries, all at once; one verdict each, in order. Names as dlopen takes them.
std::vector<ProbeVerdict> probe_libraries(const std::vector<std::string>& libraries,
                                          const DiscoveryOptions& options);

}  // namespace tutti::platform
