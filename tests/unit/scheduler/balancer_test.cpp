// SPDX-License-Identifier: Apache-2.0
#include "scheduler/balance/balancer.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tutti::scheduler::test {
namespace {

std::unique_ptr<Balancer> make(const char* name, uint64_t total,
                               const std::vector<BalancerDevice>& devices) {
  return make_balancer(parse_balancer(name).value(), total, devices);
}

TEST(BalancerSpec, AcceptsTheDocumentedForms) {
  EXPECT_EQ(parse_balancer("sigmoid")->name, "sigmoid");
  EXPECT_EQ(parse_balancer("static")->name, "static");
  EXPECT_TRUE(parse_balancer("single")->parameters.empty());
  EXPECT_EQ(parse_balancer("single:1")->parameters, std::vector<std::string>{"1"});
  EXPECT_EQ(parse_balancer("single:NVIDIA H100")->parameters,
            std::vector<std::string>{"NVIDIA H100"});
  for (const char* text :
       {"dynamic", "dynamic:64", "hguided", "hguided:2.5", "autotune", "adaptive", "model",
        "model:0.2", "sigmoid:2", "sigmoid:2:0.5", "sigmoid:2:0.5:0.05"}) {
    ASSERT_TRUE(parse_balancer(text).has_value()) << text;
    EXPECT_NE(make(text, 100, {{1, 1}}), nullptr) << text;
  }
  EXPECT_EQ(balancer_names(),
            (std::vector<std::string>{"single", "static", "dynamic", "hguided", "autotune",
                                      "adaptive", "model", "sigmoid"}));
}

TEST(BalancerSpec, RefusesWithTheAcceptedNames) {
  for (const char* text :
       {"",           "Sigmoid",     "sigmoid:k",  "sigmoid:2::1", "sigmoid:1:1:1:1", "static:",
        "single:",    "single:1:2",  ":1",         "unheard-of",   "dynamic:",        "dynamic:0",
        "dynamic:-4", "dynamic:4:4", "dynamic:4x", "hguided: 2",   "hguided:inf",     "hguided:nan",
        "autotune:1", "adaptive:2",  "model:x",    "model:0.1:1"}) {
    const auto spec = parse_balancer(text);
    ASSERT_FALSE(spec.has_value()) << text;
    EXPECT_EQ(spec.error().code, CL_INVALID_VALUE);
    EXPECT_NE(
        spec.error().message.find("single[:device], static, dynamic[:packages], hguided[:C], "
                                  "autotune, adaptive, model[:tail], sigmoid[:k_r[:k_i[:p]]]"),
        std::string::npos)
        << spec.error().message;
    EXPECT_NE(spec.error().message.find('\'' + std::string(text) + '\''), std::string::npos);
  }
}

TEST(BalancerSpec, SaysHowTheParametersAreWritten) {
  EXPECT_NE(parse_balancer("hguided:two")
                .error()
                .message.find("'hguided:two'; it is written hguided[:C] with positive numbers"),
            std::string::npos);
  EXPECT_NE(parse_balancer("adaptive:2").error().message.find("it is written adaptive ("),
            std::string::npos);
}

TEST(Balancer, SingleIsNoBalancer) {
  EXPECT_EQ(make("single", 100, {{1, 1}}), nullptr);
  EXPECT_EQ(make_balancer({"unheard-of", {}}, 100, {{1, 1}}), nullptr);
  EXPECT_EQ(make("sigmoid", 100, {}), nullptr);
  EXPECT_EQ(make_balancer({"hguided", {"two"}}, 100, {{1, 1}}), nullptr);
}

TEST(StaticBalancer, SharesBySpeedAndGivesTheRemainderToTheFastest) {
  auto balancer = make("static", 101, {{1, 1}, {3, 1}});
  EXPECT_EQ(balancer->next_package(0, 101, 0), 25u);
  EXPECT_EQ(balancer->next_package(1, 76, 0), 76u);
  EXPECT_EQ(balancer->next_package(0, 0, 1), 0u);
}

TEST(StaticBalancer, OnePackageEach) {
  auto balancer = make("static", 100, {{1, 1}, {1, 1}});
  EXPECT_EQ(balancer->next_package(1, 100, 0), 50u);
  EXPECT_EQ(balancer->next_package(1, 50, 0), 0u);
  EXPECT_EQ(balancer->next_package(0, 50, 0), 50u);
}

TEST(StaticBalancer, LeavesOutADeviceWhoseSmallestPackageTakesTooLong) {
  auto balancer = make("static", 1000, {{1000, 10}, {1, 20}});
  EXPECT_EQ(balancer->next_package(1, 1000, 0), 0u);
  EXPECT_EQ(balancer->next_package(0, 1000, 0), 1000u);
}

TEST(StaticBalancer, WorkGivenBackIsTakenByWhoeverAsks) {
  auto balancer = make("static", 100, {{1, 1}, {1, 1}});
  EXPECT_EQ(balancer->next_package(0, 100, 0), 50u);
  EXPECT_EQ(balancer->next_package(1, 50, 0), 50u);
  EXPECT_EQ(balancer->next_package(0, 50, 1), 50u);
}

TEST(SigmoidBalancer, FirstPackagesFollowTheFormula) {
  // G/(2N) · s_i/s_T · (1 − e^−12)/(1 + e^−12), N = 2
  auto balancer = make("sigmoid", 80000, {{3, 1}, {1, 1}});
  const auto size = [](double left, double share) {
    const double e = std::exp(-12 * left / 80000);
    return static_cast<uint64_t>((1 - e) / (1 + e) * 20000 * share);
  };
  EXPECT_EQ(balancer->next_package(0, 80000, 0), size(80000, 0.75));
  EXPECT_EQ(balancer->next_package(1, 65000, 0), size(65000, 0.25));
}

TEST(SigmoidBalancer, OneDeviceAloneEndsItsRun) {
  auto balancer = make("sigmoid", 1000, {{1, 1}});
  uint64_t left = 1000;
  int packages = 0;
  while (left > 0) {
    const uint64_t next = balancer->next_package(0, left, packages);
    ASSERT_GT(next, 0u);
    left -= next;
    balancer->finished({0, next, double(packages), double(packages + 1)});
    ASSERT_LT(++packages, 200);
  }
}

TEST(SigmoidBalancer, PackagesAreNoSmallerThanFillsTheDevice) {
  auto balancer = make("sigmoid", 1000, {{1, 300}, {1, 1}});
  EXPECT_EQ(balancer->next_package(0, 1000, 0), 300u);
}

TEST(SigmoidBalancer, PackagesAreWholeRoundsOfTheDevice) {
  auto balancer = make("sigmoid", 10000, {{1, 64}, {1, 1}});
  EXPECT_EQ(balancer->next_package(0, 10000, 0), 1216u);  // 19 rounds; the formula says 1249
}

TEST(SigmoidBalancer, TheRiskFloorGrowsWithTime) {
  // 10 slices a second measured: after 90 s a package has 0.05 · 90 · 10 = 45 slices at least.
  auto balancer = make("sigmoid", 2000, {{10, 1}, {10, 1}});
  for (const uint32_t device : {0u, 1u}) {
    const uint64_t given = balancer->next_package(device, 2000, 0);
    balancer->finished({device, given, 0, static_cast<double>(given) / 10});
  }
  const auto sigmoid = [](double left) {
    const double e = std::exp(-12 * left / 2000);
    return (1 - e) / (1 + e) * 500 * 0.5;
  };
  // The sigmoid gives more at first, but not more than the fair share of the rest.
  ASSERT_GT(sigmoid(110), 55);
  EXPECT_EQ(balancer->next_package(0, 110, 90), 55u);
  ASSERT_LT(sigmoid(55), 45);
  EXPECT_EQ(balancer->next_package(1, 55, 90), 45u);
}

TEST(SigmoidBalancer, ParametersReplaceTheConstants) {
  const auto size = [](double k, double part) {
    const double e = std::exp(-6 * k * part);
    return static_cast<uint64_t>((1 - e) / (1 + e) * 20000 * 0.5);
  };
  EXPECT_EQ(make("sigmoid:0.7", 80000, {{1, 1}, {1, 1}})->next_package(0, 40000, 0),
            size(0.7, 0.5));
  const auto irregular = make("sigmoid:2:0.3", 80000, {{1, 1}, {1, 1}});
  EXPECT_EQ(irregular->next_package(0, 40000, 0), size(2, 0.5));
  irregular->finished({1, 10, 0, 10});
  irregular->finished({1, 10, 10, 30});
  irregular->finished({1, 20, 30, 40});
  irregular->finished({0, size(2, 0.5), 0, static_cast<double>(size(2, 0.5))});
  EXPECT_EQ(irregular->next_package(0, 40000, 0), size(0.3, 0.5));
  // As TheRiskFloorGrowsWithTime, where p = 0.05 makes 45 of the formula's 40.
  const auto cautious = make("sigmoid:2:0.5:0.01", 2000, {{10, 1}, {10, 1}});
  cautious->finished({0, 100, 0, 10});
  cautious->finished({1, 100, 0, 10});
  EXPECT_EQ(cautious->next_package(0, 110, 90), 55u);
  EXPECT_EQ(cautious->next_package(1, 55, 90), 40u);
}

TEST(SigmoidBalancer, IrregularSpeedsMakePackagesSmallerForGood) {
  const auto next_after = [](std::vector<double> durations) {
    auto balancer = make("sigmoid", 100000, {{1, 1}, {1, 1}});
    double now = 0;
    for (const double duration : durations) {
      const uint64_t given = balancer->next_package(0, 100000, 0);
      balancer->finished({0, given, now, now + duration * static_cast<double>(given)});
      now += duration * static_cast<double>(given);
    }
    return balancer->next_package(0, 30000, 0);
  };
  const auto size = [](double k) {
    const double e = std::exp(-k * 6 * 0.3);
    return (1 - e) / (1 + e) * 25000;
  };
  EXPECT_NEAR(double(next_after({1, 1, 1})), size(2) * 0.5, 1);
  EXPECT_NEAR(double(next_after({1, 1.2, 1, 1})), size(2) * 0.5, 1);
  const double irregular = double(next_after({1, 3, 1, 1, 1, 1}));
  EXPECT_NEAR(irregular, size(0.5) * 0.5, 1);
}

TEST(SigmoidBalancer, ASlowDeviceIsHeldBackBeforeItsFirstPackage) {
  // 928 times slower: one package would take longer than everything on the others (facts.md).
  auto balancer = make("sigmoid", 4096, {{928, 32}, {928, 32}, {1, 32}});
  EXPECT_EQ(balancer->next_package(2, 4096, 0), 0u);
  // It does not count any more: N is 2.
  EXPECT_EQ(balancer->next_package(0, 4096, 0), 480u);  // of 511, whole rounds
}

TEST(SigmoidBalancer, DevicesThatHaveLeftAreNotWaitedFor) {
  auto balancer = make("sigmoid", 1000, {{100, 10}, {90, 5000}});
  EXPECT_EQ(balancer->next_package(1, 1000, 0), 0u);
  EXPECT_EQ(balancer->next_package(0, 100, 0), 100u);  // no share is kept for the other one
}

TEST(SigmoidBalancer, AFastDeviceLargerThanTheLaunchStarts) {
  // A GPU that takes 5000 slices in one round is not held back from a launch of 1000.
  auto balancer = make("sigmoid", 1000, {{1000, 5000}, {10, 1}});
  EXPECT_GE(balancer->next_package(0, 1000, 0), 900u);
}

TEST(SigmoidBalancer, AnEasyPackageDoesNotCountForMoreThanItsWork) {
  // Device 0 did an easy fifth in 1 s and a hard one in 19: 20 slices/s, not the mean of 200 and
  // 10.5. It shares the rest with one that did 200 slices in 10 s as with its equal.
  auto balancer = make("sigmoid", 1000, {{1, 1}, {1, 1}});
  const uint64_t first = balancer->next_package(0, 1000, 0);
  const uint64_t other = balancer->next_package(1, 1000 - first, 0);
  balancer->finished({0, first, 0, 1});
  const uint64_t second = balancer->next_package(0, 1000 - first - other, 1);
  balancer->finished({0, second, 1, 20});
  balancer->finished(
      {1, other, 0, 20 * static_cast<double>(other) / static_cast<double>(first + second)});
  const uint64_t remaining = 1000 - first - second - other;
  const uint64_t third = balancer->next_package(0, remaining, 20);
  EXPECT_LE(third, remaining / 2);
}

TEST(SigmoidBalancer, SomebodyAlwaysTakesTheRest) {
  // The fast device proves slow, after the other one was sent away.
  auto balancer = make("sigmoid", 1000, {{100, 10}, {1, 400}});
  EXPECT_EQ(balancer->next_package(1, 1000, 0), 0u);
  const uint64_t first = balancer->next_package(0, 1000, 0);
  ASSERT_GT(first, 0u);
  balancer->finished({0, first, 0, 1e6});
  EXPECT_GT(balancer->next_package(0, 1000 - first, 1e6), 0u);
  // And the other one is welcome when it comes back and has proven fast.
  balancer->finished({1, 400, 0, 1});
  EXPECT_GT(balancer->next_package(1, 400, 1e6), 0u);
}

TEST(SigmoidBalancer, ReportsOfForeignPackagesAreHarmless) {
  auto balancer = make("sigmoid", 1000, {{1, 1}, {1, 1}});
  balancer->finished({7, 10, 0, 1});
  balancer->finished({0, 0, 0, 0});
  balancer->finished({0, 10, 5, 5});  // no time at all
  EXPECT_GT(balancer->next_package(0, 1000, 5), 0u);
  EXPECT_EQ(balancer->next_package(9, 1000, 5), 0u);
}

}  // namespace
}  // namespace tutti::scheduler::test
