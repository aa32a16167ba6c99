// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "platform/platform_object.h"
#include "tools/device_view.h"

namespace tutti::tools {
namespace {

using platform::ShownAs;

std::string text_of(const std::optional<PropertyValue>& value) {
  return !value ? "not answered" : value->text.empty() ? "none" : value->text;
}

/// Settings that a user could make, and the device that follows.
struct Remedy {
  std::string settings;
  size_t primary = 0;
  ShownAs as;
};

/// Those that change least first.
std::vector<Remedy> remedies(const JudgedDevices& judged, const ShownAs& now) {
  std::vector<Remedy> list;
  const auto add = [&](size_t primary, const std::string& first) {
    ShownAs as = now;
    as.identity = IdentityChoice::kPrimary;
    list.push_back({first + "TUTTI_IDENTITY=primary", primary, as});
    as = now;
    as.type = DeviceTypeChoice::kGpu;
    list.push_back({first + "TUTTI_DEVICE_TYPE=gpu", primary, as});
  };
  add(judged.primary, "");
  for (size_t i = 0; i < judged.devices.size(); ++i) {
    if (i == judged.primary) continue;
    const std::string name = fmt::format("TUTTI_PRIMARY={}", judged.devices[i].traits.index);
    list.push_back({name, i, now});
    add(i, name + " ");
  }
  return list;
}

std::string fix_of(const ProfileCheck& check, bool primary_holds, const JudgedDevices& judged,
                   const std::vector<Remedy>& known) {
  std::vector<std::string> ways;
  for (const Remedy& remedy : known) {
    const DeviceView view = DeviceView::shown(judged.devices, remedy.primary, remedy.as);
    if (!holds(check, view.property(check.property))) continue;
    ways.push_back("set " + remedy.settings);
    break;
  }
  if (!check.help.empty()) ways.push_back(check.help);
  if (ways.empty() && primary_holds) {
    return "run the program on the primary's own driver: Tutti does not offer this yet";
  }
  std::string text;
  for (const std::string& way : ways) text += (text.empty() ? "" : ", or: ") + way;
  return text;
}

std::vector<ProfileSetting> settings_of(const Profile& profile, const Config& config) {
  std::vector<ProfileSetting> settings;
  const auto table = option_table();
  const std::vector<OptionText> texts = option_texts(config);
  for (const auto& [key, value] : profile.settings) {
    for (size_t i = 0; i < table.size(); ++i) {
      if (table[i].key != key) continue;
      const bool own = texts[i].origin == "the profile of " + profile.program;
      settings.push_back({key, value, own ? std::string() : texts[i].value, texts[i].origin});
    }
  }
  return settings;
}

}  // namespace

bool ProgramReport::accepted() const {
  return std::none_of(checks.begin(), checks.end(), [](const JudgedCheck& judged) {
    return judged.check.refuses && !judged.holds;
  });
}

ProgramReport judge_program(const std::string& program, const Profile* profile,
                            const JudgedDevices& judged) {
  const ShownAs now{judged.config.device_type.value, judged.config.identity.value,
                    std::string(platform::driver_version())};
  const DeviceView shown = DeviceView::shown(judged.devices, judged.primary, now);
  const DeviceView native = DeviceView::native(judged.devices[judged.primary]);
  ProgramReport report;
  report.program = profile ? profile->program : program;
  report.known = profile != nullptr;
  for (const std::string_view name : property_names()) {
    const auto value = shown.property(name), primary_value = native.property(name);
    if (!value && !primary_value) continue;  // of another vendor's devices
    report.properties.push_back({std::string(name), text_of(value), text_of(primary_value)});
  }
  if (!profile) return report;
  report.settings = settings_of(*profile, judged.config);
  const std::vector<Remedy> known = remedies(judged, now);
  for (const ProfileCheck& check : profile->checks) {
    const auto value = shown.property(check.property);
    const auto primary_value = native.property(check.property);
    JudgedCheck entry;
    entry.check = check;
    entry.holds = holds(check, value);
    entry.primary_holds = holds(check, primary_value);
    entry.answered = value.has_value();
    entry.value = text_of(value);
    entry.primary_value = text_of(primary_value);
    if (!entry.holds) entry.fix = fix_of(check, entry.primary_holds, judged, known);
    report.checks.push_back(std::move(entry));
  }
  return report;
}

}  // namespace tutti::tools
