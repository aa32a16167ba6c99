// SPDX-License-Identifier: Apache-2.0
#include "scheduler/memory/residency_map.h"

#include <algorithm>

#include "property.h"

namespace tutti::scheduler::test {
namespace {

using Segment = ResidencyMap::Segment;
using Segments = ResidencyMap::Segments;

template <typename Predicate>
void erase_where(Segments& segments, Predicate matches) {
  segments.erase(std::remove_if(segments.begin(), segments.end(), matches), segments.end());
}

TEST(ResidencyMap, StartsWithoutContent) {
  const ResidencyMap map(100);
  EXPECT_EQ(map.size(), 100u);
  EXPECT_TRUE(map.undefined(0, 100));
  EXPECT_TRUE(map.valid_at(3, 0, 100));  // there is nothing that could be missing
  EXPECT_EQ(map.valid_everywhere_in(0, 100), ~PlaceSet{0});
  EXPECT_TRUE(map.missing_at(1, 0, 100).empty());
  EXPECT_EQ(map.segments(0, 100), (Segments{{0, 100, 0}}));
}

TEST(ResidencyMap, SplitResultIsGatheredLazily) {
  ResidencyMap map(100);
  map.set_exclusive(kHostPlace, 0, 100);
  map.set_exclusive(1, 0, 60);
  map.set_exclusive(2, 60, 100);
  EXPECT_FALSE(map.valid_at(kHostPlace, 0, 100));
  EXPECT_TRUE(map.valid_at(1, 10, 60));
  EXPECT_FALSE(map.valid_at(1, 10, 61));
  EXPECT_EQ(map.missing_at(kHostPlace, 50, 100),
            (Segments{{50, 60, place_bit(1)}, {60, 100, place_bit(2)}}));
  map.add_copy(kHostPlace, 0, 100);
  EXPECT_EQ(map.valid_everywhere_in(0, 100), place_bit(kHostPlace));
  EXPECT_TRUE(map.missing_at(kHostPlace, 0, 100).empty());
}

TEST(ResidencyMap, CopiesOfUndefinedPartsStayUndefined) {
  ResidencyMap map(100);
  map.set_exclusive(1, 20, 40);
  map.add_copy(2, 0, 100);
  EXPECT_EQ(map.segments(0, 100),
            (Segments{{0, 20, 0}, {20, 40, place_bit(1) | place_bit(2)}, {40, 100, 0}}));
  EXPECT_TRUE(map.undefined(0, 20));
  EXPECT_FALSE(map.undefined(0, 21));
}

TEST(ResidencyMap, PiecesGrowTogetherAgain) {
  ResidencyMap map(100);
  map.set_exclusive(1, 0, 50);
  map.set_exclusive(1, 50, 100);
  EXPECT_EQ(map.segments(0, 100), (Segments{{0, 100, place_bit(1)}}));
  EXPECT_EQ(map.valid_everywhere_in(0, 100), place_bit(1));
}

TEST(ResidencyMap, DroppedPlacesTellWhatIsLost) {
  ResidencyMap map(100);
  map.set_exclusive(1, 0, 50);
  map.set_exclusive(2, 50, 100);
  map.add_copy(kHostPlace, 20, 30);
  EXPECT_EQ(map.drop_place(1), (Segments{{0, 20, 0}, {30, 50, 0}}));
  EXPECT_TRUE(map.undefined(0, 20));
  EXPECT_EQ(map.valid_everywhere_in(20, 30), place_bit(kHostPlace));
  EXPECT_TRUE(map.drop_place(kHostPlace) == (Segments{{20, 30, 0}}));
  EXPECT_EQ(map.drop_place(2), (Segments{{50, 100, 0}}));
  EXPECT_TRUE(map.undefined(0, 100));
}

TEST(ResidencyMap, RangesAreCutAtTheEnd) {
  ResidencyMap map(10);
  map.set_exclusive(1, 5, 1000);
  map.set_exclusive(2, 20, 30);
  EXPECT_EQ(map.segments(0, 99), (Segments{{0, 5, 0}, {5, 10, place_bit(1)}}));
  EXPECT_TRUE(map.segments(10, 99).empty());
  EXPECT_TRUE(map.valid_at(2, 7, 7));
}

TEST(ResidencyMap, CopiesAreIndependent) {
  ResidencyMap map(10);
  map.set_exclusive(1, 0, 5);
  ResidencyMap other = map;
  other.set_exclusive(2, 0, 10);
  EXPECT_EQ(map.segments(0, 10), (Segments{{0, 5, place_bit(1)}, {5, 10, 0}}));
  map = std::move(other);
  EXPECT_EQ(map.valid_everywhere_in(0, 10), place_bit(2));
}

/// The same, byte by byte.
struct Bytes {
  std::vector<PlaceSet> places;

