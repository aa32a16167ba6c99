// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plan/launch_costs.h"

#include <algorithm>

namespace tutti::scheduler {
namespace {

// The start of a transfer, which is not learned: programs move a few bytes between large transfers,
// and a line through both clouds would tell neither.
constexpr double kTransferSeconds = 20e-6;
// Before any was measured.
double transfer_rate(const backends::DeviceTraits& traits, uint64_t direction) {
  if (traits.is_far()) {
    return direction == kToDevice ? traits.link.to_device : traits.link.from_device;
  }
  return traits.type & CL_DEVICE_TYPE_GPU ? 8e9 : 4e9;  // bytes per second
}

}  // namespace

uint64_t written_arguments(const KernelSummary& summary) {
  if (!summary.whole_reason.empty()) {
    uint64_t bits = 0;
    for (size_t i = 0; i < summary.arguments.size(); ++i) {
      const Argument& argument = summary.arguments[i];
      const bool only_read = argument.kind == ArgKind::kConstant ||
                             (argument.kind == ArgKind::kImage && argument.access == "read_only");
      if (!only_read) bits |= 1ull << std::min<size_t>(i, 63);
    }
    return bits;
  }
  uint64_t bits = 0;
  for (const Access& access : summary.accesses) {
    if (access.kind != AccessKind::kLoad) bits |= 1ull << std::min<uint32_t>(access.argument, 63);
  }
  return bits;
}

double LaunchCosts::scaled(double rate, uint32_t other, uint32_t backend) const {
  if (const auto ratio = backends_.model().experience(backend, other)) return rate * *ratio;
  return rate * backends_.traits(backend).nominal_gflops / backends_.traits(other).nominal_gflops;
}

double LaunchCosts::link_rate(uint32_t backend) const {
  const backends::DeviceTraits& traits = backends_.traits(backend);
  if (!traits.is_far()) return kLinkBytesPerSecond;
  return std::min(traits.link.to_device, traits.link.from_device);
}

double LaunchCosts::call_seconds(uint32_t backend) const {
  const auto& traits = backends_.traits(backend);
  if (traits.synchronous) return 2e-6;
  return traits.link.round_trip + (traits.type & CL_DEVICE_TYPE_GPU ? 15e-6 : 30e-6);
}

bool LaunchCosts::compute(uint64_t key, uint64_t items, std::span<const uint32_t> devices,
                          std::vector<ComputeCost>& costs) const {
  const auto size = static_cast<double>(items);
  costs.assign(devices.size(), {});
  size_t reference = devices.size();
  uint64_t settled =
      0;  // bits, by place in `devices`: each is asked for once, under the model's lock
  const auto is_settled = [&](size_t i) { return (settled >> i & 1) != 0; };
  // The settled one of the highest rate is what the others are compared with.
  const auto better = [&](size_t a, size_t b) {
    return is_settled(a) != is_settled(b) ? is_settled(a) : costs[a].rate > costs[b].rate;
  };
  for (size_t i = 0; i < devices.size(); ++i) {
    const TimeFit fit = backends_.model().fit(key, devices[i]);
    costs[i].startup = costs[i].call = call_seconds(devices[i]);
    if (fit.empty() || !fit.reliable(size)) continue;
    costs[i].startup += fit.startup();
    costs[i].rate = fit.rate();
    costs[i].irregularity = fit.irregularity();
    costs[i].measured = true;
    const TimeFit whole = backends_.model().whole_fit(key, devices[i]);
    if (whole.reliable(size)) costs[i].whole = call_seconds(devices[i]) + whole.predict(size);
    if (backends_.model().settled(key, devices[i])) settled |= uint64_t{1} << i;
    if (reference == devices.size() || better(i, reference)) reference = i;
  }
  const bool measured = reference < devices.size();
  if (!measured) {
    reference = 0;
    costs[0].rate = backends_.traits(devices[0]).nominal_gflops * 1e9;
  }
  for (size_t i = 0; i < devices.size(); ++i) {
    if (i == reference || is_settled(i)) continue;
    // A first run that was slow gets a second chance, which shows whether it was an outlier.
    const double expected = scaled(costs[reference].rate, devices[reference], devices[i]);
    if (costs[i].measured && costs[i].rate >= expected) continue;
    const double call = call_seconds(devices[i]);
    costs[i] = {.startup = call, .call = call, .rate = expected};
  }
  return measured;
}

double LaunchCosts::one_way(uint64_t direction, uint32_t backend, uint64_t bytes,
                            uint64_t rows) const {
  if (bytes == 0) return 0;
  const TimeFit fit = backends_.model().fit(direction, backend);
  const auto size = static_cast<double>(transfer_size(bytes, rows));
  const backends::DeviceTraits& traits = backends_.traits(backend);
  const double expected = 1 / transfer_rate(traits, direction);
  double per_byte = !fit.empty() && fit.reliable(size) ? fit.per_size() : expected;
  // A link that is slower today than it was, or now than it was found, is believed.
  if (traits.is_far()) per_byte = std::max(per_byte, expected);
  return std::max(kTransferSeconds, traits.link.round_trip) + size * per_byte;
}

double LaunchCosts::transfer(const LogicalBuffer& buffer, const ByteStrips& strips,
                             uint32_t backend) const {
  const Place place = buffer.place_on(backend);
  const LogicalBuffer::Missing missing = buffer.missing(place, strips);
  double seconds = 0;
  if (missing.elsewhere > 0) {
    seconds += one_way(kFromDevice, missing.owner - 1, missing.elsewhere, missing.rows_elsewhere);
  }
  if (place != kHostPlace) seconds += one_way(kToDevice, backend, missing.bytes, missing.rows);
  return seconds;
}

double LaunchCosts::whole_transfers(const ArgumentSet& arguments, const LaunchAccess* exact,
                                    uint32_t backend) const {
  if (exact) return transfers(arguments, exact->whole(), backend);
  double seconds = 0;
  for (const ArgumentSlot& slot : arguments) {
    if (!slot.has_memory()) continue;
    const LogicalBuffer& buffer = *slot.view.buffer;
    const uint64_t end = slot.view.origin + slot.view.size;
    if (buffer.valid_at(buffer.place_on(backend), slot.view.origin, end)) continue;
    seconds += transfer(buffer, {.range = {slot.view.origin, end}}, backend);
  }
  return seconds;
}

double LaunchCosts::package_transfers(const ArgumentSet& arguments, const LaunchAccess& access,
                                      uint64_t first, uint64_t count, uint32_t backend) const {
  return transfers(arguments, access.package(access.verdict().dimension, first, count), backend);
}

double LaunchCosts::transfers(const ArgumentSet& arguments, std::span<const ArgumentUse> uses,
                              uint32_t backend) const {
  double seconds = 0;
  for (const ArgumentUse& use : uses) {
    const BufferView& view = arguments[use.argument].view;
    if (!view.buffer) continue;
    for (const ByteStrips& part : use.read_parts()) {
      if (!part.empty()) seconds += transfer(*view.buffer, part.moved(view.origin), backend);
    }
    if (!use.write.empty() && !use.overwrites && use.merge == MergeMode::kDisjoint) {
      seconds += transfer(*view.buffer, use.write.moved(view.origin), backend);
    }
  }
  return seconds;
}

double LaunchCosts::gather(const KernelWork& work, uint32_t backend, double part) const {
  const auto read = [](const ArgumentSlot& slot) -> uint64_t {
    const LogicalBuffer* buffer = slot.view.buffer.get();
    return buffer ? std::min(buffer->read_back.load(std::memory_order_relaxed), slot.view.size) : 0;
  };
  const ArgumentSet& arguments = *work.arguments;
  if (std::none_of(arguments.begin(), arguments.end(), read)) return 0;
  const uint64_t written = written_arguments(work.kernel->summary());
  double seconds = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const uint64_t bytes = argument_written(written, i) ? read(arguments[i]) : 0;
    if (bytes == 0 || arguments[i].view.buffer->place_on(backend) == kHostPlace) continue;
    seconds +=
        one_way(kFromDevice, backend, static_cast<uint64_t>(part * static_cast<double>(bytes)));
  }
  return seconds;
}

double LaunchCosts::return_transfers(const KernelWork& work, uint32_t from, uint32_t to) const {
  const uint64_t written = written_arguments(work.kernel->summary());
  double seconds = 0;
  for (size_t i = 0; i < work.arguments->size(); ++i) {
    const BufferView& view = (*work.arguments)[i].view;
    if (!view.buffer || !argument_written(written, i)) continue;
    const Place place = view.buffer->place_on(to);
    if (place == view.buffer->place_on(from)) continue;
    if (view.buffer->place_on(from) != kHostPlace) seconds += one_way(kFromDevice, from, view.size);
    if (place != kHostPlace) seconds += one_way(kToDevice, to, view.size);
  }
  return seconds;
}

}  // namespace tutti::scheduler
