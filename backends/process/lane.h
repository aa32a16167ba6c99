// SPDX-License-Identifier: Apache-2.0
// A lane between the application and a helper: one request at a time, which a thread of the
// helper's own answers, so that a call that takes long holds up no other one. It lies in memory
// that both share.
//
// The end of a request is told by two locks that the helper's thread holds in turn: while request
// n is under way it holds lock n % 2, and lets go of that once the answer is there and it holds the
// other one. Who waits takes the lock. The system itself lets go of the locks of a thread that has
// ended, however that was, and says so (they are robust): so nobody ever waits for a dead helper,
// and nobody needs to watch it.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace tutti::backends::process {

inline constexpr uint32_t kLanes = 32;

/// Before the lanes.
struct LanesHead {
  /// Bytes that the helper has written to its standard output, which is a file of the
  /// application's: what kernels print.
  alignas(64) std::atomic<uint64_t> printed{0};
};
inline constexpr uint64_t kMessageBytes = uint64_t{64} << 10;

struct Lane {
  pthread_mutex_t under_way[2];
  std::atomic<uint32_t> asked{0};     // requests so far
  std::atomic<uint32_t> answered{0};  // answers so far
  std::atomic<uint32_t> asleep{0};    // the helper's thread waits for `asked` to change
  std::atomic<uint32_t> ready{0};     // the helper's thread is there
  // Of the message, bytes. A message that is larger than the room for it lies in a range of the
  // arena, at `elsewhere`.
  uint64_t size = 0;
  uint64_t elsewhere = 0;
  alignas(64) std::byte message[kMessageBytes];
};
static_assert(std::atomic<uint32_t>::is_always_lock_free);
/// All lanes of a helper, and what is before them.
inline constexpr uint64_t kLanesBytes = sizeof(LanesHead) + kLanes * uint64_t{sizeof(Lane)};
constexpr uint64_t lane_offset(uint32_t i) {
  return sizeof(LanesHead) + i * uint64_t{sizeof(Lane)};
}
static_assert(sizeof(LanesHead) % alignof(Lane) == 0);

/// Makes one where there is room for it. The application does so, before the helper sees it.
Lane* make_lane(std::byte* room);

enum class LaneEnd : uint8_t { kAnswered, kDead, kLate };

/// The application's side: sends what `message` and `size` say, as the next request.
void post(Lane& lane);
/// Waits until what was posted is answered, or until now_ns() is `deadline_ns` (UINT64_MAX: as long
/// as it takes).
LaneEnd await(Lane& lane, uint64_t deadline_ns);

/// The helper's side, in a thread of its own: has `answer` answer each request, in place, until it
/// returns false.
void serve(Lane& lane, const std::function<bool()>& answer);

}  // namespace tutti::backends::process
