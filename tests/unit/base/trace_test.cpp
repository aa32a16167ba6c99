// SPDX-License-Identifier: Apache-2.0
#include "base/trace.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>
#include <vector>

#include "base/log.h"
#include "temporary_folder.h"

namespace tutti {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class TraceTest : public ::testing::Test {
 protected:
  void SetUp() override { start_log(LogLevel::kWarning, log_); }
  void TearDown() override {
    trace::stop();
    start_log(LogLevel::kWarning);
  }
  /// Events of that category.
  std::vector<json> events(const std::string& category) { return events(category, text_of(file_)); }
  static std::vector<json> events(const std::string& category, const std::string& text) {
    std::vector<json> found;
    for (const json& event : json::parse(text)) {
      if (event.value("cat", "") == category) found.push_back(event);
    }
    return found;
  }
  /// As the first event says.
  static uint64_t lost(const std::string& text) {
    std::istringstream lines(text);
    std::string line;
    std::getline(lines, line);
    std::getline(lines, line);
    if (line.ends_with(',')) line.pop_back();
    const json event = json::parse(line);
    EXPECT_EQ(event["name"], "tutti_trace_lost");
    return event["args"]["events"].get<uint64_t>();
  }
  /// Whatever a child process does that traces and then ends abruptly.
  template <typename Work>
  int in_child(Work work) {
    const pid_t child = fork();
    if (child == 0) {
      work();
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
  }
  TemporaryFolder folder_;
  const std::string file_ = folder_ / "trace.json";
  const std::string log_ = folder_ / "log";
};

TEST_F(TraceTest, OffThereIsNothing) {
  trace::start("");
  EXPECT_FALSE(trace::on());
  trace::slice({1, 1}, "api", "nothing", 1, 2);
  trace::stop();
  EXPECT_FALSE(std::filesystem::exists(file_));
}

TEST_F(TraceTest, WritesWhatTheFormatAsksFor) {
  trace::start(file_);
  ASSERT_TRUE(trace::on());
  trace::name_row({10, 3}, "queue");
  trace::slice({10, 3}, "package", "a \"kernel\"\n\\", 1234567, 2234568,
               trace::Args()
                   .add("bytes", 5)
                   .add("why", "b\x80\xc3\xa4")
                   .add("speed", 0.5)
                   .add("split", true));
  trace::flow("package", {1, 1}, 2000, {10, 3}, 1000);
  trace::span(2, "launch", "k", 7, 10, 20);
  const uint64_t sizes[] = {1, 2};
  trace::note("fact", trace::Args().add("sizes", sizes).add("in", trace::Args().add("n", -1)));
  trace::stop();
  const auto packages = events("package");
  ASSERT_EQ(packages.size(), 3u);
  EXPECT_EQ(packages[0]["ph"], "X");
  EXPECT_EQ(packages[0]["name"], "a \"kernel\"\n\\");
  EXPECT_DOUBLE_EQ(packages[0]["ts"].get<double>(), 1234.567);
  EXPECT_DOUBLE_EQ(packages[0]["dur"].get<double>(), 1000.001);
  EXPECT_EQ(
      packages[0]["args"],
      json({{"bytes", 5}, {"why", "b\xef\xbf\xbd\xc3\xa4"}, {"speed", 0.5}, {"split", true}}));
  EXPECT_EQ(packages[1]["ph"], "s");
  EXPECT_EQ(packages[2]["ph"], "f");
  EXPECT_EQ(packages[1]["id"], packages[2]["id"]);
  EXPECT_EQ(packages[2]["ts"], packages[1]["ts"]) << "an arrow never points back";
  const auto spans = events("launch");
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0]["ph"], "b");
  EXPECT_EQ(spans[1]["ph"], "e");
  EXPECT_EQ(lost(text_of(file_)), 0u);
  EXPECT_THAT(text_of(file_), HasSubstr(R"("args":{"sizes":[1,2],"in":{"n":-1}})"));
}

TEST_F(TraceTest, AnEmptyTraceIsValid) {
  trace::start(file_);
  trace::stop();
  EXPECT_TRUE(json::accept(text_of(file_)));
  trace::start(file_);  // again, in the same process
  trace::slice({1, 1}, "api", "one", 1, 2);
  trace::stop();
  EXPECT_EQ(events("api").size(), 1u);
}

TEST_F(TraceTest, ManyThreadsAtOnce) {
  constexpr int kThreads = 8, kEvents = 5000;
  trace::start(file_);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < kEvents; ++i) {
        trace::slice(trace::thread_row(trace::kApplication), "api", std::to_string(t), 10 * i,
                     10 * i + 5);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  trace::stop();
  std::map<std::string, std::pair<uint32_t, double>> last;  // row and time, per thread
  const auto found = events("api");
  EXPECT_EQ(found.size(), size_t{kThreads} * kEvents);
  for (const json& event : found) {
    const double time = event["ts"].get<double>();
    auto [entry, first] = last.try_emplace(event["name"], event["tid"].get<uint32_t>(), -1.0);
    EXPECT_EQ(entry->second.first, event["tid"]);
    EXPECT_LT(entry->second.second, time) << "each thread's events keep their order";
    entry->second.second = time;
  }
  EXPECT_EQ(last.size(), size_t{kThreads});
}

