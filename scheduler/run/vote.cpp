// SPDX-License-Identifier: Apache-2.0
#include "scheduler/run/vote.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "scheduler/run/vendor_launch.h"

namespace tutti::scheduler {
namespace {

// So much of the time may go into asking who would not be chosen.
constexpr double kExploring = 0.05;

ElementType type_of(const KernelWork& work, uint32_t argument) {
  const ArgumentSlot& slot = (*work.arguments)[argument];
  if (slot.image) return element_type(slot.image->shape().format);
  if (slot.view.buffer && slot.view.buffer->image()) {
    return element_type(slot.view.buffer->image()->format);
  }
  const auto& arguments = work.kernel->summary().arguments;
  return argument < arguments.size() ? element_type(arguments[argument].type_name) : ElementType{};
}

}  // namespace

double VoterChoice::cost(const Candidate& candidate) {
  const auto all = static_cast<double>(candidate.votes.all);
  const auto right = static_cast<double>(candidate.votes.all - candidate.votes.wrong);
  return candidate.seconds * (all + 1) / (right + 1);
}

std::vector<uint32_t> VoterChoice::order(std::vector<Candidate> candidates) {
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return cost(a) < cost(b); });
  constexpr size_t kAsked = 2;
  if (candidates.size() > kAsked) {
    MutexLock lock(mutex_);
    const double seconds = candidates[0].seconds + candidates[1].seconds;
    auto longest = candidates.end();
    double most = 0;
    for (auto it = candidates.begin() + kAsked; it != candidates.end(); ++it) {
      const double ratio = kExploring * passed_over_[it->backend] / std::max(cost(*it), 1e-12);
      if (ratio < 1 || ratio <= most) continue;
      most = ratio;
      longest = it;
    }
    if (longest != candidates.end()) std::rotate(candidates.begin() + 1, longest, longest + 1);
    for (size_t i = 0; i < candidates.size(); ++i) {
      double& passed = passed_over_[candidates[i].backend];
      passed = i < kAsked ? 0 : passed + seconds;
    }
  }
  std::vector<uint32_t> order;
  for (const Candidate& candidate : candidates) order.push_back(candidate.backend);
  return order;
}

std::optional<size_t> elected(std::span<const uint32_t> devices,
                              const std::function<bool(size_t, size_t)>& agree) {
  for (size_t i = 0; i < devices.size(); ++i) {
    for (size_t j = i + 1; j < devices.size(); ++j) {
      if (devices[i] != devices[j] && agree(i, j)) return i;
    }
  }
  return std::nullopt;
}

std::string Vote::unvotable(const KernelPlan& plan) {
  if (!plan.access || plan.access->verdict().mode == MergeMode::kWhole) {
    return "it may not be split";
  }
  if (plan.why == KernelPlan::Why::kHome) return "pointers that it finds are one device's";
  if (plan.access->verdict().alone) return "the order in which work-groups reach its atomics shows";
  return {};
}

Status Vote::copy_content(Running& running) {
  const auto changed = [&](const LogicalBuffer* buffer) {
    return std::any_of(uses_.begin(), uses_.end(),
                       [&](const BufferUse& use) { return use.changes && use.buffer == buffer; });
  };
  for (const BufferUse& use : uses_) {
    LogicalBuffer& buffer = *use.buffer;
    TUTTI_TRY(changed(&buffer)
                  ? running.copies.add(Ref<LogicalBuffer>(&buffer), use.begin, use.end)
                  : buffer.make_valid(buffer.place_on(running.backend), use.begin, use.end));
  }
  return {};
}

Result<Vote::Running> Vote::launch(Stream& stream, uint32_t backend) {
  Running running{backend, LaunchCopies(backends_, backend), {}, now_ns()};
  TUTTI_TRY(copy_content(running));
  TUTTI_ASSIGN(backends::Kernel * kernel,
               work_.kernel->vendor_kernel(backend, KernelVariant::kUntouched));
  TUTTI_ASSIGN(const auto arguments, running.copies.arguments(*work_.arguments));
  const auto launch = vendor_launch(*kernel, arguments, plan_.shape, true);
  TUTTI_ASSIGN(backends::Queue * queue, stream.queues.queue(backend, true));
  TUTTI_ASSIGN(running.completion, queue->launch(launch, {}));
  TUTTI_TRY(queue->flush());
  return running;
}

