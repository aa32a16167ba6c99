// SPDX-License-Identifier: Apache-2.0
// Damage of what is kept on disk for later runs; and what is no file of the user's at all in the
// place of everything that is read.
#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "record/files.h"
#include "world.h"

namespace tutti::damage {

namespace fs = std::filesystem;

void make_pipe(const std::string& path) { (void)!mkfifo(path.c_str(), 0600); }

namespace {

constexpr uintmax_t kMostGood = 100 << 20;  // no good file is larger

std::string copied_cache(Case& made) {
  const std::string cache = made.folder + "/cache";
  fs::copy(made.good.cache(), cache, fs::copy_options::recursive);
  return cache;
}

// ---- the model ----------------------------------------------------------------------------------

/// One column of some rows holds what no program has written.
void damage_rows(Random& random, const std::string& file) {
  const char* const columns[] = {"n",       "x",     "t",    "xt",     "xx",     "tt",
                                 "largest", "speed", "name", "device", "updated"};
  const char* const values[] = {"-1",
                                "1e308",
                                "-1e308",
                                "9e999",
                                "-9e999",
                                "NULL",
                                "0",
                                "x'00ff1b5b324a'",
                                "char(27) || '[2J' || char(155)",
                                "1e-300",
                                "zeroblob(5000000)",
                                "9223372036854775807"};
  sqlite3* opened = nullptr;
  sqlite3_open(file.c_str(), &opened);
  const std::unique_ptr<sqlite3, int (*)(sqlite3*)> database(opened, sqlite3_close);
  for (uint64_t times = 1 + random.below(6); times > 0; --times) {
    const std::string change = fmt::format(
        "UPDATE OR REPLACE fits SET {} = {} WHERE abs(random()) % 2 = 0",
        columns[random.below(std::size(columns))], values[random.below(std::size(values))]);
    sqlite3_exec(database.get(), change.c_str(), nullptr, nullptr, nullptr);
  }
  const char* const more[] = {
      "CREATE TRIGGER t AFTER UPDATE ON fits BEGIN DELETE FROM fits; END",
      "DROP TABLE fits",
      "ALTER TABLE fits RENAME TO other",
      "DROP TABLE fits; CREATE VIEW fits AS SELECT 1 AS kernel, 'd' AS device",
      "PRAGMA user_version = 7",
      "CREATE TABLE power (device TEXT, updated REAL)"};
  if (random.one_in(3)) {
    sqlite3_exec(database.get(), more[random.below(std::size(more))], nullptr, nullptr, nullptr);
  }
}

void model(Case& made) {
  const std::string cache = copied_cache(made), file = cache + "/model.db";
  if (made.random.one_in(2)) {
    damage_rows(made.random, file);
  } else {
    std::string bytes = content_of(file);
    damage_bytes(made.random, bytes);
    write_file(file, bytes);
  }
  made.tutti({"model", "show"}, {{"TUTTI_CACHE", cache}});
  made.tutti({"model", "show", "--json"}, {{"TUTTI_CACHE", cache}});
  if (made.number % 4 == 0) {
    made.client({{"TUTTI_CACHE", cache}, {"TUTTI_MODEL", "disk"}}, true);
  }
}

// ---- programs -----------------------------------------------------------------------------------

/// As the driver writes it: "tutti-program HASH BODY".
std::string mended(const std::string& text) {
  constexpr size_t kHead = 31;
  if (text.size() < kHead) return text;
  const std::string body = text.substr(kHead);
  return fmt::format("tutti-program {:016x} {}", XXH3_64bits(body.data(), body.size()), body);
}

/// Another number in the summary: what a kernel does, not its text, which would be another kernel.
void damage_summary(Random& random, std::string& answer) {
  const size_t begin = answer.find("\"summary\":"), end = answer.find("\"units\":");
  if (begin == std::string::npos || end == std::string::npos || begin >= end) return;
  const size_t digit = answer.find_first_of("0123456789", begin + random.below(end - begin));
  if (digit >= end) return;
  const size_t last = answer.find_first_not_of("0123456789", digit);
  answer.replace(digit, last - digit, std::to_string(odd_number(random, 1)));
}

void programs(Case& made) {
  Random& random = made.random;
  const std::string cache = copied_cache(made);
  const bool run = random.one_in(3);
  for (const std::string& file : files_of(cache + "/programs")) {
    const std::string text = content_of(file);
    // Behind the request, which would not be found again.
    const size_t at = text.rfind("{\"analysis_steps");
    if (at == std::string::npos) continue;
    std::string answer = text.substr(at);
    for (uint64_t times = 1 + random.below(4); times > 0; --times) {
      if (run || random.one_in(2)) {
        damage_summary(random, answer);
      } else {
        damage_bytes(random, answer);
      }
    }
    write_file(file, mended(text.substr(0, at) + answer));
    write_file(made.folder + "/answer", answer);
    if (!run) made.self({"--answer", made.folder + "/answer"});
  }
  // What a right checksum vouches for is believed: only crashes and hangs are wrong.
  if (run) made.client({{"TUTTI_CACHE", cache}, {"TUTTI_SPLIT", "force"}}, false);
}

// ---- verdicts -----------------------------------------------------------------------------------

void verdicts(Case& made) {
  const std::string cache = copied_cache(made);
  for (const std::string& file : files_of(cache + "/probe")) {
    std::string text = content_of(file);
    const size_t safe = text.find("\nsafe\n");
    if (made.random.one_in(2) && safe != std::string::npos) {
      text.replace(safe + 1, 4, odd_text(made.random));
    } else {
      damage_bytes(made.random, text);
    }
    write_file(file, text);
  }
  made.tutti({"devices"}, {{"TUTTI_CACHE", cache}});
  if (made.number % 3 == 0) made.tutti({"devices", "--json"}, {{"TUTTI_CACHE", cache}});
}

// ---- no files at all ----------------------------------------------------------------------------

/// Puts something into the file's place that must not be read, or not waited for.
void replace_file(Random& random, const std::string& path) {
  const std::string content = content_of(path);
  fs::remove(path);
  switch (random.below(geteuid() == 0 ? 8 : 5)) {
    case 0:
      make_pipe(path);
      break;
    case 1:
      fs::create_directories(path + "/below");
      break;
    case 2:
      fs::create_symlink("/dev/zero", path);
      break;
    case 3:
      write_file(path, content);
      (void)!truncate(path.c_str(), off_t{1} << 40);
      break;
    case 4:
      fs::create_symlink(path, path);
      break;
    case 5:
      write_file(path, content);
      (void)!chown(path.c_str(), 65534, 65534);
      break;
    case 6:
      (void)!mknod(path.c_str(), S_IFCHR | 0600, makedev(1, 5));
      break;
    default:
      write_file(path, content);
      (void)!chmod(path.c_str(), 0666);
      break;
  }
}

void files(Case& made) {
  Random& random = made.random;
  const std::string cache = copied_cache(made);
  const std::string record = made.folder + "/record";
  fs::copy(made.good.record(), record, fs::copy_options::recursive);
  const std::string trace = made.folder + "/t.json", source = made.folder + "/s.cl";
  write_file(trace, content_of(made.good.trace()));
  write_file(source, "#include \"s.h\"\nkernel void k(global int* x) { x[0] = HALF; }\n");
  write_file(made.folder + "/s.h", "#define HALF 1\n");
  write_file(made.folder + "/tutti.toml", "split = \"auto\"\n");
  // Nobody waits for a person's own trace or source: those may be pipes.
  std::vector<std::string> all = {cache + "/model.db", record::calls_file(record),
                                  record::content_file(record), made.folder + "/s.h",
                                  made.folder + "/tutti.toml"};
  for (const char* folder : {"/programs", "/probe"}) {
    const auto more = files_of(cache + folder);
    all.insert(all.end(), more.begin(), more.end());
  }
  for (uint64_t times = 1 + random.below(4); times > 0; --times) {
    const std::string& chosen = random.one_of(all);
    // Not what has been replaced already.
    if (fs::is_regular_file(fs::symlink_status(chosen)) && fs::file_size(chosen) < kMostGood) {
      replace_file(random, chosen);
    }
  }
  const Variables variables{{"TUTTI_CACHE", cache},
                            {"TUTTI_MODEL", "disk"},
                            {"TUTTI_CONFIG", made.folder + "/tutti.toml"}};
  made.tutti({"record", "show", record}, variables);
  made.tutti({"model", "show"}, variables);
  made.tutti({"devices"}, variables);
  made.tutti({"explain", source}, variables);
  // What the driver writes where a pipe lies is not waited for either.
  const std::string pipe = made.folder + "/pipe.json";
  make_pipe(pipe);
  Variables more = variables;
  const char* const outputs[] = {"TUTTI_TRACE", "TUTTI_SUMMARY", "TUTTI_LOG", "TUTTI_RECORD"};
  const std::string output = outputs[random.below(std::size(outputs))];
  more.emplace_back(output, output == "TUTTI_LOG" ? "debug:" + pipe : pipe);
  made.client(more, true);
}

}  // namespace

const Subject kModel{"model", 20, model};
const Subject kPrograms{"programs", 30, programs};
const Subject kVerdicts{"verdicts", 10, verdicts};
const Subject kFiles{"files", 10, files};

}  // namespace tutti::damage
