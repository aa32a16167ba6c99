// SPDX-License-Identifier: Apache-2.0
#include "device_virtual/shared_memory.h"

#include <gtest/gtest.h>

#include "built_program_fakes.h"

namespace tutti::device_virtual {
namespace {

struct Memory final : backends::SharedMemory {
  explicit Memory(uint64_t size, backends::SharedKind is = backends::SharedKind::kVirtual)
      : bytes(size), of_kind(is) {}
  std::byte* data() const override { return const_cast<std::byte*>(bytes.data()); }
  uint64_t size() const override { return bytes.size(); }
  backends::SharedKind kind() const override { return of_kind; }
  std::vector<std::byte> bytes;
  backends::SharedKind of_kind;
};

/// Which memory it computes in is all that matters.
struct SharingBackend : FakeBackend {
  using FakeBackend::FakeBackend;
  const backends::DeviceTraits& traits() const override { return told; }
  void tell() {
    told = FakeBackend::traits();
    told.shares_host_memory = shares;
  }
  bool shares = false;
  backends::DeviceTraits told;
};

class SharedMemoryTest : public ::testing::Test {
 protected:
  static Ref<scheduler::LogicalBuffer> buffer_of(
      scheduler::BackendSet& backends, uint64_t size,
      backends::SharedKind kind = backends::SharedKind::kVirtual) {
    scheduler::LogicalBuffer::Options options;
    options.size = size;
    options.shared = std::make_shared<Memory>(size, kind);
    options.home = 0;
    auto buffer = scheduler::LogicalBuffer::create(backends, options);
    EXPECT_TRUE(buffer);
    return *buffer;
  }
  std::byte* add(uint64_t size, backends::SharedKind kind = backends::SharedKind::kVirtual) {
    return static_cast<std::byte*>(shared_.add(buffer_of(backends_, size, kind), {}));
  }
  static std::vector<std::unique_ptr<backends::Backend>> one_device(bool shares_host) {
    auto device = std::make_unique<SharingBackend>("one", 64, "", "");
    device->shares = shares_host;
    device->tell();
    std::vector<std::unique_ptr<backends::Backend>> devices;
    devices.push_back(std::move(device));
    return devices;
  }

