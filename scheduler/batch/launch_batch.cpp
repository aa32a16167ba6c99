// SPDX-License-Identifier: Apache-2.0
#include "scheduler/batch/launch_batch.h"

namespace tutti::scheduler {

std::shared_ptr<const KernelPlan> LaunchBatch::planned_before(const KernelWork& first,
                                                              const KernelWork& work) {
  if (kinds_) {
    for (Kind& kind : kinds_->kinds) {
      if (!kind.has_shape(work.kernel.get(), work.shape, work.local_given)) continue;
      if (kind.left == 0) return nullptr;
      --kind.left;
      return kind.plan;
    }
  }
  const bool same = first.kernel == work.kernel && first.shape == work.shape &&
                    first.local_given == work.local_given;
  return same ? first_ : nullptr;
}

uint32_t LaunchBatch::unplanned(const KernelWork& work) const {
  uint32_t launches = 0;
  if (!kinds_) return launches;
  for (const Kind& kind : kinds_->kinds) {
    if (!kind.has_shape(work.kernel.get(), work.shape, work.local_given)) continue;
    launches += kind.granted - kind.left;
  }
  return launches;
}

LaunchBatch::Kind& LaunchBatch::kind_of(const KernelWork& work,
                                        std::shared_ptr<const KernelPlan> plan, uint32_t launches,
                                        bool anew, std::shared_ptr<const void>& replaced) {
  if (!kinds_) kinds_ = std::make_unique<Kinds>();
  Kind* same = nullptr;
  uint32_t left = plan ? launches : 0;
  for (Kind& kind : kinds_->kinds) {
    if (!kind.has_shape(work.kernel.get(), work.shape, work.local_given)) continue;
    if (anew) {
      kind.plan = plan;
      kind.left = kind.granted = left;
    }
    left = kind.left;
    if (kind.arguments.same_objects(*work.arguments)) same = &kind;
  }
  if (same == nullptr) {
    if (kinds_->kinds.size() < kMostKinds) {
      same = &kinds_->kinds.emplace_back();
    } else {
      same = &kinds_->kinds[kinds_->next++ % kMostKinds];
      replaced = std::make_shared<KernelWork>(std::move(same->work));
    }
    same->work = work;
    same->granted = 0;
  }
  same->arguments.remember(work.arguments);
  same->plan = std::move(plan);
  same->left = left;
  same->granted = std::max(same->granted, left);
  same->unchanged = false;
  return *same;
}

LaunchBatch::Kind* LaunchBatch::find_kind(const LaunchAgain& launch, bool brief) {
  brief |= has_events_;
  // Programs launch the same kinds in turn.
  const size_t count = kinds_->kinds.size();
  for (size_t i = 1; i <= count; ++i) {
    const size_t at = kinds_->last + i < count ? kinds_->last + i : kinds_->last + i - count;
    Kind& kind = kinds_->kinds[at];
    if (kind.unchanged && kind.left > 0 && (!brief || kind.brief) &&
        kind.has_shape(&launch.kernel, launch.shape, launch.local_given) &&
        launch.arguments.give_numbers(kind.arguments)) {
      --kind.left;
      kinds_->last = at;
      return &kind;
    }
  }
  return nullptr;
}

void LaunchBatch::keep(const KernelWork& first, const KernelWork& work) {
  // Buffers are held. Of the arguments, only an image that was made from one has to live on: who
  // sets a number for the next launch need not leave the old one here.
  const bool objects = std::any_of(work.arguments->begin(), work.arguments->end(),
                                   [](const ArgumentSlot& slot) { return slot.image.get(); });
  const auto same = [&](const std::shared_ptr<LaunchableKernel>& kernel,
                        const std::shared_ptr<const ArgumentSet>& arguments) {
    return kernel == work.kernel && (!objects || arguments == work.arguments);
  };
  if (same(first.kernel, first.arguments) ||
      std::any_of(members_.rbegin(), members_.rend(),
                  [&](const Member& member) { return same(member.kernel, member.arguments); })) {
    return;
  }
  members_.push_back({work.kernel, objects ? work.arguments : nullptr});
}

}  // namespace tutti::scheduler
