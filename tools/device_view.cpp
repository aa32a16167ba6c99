// SPDX-License-Identifier: Apache-2.0
#include "tools/device_view.h"

#include <CL/cl_ext.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <utility>

#include "base/lower_case.h"
#include "platform/create_backends.h"
#include "platform/device_answers.h"
#include "platform/identity.h"

namespace tutti::tools {

namespace {

constexpr cl_device_info kComputeCapabilityMajorNv = 0x4000;

using Value = std::optional<PropertyValue>;

Value number_value(double number) {
  return PropertyValue{fmt::format("{:.7g}", number), {}, number};
}

Value version_value(double version) {
  return PropertyValue{fmt::format("{:.1f}", version), {}, version};
}

Value truth_value(bool truth) { return PropertyValue{truth ? "yes" : "no", {}, {}}; }

Value list_value(std::vector<std::string> items) {
  PropertyValue value;
  for (const std::string& item : items) value.text += (value.text.empty() ? "" : " ") + item;
  value.items = std::move(items);
  return value;
}

/// 1.2 of "OpenCL 1.2 …" and "OpenCL C 1.2 …"; absent where there is none.
std::optional<double> version_in(const std::string& text) {
  const size_t digit = text.find_first_of("0123456789");
  double version = 0;
  if (digit == std::string::npos || std::sscanf(text.c_str() + digit, "%lf", &version) != 1) {
    return std::nullopt;
  }
  return version;
}

}  // namespace

/// Asks a view, by the functions that read what a real device answers.
struct PropertyReader {
  const std::string& name_of_platform;
  const std::string& vendor_of_platform;
  platform::DeviceFacts facts;

