// SPDX-License-Identifier: Apache-2.0
// The directory of one buffer: which places hold a valid copy of which byte ranges. Pure logic. Not
// thread-safe: guarded by its LogicalBuffer's lock. Ranges reaching beyond the buffer are cut at
// its end. A buffer in one piece (the common case) needs no memory.
//
// Columns are thousands of strips, of which each launch changes the places. So pieces lie one after
// the other in one array, and a change of all strips goes through it once: a map with a node per
// piece takes a hundred times as long.
#pragma once

#include <cstdint>
#include <vector>

#include "base/small_vector.h"
#include "scheduler/access/byte_range.h"
#include "scheduler/devices/place.h"

namespace tutti::scheduler {

class ResidencyMap {
 public:
  struct Segment {
    uint64_t begin = 0;
    uint64_t end = 0;     // exclusive
    PlaceSet places = 0;  // empty set: content never written, nothing to move
    bool operator==(const Segment&) const = default;
  };
  /// Mostly so few that the list needs no memory of its own.
  using Segments = SmallVector<Segment, 2>;

  explicit ResidencyMap(uint64_t size) : size_(size) {}

  uint64_t size() const { return size_; }
  /// Every byte of [begin, end) that has content at all is valid at `place`. No allocation.
  bool valid_at(Place place, uint64_t begin, uint64_t end) const;
  /// The places at which every byte of the range that has content is valid (kEverywhere if it
  /// has none).
  PlaceSet valid_everywhere_in(uint64_t begin, uint64_t end) const;
  /// The places of every byte, where they are the same for all; else none.
  PlaceSet in_one_piece() const { return pieces_.empty() ? whole_ : 0; }
  /// No byte of the range was ever written.
  bool undefined(uint64_t begin, uint64_t end) const;
  /// Segments of the strips that have content but no valid copy at `place`, ascending, merged
  /// within each strip.
  Segments missing_at(Place place, const ByteStrips& strips) const;
  Segments missing_at(Place place, uint64_t begin, uint64_t end) const {
    return missing_at(place, ByteStrips{.range = {begin, end}});
  }
  /// All segments of [begin, end), including undefined ones, ascending.
  Segments segments(uint64_t begin, uint64_t end) const;
  /// A copy was made: `place` holds the strips too (undefined parts stay undefined).
  void add_copy(Place place, const ByteStrips& strips);
  void add_copy(Place place, uint64_t begin, uint64_t end) {
    add_copy(place, ByteStrips{.range = {begin, end}});
  }
  /// The strips were written at these places, at least one: they alone are valid there.
  void set_places(PlaceSet places, const ByteStrips& strips);
  void set_places(PlaceSet places, uint64_t begin, uint64_t end) {
    set_places(places, ByteStrips{.range = {begin, end}});
  }
  void set_exclusive(Place place, const ByteStrips& strips) {
    set_places(place_bit(place), strips);
  }
  void set_exclusive(Place place, uint64_t begin, uint64_t end) {
    set_places(place_bit(place), begin, end);
  }
  /// The copies at `place` are gone (eviction, lost device). Returns ranges that now have no valid
  /// copy anywhere although they had content; they count as never written from then on.
  Segments drop_place(Place place) { return drop_copy(place, {.range = {0, size_}}); }
  /// The same of strips.
  Segments drop_copy(Place place, const ByteStrips& strips);

 private:
  /// From where the piece before it ends. Neighbours have different places.
  struct Piece {
    uint64_t end = 0;
    PlaceSet places = 0;
  };

  /// Calls visit(begin, end, places) for the pieces of the range, ascending.
  template <typename Visit>
  void for_each(uint64_t begin, uint64_t end, Visit&& visit) const;
  /// The places of the strips become change(those before).
  template <typename Change>
  void change(const ByteStrips& strips, Change&& change);
  std::size_t piece_at(uint64_t position) const;
  uint64_t cut(uint64_t position) const { return position < size_ ? position : size_; }

  uint64_t size_;
  PlaceSet whole_ = 0;         // the places of every byte, while there are no pieces
  std::vector<Piece> pieces_;  // of the whole buffer, two at least; or none
};

}  // namespace tutti::scheduler
