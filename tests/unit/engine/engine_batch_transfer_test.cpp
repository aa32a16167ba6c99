// SPDX-License-Identifier: Apache-2.0
// What joins a batch beside launches, or leaves it as it is: small writes, copies, markers, maps.
#include <algorithm>
#include <atomic>
#include <deque>
#include <latch>
#include <numeric>

#include "batch_fixture.h"

namespace tutti::testing {
namespace {

using namespace scheduler;

class EngineBatchTransfer : public BatchTest {};

TEST_F(EngineBatchTransfer, SmallWritesJoin) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{
           {kOwnMemory}, {kCostlyTimes}, {kSharesHost}, {kReadsAhead}, {kOwnMemory, kOwnMemory}}) {
    auto stream = begin(devices, {}), other = engine->create_stream({});
    const auto in = buffer(1), out = buffer(0);
    std::deque<std::vector<std::byte>> kept;
    for (uint32_t c = 0; c < 200; ++c) {
      kept.push_back(filled(static_cast<uint8_t>(c)));
      write(*stream, in, kBytes, kept.back().data(), c % 3 == 0);
      if (c % 3 == 0) kept.back() = filled(99);  // it is the application's again
      const auto event = launch(*stream, in, out, 5);
      if (c % 10 == 9) {
        EXPECT_EQ(read(*stream, out), mapped(c, 5)) << devices;
        EXPECT_EQ(event->status(), CL_COMPLETE);
      }
      // What others have changed is looked at.
      if (c % 50 == 49) {
        const auto content = filled(77);
        ASSERT_TRUE(
            enqueue(*other, WriteWork{whole(in), 0, kBytes, content.data()}, {event.get()}, true));
        launch(*stream, in, out, 6);
        EXPECT_EQ(read(*stream, out), mapped(77, 6)) << devices;
      }
    }
    EXPECT_GT(again, 100) << devices;
    EXPECT_TRUE(engine->finish(*stream));
  }
}

TEST_F(EngineBatchTransfer, SmallCopiesJoin) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{{kOwnMemory},
                                                         {kCostlyTimes},
                                                         {kSharesHost},
                                                         {kReadsAhead},
                                                         {kOwnMemory, kOwnMemory},
                                                         {kOwnMemory, kSharesHost}}) {
    auto stream = begin(devices, {}), other = engine->create_stream({});
    const auto in = buffer(1), out = buffer(0), from = buffer(7);
    auto last = filled(0);  // what `out` holds
    for (uint32_t c = 0; c < 200; ++c) {
      // The other half of what is copied comes from the last launch.
      ASSERT_TRUE(enqueue(*stream, CopyWork{whole(from), whole(in), 0, 0, kBytes / 2}));
      ASSERT_TRUE(enqueue(*stream, CopyWork{whole(out), whole(in), 0, kBytes / 2, kBytes / 2}));
      auto expected = filled(c >= 150 ? 9 : 7);
      std::copy_n(last.begin(), kBytes / 2, expected.begin() + kBytes / 2);
      launch(*stream, in, out, 5);
      for (std::byte& byte : expected) byte = std::byte(static_cast<uint8_t>(byte) * 3 + 5);
      last = expected;
      if (c % 10 == 9) {
        EXPECT_EQ(read(*stream, out), expected) << devices << c;
      }
      // What others change is copied from then on.
      if (c == 149) {
        const auto content = filled(9);
        ASSERT_TRUE(engine->finish(*stream));
        ASSERT_TRUE(enqueue(*other, WriteWork{whole(from), 0, kBytes, content.data()}, {}, true));
      }
    }
    EXPECT_GT(again, 100) << devices;
    EXPECT_TRUE(engine->finish(*stream));
  }
}

TEST_F(EngineBatchTransfer, MarkersJoin) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{
           {kOwnMemory}, {kCostlyTimes}, {kSharesHost}, {kOwnMemory, kOwnMemory}}) {
    auto stream = begin(devices);
    const auto in = buffer(1), out = buffer(0);
    EnqueueOptions options;
    options.type = CL_COMMAND_MARKER;
    std::atomic<int> called = 0;
    std::deque<Ref<Command>> events;
    for (uint32_t c = 0; c < 200; ++c) {
      const auto before = launch(*stream, in, out, c);
      const auto marker = engine->enqueue(*stream, MarkerWork{}, options);
      ASSERT_TRUE(marker) << devices;
      events.push_back(*marker);
      EXPECT_EQ(events.back()->type(), static_cast<cl_command_type>(CL_COMMAND_MARKER));
      if (c % 7 == 0) {
        events.back()->add_callback(CL_COMPLETE, [&](cl_int) {
          ++called;
          called.notify_all();
        });
      }
      if (c % 20 == 19) {
        EXPECT_TRUE(wait(events.back()));
        EXPECT_EQ(before->status(), CL_COMPLETE) << devices;
      }
    }
    EXPECT_EQ(read(*stream, out), mapped(1, 199)) << devices;
    EXPECT_TRUE(engine->finish(*stream));
    for (const auto& event : events) EXPECT_EQ(event->status(), CL_COMPLETE) << devices;
    EXPECT_GT(again, 100) << devices;
    for (int now = called; now != 29; now = called) called.wait(now);
  }
}

