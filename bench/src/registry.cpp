// SPDX-License-Identifier: Apache-2.0
#include "benchmark.h"

namespace tutti::bench {

// registered_kernels.inc is generated from the list in CMakeLists.txt.
#define TUTTI_BENCH_KERNEL(name) Entry entry_##name();
#include "registered_kernels.inc"
#undef TUTTI_BENCH_KERNEL

const std::vector<Entry>& all_benchmarks() {
  static const std::vector<Entry> entries = {
#define TUTTI_BENCH_KERNEL(name) entry_##name(),
#include "registered_kernels.inc"
#undef TUTTI_BENCH_KERNEL
  };
  return entries;
}

}  // namespace tutti::bench
