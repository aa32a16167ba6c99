// SPDX-License-Identifier: Apache-2.0
// How a split launch ends: what is merged, what its times teach, and who hears of it.
#include <algorithm>

#include "base/clock.h"
#include "scheduler/run/given_up.h"
#include "scheduler/run/split_run.h"

namespace tutti::scheduler {

double SplitRun::learn(std::vector<PackageRecord> packages) {
  std::sort(packages.begin(), packages.end(),
            [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
  const auto& shape = plan_.shape;
  const auto items = static_cast<double>(shape.items() / slices_);
  double speed = 0;
  for (size_t participant = 0; participant < participants(); ++participant) {
    const uint32_t device = devices()[participant];
    std::vector<Sample> samples;
    uint64_t busy_until = 0;
    Sample all;
    for (const PackageRecord& package : packages) {
      if (package.device != device) continue;
      const double size = items * static_cast<double>(package.count);
      const uint64_t begin = std::max(package.start_ns, busy_until);
      const double seconds = package.end_ns > begin ? seconds_between(begin, package.end_ns) : 0;
      if (package.start_ns < busy_until && side_by_side(device)) {
        // Both together say how fast the device is; neither does alone.
        samples.back().size += size;
        samples.back().seconds += seconds;
      } else {
        samples.push_back({size, seconds});
      }
      busy_until = std::max(busy_until, package.end_ns);
      all.size += size;
      all.seconds += seconds;
    }
    if (all.seconds > 0) speed += all.size / all.seconds;
    const auto part = parts_.backends.part_of_device(model_key(work_), device);
    if (!part) continue;
    // As large as its memory allows, which says nothing of all that it could compute at once.
    if (streams(participant) && all.seconds > 0) samples = {all};
    for (Sample& sample : samples) sample.seconds *= *part;
    parts_.backends.model().add_packages(model_key(work_), device, samples,
                                         work_.kernel->summary().name);
  }
  return speed > 0 ? items * static_cast<double>(slices_) / speed : 0;
}

std::vector<uint64_t> SplitRun::slices_of_each(const std::vector<PackageRecord>& packages) const {
  std::vector<uint64_t> slices(participants());
  for (const PackageRecord& package : packages) {
    const auto found = std::find(devices().begin(), devices().end(), package.device);
    slices[static_cast<size_t>(found - devices().begin())] += package.count;
  }
  return slices;
}

Status SplitRun::merge(Status status) {
  if (merges_.empty()) return status;
  const TransferCause cause("merged", number(), kernel_name(work_));
  const uint64_t begun_ns = parts_.command ? now_ns() : 0;
  for (const auto& merge : merges_) {
    Status merged = merge->finish(status.has_value());
    if (status) status = std::move(merged);
  }
  if (parts_.command) {
    parts_.trace.merged(*parts_.command, merge_mode_name(plan_.access->verdict().mode), begun_ns,
                        now_ns());
  }
  return status;
}

void SplitRun::finish() {
  Status status;
  bool nothing_ran = false, left = false;
  uint64_t begun_ns = 0;
  std::vector<PackageRecord> packages;
  {
    MutexLock lock(mutex_);
    status = status_;
    left = status && regions_.remaining() > 0;
    if (left) status = tl::unexpected<Error>(last_error_);
    nothing_ran = regions_.remaining() == slices_ && !shows_;
    begun_ns = std::max(begun_ns_, first_ns_);
  }
  const bool computed = status.has_value();
  status = merge(std::move(status));
  if (!status && computed && merges_.size() == 1 && merges_.front()->finishes_again()) {
    status = merge_without_lost(std::move(status));
  }
  if (!status && (computed || (left && !nothing_ran))) {
    tell_given_up(work_, computed ? NotAnew::kTransfer : NotAnew::kRefused, status.error());
  }
  {
    MutexLock lock(mutex_);
    packages.swap(packages_);
  }
  merges_.clear();  // with their copies' memory, for which others may wait
  for (const ArgumentSlot& slot : *work_.arguments) {
    if (slot.has_memory()) slot.view.buffer->end_writes(this, nothing_ran);
  }
  double balanced = 0;
  if (status) {
    balanced = learn(packages);
    std::sort(packages.begin(), packages.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    if (whole()) {
      parts_.summary.launched_whole(work_, plan_, plan_.backend);
      for (const PackageRecord& package : packages) {
        parts_.summary.measured_whole(work_.kernel->summary().name, model_key(work_),
                                      work_.shape.items(), package.device,
                                      seconds_between(package.start_ns, package.end_ns));
      }
    } else {
      parts_.summary.launched_split(work_, plan_, packages, seconds_between(begun_ns, now_ns()),
                                    repeated_);
    }
  }
  std::shared_ptr<SplitRun> next;
  std::function<void()> start;
  bool read_meanwhile = false;
  bool watched = false, went_without = false;
  std::vector<PackageUse> written;
  {
    MutexLock lock(mutex_);
    watched = watched_;
    went_without = went_without_;
    read_meanwhile = read_meanwhile_;
    written.swap(written_);
  }
  const auto end = [&] {
    {
      MutexLock lock(mutex_);
      finished_ = true;
      next.swap(next_);
      start.swap(start_next_);
    }
    package_ended_.notify_all();
  };
  // It is computed now, whole, where nobody could compute a part: nothing behind it begins before.
  const bool anew = !status && nothing_ran;
  if (!anew) end();
  if (watched) parts_.overdue->unwatch(*this);
  ended_({std::move(status), packages, written, slices_of_each(packages), nothing_ran, begun_ns,
          balanced, read_meanwhile, went_without});
  if (anew) end();
  if (next) next->first_now();
  if (start) start();
}

}  // namespace tutti::scheduler
