// SPDX-License-Identifier: Apache-2.0
// Kernels for the engine's tests: a summary as the analysis would make it, a host function for the
// fake devices, and the same thing on plain vectors as reference.
#pragma once

#include <memory>

#include "fake_backend.h"

namespace tutti::testing {

/// Arguments: 0 in (global bytes), 1 out (global bytes), 2 n (uint), 3 c (uint).
enum class KernelForm {
  kMap,      // if (i < n) out[i] = in[i] * 3 + c                — splits
  kSparse,   // if (i < n && in[i] % 2) out[i] = c               — splits, leaves bytes alone
  kGather,   // if (i < n) out[i] = in[(i * 7 + c) % n] + 1      — splits, reads anywhere
  kStencil,  // if (i < n) out[i] = in[i - 1] + in[i] + in[i + 1] — splits, reads its neighbours
  kScatter,  // if (i < n) out[perm(i)] = in[i] + c              — runs whole
  kSearch,   // if (i < n && in[i] == c) out[4 + atomic_inc((uint*)out)] = i — one place alone
  kCount,    // if (i < n) atomic_inc((uint*)out + in[i] % 8)    — splits by a merge
};

scheduler::KernelSummary summary_of(KernelForm form);
std::shared_ptr<FakeKernel> fake_kernel(KernelForm form, uint32_t backends);
void apply(KernelForm form, const std::byte* in, std::byte* out, uint32_t i, uint32_t n,
           uint32_t c);

}  // namespace tutti::testing
