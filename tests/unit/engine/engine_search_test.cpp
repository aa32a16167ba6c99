// SPDX-License-Identifier: Apache-2.0
// Kernels whose atomics only one place may have changed: what comes of it when none, one or several
// devices have, on devices that share memory and on others.
#include <algorithm>

#include "engine_fixture.h"

namespace tutti::testing {
namespace {
using namespace scheduler;

class EngineSearch : public EngineTest {
 protected:
  static constexpr uint8_t kKey = 7;

  /// Launches the search for kKey over `hits`, and compares. It may fail where devices do.
  void search(const std::vector<uint32_t>& hits, bool may_fail = false) {
    std::vector<std::byte> bytes(kBytes, std::byte{1});
    for (const uint32_t i : hits) bytes[i] = std::byte{kKey};
    LogicalBuffer::Options options;
    options.size = kBytes;
    const auto in = *engine->create_buffer(options, bytes.data());
    const auto out = buffer(0);
    auto stream = engine->create_stream({});
    KernelWork work = map_kernel(in, out, kKey);
    work.kernel = fake_kernel(KernelForm::kSearch, set->count());
    const auto launched = enqueue(*stream, work);
    ASSERT_TRUE(launched);
    Command* command = launched->get();
    if (!engine->wait({&command, 1}) && may_fail) return;
    std::vector<std::byte> found = read(*stream, out);
    uint32_t count = 0;
    std::memcpy(&count, found.data(), sizeof count);
    ASSERT_EQ(count, hits.size());
    std::vector<std::byte> expected;
    for (const uint32_t i : hits) expected.push_back(std::byte(static_cast<uint8_t>(i)));
    std::sort(expected.begin(), expected.end());
    std::sort(found.begin() + 4, found.begin() + 4 + count);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), found.begin() + 4));
    EXPECT_TRUE(std::all_of(found.begin() + 4 + count, found.end(),
                            [](std::byte byte) { return byte == std::byte{0}; }));
  }
  uint64_t launches() const {
    uint64_t sum = 0;
    for (const FakeBackend* fake : fakes) sum += fake->launches;
    return sum;
  }
};

TEST_F(EngineSearch, NoneOneOrSeveralDevicesFindSomething) {
  for (const FakeKinds& devices : std::vector<FakeKinds>{{kOwnMemory, kOwnMemory},
                                                         {kSharesHost, kOwnMemory},
                                                         {kHostAtomics, kHostAtomics},
                                                         {kHostAtomics, kOwnMemory},
                                                         {kHostAtomics, kHostAtomics, kOwnMemory},
                                                         {kOwnMemory, kOwnMemory, kOwnMemory}}) {
    start(devices, SplitMode::kForce);
    for (const auto& hits : std::vector<std::vector<uint32_t>>{
             {}, {0}, {kBytes - 1}, {0, kBytes - 1}, {1000, 1001, 1002}, {5, 700, 1500, 4000}}) {
      SCOPED_TRACE(to_string(devices) + ", " + std::to_string(hits.size()));
      search(hits);
    }
    // Seeded packages: that of one device alone would be one launch.
    EXPECT_GT(launches(), 12u) << devices;
  }
}

TEST_F(EngineSearch, DevicesWithoutCommonAtomicsTakeNoPart) {
  start({kSharesHost, kSharesHost}, SplitMode::kForce);
  search({0, kBytes - 1});
  EXPECT_EQ(launches(), 1u);
  start({kSharesHost, kSharesHost, kOwnMemory}, SplitMode::kForce);
  search({0, kBytes - 1});
  EXPECT_EQ(launches(), 1u);
  start({kSharesHost, kHostAtomics, kHostAtomics}, SplitMode::kForce);
  search({0, kBytes - 1});
  EXPECT_EQ(fakes[0]->launches, 1u);
}

TEST_F(EngineSearch, ADeviceFailsOnTheWay) {
  // Where the one whose results were kept fails, so does the command; never is a result wrong.
  start({kOwnMemory, kOwnMemory, kOwnMemory}, SplitMode::kForce);
  for (int i = 0; i < 4; ++i) {
    fakes[static_cast<size_t>(i % 3)]->refuse_launches = 2;
    search({0, 2000, kBytes - 1}, true);
  }
}

}  // namespace
}  // namespace tutti::testing
