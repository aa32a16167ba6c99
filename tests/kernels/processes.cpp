// SPDX-License-Identifier: Apache-2.0
#include "processes.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "apart.h"
#include "natively.h"
#include "tester.h"

namespace tutti::kernel_fuzz {
namespace {

namespace fs = std::filesystem;

/// Adds the kernels of a summary.
void add_split(const std::string& summary, Totals& totals) {
  std::ifstream file(summary);
  const auto json = nlohmann::json::parse(file, nullptr, false);
  if (!json.is_object()) return;
  for (const auto& kernel : json["kernels"]) {
    const std::string name = kernel["name"];
    if (std::stoull(name.substr(1)) >= kFirstExtra) continue;
    totals.split += kernel["split"] > 0 ? 1 : 0;
    // Told of those alone that were split.
    totals.streamed += kernel.value("streamed", 0) > 0 ? 1 : 0;
    totals.panels += kernel.value("panels", 0) > 0 ? 1 : 0;
  }
}

/// In a process of its own. It ends as any program does, and Tutti writes its summary then.
[[noreturn]] void work(const Options& options, const Lane& lane, Counts& counts,
                       const std::string& summary) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setenv("TUTTI_SUMMARY", summary.c_str(), 1);
  setenv("TUTTI_MODEL", "process", 0);  // names like k7 are nothing to remember
  const std::string& balancer = options.balancer_of(lane.number);
  if (balancer.empty() || balancer == "force") {
    setenv("TUTTI_SPLIT", "force", balancer.empty() ? 0 : 1);
    setenv("TUTTI_SEED", std::to_string(options.seed % 1000000 + 1000003 * lane.number).c_str(), 0);
  } else {
    // Of launches that are too few to be worth building for further devices, none would be split.
    setenv("TUTTI_SPLIT", "force", 1);
    setenv("TUTTI_BALANCER", balancer.c_str(), 1);
  }
  int code = 0;
  try {
    keep_memory_apart(options.apart);
    Tester tester(options, counts);
    if (options.replay.empty()) {
      tester.run(lane);
    } else {
      for (uint64_t i = lane.from; i < options.replay.size(); ++i) tester.replay(options.replay[i]);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    code = 2;
  }
  std::exit(code);
}

/// One lane through all its processes.
struct Course {
  Lane lane;
  Counts* counts = nullptr;  // shared with the process
  std::string summary;
  uint64_t judged_before = 0;  // kernels, when the process began
  // A program has crashed; so far none of its kernels has alone.
  std::string pending;
  bool pending_is_vendors = false;
};

class Run {
 public:
  explicit Run(const Options& options) : options_(options) {}
  Totals run();

 private:
  void start(Course& course);
  /// Whether another process must follow.
  bool ended(Course& course, int status);
  bool crashed(Course& course, int signal);
  void settle(Course& course);
  void count(Course& course, const std::string& what, const std::string& vendors_fault);
  std::vector<KernelCase> cases(uint64_t first, uint64_t end, const Counts& counts) const;

