// SPDX-License-Identifier: Apache-2.0
#include "base/profiles.h"

#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <filesystem>
#include <new>
#include <optional>

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include "base/lower_case.h"
#include "base/memory_reserve.h"
#include "base/own_files.h"
#include "base/safe_file.h"

namespace tutti {
namespace {

std::string file_name(std::string_view path) {
  return std::string(path.substr(path.find_last_of('/') + 1));
}

/// Reads one table key by key; what is left over or of another type is an error.
class TableReader {
 public:
  TableReader(const std::string& path, const toml::table& table) : path_(path), table_(table) {}

  void text(std::string_view key, std::string& value) {
    if (const toml::node* node = take(key)) {
      if (const auto* text = node->as_string()) {
        value = text->get();
      } else {
        complain(*node, key, "is a text");
      }
    }
  }
  void texts(std::string_view key, std::vector<std::string>& values) {
    const toml::node* node = take(key);
    if (!node) return;
    const toml::array* list = node->as_array();
    if (!list) return complain(*node, key, "is a list of texts");
    for (const toml::node& item : *list) {
      const auto* text = item.as_string();
      if (!text) return complain(item, key, "is a list of texts");
      values.push_back(text->get());
    }
  }
  void number(std::string_view key, double& value) {
    if (const toml::node* node = take(key)) {
      if (const auto number = node->value<double>(); number && node->is_number()) {
        value = *number;
      } else {
        complain(*node, key, "is a number");
      }
    }
  }
  void truth(std::string_view key, bool& value) {
    if (const toml::node* node = take(key)) {
      if (const auto* truth = node->as_boolean()) {
        value = truth->get();
      } else {
        complain(*node, key, "is true or false");
      }
    }
  }
  /// Null where there is none, or something else.
  const toml::table* table(std::string_view key) {
    const toml::node* node = take(key);
    if (node && !node->is_table()) complain(*node, key, "is a table");
    return node ? node->as_table() : nullptr;
  }
  /// `read` is called with each of the tables in a list.
  template <typename Read>
  void tables(std::string_view key, Read&& read) {
    const toml::node* node = take(key);
    if (!node) return;
    if (!node->is_array_of_tables()) return complain(*node, key, "is a list of tables");
    for (const toml::node& item : *node->as_array()) read(*item.as_table());
  }
  /// One that must be there.
  void wants(std::string_view key, const std::string& value) {
    if (value.empty()) complain(table_, key, "is missing");
  }
  /// The first thing that is wrong; empty: nothing.
  std::string problem() {
    for (const auto& [key, node] : table_) {
      if (std::find(taken_.begin(), taken_.end(), key.str()) == taken_.end()) {
        complain(node, key.str(), "is not known here");
      }
    }
    return problem_;
  }

 private:
  const toml::node* take(std::string_view key) {
    taken_.emplace_back(key);
    return table_.get(key);
  }
  void complain(const toml::node& node, std::string_view key, std::string_view what) {
    if (!problem_.empty()) return;
    problem_ = fmt::format("{}:{}: {} {}", path_, node.source().begin.line, key, what);
  }

