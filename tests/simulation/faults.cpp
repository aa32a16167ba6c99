// SPDX-License-Identifier: Apache-2.0
#include "faults.h"

#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include "threads.h"

namespace tutti::simulation {

using testing::FakeCall;
using testing::FakeFate;

bool logs = false;

void say(const char* format, ...) {
  if (!logs) return;
  // With nothing allocated: a run is the same whether anybody looks at it or not.
  char text[1024];
  int length = std::snprintf(text, sizeof text, "%12llu %-16s ",
                             static_cast<unsigned long long>(run_ns()), thread_name());
  va_list list;
  va_start(list, format);
  length += std::vsnprintf(text + length, sizeof text - static_cast<size_t>(length), format, list);
  va_end(list);
  const auto end = std::min(static_cast<size_t>(length), sizeof text - 1);
  text[end] = '\n';
  if (write(STDERR_FILENO, text, end + 1) < 0) logs = false;
}

namespace {

constexpr const char* kCalls[] = {"launch", "read",  "write",  "copy",     "fill",
                                  "mark",   "flush", "finish", "allocate", "create queue"};
constexpr uint32_t kCallCount = std::size(kCalls);
constexpr uint64_t kSecond = 1'000'000'000;

bool has_command(FakeCall call) { return call < FakeCall::kFlush || call == FakeCall::kFinish; }

std::string text_of(const Fault& fault) {
  std::string text = "device " + std::to_string(fault.device) + ", " +
                     (fault.any_call ? "call" : kCalls[static_cast<size_t>(fault.call)]) + " " +
                     std::to_string(fault.number);
  switch (fault.kind) {
    case Fault::Kind::kRefused:
      return text + ": refused";
    case Fault::Kind::kFails:
      return text + ": fails, " + std::to_string(static_cast<int>(fault.done * 100)) + " % done";
    case Fault::Kind::kLost:
      return text + ": lost for " + std::to_string(fault.ns) + " ns";
    case Fault::Kind::kLate:
      return text + ": " + std::to_string(fault.ns) + " ns late";
  }
  return text;
}

}  // namespace

void Faults::draw(uint32_t devices, uint64_t deadline_ns) {
  lost_until_ns_.resize(devices);
  if (simulation::draw(2) == 0) most_ns_ = uint64_t{1000} << simulation::draw(8);
  // A quarter of all runs have none.
  for (uint64_t left = simulation::draw(4) * (1 + simulation::draw(2)); left > 0; --left) {
    Fault fault;
    fault.device = static_cast<uint32_t>(simulation::draw(devices));
    fault.number = static_cast<uint32_t>(1 + simulation::draw(uint64_t{2} << simulation::draw(4)));
    fault.call = static_cast<FakeCall>(simulation::draw(kCallCount));
    if (simulation::draw(3) == 0) fault.call = FakeCall::kLaunch;
    fault.any_call = simulation::draw(8) == 0;
    switch (simulation::draw(8)) {
      case 0:
      case 1:
        fault.kind = Fault::Kind::kRefused;
        break;
      case 2:
      case 3:
        fault.kind = Fault::Kind::kFails;
        fault.done = static_cast<double>(simulation::draw(3)) * 0.5;
        break;
      case 4:
        fault.kind = Fault::Kind::kLost;
        fault.ns = simulation::draw(2) == 0 ? 100 * kSecond : kSecond / 1000;
        break;
      case 5:
        fault.kind = Fault::Kind::kLate;
        fault.ns = uint64_t{100'000} << simulation::draw(6);
        break;
      default:
        fault.kind = Fault::Kind::kLate;
        if (simulation::draw(2) == 0) {  // a package that is overdue
          fault.call = FakeCall::kLaunch;
          fault.number = static_cast<uint32_t>(1 + simulation::draw(8));
        }
        fault.ns = deadline_ns > 0 ? deadline_ns * (2 + simulation::draw(50))
                                   : uint64_t{1'000'000} << simulation::draw(8);
    }
    faults_.push_back(fault);
  }
}

FakeFate Faults::fate_of(uint32_t device, FakeCall call) {
  FakeFate fate;
  uint64_t late_ns = most_ns_ > 0 ? simulation::draw(most_ns_) : 0;
  for (Fault& fault : faults_) {
    if (fault.device != device || !(fault.any_call || fault.call == call)) continue;
    if (++fault.seen != fault.number) continue;
    if (!has_command(call) && fault.kind != Fault::Kind::kLost) fault.kind = Fault::Kind::kRefused;
    fault.happened = true;
    say("fault: %s (%s)", text_of(fault).c_str(), kCalls[static_cast<size_t>(call)]);
    switch (fault.kind) {
      case Fault::Kind::kRefused:
        fate.refused = CL_OUT_OF_RESOURCES;
        break;
      case Fault::Kind::kFails:
        fate.result = CL_OUT_OF_RESOURCES;
        fate.done = fault.done;
        break;
      case Fault::Kind::kLost:
        lost_until_ns_[device] = run_ns() + fault.ns;
        break;
      case Fault::Kind::kLate:
        late_ns += fault.ns;
        break;
    }
  }
  if (run_ns() < lost_until_ns_[device]) fate.refused = CL_DEVICE_NOT_AVAILABLE;
  say("device %u: %s%s", device, kCalls[static_cast<size_t>(call)],
      fate.refused != CL_SUCCESS ? ", refused" : "");
  if (late_ns > 0) fate.before = [late_ns] { let_pass(late_ns); };
  return fate;
}

void Faults::attach(testing::FakeBackend& device, uint32_t number) {
  device.fate = [this, number](FakeCall call) { return fate_of(number, call); };
}

bool Faults::any_failed() const {
  return std::any_of(faults_.begin(), faults_.end(), [](const Fault& fault) {
    return fault.happened && fault.kind != Fault::Kind::kLate;
  });
}

std::string Faults::text() const {
  std::string text;
  for (const Fault& fault : faults_) {
    text += (text.empty() ? "" : "; ") + text_of(fault) + (fault.happened ? "" : " (not reached)");
  }
  return text;
}

}  // namespace tutti::simulation
