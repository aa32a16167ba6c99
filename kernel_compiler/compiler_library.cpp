// SPDX-License-Identifier: Apache-2.0
#include "kernel_compiler/compiler_library.h"

#include <dlfcn.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/config.h"
#include "base/own_files.h"
#include "kernel_compiler/compiler_api.h"

namespace tutti::kernel_compiler {
namespace {

constexpr char kLibraryName[] = "libtutti-compiler.so";

const TuttiCompilerApi* the_api = nullptr;  // constant once load_compiler() has returned

/// Empty where the path does not say which file dlopen takes, or no such file is there.
std::string identity_of(const std::string& path) {
  struct stat status {};
  if (path.find('/') == std::string::npos || stat(path.c_str(), &status) != 0) return {};
  return fmt::format("{}\n{}.{}\n{}.{:09} {}.{:09}\n{}\n", path, status.st_dev, status.st_ino,
                     status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec,
                     status.st_ctim.tv_nsec, status.st_size);
}

Result<LoadedCompiler> load(const std::vector<std::string>& places) {
  std::string tried;
  for (const std::string& path : places) {
    // RTLD_LOCAL: its symbols (there is one) are for us alone. Not RTLD_DEEPBIND: the library
    // needs nothing from itself by name, since its LLVM is linked in with hidden symbols, and deep
    // binding would cut it off from an application's (or a sanitizer's) malloc. RTLD_NODELETE:
    // LLVM's static objects are not made to be unloaded.
    const std::string identity = identity_of(path);
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == nullptr) {
      const char* reason = dlerror();
      tried += std::string(tried.empty() ? "" : "; ") + (reason != nullptr ? reason : path.c_str());
      continue;
    }
    using Entry = const TuttiCompilerApi* (*)();
    const auto entry = reinterpret_cast<Entry>(dlsym(library, TUTTI_COMPILER_ENTRY));
    const TuttiCompilerApi* api = entry != nullptr ? entry() : nullptr;
    if (api != nullptr && api->version == 1) {
      the_api = api;
      return LoadedCompiler{path, identity_of(path) == identity ? identity : std::string()};
    }
    dlclose(library);
    tried += std::string(tried.empty() ? "" : "; ") + path + ": of another version";
  }
  return fail(CL_COMPILER_NOT_AVAILABLE, "the kernel compiler cannot be loaded: " + tried);
}

}  // namespace

std::vector<std::string> compiler_places() {
  if (const std::string& path = process_config().compiler.value; !path.empty()) return {path};
  // libtutti.so, a tool or a test. Never a place that depends on the working folder.
  const std::filesystem::path folder = std::filesystem::path(own_binary()).parent_path();
  if (folder.empty()) return {kLibraryName};
  // Beside the driver, or from bin/ of an installed tree or a build tree.
  std::vector<std::string> places;
  for (const char* place : {".", "../lib/tutti", "../lib"}) {
    places.push_back((folder / place / kLibraryName).lexically_normal().string());
  }
  return places;
}

std::string identity_of_first(const std::vector<std::string>& places) {
  for (const std::string& path : places) {
    if (std::string identity = identity_of(path); !identity.empty()) return identity;
  }
  return {};
}

const Result<LoadedCompiler>& load_compiler(const std::vector<std::string>& places) {
  // A failure is remembered, too, so that a missing library costs one attempt.
  static const auto& loaded = *new Result<LoadedCompiler>(load(places));
  return loaded;
}

HelperMessage compile_here(std::string_view request) {
  const TuttiCompilerResult answer = the_api->compile(request.data(), request.size());
  if (answer.json == nullptr) {
    return {HelperMessageKind::kTransient, "ran out of memory or threads"};
  }
  HelperMessage message{HelperMessageKind::kAnswer, std::string(answer.json, answer.size)};
  the_api->release(answer);
  return message;
}

}  // namespace tutti::kernel_compiler
