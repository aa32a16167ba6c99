// SPDX-License-Identifier: Apache-2.0
#include "hand_split.h"

#include <barrier>
#include <chrono>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <numeric>
#include <sstream>
#include <thread>

namespace tutti::bench {
namespace {

/// One thread per device, which waits for jobs. Not thread-safe itself.
class Team {
 public:
  explicit Team(std::size_t size) : errors_(size), gate_(static_cast<std::ptrdiff_t>(size) + 1) {
    for (std::size_t lane = 0; lane < size; ++lane) {
      threads_.emplace_back([this, lane] { work(lane); });
    }
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team() {
    job_ = nullptr;
    gate_.arrive_and_wait();
    for (std::thread& thread : threads_) thread.join();
  }

  /// Does job(lane) in every lane; returns the seconds until the last one has ended. Throws the
  /// first lane's error.
  double run(const std::function<void(std::size_t)>& job) {
    job_ = &job;
    const auto start = std::chrono::steady_clock::now();
    gate_.arrive_and_wait();
    gate_.arrive_and_wait();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    for (std::exception_ptr& error : errors_) {
      if (error) std::rethrow_exception(std::exchange(error, nullptr));
    }
    return taken.count();
  }

 private:
  void work(std::size_t lane) {
    for (;;) {
      gate_.arrive_and_wait();
      if (job_ == nullptr) return;
      try {
        (*job_)(lane);
      } catch (...) {
        errors_[lane] = std::current_exception();
      }
      gate_.arrive_and_wait();
    }
  }

  const std::function<void(std::size_t)>* job_ = nullptr;
  std::vector<std::exception_ptr> errors_;
  std::barrier<> gate_;
  std::vector<std::thread> threads_;
};

class HandSplit {
 public:
  HandSplit(const std::vector<Session>& sessions, KernelBenchmark& benchmark,
            std::vector<Part> parts)
      : sessions_(sessions), benchmark_(benchmark), parts_(std::move(parts)) {}

  void divide(std::vector<Part> parts) { parts_ = std::move(parts); }

  /// A session's part of one step; nothing when its part is empty.
  void clear(std::size_t lane) const {
    benchmark_.clear_part(sessions_[lane], lane);
    sessions_[lane].finish();
  }
  void upload(std::size_t lane) const {
    if (has_work(lane)) benchmark_.upload_part(sessions_[lane], lane, parts_[lane]);
  }
  void launch(std::size_t lane) const {
    if (has_work(lane)) benchmark_.launch_part(sessions_[lane], lane, parts_[lane]);
  }
  void download(std::size_t lane) const {
    if (has_work(lane)) benchmark_.download_part(sessions_[lane], lane, parts_[lane]);
  }
  void finish(std::size_t lane) const { sessions_[lane].finish(); }

 private:
  bool has_work(std::size_t lane) const { return parts_[lane].groups != 0; }

  const std::vector<Session>& sessions_;
  KernelBenchmark& benchmark_;
  std::vector<Part> parts_;
};

}  // namespace

std::vector<DeviceChoice> choose_devices(const std::string& list) {
  std::vector<DeviceChoice> chosen;
  std::istringstream items(list);
  for (std::string item; std::getline(items, item, ',');) {
    const std::size_t slash = item.find('/');
    if (slash == std::string::npos) {
      throw std::invalid_argument("\"" + item + "\" is not PLATFORM/DEVICE");
    }
    chosen.push_back(choose_device(item.substr(0, slash), item.substr(slash + 1)));
  }
  if (chosen.empty()) throw std::invalid_argument("no device to divide over");
  return chosen;
}

std::vector<Part> cut(std::size_t groups, const std::vector<double>& shares) {
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  std::vector<Part> parts;
  double before = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    before += shares[i];
    const bool last = i + 1 == shares.size();
    const std::size_t end =
        last ? groups
             : static_cast<std::size_t>(std::lround(before / sum * static_cast<double>(groups)));
    parts.push_back({first, end - first});
    first = end;
  }
  return parts;
}

HandSplitResult run_hand_split(const std::vector<Session>& sessions, const Entry& entry,
                               const RunOptions& options, std::vector<double> shares) {
  HandSplitResult result;
  RunResult& run = result.run;
  run.name = entry.name;
  run.size = options.size != 0 ? options.size : entry.default_size;
  const std::unique_ptr<Benchmark> made = entry.make(run.size);
  auto* const benchmark = dynamic_cast<KernelBenchmark*>(made.get());
  if (benchmark == nullptr || !benchmark->divisible()) {
    throw NotDivisible("this benchmark cannot be divided by hand");
  }
  run.range = benchmark->range();

  const auto build_start = std::chrono::steady_clock::now();
  std::vector<Program> programs;
  for (const Session& session : sessions) {
    // PoCL 3.1 aborts when two devices run the same binary: the option makes them different.
    programs.push_back(session.build(entry.source, options.build_options + " -DDEVICE_NUMBER=" +
                                                       std::to_string(programs.size())));
    benchmark->open_lane(session, programs.back(), programs.size() - 1);
  }
  run.build_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - build_start).count();

  Reference reference(*benchmark, entry, options, sessions.size());

  std::deque<EndsCommands> ends_commands;
  for (const Session& session : sessions) ends_commands.emplace_back(session);
  Team team(sessions.size());
  const Part everything{0, benchmark->groups()};
  HandSplit split(sessions, *benchmark, std::vector<Part>(sessions.size(), everything));
  if (shares.empty()) {
    // One after the other, so that they do not disturb each other; the first launch compiles.
    for (std::size_t lane = 0; lane < sessions.size(); ++lane) {
      split.upload(lane);
      split.launch(lane);
      split.finish(lane);
      const auto start = std::chrono::steady_clock::now();
      split.launch(lane);
      split.finish(lane);
      shares.push_back(
          1 / std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
  }
  result.parts = cut(benchmark->groups(), shares);
  split.divide(result.parts);

  for (std::size_t i = 0; i <= options.repeat; ++i) {
    team.run([&](std::size_t lane) { split.clear(lane); });
    const double seconds = team.run([&](std::size_t lane) {
      split.upload(lane);
      split.launch(lane);
      split.download(lane);
      split.finish(lane);
    });
    reference.verify(1, run);
    if (i > 0) run.total_seconds.push_back(seconds);  // drivers compile at the first launch
  }

  team.run([&](std::size_t lane) {
    split.clear(lane);
    split.upload(lane);
    split.launch(lane);
    split.finish(lane);
  });
  for (std::size_t i = 0; i < options.repeat; ++i) {
    run.kernel_seconds.push_back(team.run([&](std::size_t lane) {
      split.launch(lane);
      split.finish(lane);
    }));
  }
  team.run([&](std::size_t lane) {
    split.download(lane);
    split.finish(lane);
  });
  reference.verify(1 + options.repeat, run);
  run.work = benchmark->work();
  return result;
}

}  // namespace tutti::bench
