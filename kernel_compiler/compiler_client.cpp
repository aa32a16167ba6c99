// SPDX-License-Identifier: Apache-2.0
#include "kernel_compiler/compiler_client.h"

#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <climits>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/config.h"
#include "base/helper_process.h"
#include "base/log.h"
#include "base/own_files.h"
#include "base/thread_annotations.h"
#include "kernel_compiler/compiler_library.h"
#include "kernel_compiler/summary_json.h"

namespace tutti::kernel_compiler {
namespace {

struct CompilerHelper {
  std::unique_ptr<HelperProcess> process;
  std::string identity;  // of the library, before it was loaded
};

class Client {
 public:
  /// A helper that waits, of this library.
  std::optional<CompilerHelper> take_idle(const std::string& identity) {
    const MutexLock lock(mutex_);
    while (!idle_.empty()) {
      CompilerHelper helper = std::move(idle_.back());
      idle_.pop_back();
      if (helper.identity == identity && helper.process->alive()) return helper;
    }
    return std::nullopt;
  }
  void give_back(CompilerHelper helper) {
    const MutexLock lock(mutex_);
    idle_.push_back(std::move(helper));
  }
  /// Why a program is not analysed, by the hash of the request.
  std::optional<HelperMessage> known_failure(uint64_t key) {
    const MutexLock lock(mutex_);
    const auto found = failures_.find(key);
    return found == failures_.end() ? std::nullopt : std::optional(found->second);
  }
  void note_failure(uint64_t key, const HelperMessage& failure) {
    const MutexLock lock(mutex_);
    failures_.emplace(key, failure);
  }

 private:
  Mutex mutex_;
  std::vector<CompilerHelper> idle_ TUTTI_GUARDED_BY(mutex_);
  std::map<uint64_t, HelperMessage> failures_ TUTTI_GUARDED_BY(mutex_);
};

Client& client() {
  static auto* made = new Client;  // never destroyed: a build may go on while the process exits
  return *made;
}

/// Null where compilers are to work here, or no helper can be started.
std::unique_ptr<HelperProcess> start_helper(const std::vector<std::string>& places) {
  const Config& config = process_config();
  if (config.builds.value == BuildPlace::kInside) return nullptr;
  const std::string program = find_own_program(kBuilderProgram);
  if (program.empty()) {
    log(LogLevel::kInfo, "{} is missing: the kernel compiler works in the application",
        kBuilderProgram);
    return nullptr;
  }
  std::vector<std::string> arguments{"compiler"};
  arguments.insert(arguments.end(), places.begin(), places.end());
  auto started = HelperProcess::start(program, std::move(arguments),
                                      {config.build_seconds.value, config.build_memory.value});
  if (started) return std::move(*started);
  log(LogLevel::kInfo, "the kernel compiler works in the application: {}", started.error().message);
  return nullptr;
}

std::string working_folder() {
  std::string folder(PATH_MAX, '\0');
  if (getcwd(folder.data(), folder.size()) == nullptr) return {};
  folder.resize(folder.find('\0'));
  return folder;
}

/// The request as text, and what became of it.
Result<HelperMessage> ask(const std::string& request, std::string& library) {
  const std::vector<std::string> places = compiler_places();
  const std::string identity = identity_of_first(places);
  std::optional<CompilerHelper> helper = client().take_idle(identity);
  // Relative paths are the application's, which may have moved since the helper was started.
  std::string text = working_folder();
  text += '\0';
  text += request;
  for (bool kept = helper.has_value();; kept = false) {
    if (!kept) {
      auto started = start_helper(places);
      if (started == nullptr) {
        const auto& loaded = load_compiler(places);
        if (!loaded) return tl::unexpected<Error>(loaded.error());
        library = loaded->identity;
        return compile_here(request);
      }
      const HelperMessage& greeting = started->greeting();
      if (greeting.kind != HelperMessageKind::kAnswer) {
        return fail(CL_COMPILER_NOT_AVAILABLE, greeting.text);
      }
      helper = CompilerHelper{std::move(started), identity};
    }
    library = identity;
    HelperMessage answer = helper->process->ask(text);
    // It may have ended of itself a moment ago.
    if (kept && answer.kind == HelperMessageKind::kGone) continue;
    if (answer.kind == HelperMessageKind::kAnswer) client().give_back(std::move(*helper));
    return answer;
  }
}

/// The output, or why there is none, in words that follow "the kernel compiler".
Result<CompileOutput> outcome_of(Result<HelperMessage> answer, HelperMessage& failure) {
  if (!answer) return tl::unexpected<Error>(answer.error());
  if (answer->kind != HelperMessageKind::kAnswer) {
    failure = std::move(*answer);
    return CompileOutput{};
  }
  auto output = decode_output(answer->text);
  if (!output) {
    output.error().code = CL_OUT_OF_RESOURCES;
  } else if (!output->failure.empty()) {
    // For want of memory, as a rule.
    failure = {HelperMessageKind::kTransient, "failed: " + output->failure};
  }
  return output;
}

Result<CompileOutput> compile_unanalysed(CompileRequest request, const HelperMessage& failure,
                                         std::string& library) {
  request.not_analysed = "the kernel compiler " + failure.text;
  HelperMessage again;
  TUTTI_ASSIGN(CompileOutput output, outcome_of(ask(encode_request(request), library), again));
  if (!again.text.empty()) {
    output = {};
    output.log = "error: the kernel compiler " + again.text + "\n";
  }
  if (failure.kind != HelperMessageKind::kFailed) output.repeatable = false;
  return output;
}

}  // namespace

Result<CompileOutput> compile(const CompileRequest& request, std::string* library) {
  const std::string text = encode_request(request);
  const uint64_t key = XXH3_64bits(text.data(), text.size());
  std::string used;
  std::string& identity = library != nullptr ? *library : used;
  if (const auto known = client().known_failure(key))
    return compile_unanalysed(request, *known, identity);
  HelperMessage failure;
  TUTTI_ASSIGN(CompileOutput output, outcome_of(ask(text, identity), failure));
  if (failure.text.empty()) return output;
  log(LogLevel::kWarning,
      "the kernel compiler {}: a program is compiled without analysis, and its kernels are not "
      "split",
      failure.text);
  client().note_failure(key, failure);
  return compile_unanalysed(request, failure, identity);
}

Result<std::string> compiler_library() {
  const std::vector<std::string> places = compiler_places();
  if (const auto helper = start_helper(places)) {
    const HelperMessage& greeting = helper->greeting();
    if (greeting.kind == HelperMessageKind::kAnswer) return greeting.text;
    return fail(CL_COMPILER_NOT_AVAILABLE, greeting.text);
  }
  const auto& loaded = load_compiler(places);
  if (!loaded) return tl::unexpected<Error>(loaded.error());
  return loaded->path;
}

std::string expected_library() { return identity_of_first(compiler_places()); }

}  // namespace tutti::kernel_compiler
