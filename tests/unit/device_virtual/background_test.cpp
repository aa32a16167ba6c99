// SPDX-License-Identifier: Apache-2.0
#include "device_virtual/background.h"

#include <gtest/gtest.h>

#include <future>
#include <stdexcept>
#include <thread>

namespace tutti::device_virtual {
namespace {

TEST(Background, WorkComesFirstAndBothAreInAnotherThread) {
  std::promise<std::thread::id> worked, came_after;
  ASSERT_TRUE(run_in_background([&] { worked.set_value(std::this_thread::get_id()); },
                                [&] { came_after.set_value(std::this_thread::get_id()); }));
  const auto thread = worked.get_future().get();
  EXPECT_NE(thread, std::this_thread::get_id());
  EXPECT_EQ(came_after.get_future().get(), thread);
}

TEST(Background, OneWaitsForNoOther) {
  std::promise<void> go, first_done, second_done;
  ASSERT_TRUE(run_in_background([&] { go.get_future().wait(); }, [&] { first_done.set_value(); }));
  ASSERT_TRUE(run_in_background([&] { go.set_value(); }, [&] { second_done.set_value(); }));
  second_done.get_future().wait();
  first_done.get_future().wait();
}

TEST(Background, WhatThrowsIsFollowedByItsCallback) {
  std::promise<void> called;
  ASSERT_TRUE(
      run_in_background([] { throw std::runtime_error("spilled"); }, [&] { called.set_value(); }));
  called.get_future().wait();
}

}  // namespace
}  // namespace tutti::device_virtual
