// SPDX-License-Identifier: Apache-2.0
// The engine's threads by themselves: order, and the barrier that no exception passes.
#include "scheduler/devices/workers.h"

#include <gtest/gtest.h>

#include <future>
#include <new>
#include <stdexcept>
#include <vector>

namespace tutti::testing {
namespace {

using namespace scheduler;

/// What a task that ends so is reported as; CL_SUCCESS: as nothing.
template <typename Task>
Error reported(Worker& worker, Task task) {
  Error heard{CL_SUCCESS, {}};
  std::promise<void> behind;
  worker.post(std::move(task), [&heard](const Error& why) { heard = why; });
  worker.post_hint([&behind] { behind.set_value(); });
  behind.get_future().wait();
  return heard;
}

TEST(Workers, AnExceptionIsHeardAndTheThreadGoesOn) {
  Workers workers;
  Worker& worker = workers.device(0);
  EXPECT_EQ(reported(worker, [] { throw std::bad_alloc(); }).code, CL_OUT_OF_HOST_MEMORY);
  const Error told = reported(worker, [] { throw std::runtime_error("spilled"); });
  EXPECT_EQ(told.code, CL_OUT_OF_RESOURCES);
  EXPECT_EQ(told.message, "spilled");
  EXPECT_EQ(reported(worker, [] { throw 1; }).code, CL_OUT_OF_RESOURCES);
  EXPECT_EQ(reported(worker, [] {}).code, CL_SUCCESS);
}

TEST(Workers, AHintThatThrowsIsForgotten) {
  Workers workers;
  workers.conductor().post_hint([] { throw std::runtime_error("spilled"); });
  EXPECT_EQ(reported(workers.conductor(), [] {}).code, CL_SUCCESS);
}

TEST(Workers, EachHasItsOrderAndWaitsForNoOther) {
  Workers workers;
  std::promise<void> go;
  std::vector<int> done;
  workers.host().post_hint([&] {
    go.get_future().wait();
    done.push_back(1);
  });
  workers.host().post_hint([&] { done.push_back(2); });
  workers.native().post_hint([&] { go.set_value(); });
  EXPECT_EQ(reported(workers.host(), [] {}).code, CL_SUCCESS);
  EXPECT_EQ(done, (std::vector<int>{1, 2}));
}

}  // namespace
}  // namespace tutti::testing