TEST_F(TraceTest, CallsAreSlicesOfTheirThread) {
  { const trace::CallScope before("clBefore"); }
  trace::start(file_);
  {
    trace::CallScope outer("clOuter");
    { const trace::CallScope inner("clInner"); }
    outer.failed(-30);
  }
  trace::stop();
  const auto calls = events("api");
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0]["name"], "clInner");
  EXPECT_EQ(calls[1]["args"]["error"], "CL_INVALID_VALUE");
  EXPECT_LE(calls[1]["ts"], calls[0]["ts"]);
}

TEST_F(TraceTest, SlicesOfALaneDoNotMeet) {
  trace::start(file_);
  trace::Lane lane({10, 1});
  lane.slice("package", "b", 1000, 2000);
  EXPECT_EQ(lane.slice("package", "c", 1990, 3000), 2000u);
  lane.slice("package", "a", 500, 1010);  // noticed late
  lane.slice("package", "inside", 1200, 1300);
  trace::stop();
  const auto slices = events("package");
  ASSERT_EQ(slices.size(), 4u);
  EXPECT_DOUBLE_EQ(slices[2]["ts"].get<double>(), 0.5);
  EXPECT_DOUBLE_EQ(slices[2]["dur"].get<double>(), 0.5);
  EXPECT_DOUBLE_EQ(slices[3]["dur"].get<double>(), 0.0);
}

// What was traced some moments before a process is killed is in the file, whole lines of it.
TEST_F(TraceTest, SurvivesAKill) {
  const int status = in_child([this] {
    trace::start(file_);
    for (int i = 0; i < 1000; ++i) trace::slice({1, 1}, "api", "call", 10 * i, 10 * i + 5);
    trace::slice({1, 1}, "api", "last", 10000, 10005);
    // Until the writer has written all of it, which is seen in the file alone: a process that is
    // killed within a write leaves what the system has taken by then, up to any byte.
    while (!text_of(file_).ends_with(R"("name":"last","ts":10.000,"dur":0.005})")) usleep(1000);
    raise(SIGKILL);
  });
  EXPECT_TRUE(WIFSIGNALED(status));
  const std::string text = text_of(file_);
  EXPECT_FALSE(json::accept(text));
  EXPECT_TRUE(json::accept(text + "]")) << "the array is cut between two events";
  EXPECT_THAT(text, AllOf(StartsWith("[\n{"), EndsWith("}")));
}

TEST_F(TraceTest, SaysWhenTheFileCannotBeOpened) {
  trace::start(folder_ / "missing/trace.json");
  EXPECT_FALSE(trace::on());
  EXPECT_THAT(text_of(log_), AllOf(HasSubstr("missing/trace.json: No such file or directory"),
                                   HasSubstr("there is no trace, the application runs on")));
  trace::start(folder_.path());
  EXPECT_FALSE(trace::on());
  EXPECT_THAT(text_of(log_), HasSubstr("Is a directory"));
  ASSERT_EQ(mkfifo(file_.c_str(), 0600), 0);
  trace::start(file_);
  EXPECT_FALSE(trace::on());
  EXPECT_THAT(text_of(log_), HasSubstr("it is a pipe, not a file"));
}

TEST_F(TraceTest, WhatIsNoTraceIsNotOverwritten) {
  std::ofstream(file_) << "dear diary\n";
  trace::start(file_);
  EXPECT_FALSE(trace::on());
  EXPECT_EQ(text_of(file_), "dear diary\n");
  EXPECT_THAT(text_of(log_), HasSubstr("it exists and is no trace"));
}

TEST_F(TraceTest, AFullDiskMeansNoTraceOnly) {
  trace::start("/dev/full");
  EXPECT_FALSE(trace::on());
  trace::slice({1, 1}, "api", "call", 1, 2);
  trace::stop();
  EXPECT_THAT(text_of(log_), AllOf(HasSubstr("/dev/full: No space left on device"),
                                   HasSubstr("the application runs on")));
}

// A write beyond the limit raises a signal that would end the application.
TEST_F(TraceTest, AFileThatMayNotGrowCountsWhatIsLost) {
  constexpr uint64_t kEvents = 1000;
  const int status = in_child([this] {
    const rlimit limit{20000, 20000};
    setrlimit(RLIMIT_FSIZE, &limit);
    trace::start(file_);
    for (uint64_t i = 0; i < kEvents; ++i) trace::slice({1, 1}, "api", "call", 10 * i, 10 * i + 5);
    for (uint64_t i = 0; i < kEvents / 2; ++i) trace::flow("api", {1, 1}, i, {1, 2}, i);
    trace::stop();
  });
  EXPECT_TRUE(WIFEXITED(status));
  std::string text = text_of(file_);
  EXPECT_LE(text.size(), 20000u);
  EXPECT_GT(text.size(), 15000u);
  if (!text.ends_with("]\n")) text += "]";  // for which there may have been no room
  EXPECT_TRUE(json::accept(text)) << "it is cut between two events";
  EXPECT_EQ(events("api", text).size() + lost(text), 2 * kEvents);
  EXPECT_THAT(text_of(log_), HasSubstr("File too large"));
}

