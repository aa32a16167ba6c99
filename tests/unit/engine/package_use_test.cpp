// SPDX-License-Identifier: Apache-2.0
#include "scheduler/run/package_use.h"

#include "engine_fixture.h"

namespace tutti::testing {
namespace {
using namespace scheduler;

class PackageUseTest : public EngineTest {
 protected:
  /// Of a package that reads and writes the whole buffer, which lies on its device.
  PackageUse in_place(FakeKind device) {
    start({device}, SplitMode::kNever);
    buffer_ = buffer(5);
    const auto stream = engine->create_stream({});
    EXPECT_TRUE(enqueue(*stream, map_kernel(buffer_, buffer_, 1)));
    EXPECT_TRUE(engine->finish(*stream));
    PackageUse use;
    use.buffer = buffer_.get();
    use.place = buffer_->place_on(0);
    use.read.range = use.write.range = {0, kBytes};
    return use;
  }
  static bool comes_to_the_host(PackageUse use) {
    find_ways({&use, 1});
    return use.into_host;
  }
  Ref<LogicalBuffer> buffer_;
};

TEST_F(PackageUseTest, WhatIsCopiedFirstComesToTheHostsCopy) {
  PackageUse use = in_place(kOwnMemory);
  EXPECT_FALSE(comes_to_the_host(use));
  use.kept = true;
  EXPECT_TRUE(comes_to_the_host(use));
  use.overwrites = true;
  EXPECT_TRUE(comes_to_the_host(use));
  use.read = {};
  EXPECT_FALSE(comes_to_the_host(use));  // of what was there it needs nothing
  engine.reset();
}

TEST_F(PackageUseTest, InTheHostsMemoryACopyIsApart) {
  PackageUse use = in_place(kSharesHost);
  use.kept = true;
  EXPECT_FALSE(comes_to_the_host(use));
  engine.reset();
}

}  // namespace
}  // namespace tutti::testing
