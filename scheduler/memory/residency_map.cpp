// SPDX-License-Identifier: Apache-2.0
#include "scheduler/memory/residency_map.h"

#include <algorithm>
#include <boost/icl/interval_map.hpp>
#include <utility>

namespace tutti::scheduler {
namespace {

using Interval = boost::icl::right_open_interval<uint64_t>;
using Map = boost::icl::interval_map<uint64_t, PlaceSet, boost::icl::partial_absorber, std::less,
                                     boost::icl::inplace_plus, boost::icl::inter_section, Interval>;

void append(std::vector<ResidencyMap::Segment>& segments, uint64_t begin, uint64_t end,
            PlaceSet places) {
  if (!segments.empty() && segments.back().end == begin && segments.back().places == places) {
    segments.back().end = end;
  } else {
    segments.push_back({begin, end, places});
  }
}

}  // namespace

/// Only ranges with content are in the map, so no mapped set is empty.
struct ResidencyMap::Pieces {
  Map map;
};

ResidencyMap::ResidencyMap(uint64_t size) : size_(size) {}
ResidencyMap::ResidencyMap(const ResidencyMap& other)
    : size_(other.size_),
      whole_(other.whole_),
      in_pieces_(other.in_pieces_),
      pieces_(other.in_pieces_ ? std::make_unique<Pieces>(*other.pieces_) : nullptr) {}
ResidencyMap::ResidencyMap(ResidencyMap&&) noexcept = default;
ResidencyMap& ResidencyMap::operator=(ResidencyMap other) noexcept {
  std::swap(size_, other.size_);
  std::swap(whole_, other.whole_);
  std::swap(in_pieces_, other.in_pieces_);
  std::swap(pieces_, other.pieces_);
  return *this;
}
ResidencyMap::~ResidencyMap() = default;

template <typename Visit>
void ResidencyMap::for_each(uint64_t begin, uint64_t end, Visit&& visit) const {
  end = cut(end);
  if (begin >= end) return;
  if (!in_pieces_) {
    if (whole_ != 0) visit(begin, end, whole_);
    return;
  }
  const auto [first, last] = pieces_->map.equal_range(Interval(begin, end));
  for (auto it = first; it != last; ++it) {
    visit(std::max(begin, it->first.lower()), std::min(end, it->first.upper()), it->second);
  }
}

ResidencyMap::Pieces& ResidencyMap::pieces() {
  if (!in_pieces_) {
    if (!pieces_) pieces_ = std::make_unique<Pieces>();
    pieces_->map.clear();
    if (whole_ != 0) pieces_->map.set({Interval(0, size_), whole_});
    in_pieces_ = true;
  }
  return *pieces_;
}

void ResidencyMap::unite() {
  if (!in_pieces_) return;
  const Map& map = pieces_->map;
  if (map.empty()) {
    whole_ = 0;
  } else if (map.begin()->first == Interval(0, size_)) {
    whole_ = map.begin()->second;
  } else {
    return;
  }
  in_pieces_ = false;
}

bool ResidencyMap::valid_at(Place place, uint64_t begin, uint64_t end) const {
  return (valid_everywhere_in(begin, end) & place_bit(place)) != 0;
}

PlaceSet ResidencyMap::valid_everywhere_in(uint64_t begin, uint64_t end) const {
  PlaceSet common = kEverywhere;
  for_each(begin, end, [&](uint64_t, uint64_t, PlaceSet places) { common &= places; });
  return common;
}

bool ResidencyMap::undefined(uint64_t begin, uint64_t end) const {
  bool content = false;
  for_each(begin, end, [&](uint64_t, uint64_t, PlaceSet) { content = true; });
  return !content;
}

std::vector<ResidencyMap::Segment> ResidencyMap::missing_at(Place place, uint64_t begin,
                                                            uint64_t end) const {
  std::vector<Segment> result;
  for_each(begin, end, [&](uint64_t from, uint64_t to, PlaceSet places) {
    if ((places & place_bit(place)) == 0) append(result, from, to, places);
  });
  return result;
}

std::vector<ResidencyMap::Segment> ResidencyMap::segments(uint64_t begin, uint64_t end) const {
  std::vector<Segment> result;
  uint64_t position = begin;
  for_each(begin, end, [&](uint64_t from, uint64_t to, PlaceSet places) {
    if (position < from) append(result, position, from, 0);
    append(result, from, to, places);
    position = to;
  });
  if (position < cut(end)) append(result, position, cut(end), 0);
  return result;
}

void ResidencyMap::add_copy(Place place, uint64_t begin, uint64_t end) {
  end = cut(end);
  const PlaceSet bit = place_bit(place);
  if (begin >= end) return;
  if (!in_pieces_) {
    if (whole_ == 0 || (whole_ & bit) != 0) return;
    if (begin == 0 && end == size_) {
      whole_ |= bit;
      return;
    }
  }
  std::vector<Segment> changed;
  for_each(begin, end, [&](uint64_t from, uint64_t to, PlaceSet places) {
    if ((places & bit) == 0) changed.push_back({from, to, places | bit});
  });
  if (changed.empty()) return;
  Map& map = pieces().map;
  for (const Segment& segment : changed) {
    map.set({Interval(segment.begin, segment.end), segment.places});
  }
  unite();
}

void ResidencyMap::set_places(PlaceSet places, uint64_t begin, uint64_t end) {
  end = cut(end);
  if (begin >= end) return;
  if (begin == 0 && end == size_) {
    whole_ = places;
    in_pieces_ = false;
    return;
  }
  if (!in_pieces_ && whole_ == places) return;
  pieces().map.set({Interval(begin, end), places});
  unite();
}

std::vector<ResidencyMap::Segment> ResidencyMap::drop_copy(Place place, uint64_t begin,
                                                           uint64_t end) {
  std::vector<Segment> lost;
  std::vector<Segment> changed;
  const PlaceSet bit = place_bit(place);
  for_each(begin, end, [&](uint64_t from, uint64_t to, PlaceSet places) {
    if (places == bit) append(lost, from, to, 0);
    if ((places & bit) != 0) changed.push_back({from, to, places & ~bit});
  });
  if (changed.empty()) return lost;
  if (!in_pieces_ && changed.front().begin == 0 && changed.front().end == size_) {
    whole_ &= ~bit;
    return lost;
  }
  Map& map = pieces().map;
  for (const Segment& segment : changed) {
    const Interval range(segment.begin, segment.end);
    if (segment.places == 0) {
      map.erase(range);
    } else {
      map.set({range, segment.places});
    }
  }
  unite();
  return lost;
}

}  // namespace tutti::scheduler
