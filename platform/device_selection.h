// SPDX-License-Identifier: Apache-2.0
// Which devices take part, and in which order: the language of TUTTI_DEVICES. A pure function.
//
//   selection := item { "," item }
//   item      := ["-"] selector
//   selector  := INDEX                    the index that `tutti devices` shows
//              | TEXT                     devices whose name or platform name contains TEXT
//              | PLATFORM "/" DEVICE      devices whose two names contain the two texts
//
// Case does not matter, blanks around an item neither. Items with a minus sign exclude what they
// match, wherever they stand; the others say which devices take part, in the order of the items
// (and of the indices within an item); with exclusions only, all others do. A selector that matches
// nothing is a warning that names what there is. If nothing is left, all devices take part, with a
// warning.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tutti::platform {

struct SelectableDevice {
  std::string platform;
  std::string name;
  bool usable = true;
};

struct Selection {
  std::vector<size_t> devices;        // indices, in the order of use; usable ones only
  std::vector<std::string> warnings;  // sentences for a person
};

/// Whether TUTTI_ISOLATE has the device driven in a process of its own: "none", "all", or a list of
/// selectors as above, in which "nodes" stands for devices of other hosts, which always are.
bool isolates(std::string_view isolate, size_t index, const SelectableDevice& device);
/// What is wrong with TUTTI_ISOLATE, a sentence each: items that match no device.
std::vector<std::string> isolation_problems(std::string_view isolate,
                                            const std::vector<SelectableDevice>& devices);

Selection select_devices(std::string_view selection, const std::vector<SelectableDevice>& devices);

}  // namespace tutti::platform
