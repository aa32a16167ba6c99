// SPDX-License-Identifier: Apache-2.0
#include "scheduler/run/verification.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/log.h"
#include "scheduler/run/executor.h"

namespace tutti::scheduler {
namespace {

double half_value(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const double fraction = bits & 1023;
  double value = 0;
  if (exponent == 0) {
    value = std::ldexp(fraction, -24);
  } else if (exponent == 31) {
    value = fraction == 0 ? INFINITY : NAN;
  } else {
    value = std::ldexp(1024 + fraction, exponent - 25);
  }
  return bits & 0x8000 ? -value : value;
}

template <typename T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

double value_of(ElementKind kind, const std::byte* at) {
  switch (kind) {
    case ElementKind::kHalf:
      return half_value(load<uint16_t>(at));
    case ElementKind::kFloat:
      return static_cast<double>(load<float>(at));
    case ElementKind::kDouble:
      return load<double>(at);
    case ElementKind::kExact:
      break;
  }
  return 0;
}

bool close(double a, double b, double tolerance) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return true;
  if (std::isinf(a) || std::isinf(b)) return false;
  return std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b));
}

}  // namespace

ElementType element_type(const std::string& type_name) {
  std::string name = type_name;
  std::erase_if(name, [](char c) { return c == '*' || c == ' '; });
  while (!name.empty() && name.back() >= '0' && name.back() <= '9') name.pop_back();
  struct Known {
    const char* name;
    ElementType type;
  };
  static constexpr std::array<Known, 11> kKnown{{{"float", {ElementKind::kFloat, 4}},
                                                 {"double", {ElementKind::kDouble, 8}},
                                                 {"half", {ElementKind::kHalf, 2}},
                                                 {"char", {ElementKind::kExact, 1}},
                                                 {"uchar", {ElementKind::kExact, 1}},
                                                 {"short", {ElementKind::kExact, 2}},
                                                 {"ushort", {ElementKind::kExact, 2}},
                                                 {"int", {ElementKind::kExact, 4}},
                                                 {"uint", {ElementKind::kExact, 4}},
                                                 {"long", {ElementKind::kExact, 8}},
                                                 {"ulong", {ElementKind::kExact, 8}}}};
  for (const Known& known : kKnown) {
    if (name == known.name) return known.type;
  }
  return {};
}

ElementType element_type(const cl_image_format& format) {
  if (format.image_channel_data_type == CL_FLOAT) return {ElementKind::kFloat, 4};
  if (format.image_channel_data_type == CL_HALF_FLOAT) return {ElementKind::kHalf, 2};
  return {};
}

std::optional<size_t> first_difference(const ElementType& type, std::span<const std::byte> split,
                                       std::span<const std::byte> whole, double tolerance) {
  if (std::memcmp(split.data(), whole.data(), split.size()) == 0) return std::nullopt;
  for (size_t at = 0; at < split.size(); at += type.bytes) {
    const size_t size = std::min<size_t>(type.bytes, split.size() - at);
    if (std::memcmp(split.data() + at, whole.data() + at, size) == 0) continue;
    if (type.kind != ElementKind::kExact && size == type.bytes &&
        close(value_of(type.kind, split.data() + at), value_of(type.kind, whole.data() + at),
              tolerance)) {
      continue;
    }
    return at;
  }
  return std::nullopt;
}

std::string element_text(const ElementType& type, std::span<const std::byte> bytes) {
  if (type.kind != ElementKind::kExact && bytes.size() >= type.bytes) {
    return fmt::format("{}", value_of(type.kind, bytes.data()));
  }
  uint64_t value = 0;
  std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof(value)));
  return fmt::format("{:#x}", value);
}

void VerificationReport::add(const std::string& kernel, bool differs, const std::string& what) {
  MutexLock lock(mutex_);
  Kernel& entry = kernels_[kernel];
  ++entry.launches;
  if (differs && entry.differing++ == 0) entry.first = what;
}

void VerificationReport::add_unverified(const std::string& kernel, const std::string& why) {
  MutexLock lock(mutex_);
  Kernel& entry = kernels_[kernel];
  ++entry.launches;
  if (entry.unverified++ == 0 && entry.first.empty()) entry.first = why;
}

std::string VerificationReport::text() const {
  MutexLock lock(mutex_);
  if (kernels_.empty()) return {};
  std::string text;
  uint64_t launches = 0, differing = 0, unverified = 0;
  for (const auto& [name, kernel] : kernels_) {
    launches += kernel.launches;
    differing += kernel.differing;
    unverified += kernel.unverified;
    text += votes_ ? fmt::format("  {}: {} launches, {} without a result", name, kernel.launches,
                                 kernel.differing)
                   : fmt::format("  {}: {} split launches, {} differ", name, kernel.launches,
                                 kernel.differing);
    if (kernel.unverified != 0) {
      text += fmt::format(", {} not {}", kernel.unverified, votes_ ? "voted on" : "verified");
    }
    if (!kernel.first.empty()) text += "; first: " + kernel.first;
    text += "\n";
  }
  if (votes_) {
    std::string head = fmt::format("tutti verify: {} launches voted on, ", launches - unverified);
    head += differing == 0 ? "all with a result" : fmt::format("{} without a result", differing);
    if (unverified != 0) head += fmt::format("; {} not voted on", unverified);
    return head + "\n" + text;
  }
  std::string head =
      fmt::format("tutti verify: {} split launches repeated whole, ", launches - unverified);
  head += differing == 0 ? "no difference" : fmt::format("{} differ", differing);
  if (unverified != 0) head += fmt::format("; {} not verified", unverified);
  return head + "\n" + text;
}

