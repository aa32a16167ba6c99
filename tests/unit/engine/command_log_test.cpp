// SPDX-License-Identifier: Apache-2.0
// The dependency graph by itself: commands that nobody executes, a sink that writes down.
#include "scheduler/order/command_log.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <vector>

#include "log_fixture.h"

namespace tutti::testing {
namespace {

using namespace scheduler;

/// What a vendor's event does when the last reference goes: it calls the vendor, for which the log
/// must not be locked. Here it takes the lock itself: under it, that would never return.
class LockingCompletion final : public backends::Completion {
 public:
  LockingCompletion(LogMutex& mutex, int& gone) : mutex_(mutex), gone_(gone) {}
  ~LockingCompletion() override {
    MutexLock lock(mutex_);
    ++gone_;
  }
  cl_int poll() override { return CL_SUBMITTED; }
  bool known_complete() const override { return false; }
  Status wait() override { return {}; }
  std::optional<backends::VendorTimes> times() override { return std::nullopt; }

 private:
  LogMutex& mutex_;
  int& gone_;
};

class CommandLogTest : public LogTest {
 protected:
  /// Appends a command; true when it may start at once.
  bool enqueue(Stream& stream, const Ref<Node>& added, std::vector<Command*> wait_list = {},
               bool barrier = false) {
    Nodes watch;
    MutexLock lock(log.mutex());
    const auto edges = log.prerequisites(stream, wait_list, barrier, *added);
    EXPECT_EQ(added->dependency_error, CL_SUCCESS);
    log.append(stream, added, barrier);
    log.link(*added, edges, watch);
    left.push_back(added);
    return log.unguard(*added);
  }
  void finish(const Ref<Node>& command, cl_int status) {
    std::erase(left, command);
    log.finish(command, status);
  }
  /// The log holds what has not ended, as the command holds its stream.
  void TearDown() override {
    for (const auto& command : left) log.finish(command, CL_COMPLETE);
  }
  void make_direct(const Ref<Node>& direct, backends::CompletionPtr completion) {
    MutexLock lock(log.mutex());
    log.set_direct(*direct, 0, std::move(completion));
  }

