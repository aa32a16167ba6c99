// SPDX-License-Identifier: Apache-2.0
// RapidCheck properties under GoogleTest with a number of cases of their own. RC_PARAMS still sets
// the seed.
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <sstream>
#include <utility>
#include <vector>

namespace tutti::scheduler::test {

template <typename Property>
void check_property(int cases, Property&& property) {
  auto params = rc::detail::configuration().testParams;
  params.maxSuccess = cases;
  rc::detail::TestMetadata metadata;
  metadata.description = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  const auto result = rc::detail::checkTestable(std::forward<Property>(property), metadata, params);
  if (!result.template is<rc::detail::SuccessResult>()) {
    std::ostringstream text;
    rc::detail::printResultMessage(result, text);
    FAIL() << text.str();
  }
}

/// Up to `count` numbers to make choices from.
inline rc::Gen<std::vector<uint32_t>> choices(int count) {
  return rc::gen::resize(rc::kNominalSize,
                         rc::gen::container<std::vector<uint32_t>>(
                             static_cast<size_t>(count), rc::gen::inRange<uint32_t>(0, 1 << 30)));
}

}  // namespace tutti::scheduler::test
