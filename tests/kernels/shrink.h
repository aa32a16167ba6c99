// SPDX-License-Identifier: Apache-2.0
// Makes a list of choices smaller while what it makes still fails.
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "choices.h"

namespace tutti::kernel_fuzz {

/// `fails` must hold for `list`. Tries until nothing helps any more, or for this long.
std::vector<uint32_t> shrunk(std::vector<uint32_t> list,
                             const std::function<bool(const std::vector<uint32_t>&)>& fails,
                             std::chrono::seconds limit);

}  // namespace tutti::kernel_fuzz
