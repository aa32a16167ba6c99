// SPDX-License-Identifier: Apache-2.0
#include "kernel_compiler/compile_cache.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <string_view>
#include <utility>
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

constexpr uint64_t kMostBytes = uint64_t{128} << 20;  // of a folder
constexpr size_t kMostOfOne = size_t{8} << 20;
static_assert(kMostOfOne <= kMostKeptBytes);
constexpr uint64_t kMostOfSource = 64 * kMiB;  // a larger header's program is analysed anew
constexpr unsigned kTrimOneIn = 16;            // folders are looked through once in so many files
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
  const auto content = read_file(lookup.path, {.most_bytes = kMostOfSource});
  return content ? state_of_content(*content) == lookup.state : lookup.state == kAbsent;
}

/// Files that are used are kept longest. Once a day is enough.
void note_use(const Descriptor& file) {
  struct stat status {};
  if (fstat(file.get(), &status) != 0) return;
  if (std::time(nullptr) - status.st_mtim.tv_sec >= kDay) futimens(file.get(), nullptr);
}

std::optional<CompileOutput> recall(const std::string& folder, const std::string& name,
                                    const std::string& key) {
  const auto own = OwnFolder::open(folder, OwnFolder::Missing::kFails);
  if (!own) return std::nullopt;
  const auto file = own->open_file(name, kMostOfOne);
  if (!file) return std::nullopt;
  const auto text = read_rest(*file, kMostOfOne);
  const auto answer = text ? answer_in(*text, key) : std::nullopt;
  if (!answer) return std::nullopt;
  auto output = decode_output(*answer);
  if (!output || !output->ok || !output->repeatable ||
      !std::all_of(output->files.begin(), output->files.end(), still_holds)) {
    return std::nullopt;
  }
  note_use(*file);
  return std::move(*output);
}

void remember(const std::string& folder, const std::string& name, const std::string& key,
              const std::string& answer) {
  const std::string text = file_text(key, answer);
  if (text.size() > kMostOfOne) return;
  if (const Status kept = keep_file(folder + "/" + name, text); !kept) {
    log(LogLevel::kDebug, "a program's analysis is not remembered: {}", kept.error().message);
    return;
  }
  if (hash_of(key) % kTrimOneIn == 0) trim_kept_programs(folder, kMostBytes);
}

}  // namespace

Result<CompileOutput> compile_or_recall(const CompileRequest& request, const std::string& folder) {
  const std::string library = folder.empty() ? std::string() : expected_library();
  if (library.empty()) return compile(request);
  const std::string text = encode_request(request);
  const std::string key = library + text;
  const std::string name = fmt::format("{:016x}", hash_of(key));
  if (auto known = recall(folder, name, key)) {
    log(LogLevel::kDebug, "a program's analysis is recalled from {}/{}", folder, name);
    return std::move(*known);
  }
  std::string used;
  TUTTI_ASSIGN(CompileOutput output, compile(request, &used));
  // The file may have been replaced by an update, before it was loaded or after.
  const bool same = used == library && expected_library() == library;
  if (output.ok && output.repeatable && same) remember(folder, name, key, encode_output(output));
  return output;
}

void trim_kept_programs(const std::string& folder, uint64_t most_bytes) {
  constexpr size_t kMostFiles = 100000;
  struct Kept {
    std::pair<time_t, long> used;
    uint64_t bytes;
    std::string name;
  };
  const auto own = OwnFolder::open(folder, OwnFolder::Missing::kFails);
  if (!own) return;
  std::vector<Kept> files;
  uint64_t bytes = 0;
  for (std::string& name : own->names(kMostFiles)) {
    struct stat status {};
    if (fstatat(own->descriptor(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    const auto size = static_cast<uint64_t>(status.st_size);
    bytes += size;
    files.push_back({{status.st_mtim.tv_sec, status.st_mtim.tv_nsec}, size, std::move(name)});
  }
  if (bytes <= most_bytes) return;
  std::sort(files.begin(), files.end(),
            [](const Kept& a, const Kept& b) { return a.used < b.used; });
  for (const Kept& kept : files) {
    if (bytes <= most_bytes / 4 * 3) break;  // room for a while
    own->remove(kept.name);
    bytes -= kept.bytes;
  }
}

}  // namespace tutti::kernel_compiler
