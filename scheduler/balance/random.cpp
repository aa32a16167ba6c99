// SPDX-License-Identifier: Apache-2.0
#include "scheduler/balance/random.h"

#include <algorithm>
#include <random>

namespace tutti::scheduler {
namespace {

class RandomBalancer : public Balancer {
 public:
  RandomBalancer(uint64_t seed, uint64_t total)
      : engine_(seed), sizes_(1, std::max<uint64_t>(2, total / 8)) {}

  uint64_t next_package(uint32_t, uint64_t remaining, double) override {
    return std::min(remaining, sizes_(engine_));
  }
  void finished(const PackageReport&) override {}

 private:
  std::mt19937_64 engine_;
  std::uniform_int_distribution<uint64_t> sizes_;
};

}  // namespace

std::unique_ptr<Balancer> make_random_balancer(uint64_t seed, uint64_t total) {
  return std::make_unique<RandomBalancer>(seed, total);
}

std::vector<uint64_t> random_shares(uint64_t seed, uint64_t slices, size_t participants) {
  std::mt19937_64 engine(seed ^ 0x9E3779B97F4A7C15ull);
  std::vector<uint64_t> ends{slices};
  while (ends.size() < participants) ends.push_back(engine() % (slices + 1));
  std::sort(ends.begin(), ends.end());
  std::vector<uint64_t> shares;
  for (size_t i = 0; i < participants; ++i) shares.push_back(ends[i] - (i ? ends[i - 1] : 0));
  return shares;
}

}  // namespace tutti::scheduler
