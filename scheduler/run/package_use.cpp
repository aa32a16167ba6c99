// SPDX-License-Identifier: Apache-2.0
#include "scheduler/run/package_use.h"

#include <algorithm>
#include <cstring>

namespace tutti::scheduler {

bool needs_before(const PackageUse& use, std::span<const PackageUse> uses) {
  return !use.write.empty() && (!use.overwrites || reads_what_it_writes(use, uses));
}

bool reads_what_it_writes(const PackageUse& use, std::span<const PackageUse> uses) {
  if (use.write.empty()) return false;
  return std::any_of(uses.begin(), uses.end(), [&](const PackageUse& other) {
    return other.buffer == use.buffer && !other.read.empty() && !apart(use.write, other.read);
  });
}

std::vector<PackageUse> uses_of_package(const KernelWork& work, const KernelPlan& plan,
                                        uint32_t backend, uint64_t first, uint64_t count) {
  std::vector<PackageUse> uses;
  const bool panels = plan.has_panels(backend);
  for (const ArgumentUse& use : plan.touched(first, count)) {
    const BufferView& view = (*work.arguments)[use.argument].view;
    if (!view.buffer) continue;
    PackageUse& one = uses.emplace_back();
    one.buffer = view.buffer.get();
    one.place = view.buffer->place_on(backend);
    one.argument = use.argument;
    if (panels && plan.panels.find(use.argument)) {
      // They are packed from there, as far as they reach.
      one.place = kHostPlace;
      one.read = {.range = {view.origin, view.origin + view.size}};
      continue;
    }
    one.overwrites = use.overwrites;
    if (!use.write.empty() && (!plan.split || use.merge == MergeMode::kDisjoint)) {
      one.write = use.write.moved(view.origin);
    }
    const auto [part, other] = use.read_parts();
    if (!part.empty()) one.read = part.moved(view.origin);
    if (other.empty()) continue;
    PackageUse more;
    more.buffer = one.buffer;
    more.place = one.place;
    more.read = other.moved(view.origin);
    more.argument = use.argument;
    uses.push_back(more);
  }
  return uses;
}

void find_ways(std::span<PackageUse> uses) {
  for (PackageUse& use : uses) {
    const auto comes = [&](const ByteStrips& strips) {
      if (strips.empty()) return false;
      const auto missing = use.buffer->missing(use.place, strips);
      return (use.place == kHostPlace ? missing.bytes : missing.elsewhere) > 0;
    };
    const bool copied = use.kept && use.place != kHostPlace && needs_before(use, uses);
    use.into_host = copied || comes(use.read) || (!use.overwrites && comes(use.write));
  }
}

bool writes_anew(std::span<const PackageUse> uses) {
  return std::none_of(uses.begin(), uses.end(),
                      [&](const PackageUse& use) { return reads_what_it_writes(use, uses); });
}

bool was_sent(std::span<const PackageUse> uses, std::span<const SentRange> sent) {
  return std::none_of(uses.begin(), uses.end(), [&](const PackageUse& use) {
    if (!needs_before(use, uses)) return false;
    // Ranges were sent in ascending order.
    uint64_t at = use.write.range.begin;
    for (const SentRange& one : sent) {
      if (one.buffer == use.buffer && one.begin <= at) at = std::max(at, one.end);
    }
    return at < use.write.range.end;
  });
}

Status ContentBefore::keep(std::span<const PackageUse> uses) {
  for (const PackageUse& use : uses) {
    if (!needs_before(use, uses)) continue;
    TUTTI_TRY(use.buffer->make_valid(kHostPlace, use.write));
    if (use.place != kHostPlace) continue;
    TUTTI_ASSIGN(const std::byte* host, use.buffer->host_memory());
    Kept kept{use.buffer, use.write, {}};
    use.write.for_each([&](uint64_t begin, uint64_t end) {
      kept.bytes.insert(kept.bytes.end(), host + begin, host + end);
    });
    kept_.push_back(std::move(kept));
  }
  return {};
}

bool ContentBefore::restore(std::span<const PackageUse> uses) const {
  for (const PackageUse& use : uses) {
    if (!needs_before(use, uses)) continue;
    const auto kept = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& one) {
      return one.buffer == use.buffer && one.strips == use.write;
    });
    if (kept == kept_.end()) {
      // What is not read, and lies here alone, will have the same bytes written to it again.
      const bool dropped = use.buffer->drop_copy(use.place, use.write);
      if (!dropped && reads_what_it_writes(use, uses)) return false;
      continue;
    }
    const auto host = use.buffer->host_memory();
    if (!host) return false;
    const std::byte* from = kept->bytes.data();
    use.write.for_each([&](uint64_t begin, uint64_t end) {
      std::memcpy(*host + begin, from, end - begin);
      from += end - begin;
    });
  }
  return true;
}

bool is_elsewhere(std::span<const PackageUse> uses) {
  return std::all_of(uses.begin(), uses.end(), [&](const PackageUse& use) {
    if (!needs_before(use, uses)) return true;
    bool elsewhere = true;
    for (const auto& segment : use.buffer->segments(use.write.range.begin, use.write.range.end)) {
      elsewhere &= segment.places != place_bit(use.place);
    }
    return elsewhere;
  });
}

}  // namespace tutti::scheduler
