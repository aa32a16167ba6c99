// SPDX-License-Identifier: Apache-2.0
#include "scheduler/run/given_up.h"

#include <bit>
#include <string>
#include <string_view>

#include "base/log.h"
#include "scheduler/devices/backend_set.h"

namespace tutti::scheduler {
namespace {

std::string_view reason(NotAnew why) {
  switch (why) {
    case NotAnew::kOverwritten:
      return "it may have overwritten what it needs, of which there is no other copy";
    case NotAnew::kReliedOn:
      return "others have begun with what it should have written";
    case NotAnew::kJoined:
      return "others have joined it, whose ends are not known one by one";
    case NotAnew::kUnknown:
      return "what it reads and writes is not known closely";
    case NotAnew::kRefused:
      return "no device is left that may do it";
    case NotAnew::kTransfer:
      return "no way to or from a device has worked";
    case NotAnew::kMayGoOn:
      return "its device may still be at it";
  }
  return "";
}

struct Name {
  std::string operator()(const KernelWork& work) {
    return "a launch of " + std::string(kernel_name(work));
  }
  std::string operator()(const ReadWork&) { return "a read"; }
  std::string operator()(const WriteWork&) { return "a write"; }
  std::string operator()(const CopyWork&) { return "a copy"; }
  std::string operator()(const FillWork&) { return "a fill"; }
  std::string operator()(const RectWork& work) {
    return work.write ? "a write of a rectangle" : "a read of a rectangle";
  }
  std::string operator()(const CopyRectWork&) { return "a copy of a rectangle"; }
  std::string operator()(const FillImageWork&) { return "a fill of an image"; }
  std::string operator()(const MapWork&) { return "a map"; }
  std::string operator()(const UnmapWork&) { return "an unmap"; }
  std::string operator()(const MapSharedWork& work) { return work.unmap ? "an unmap" : "a map"; }
  std::string operator()(const MarkerWork&) { return "a marker"; }
  std::string operator()(const HostWork& work) { return work.name; }
};

void tell(const std::string& name, NotAnew why, const Error& error, const std::string& what = {}) {
  log(level_without_vendors(LogLevel::kInfo), "{} has failed ({}) and is given up: {}{}", name,
      error.message, reason(why), what);
}

/// ": 4096 bytes of buffer 3 in the host's memory".
std::string overwritten(std::span<const PackageUse> uses) {
  std::string text;
  for (const PackageUse& use : uses) {
    if (!reads_what_it_writes(use, uses)) continue;
    text += fmt::format("{} {} bytes of {} {} in {}", text.empty() ? ":" : ",", use.write.size(),
                        use.buffer->kind_name(), use.buffer->id(),
                        use.place == kHostPlace ? "the host's memory" : "its own");
  }
  return text;
}

}  // namespace

void tell_given_up(const Work& work, NotAnew why, const Error& error) {
  // A marker has no content.
  if (!log_enabled(LogLevel::kInfo) || std::holds_alternative<MarkerWork>(work)) return;
  tell(std::visit(Name(), work), why, error);
}

void tell_given_up(const KernelWork& work, NotAnew why, const Error& error,
                   std::span<const PackageUse> uses) {
  if (!log_enabled(LogLevel::kInfo)) return;
  tell(Name()(work), why, error, why == NotAnew::kOverwritten ? overwritten(uses) : std::string());
}

void lose_content(CommandLog& commands, BackendSet& backends, LogicalBuffer& buffer,
                  uint32_t backend, cl_int error) {
  const uint64_t bytes = commands.note_lost(buffer, buffer.lose(backend), error);
  if (bytes == 0) return;
  log(level_without_vendors(LogLevel::kInfo), "{} bytes of {} {} lay on {} alone, and are lost",
      bytes, buffer.kind_name(), buffer.id(), backends.traits(backend).device_name);
}

void lose_results(CommandLog& commands, BackendSet& backends, const KernelWork& work) {
  for (BackendMask left = backends.health().lost(); left != 0; left &= left - 1) {
    const auto backend = static_cast<uint32_t>(std::countr_zero(left));
    for (const ArgumentSlot& slot : *work.arguments) {
      if (!slot.view.buffer) continue;
      lose_content(commands, backends, *slot.view.buffer, backend, CL_OUT_OF_RESOURCES);
    }
  }
}

}  // namespace tutti::scheduler
