// SPDX-License-Identifier: Apache-2.0
#include "kernel_compiler/compiler_client.h"

#include <dlfcn.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/config.h"
#include "base/own_files.h"
#include "kernel_compiler/compiler_api.h"
#include "kernel_compiler/summary_json.h"

namespace tutti::kernel_compiler {
namespace {

constexpr char kLibraryName[] = "libtutti-compiler.so";

/// Where to look. TUTTI_COMPILER names the file and excludes the other places.
std::vector<std::string> candidates() {
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

struct LoadedCompiler {
  const TuttiCompilerApi* api = nullptr;
  std::string path;
  std::string identity;
};

/// See expected_library(). Empty where the path does not say which file dlopen takes, or no such
/// file is there.
std::string identity_of(const std::string& path) {
  struct stat status {};
  if (path.find('/') == std::string::npos || stat(path.c_str(), &status) != 0) return {};
  return fmt::format("{}\n{}.{}\n{}.{:09} {}.{:09}\n{}\n", path, status.st_dev, status.st_ino,
                     status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec,
                     status.st_ctim.tv_nsec, status.st_size);
}

Result<LoadedCompiler> load() {
  std::string tried;
  for (const std::string& path : candidates()) {
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
      return LoadedCompiler{api, path, identity_of(path) == identity ? identity : std::string()};
    }
    dlclose(library);
    tried += std::string(tried.empty() ? "" : "; ") + path + ": of another version";
  }
  return fail(CL_COMPILER_NOT_AVAILABLE, "the kernel compiler cannot be loaded: " + tried);
}

/// Loaded once; a failure is remembered, too, so that a missing library costs one attempt.
const Result<LoadedCompiler>& compiler() {
  static const auto& loaded = *new Result<LoadedCompiler>(load());
  return loaded;
}

}  // namespace

Result<std::string> compiler_library() {
  const auto& loaded = compiler();
  if (!loaded) return tl::unexpected<Error>(loaded.error());
  return loaded->path;
}

std::string expected_library() {
  for (const std::string& path : candidates()) {
    if (std::string identity = identity_of(path); !identity.empty()) return identity;
  }
  return {};
}

const std::string& loaded_library() {
  static const auto& nothing = *new std::string;
  const auto& loaded = compiler();
  return loaded ? loaded->identity : nothing;
}

Result<std::string> compile_text(const std::string& request) {
  const auto& loaded = compiler();
  if (!loaded) {
    return tl::unexpected<Error>(loaded.error());
  }
  const TuttiCompilerApi* const api = loaded->api;
  const TuttiCompilerResult answer = api->compile(request.data(), request.size());
  if (answer.json == nullptr) {
    return fail(CL_OUT_OF_HOST_MEMORY, "the kernel compiler ran out of memory or threads");
  }
  std::string output(answer.json, answer.size);
  api->release(answer);
  return output;
}

Result<CompileOutput> read_answer(std::string_view answer) {
  auto output = decode_output(answer);
  if (!output) {
    output.error().code = CL_OUT_OF_RESOURCES;
  }
  return output;
}

Result<CompileOutput> compile(const CompileRequest& request) {
  TUTTI_ASSIGN(const std::string answer, compile_text(encode_request(request)));
  return read_answer(answer);
}

}  // namespace tutti::kernel_compiler
