// SPDX-License-Identifier: Apache-2.0
#include "world.h"

#include <cstdarg>
#include <cstdio>

#include "backends/bounded/bounded_backend.h"
#include "backends/bounded/bounded_objects.h"
#include "threads.h"

namespace tutti::simulation {
namespace {

using namespace scheduler;
using testing::FakeBackend;
using testing::FakeKernel;
using testing::FakeKind;

/// A kernel as the module of a bounded device gives it.
class BoundedFakeKernel final : public FakeKernel {
 public:
  BoundedFakeKernel(KernelSummary summary, testing::FakeFunction function, uint32_t backends)
      : FakeKernel(std::move(summary), std::move(function), backends),
        calls_("a device", 1),
        bounded_(calls_, std::shared_ptr<backends::Kernel>(
                             *FakeKernel::vendor_kernel(0, KernelVariant::kUntouched),
                             [](backends::Kernel*) {})) {}
  Result<backends::Kernel*> vendor_kernel(uint32_t, KernelVariant) override { return &bounded_; }

 private:
  backends::BoundedCalls calls_;
  backends::bounded::BoundedKernel bounded_;
};

std::string formatted(const char* format, va_list list) {
  char text[300];
  std::vsnprintf(text, sizeof text, format, list);
  return text;
}

}  // namespace

World::World() {
  using enum FakeKind;
  // Plain ones are drawn most often.
  constexpr FakeKind kKinds[] = {kOwnMemory,  kOwnMemory,  kOwnMemory,  kOwnMemory,   kSharesHost,
                                 kSharesHost, kSharesHost, kSharesHost, kCostlyTimes, kSynchronous,
                                 kSerial,     kReadsAhead, kPins,       kHostAtomics};
  for (uint64_t left = 1 + draw(3); left > 0; --left) {
    devices_.push_back(kKinds[draw(std::size(kKinds))]);
  }
  if (draw(5) == 0) deadline_ns = uint64_t{1'000'000} << draw(4);
  faults.draw(static_cast<uint32_t>(devices_.size()), deadline_ns);
  little_memory_ = draw(8) == 0;
  const auto most_bytes = static_cast<int64_t>((1 + draw(4)) * kBufferBytes);
  std::vector<std::unique_ptr<backends::Backend>> list;
  for (const FakeKind kind : devices_) {
    const auto number = static_cast<uint32_t>(list.size());
    auto fake = std::make_unique<FakeBackend>(number, kind);
    fakes_.push_back(fake.get());
    if (little_memory_) fake->memory_left = most_bytes;
    list.push_back(std::move(fake));
    if (deadline_ns > 0) {
      auto made = std::make_shared<std::unique_ptr<backends::Backend>>(std::move(list.back()));
      list.back() = *backends::with_deadline("a fake device", {deadline_ns},
                                             [made] { return std::move(*made); });
    }
  }
  set = std::make_unique<BackendSet>(std::move(list));
  EngineSettings settings;
  constexpr SplitMode kModes[] = {SplitMode::kForce, SplitMode::kForce, SplitMode::kAuto,
                                  SplitMode::kNever};
  settings.split = kModes[draw(4)];
  settings.seed = draw(UINT32_MAX);
  settings.batches = draw(4) != 0;
  constexpr const char* kBalancers[] = {"sigmoid", "sigmoid", "dynamic", "hguided", "static"};
  settings.balancer.name = kBalancers[draw(std::size(kBalancers))];
  // Also so short that packages are overdue that are not late.
  if (draw(3) != 0) settings.overdue_ns = uint64_t{20'000} << draw(8);
  if (draw(3) != 0) settings.look_ahead = LookAhead::kAlways;
  settings_ = std::string(settings.split == SplitMode::kForce  ? "split"
                          : settings.split == SplitMode::kAuto ? "auto"
                                                               : "whole") +
              (settings.batches ? "" : ", no batches") +
              (settings.look_ahead == LookAhead::kAlways ? ", looks ahead, " : ", ") +
              settings.balancer.name + ", overdue after " + std::to_string(settings.overdue_ns) +
              " ns";
  engine = std::make_unique<Engine>(*set, settings);
  for (uint32_t number = 0; number < fakes_.size(); ++number) {
    faults.attach(*fakes_[number], number);
  }
  programs = draw(5) < 3 ? 1 : 2;
  for (uint32_t i = 0; i < kBuffers; ++i) {
    std::vector<std::byte> content(kBufferBytes);
    for (std::byte& byte : content) byte = std::byte(draw(256));
    LogicalBuffer::Options options;
    options.size = kBufferBytes;
    if (draw(4) == 0) options.user_memory = keep(content);
    expected.emplace_back(kBufferBytes);
    for (uint32_t at = 0; at < kBufferBytes; ++at) expected.back()[at].value = content[at];
    auto made = engine->create_buffer(options, content.data());
    if (!made) {
      told("a buffer cannot be made: %s", made.error().message.c_str());
      return;
    }
    buffers.push_back(*made);
  }
}

std::string World::text() const {
  std::string text =
      to_string(devices_) + ", " + settings_ + ", " + std::to_string(programs) + " program(s)";
  if (deadline_ns > 0) text += ", deadline " + std::to_string(deadline_ns) + " ns";
  if (little_memory_) text += ", little memory";
  if (thread_fails) text += ", a thread fails";
  return text + "; " + faults.text();
}

std::shared_ptr<LaunchableKernel> World::kernel(testing::KernelForm form) {
  const auto run = [form](const testing::FakeItem& item) {
    testing::apply(form, item.memory(0), item.memory(1), static_cast<uint32_t>(item.global_id[0]),
                   item.scalar<uint32_t>(2), item.scalar<uint32_t>(3));
  };
  std::shared_ptr<LaunchableKernel> made;
  if (deadline_ns > 0) {
    made = std::make_shared<BoundedFakeKernel>(testing::summary_of(form), run, set->count());
  } else {
    made = std::make_shared<FakeKernel>(testing::summary_of(form), run, set->count());
  }
  static auto* const kept = new std::vector<std::shared_ptr<LaunchableKernel>>;
  return kept->emplace_back(std::move(made));
}

void World::wrong(const char* format, ...) {
  va_list list;
  va_start(list, format);
  const std::string text = formatted(format, list);
  va_end(list);
  say("WRONG: %s", text.c_str());
  if (first_wrong.empty()) first_wrong = text;
}

void World::told(const char* format, ...) {
  va_list list;
  va_start(list, format);
  const std::string text = formatted(format, list);
  va_end(list);
  ++errors;
  say("told: %s", text.c_str());
  if (first_told.empty()) first_told = text;
  if (!faulty()) wrong("told for no reason: %s", text.c_str());
}

bool World::faulty() const {
  return faults.any_failed() || little_memory_ || thread_fails || some_hang();
}

bool World::some_hang() const {
  for (uint32_t i = 0; i < set->count(); ++i) {
    if (set->at(i).hangs()) return true;
  }
  return false;
}

}  // namespace tutti::simulation
