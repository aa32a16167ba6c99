// SPDX-License-Identifier: Apache-2.0
// Which way transfers of one direction between the host's pageable memory and one device go:
// straight, or through pinned blocks (staged_transfers.h). Both are tried on the first transfers of
// a size class, and the faster one is used from then on; both are tried again at growing distances,
// since others may have been in the way. Pure logic, not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tutti::scheduler {

class TransferChoice {
 public:
  enum class Way : uint8_t { kDirect, kStaged };
  /// Of less it is not asked: bytes.
  static constexpr uint64_t kLeast = 4 << 20;

  struct Next {
    Way way = Way::kDirect;
    bool measured = false;  // its rate is wanted: ended()
  };
  /// For a transfer of so many bytes.
  Next next(uint64_t bytes);
  /// A transfer has gone that way, with so many bytes per second. True: with that it is decided.
  bool ended(uint64_t bytes, Way way, double rate);
  /// The staged way has failed, or could not be gone: as slow as it can be, measured or not.
  void failed(uint64_t bytes);

  /// The best rate of the trials that there were last; 0: none.
  double rate(uint64_t bytes, Way way) const;

 private:
  // Of two, since the first one may have had to make something, and others may be in the way.
  static constexpr uint32_t kTrials = 2;
  static constexpr uint32_t kTriedAgain = 64;  // transfers after the first trials
  // Threads are worth a clear gain only.
  static constexpr double kGain = 1.1;

  struct Class {
    std::array<uint32_t, 2> trials{};
    std::array<double, 2> rates{};
    uint32_t since = 0;  // transfers since it was decided
    uint32_t again = kTriedAgain;
    bool decided() const { return trials[0] >= kTrials && trials[1] >= kTrials; }
    Way faster() const { return rates[1] > kGain * rates[0] ? Way::kStaged : Way::kDirect; }
  };
  /// From kLeast on, each class ends at four times its begin; the last one has no end.
  static size_t class_of(uint64_t bytes);

  std::array<Class, 4> classes_;
};

}  // namespace tutti::scheduler
