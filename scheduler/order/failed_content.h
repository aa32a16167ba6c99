// SPDX-License-Identifier: Apache-2.0
// What follows for data when commands fail: what they should have written has failed until it is
// written anew, and whatever uses it fails with it. All of this is guarded by the log's lock.
#pragma once

#include <span>

#include "scheduler/order/buffer_uses.h"
#include "scheduler/order/node.h"

namespace tutti::scheduler {

/// The error of content that a command with these uses would read; CL_SUCCESS: none has failed.
cl_int failed_input(std::span<const BufferUse> uses);
/// The same of a command that holds its uses.
cl_int failed_input(const Node& command);
/// Whether something of the buffers has failed: then each command is looked at by itself.
bool touches_failed(std::span<const BufferUse> uses);

bool touches_failed(const Node& command);

/// A command, which still holds its uses, has ended well: the error of content that it has read,
/// or CL_SUCCESS. Then what it has written anew has failed no more.
cl_int settle(const Node& command);
/// A command fails, which may have begun or not: what it should have written has failed.
void spoil(const Node& command, cl_int error);
/// A launch has failed, or was refused: what was sent to its device for it may not have come there.
/// Where that lies elsewhere, too, it is valid on the device no more.
void drop_sent(std::span<const BufferUse> uses, uint32_t backend);
/// The same of one that still has its work.
void drop_sent(const Node& command);

}  // namespace tutti::scheduler