  const std::string& path_;
  const toml::table& table_;
  std::vector<std::string> taken_;
  std::string problem_;
};

Result<ProfileCheck> read_check(const std::string& path, const toml::table& table) {
  TableReader reader(path, table);
  ProfileCheck check;
  reader.text("property", check.property);
  reader.texts("contains", check.contains);
  reader.texts("begins", check.begins);
  reader.texts("lacks", check.lacks);
  reader.number("at_least", check.at_least);
  reader.number("below", check.below);
  reader.truth("ignore_case", check.ignore_case);
  reader.truth("refuses", check.refuses);
  reader.text("otherwise", check.otherwise);
  reader.text("help", check.help);
  reader.text("source", check.source);
  reader.wants("property", check.property);
  reader.wants("otherwise", check.otherwise);
  reader.wants("source", check.source);
  if (std::string problem = reader.problem(); !problem.empty()) {
    return fail(CL_INVALID_VALUE, std::move(problem));
  }
  return check;
}

Result<Profile> read_profile(const std::string& path, const toml::table& table) {
  TableReader reader(path, table);
  Profile profile;
  reader.text("program", profile.program);
  reader.texts("executables", profile.executables);
  reader.texts("libraries", profile.libraries);
  reader.wants("program", profile.program);
  std::string problem;
  if (const toml::table* settings = reader.table("settings")) {
    TableReader values(path, *settings);
    for (const auto& [key, node] : *settings) {
      values.text(key.str(), profile.settings.emplace_back(key.str(), "").second);
    }
    problem = values.problem();
  }
  reader.tables("check", [&](const toml::table& entry) {
    auto check = read_check(path, entry);
    if (check) {
      profile.checks.push_back(std::move(*check));
    } else if (problem.empty()) {
      problem = check.error().message;
    }
  });
  if (problem.empty()) problem = reader.problem();
  if (!problem.empty()) return fail(CL_INVALID_VALUE, std::move(problem));
  return profile;
}

/// Empty where there is no such file.
Result<std::string> content_of(const std::string& path) {
  std::error_code error;
  if (path.empty() || !std::filesystem::exists(path, error)) return std::string();
  // Settings may name libraries that are loaded; but whoever can write it can write the driver
  // beside it.
  auto content = read_file(path, {kMiB, Owner::kAnybody});
  if (!content) return fail(content.error().code, path + ": " + content.error().message);
  return content;
}

Result<std::vector<Profile>> parse_profiles(const std::string& path, const std::string& content) {
  std::vector<Profile> profiles;
  const MemoryEnsured memory;  // toml++ would end the process
  const toml::parse_result parsed = toml::parse(content, path);
  if (!parsed) {
    return fail(CL_INVALID_VALUE, fmt::format("{}:{}: {}", path, parsed.error().source().begin.line,
                                              parsed.error().description()));
  }
  TableReader reader(path, parsed.table());
  std::string problem;
  reader.tables("profile", [&](const toml::table& entry) {
    auto profile = read_profile(path, entry);
    if (profile) {
      profiles.push_back(std::move(*profile));
    } else if (problem.empty()) {
      problem = profile.error().message;
    }
  });
  if (problem.empty()) problem = reader.problem();
  if (!problem.empty()) return fail(CL_INVALID_VALUE, std::move(problem));
  return profiles;
}

/// In quotation marks, as names stand there.
bool names(const std::string& content, const std::string& name) {
  return content.find('"' + name + '"') != std::string::npos;
}

}  // namespace

ProgramNames ProgramNames::of_process() {
  std::error_code error;
  const auto executable = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error || executable == own_binary()) return {};
  ProgramNames names{executable.filename().string(), {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* list) {
        try {  // what calls this is C
          if (info->dlpi_name && info->dlpi_name[0] != '\0') {
            const std::string name = file_name(info->dlpi_name);
            static_cast<std::vector<std::string>*>(list)->push_back(
                name.substr(0, name.find(".so")));
          }
          return 0;
        } catch (const std::bad_alloc&) {
          return 1;
        }
      },
      &names.libraries);
  return names;
}

std::string profiles_file() { return find_own_data("profiles.toml"); }

Result<std::vector<Profile>> read_profiles(const std::string& path) {
  TUTTI_ASSIGN(const std::string content, content_of(path));
  return parse_profiles(path, content);
}

const Profile* profile_of(const std::vector<Profile>& profiles, const ProgramNames& program) {
  for (const Profile& profile : profiles) {
    const auto& known = profile.executables;
    if (std::find(known.begin(), known.end(), program.executable) != known.end()) return &profile;
    for (const std::string& library : profile.libraries) {
      const auto& loaded = program.libraries;
      if (std::find(loaded.begin(), loaded.end(), library) != loaded.end()) return &profile;
    }
  }
  return nullptr;
}

Result<std::optional<Profile>> read_profile_of(const std::string& path,
                                               const ProgramNames& program) {
  TUTTI_ASSIGN(const std::string content, content_of(path));
  if (!names(content, program.executable) &&
      std::none_of(program.libraries.begin(), program.libraries.end(),
                   [&content](const std::string& library) { return names(content, library); })) {
    return std::optional<Profile>();
  }
  TUTTI_ASSIGN(const std::vector<Profile> profiles, parse_profiles(path, content));
  const Profile* profile = profile_of(profiles, program);
  return profile ? std::optional(*profile) : std::nullopt;
}

const Profile* profile_named(const std::vector<Profile>& profiles, std::string_view name) {
  const std::string executable = file_name(name);
  const std::string wanted = lower_case(executable);
  const Profile* found = nullptr;
  for (const Profile& profile : profiles) {
    if (lower_case(profile.program) == wanted) return &profile;
    const auto same = [&wanted](const std::string& known) { return lower_case(known) == wanted; };
    if (!found && std::any_of(profile.executables.begin(), profile.executables.end(), same)) {
      found = &profile;
    }
  }
  return found;
}

}  // namespace tutti
