// SPDX-License-Identifier: Apache-2.0
// What the trace is told of a device's memory.
#include "scheduler/devices/memory_history.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/temporary_folder.h"
#include "base/trace.h"
#include "log_fixture.h"

namespace tutti::testing {
namespace {

using namespace scheduler;
using nlohmann::json;

class MemoryHistoryTest : public LogTest {
 protected:
  MemoryHistoryTest() {
    trace::start(file_);
    add_device(kSharesHost);
    device = &add_device(kOwnMemory);
  }
  ~MemoryHistoryTest() override { trace::stop(); }
  /// The events of the device whose name or category is "memory", in the order of their times.
  std::vector<json> events() {
    for (uint32_t i = 0; i < set().count(); ++i) set().memory(i).history().tell_rest();
    trace::stop();
    std::ifstream text(file_);
    std::vector<json> found;
    for (const json& event : json::parse(text)) {
      if (event["name"] != "memory" && event.value("cat", "") != "memory") continue;
      if (event["ph"] == "M") continue;
      EXPECT_EQ(event["pid"], trace::kDevices + 1);
      found.push_back(event);
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const json& a, const json& b) { return a["ts"] < b["ts"]; });
    return found;
  }
  static std::vector<uint64_t> bytes_of(const std::vector<json>& events) {
    std::vector<uint64_t> bytes;
    for (const json& event : events) {
      if (event["ph"] == "C") bytes.push_back(event["args"]["bytes"]);
    }
    return bytes;
  }

  const TemporaryFolder folder_;
  const std::string file_ = folder_ / "trace.json";
  FakeBackend* device = nullptr;
};

TEST_F(MemoryHistoryTest, TheTraceHasTheBytesThatBuffersHave) {
  {
    const auto one = buffer(), two = buffer(2 * kBytes);
    ASSERT_TRUE(one->device_memory(1));
    ASSERT_TRUE(two->device_memory(1));
    ASSERT_TRUE(one->device_memory(0));  // in the host's memory, which is no device's
    // What is reserved for the host's copies is no buffer's there.
    ASSERT_TRUE(set().memory(1).reserve(kBytes));
    ASSERT_TRUE(one->evict(1));
    set().memory(1).release(kBytes);
    device->memory_left = 0;
    EXPECT_FALSE(buffer()->device_memory(1));
  }
  EXPECT_EQ(set().memory(1).peak(), 3 * kBytes);
  EXPECT_EQ(bytes_of(events()), (std::vector<uint64_t>{kBytes, 3 * kBytes, 2 * kBytes, 0}));
}

TEST_F(MemoryHistoryTest, WhatWasLeftOutIsToldAtLast) {
  {
    const auto large = buffer(1024 * kBytes), small = buffer(kBytes / 4);
    ASSERT_TRUE(large->device_memory(1));
    ASSERT_TRUE(small->device_memory(1));
    EXPECT_EQ(set().memory(1).peak(), 1024 * kBytes + kBytes / 4);
    ASSERT_TRUE(small->evict(1));
    EXPECT_EQ(bytes_of(events()),
              (std::vector<uint64_t>{1024 * kBytes, 1024 * kBytes + kBytes / 4, 1024 * kBytes}));
  }
}

TEST_F(MemoryHistoryTest, EvictionsAndShardsAreSlices) {
  MemoryHistory& history = set().memory(1).history();
  const uint64_t began = now_ns();
  history.evicted(100, began);
  history.reshaped(20, now_ns());
  history.reshaped(30, now_ns());
  EXPECT_EQ(history.sums().evicted.count, 1u);
  EXPECT_EQ(history.sums().evicted.bytes, 100u);
  EXPECT_EQ(history.sums().reshaped.count, 2u);
  EXPECT_EQ(history.sums().reshaped.bytes, 50u);
  const auto found = events();
  ASSERT_EQ(found.size(), 3u);
  for (const json& event : found) {
    EXPECT_EQ(event["ph"], "X");
    EXPECT_EQ(event["args"]["device"], 1);
    EXPECT_EQ(event["tid"], found[0]["tid"]);
  }
  EXPECT_EQ(found[0]["name"], "eviction");
  EXPECT_NEAR(found[0]["ts"].get<double>(), static_cast<double>(began) / 1000, 1e-2);
  EXPECT_EQ(found[2]["name"], "shard");
  EXPECT_EQ(found[2]["args"]["bytes"], 30);
}

TEST_F(MemoryHistoryTest, OffItCountsOnly) {
  trace::stop();
  MemoryHistory& history = set().memory(1).history();
  history.changed(5);
  history.evicted(100, now_ns());
  EXPECT_EQ(history.sums().evicted.bytes, 100u);
  EXPECT_TRUE(events().empty());
}

}  // namespace
}  // namespace tutti::testing