Result<std::unique_ptr<Verification>> Verification::begin(BackendSet& backends,
                                                          const KernelWork& work,
                                                          const KernelPlan& plan) {
  auto verification = std::unique_ptr<Verification>(new Verification(backends, work, plan));
  const uint64_t written = written_arguments(work.kernel->summary());
  for (size_t i = 0; i < work.arguments->size(); ++i) {
    const ArgumentSlot& slot = (*work.arguments)[i];
    if (slot.kind != ArgumentSlot::Kind::kBuffer || !slot.view.buffer) continue;
    if (argument_written(written, i)) TUTTI_TRY(verification->copy(slot.view));
  }
  // Other windows on the same buffers are read in the copies, too.
  for (const ArgumentSlot& slot : *work.arguments) {
    if (slot.kind != ArgumentSlot::Kind::kBuffer || !slot.view.buffer) continue;
    if (verification->copies_.has(*slot.view.buffer)) TUTTI_TRY(verification->copy(slot.view));
  }
  return verification;
}

Status Verification::run_whole(Stream& stream) {
  const uint32_t backend = plan_.backend;
  for (const ArgumentSlot& slot : *work_.arguments) {
    if (slot.kind != ArgumentSlot::Kind::kBuffer || !slot.view.buffer) continue;
    LogicalBuffer& buffer = *slot.view.buffer;
    if (copies_.has(buffer)) continue;
    TUTTI_TRY(buffer.make_valid(buffer.place_on(backend), slot.view.origin,
                                slot.view.origin + slot.view.size));
  }
  TUTTI_ASSIGN(const auto arguments, copies_.arguments(*work_.arguments));
  TUTTI_ASSIGN(backends::Kernel * kernel,
               work_.kernel->vendor_kernel(backend, KernelVariant::kUntouched));
  const auto launch = vendor_launch(*kernel, arguments, plan_.shape, true);
  TUTTI_ASSIGN(backends::Queue * queue, stream.queues.queue(backend, true));
  TUTTI_ASSIGN(const auto completion, queue->launch(launch, {}));
  return completion->wait();
}

std::string Verification::owner_of(uint32_t argument, uint64_t byte,
                                   std::span<const PackageRecord> packages) const {
  for (const PackageRecord& package : packages) {
    const uint32_t dimension = plan_.access->verdict().dimension;
    for (const ArgumentUse& use : plan_.access->package(dimension, package.first, package.count)) {
      if (use.argument != argument || use.merge != MergeMode::kDisjoint) continue;
      bool mine = false;
      use.write.for_each_in(byte, byte + 1, [&](uint64_t, uint64_t) { mine = true; });
      if (!mine) continue;
      return fmt::format("package of slices {} to {} on device {} ({})", package.first,
                         package.first + package.count - 1, backends_.traits(package.device).index,
                         backends_.traits(package.device).device_name);
    }
  }
  return "merged from all packages";
}

Status Verification::compare(Stream& stream, std::span<const PackageRecord> packages,
                             double tolerance, VerificationReport& report) {
  const KernelSummary& summary = work_.kernel->summary();
  if (Status status = run_whole(stream); !status) {
    report.add_unverified(summary.name, status.error().message);
    return status;
  }
  const uint64_t written = written_arguments(summary);
  std::string what;
  for (uint32_t i = 0; i < work_.arguments->size() && what.empty(); ++i) {
    const BufferView& view = (*work_.arguments)[i].view;
    if (!view.buffer || !argument_written(written, i)) continue;
    TUTTI_TRY(view.buffer->make_valid(kHostPlace, view.origin, view.origin + view.size));
    TUTTI_ASSIGN(const std::byte* host, view.buffer->host_memory());
    const std::span<const std::byte> split(host + view.origin, view.size);
    // What lies between an image's rows is nobody's, and the same.
    std::vector<std::byte> whole(split.begin(), split.end());
    TUTTI_TRY(copies_.read(*view.buffer, view.origin, whole));
    const Argument& argument = summary.arguments[i];
    const ElementType type = element_type(argument.type_name);
    const auto at = first_difference(type, split, whole, tolerance);
    if (!at) continue;
    const size_t size = std::min<size_t>(type.bytes, view.size - *at);
    what = fmt::format(
        "argument {} ('{}', {}), element {}: {} split, {} whole; {}", i, argument.name,
        argument.type_name, *at / type.bytes, element_text(type, split.subspan(*at, size)),
        element_text(type, std::span(whole).subspan(*at, size)), owner_of(i, *at, packages));
    if (plan_.access->verdict().alone) {
      report.add_unverified(summary.name, "the order in which work-groups reach its atomics shows");
      return {};
    }
    log(LogLevel::kError, "verify: kernel {}: {}", summary.name, what);
  }
  report.add(summary.name, !what.empty(), what);
  return {};
}

}  // namespace tutti::scheduler