  Value text(cl_device_info what) const {
    return facts.info(what) ? Value(PropertyValue{platform::ask_string(facts, what), {}, {}})
                            : Value();
  }
  template <typename T>
  Value number(cl_device_info what, double unit = 1) const {
    const auto bytes = facts.info(what);
    if (!bytes || bytes->size() < sizeof(T)) return {};
    return number_value(static_cast<double>(platform::ask<T>(facts, what, T{})) / unit);
  }
  std::vector<std::string> extension_list() const {
    std::istringstream words(platform::ask_string(facts, CL_DEVICE_EXTENSIONS));
    std::vector<std::string> list;
    for (std::string word; words >> word;) list.push_back(word);
    return list;
  }
  Value has_extension(std::string_view name) const {
    const std::vector<std::string> list = extension_list();
    return truth_value(std::find(list.begin(), list.end(), name) != list.end());
  }
  Value platform_name() const { return PropertyValue{name_of_platform, {}, {}}; }
  Value platform_vendor() const { return PropertyValue{vendor_of_platform, {}, {}}; }
  Value type() const {
    const auto type = platform::ask<cl_device_type>(facts, CL_DEVICE_TYPE, 0);
    return PropertyValue{platform::device_type_name(type), {}, {}};
  }
  Value images() const {
    return truth_value(platform::ask<cl_bool>(facts, CL_DEVICE_IMAGE_SUPPORT, CL_FALSE) != 0);
  }
  Value vendor_id() const {
    const auto id = platform::ask<cl_uint>(facts, CL_DEVICE_VENDOR_ID, 0);
    return PropertyValue{fmt::format("{:#x}", id), {}, static_cast<double>(id)};
  }
  Value version(cl_device_info what) const {
    const auto version = version_in(platform::ask_string(facts, what));
    return version ? version_value(*version) : Value();
  }
  /// The highest that can be asked for; OpenCL 3.0 devices list them.
  Value language_version() const {
    Value highest = version(CL_DEVICE_OPENCL_C_VERSION);
    const auto bytes = facts.info(CL_DEVICE_OPENCL_C_ALL_VERSIONS);
    for (size_t at = 0; bytes && at + sizeof(cl_name_version) <= bytes->size();
         at += sizeof(cl_name_version)) {
      cl_name_version entry;
      std::memcpy(&entry, bytes->data() + at, sizeof entry);
      const double listed =
          CL_VERSION_MAJOR(entry.version) + CL_VERSION_MINOR(entry.version) / 10.0;
      if (!highest || listed > *highest->number) highest = version_value(listed);
    }
    return highest;
  }
  Value shared_virtual_memory() const {
    const auto bits =
        platform::ask<cl_device_svm_capabilities>(facts, CL_DEVICE_SVM_CAPABILITIES, 0);
    std::vector<std::string> kinds;
    if (bits & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) kinds.emplace_back("coarse-grain-buffer");
    if (bits & CL_DEVICE_SVM_FINE_GRAIN_BUFFER) kinds.emplace_back("fine-grain-buffer");
    if (bits & CL_DEVICE_SVM_FINE_GRAIN_SYSTEM) kinds.emplace_back("fine-grain-system");
    if (bits & CL_DEVICE_SVM_ATOMICS) kinds.emplace_back("atomics");
    return list_value(std::move(kinds));
  }
};

namespace {

constexpr double kKiB = 1024, kMiBytes = 1024 * 1024;

struct Property {
  std::string_view name;
  Value (*read)(const PropertyReader&);
};

using R = PropertyReader;
constexpr Property kProperties[] = {
    {"platform name", [](const R& r) { return r.platform_name(); }},
    {"platform vendor", [](const R& r) { return r.platform_vendor(); }},
    {"device name", [](const R& r) { return r.text(CL_DEVICE_NAME); }},
    {"device vendor", [](const R& r) { return r.text(CL_DEVICE_VENDOR); }},
    {"device vendor id", [](const R& r) { return r.vendor_id(); }},
    {"device type", [](const R& r) { return r.type(); }},
    {"device version", [](const R& r) { return r.text(CL_DEVICE_VERSION); }},
    {"driver version", [](const R& r) { return r.text(CL_DRIVER_VERSION); }},
    {"OpenCL version", [](const R& r) { return r.version(CL_DEVICE_VERSION); }},
    {"OpenCL C version", [](const R& r) { return r.language_version(); }},
    {"double precision", [](const R& r) { return r.has_extension("cl_khr_fp64"); }},
    {"half precision", [](const R& r) { return r.has_extension("cl_khr_fp16"); }},
    {"images", [](const R& r) { return r.images(); }},
    {"sub-groups", [](const R& r) { return r.number<cl_uint>(CL_DEVICE_MAX_NUM_SUB_GROUPS); }},
    {"shared virtual memory", [](const R& r) { return r.shared_virtual_memory(); }},
    {"intermediate language", [](const R& r) { return r.text(CL_DEVICE_IL_VERSION); }},
    {"compute units", [](const R& r) { return r.number<cl_uint>(CL_DEVICE_MAX_COMPUTE_UNITS); }},
    {"work-group size", [](const R& r) { return r.number<size_t>(CL_DEVICE_MAX_WORK_GROUP_SIZE); }},
    {"global memory in MiB",
     [](const R& r) { return r.number<cl_ulong>(CL_DEVICE_GLOBAL_MEM_SIZE, kMiBytes); }},
    {"largest buffer in MiB",
     [](const R& r) { return r.number<cl_ulong>(CL_DEVICE_MAX_MEM_ALLOC_SIZE, kMiBytes); }},
    {"local memory in KiB",
     [](const R& r) { return r.number<cl_ulong>(CL_DEVICE_LOCAL_MEM_SIZE, kKiB); }},
    {"constant memory in KiB",
     [](const R& r) { return r.number<cl_ulong>(CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE, kKiB); }},
    {"NVIDIA compute capability",
     [](const R& r) { return r.number<cl_uint>(kComputeCapabilityMajorNv); }},
    {"extensions", [](const R& r) { return list_value(r.extension_list()); }},
};

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

}  // namespace

DeviceView::DeviceView(std::string platform_name, std::string platform_vendor, Info info)
    : platform_name_(std::move(platform_name)),
      platform_vendor_(std::move(platform_vendor)),
      info_(std::move(info)) {}

DeviceView DeviceView::native(const platform::DeviceFacts& device) {
  return {device.traits.platform_name, device.traits.platform_vendor, device.info};
}

DeviceView DeviceView::shown(std::span<const platform::DeviceFacts> devices, size_t primary,
                             const platform::ShownAs& as) {
  platform::PlatformNames names = platform::platform_names(devices[primary], as.identity);
  return {std::move(names.name), std::move(names.vendor),
          [caps = platform::merge_capabilities(devices, primary, as),
           &real = devices[primary]](cl_device_info what) -> Result<std::vector<std::byte>> {
            if (const auto answer = caps.answers.find(what); answer != caps.answers.end()) {
              return answer->second;
            }
            for (const auto& [first, last] : caps.primary_queries) {
              if (first <= what && what <= last) return real.info(what);
            }
            return fail(CL_INVALID_VALUE);
          }};
}

std::optional<PropertyValue> DeviceView::property(std::string_view name) const {
  for (const Property& property : kProperties) {
    if (property.name == name)
      return property.read({platform_name_, platform_vendor_, {{}, info_}});
  }
  return std::nullopt;
}

std::vector<std::string_view> property_names() {
  std::vector<std::string_view> names;
  for (const Property& property : kProperties) names.push_back(property.name);
  return names;
}

std::string wanted(const ProfileCheck& check) {
  std::string text;
  const auto add = [&text](const std::string& part) {
    text += (text.empty() ? "" : " and ") + part;
  };
  const auto add_list = [&](std::string_view one, std::string_view several,
                            const std::vector<std::string>& list) {
    if (!list.empty()) add(fmt::format("{} {}", list.size() == 1 ? one : several, joined(list)));
  };
  add_list("has", "has one of", check.contains);
  add_list("begins with", "begins with one of", check.begins);
  add_list("has not", "has none of", check.lacks);
  if (check.at_least != 0) add(fmt::format("is at least {}", check.at_least));
  if (check.below != 0) add(fmt::format("is below {}", check.below));
  return text;
}

bool holds(const ProfileCheck& check, const std::optional<PropertyValue>& value) {
  if (!value) return check.contains.empty() && check.begins.empty() && check.at_least == 0;
  const auto cased = [&check](const std::string& text) {
    return check.ignore_case ? lower_case(text) : text;
  };
  const auto has = [&](const std::string& word) {
    if (!value->items) return cased(value->text).find(cased(word)) != std::string::npos;
    return std::any_of(value->items->begin(), value->items->end(),
                       [&](const std::string& item) { return cased(item) == cased(word); });
  };
  const auto begins = [&](const std::string& word) {
    return cased(value->text).starts_with(cased(word));
  };
  const auto any = [](const std::vector<std::string>& list, const auto& is) {
    return std::any_of(list.begin(), list.end(), is);
  };
  if (!check.contains.empty() && !any(check.contains, has)) return false;
  if (!check.begins.empty() && !any(check.begins, begins)) return false;
  if (any(check.lacks, has)) return false;
  const double number = value->number.value_or(0);
  return (check.at_least == 0 || number >= check.at_least) &&
         (check.below == 0 || number < check.below);
}

}  // namespace tutti::tools