// What comes later finds room again.
TEST_F(TraceTest, LostEventsAreAHoleInTheTrace) {
  const int status = in_child([this] {
    rlimit limit{20000, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &limit);
    trace::start(file_);
    for (int i = 0; i < 1000; ++i) trace::slice({1, 1}, "api", "call", 10 * i, 10 * i + 5);
    while (lost(text_of(file_)) == 0) usleep(1000);  // until the writer has met the limit
    limit.rlim_cur = RLIM_INFINITY;
    setrlimit(RLIMIT_FSIZE, &limit);
    for (int i = 0; i < 10; ++i) trace::slice({1, 1}, "later", "call", i, i + 1);
    trace::stop();
  });
  EXPECT_TRUE(WIFEXITED(status));
  const std::string text = text_of(file_);
  ASSERT_TRUE(json::accept(text)) << text.substr(0, 300);
  EXPECT_EQ(events("later").size(), 10u);
  EXPECT_GT(lost(text), 0u);
  EXPECT_EQ(events("api").size() + lost(text), 1000u);
}

TEST_F(TraceTest, TwoProcessesDoNotWriteOneFile) {
  trace::start(file_);
  trace::slice({1, 1}, "api", "mine", 1, 2);
  in_child([this] {
    trace::stop();  // as if it were another program: what fork() left is off
    EXPECT_FALSE(trace::on());
  });
  trace::stop();
  EXPECT_EQ(events("api").size(), 1u);
  trace::start(folder_ / "trace.%p.json");
  trace::stop();
  EXPECT_TRUE(std::filesystem::exists(folder_ / ("trace." + std::to_string(getpid()) + ".json")));
}

// Whatever the writer does at the moment of a fork, its lock among others.
TEST_F(TraceTest, AForkedChildEndsWhileTheWriterWrites) {
  trace::start(file_);
  // So many at each fork, which comes in the middle of them.
  constexpr uint64_t kForks = 60, kEvents = 1000;
  std::atomic<uint64_t> asked{0}, noted{0};
  std::thread events_come([&] {
    for (uint64_t i = 0; i < kForks * kEvents; ++i) {
      for (uint64_t now = asked; now <= i; now = asked) asked.wait(now);
      trace::slice({1, 1}, "api", "call", 10 * i, 10 * i + 5);
      noted = i + 1;
      if (noted % kEvents == kEvents / 2) noted.notify_one();
    }
  });
  for (uint64_t fork = 1; fork <= kForks; ++fork) {
    asked = fork * kEvents;
    asked.notify_one();
    for (uint64_t now = noted; now < fork * kEvents - kEvents / 2; now = noted) noted.wait(now);
    const int status = in_child([] { trace::stop(); });
    EXPECT_TRUE(WIFEXITED(status));
  }
  events_come.join();
  trace::stop();
  EXPECT_TRUE(json::accept(text_of(file_)));
}

// A child that lives on must not keep the file from the next run.
TEST_F(TraceTest, AForkedChildLetsGoOfTheFile) {
  trace::start(file_);
  int ready[2], done[2];
  ASSERT_EQ(pipe(ready) | pipe(done), 0);
  const pid_t child = fork();
  if (child == 0) {
    char byte = 0;
    static_cast<void>(!write(ready[1], &byte, 1));
    static_cast<void>(!read(done[0], &byte, 1));
    _exit(trace::on() ? 1 : 0);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  trace::stop();
  trace::start(file_);
  EXPECT_TRUE(trace::on()) << text_of(log_);
  ASSERT_EQ(write(done[1], "", 1), 1);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(TraceTest, AFileThatIsInUseIsLeftAlone) {
  int ready[2], done[2];
  ASSERT_EQ(pipe(ready) | pipe(done), 0);
  const pid_t child = fork();
  if (child == 0) {
    trace::start(file_);
    trace::slice({1, 1}, "api", "its", 1, 2);
    char byte = 0;
    static_cast<void>(!write(ready[1], &byte, 1));
    static_cast<void>(!read(done[0], &byte, 1));
    trace::stop();
    _exit(0);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  trace::start(file_);
  EXPECT_FALSE(trace::on());
  EXPECT_THAT(text_of(log_), HasSubstr("another process is writing its trace there"));
  ASSERT_EQ(write(done[1], &byte, 1), 1);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(events("api").size(), 1u);
}

}  // namespace
}  // namespace tutti
