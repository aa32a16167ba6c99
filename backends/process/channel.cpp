// SPDX-License-Identifier: Apache-2.0
#include "backends/process/channel.h"

#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>
#include <utility>

#include "base/clock.h"
#include "base/guarded.h"
#include "base/log.h"
#include "base/own_files.h"
#include "base/process_exit.h"

namespace tutti::backends::process {
namespace {

// A process that does not end in that time is held by its driver's module of the kernel.
constexpr uint64_t kEndNs = 5'000'000'000;
// What was let go of travels with the next call, or with one of its own when there is so much.
constexpr size_t kMostDropped = 64;

}  // namespace

Result<StartingHelper> begin_helper(const HelperSubject& subject) {
  if (subject.program.empty()) {
    return fail(CL_DEVICE_NOT_AVAILABLE, fmt::format("there is no {}", kDeviceProgram));
  }
  TUTTI_ASSIGN(SharedArena* const arena, SharedArena::of_process());
  Descriptor output(memfd_create("tutti-output", MFD_CLOEXEC));
  if (!output) return fail(CL_OUT_OF_RESOURCES, "no file for a helper's output");
  const int files[] = {arena->file(), output.get()};
  HelperBudget budget;
  budget.clock_seconds = subject.start_seconds;
  std::vector<std::string> arguments{subject.library};
  if (!subject.node.empty()) arguments.push_back(subject.node);
  TUTTI_ASSIGN(auto process, HelperProcess::launch(subject.program, std::move(arguments), budget,
                                                   {std::string(kInsideProbe) + "=1"}, files));
  return StartingHelper{std::move(process), std::move(output)};
}

Result<StartedHelper> end_helper(StartingHelper starting) {
  starting.process->await_greeting();
  const HelperMessage& greeting = starting.process->greeting();
  auto listing =
      greeting.kind == HelperMessageKind::kAnswer ? get_listing(greeting.text) : std::nullopt;
  if (!listing) {
    return fail(
        CL_DEVICE_NOT_AVAILABLE,
        "its process " + (greeting.text.empty() ? std::string("says nothing") : greeting.text));
  }
  return StartedHelper{std::move(starting.process), std::move(starting.output),
                       std::move(*listing)};
}

Result<StartedHelper> start_helper(const HelperSubject& subject) {
  TUTTI_ASSIGN(StartingHelper starting, begin_helper(subject));
  return end_helper(std::move(starting));
}

Channel::Channel(StartedHelper helper, SharedRange room, std::string name, const CallBounds& bounds,
                 SharedArena& arena)
    : process_(std::move(helper.process)),
      output_(std::move(helper.output)),
      room_(std::move(room)),
      head_(new (room_.data()) LanesHead),
      name_(std::move(name)),
      bounds_(bounds),
      arena_(arena) {
  const MutexLock lock(mutex_);
  for (uint32_t i = kLanes; i-- > 0;) {
    idle_.push_back(make_lane(room_.data() + lane_offset(i)));
  }
}

Channel::~Channel() {
  // Nobody asks any more, but the helper's threads still look at their lanes.
  if (alive()) {
    process_->end();
    if (!process_->await_end(now_ns() + kEndNs)) arena_.keep_all();
  }
}

Result<std::unique_ptr<Channel>> Channel::open(StartedHelper helper, Service service,
                                               const std::string& name, const CallBounds& bounds,
                                               SharedArena& arena) {
  TUTTI_ASSIGN(SharedRange room, arena.allocate(kLanesBytes));
  service.lanes = room.offset();
  service.arena = arena.mapping().size();
  std::unique_ptr<Channel> channel(
      new Channel(std::move(helper), std::move(room), name, bounds, arena));
  const HelperMessage answer = channel->process_->ask(
      {reinterpret_cast<const char*>(&service), sizeof service}, bounds.trial);
  if (answer.kind != HelperMessageKind::kAnswer) {
    return fail(CL_DEVICE_NOT_AVAILABLE, fmt::format("{}: its process {}", name, answer.text));
  }
  Reader from(std::as_bytes(std::span(answer.text)));
  channel->traits_ = get_traits(from);
  if (!from.whole()) return fail(CL_DEVICE_NOT_AVAILABLE, name + ": its process answers nothing");
  return channel;
}

Result<std::unique_ptr<Channel>> Channel::never_there(const std::string& name, std::string reason,
                                                      const DeviceTraits& traits,
                                                      SharedArena& arena) {
  TUTTI_ASSIGN(SharedRange room, arena.allocate(kLanesBytes));
  std::unique_ptr<Channel> channel(new Channel({}, std::move(room), name, {}, arena));
  channel->traits_ = traits;
  const MutexLock lock(channel->mutex_);
  channel->reason_ = std::move(reason);
  channel->losing_ = channel->lost_ = true;
  channel->alive_.store(false, std::memory_order_release);
  return channel;
}

void Channel::show_output() {
  const MutexLock lock(output_mutex_);
  std::array<char, 4096> block{};
  while (shown_.load() < head_->printed.load(std::memory_order_acquire)) {
    const ssize_t count =
        pread(output_.get(), block.data(), block.size(), static_cast<off_t>(shown_.load()));
    if (count <= 0) return;
    shown_.fetch_add(static_cast<uint64_t>(count));
    for (ssize_t at = 0; at < count;) {
      const ssize_t written =
          write(STDOUT_FILENO, block.data() + at, static_cast<size_t>(count - at));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return;
      at += written;
    }
  }
}

Lane* Channel::take_lane() {
  const MutexLock lock(mutex_);
  while (idle_.empty() && alive()) changed_.wait(mutex_);
  if (idle_.empty()) return nullptr;
  Lane* const lane = idle_.back();
  idle_.pop_back();
  return lane;
}

void Channel::give_back(Lane* lane) {
  const MutexLock lock(mutex_);
  idle_.push_back(lane);
  changed_.notify_one();
}

std::vector<Dropped> Channel::take_dropped() {
  const MutexLock lock(mutex_);
  return std::exchange(dropped_, {});
}

tl::unexpected<Error> Channel::gone(const char* name) {
  if (vendors_gone()) return fail(CL_DEVICE_NOT_AVAILABLE, fmt::format("{}: {}", name_, name));
  const MutexLock lock(mutex_);
  return fail(CL_DEVICE_NOT_AVAILABLE, fmt::format("{}: {}: its process {}", name_, name, reason_));
}

void Channel::lose(const char* name, LaneEnd why) {
  {
    const MutexLock lock(mutex_);
    if (std::exchange(losing_, true)) {
      while (!lost_) changed_.wait(mutex_);
      return;
    }
  }
  // All of its threads: until then they may write to what both share.
  process_->end();
  const auto end = process_->await_end(now_ns() + kEndNs);
  if (!end) arena_.keep_all();
  std::string reason = "has ended in part";
  if (why == LaneEnd::kLate) {
    reason = "has not answered in time (TUTTI_DEADLINE) and was ended";
  } else if (end) {
    reason = end->text;
  }
  if (!end) reason += ", but goes on";
  const bool told = !vendors_gone();
  {
    const MutexLock lock(mutex_);
    reason_ = reason;
    lost_ = true;
    hangs_.store(!end, std::memory_order_release);
    alive_.store(false, std::memory_order_release);
    changed_.notify_all();
  }
  if (told) log(LogLevel::kWarning, "{}: {}: its process {}", name_, name, reason);
}

Result<Channel::Call> Channel::begin(const char* name, Op op, const Writer& request) {
  if (vendors_gone() || !alive()) return gone(name);
  Call call;
  call.name_ = name;
  const std::vector<Dropped> dropped = take_dropped();
  Writer head;
  head.put(op).list(std::span(dropped));
  const uint64_t size = head.bytes().size() + request.bytes().size();
  if (size > kMessageBytes) {
    TUTTI_ASSIGN(call.large_, arena_.allocate(size));
  }
  Lane* const lane = take_lane();
  if (lane == nullptr) return gone(name);
  call.channel_ = this;
  call.lane_ = lane;
  std::byte* const to = call.large_ ? call.large_.data() : lane->message;
  std::copy(head.bytes().begin(), head.bytes().end(), to);
  std::copy(request.bytes().begin(), request.bytes().end(), to + head.bytes().size());
  lane->size = size;
  lane->elsewhere = call.large_ ? call.large_.offset() : 0;
  post(*lane);
  return call;
}

Result<Channel::Answer> Channel::answer_of(Call& call, uint64_t deadline_ns) {
  Lane& lane = *call.lane_;
  LaneEnd end = await(lane, deadline_ns);
  std::vector<std::byte> bytes;
  if (end == LaneEnd::kAnswered && lane.size <= kMessageBytes) {
    bytes.assign(lane.message, lane.message + lane.size);
  } else if (end == LaneEnd::kAnswered) {
    const uint64_t size = lane.size;
    TUTTI_ASSIGN(SharedRange range, arena_.allocate(size));
    Writer rest;
    rest.put(Op::kRest).list(std::span<const Dropped>()).put(range.offset());
    std::copy(rest.bytes().begin(), rest.bytes().end(), lane.message);
    lane.size = rest.bytes().size();
    post(lane);
    end = await(lane, deadline_ns);
    if (end == LaneEnd::kAnswered) bytes.assign(range.data(), range.data() + size);
  }
  if (end != LaneEnd::kAnswered) {
    lose(call.name_, end);
    return gone(call.name_);
  }
  if (head_->printed.load(std::memory_order_acquire) > shown_.load()) show_output();
  Reader from(bytes);
  const auto code = from.get<cl_int>();
  std::string text = from.text();
  if (!from.whole()) return fail(CL_OUT_OF_RESOURCES, name_ + ": an answer that is none");
  if (code != CL_SUCCESS) return fail(code, std::move(text));
  return Answer(std::move(bytes), sizeof code + sizeof(uint64_t) + text.size());
}

uint64_t Channel::deadline(bool builds) const {
  const uint64_t bound_ns = builds ? bounds_.builds : bounds_.calls;
  return bounds_.calls != 0 && bound_ns != 0 ? now_ns() + bound_ns : UINT64_MAX;
}

void Channel::let_go(Call& call) noexcept {
  if (!alive()) return;
  static_cast<void>(guarded([&] {
    const LaneEnd end = await(*call.lane_, deadline(false));
    end == LaneEnd::kAnswered ? give_back(call.lane_) : lose(call.name_, end);
  }));
}

Result<Channel::Answer> Channel::end(Call call, bool builds) {
  return answer_of(call, deadline(builds));
}

Result<Channel::Answer> Channel::call(const char* name, Op op, const Writer& request, bool builds) {
  TUTTI_ASSIGN(Call begun, begin(name, op, request));
  return end(std::move(begun), builds);
}

void Channel::drop(ObjectKind kind, uint64_t number) noexcept {
  if (number == 0 || vendors_gone() || !alive()) return;
  // Memory is wanted back at once.
  bool tell = kind == ObjectKind::kMemory || kind == ObjectKind::kPinned;
  static_cast<void>(guarded([&] {
    {
      const MutexLock lock(mutex_);
      dropped_.push_back({kind, 0, number});
      tell |= dropped_.size() >= kMostDropped;
    }
    if (tell) static_cast<void>(call("releasing", Op::kNothing, Writer()));
  }));
}

}  // namespace tutti::backends::process
