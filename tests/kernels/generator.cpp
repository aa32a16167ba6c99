// SPDX-License-Identifier: Apache-2.0
#include "sites.h"

namespace tutti::kernel_fuzz {

KernelCase make_case(Choices& choices, bool atomics64, bool large) {
  Builder b(choices, large);
  b.choose_launch();
  const uint32_t stages = b.chance(25) ? 1 + b.pick(2) : 0;
  for (uint32_t i = 0; i < stages; ++i) add_group_stage(b);
  const uint32_t sites = 1 + (b.chance(35) ? 1 + b.pick(2) : 0);
  for (uint32_t i = 0; i < sites; ++i) {
    switch (b.pick(24)) {
      default:
        add_stores(b);
        break;
      case 16:
      case 17:
        if (b.local_given) {
          add_group_result(b);
        } else {
          add_stores(b);
        }
        break;
      case 18:
      case 19:
      case 20:
      case 21:
        add_atomics(b, atomics64);
        break;
    }
    // Whoever leaves early misses no barrier: stores alone follow.
    if (i + 1 == sites && b.chance(10)) {
      b.line("if " + b.condition() + " return;");
      add_stores(b);
    }
  }
  return b.finish();
}

}  // namespace tutti::kernel_fuzz
