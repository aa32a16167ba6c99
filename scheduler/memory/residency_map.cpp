// SPDX-License-Identifier: Apache-2.0
#include "scheduler/memory/residency_map.h"

#include <algorithm>

namespace tutti::scheduler {
namespace {

void append(ResidencyMap::Segments& segments, uint64_t begin, uint64_t end, PlaceSet places) {
  if (!segments.empty() && segments.back().end == begin && segments.back().places == places) {
    segments.back().end = end;
  } else {
    segments.push_back({begin, end, places});
  }
}

}  // namespace

std::size_t ResidencyMap::piece_at(uint64_t position) const {
  const auto found =
      std::upper_bound(pieces_.begin(), pieces_.end(), position,
                       [](uint64_t value, const Piece& piece) { return value < piece.end; });
  return static_cast<std::size_t>(found - pieces_.begin());
}

template <typename Visit>
void ResidencyMap::for_each(uint64_t begin, uint64_t end, Visit&& visit) const {
  end = cut(end);
  if (begin >= end) return;
  if (pieces_.empty()) {
    visit(begin, end, whole_);
    return;
  }
  for (std::size_t i = piece_at(begin); begin < end; ++i) {
    const uint64_t until = std::min(end, pieces_[i].end);
    visit(begin, until, pieces_[i].places);
    begin = until;
  }
}

bool ResidencyMap::valid_at(Place place, uint64_t begin, uint64_t end) const {
  return (valid_everywhere_in(begin, end) & place_bit(place)) != 0;
}

PlaceSet ResidencyMap::valid_everywhere_in(uint64_t begin, uint64_t end) const {
  PlaceSet common = kEverywhere;
  for_each(begin, end, [&](uint64_t, uint64_t, PlaceSet places) {
    if (places != 0) common &= places;
  });
  return common;
}

bool ResidencyMap::undefined(uint64_t begin, uint64_t end) const {
  bool content = false;
  for_each(begin, end, [&](uint64_t, uint64_t, PlaceSet places) { content |= places != 0; });
  return !content;
}

ResidencyMap::Segments ResidencyMap::missing_at(Place place, const ByteStrips& strips) const {
  Segments result;
  for_each(strips.range.begin, strips.range.end, [&](uint64_t from, uint64_t to, PlaceSet places) {
    if (places == 0 || (places & place_bit(place)) != 0) return;
    strips.for_each_in(from, to,
                       [&](uint64_t begin, uint64_t end) { append(result, begin, end, places); });
  });
  return result;
}

ResidencyMap::Segments ResidencyMap::segments(uint64_t begin, uint64_t end) const {
  Segments result;
  for_each(begin, end,
           [&](uint64_t from, uint64_t to, PlaceSet places) { append(result, from, to, places); });
  return result;
}

template <typename Change>
void ResidencyMap::change(const ByteStrips& strips, Change&& change) {
  const uint64_t begin = strips.range.begin;
  const uint64_t end = cut(strips.range.end);
  if (begin >= end) return;
  if (pieces_.empty()) {
    if (!strips.strided() && begin == 0 && end == size_) {
      whole_ = change(whole_);
      return;
    }
    if (change(whole_) == whole_) return;
    pieces_.push_back({size_, whole_});
  }
  // With its neighbours, which may become one with what changes.
  std::size_t first = piece_at(begin);
  if (first > 0) --first;
  const std::size_t last = std::min(piece_at(end - 1) + 1, pieces_.size() - 1);
  std::vector<Piece> made;
  made.reserve(last - first + 3);
  const auto add = [&made](uint64_t until, PlaceSet places) {
    if (!made.empty() && made.back().places == places) {
      made.back().end = until;
    } else {
      made.push_back({until, places});
    }
  };
  uint64_t at = first > 0 ? pieces_[first - 1].end : 0;
  for (std::size_t i = first; i <= last; ++i) {
    const Piece piece = pieces_[i];
    strips.for_each_in(at, std::min(piece.end, end), [&](uint64_t from, uint64_t to) {
      if (from > at) add(from, piece.places);
      add(to, change(piece.places));
      at = to;
    });
    if (piece.end > at) add(piece.end, piece.places);
    at = piece.end;
  }
  if (made.size() == 1 && first == 0 && last + 1 == pieces_.size()) {
    whole_ = made.front().places;
    pieces_.clear();
    return;
  }
  const auto to = pieces_.begin() + static_cast<std::ptrdiff_t>(first);
  const std::size_t before = last - first + 1;
  const std::size_t kept = std::min(before, made.size());
  const auto rest = std::copy_n(made.begin(), kept, to);
  if (before > kept) {
    pieces_.erase(rest, rest + static_cast<std::ptrdiff_t>(before - kept));
  } else {
    pieces_.insert(rest, made.begin() + static_cast<std::ptrdiff_t>(kept), made.end());
  }
}

void ResidencyMap::add_copy(Place place, const ByteStrips& strips) {
  const PlaceSet bit = place_bit(place);
  change(strips, [bit](PlaceSet places) { return places != 0 ? places | bit : 0; });
}

void ResidencyMap::set_places(PlaceSet places, const ByteStrips& strips) {
  if (!strips.strided() && strips.range.begin == 0 && strips.range.end >= size_) {
    whole_ = places;
    pieces_.clear();
    return;
  }
  change(strips, [places](PlaceSet) { return places; });
}

ResidencyMap::Segments ResidencyMap::drop_copy(Place place, const ByteStrips& strips) {
  Segments lost;
  const PlaceSet bit = place_bit(place);
  for_each(strips.range.begin, strips.range.end, [&](uint64_t from, uint64_t to, PlaceSet places) {
    if (places != bit) return;
    strips.for_each_in(from, to,
                       [&](uint64_t begin, uint64_t end) { append(lost, begin, end, 0); });
  });
  change(strips, [bit](PlaceSet places) { return places & ~bit; });
  return lost;
}

}  // namespace tutti::scheduler
