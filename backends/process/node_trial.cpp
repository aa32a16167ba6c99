// SPDX-License-Identifier: Apache-2.0
#include "backends/process/node_trial.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace tutti::backends::process {
namespace {

constexpr size_t kWidth = 24, kHeight = 16, kWords = kWidth * kHeight;
// The rows that are written, and read: columns 3 to 18.
constexpr size_t kColumn = 3, kColumns = 16;
constexpr cl_uint kFactor = 3, kUntouched = 0xdeadbeef;
constexpr const char* kSource =
    "kernel void tutti_trial(global uint* words, uint factor) {\n"
    "  words[get_global_id(0)] = words[get_global_id(0)] * factor + 1u;\n"
    "}\n";

Status wrong(const char* what) { return fail(CL_DEVICE_NOT_AVAILABLE, what); }

Status run_kernel(Backend& device, Queue& queue, Memory& memory) {
  BuildResult built = device.build(kSource, {});
  if (!built.module) return fail(built.code, "a kernel cannot be built: " + built.log);
  TUTTI_ASSIGN(const auto kernel, built.module->create_kernel("tutti_trial"));
  std::vector<Argument> arguments(2);
  arguments[0].kind = Argument::Kind::kMemory;
  arguments[0].memory = &memory;
  arguments[0].size = memory.size();
  arguments[1].bytes = std::as_bytes(std::span(&kFactor, 1));
  Launch launch;
  launch.kernel = kernel.get();
  launch.arguments = arguments;
  // All but the first row, as a package of a split launch.
  launch.offset[0] = kWidth;
  launch.global[0] = kWords - kWidth;
  TUTTI_ASSIGN(const auto launched, queue.launch(launch, {}));
  return launched->wait();
}

constexpr size_t kFirstBytes = 16 << 10, kMostBytes = 4 << 20;
constexpr int kReads = 3;

/// Seconds of `call`.
Result<double> seconds_of(const std::function<Status()>& call) {
  const uint64_t began_ns = now_ns();
  TUTTI_TRY(call());
  return seconds_between(began_ns, now_ns());
}

/// Bytes per second of `transfer`, which moves as many bytes as it is told. The best of some: a
/// connection begins slowly, and an acknowledgement may be held back for 40 ms.
Result<double> measure_rate(double round_trip, const std::function<Status(size_t)>& transfer) {
  constexpr double kTrips = 4, kEnoughSeconds = 0.1;
  double best = 0;
  for (size_t bytes = kFirstBytes; bytes <= kMostBytes; bytes *= 4) {
    TUTTI_ASSIGN(const double seconds, seconds_of([&] { return transfer(bytes); }));
    // What passes so fast that the way there is most of it passes at least as fast as that.
    const double passing = std::max(seconds - round_trip, seconds / kTrips);
    best = std::max(best, static_cast<double>(bytes) / passing);
    if (seconds >= kEnoughSeconds) break;
  }
  return best;
}

}  // namespace

Status try_node(Backend& device) {
  TUTTI_ASSIGN(const auto queue, device.create_queue({}));
  TUTTI_ASSIGN(const auto memory, device.allocate(kWords * sizeof(cl_uint), nullptr));
  std::vector<cl_uint> words(kWords), expected(kWords);
  std::iota(words.begin(), words.end(), 1u);
  const std::vector<cl_uint> before(kWords, 7u);
  TUTTI_TRY(queue->write_blocking(*memory, 0, memory->size(), before.data()));
  BufferRows rows;
  rows.offset = kColumn * sizeof(cl_uint);
  rows.length = kColumns * sizeof(cl_uint);
  rows.pitch = kWidth * sizeof(cl_uint);
  rows.count = kHeight;
  TUTTI_TRY(queue->write_rows(*memory, rows, words.data() + kColumn));
  const auto inside = [](size_t i) {
    return i % kWidth >= kColumn && i % kWidth < kColumn + kColumns;
  };
  for (size_t i = 0; i < kWords; ++i) {
    const cl_uint given = inside(i) ? words[i] : before[i];
    expected[i] = i < kWidth ? given : given * kFactor + 1u;
  }
  TUTTI_TRY(run_kernel(device, *queue, *memory));
  std::vector<cl_uint> whole(kWords), part(kWords, kUntouched);
  TUTTI_TRY(queue->read_blocking(*memory, 0, memory->size(), whole.data()));
  if (whole != expected) return wrong("a kernel's results, or rows that were written, are wrong");
  TUTTI_TRY(queue->read_rows(*memory, rows, part.data() + kColumn));
  for (size_t i = 0; i < kWords; ++i) {
    if (part[i] != (inside(i) ? expected[i] : kUntouched)) {
      return wrong("rows that were read are wrong");
    }
  }
  return {};
}

Result<DeviceLink> measure_link(Backend& device, const LinkHints& hints) {
  DeviceLink link{hints.round_trip, hints.rate, hints.rate};
  if (hints.round_trip > 0 && hints.rate > 0) return link;
  TUTTI_ASSIGN(const auto queue, device.create_queue({}));
  TUTTI_ASSIGN(const auto memory, device.allocate(kMostBytes, nullptr));
  std::vector<std::byte> bytes(kMostBytes);
  const auto write = [&](size_t size) {
    return queue->write_blocking(*memory, 0, size, bytes.data());
  };
  const auto read = [&](size_t size) {
    return queue->read_blocking(*memory, 0, size, bytes.data());
  };
  TUTTI_TRY(write(1));  // the server allocates it now
  if (hints.round_trip <= 0) {
    link.round_trip = std::numeric_limits<double>::infinity();
    for (int i = 0; i < kReads; ++i) {
      TUTTI_ASSIGN(const double seconds, seconds_of([&] { return read(1); }));
      link.round_trip = std::min(link.round_trip, seconds);
    }
  }
  if (hints.rate > 0) return link;
  TUTTI_ASSIGN(link.to_device, measure_rate(link.round_trip, write));
  TUTTI_ASSIGN(link.from_device, measure_rate(link.round_trip, read));
  return link;
}

}  // namespace tutti::backends::process
