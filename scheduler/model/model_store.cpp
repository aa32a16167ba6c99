// SPDX-License-Identifier: Apache-2.0
#include "scheduler/model/model_store.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>

#include "base/kept_file.h"

namespace tutti::scheduler {
namespace {

constexpr int kVersion = 1;  // of the tables; another one is begun anew
// Milliseconds that a writer may take before another process gives up and tries again later.
constexpr int kBusyMilliseconds = 1000;
constexpr int kMostRows = 20000;  // the oldest beyond are forgotten
constexpr int kMostLaunches = 4000;
constexpr uint64_t kMostBytes = 64 * kMiB;

constexpr const char* kTables =
    "CREATE TABLE IF NOT EXISTS fits ("
    " kernel INTEGER NOT NULL, device TEXT NOT NULL, name TEXT NOT NULL, updated INTEGER NOT NULL,"
    " n REAL, x REAL, t REAL, xt REAL, xx REAL, tt REAL, largest REAL, speed REAL,"
    " PRIMARY KEY (kernel, device)) WITHOUT ROWID";
// Made when it is first needed.
constexpr const char* kPowerTable =
    "CREATE TABLE IF NOT EXISTS power ("
    " device TEXT NOT NULL PRIMARY KEY, updated INTEGER NOT NULL, idle_joules REAL,"
    " idle_seconds REAL, busy_joules REAL, busy_wall REAL, busy_seconds REAL) WITHOUT ROWID";
constexpr const char* kPowerSums =
    "idle_joules, idle_seconds, busy_joules, busy_wall, busy_seconds";
constexpr const char* kSums = "n, x, t, xt, xx, tt, largest, speed";
// Likewise made when they are first needed.
constexpr const char* kLaunchTables =
    "CREATE TABLE IF NOT EXISTS launches ("
    " launch INTEGER NOT NULL PRIMARY KEY, next INTEGER NOT NULL, updated INTEGER NOT NULL);"
    "CREATE TABLE IF NOT EXISTS launch_reads ("
    " launch INTEGER NOT NULL, number INTEGER NOT NULL, buffer INTEGER, place INTEGER,"
    " first INTEGER, past INTEGER, phase INTEGER, period INTEGER, length INTEGER,"
    " PRIMARY KEY (launch, number)) WITHOUT ROWID";
constexpr const char* kDropOptional =
    "DROP TABLE IF EXISTS power; DROP TABLE IF EXISTS launches; DROP TABLE IF EXISTS launch_reads";

bool is_damage(int code) { return code == SQLITE_CORRUPT || code == SQLITE_NOTADB; }

constexpr const char* kSuffixes[] = {"", "-wal", "-shm"};  // of the files of a database

/// Why the database may not be opened; empty: it may. A file that is this user's alone and too
/// large is removed where it may be made anew.
std::string problem_of(const OwnFolder& folder, const std::string& name, bool create) {
  if (create && !folder.has(name)) {
    // SQLite gives its other files the modes of this one. Another process may be faster.
    const auto made = make_private_file(name, 0, folder.descriptor());
    if (!made && made.error().code != CL_INVALID_OPERATION) return made.error().message;
  }
  for (const char* suffix : kSuffixes) {
    const auto file = folder.open_file(name + suffix, UINT64_MAX);
    if (!file) {
      // Whoever closes the database last removes its other files.
      if (*suffix != '\0' && !folder.has(name + suffix)) continue;
      return file.error().message;
    }
    struct stat status {};
    if (fstat(file->get(), &status) != 0 || static_cast<uint64_t>(status.st_size) <= kMostBytes) {
      continue;
    }
    if (!create) return "it is too large";
    for (const char* each : kSuffixes) folder.remove(name + each);
    return folder.has(name) ? "it is too large" : problem_of(folder, name, create);
  }
  return {};
}

/// What damage left lies in no memory.
bool in_memory(uint64_t bytes) { return bytes < uint64_t{1} << 48; }
bool in_memory(int64_t phase) { return phase > -(int64_t{1} << 48) && phase < int64_t{1} << 48; }

/// What damage left is no sum of anything.
bool makes_sense(std::initializer_list<double> values) {
  constexpr double kLargest = 1e100;  // products of two are finite
  return std::all_of(values.begin(), values.end(),
                     [](double value) { return value >= 0 && value <= kLargest; });
}

/// All that `work` does, or nothing; `execute` runs SQL. While another process writes it waits.
template <typename Execute, typename Work>
Status in_transaction(const Execute& execute, const Work& work) {
  TUTTI_TRY(execute("BEGIN IMMEDIATE"));
  Status status = work();
  if (status) status = execute("COMMIT");
  if (!status) static_cast<void>(execute("ROLLBACK"));
  return status;
}

}  // namespace

/// A prepared statement; its calls chain, and errors show in step().
class ModelStore::Statement {
 public:
  Statement(sqlite3* database, const std::string& sql) {
    sqlite3_prepare_v2(database, sql.c_str(), -1, &statement_, nullptr);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  void bind(int64_t value) { sqlite3_bind_int64(statement_, ++bound_, value); }
  void bind(double value) { sqlite3_bind_double(statement_, ++bound_, value); }
  void bind(const std::string& text) {
    sqlite3_bind_text(statement_, ++bound_, text.data(), static_cast<int>(text.size()),
                      SQLITE_TRANSIENT);
  }
  /// SQLITE_ROW, SQLITE_DONE or an error.
  int step() { return statement_ != nullptr ? sqlite3_step(statement_) : SQLITE_ERROR; }
  double real(int column) { return sqlite3_column_double(statement_, column); }
  int64_t integer(int column) { return sqlite3_column_int64(statement_, column); }
  std::string text(int column) {
    const auto* bytes = sqlite3_column_text(statement_, column);
    return bytes != nullptr ? reinterpret_cast<const char*>(bytes) : std::string();
  }
  /// Without anything, where the row holds what cannot be.
  PowerSums power_sums(int first) {
    const PowerSums sums{real(first), real(first + 1), real(first + 2), real(first + 3),
                         real(first + 4)};
    return makes_sense({sums.idle_joules, sums.idle_seconds, sums.busy_joules, sums.busy_wall,
                        sums.busy_seconds})
               ? sums
               : PowerSums();
  }
  TimeFit::Sums sums(int first) {
    const TimeFit::Sums sums{real(first),     real(first + 1), real(first + 2), real(first + 3),
                             real(first + 4), real(first + 5), real(first + 6), real(first + 7)};
    const bool sense =
        makes_sense({sums.n, sums.x, sums.t, sums.xt, sums.xx, sums.tt, sums.largest, sums.speed});
    // Whatever was added has a size and a time.
    const bool whole = sums.n == 0 || (sums.x > 0 && sums.t > 0 && sums.largest > 0);
    return sense && whole ? sums : TimeFit::Sums();
  }

 private:
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

void ModelStore::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

ModelStore::~ModelStore() = default;

tl::unexpected<Error> ModelStore::failure(const char* what) const {
  return fail(CL_OUT_OF_RESOURCES,
              std::string(what) + " '" + file_ + "': " + sqlite3_errmsg(database_.get()));
}

Status ModelStore::execute(const char* sql) {
  if (sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) {
    return failure("cannot use");
  }
  return {};
}

Result<int64_t> ModelStore::version() {
  Statement statement(database_.get(), "PRAGMA user_version");
  if (statement.step() != SQLITE_ROW) return failure("cannot read");
  return statement.integer(0);
}

Status ModelStore::prepare_tables(Mode mode) {
  sqlite3_busy_timeout(database_.get(), kBusyMilliseconds);
  TUTTI_ASSIGN(int64_t version, this->version());
  if (mode == Mode::kReadOnly) {
    if (version == kVersion) return {};
    return fail(CL_INVALID_VALUE, "'" + file_ + "' is of another version of Tutti, or empty");
  }
  // Other processes may read while one writes; a process that is killed leaves whole rows.
  // While another process opens the file for the first time this is refused at once, whatever the
  // busy time-out, and not needed: that process does it.
  static_cast<void>(execute("PRAGMA journal_mode=WAL"));
  TUTTI_TRY(execute("PRAGMA synchronous=OFF"));
  if (version == kVersion) return {};
  TUTTI_TRY(execute("BEGIN IMMEDIATE"));
  TUTTI_ASSIGN(version, this->version());  // another process may have been faster
  if (version != kVersion) {
    TUTTI_TRY(execute("DROP TABLE IF EXISTS fits"));
    TUTTI_TRY(execute(kDropOptional));
    TUTTI_TRY(execute(kTables));
    TUTTI_TRY(execute(("PRAGMA user_version=" + std::to_string(kVersion)).c_str()));
  }
  return execute("COMMIT");
}

Result<std::unique_ptr<ModelStore>> ModelStore::open(const std::string& file, Mode mode) {
  const bool create = mode == Mode::kCreate;
  const std::filesystem::path whole(file);
  const std::string name = whole.filename().string();
  const std::string parent = whole.has_parent_path() ? whole.parent_path().string() : ".";
  const auto cannot = [&](const std::string& why) {
    return fail(CL_OUT_OF_RESOURCES, "cannot open '" + file + "': " + why);
  };
  const auto folder =
      OwnFolder::open(parent, create ? OwnFolder::Missing::kIsMade : OwnFolder::Missing::kFails);
  if (!folder) return cannot(parent + ": " + folder.error().message);
  // By a name without links, so that SQLite can be told to follow none.
  const std::string real = folder->path() + "/" + name;
  for (bool again = false;; again = true) {
    if (const std::string problem = problem_of(*folder, name, create); !problem.empty()) {
      return cannot(problem);
    }
    sqlite3* database = nullptr;
    const int flags = SQLITE_OPEN_NOFOLLOW |
                      (create ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY);
    const int code = sqlite3_open_v2(real.c_str(), &database, flags, nullptr);
    std::unique_ptr<ModelStore> store(new ModelStore(database, file));
    if (code != SQLITE_OK) return store->failure("cannot open");
    // A damaged file may hold triggers and views that nobody has written.
    sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
    sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
    Status prepared = store->prepare_tables(mode);
    if (prepared) return store;
    if (!create || again || !is_damage(sqlite3_errcode(database))) {
      return tl::unexpected<Error>(std::move(prepared).error());
    }
    // Nothing in it is dear: what was learned is learned again.
    store.reset();
    for (const char* suffix : kSuffixes) folder->remove(name + suffix);
  }
}

std::optional<TimeFit::Sums> ModelStore::load(uint64_t kernel, const std::string& device) {
  Statement statement(database_.get(),
                      std::string("SELECT ") + kSums + " FROM fits WHERE kernel=? AND device=?");
  statement.bind(static_cast<int64_t>(kernel));
  statement.bind(device);
  if (statement.step() != SQLITE_ROW) return std::nullopt;
  return statement.sums(0);
}

std::vector<double> ModelStore::ratios(const std::string& device, const std::string& other) {
  Statement statement(database_.get(),
                      "SELECT a.speed / b.speed FROM fits a JOIN fits b ON a.kernel = b.kernel"
                      " WHERE a.device=? AND b.device=? AND a.speed > 0 AND b.speed > 0"
                      " AND a.kernel NOT IN (1, 2, 3, 4) LIMIT 1000");
  statement.bind(device);
  statement.bind(other);
  std::vector<double> result;
  while (statement.step() == SQLITE_ROW) {
    const double ratio = statement.real(0);
    if (ratio > 0 && std::isfinite(ratio)) result.push_back(ratio);
  }
  return result;
}

Status ModelStore::apply_one(const Update& update) {
  TimeFit fit;
  if (const auto known = load(update.kernel, update.device)) fit = TimeFit(*known);
  for (const Sample& sample : update.samples) fit.add(sample);
  Statement statement(database_.get(), std::string("INSERT OR REPLACE INTO fits (kernel, device, "
                                                   "name, updated, ") +
                                           kSums + ") VALUES (?,?,?,?,?,?,?,?,?,?,?,?)");
  statement.bind(static_cast<int64_t>(update.kernel));
  statement.bind(update.device);
  statement.bind(update.name);
  statement.bind(static_cast<int64_t>(std::time(nullptr)));
  const TimeFit::Sums& sums = fit.sums();
  for (const double value :
       {sums.n, sums.x, sums.t, sums.xt, sums.xx, sums.tt, sums.largest, sums.speed}) {
    statement.bind(value);
  }
  if (statement.step() != SQLITE_DONE) return failure("cannot write");
  return {};
}

Status ModelStore::apply(std::span<const Update> updates) {
  if (updates.empty()) return {};
  const auto sql = [this](const char* text) { return execute(text); };
  return in_transaction(sql, [&]() -> Status {
    for (const Update& update : updates) TUTTI_TRY(apply_one(update));
    return execute(("DELETE FROM fits WHERE (SELECT count(*) FROM fits) > " +
                    std::to_string(kMostRows) +
                    " AND updated < (SELECT updated FROM fits ORDER BY updated DESC LIMIT 1"
                    " OFFSET " +
                    std::to_string(kMostRows / 2) + ")")
                       .c_str());
  });
}

bool ModelStore::busy() const { return sqlite3_errcode(database_.get()) == SQLITE_BUSY; }

Result<std::vector<ModelStore::Entry>> ModelStore::list() {
  Statement statement(database_.get(), std::string("SELECT kernel, device, name, updated, ") +
                                           kSums + " FROM fits ORDER BY updated DESC, name");
  std::vector<Entry> entries;
  int code = statement.step();
  for (; code == SQLITE_ROW; code = statement.step()) {
    entries.push_back({static_cast<uint64_t>(statement.integer(0)), statement.text(1),
                       statement.text(2), statement.sums(4), statement.integer(3)});
  }
  if (code != SQLITE_DONE) return failure("cannot read");
  return entries;
}

std::optional<PowerSums> ModelStore::load_power(const std::string& device) {
  Statement statement(database_.get(),
                      std::string("SELECT ") + kPowerSums + " FROM power WHERE device=?");
  statement.bind(device);
  if (statement.step() != SQLITE_ROW) return std::nullopt;
  return statement.power_sums(0);
}

Status ModelStore::add_power(std::span<const Power> seen) {
  if (seen.empty()) return {};
  const auto sql = [this](const char* text) { return execute(text); };
  return in_transaction(sql, [&]() -> Status {
    TUTTI_TRY(execute(kPowerTable));
    for (const Power& power : seen) {
      PowerSums sums = load_power(power.device).value_or(PowerSums()).aged();
      sums += power.sums;
      Statement statement(database_.get(),
                          std::string("INSERT OR REPLACE INTO power (device, updated, ") +
                              kPowerSums + ") VALUES (?,?,?,?,?,?,?)");
      statement.bind(power.device);
      statement.bind(static_cast<int64_t>(std::time(nullptr)));
      for (const double value : {sums.idle_joules, sums.idle_seconds, sums.busy_joules,
                                 sums.busy_wall, sums.busy_seconds}) {
        statement.bind(value);
      }
      if (statement.step() != SQLITE_DONE) return failure("cannot write");
    }
    return {};
  });
}

std::vector<ModelStore::Power> ModelStore::list_power() {
  Statement statement(database_.get(), std::string("SELECT device, updated, ") + kPowerSums +
                                           " FROM power ORDER BY device");
  std::vector<Power> entries;
  while (statement.step() == SQLITE_ROW) {
    entries.push_back({statement.text(0), statement.power_sums(2), statement.integer(1)});
  }
  return entries;
}

std::optional<KeptLaunch> ModelStore::load_launch(uint64_t launch) {
  KeptLaunch kept;
  {
    Statement statement(database_.get(), "SELECT next FROM launches WHERE launch=?");
    statement.bind(static_cast<int64_t>(launch));
    if (statement.step() != SQLITE_ROW) return std::nullopt;
    kept.next = static_cast<uint64_t>(statement.integer(0));
  }
  Statement statement(database_.get(),
                      "SELECT buffer, place, first, past, phase, period, length FROM launch_reads"
                      " WHERE launch=? ORDER BY number");
  statement.bind(static_cast<int64_t>(launch));
  while (statement.step() == SQLITE_ROW) {
    const auto number = [&](int column) {
      return static_cast<uint64_t>(statement.integer(column));
    };
    const KeptLaunch::Read read{.buffer = number(0),
                                .place = static_cast<uint32_t>(number(1)),
                                .begin = number(2),
                                .end = number(3),
                                .phase = statement.integer(4),
                                .period = number(5),
                                .length = number(6)};
    const bool strips =
        read.period == 0 ? read.length == 0
                         : read.length > 0 && read.length <= read.period && in_memory(read.period);
    if (read.begin >= read.end || !in_memory(read.end) || !strips || !in_memory(read.phase) ||
        number(1) > UINT32_MAX) {
      return std::nullopt;
    }
    kept.reads.push_back(read);
  }
  return kept;
}

Status ModelStore::keep_one(const Launch& launch) {
  const auto key = static_cast<int64_t>(launch.launch);
  {
    Statement statement(database_.get(), "DELETE FROM launch_reads WHERE launch=?");
    statement.bind(key);
    if (statement.step() != SQLITE_DONE) return failure("cannot write");
  }
  Statement row(database_.get(), "INSERT OR REPLACE INTO launches VALUES (?,?,?)");
  row.bind(key);
  row.bind(static_cast<int64_t>(launch.kept.next));
  row.bind(static_cast<int64_t>(std::time(nullptr)));
  if (row.step() != SQLITE_DONE) return failure("cannot write");
  int64_t number = 0;
  for (const KeptLaunch::Read& read : launch.kept.reads) {
    Statement statement(database_.get(),
                        "INSERT OR REPLACE INTO launch_reads VALUES (?,?,?,?,?,?,?,?,?)");
    statement.bind(key);
    statement.bind(++number);
    statement.bind(static_cast<int64_t>(read.buffer));
    statement.bind(static_cast<int64_t>(read.place));
    statement.bind(static_cast<int64_t>(read.begin));
    statement.bind(static_cast<int64_t>(read.end));
    statement.bind(read.phase);
    statement.bind(static_cast<int64_t>(read.period));
    statement.bind(static_cast<int64_t>(read.length));
    if (statement.step() != SQLITE_DONE) return failure("cannot write");
  }
  return {};
}

Status ModelStore::keep_launches(std::span<const Launch> launches) {
  if (launches.empty()) return {};
  const auto sql = [this](const char* text) { return execute(text); };
  return in_transaction(sql, [&]() -> Status {
    TUTTI_TRY(execute(kLaunchTables));
    for (const Launch& launch : launches) TUTTI_TRY(keep_one(launch));
    if (count_launches() <= kMostLaunches) return {};
    return execute(("DELETE FROM launches WHERE launch NOT IN (SELECT launch FROM launches"
                    " ORDER BY updated DESC LIMIT " +
                    std::to_string(kMostLaunches / 2) +
                    "); DELETE FROM launch_reads WHERE launch NOT IN"
                    " (SELECT launch FROM launches)")
                       .c_str());
  });
}

uint64_t ModelStore::count_launches() {
  Statement statement(database_.get(), "SELECT count(*) FROM launches");
  return statement.step() == SQLITE_ROW ? static_cast<uint64_t>(statement.integer(0)) : 0;
}

Status ModelStore::clear() {
  TUTTI_TRY(execute("DELETE FROM fits"));
  TUTTI_TRY(execute(kDropOptional));
  return execute("VACUUM");
}

}  // namespace tutti::scheduler
