// SPDX-License-Identifier: Apache-2.0
// Names for the devices and for where bytes lie. Plain values.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

namespace tutti::scheduler {

/// Backends are numbered below this: places are bits of a word, and the host's memory has one.
inline constexpr uint32_t kMostBackends = 63;

inline constexpr uint32_t kNoBackend = UINT32_MAX;

/// A set of backends as bits.
using BackendMask = uint64_t;
inline constexpr BackendMask backend_bit(uint32_t backend) { return BackendMask{1} << backend; }
inline constexpr BackendMask mask_of(std::span<const uint32_t> backends) {
  BackendMask mask = 0;
  for (const uint32_t backend : backends) mask |= backend_bit(backend);
  return mask;
}

/// A set of places as bits: bit 0 is the host's memory, bit i+1 is backend i. Devices that share
/// the host's memory are the host's place.
using PlaceSet = uint64_t;
using Place = uint32_t;
inline constexpr Place kHostPlace = 0;
inline constexpr PlaceSet kEverywhere = ~PlaceSet{0};  // of what has no content
inline constexpr PlaceSet place_bit(Place place) { return PlaceSet{1} << place; }
/// Of a set that is not empty.
inline constexpr Place first_of(PlaceSet places) {
  return static_cast<Place>(std::countr_zero(places));
}

}  // namespace tutti::scheduler