TEST_F(EngineBatchTransfer, BuffersThatAreNewNeedNoOtherThread) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{
           {kOwnMemory, kOwnMemory}, {kOwnMemory, kSharesHost}, {kCostlyTimes, kSharesHost}}) {
    auto stream = begin(devices);
    const auto out = buffer(0);
    EXPECT_TRUE(wait(launch(*stream, buffer(1), out, 0)));
    const auto launched = [&] {
      return std::accumulate(fakes.begin(), fakes.end(), uint64_t{0},
                             [](uint64_t all, const auto* fake) { return all + fake->launches; });
    };
    std::latch enqueued{1};
    before_each_ = [&] { enqueued.wait(); };
    const uint64_t before = launched();
    const auto data = filled(7);
    for (uint32_t c = 0; c < 20; ++c) {
      LogicalBuffer::Options empty;
      empty.size = kBytes;
      const auto in = *engine->create_buffer(empty, nullptr);
      write(*stream, in, kBytes, data.data());
      launch(*stream, in, out, c);
      EXPECT_EQ(launched(), before + c + 1) << devices;
    }
    enqueued.count_down();
    EXPECT_EQ(read(*stream, out), mapped(7, 19)) << devices;
    before_each_ = [] {};
  }
}

TEST_F(EngineBatchTransfer, MapsLeaveTheBatchWhereMemoryIsOne) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{{kSharesHost},
                                                         {kSynchronous},
                                                         {kOwnMemory},
                                                         {kCostlyTimes},
                                                         {kSharesHost, kOwnMemory}}) {
    auto stream = begin(devices);
    const auto in = buffer(1), out = buffer(0);
    EnqueueOptions options;
    options.observed = false;
    for (uint32_t c = 0; c < 60; ++c) {
      options.blocking = true;
      options.type = CL_COMMAND_MAP_BUFFER;
      ASSERT_TRUE(engine->enqueue(*stream, MapWork{whole(in), 0, kBytes, false}, options));
      std::fill_n(*in->host_memory(), kBytes, static_cast<std::byte>(c));
      options.blocking = false;
      options.type = CL_COMMAND_UNMAP_MEM_OBJECT;
      ASSERT_TRUE(engine->enqueue(*stream, UnmapWork{whole(in), 0, kBytes, true}, options));
      launch(*stream, in, out, c);
      // What was computed is mapped, too.
      options.blocking = true;
      options.type = CL_COMMAND_MAP_BUFFER;
      ASSERT_TRUE(engine->enqueue(*stream, MapWork{whole(out), 0, kBytes, false}, options));
      EXPECT_TRUE(std::ranges::equal(std::span(*out->host_memory(), kBytes), mapped(c, c)))
          << devices << c;
      options.blocking = false;
      options.type = CL_COMMAND_UNMAP_MEM_OBJECT;
      ASSERT_TRUE(engine->enqueue(*stream, UnmapWork{whole(out), 0, kBytes, false}, options));
    }
    if (devices == FakeKinds{kSharesHost} || devices == FakeKinds{kSynchronous}) {
      EXPECT_GT(again, 40) << devices;
    }
    EXPECT_TRUE(engine->finish(*stream));
  }
}

TEST_F(EngineBatchTransfer, AWriteOfWhatIsStillBeingReadWaits) {
  // The device takes what it writes at once, also when the read before has not ended.
  auto stream = begin({kReadsAhead});
  const auto in = buffer(1), out = buffer(0), other = buffer(0);
  for (uint32_t c = 0; c < 20; ++c) launch(*stream, in, out, c);
  EXPECT_GT(again, 5);
  ASSERT_TRUE(engine->finish(*stream));  // nobody looks at before_each_ now
  std::latch held(1);
  before_each_ = [&] { held.wait(); };
  launch(*stream, in, out, 40);
  auto bytes = filled(0);
  ASSERT_TRUE(enqueue(*stream, ReadWork{whole(out), 0, kBytes, bytes.data()}));
  launch(*stream, in, other, 41);
  write(*stream, other, kBytes, bytes.data());
  held.count_down();
  EXPECT_EQ(read(*stream, other), mapped(1, 40));
  EXPECT_TRUE(engine->finish(*stream));
}

}  // namespace
}  // namespace tutti::testing