  template <typename Body>
  void each(uint64_t begin, uint64_t end, Body&& body) {
    for (uint64_t i = begin; i < std::min<uint64_t>(end, places.size()); ++i) body(i, places[i]);
  }
  Segments segments(uint64_t begin, uint64_t end) {
    Segments result;
    each(begin, end, [&](uint64_t i, PlaceSet set) {
      if (!result.empty() && result.back().end == i && result.back().places == set) {
        ++result.back().end;
      } else {
        result.push_back({i, i + 1, set});
      }
    });
    return result;
  }
};

TEST(ResidencyMapProperty, AgreesWithBytes) {
  uint64_t fragmented = 0;
  uint64_t lost_segments = 0;
  uint64_t fragmented_strips = 0;
  check_property(2000, [&] {
    const auto numbers = *choices(120);
    size_t next = 0;
    const auto pick = [&](uint64_t below) {
      return next < numbers.size() ? numbers[next++] % below : 0;
    };
    const uint64_t size = 1 + pick(48);
    ResidencyMap map(size);
    Bytes bytes{std::vector<PlaceSet>(size, 0)};
    while (next < numbers.size()) {
      const bool whole = pick(4) == 0;
      const uint64_t begin = whole ? 0 : pick(size + 2);
      const uint64_t end = whole ? size : begin + pick(size + 2 - begin);
      ByteStrips strips{.range = {begin, end}};
      if (pick(3) == 0) {
        strips.period = 1 + pick(9);
        strips.length = 1 + pick(strips.period);
        strips.phase = static_cast<int64_t>(pick(strips.period));
      }
      const auto each_in_strips = [&](auto&& body) {
        bytes.each(begin, end, [&](uint64_t i, PlaceSet& set) {
          strips.for_each_in(i, i + 1, [&](uint64_t, uint64_t) { body(i, set); });
        });
      };
      uint64_t within = 0;
      for (uint64_t i = begin; i < end; ++i) {
        strips.for_each_in(i, i + 1, [&](uint64_t, uint64_t) { ++within; });
      }
      RC_ASSERT(strips.size() == within);
      const auto place = static_cast<Place>(pick(3) == 0 ? 63 : pick(3));
      const PlaceSet bit = place_bit(place);
      switch (pick(8)) {
        case 0:
        case 1:
        case 2:
          map.set_exclusive(place, strips);
          each_in_strips([&](uint64_t, PlaceSet& set) { set = bit; });
          break;
        case 3:
        case 4:
        case 5:
        case 6:
          map.add_copy(place, strips);
          each_in_strips([&](uint64_t, PlaceSet& set) { set = set == 0 ? 0 : set | bit; });
          break;
        default: {
          Bytes lost{std::vector<PlaceSet>(size, 0)};
          each_in_strips([&](uint64_t i, PlaceSet& set) {
            lost.places[i] = set == bit ? 1 : 0;
            set &= ~bit;
          });
          Segments expected = lost.segments(0, size);
          erase_where(expected, [](const Segment& s) { return s.places == 0; });
          for (Segment& segment : expected) segment.places = 0;
          RC_ASSERT(map.drop_copy(place, strips) == expected);
          lost_segments += expected.size();
        }
      }
      const uint64_t from = pick(size + 1);
      const uint64_t to = from + pick(size + 2 - from);
      PlaceSet common = ~PlaceSet{0};
      bool content = false;
      bytes.each(from, to, [&](uint64_t, PlaceSet set) {
        if (set != 0) common &= set;
        content = content || set != 0;
      });
      Segments missing = bytes.segments(from, to);
      erase_where(missing,
                  [&](const Segment& s) { return s.places == 0 || (s.places & bit) != 0; });
      Bytes lacking{std::vector<PlaceSet>(size, 0)};
      each_in_strips(
          [&](uint64_t i, PlaceSet& set) { lacking.places[i] = (set & bit) != 0 ? 0 : set; });
      Segments missing_strips = lacking.segments(0, size);
      erase_where(missing_strips, [](const Segment& s) { return s.places == 0; });
      RC_ASSERT(map.missing_at(place, strips) == missing_strips);
      fragmented_strips += missing_strips.size() > 3 ? 1 : 0;
      RC_ASSERT(map.valid_everywhere_in(from, to) == common);
      RC_ASSERT(map.valid_at(place, from, to) == ((common & bit) != 0));
      RC_ASSERT(map.undefined(from, to) == !content);
      RC_ASSERT(map.missing_at(place, from, to) == missing);
      RC_ASSERT(map.segments(from, to) == bytes.segments(from, to));
      RC_ASSERT(map.segments(0, size) == bytes.segments(0, size));
      fragmented += map.segments(0, size).size() > 3 ? 1 : 0;
    }
  });
  EXPECT_GT(fragmented, 1000u);
  EXPECT_GT(lost_segments, 100u);
  EXPECT_GT(fragmented_strips, 100u);
}

}  // namespace
}  // namespace tutti::scheduler::test