  const Options& options_;
  Totals totals_;
  std::map<pid_t, Course*> running_;
};

void Run::start(Course& course) {
  course.judged_before = course.counts->kernels;
  const pid_t process = fork();
  if (process == 0) work(options_, course.lane, *course.counts, course.summary);
  running_[process] = &course;
}

std::vector<KernelCase> Run::cases(uint64_t first, uint64_t end, const Counts& counts) const {
  std::vector<KernelCase> result;
  for (uint64_t i = first; i < end; ++i) {
    result.push_back(options_.replay.empty() ? case_of(options_, i, counts.offer)
                                             : read_case(options_.replay.at(i)));
  }
  return result;
}

void Run::count(Course& course, const std::string& what, const std::string& vendors_fault) {
  if (vendors_fault.empty()) {
    std::fprintf(stderr, "\n%s: FAILED\n", what.c_str());
    ++course.counts->failures;
  } else {
    std::fprintf(stderr, "\n%s: vendor's fault: %s\n", what.c_str(), vendors_fault.c_str());
    ++course.counts->vendor_faults;
  }
}

void Run::settle(Course& course) {
  if (!course.pending.empty()) {
    count(course, course.pending + ", and none of its kernels alone",
          course.pending_is_vendors ? "natively, too" : "");
  }
  course.pending.clear();
}

bool Run::crashed(Course& course, int signal) {
  Counts& counts = *course.counts;
  const uint64_t kernel = counts.current;
  const std::string how = "signal " + std::to_string(signal) + ", kernel " +
                          std::to_string(kernel) + " (" + counts.doing + ")";
  if (std::string(counts.doing) == "starting") {
    count(course, how, "");
    return false;
  }
  const uint64_t first = kernel / options_.program_size * options_.program_size;
  const uint64_t end = std::min(first + options_.program_size, options_.kernels);
  if (!counts.alone) {
    settle(course);
    const std::string fault = vendors_fault(cases(first, end, counts), options_);
    course.pending = how + " in its program";
    course.pending_is_vendors = !fault.empty();
    course.lane.from = kernel;
    course.lane.alone_until = end;
    return true;
  }
  if (counts.reported) {
    std::fprintf(stderr, "\n%s, while it was shrunk\n", how.c_str());  // is counted
  } else {
    course.pending.clear();
    count(course, how, vendors_fault(cases(kernel, kernel + 1, counts), options_));
    std::fprintf(stderr, "%s", to_text(cases(kernel, kernel + 1, counts).front()).c_str());
  }
  ++counts.kernels;
  counts.reported = false;
  course.lane.from = kernel + 1;
  if (options_.replay.empty()) course.lane.alone_until = std::max(course.lane.alone_until, end);
  return true;
}

bool Run::ended(Course& course, int status) {
  if (WIFSIGNALED(status)) {
    return crashed(course, WTERMSIG(status)) && course.counts->failures < kMostFailures;
  }
  totals_.broken |= WEXITSTATUS(status) != 0;
  totals_.watched += course.counts->kernels - course.judged_before;
  add_split(course.summary, totals_);
  settle(course);
  return false;
}

Totals Run::run() {
  // As many lanes as keep a balancer to each.
  const bool one = options_.only || !options_.replay.empty();
  const uint32_t modes = std::max<uint32_t>(1, static_cast<uint32_t>(options_.balancers.size()));
  const uint32_t lanes = one ? 1 : (options_.jobs + modes - 1) / modes * modes;
  void* memory = mmap(nullptr, lanes * sizeof(Counts), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  std::string folder = (fs::temp_directory_path() / "tutti-kernel-fuzz-XXXXXX").string();
  if (memory == MAP_FAILED || mkdtemp(folder.data()) == nullptr) {
    totals_.broken = true;
    return totals_;
  }
  std::vector<Course> courses(lanes);
  std::deque<Course*> waiting;
  for (uint32_t i = 0; i < lanes; ++i) {
    Course& course = courses[i];
    course.lane.number = i;
    if (options_.only) {
      course.lane.number = static_cast<uint32_t>(*options_.only / options_.program_size % modes);
    }
    course.lane.count = lanes;
    course.counts = new (static_cast<Counts*>(memory) + i) Counts;
    course.summary = folder + "/" + std::to_string(i) + ".json";
    waiting.push_back(&course);
  }
  while (!waiting.empty() || !running_.empty()) {
    while (!waiting.empty() && running_.size() < options_.jobs) {
      start(*waiting.front());
      waiting.pop_front();
    }
    int status = 0;
    const pid_t process = waitpid(-1, &status, 0);
    const auto found = running_.find(process);
    if (found == running_.end()) continue;
    Course& course = *found->second;
    running_.erase(found);
    if (ended(course, status)) waiting.push_front(&course);
  }
  for (Course& course : courses) {
    settle(course);
    totals_.counts.kernels += course.counts->kernels;
    totals_.counts.launches += course.counts->launches;
    totals_.counts.refused += course.counts->refused;
    totals_.counts.packages += course.counts->packages;
    totals_.counts.failures += course.counts->failures;
    totals_.counts.vendor_faults += course.counts->vendor_faults;
  }
  fs::remove_all(folder);
  munmap(memory, lanes * sizeof(Counts));
  return totals_;
}

}  // namespace

Totals run_processes(const Options& options) { return Run(options).run(); }

}  // namespace tutti::kernel_fuzz
