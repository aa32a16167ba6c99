// SPDX-License-Identifier: Apache-2.0
#include "device_virtual/build_price.h"

#include <gtest/gtest.h>

namespace tutti::device_virtual {
namespace {

TEST(BuildPrice, IsOfBuildsInTurnOrSideBySide) {
  BuildPrice price(4);
  EXPECT_EQ(price.seconds(), 0);
  price.add(2, false);
  EXPECT_DOUBLE_EQ(price.seconds(), 3);  // the first launch, too
  price.add(1, false);
  EXPECT_DOUBLE_EQ(price.seconds(), 4.5);
  for (int i = 0; i < 4; ++i) price.add(1, true);
  EXPECT_DOUBLE_EQ(price.seconds(), 4.5 + 1 + 2);
  price.add(1, true);
  EXPECT_DOUBLE_EQ(price.seconds(), 4.5 + 2 + 2.5);
  BuildPrice unknown(0);
  unknown.add(1, true);
  EXPECT_DOUBLE_EQ(unknown.seconds(), 1.5);
}

}  // namespace
}  // namespace tutti::device_virtual
