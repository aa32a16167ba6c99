// SPDX-License-Identifier: Apache-2.0
// A vector whose first N elements need no memory of their own: Boost's, which a span can be made
// of. Not thread-safe.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <span>

namespace tutti {

template <typename T, size_t N>
class SmallVector : public boost::container::small_vector<T, N> {
 public:
  using boost::container::small_vector<T, N>::small_vector;

  // Its iterators are no contiguous ones as C++20 knows them (Boost 1.74).
  operator std::span<T>() {  // NOLINT(google-explicit-constructor): as a standard vector
    return {this->data(), this->size()};
  }
  operator std::span<const T>() const {  // NOLINT(google-explicit-constructor)
    return {this->data(), this->size()};
  }
};

}  // namespace tutti