  scheduler::BackendSet backends_{one_device(true)};
  SharedAllocations shared_;
};

TEST_F(SharedMemoryTest, FindsWhatAPointerLeadsInto) {
  EXPECT_FALSE(shared_.any());
  EXPECT_FALSE(shared_.find(this));
  std::byte* const a = add(100);
  std::byte* const b = add(1);
  EXPECT_TRUE(shared_.any());
  for (const uint64_t offset : {0, 1, 99}) {
    const auto place = shared_.find(a + offset);
    ASSERT_TRUE(place);
    EXPECT_EQ(place->allocation->address(), a);
    EXPECT_EQ(place->offset, offset);
    EXPECT_EQ(place->rest(), 100 - offset);
  }
  EXPECT_EQ(shared_.find(b)->allocation->address(), b);
  EXPECT_FALSE(shared_.find(a + 100));
  EXPECT_FALSE(shared_.find(a - 1));
  EXPECT_FALSE(shared_.find(nullptr));
  EXPECT_EQ(shared_.views().size(), 2u);
}

TEST_F(SharedMemoryTest, WhatIsFreedIsNotFound) {
  std::byte* const a = add(100);
  EXPECT_FALSE(shared_.free(a + 1, false));
  EXPECT_TRUE(shared_.free(a, false));
  EXPECT_FALSE(shared_.free(a, false));
  EXPECT_FALSE(shared_.find(a + 1));
  EXPECT_FALSE(shared_.any());
}

TEST_F(SharedMemoryTest, EachKindIsFreedAsThat) {
  std::byte* const shared = add(100);
  std::byte* const host = add(100, backends::SharedKind::kHost);
  EXPECT_FALSE(shared_.free(shared, true));
  EXPECT_FALSE(shared_.free(host, false));
  EXPECT_TRUE(shared_.free(host, true));
  EXPECT_TRUE(shared_.free(shared, false));
}

// What the host may touch at any time lies in one place, wherever its home computes.
TEST_F(SharedMemoryTest, WhatTheHostTouchesIsInItsPlace) {
  scheduler::BackendSet apart(one_device(false));
  apart.memory(0).set_capacity(1000);
  using backends::SharedKind;
  for (const SharedKind kind : {SharedKind::kHost, SharedKind::kShared}) {
    const auto buffer = buffer_of(apart, 100, kind);
    EXPECT_TRUE(buffer->touched_unasked());
    EXPECT_FALSE(buffer->shared_apart());
    EXPECT_EQ(buffer->place_on(0), scheduler::kHostPlace);
    EXPECT_EQ(buffer->takers(), scheduler::backend_bit(0));
    EXPECT_EQ(*buffer->host_memory(), buffer->shared()->data());
  }
  const auto device = buffer_of(apart, 100, SharedKind::kDevice);
  EXPECT_FALSE(device->touched_unasked());
  EXPECT_FALSE(device->shared_apart());
  EXPECT_NE(device->place_on(0), scheduler::kHostPlace);
}

// Of memory apart; the host's is no device's.
TEST_F(SharedMemoryTest, CountsInTheMemoryOfItsHome) {
  using backends::SharedKind;
  scheduler::BackendSet apart(one_device(false));
  apart.memory(0).set_capacity(250);
  scheduler::LogicalBuffer::Options options;
  options.size = 100;
  options.home = 0;
  const auto made = [&](SharedKind kind) {
    options.shared = std::make_shared<Memory>(options.size, kind);
    return scheduler::LogicalBuffer::create(apart, options);
  };
  {
    const auto first = made(SharedKind::kVirtual), second = made(SharedKind::kDevice);
    ASSERT_TRUE(first && second);
    EXPECT_FALSE(apart.memory(0).has_room(51));
    const auto third = made(SharedKind::kBuffer);
    ASSERT_FALSE(third);
    EXPECT_EQ(third.error().code, CL_MEM_OBJECT_ALLOCATION_FAILURE);
    EXPECT_TRUE(made(SharedKind::kHost));
  }
  EXPECT_TRUE(apart.memory(0).has_room(250));
  EXPECT_TRUE(made(SharedKind::kShared));
  backends_.memory(0).set_capacity(50);
  options.shared = std::make_shared<Memory>(options.size);
  EXPECT_TRUE(scheduler::LogicalBuffer::create(backends_, options));
}

TEST_F(SharedMemoryTest, TheNewestMappingIsTakenFirst) {
  const auto place = shared_.find(add(100));
  SharedAllocation& allocation = *place->allocation;
  allocation.add_mapping({10, 20, CL_MAP_READ});
  allocation.add_mapping({10, 30, CL_MAP_WRITE});
  EXPECT_FALSE(allocation.take_mapping(0));
  EXPECT_EQ(allocation.take_mapping(10)->size, 30u);
  EXPECT_EQ(allocation.take_mapping(10)->size, 20u);
  EXPECT_FALSE(allocation.take_mapping(10));
}

TEST_F(SharedMemoryTest, MapsOfMemoryApartAreTheVendors) {
  const auto place = shared_.find(add(100));
  const auto view = place->allocation->view_from(0);
  EXPECT_TRUE(
      std::holds_alternative<scheduler::MapWork>(map_work(view, 0, 10, CL_MAP_READ, false)));
  EXPECT_TRUE(std::holds_alternative<scheduler::UnmapWork>(unmap_work(view, 0, 10, true)));
  scheduler::BackendSet apart(one_device(false));
  apart.memory(0).set_capacity(1000);
  const scheduler::BufferView other{buffer_of(apart, 100), 0, 100};
  const auto map = map_work(other, 5, 10, CL_MAP_WRITE, false);
  ASSERT_TRUE(std::holds_alternative<scheduler::MapSharedWork>(map));
  EXPECT_TRUE(std::get<scheduler::MapSharedWork>(map).writes);
  EXPECT_TRUE(std::holds_alternative<scheduler::MapSharedWork>(unmap_work(other, 5, 10, true)));
}

}  // namespace
}  // namespace tutti::device_virtual
