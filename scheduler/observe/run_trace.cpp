// SPDX-License-Identifier: Apache-2.0
#include "scheduler/observe/run_trace.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"

namespace tutti::scheduler {
namespace {

constexpr uint32_t kDecisions = 1, kMerges = 2;  // rows of trace::kTutti
constexpr uint32_t kFirstQueue = 1;              // rows of a device; streams count from 1
constexpr uint32_t kState = 900'000;             // likewise, behind all queues

uint64_t product(const std::array<size_t, 3>& region) {
  return uint64_t{region[0]} * region[1] * region[2];
}

struct DeedOf {
  Deed operator()(const ReadWork& work) const {
    return {"read", "read by the application", work.size, Direction::kDownload};
  }
  Deed operator()(const WriteWork& work) const {
    return {"write", "written by the application", work.size, Direction::kUpload};
  }
  Deed operator()(const CopyWork& work) const {
    return {"copy", "copied by the application", work.size, Direction::kOnDevice};
  }
  Deed operator()(const FillWork& work) const {
    return {"fill", "filled by the application", work.size, Direction::kOnDevice};
  }
  Deed operator()(const RectWork& work) const {
    if (work.write) {
      return {"write", "written by the application", product(work.region), Direction::kUpload};
    }
    return {"read", "read by the application", product(work.region), Direction::kDownload};
  }
  Deed operator()(const CopyRectWork& work) const {
    return {"copy", "copied by the application", product(work.region), Direction::kOnDevice};
  }
  Deed operator()(const FillImageWork& work) const {
    return {"fill", "filled by the application", work.to.size, Direction::kOnDevice};
  }
  Deed operator()(const MapWork& work) const {
    return {"map", "mapped by the application", work.size, Direction::kDownload};
  }
  Deed operator()(const UnmapWork& work) const {
    return {"unmap", "unmapped by the application", work.size, Direction::kUpload};
  }
  Deed operator()(const MapSharedWork& work) const {
    if (work.unmap) return {"unmap", "unmapped by the application", work.size, Direction::kUpload};
    return {"map", "mapped by the application", work.size, Direction::kDownload};
  }
  Deed operator()(const HostWork&) const {
    return {"native kernel", "used by a native kernel", 0, Direction::kDownload};
  }
  Deed operator()(const MarkerWork&) const { return {}; }
  Deed operator()(const KernelWork&) const { return {}; }
};

std::atomic<uint64_t> last_number{0};
uint64_t next_number() { return last_number.fetch_add(1, std::memory_order_relaxed) + 1; }

void note_command(trace::Args& args, const Awaited& awaited) {
  if (!awaited.named.empty()) args.add("named", std::span(awaited.named));
  if (!awaited.order.empty()) args.add("order", std::span(awaited.order));
  if (!awaited.data.empty()) args.add("data", std::span(awaited.data));
  trace::note("tutti_command", args);
}

}  // namespace

void Awaited::add(const CommandTrace* before, Waits waits) {
  if (!before) return;
  for (const auto* numbers : {&named, &order, &data}) {
    if (std::find(numbers->begin(), numbers->end(), before->number) != numbers->end()) return;
  }
  (waits == Waits::kNamed   ? named
   : waits == Waits::kOrder ? order
                            : data)
      .push_back(before->number);
}

RunTrace::RunTrace(BackendSet& backends, EnergyMonitor& energy)
    : backends_(backends), energy_(energy) {
  // Ahead of everything, so that a trace that is cut early knows its devices.
  for (uint32_t i = 0; i < backends.real_count(); ++i) device_process(i, backends.traits(i));
}

trace::Lane& RunTrace::lane(trace::Row row, const char* name, uint32_t number) {
  MutexLock lock(mutex_);
  auto& made = lanes_[row];
  if (!made) {
    trace::name_row(row, number == 0 ? std::string(name) : fmt::format("{} {}", name, number));
    made = std::make_unique<trace::Lane>(row);
  }
  return *made;
}

trace::Lane& RunTrace::queue(uint32_t backend, uint32_t stream) {
  const uint32_t process = device_process(backend, backends_.traits(backend));
  return lane({process, kFirstQueue + stream}, "queue", stream);
}

void RunTrace::lost(uint32_t backend, const Error& why) {
  if (!trace::on()) return;
  const uint32_t process = device_process(backend, backends_.traits(backend));
  const uint64_t now = now_ns();
  trace::Args args;
  args.add("why", why.message);
  lane({process, kState}, "state", 0).slice("device", "is lost", now, now, args);
}

void RunTrace::late(uint32_t backend, const std::string& kernel) {
  if (!trace::on()) return;
  const uint32_t process = device_process(backend, backends_.traits(backend));
  const uint64_t now = now_ns();
  trace::Args args;
  args.add("kernel", kernel);
  lane({process, kState}, "state", 0).slice("device", "is late", now, now, args);
}

void RunTrace::voted(uint32_t backend, const std::string& kernel, uint64_t begin_ns,
                     uint64_t end_ns, bool right) {
  if (!trace::on()) return;
  const DeviceHealth::Votes votes = backends_.health().votes(backend);
  const uint32_t process = device_process(backend, backends_.traits(backend));
  trace::Args args;
  args.add("kernel", kernel).add("votes", votes.all).add("outvoted", votes.wrong);
  lane({process, kState}, "state", 0)
      .slice("device", right ? "votes" : "is outvoted", begin_ns, end_ns, args);
}

void RunTrace::was_lost(uint32_t backend, uint64_t lost_ns, uint64_t now_ns) {
  if (!trace::on()) return;
  const uint32_t process = device_process(backend, backends_.traits(backend));
  lane({process, kState}, "state", 0).slice("device", "takes no part", lost_ns, now_ns);
}

void RunTrace::end() {
  if (!trace::on()) return;
  for (uint32_t i = 0; i < backends_.count(); ++i) backends_.memory(i).history().tell_rest();
}

std::shared_ptr<CommandTrace> RunTrace::begin(const Work& work, uint32_t stream,
                                              uint64_t called_ns) const {
  if (!wants_all()) return nullptr;
  auto command = std::make_shared<CommandTrace>();
  command->number = next_number();
  command->stream = stream;
  command->caller = trace::thread_row(trace::kApplication);
  command->called_ns = called_ns;
  command->deed = std::visit(DeedOf{}, work);
  if (const auto* kernel = std::get_if<KernelWork>(&work)) {
    command->launches = kernel->kernel->summary().name;
  }
  return command;
}

void RunTrace::enqueued(const CommandTrace& command, const Awaited& awaited) const {
  if (!trace::on()) return;
  trace::Args args;
  args.add("command", command.number).add("queue", command.stream);
  if (!command.launches.empty()) {
    args.add("what", "kernel").add("kernel", command.launches);
  } else {
    args.add("what", command.deed.name ? command.deed.name : "marker");
  }
  args.add("enqueued_ns", command.called_ns);
  note_command(args, awaited);
}

void RunTrace::held_up(const CommandTrace& command, const Awaited& awaited) const {
  if (!trace::on() || awaited.empty()) return;
  trace::Args args;
  args.add("command", command.number);
  note_command(args, awaited);
}

std::shared_ptr<CommandTrace> RunTrace::user_event() const {
  if (!trace::on()) return nullptr;
  auto command = std::make_shared<CommandTrace>();
  command->number = next_number();
  command->called_ns = now_ns();
  trace::Args args;
  args.add("command", command->number).add("queue", 0).add("what", "user event");
  args.add("enqueued_ns", command->called_ns);
  note_command(args, {});
  return command;
}

void RunTrace::decided(CommandTrace& command, const KernelWork& work, const KernelPlan& plan,
                       uint64_t begin_ns, uint64_t end_ns) {
  const KernelSummary& summary = work.kernel->summary();
  command.kernel = summary.name;
  if (energy_.on()) command.under_way = energy_.under_way();
  const LaunchShape& shape = plan.shape;
  command.items = shape.items();
  if (!trace::on()) return;
  const bool judged = plan.access != nullptr;
  const Verdict* verdict = plan.verdict();
  trace::Args args;
  args.add("command", command.number).add("kernel", summary.name).add("split", plan.split);
  args.add("mode", plan.split ? merge_mode_name(plan.access->verdict().mode)
                              : merge_mode_name(MergeMode::kWhole));
  args.add("reason", plan.reason());
  if (!plan.split) {
    const WholeReasons reasons = plan.whole_reasons();
    if (!reasons.forbids.empty()) args.add("forbids", reasons.forbids);
    if (!reasons.unprofitable.empty()) args.add("unprofitable", reasons.unprofitable);
  }
  if (verdict && verdict->line != 0) args.add("line", verdict->line);
  if (plan.split) {
    const uint32_t dimension = plan.access->verdict().dimension;
    args.add("dimension", dimension).add("slices", shape.groups(dimension));
  } else {
    args.add("device", backends_.traits(plan.backend).index);
  }
  args.add("items", command.items);
  args.add("global", std::span(shape.global).first(shape.dims));
  if (work.local_given || judged) args.add("local", std::span(shape.local).first(shape.dims));
  std::vector<uint64_t> candidates;
  for (const uint32_t i : plan.participants) candidates.push_back(backends_.traits(i).index);
  args.add("candidates", candidates);
  // What the planner expected of its alternatives, as far as it knew.
  if (plan.whole_seconds > 0) args.add("expected_whole_seconds", plan.whole_seconds);
  if (plan.split_seconds > 0) args.add("expected_split_seconds", plan.split_seconds);
  if (plan.whole_joules > 0) args.add("expected_whole_joules", plan.whole_joules);
  if (plan.split_joules > 0) args.add("expected_split_joules", plan.split_joules);
  if (plan.split && !plan.shares.empty()) args.add("expected_slices", plan.shares);
  const std::string name = (plan.split ? "split " : "whole ") + summary.name;
  trace::Lane& row = lane({trace::kTutti, kDecisions}, "decisions", 0);
  command.decided_ns = row.slice("decision", name, begin_ns, end_ns, args);
  trace::flow("decision", command.caller, command.called_ns, row.row(), command.decided_ns);
}

void RunTrace::ran(const CommandTrace& command, const PackageRecord& package) {
  const bool whole = package.count == 0;
  if (energy_.on()) {
    energy_.ran(command.kernel, package.device, package.start_ns, package.end_ns);
    if (whole) energy_.launched(command.kernel, package.start_ns, package.end_ns);
    if (whole) command.under_way.reset();
  }
  if (!trace::on()) return;
  trace::Args args;
  args.add("command", command.number).add("kernel", command.kernel);
  args.add("device", backends_.traits(package.device).index);
  if (whole) {
    args.add("items", command.items);
  } else {
    args.add("first", package.first).add("count", package.count);
  }
  trace::Lane& row = queue(package.device, command.stream);
  const char* category = whole ? "kernel" : "package";
  const uint64_t begin =
      row.slice(category, command.kernel, package.start_ns, package.end_ns, args);
  trace::flow(category, {trace::kTutti, kDecisions}, command.decided_ns, row.row(), begin);
}

void RunTrace::ended_direct(CommandTrace& command, uint32_t backend, const CommandTimes& times,
                            VendorClock& clock) {
  if (!wants_all() || command.ended.exchange(true, std::memory_order_relaxed)) return;
  if (!trace::on() && !command.kernel.empty()) {
    return ran(command, {backend, 0, 0, times.started, times.ended});
  }
  if (!trace::on()) return;
  const uint32_t device = backends_.traits(backend).index;
  trace::Lane& row = queue(backend, command.stream);
  const char* to_device = direction_name(Direction::kUpload);
  for (const SentTransfer& sent : command.sent) {
    uint64_t start = times.submitted, end = times.submitted;
    if (const auto vendor = sent.completion->times()) {
      const auto offset =
          static_cast<uint64_t>(clock.offset(vendor->queued, times.submitted, times.ended));
      start = std::clamp(vendor->started + offset, times.submitted, times.ended);
      end = std::clamp(vendor->ended + offset, start, times.ended);
    }
    trace::Args args;
    args.add("device", device).add("direction", to_device).add("bytes", sent.bytes);
    args.add("why", "used by a kernel").add("command", command.number);
    args.add("kernel", command.kernel).add("argument", sent.argument);
    row.slice("transfer", to_device, start, end, args);
  }
  if (!command.kernel.empty()) return ran(command, {backend, 0, 0, times.started, times.ended});
  const Deed& deed = command.deed;
  if (!deed.name) return;
  const char* direction = direction_name(deed.direction);
  trace::Args args;
  args.add("device", device).add("direction", direction).add("bytes", deed.bytes);
  args.add("why", deed.why).add("command", command.number);
  const uint64_t begin = row.slice("transfer", direction, times.started, times.ended, args);
  trace::flow("transfer", command.caller, command.called_ns, row.row(), begin);
}

void RunTrace::merged(const CommandTrace& command, const char* how, uint64_t begin_ns,
                      uint64_t end_ns) {
  if (!trace::on()) return;
  trace::Args args;
  args.add("command", command.number).add("kernel", command.kernel).add("mode", how);
  lane({trace::kTutti, kMerges}, "merges", 0)
      .slice("merge", "merge " + command.kernel, begin_ns, end_ns, args);
}

void RunTrace::launched(const CommandTrace& command, uint64_t begin_ns, uint64_t end_ns,
                        bool failed) {
  if (energy_.on()) {
    if (!failed) energy_.launched(command.kernel, begin_ns, end_ns);
    command.under_way.reset();
  }
  if (!trace::on()) return;
  trace::Args args;
  args.add("command", command.number).add("kernel", command.kernel).add("failed", failed);
  trace::span(trace::kTutti, "launch", command.kernel, command.number, begin_ns, end_ns, args);
}

HostScope::HostScope(const CommandTrace* command)
    : command_(command),
      begin_ns_(command ? now_ns() : 0),
      cause_(command ? command->deed.why : "", command ? command->number : 0) {}

HostScope::~HostScope() {
  if (!command_ || !trace::on()) return;
  const Deed& deed = command_->deed;
  if (!deed.name) return;
  trace::Args args;
  args.add("command", command_->number).add("bytes", deed.bytes).add("why", deed.why);
  const trace::Row row = trace::thread_row(trace::kTutti);
  trace::slice(row, "host", deed.name, begin_ns_, now_ns(), args);
  // Within the call itself there is nothing to lead to.
  if (row != command_->caller) {
    trace::flow("host", command_->caller, command_->called_ns, row, begin_ns_);
  }
}

}  // namespace tutti::scheduler
