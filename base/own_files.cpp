// SPDX-License-Identifier: Apache-2.0
#include "base/own_files.h"

#include <dlfcn.h>
#include <unistd.h>

#include <filesystem>
#include <initializer_list>

namespace tutti {

std::string own_binary() {
  std::error_code error;
  Dl_info info{};
  // For a program dli_fname is argv[0], which may be relative to a folder since left.
  if (dladdr(reinterpret_cast<const void*>(&own_binary), &info) && info.dli_fname &&
      info.dli_fname[0] == '/') {
    const auto path = std::filesystem::canonical(info.dli_fname, error);
    if (!error) return path.string();
  }
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::string() : program.string();
}

namespace {

/// The first of the places, relative to this binary's folder, where the file may be used so.
std::string find_in(std::initializer_list<const char*> places, const std::string& name, int use) {
  const std::filesystem::path folder = std::filesystem::path(own_binary()).parent_path();
  if (folder.empty()) return {};
  for (const char* place : places) {
    const auto path = (folder / place / name).lexically_normal();
    if (access(path.c_str(), use) == 0) return path.string();
  }
  return {};
}

}  // namespace

// From lib/ or bin/ of a build tree; from bin/, lib/tutti/ or lib/<triplet>/tutti/ of an installed
// one.
std::string find_own_program(const std::string& name) {
  return find_in(
      {"../libexec", "../libexec/tutti", "../../libexec/tutti", "../../../libexec/tutti"}, name,
      X_OK);
}

std::string find_own_data(const std::string& name) {
  return find_in({"../share/tutti", "../../share/tutti", "../../../share/tutti"}, name, R_OK);
}

}  // namespace tutti
