// SPDX-License-Identifier: Apache-2.0
// Random kernels: what the evaluation claims, against executing every work-item.
#include <map>
#include <random>
#include <set>

#include "brute_force.h"
#include "property.h"
#include "random_kernel.h"

namespace tutti::scheduler::test {
namespace {

struct Claims {
  uint64_t disjoint = 0;
  uint64_t disjoint_with_stores = 0;
  uint64_t aliased = 0;
  uint64_t overwrites = 0;
  uint64_t tight = 0;
};

struct Package {
  uint32_t dimension = 0;
  uint64_t first = 0;
  uint64_t count = 0;
  bool has(const Touch& touch) const {
    return touch.group[dimension] >= first && touch.group[dimension] < first + count;
  }
};

class Case {
 public:
  explicit Case(const std::vector<uint32_t>& choices)
      : made_(make_random_case(choices)),
        summary_(made_.kernel.summary()),
        values_(made_.kernel.values()),
        random_(choices.empty() ? 1 : choices.back()),
        access_(LaunchAccess::evaluate(summary_, made_.shape, values_)),
        execution_(execute(summary_, made_.shape, values_, random_)) {}

  void check(Claims& claims) {
    const uint64_t groups0 = made_.shape.groups(0);
    RC_ASSERT(access_.package(0, 0, groups0) == access_.whole());
    check_package({0, 0, groups0}, claims);
    for (uint32_t d = 0; d < made_.shape.dims; ++d) check_partition(d, claims);
    if (access_.verdict().mode == MergeMode::kDisjoint) check_disjoint(claims);
  }

 private:
  std::vector<Package> partition(uint32_t d) {
    std::vector<Package> packages;
    const uint64_t groups = made_.shape.groups(d);
    for (uint64_t first = 0; first < groups;) {
      const uint64_t count = 1 + random_() % (groups - first);
      packages.push_back({d, first, count});
      first += count;
    }
    return packages;
  }

  const ArgumentUse* use_of(const std::vector<ArgumentUse>& uses, uint32_t argument) const {
    const ArgumentUse* found = nullptr;
    for (const ArgumentUse& use : uses) {
      if (use.argument != argument) continue;
      RC_ASSERT(found == nullptr);  // one entry per argument
      found = &use;
    }
    return found;
  }

  void check_package(const Package& package, Claims& claims) {
    const auto uses = access_.package(package.dimension, package.first, package.count);
    for (const Touch& touch : execution_.touches) {
      if (!package.has(touch)) continue;
      const Access& access = summary_.accesses[touch.access];
      const ArgumentUse* use = use_of(uses, access.argument);
      RC_ASSERT(use != nullptr);
      const ByteRange range = access.kind == AccessKind::kLoad ? use->read : use->write;
      RC_ASSERT(range.begin <= touch.begin);
      RC_ASSERT(touch.end <= range.end);
    }
    for (const ArgumentUse& use : uses) {
      const uint64_t size = values_[use.argument].size;
      RC_ASSERT(use.read.end <= size);
      RC_ASSERT(use.write.end <= size);
      RC_ASSERT(use.read.begin <= use.read.end);
      RC_ASSERT(use.write.begin <= use.write.end);
      if (!use.write.empty() && use.write.end - use.write.begin < size) ++claims.tight;
      if (!use.overwrites || execution_.undefined) continue;
      ++claims.overwrites;
      std::vector<bool> stored(size);
      for (const auto* touches : {&execution_.touches, &execution_.cut}) {
        for (const Touch& touch : *touches) {
          const Access& access = summary_.accesses[touch.access];
          if (!package.has(touch) || access.argument != use.argument) continue;
          if (access.kind != AccessKind::kStore) continue;
          for (uint64_t b = touch.begin; b < touch.end; ++b) stored[b] = true;
        }
      }
      for (uint64_t b = use.write.begin; b < use.write.end; ++b) RC_ASSERT(stored[b]);
    }
  }

  void check_partition(uint32_t d, Claims& claims) {
    for (const Package& package : partition(d)) check_package(package, claims);
  }

  void check_disjoint(Claims& claims) {
    const uint32_t d = access_.verdict().dimension;
    ++claims.disjoint;
    // Bytes of the root buffers really written by two different slices.
    std::map<std::pair<uint64_t, uint64_t>, uint64_t> writer;
    std::set<uint32_t> written;
    for (const Touch& touch : execution_.touches) {
      const Access& access = summary_.accesses[touch.access];
      if (access.kind == AccessKind::kLoad) continue;
      const ArgumentValue& value = values_[access.argument];
      written.insert(access.argument);
      for (uint64_t b = touch.begin; b < touch.end; ++b) {
        const auto [at, fresh] =
            writer.try_emplace({value.buffer, value.origin + b}, touch.group[d]);
        RC_ASSERT(at->second == touch.group[d]);
      }
    }
    if (!written.empty()) ++claims.disjoint_with_stores;
    for (const uint32_t a : written) {
      for (const uint32_t b : written) {
        if (a < b && values_[a].buffer == values_[b].buffer) ++claims.aliased;
      }
    }
    // The ranges that packages make valid and own: in root buffers, none meets another package's.
    std::map<std::pair<uint64_t, uint64_t>, uint64_t> owner;
    for (const Package& package : partition(d)) {
      for (const ArgumentUse& use : access_.package(d, package.first, package.count)) {
        const ArgumentValue& value = values_[use.argument];
        for (uint64_t b = use.write.begin; b < use.write.end; ++b) {
          const auto [at, fresh] =
              owner.try_emplace({value.buffer, value.origin + b}, package.first);
          RC_ASSERT(at->second == package.first);
        }
      }
    }
  }

  RandomCase made_;
  const KernelSummary& summary_;
  std::vector<ArgumentValue> values_;
  std::mt19937_64 random_;
  LaunchAccess access_;
  Execution execution_;
};

TEST(AccessEvalProperty, ClaimsHoldForRandomKernels) {
  constexpr int kCases = 6000;
  Claims claims;
  check_property(kCases, [&] { Case(*choices(160)).check(claims); });
  // The claims are not vacuous.
  RecordProperty("disjoint", std::to_string(claims.disjoint));
  RecordProperty("disjoint_with_stores", std::to_string(claims.disjoint_with_stores));
  RecordProperty("aliased", std::to_string(claims.aliased));
  RecordProperty("overwrites", std::to_string(claims.overwrites));
  RecordProperty("tight", std::to_string(claims.tight));
  EXPECT_GT(claims.disjoint_with_stores, kCases / 50u);
  EXPECT_GT(claims.aliased, kCases / 1000u);
  EXPECT_GT(claims.overwrites, kCases / 10u);
  EXPECT_GT(claims.tight, kCases / 2u);
}

}  // namespace
}  // namespace tutti::scheduler::test
