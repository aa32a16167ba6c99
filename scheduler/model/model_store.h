// SPDX-License-Identifier: Apache-2.0
// The performance model on disk: an SQLite file in the user's cache folder, shared by processes. A
// row per (kernel, device) holds the sums of a TimeFit, and one per device those of its power;
// writers add their samples to what the row holds by then, in one transaction, so that none is
// lost. Launches and what came behind them are as the last writer saw them. A file of another
// version, or a damaged one, is begun anew. Not thread-safe: one owner, one lock.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "scheduler/model/kept_launch.h"
#include "scheduler/model/power_model.h"
#include "scheduler/model/time_fit.h"

struct sqlite3;
struct sqlite3_stmt;

namespace tutti::scheduler {

class ModelStore {
 public:
  enum class Mode : uint8_t { kReadOnly, kCreate };
  /// Opens or makes the file, and its folder. An error says what cannot be done; a missing file is
  /// one for kReadOnly.
  static Result<std::unique_ptr<ModelStore>> open(const std::string& file, Mode mode);
  ~ModelStore();
  ModelStore(const ModelStore&) = delete;
  ModelStore& operator=(const ModelStore&) = delete;

  /// The file in a cache folder.
  static std::string file_in(const std::string& cache_folder) { return cache_folder + "/model.db"; }

  struct Entry {
    uint64_t kernel = 0;
    std::string device;  // its identity
    std::string name;    // the kernel's
    TimeFit::Sums sums;
    int64_t updated = 0;  // seconds since 1970
  };
  struct Update {
    uint64_t kernel = 0;
    std::string device;
    std::string name;
    std::span<const Sample> samples;
  };

  /// Nothing where there is no such row, or it cannot be read.
  std::optional<TimeFit::Sums> load(uint64_t kernel, const std::string& device);
  /// speed on `device` / speed on `other`, for each kernel known on both.
  std::vector<double> ratios(const std::string& device, const std::string& other);
  /// All or nothing. When it fails, busy() tells whether trying later may help.
  Status apply(std::span<const Update> updates);
  bool busy() const;
  /// Everything, the newest first.
  Result<std::vector<Entry>> list();

  /// The power of a device, by its identity.
  struct Power {
    std::string device;
    PowerSums sums;
    int64_t updated = 0;  // seconds since 1970
  };
  std::optional<PowerSums> load_power(const std::string& device);
  /// Added to what the rows hold by then, where older sums count less (PowerSums::aged()).
  Status add_power(std::span<const Power> seen);
  /// By device; empty where none was ever kept.
  std::vector<Power> list_power();

  /// By a key that says with which devices, too. Nothing where none is kept, or what is kept cannot
  /// be.
  std::optional<KeptLaunch> load_launch(uint64_t launch);
  struct Launch {
    uint64_t launch = 0;
    KeptLaunch kept;
  };
  /// In the place of what was kept of them. All or nothing.
  Status keep_launches(std::span<const Launch> launches);
  /// How many are kept.
  uint64_t count_launches();
  /// Forgets everything.
  Status clear();

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  class Statement;

  ModelStore(sqlite3* database, std::string file) : database_(database), file_(std::move(file)) {}
  tl::unexpected<Error> failure(const char* what) const;
  Status execute(const char* sql);
  Result<int64_t> version();
  Status prepare_tables(Mode mode);
  Status apply_one(const Update& update);
  Status keep_one(const Launch& launch);

  std::unique_ptr<sqlite3, Close> database_;
  const std::string file_;
};

}  // namespace tutti::scheduler
