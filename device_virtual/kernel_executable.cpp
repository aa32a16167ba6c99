// SPDX-License-Identifier: Apache-2.0
#include "device_virtual/kernel_executable.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>

namespace tutti::device_virtual {
namespace {

using scheduler::KernelVariant;

constexpr size_t kVariants = scheduler::kKernelVariants;

/// The answer of one vendor as T; absent where the vendor has none (or one of another size).
template <typename T>
std::optional<T> ask(backends::Kernel& kernel, cl_kernel_work_group_info what) {
  const auto answer = kernel.work_group_info(what);
  if (!answer || answer->size() != sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, answer->data(), sizeof(T));
  return value;
}

/// Kernels have sub-groups of the same sizes there.
bool alike(const backends::DeviceTraits& a, const backends::DeviceTraits& b) {
  return a.platform_name == b.platform_name && a.device_name == b.device_name &&
         a.driver_version == b.driver_version;
}

}  // namespace

KernelExecutable::KernelExecutable(std::shared_ptr<BuiltProgram> program, uint32_t index)
    : program_(std::move(program)),
      index_(index),
      summary_(program_->summary().kernels[index_]),
      model_key_(program_->kernel_key(summary().name)),
      bound_(bound_of(summary_)),
      vendor_kernels_(new std::atomic<backends::Kernel*>[kVariants * program_->backend_end()]),
      most_in_group_(new std::atomic<uint64_t>[program_->backend_end()]) {
  for (size_t i = 0; i < kVariants * program_->backend_end(); ++i) vendor_kernels_[i] = nullptr;
  for (size_t i = 0; i < program_->backend_end(); ++i) most_in_group_[i] = UINT64_MAX;
}

KernelExecutable::~KernelExecutable() {
  for (size_t i = 0; i < kVariants * program_->backend_end(); ++i) {
    delete vendor_kernels_[i].load(std::memory_order_acquire);
  }
}

uint64_t KernelExecutable::built_on() const {
  const uint64_t built = program_->modules().usable(index_);
  if (bound_ == Bound::kNo || built == 0) return built;
  const scheduler::BackendSet& backends = program_->backends();
  const uint32_t primary = backends.primary(built);
  uint64_t bound = scheduler::backend_bit(primary);
  if (bound_ == Bound::kToPrimary) {
    const bool lost = may_use_variables(summary_) && program_->modules().lost_variables(primary);
    return lost ? 0 : bound;
  }
  for (uint64_t rest = built; rest != 0; rest &= rest - 1) {
    const auto i = static_cast<uint32_t>(std::countr_zero(rest));
    if (alike(backends.traits(i), backends.traits(primary))) bound |= scheduler::backend_bit(i);
  }
  return bound;
}

Result<backends::Kernel*> KernelExecutable::vendor_kernel(uint32_t backend, KernelVariant variant) {
  if (backend >= program_->backend_end()) {
    return fail(CL_INVALID_PROGRAM_EXECUTABLE, "the program was not built on this device");
  }
  variant = variant_of(variant);
  const size_t slot = static_cast<size_t>(variant) * program_->backend_end() + backend;
  if (backends::Kernel* kernel = vendor_kernels_[slot].load(std::memory_order_acquire)) {
    return kernel;
  }
  // Two threads may both make one; the second gives its own back. No lock while the vendor works.
  TUTTI_ASSIGN(auto made, program_->create_kernel(backend, variant, summary().name));
  if (!program_->backends().traits(backend).advises_groups) {
    const auto most = ask<size_t>(*made, CL_KERNEL_WORK_GROUP_SIZE);
    if (most && *most > 0) most_in_group_[backend].store(*most, std::memory_order_relaxed);
  }
  backends::Kernel* expected = nullptr;
  if (vendor_kernels_[slot].compare_exchange_strong(expected, made.get(),
                                                    std::memory_order_acq_rel)) {
    return made.release();
  }
  return expected;
}

template <typename Ask>
auto KernelExecutable::ask_primary(Ask&& ask) -> decltype(ask(0, KernelVariant::kUntouched)) {
  const ProgramModules& modules = program_->modules();
  std::optional<Error> failure;
  for (uint64_t asked = 0;;) {
    // Fewer, when the program could not be built on one.
    const uint64_t open = built_on() & ~asked;
    if (open == 0) break;
    const uint32_t primary = program_->backends().primary(open);
    const uint64_t bit = scheduler::backend_bit(primary);
    const bool only_split = (modules.ready(KernelVariant::kSubRange) & bit) != 0 &&
                            (modules.ready(KernelVariant::kUntouched) & bit) == 0;
    auto answer = ask(primary, only_split ? KernelVariant::kSubRange : KernelVariant::kUntouched);
    if (answer) return answer;
    failure = std::move(answer).error();
    asked |= bit;
  }
  if (!failure) failure = Error{CL_INVALID_PROGRAM_EXECUTABLE, "the program is built nowhere"};
  return tl::unexpected<Error>(std::move(*failure));
}

template <typename T>
Result<T> KernelExecutable::primary_answer(cl_kernel_work_group_info what) {
  return ask_primary([&](uint32_t backend, KernelVariant variant) -> Result<T> {
    TUTTI_ASSIGN(backends::Kernel* const kernel, vendor_kernel(backend, variant));
    return ask<T>(*kernel, what).value_or(T{0});
  });
}

Result<size_t> KernelExecutable::max_work_group_size() {
  if (const size_t known = max_work_group_size_.load(std::memory_order_relaxed)) return known;
  auto most = ask_primary([&](uint32_t backend, KernelVariant variant) -> Result<size_t> {
    TUTTI_ASSIGN(backends::Kernel* const kernel, vendor_kernel(backend, variant));
    const size_t of_all = program_->backends().traits(backend).max_work_group;
    const size_t of_kernel = ask<size_t>(*kernel, CL_KERNEL_WORK_GROUP_SIZE).value_or(0);
    return of_kernel == 0 ? of_all : std::min(of_all, of_kernel);
  });
  if (most) max_work_group_size_.store(*most, std::memory_order_relaxed);
  return most;
}

Result<bool> KernelExecutable::takes_group(uint64_t work_items) {
  if (work_items <= taken_by_all_.load(std::memory_order_relaxed)) return true;
  const uint64_t usable = built_on();
  uint64_t least = UINT64_MAX;
  bool known = false;  // by one vendor at least, of this kernel
  for (uint32_t i = 0; i < program_->backend_end(); ++i) {
    if ((usable >> i & 1) == 0) continue;
    const backends::DeviceTraits& traits = program_->backends().traits(i);
    least = std::min({least, traits.max_work_group, most_in_group(i)});
    known |= most_in_group(i) != UINT64_MAX || traits.advises_groups;
  }
  if (known && work_items <= least) {
    taken_by_all_.store(least, std::memory_order_relaxed);
    return true;
  }
  if (usable != 0) {
    const backends::DeviceTraits& primary =
        program_->backends().traits(program_->backends().primary(usable));
    if (primary.advises_groups) return work_items <= primary.max_work_group;
  }
  TUTTI_ASSIGN(const size_t most, max_work_group_size());
  return work_items <= most;
}

Result<size_t> KernelExecutable::preferred_multiple() {
  TUTTI_ASSIGN(const auto multiple,
               primary_answer<size_t>(CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE));
  return std::max<size_t>(multiple, 1);
}

Result<uint64_t> KernelExecutable::static_local_memory() {
  // A vendor counts the local memory arguments of the last launch in: ask one never launched.
  return ask_primary([&](uint32_t backend, KernelVariant variant) -> Result<uint64_t> {
    TUTTI_ASSIGN(const auto fresh, program_->create_kernel(backend, variant, summary().name));
    return ask<cl_ulong>(*fresh, CL_KERNEL_LOCAL_MEM_SIZE).value_or(0);
  });
}

Result<std::vector<std::byte>> KernelExecutable::sub_group_info(cl_kernel_sub_group_info what,
                                                                std::span<const size_t> input,
                                                                size_t size) {
  return ask_primary(
      [&](uint32_t backend, KernelVariant variant) -> Result<std::vector<std::byte>> {
        TUTTI_ASSIGN(backends::Kernel* const kernel, vendor_kernel(backend, variant));
        return kernel->sub_group_info(what, input, size);
      });
}

Result<uint64_t> KernelExecutable::private_memory() {
  return primary_answer<uint64_t>(CL_KERNEL_PRIVATE_MEM_SIZE);
}

}  // namespace tutti::device_virtual
