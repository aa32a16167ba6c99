// SPDX-License-Identifier: Apache-2.0
// What a launch got for its arguments, kept for those after it that may differ in numbers only.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "scheduler/command/work.h"

namespace tutti::scheduler {

/// Not thread-safe.
class LaunchedArguments {
 public:
  void remember(std::shared_ptr<const ArgumentSet> set);
  /// Whether they are of this version of their kernel object's set.
  bool are(uint64_t version) const { return version == version_; }
  /// Buffers, images, samplers and sizes of local memory are the same.
  bool same_objects(const ArgumentSet& set) const;
  /// Takes over the numbers of a set of the same kernel object; false, when some may have been
  /// taken, where more than numbers differs. There is something to remember.
  bool take_numbers(const ArgumentSet& set);
  size_t count() const { return numbers_.size(); }
  /// Of an argument that is a number; stays where it is until remember().
  std::span<const std::byte> number(size_t argument) const {
    return {numbers_[argument].data(), numbers_[argument].size()};
  }

 private:
  std::shared_ptr<const ArgumentSet> set_;                              // keeps the objects
  std::vector<boost::container::small_vector<std::byte, 16>> numbers_;  // per argument
  static constexpr uint64_t kNone = UINT64_MAX;
  uint64_t version_ = kNone;
};

/// A kernel object's arguments at the time of its launch.
class ArgumentSource {
 public:
  /// LaunchedArguments::take_numbers() of what they are now. Thread-safe.
  virtual bool give_numbers(LaunchedArguments& launched) = 0;

 protected:
  ~ArgumentSource() = default;
};

}  // namespace tutti::scheduler
