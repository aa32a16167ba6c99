// SPDX-License-Identifier: Apache-2.0
#include "shrink.h"

#include <algorithm>

namespace tutti::kernel_fuzz {

std::vector<uint32_t> shrunk(std::vector<uint32_t> list,
                             const std::function<bool(const std::vector<uint32_t>&)>& fails,
                             std::chrono::seconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  const auto late = [&] { return std::chrono::steady_clock::now() > end; };
  const auto accept = [&](std::vector<uint32_t> candidate) {
    if (candidate == list || late() || !fails(candidate)) return false;
    list = std::move(candidate);
    return true;
  };
  for (bool better = true; better && !late();) {
    better = false;
    // Leave out, longest pieces first; then choose the simplest; then something simpler.
    for (size_t length = std::max<size_t>(1, list.size() / 2); length > 0; length /= 2) {
      for (size_t at = 0; at + length <= list.size();) {
        auto without = list;
        const auto first = without.begin() + static_cast<ptrdiff_t>(at);
        without.erase(first, first + static_cast<ptrdiff_t>(length));
        if (accept(std::move(without))) {
          better = true;
          continue;
        }
        auto zeroed = list;
        std::fill_n(zeroed.begin() + static_cast<ptrdiff_t>(at), length, 0);
        if (accept(std::move(zeroed))) better = true;
        at += length;
      }
    }
    for (size_t at = 0; at < list.size(); ++at) {
      while (list[at] > 0) {
        auto lower = list;
        lower[at] /= 2;
        if (!accept(std::move(lower))) break;
        better = true;
      }
      if (list[at] > 0) {
        auto lower = list;
        --lower[at];
        if (accept(std::move(lower))) better = true;
      }
    }
  }
  return list;
}

}  // namespace tutti::kernel_fuzz
