// SPDX-License-Identifier: Apache-2.0
// What lies in a launch's buffers, as far as it bounds what the launch touches of others.
#pragma once

#include <cstdint>
#include <memory>

#include "scheduler/access/access_eval.h"
#include "scheduler/command/work.h"

namespace tutti::scheduler {

/// Of launches that have not begun content is guessed: others may yet write it.
enum class Content : uint8_t { kGuessed, kThere };

/// Null: content bounds nothing of this launch. Only what lies in the host's copy is looked at;
/// about the rest nothing is said.
std::shared_ptr<const ContentValues> content_of(const KernelWork& work, const LaunchAccess& launch,
                                                Content content);

/// Brings what content_of() looks at to the host's copies, and waits for it.
Status bring_content(const KernelWork& work, const LaunchAccess& launch);

}  // namespace tutti::scheduler
