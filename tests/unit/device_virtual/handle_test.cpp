// SPDX-License-Identifier: Apache-2.0
#include "device_virtual/handle.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "device_virtual/info.h"

namespace tutti::device_virtual {
namespace {

int living = 0;
int left_by_the_application = 0;

class Thing : public Handle<Thing, _cl_event, Kind::kEvent> {
 public:
  Thing() { ++living; }
  ~Thing() { --living; }
  void last_public_release() { ++left_by_the_application; }
};
class Other : public Handle<Other, _cl_event, Kind::kSampler> {};

TEST(Handle, BeginsWithTheDispatchPointer) {
  static const int table = 0;
  g_dispatch = &table;
  auto* thing = new Thing;
  const void* first_word = *reinterpret_cast<const void* const*>(thing->handle());
  EXPECT_EQ(first_word, &table);
  EXPECT_TRUE(thing->release_public());
}

TEST(Handle, IsRecognisedByKind) {
  auto* thing = new Thing;
  EXPECT_EQ(from_handle<Thing>(thing->handle()), thing);
  EXPECT_EQ(from_handle<Other>(thing->handle()), nullptr);
  EXPECT_EQ(from_handle<Thing>(nullptr), nullptr);
  EXPECT_EQ(from_handle<Thing>(
                reinterpret_cast<cl_event>(reinterpret_cast<uintptr_t>(thing->handle()) + 1)),
            nullptr);
  thing->release_public();
}

TEST(Handle, ADeadOneIsRecognisedAndKeepsItsDispatchPointer) {
  static const int table = 0;
  g_dispatch = &table;
  auto* thing = new Thing;
  cl_event handle = thing->handle();
  EXPECT_TRUE(thing->release_public());
  EXPECT_EQ(from_handle<Thing>(handle), nullptr);
  EXPECT_EQ(handle->dispatch, &table);
}

TEST(Handle, InternalOwnershipOutlivesTheApplications) {
  const int before = living;
  const int left = left_by_the_application;
  auto* thing = new Thing;
  EXPECT_EQ(thing->public_references(), 1u);
  thing->retain_public();
  EXPECT_EQ(thing->public_references(), 2u);
  Ref<Thing> inside(thing);
  EXPECT_EQ(thing->public_references(), 2u);
  EXPECT_TRUE(thing->release_public());
  EXPECT_EQ(left_by_the_application, left);
  EXPECT_TRUE(thing->release_public());
  EXPECT_EQ(left_by_the_application, left + 1);
  EXPECT_FALSE(thing->release_public());
  EXPECT_EQ(living, before + 1);
  EXPECT_EQ(from_handle<Thing>(thing->handle()), thing);
  thing->retain_public();  // a handle that a query handed out again
  inside = nullptr;
  EXPECT_EQ(living, before + 1);
  EXPECT_TRUE(thing->release_public());
  EXPECT_EQ(living, before);
}

TEST(Handle, PoolHandsOutDistinctMemoryToManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int round = 0; round < 50; ++round) {
        std::vector<Other*> mine;
        for (int i = 0; i < 100; ++i) mine.push_back(new Other);
        for (Other* one : mine) ASSERT_EQ(from_handle<Other>(one->handle()), one);
        for (Other* one : mine) one->release_public();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(InfoAnswer, SizeQueryValueAndTooSmallBuffer) {
  size_t size = 0;
  EXPECT_TRUE(InfoAnswer(0, nullptr, &size).value<cl_ulong>(7));
  EXPECT_EQ(size, sizeof(cl_ulong));
  cl_ulong value = 0;
  EXPECT_TRUE(InfoAnswer(sizeof value, &value, nullptr).value<cl_ulong>(7));
  EXPECT_EQ(value, 7u);
  size = 99;
  const Status small = InfoAnswer(4, &value, &size).value<cl_ulong>(8);
  EXPECT_EQ(code_of(small), CL_INVALID_VALUE);
  EXPECT_EQ(value, 7u);
  char text[4] = "xyz";
  EXPECT_EQ(code_of(InfoAnswer(3, text, nullptr).string("abc")), CL_INVALID_VALUE);
  EXPECT_TRUE(InfoAnswer(4, text, &size).string("abc"));
  EXPECT_STREQ(text, "abc");
  EXPECT_EQ(size, 4u);
}

}  // namespace
}  // namespace tutti::device_virtual
