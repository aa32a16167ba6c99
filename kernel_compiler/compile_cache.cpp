// SPDX-License-Identifier: Apache-2.0
#include "kernel_compiler/compile_cache.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/kept_file.h"
#include "base/log.h"
#include "kernel_compiler/compiler_client.h"
#include "kernel_compiler/file_state.h"
#include "kernel_compiler/summary_json.h"

namespace tutti::kernel_compiler {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostBytes = uint64_t{128} << 20;  // of a folder
constexpr size_t kMostOfOne = size_t{8} << 20;
constexpr unsigned kTrimOneIn = 16;  // folders are looked through once in so many files
constexpr time_t kDay = 86400;

uint64_t hash_of(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

/// A file holds: the format with the hash of all behind it, the key's size and the key (two may
/// share a name), the compiler's answer.
std::string head_of(std::string_view body) {
  return fmt::format("tutti-program {:016x} ", hash_of(body));
}

std::string file_text(std::string_view key, std::string_view answer) {
  const std::string body = fmt::format("{}\n{}{}", key.size(), key, answer);
  return head_of(body) + body;
}

/// The answer in a file; nothing where it is damaged, or of another key.
std::optional<std::string_view> answer_in(std::string_view text, std::string_view key) {
  static const size_t head = head_of({}).size();
  if (text.size() < head) return std::nullopt;
  std::string_view body = text.substr(head);
  if (text.substr(0, head) != head_of(body)) return std::nullopt;
  const std::string size = fmt::format("{}\n", key.size());
  if (!body.starts_with(size)) return std::nullopt;
  body.remove_prefix(size.size());
  if (!body.starts_with(key)) return std::nullopt;
  return body.substr(key.size());
}

bool still_holds(const FileLookup& lookup) {
  struct stat status {};
  if (stat(lookup.path.c_str(), &status) != 0) return lookup.state == kAbsent;
  if (S_ISDIR(status.st_mode)) return lookup.state == kFolder;
  if (lookup.state == kPresent) return true;
  const auto content = read_kept(lookup.path);
  return content ? state_of_content(*content) == lookup.state : lookup.state == kAbsent;
}

/// Files that are used are kept longest. Once a day is enough.
void note_use(const std::string& file) {
  struct stat status {};
  if (stat(file.c_str(), &status) != 0 || std::time(nullptr) - status.st_mtim.tv_sec < kDay) return;
  utimensat(AT_FDCWD, file.c_str(), nullptr, 0);
}

std::optional<CompileOutput> recall(const std::string& file, const std::string& key) {
  const auto text = read_kept(file);
  if (!text) return std::nullopt;
  const auto answer = answer_in(*text, key);
  if (!answer) return std::nullopt;
  auto output = decode_output(*answer);
  if (!output || !output->ok || !output->repeatable ||
      !std::all_of(output->files.begin(), output->files.end(), still_holds)) {
    return std::nullopt;
  }
  note_use(file);
  return std::move(*output);
}

void remember(const std::string& file, const std::string& key, const std::string& answer) {
  const std::string text = file_text(key, answer);
  if (text.size() > kMostOfOne) return;
  if (const Status kept = keep_file(file, text); !kept) {
    log(LogLevel::kDebug, "a program's analysis is not remembered: {}", kept.error().message);
    return;
  }
  if (hash_of(key) % kTrimOneIn == 0) {
    trim_kept_programs(fs::path(file).parent_path().string(), kMostBytes);
  }
}

}  // namespace

Result<CompileOutput> compile_or_recall(const CompileRequest& request, const std::string& folder) {
  const std::string library = folder.empty() ? std::string() : expected_library();
  if (library.empty()) return compile(request);
  const std::string text = encode_request(request);
  const std::string key = library + text;
  const std::string file = fmt::format("{}/{:016x}", folder, hash_of(key));
  if (auto known = recall(file, key)) {
    log(LogLevel::kDebug, "a program's analysis is recalled from {}", file);
    return std::move(*known);
  }
  TUTTI_ASSIGN(const std::string answer, compile_text(text));
  auto output = read_answer(answer);
  // The file may have been replaced by an update after it was loaded.
  const bool same = loaded_library() == library;
  if (output && output->ok && output->repeatable && same) remember(file, key, answer);
  return output;
}

void trim_kept_programs(const std::string& folder, uint64_t most_bytes) {
  struct Kept {
    fs::file_time_type used;
    uint64_t bytes;
    fs::path path;
  };
  std::vector<Kept> files;
  uint64_t bytes = 0;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;
    Kept kept{at->last_write_time(gone), at->file_size(gone), at->path()};
    if (gone) continue;
    bytes += kept.bytes;
    files.push_back(std::move(kept));
  }
  if (bytes <= most_bytes) return;
  std::sort(files.begin(), files.end(),
            [](const Kept& a, const Kept& b) { return a.used < b.used; });
  for (const Kept& kept : files) {
    if (bytes <= most_bytes / 4 * 3) break;  // room for a while
    std::error_code ignored;
    if (fs::remove(kept.path, ignored)) bytes -= kept.bytes;
  }
}

}  // namespace tutti::kernel_compiler
