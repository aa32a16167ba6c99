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
  uint64_t strided = 0;
  uint64_t strided_loads = 0;
  uint64_t atomic = 0;
  uint64_t diff = 0;
  uint64_t distrusted = 0;  // whole only because races are not trusted
};

bool contains(const ByteStrips& strips, uint64_t byte) {
  bool found = false;
  strips.for_each_in(byte, byte + 1, [&](uint64_t, uint64_t) { found = true; });
  return found;
}

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
    check_whole(groups0);
    check_package({0, 0, groups0}, claims);
    for (uint32_t d = 0; d < made_.shape.dims; ++d) check_partition(d, claims);
    if (access_.verdict().mode != MergeMode::kWhole) check_split(claims);
    check_distrust(claims);
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

  /// A package of everything does no more than the whole launch.
  void check_whole(uint64_t groups0) const {
    const auto all = access_.package(0, 0, groups0);
    RC_ASSERT(all.size() == access_.whole().size());
    for (size_t i = 0; i < all.size(); ++i) {
      const ArgumentUse& whole = access_.whole()[i];
      RC_ASSERT(all[i].argument == whole.argument);
      if (all[i].merge == MergeMode::kDisjoint) {
        RC_ASSERT(all[i].read.range == whole.read.range);
        RC_ASSERT(all[i].bytes_read() <= whole.bytes_read());
      }
      if (all[i].merge != MergeMode::kDisjoint || all[i].write.empty()) continue;
      RC_ASSERT(whole.write.range.begin <= all[i].write.range.begin);
      RC_ASSERT(all[i].write.range.end <= whole.write.range.end);
    }
  }

  void check_package(const Package& package, Claims& claims) {
    const auto uses = access_.package(package.dimension, package.first, package.count);
    for (const Touch& touch : execution_.touches) {
      if (!package.has(touch)) continue;
      const Access& access = summary_.accesses[touch.access];
      const ArgumentUse* use = use_of(uses, access.argument);
      RC_ASSERT(use != nullptr);
      if (access.kind == AccessKind::kLoad) {
        for (uint64_t b = touch.begin; b < touch.end; ++b) RC_ASSERT(contains(use->read, b));
        const ByteRange& unread = use->unread;
        RC_ASSERT(unread.empty() || touch.end <= unread.begin || unread.end <= touch.begin);
        continue;
      }
      for (uint64_t b = touch.begin; b < touch.end; ++b) RC_ASSERT(contains(use->write, b));
    }
    for (const ArgumentUse& use : uses) {
      const uint64_t size = values_[use.argument].size;
      RC_ASSERT(use.read.range.end <= size);
      RC_ASSERT(use.write.range.end <= size);
      RC_ASSERT(use.read.range.begin <= use.read.range.end);
      if (use.read.strided()) ++claims.strided_loads;
      if (!use.unread.empty()) {
        RC_ASSERT(use.read.range.begin < use.unread.begin);
        RC_ASSERT(use.unread.end < use.read.range.end);
      }
      RC_ASSERT(use.write.range.begin <= use.write.range.end);
      if (!use.write.empty() && use.write.range.size() < size) ++claims.tight;
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
      use.write.for_each([&](uint64_t begin, uint64_t end) {
        for (uint64_t b = begin; b < end; ++b) RC_ASSERT(stored[b]);
      });
    }
  }

  void check_partition(uint32_t d, Claims& claims) {
    for (const Package& package : partition(d)) check_package(package, claims);
  }

  const MergeRegion* region_of(uint64_t buffer, uint64_t byte) const {
    for (const MergeRegion& region : access_.regions()) {
      if (values_[region.arguments.front()].buffer == buffer && region.range.begin <= byte &&
          byte < region.range.end) {
        return &region;
      }
    }
    return nullptr;
  }

  void check_split(Claims& claims) {
    const uint32_t d = access_.verdict().dimension;
    const MergeMode mode = access_.verdict().mode;
    if (mode == MergeMode::kDisjoint) ++claims.disjoint;
    if (mode == MergeMode::kAtomic) ++claims.atomic;
    if (mode == MergeMode::kDiff) ++claims.diff;
    RC_ASSERT((mode == MergeMode::kDisjoint) == access_.regions().empty());
    // Bytes of the root buffers really written by two different slices, outside merged regions.
    using Byte = std::pair<uint64_t, uint64_t>;
    std::map<Byte, uint64_t> writer;
    std::set<Byte> by_atomics;
    std::set<uint32_t> written;
    for (const Touch& touch : execution_.touches) {
      const Access& access = summary_.accesses[touch.access];
      const ArgumentValue& value = values_[access.argument];
      if (access.kind != AccessKind::kLoad) written.insert(access.argument);
      for (uint64_t b = touch.begin; b < touch.end; ++b) {
        const uint64_t byte = value.origin + b;
        const MergeRegion* region = region_of(value.buffer, byte);
        if (region && region->mode == MergeMode::kAtomic) {
          RC_ASSERT(access.kind == AccessKind::kAtomic && !access.result_used);
          RC_ASSERT(access.size == region->unit);
          RC_ASSERT((value.origin + touch.begin - region->range.begin) % region->unit == 0);
        }
        if (access.kind == AccessKind::kLoad || region) continue;
        const auto [at, fresh] = writer.try_emplace({value.buffer, byte}, touch.group[d]);
        RC_ASSERT(at->second == touch.group[d]);
        if (access.kind == AccessKind::kAtomic) by_atomics.insert({value.buffer, byte});
      }
    }
    // What one slice updates atomically no other reads.
    for (const Touch& touch : execution_.touches) {
      const Access& access = summary_.accesses[touch.access];
      if (access.kind != AccessKind::kLoad) continue;
      const ArgumentValue& value = values_[access.argument];
      for (uint64_t b = touch.begin; b < touch.end; ++b) {
        const Byte byte{value.buffer, value.origin + b};
        if (by_atomics.contains(byte)) RC_ASSERT(writer[byte] == touch.group[d]);
      }
    }
    if (!written.empty()) ++claims.disjoint_with_stores;
    for (const uint32_t a : written) {
      for (const uint32_t b : written) {
        if (a < b && values_[a].buffer == values_[b].buffer) ++claims.aliased;
      }
    }
    // What packages make valid and own: in root buffers, none meets another package's.
    std::map<Byte, uint64_t> owner;
    for (const Package& package : partition(d)) {
      for (const ArgumentUse& use : access_.package(d, package.first, package.count)) {
        if (use.merge != MergeMode::kDisjoint) continue;
        if (use.write.strided()) ++claims.strided;
        const ArgumentValue& value = values_[use.argument];
        use.write.for_each([&](uint64_t begin, uint64_t end) {
          for (uint64_t b = begin; b < end; ++b) {
            const auto [at, fresh] =
                owner.try_emplace({value.buffer, value.origin + b}, package.first);
            RC_ASSERT(at->second == package.first);
            RC_ASSERT(region_of(value.buffer, value.origin + b) == nullptr);
          }
        });
      }
    }
  }

  /// Without trust, no slice reads what another one writes.
  void check_distrust(Claims& claims) {
    const auto access =
        LaunchAccess::evaluate(summary_, made_.shape, values_, {.distrust_races = true});
    const Verdict& verdict = access.verdict();
    if (verdict.mode == MergeMode::kWhole) {
      if (access_.verdict().mode != MergeMode::kWhole) ++claims.distrusted;
      return;
    }
    std::map<std::pair<uint64_t, uint64_t>, uint64_t> writer;
    for (const bool writes : {true, false}) {
      for (const Touch& touch : execution_.touches) {
        const Access& one = summary_.accesses[touch.access];
        if ((one.kind != AccessKind::kLoad) != writes) continue;
        const ArgumentValue& value = values_[one.argument];
        for (uint64_t b = touch.begin; b < touch.end; ++b) {
          const std::pair<uint64_t, uint64_t> byte{value.buffer, value.origin + b};
          if (writes) {
            writer[byte] = touch.group[verdict.dimension];
          } else if (const auto at = writer.find(byte); at != writer.end()) {
            RC_ASSERT(at->second == touch.group[verdict.dimension]);
          }
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
  for (const auto& [name, count] :
       {std::pair{"strided", claims.strided}, std::pair{"strided loads", claims.strided_loads},
        std::pair{"atomic", claims.atomic}, std::pair{"diff", claims.diff},
        std::pair{"distrusted", claims.distrusted}}) {
    RecordProperty(name, std::to_string(count));
    EXPECT_GT(count, kCases / 400u) << name;
  }
  EXPECT_GT(claims.disjoint_with_stores, kCases / 50u);
  EXPECT_GT(claims.aliased, kCases / 1000u);
  EXPECT_GT(claims.overwrites, kCases / 10u);
  EXPECT_GT(claims.tight, kCases / 2u);
}

}  // namespace
}  // namespace tutti::scheduler::test
