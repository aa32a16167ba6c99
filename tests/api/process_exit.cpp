// SPDX-License-Identifier: Apache-2.0
//
// Leaving the process in every disorderly way: nothing hangs or crashes, whatever was forgotten.
#include "child_process.h"
#include "fixtures.h"

namespace tutti::api_tests {
namespace {

using ProcessExit = PlatformTest;

TEST_F(ProcessExit, EverythingReleased) { EXPECT_EQ(run_and_describe("tidy"), ""); }

TEST_F(ProcessExit, CommandsRunning) { EXPECT_EQ(run_and_describe("leave_running"), ""); }

TEST_F(ProcessExit, CommandsNotFlushed) { EXPECT_EQ(run_and_describe("leave_unflushed"), ""); }

TEST_F(ProcessExit, CommandsHeldBackByUserEvent) {
  EXPECT_EQ(run_and_describe("leave_held_back"), "");
}

TEST_F(ProcessExit, BufferMapped) { EXPECT_EQ(run_and_describe("leave_mapped"), ""); }

TEST_F(ProcessExit, OtherThreadsInCalls) {
  EXPECT_EQ(run_and_describe("leave_in_the_middle_of_calls"), "");
}

TEST_F(ProcessExit, ReleasedByStaticDestructor) {
  EXPECT_EQ(run_and_describe("release_after_main"), "");
}

TEST_F(ProcessExit, ForkWithoutExec) {
  if (!options().tutti) GTEST_SKIP() << "no vendor promises anything after fork";
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer does not follow a fork of a process with several threads";
#endif
  EXPECT_EQ(run_and_describe("fork_and_use"), "");
}

}  // namespace
}  // namespace tutti::api_tests
