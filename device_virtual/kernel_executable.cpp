// SPDX-License-Identifier: Apache-2.0
#include "device_virtual/kernel_executable.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <utility>

namespace tutti::device_virtual {
namespace {

using scheduler::KernelVariant;

constexpr size_t kVariants = 2;

/// The answer of one vendor as T; absent where the vendor has none (or one of another size).
template <typename T>
std::optional<T> ask(backends::Kernel& kernel, cl_kernel_work_group_info what) {
  const auto answer = kernel.work_group_info(what);
  if (!answer || answer->size() != sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, answer->data(), sizeof(T));
  return value;
}

}  // namespace

KernelExecutable::KernelExecutable(std::shared_ptr<BuiltProgram> program, uint32_t index)
    : program_(std::move(program)),
      index_(index),
      summary_(program_->summary().kernels[index_]),
      model_key_(program_->kernel_key(summary().name)),
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

Result<backends::Kernel*> KernelExecutable::vendor_kernel(uint32_t backend, KernelVariant variant) {
  if (backend >= program_->backend_end()) {
    return fail(CL_INVALID_PROGRAM_EXECUTABLE, "the program was not built on this device");
  }
  variant = variant_of(variant);
  const size_t slot = (variant == KernelVariant::kSubRange ? program_->backend_end() : 0) + backend;
  if (backends::Kernel* kernel = vendor_kernels_[slot].load(std::memory_order_acquire)) {
    return kernel;
  }
  // Two threads may both make one; the second gives its own back. No lock while the vendor works.
  TUTTI_ASSIGN(auto made, program_->create_kernel(backend, variant, summary().name));
  if (const auto most = ask<size_t>(*made, CL_KERNEL_WORK_GROUP_SIZE); most && *most > 0) {
    most_in_group_[backend].store(*most, std::memory_order_relaxed);
  }
  backends::Kernel* expected = nullptr;
  if (vendor_kernels_[slot].compare_exchange_strong(expected, made.get(),
                                                    std::memory_order_acq_rel)) {
    return made.release();
  }
  return expected;
}

template <typename Use>
Status KernelExecutable::for_each_vendor(Use&& use) {
  const ProgramModules& modules = program_->modules();
  // Who cannot answer will not compute either.
  Status failed;
  bool answered = false;
  for (const KernelVariant variant : {KernelVariant::kUntouched, KernelVariant::kSubRange}) {
    uint64_t ready = modules.ready(variant) & built_on();
    if (variant == KernelVariant::kSubRange) ready &= ~modules.ready(KernelVariant::kUntouched);
    for (uint32_t i = 0; i < program_->backend_end(); ++i) {
      if ((ready >> i & 1) == 0) continue;
      const auto kernel = vendor_kernel(i, variant);
      if (kernel) {
        use(i, **kernel);
        answered = true;
      } else {
        failed = tl::unexpected<Error>(kernel.error());
      }
    }
  }
  return answered ? Status() : failed;
}

Result<size_t> KernelExecutable::max_work_group_size() {
  if (const size_t known = max_work_group_size_.load(std::memory_order_relaxed)) return known;
  size_t smallest = 0;
  const auto consider = [&](size_t size) {
    if (size != 0 && (smallest == 0 || size < smallest)) smallest = size;
  };
  for (uint32_t i = 0; i < program_->backend_end(); ++i) {
    if ((built_on() >> i & 1) != 0) consider(program_->backends().traits(i).max_work_group);
  }
  const Status asked = for_each_vendor([&](uint32_t, backends::Kernel& kernel) {
    consider(ask<size_t>(kernel, CL_KERNEL_WORK_GROUP_SIZE).value_or(0));
  });
  // Another device may compute it all the same.
  if (!asked && program_->backends().real_count() == 1) return tl::unexpected(asked.error());
  if (asked) max_work_group_size_.store(smallest, std::memory_order_relaxed);
  return smallest;
}

Result<size_t> KernelExecutable::preferred_multiple() {
  TUTTI_ASSIGN(const size_t limit, max_work_group_size());
  size_t combined = 1;
  TUTTI_TRY(for_each_vendor([&](uint32_t, backends::Kernel& kernel) {
    const auto multiple = ask<size_t>(kernel, CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE);
    combined = combined_multiple(combined, multiple.value_or(1), limit);
  }));
  return combined;
}

Result<uint64_t> KernelExecutable::static_local_memory() {
  uint64_t largest = 0;
  Status failed;
  bool answered = false;
  const uint64_t ready = program_->modules().ready(KernelVariant::kUntouched);
  for (uint32_t i = 0; i < program_->backend_end(); ++i) {
    if ((ready >> i & 1) == 0) continue;
    // A vendor counts the local memory arguments of the last launch in: ask one never launched.
    const auto fresh = program_->create_kernel(i, KernelVariant::kUntouched, summary().name);
    if (!fresh) {
      failed = tl::unexpected<Error>(fresh.error());
      continue;
    }
    answered = true;
    const auto size = ask<cl_ulong>(**fresh, CL_KERNEL_LOCAL_MEM_SIZE);
    largest = std::max<uint64_t>(largest, size.value_or(0));
  }
  if (!answered && !failed) return tl::unexpected<Error>(failed.error());
  return largest;
}

Result<uint64_t> KernelExecutable::private_memory() {
  uint64_t largest = 0;
  TUTTI_TRY(for_each_vendor([&](uint32_t, backends::Kernel& kernel) {
    const auto size = ask<cl_ulong>(kernel, CL_KERNEL_PRIVATE_MEM_SIZE);
    largest = std::max<uint64_t>(largest, size.value_or(0));
  }));
  return largest;
}

size_t combined_multiple(size_t a, size_t b, size_t limit) {
  if (a == 0 || b == 0) return std::max({a, b, size_t{1}});
  const size_t common = std::lcm(a, b);
  return common <= limit ? common : std::max(a, b);
}

}  // namespace tutti::device_virtual