  FakeBackend& device = add_device(kSharesHost);
  std::deque<Ref<Node>> left;  // that has been enqueued, and not finished by the test
  Ref<Stream> in_order = stream({});
  Ref<Stream> out_of_order = stream({.out_of_order = true});
};

TEST_F(CommandLogTest, AnInOrderStreamIsAChain) {
  const auto a = command(), b = command();
  EXPECT_TRUE(enqueue(*in_order, a));
  EXPECT_FALSE(enqueue(*in_order, b));
  finish(a, CL_COMPLETE);
  ASSERT_EQ(sink.started.size(), 1u);
  EXPECT_EQ(sink.started[0], b);
}

TEST_F(CommandLogTest, AnOutOfOrderStreamOrdersByBarriersAndWaitLists) {
  const auto a = command(), b = command(), barrier = command(), behind = command();
  EXPECT_TRUE(enqueue(*out_of_order, a));
  EXPECT_TRUE(enqueue(*out_of_order, b));
  EXPECT_FALSE(enqueue(*out_of_order, barrier, {}, true));
  EXPECT_FALSE(enqueue(*out_of_order, behind));
  finish(a, CL_COMPLETE);
  EXPECT_TRUE(sink.started.empty());
  finish(b, CL_COMPLETE);
  ASSERT_EQ(sink.started.size(), 1u);
  finish(barrier, CL_COMPLETE);
  ASSERT_EQ(sink.started.size(), 2u);
  EXPECT_EQ(sink.started[1], behind);
}

TEST_F(CommandLogTest, AFailureReachesThoseThatNamedIt) {
  const auto failed = command(), named = command(), behind = command();
  EXPECT_TRUE(enqueue(*in_order, failed));
  EXPECT_FALSE(enqueue(*out_of_order, named, {failed.get()}));
  EXPECT_FALSE(enqueue(*in_order, behind));
  finish(failed, CL_OUT_OF_RESOURCES);
  EXPECT_EQ(failed->status(), CL_OUT_OF_RESOURCES);
  EXPECT_EQ(named->status(), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  ASSERT_EQ(sink.started.size(), 1u);  // the order of a stream passes no failure on
  EXPECT_EQ(sink.started[0], behind);
}

TEST_F(CommandLogTest, ALongChainOfFailuresNeedsNoStack) {
  const auto first = command();
  EXPECT_TRUE(enqueue(*out_of_order, first));
  Ref<Node> last = first;
  for (int i = 0; i < 200000; ++i) {
    const auto next = command();
    EXPECT_FALSE(enqueue(*out_of_order, next, {last.get()}));
    last = next;
  }
  finish(first, CL_OUT_OF_RESOURCES);
  EXPECT_EQ(last->status(), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
}

TEST_F(CommandLogTest, ACommandEndsOnce) {
  const auto a = command();
  EXPECT_TRUE(enqueue(*in_order, a));
  finish(a, CL_COMPLETE);
  finish(a, CL_OUT_OF_RESOURCES);
  EXPECT_EQ(a->status(), CL_COMPLETE);
}

TEST_F(CommandLogTest, CallbacksHearWhatTheyAskedForAndFailuresAtOnce) {
  std::vector<cl_int> heard;
  const auto add = [&](const Ref<Node>& to, cl_int type) {
    Command::Callback note = [&heard](cl_int status) { heard.push_back(status); };
    if (const auto now = log.add_callback(to, type, note)) note(*now);
  };
  const auto a = command(), b = command();
  EXPECT_TRUE(enqueue(*in_order, a));
  add(a, CL_COMPLETE);
  add(a, CL_RUNNING);
  finish(a, CL_COMPLETE);
  EXPECT_EQ(heard, (std::vector<cl_int>{CL_RUNNING, CL_COMPLETE}));
  heard.clear();
  EXPECT_TRUE(enqueue(*in_order, b));
  add(b, CL_RUNNING);
  finish(b, CL_OUT_OF_RESOURCES);
  add(b, CL_COMPLETE);
  EXPECT_EQ(heard, (std::vector<cl_int>{CL_OUT_OF_RESOURCES, CL_OUT_OF_RESOURCES}));
}

TEST_F(CommandLogTest, RangesOfStartedCommandsConflict) {
  const auto used = buffer();
  const auto writer = command(), reader = command();
  EXPECT_TRUE(enqueue(*out_of_order, writer));
  EXPECT_TRUE(enqueue(*out_of_order, reader));
  const BufferUse writes{used.get(), 0, 100, true};
  const BufferUse beside{used.get(), 100, 200, false};
  const BufferUse meets{used.get(), 99, 200, false};
  {
    MutexLock lock(log.mutex());
    log.hold(*writer, {&writes, 1});
    EXPECT_TRUE(log.conflicts(*reader, {&beside, 1}).empty());
    EXPECT_EQ(log.conflicts(*reader, {&meets, 1}).size(), 1u);
    EXPECT_TRUE(log.conflicts(*writer, {&meets, 1}).empty());
  }
  finish(writer, CL_COMPLETE);
  MutexLock lock(log.mutex());
  EXPECT_TRUE(log.conflicts(*reader, {&meets, 1}).empty());
}

TEST_F(CommandLogTest, WhoTakesOverUsesHasOnlyWrittenItsOwnAnew) {
  // Uses of one in-order stream on one device become one, which says what was written anew.
  const auto partly = [&](std::initializer_list<std::pair<uint64_t, uint64_t>> ranges, bool joins) {
    const auto used = buffer();
    Ref<Node> last;
    for (const auto& [begin, end] : ranges) {
      if (!last || !joins) {
        last = command();
        static_cast<void>(enqueue(*in_order, last));
      }
      MutexLock lock(log.mutex());
      last->state = Node::State::kSubmitting;
      last->backend = 0;
      const BufferUse writes{used.get(), begin, end, true, true, false};
      log.hold(*last, {&writes, 1});
      last->state = Node::State::kDirect;
    }
    EXPECT_EQ(used->uses.size(), 1u);
    const bool found = used->uses.front().partly;
    used->uses.clear();
    return found;
  };
  EXPECT_FALSE(partly({{0, 10}}, false));
  EXPECT_TRUE(partly({{0, 10}, {20, 30}}, false));
  EXPECT_TRUE(partly({{0, 20}, {10, 30}}, false));  // the first one may have failed
  EXPECT_FALSE(partly({{10, 20}, {0, 30}}, false));
  EXPECT_TRUE(partly({{0, 10}, {20, 30}}, true));
  EXPECT_FALSE(partly({{0, 20}, {10, 30}}, true));
  EXPECT_FALSE(partly({{0, 10}, {10, 20}}, true));
  EXPECT_TRUE(partly({{0, 10}, {20, 30}, {25, 35}}, true));
}

TEST_F(CommandLogTest, WhatIsReplacedGoesWhenTheLockHasBeenLetGo) {
  int gone = 0;
  const auto a = command();
  EXPECT_TRUE(enqueue(*in_order, a));
  for (int i = 0; i < 3; ++i) {
    make_direct(a, std::make_shared<LockingCompletion>(log.mutex(), gone));
    EXPECT_EQ(gone, i);
  }
  {
    MutexLock lock(log.mutex());
    log.set_direct(*a, 0, std::make_shared<LockingCompletion>(log.mutex(), gone));
    log.set_direct(*a, 0, std::make_shared<LockingCompletion>(log.mutex(), gone));
    EXPECT_EQ(gone, 2);
  }
  EXPECT_EQ(gone, 4);
  finish(a, CL_COMPLETE);
}

TEST_F(CommandLogTest, DoneCommandsGoWhenTheLockHasBeenLetGo) {
  int gone = 0;
  {
    // Behind one that is not done, so that the stream alone holds it when it is dropped.
    const auto unfinished = command(), done = command();
    EXPECT_TRUE(enqueue(*out_of_order, unfinished));
    EXPECT_TRUE(enqueue(*out_of_order, done));
    make_direct(done, std::make_shared<LockingCompletion>(log.mutex(), gone));
    finish(done, CL_COMPLETE);
    finish(unfinished, CL_COMPLETE);
  }
  EXPECT_TRUE(enqueue(*out_of_order, command()));
  EXPECT_EQ(gone, 1);
}

}  // namespace
}  // namespace tutti::testing
