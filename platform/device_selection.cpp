// SPDX-License-Identifier: Apache-2.0
#include "platform/device_selection.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "base/lower_case.h"

namespace tutti::platform {
namespace {

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool matches(std::string_view selector, size_t index, const SelectableDevice& device) {
  size_t number = 0;
  const char* end = selector.data() + selector.size();
  if (const auto [rest, error] = std::from_chars(selector.data(), end, number); rest == end) {
    return error == std::errc{} && number == index;
  }
  if (contains_ignoring_case(device.name, selector) ||
      contains_ignoring_case(device.platform, selector)) {
    return true;
  }
  const size_t slash = selector.find('/');
  return slash != std::string_view::npos &&
         contains_ignoring_case(device.platform, trim(selector.substr(0, slash))) &&
         contains_ignoring_case(device.name, trim(selector.substr(slash + 1)));
}

/// Calls `visit` with each item of a comma list that is not empty.
template <typename Visit>
void for_items(std::string_view list, Visit visit) {
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    if (const std::string_view item = trim(list.substr(0, comma)); !item.empty()) visit(item);
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
}

/// Words of TUTTI_ISOLATE that name no device.
constexpr std::string_view kNone = "none", kAll = "all", kNodes = "nodes";
bool is_word(std::string_view item) { return item == kNone || item == kAll || item == kNodes; }

std::string list_of(const std::vector<SelectableDevice>& devices) {
  if (devices.empty()) return "none (tutti doctor says why)";
  std::string list;
  for (size_t i = 0; i < devices.size(); ++i) {
    if (i) list += ", ";
    list += fmt::format("{} = {} / {}", i, devices[i].platform, devices[i].name);
  }
  return list;
}

}  // namespace

bool isolates(std::string_view isolate, size_t index, const SelectableDevice& device) {
  bool isolated = false;
  for_items(isolate, [&](std::string_view item) {
    isolated |= item == kAll || (!is_word(item) && matches(item, index, device));
  });
  return isolated;
}

std::vector<std::string> isolation_problems(std::string_view isolate,
                                            const std::vector<SelectableDevice>& devices) {
  std::vector<std::string> problems;
  for_items(isolate, [&](std::string_view item) {
    bool matched = is_word(item);
    for (size_t i = 0; i < devices.size(); ++i) matched |= matches(item, i, devices[i]);
    if (matched) return;
    problems.push_back(
        fmt::format("TUTTI_ISOLATE: {} matches no device; there are: {}", item, list_of(devices)));
  });
  return problems;
}

Selection select_devices(std::string_view selection, const std::vector<SelectableDevice>& devices) {
  Selection result;
  const auto add = [&result](size_t index) {
    if (std::find(result.devices.begin(), result.devices.end(), index) == result.devices.end()) {
      result.devices.push_back(index);
    }
  };
  const auto add_all = [&] {
    for (size_t i = 0; i < devices.size(); ++i) {
      if (devices[i].usable) add(i);
    }
  };
  std::vector<bool> excluded(devices.size());
  bool any_included = false;
  bool any_item = false;
  for_items(selection, [&](std::string_view item) {
    any_item = true;
    const bool exclude = item.front() == '-';
    const std::string_view selector = exclude ? trim(item.substr(1)) : item;
    if (!exclude) any_included = true;
    bool matched = false;
    bool usable = false;
    for (size_t i = 0; i < devices.size(); ++i) {
      if (selector.empty() || !matches(selector, i, devices[i])) continue;
      matched = true;
      usable |= devices[i].usable;
      if (exclude) {
        excluded[i] = true;
      } else if (devices[i].usable) {
        add(i);
      }
    }
    if (!matched) {
      result.warnings.push_back(fmt::format("TUTTI_DEVICES: {} matches no device; there are: {}",
                                            item, list_of(devices)));
    } else if (!exclude && !usable) {
      result.warnings.push_back(
          fmt::format("TUTTI_DEVICES: {} matches only devices that cannot be used", item));
    }
  });
  if (!any_included) add_all();
  std::erase_if(result.devices, [&](size_t index) { return excluded[index]; });
  if (result.devices.empty() && any_item) {
    add_all();
    if (!result.devices.empty()) {
      result.warnings.push_back(fmt::format("TUTTI_DEVICES={} leaves no device; all are used: {}",
                                            selection, list_of(devices)));
    }
  }
  return result;
}

}  // namespace tutti::platform
