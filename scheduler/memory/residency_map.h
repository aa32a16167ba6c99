// SPDX-License-Identifier: Apache-2.0
// The directory of one buffer: an interval map from byte ranges to the set of places that hold a
// valid copy. Pure logic. Not thread-safe: guarded by its LogicalBuffer's lock. Ranges reaching
// beyond the buffer are cut at its end. A buffer in one piece (the common case) needs no map and no
// memory.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

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

  explicit ResidencyMap(uint64_t size);
  ResidencyMap(const ResidencyMap& other);
  ResidencyMap(ResidencyMap&&) noexcept;
  ResidencyMap& operator=(ResidencyMap other) noexcept;
  ~ResidencyMap();

  uint64_t size() const { return size_; }
  /// Every byte of [begin, end) that has content at all is valid at `place`. No allocation.
  bool valid_at(Place place, uint64_t begin, uint64_t end) const;
  /// The places at which every byte of the range that has content is valid (kEverywhere if it
  /// has none).
  PlaceSet valid_everywhere_in(uint64_t begin, uint64_t end) const;
  /// The places of every byte, where they are the same for all; else none.
  PlaceSet in_one_piece() const { return in_pieces_ ? 0 : whole_; }
  /// No byte of the range was ever written.
  bool undefined(uint64_t begin, uint64_t end) const;
  /// Segments of [begin, end) that have content but no valid copy at `place`, ascending, merged.
  std::vector<Segment> missing_at(Place place, uint64_t begin, uint64_t end) const;
  /// All segments of [begin, end), including undefined ones, ascending.
  std::vector<Segment> segments(uint64_t begin, uint64_t end) const;
  /// A copy was made: `place` holds the range too (undefined parts stay undefined).
  void add_copy(Place place, uint64_t begin, uint64_t end);
  /// The range was written at `place`: it alone is valid there.
  void set_exclusive(Place place, uint64_t begin, uint64_t end) {
    set_places(place_bit(place), begin, end);
  }
  /// The same at several places, at least one.
  void set_places(PlaceSet places, uint64_t begin, uint64_t end);
  /// The copies at `place` are gone (eviction, lost device). Returns ranges that now have no valid
  /// copy anywhere although they had content; they count as never written from then on.
  std::vector<Segment> drop_place(Place place) { return drop_copy(place, 0, size_); }
  /// The same of a range.
  std::vector<Segment> drop_copy(Place place, uint64_t begin, uint64_t end);

 private:
  struct Pieces;  // the interval map

  /// Calls visit(begin, end, places) for the pieces of the range that have content, ascending.
  template <typename Visit>
  void for_each(uint64_t begin, uint64_t end, Visit&& visit) const;
  uint64_t cut(uint64_t position) const { return position < size_ ? position : size_; }
  Pieces& pieces();
  /// Back to the form without a map where the buffer is in one piece again.
  void unite();

  uint64_t size_;
  PlaceSet whole_ = 0;  // the places of every byte, while in_pieces_ is false
  bool in_pieces_ = false;
  std::unique_ptr<Pieces> pieces_;  // meaningful while in_pieces_; kept for the next time
};

}  // namespace tutti::scheduler
