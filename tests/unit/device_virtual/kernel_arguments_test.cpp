// SPDX-License-Identifier: Apache-2.0
#include "device_virtual/kernel_arguments.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <thread>

namespace tutti::device_virtual {
namespace {

using scheduler::ArgumentSlot;
using scheduler::BufferView;

template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span<const T>(&value, 1));
}

// Stands for a memory object: only its address matters here.
struct Owner {
  char unused = 0;
};

TEST(KernelArguments, CompleteOnlyWhenEveryArgumentIsSet) {
  KernelArguments arguments(3);
  EXPECT_FALSE(arguments.snapshot().complete);
  arguments.set_bytes(0, bytes_of(7));
  arguments.set_local(1, 64);
  EXPECT_FALSE(arguments.snapshot().complete);
  EXPECT_FALSE(arguments.set_buffer(2, nullptr, {}));
  const auto snapshot = arguments.snapshot();
  EXPECT_TRUE(snapshot.complete);
  EXPECT_EQ(snapshot.local_bytes, 64u);
  EXPECT_EQ((*snapshot.set)[0].bytes.size(), sizeof(int));
  EXPECT_EQ((*snapshot.set)[1].kind, ArgumentSlot::Kind::kLocal);
  EXPECT_EQ((*snapshot.set)[2].kind, ArgumentSlot::Kind::kBuffer);
}

TEST(KernelArguments, NoArgumentsAreComplete) {
  EXPECT_TRUE(KernelArguments(0).snapshot().complete);
}

TEST(KernelArguments, SnapshotKeepsItsValues) {
  KernelArguments arguments(1);
  arguments.set_bytes(0, bytes_of(1));
  const auto before = arguments.snapshot();
  arguments.set_bytes(0, bytes_of(2));
  const auto after = arguments.snapshot();
  int value = 0;
  std::memcpy(&value, (*before.set)[0].bytes.data(), sizeof(value));
  EXPECT_EQ(value, 1);
  std::memcpy(&value, (*after.set)[0].bytes.data(), sizeof(value));
  EXPECT_EQ(value, 2);
}

TEST(KernelArguments, ASetThatNobodyHasIsNotCopied) {
  KernelArguments arguments(1);
  arguments.set_bytes(0, bytes_of(1));
  const void* const first = arguments.snapshot().set.get();
  arguments.set_bytes(0, bytes_of(2));
  const auto kept = arguments.snapshot();
  EXPECT_EQ(kept.set.get(), first);
  // In another thread, which lets go of it some time.
  for (int i = 3; i < 100; ++i) {
    std::thread reader([set = arguments.snapshot().set, i] {
      int value = 0;
      std::memcpy(&value, (*set)[0].bytes.data(), sizeof(value));
      EXPECT_EQ(value, i - 1);
    });
    arguments.set_bytes(0, bytes_of(i));
    reader.join();
  }
  EXPECT_NE(arguments.snapshot().set.get(), kept.set.get());
}

TEST(KernelArguments, UnchangedValuesShareOneSet) {
  KernelArguments arguments(2);
  Owner owner;
  arguments.set_bytes(0, bytes_of(1));
  EXPECT_TRUE(arguments.set_buffer(1, &owner, {}));
  const auto before = arguments.snapshot();
  arguments.set_bytes(0, bytes_of(1));
  EXPECT_FALSE(arguments.set_buffer(1, &owner, {}));
  EXPECT_EQ(arguments.snapshot().set, before.set);
  arguments.set_bytes(0, bytes_of(int64_t{1}));  // another size is another value
  EXPECT_NE(arguments.snapshot().set, before.set);
}

TEST(KernelArguments, ReplacedBufferIsADifferentOwner) {
  KernelArguments arguments(1);
  Owner first, second;
  EXPECT_TRUE(arguments.set_buffer(0, &first, {}));
  EXPECT_TRUE(arguments.set_buffer(0, &second, {}));
  arguments.forget(&first);
  EXPECT_TRUE(arguments.snapshot().complete);
  arguments.forget(&second);
  EXPECT_FALSE(arguments.snapshot().complete);
}

TEST(KernelArguments, CloneIsIndependent) {
  KernelArguments source(2);
  Owner owner;
  source.set_bytes(0, bytes_of(1));
  source.set_buffer(1, &owner, {});
  KernelArguments clone(source);
  EXPECT_EQ(clone.owners(), std::vector<const void*>{&owner});
  source.set_bytes(0, bytes_of(2));
  const auto snapshot = clone.snapshot();
  int value = 0;
  std::memcpy(&value, (*snapshot.set)[0].bytes.data(), sizeof(value));
  EXPECT_EQ(value, 1);
}

TEST(ArgumentHolders, ReleaseEmptiesTheSlotsThatNameTheObject) {
  ArgumentHolders holders;
  Owner owner, other;
  const auto a = std::make_shared<KernelArguments>(2);
  const auto b = std::make_shared<KernelArguments>(1);
  a->set_buffer(0, &owner, {});
  a->set_buffer(1, &other, {});
  b->set_buffer(0, &owner, {});
  holders.add(a);
  holders.add(b);
  const auto in_flight = a->snapshot();
  holders.forget(&owner);
  EXPECT_EQ((*a->snapshot().set)[0].kind, ArgumentSlot::Kind::kUnset);
  EXPECT_EQ((*a->snapshot().set)[1].kind, ArgumentSlot::Kind::kBuffer);
  EXPECT_FALSE(b->snapshot().complete);
  // A command in flight keeps what it was given.
  EXPECT_EQ((*in_flight.set)[0].kind, ArgumentSlot::Kind::kBuffer);
}

TEST(ArgumentHolders, KernelsThatAreGoneDoNotPileUp) {
  ArgumentHolders holders;
  Owner owner;
  const auto lasting = std::make_shared<KernelArguments>(1);
  lasting->set_buffer(0, &owner, {});
  holders.add(lasting);
  for (int i = 0; i < 1000; ++i) {
    const auto passing = std::make_shared<KernelArguments>(1);
    passing->set_buffer(0, &owner, {});
    holders.add(passing);
  }
  EXPECT_LE(holders.size(), 32u);
  holders.forget(&owner);
  EXPECT_FALSE(lasting->snapshot().complete);
  EXPECT_EQ(holders.size(), 0u);
}

TEST(KernelArguments, SettingWhileLaunchingIsSafe) {
  // A misuse (one kernel, two threads): every snapshot must still be one consistent set.
  KernelArguments arguments(1);
  const std::array<int64_t, 2> ones{1, 1}, twos{2, 2};
  arguments.set_bytes(0, std::as_bytes(std::span(ones)));
  std::thread setter([&] {
    for (int i = 0; i < 5000; ++i) {
      arguments.set_bytes(0, std::as_bytes(std::span(i % 2 != 0 ? ones : twos)));
    }
  });
  for (int i = 0; i < 5000; ++i) {
    const auto snapshot = arguments.snapshot();
    std::array<int64_t, 2> values{};
    std::memcpy(values.data(), (*snapshot.set)[0].bytes.data(), sizeof(values));
    ASSERT_EQ(values[0], values[1]);
  }
  setter.join();
}

}  // namespace
}  // namespace tutti::device_virtual