Result<Vote::Ballot> Vote::result_of(Running& running) {
  TUTTI_TRY(running.completion->wait());
  Ballot ballot;
  for (const BufferUse& use : uses_) {
    if (!use.changes) continue;
    // What lies between an image's rows is nobody's, and stays as it is.
    TUTTI_ASSIGN(const std::byte* host, use.buffer->host_memory());
    std::vector<std::byte>& bytes = ballot.bytes.emplace_back(host + use.begin, host + use.end);
    TUTTI_TRY(running.copies.read(*use.buffer, use.begin, bytes));
  }
  return ballot;
}

void Vote::ask(Stream& stream, std::span<const uint32_t> devices) {
  std::vector<Running> running;
  for (const uint32_t backend : devices) {
    auto begun = launch(stream, backend);
    if (begun) {
      running.push_back(std::move(*begun));
    } else {
      backends_.health().note_failure(backend, begun.error());
    }
  }
  for (Running& one : running) {
    auto ballot = result_of(one);
    if (!ballot) {
      backends_.health().note_failure(one.backend, ballot.error());
      continue;
    }
    backends_.health().note_success(one.backend);
    voters_.push_back(one.backend);
    ballots_.push_back(std::move(*ballot));
    outcomes_.push_back({.backend = one.backend, .begun_ns = one.begun_ns, .ended_ns = now_ns()});
  }
}

bool Vote::agree(const Ballot& a, const Ballot& b) const {
  size_t i = 0;
  for (const BufferUse& use : uses_) {
    if (!use.changes) continue;
    const std::vector<std::byte>& one = a.bytes[i];
    const std::vector<std::byte>& other = b.bytes[i++];
    ElementType type = type_of(work_, use.argument);
    const BufferView& view = (*work_.arguments)[use.argument].view;
    // Ranges are of whole elements; else they compare byte by byte.
    if (!view.buffer || (use.begin - view.origin) % type.bytes != 0) type = {};
    if (first_difference(type, one, other, tolerance_)) return false;
  }
  return true;
}

Status Vote::adopt(const Ballot& ballot) {
  size_t i = 0;
  for (const BufferUse& use : uses_) {
    if (!use.changes) continue;
    TUTTI_ASSIGN(std::byte * host, use.buffer->host_memory());
    const std::vector<std::byte>& bytes = ballot.bytes[i++];
    std::memcpy(host + use.begin, bytes.data(), bytes.size());
    use.buffer->set_exclusive(kHostPlace, use.begin, use.end);
  }
  return {};
}

std::optional<Status> Vote::decide(Stream& stream, std::span<const uint32_t> devices) {
  constexpr size_t kFirst = 2, kRounds = 2;
  const auto election = [&] {
    return elected(voters_, [this](size_t a, size_t b) { return agree(ballots_[a], ballots_[b]); });
  };
  const size_t first = std::min(kFirst, devices.size());
  ask(stream, devices.first(first));
  auto winner = election();
  for (size_t asked = first; !winner && asked < kRounds * devices.size(); ++asked) {
    ask(stream, devices.subspan(asked % devices.size(), 1));
    winner = election();
  }
  const bool several = std::any_of(voters_.begin(), voters_.end(),
                                   [&](uint32_t voter) { return voter != voters_.front(); });
  if (!several || !winner) outcomes_.clear();
  if (!several) return std::nullopt;
  if (!winner) {
    return fail(CL_OUT_OF_RESOURCES, "no two devices agree on the result of a launch");
  }
  for (size_t i = 0; i < ballots_.size(); ++i) {
    outcomes_[i].right = agree(ballots_[i], ballots_[*winner]);
  }
  return adopt(ballots_[*winner]);
}

}  // namespace tutti::scheduler
