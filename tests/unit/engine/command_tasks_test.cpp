// SPDX-License-Identifier: Apache-2.0
// An exception in a task ends its command with an error, never the process.
#include "scheduler/order/command_tasks.h"

#include <new>
#include <stdexcept>

#include "log_fixture.h"

namespace tutti::testing {
namespace {

using namespace scheduler;

class CommandTasksTest : public LogTest {
 protected:
  /// A command that runs, and the status with which it ends.
  Ref<Node> running() {
    auto started = command();
    log.set_running(started);
    return started;
  }
  cl_int end_of(const Ref<Node>& command) {
    for (;;) {
      const cl_int status = command->shown_status.load(std::memory_order_acquire);
      if (status <= CL_COMPLETE) return status;
      command->shown_status.wait(status, std::memory_order_acquire);
    }
  }

  CommandTasks tasks{log};
  Workers workers;
};

TEST_F(CommandTasksTest, InTheCallingThread) {
  const auto well = running(), ill = running();
  EXPECT_TRUE(tasks.run(well, [&] { log.finish(well, CL_COMPLETE); }));
  EXPECT_EQ(end_of(well), CL_COMPLETE);
  EXPECT_FALSE(tasks.run(ill, [] { throw std::bad_alloc(); }));
  EXPECT_EQ(end_of(ill), CL_OUT_OF_HOST_MEMORY);
}

TEST_F(CommandTasksTest, InAWorkersThreadWhichGoesOn) {
  const auto ill = running(), well = running();
  tasks.post(workers.host(), ill, [] { throw std::runtime_error("spilled"); });
  tasks.post(workers.host(), well, [&] { log.finish(well, CL_COMPLETE); });
  EXPECT_EQ(end_of(ill), CL_OUT_OF_RESOURCES);
  EXPECT_EQ(end_of(well), CL_COMPLETE);
}

TEST_F(CommandTasksTest, WhatHasEndedBeforeItThrewKeepsItsStatus) {
  const auto done = running();
  EXPECT_FALSE(tasks.run(done, [&] {
    log.finish(done, CL_COMPLETE);
    throw std::runtime_error("spilled");
  }));
  EXPECT_EQ(end_of(done), CL_COMPLETE);
}

}  // namespace
}  // namespace tutti::testing
