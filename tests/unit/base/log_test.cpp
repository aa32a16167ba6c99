// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <thread>
#include <vector>

#include "temporary_folder.h"

namespace tutti {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class LogTest : public ::testing::Test {
 protected:
  void TearDown() override { start_log(LogLevel::kWarning); }
  std::string read(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  TemporaryFolder folder_;
};

TEST_F(LogTest, Levels) {
  const std::string file = folder_ / "log";
  start_log(LogLevel::kInfo, file);
  log(LogLevel::kError, "one {}", 1);
  log(LogLevel::kInfo, "two {}", "x");
  log(LogLevel::kDebug, "three");
  EXPECT_TRUE(log_enabled(LogLevel::kInfo));
  EXPECT_FALSE(log_enabled(LogLevel::kDebug));
  EXPECT_THAT(read(file),
              AllOf(HasSubstr("error: one 1"), HasSubstr("info: two x"), Not(HasSubstr("three"))));
  start_log(LogLevel::kOff, file);
  EXPECT_FALSE(log_enabled(LogLevel::kError));
}

TEST_F(LogTest, Once) {
  const std::string file = folder_ / "log";
  start_log(LogLevel::kWarning, file);
  for (int i = 0; i < 3; ++i) log_once("LogTest.Once", LogLevel::kWarning, "number {}", i);
  EXPECT_THAT(read(file), AllOf(HasSubstr("number 0"), Not(HasSubstr("number 1"))));
}

TEST_F(LogTest, AFileThatCannotBeOpened) {
  ::testing::internal::CaptureStderr();
  start_log(LogLevel::kWarning, folder_.write("file", "") + "/log");
  log(LogLevel::kWarning, "still here");
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("TUTTI_LOG"), HasSubstr("still here")));
}

TEST_F(LogTest, APipeIsNotWaitedFor) {
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  ::testing::internal::CaptureStderr();
  start_log(LogLevel::kWarning, pipe);
  log(LogLevel::kWarning, "still here");
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("it is a pipe, not a file"), HasSubstr("still here")));
}

TEST_F(LogTest, ManyThreads) {
  const std::string file = folder_ / "log";
  start_log(LogLevel::kInfo, file);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 100; ++i) log(LogLevel::kInfo, "thread {} line {}", t, i);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string text = read(file);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 400);
}

// Destroyed after main's objects and after most of what libraries made.
struct LogsWhenDestroyed {
  ~LogsWhenDestroyed() { log(LogLevel::kError, "the very end"); }
};

TEST(LogDeathTest, LogsDuringProcessExit) {
  EXPECT_EXIT(
      {
        static LogsWhenDestroyed last;
        start_log(LogLevel::kError);
        std::exit(3);
      },
      ::testing::ExitedWithCode(3), "the very end");
}

}  // namespace
}  // namespace tutti
