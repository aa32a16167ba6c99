// SPDX-License-Identifier: Apache-2.0
// Bytes of a buffer or image from one device to another, through staging memory of the host.
#pragma once

#include "scheduler/access/byte_range.h"
#include "scheduler/devices/backend_set.h"
#include "scheduler/memory/shard.h"

namespace tutti::scheduler {

/// Bytes of a device's memory on their way to another one's: a transfer of some 0.2 ms, beside
/// which its start costs little.
inline constexpr uint64_t kTransferBlock = 8 << 20;

/// The memory that one object has on a device.
struct DeviceCopy {
  uint32_t backend = 0;
  Shard shard;
};

/// Moves the range (of an image: whole pixels, in bytes of the host's copy) in blocks, of which one
/// leaves the one device while the one before it enters the other. Waits for the end.
Status move_between(BackendSet& backends, const DeviceCopy& from, const DeviceCopy& to,
                    const backends::ImageShape* image, const ByteRange& range);

}  // namespace tutti::scheduler
