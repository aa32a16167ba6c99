// SPDX-License-Identifier: Apache-2.0
#include "faulty_plan.h"

#include <errno.h>

#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace tutti::faulty {
namespace {

constexpr int kMostDevices = 8;
constexpr int kMostFunctions = 128;
constexpr int kAnyDevice = -1;

const std::map<std::string, Mode> kModes = {{"fail", Mode::kFail},
                                            {"fail-done", Mode::kFailDone},
                                            {"event", Mode::kEvent},
                                            {"event-done", Mode::kEventDone},
                                            {"event-half", Mode::kEventHalf},
                                            {"delay", Mode::kDelay},
                                            {"hang", Mode::kHang},
                                            {"lost", Mode::kLost},
                                            {"context", Mode::kContext},
                                            {"wrong", Mode::kWrong},
                                            {"crash", Mode::kCrash}};

struct Planned {
  std::string function;
  int device = kAnyDevice;
  uint64_t number = 1;
  bool each = false;  // each call whose number divides by it
  Mode mode = Mode::kNone;
  std::optional<cl_int> error;
};

struct Calls {
  std::atomic<uint64_t> prepared{0}, all{0};
};

// Kept for ever: vendors are called until the process has ended.
struct State {
  std::mutex mutex;
  std::vector<std::string> names;
  std::vector<Planned> plan;
  std::array<std::array<Calls, kMostDevices>, kMostFunctions> calls;
  std::array<std::atomic<cl_int>, kMostDevices> lost{};  // the error
  std::map<const void*, int> contexts;                   // present ones, and their devices
  std::map<const void*, cl_int> lost_contexts;           // and the error
  std::array<bool, kMostDevices> has_lost_contexts{};
  std::atomic<int> happened{0}, launches_after_loss{0};
};

State& state() {
  static auto* kept = new State;
  return *kept;
}

std::vector<std::string> pieces(const std::string& text, char separator) {
  std::vector<std::string> found;
  std::istringstream in(text);
  for (std::string piece; std::getline(in, piece, separator);) found.push_back(piece);
  return found;
}

/// Whether the fault belongs to this program.
bool here(const std::string& process) {
  const std::string self = program_invocation_short_name;
  return process.empty() ? self != "tutti-probe" && self != "tutti-builder" : process == self;
}

/// What drivers say of such a call, in general.
cl_int usual_error(const std::string& function) {
  if (function == "clCreateBuffer" || function == "clCreateImage") {
    return CL_MEM_OBJECT_ALLOCATION_FAILURE;
  }
  if (function == "clBuildProgram") return CL_BUILD_PROGRAM_FAILURE;
  return CL_OUT_OF_RESOURCES;
}

}  // namespace

int function_number(const std::string& name) {
  std::lock_guard lock(state().mutex);
  auto& names = state().names;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<int>(i);
  }
  if (names.size() == kMostFunctions) throw std::logic_error("too many functions");
  names.push_back(name);
  return static_cast<int>(names.size()) - 1;
}

void set_plan(const std::string& text) {
  std::vector<Planned> plan;
  for (const std::string& item : pieces(text, ',')) {
    const size_t at = item.find('@');
    const auto words = pieces(item.substr(0, at), ':');
    if (words.size() < 4 || words.size() > 5 || !kModes.contains(words[3])) {
      throw std::invalid_argument("not FUNCTION:DEVICE:NUMBER:MODE[:ERROR][@PROCESS]: " + item);
    }
    Planned fault;
    fault.function = words[0];
    fault.device = words[1] == "*" ? kAnyDevice : std::stoi(words[1]);
    fault.each = words[2].starts_with('*');
    fault.number = std::stoull(words[2].substr(fault.each ? 1 : 0));
    fault.mode = kModes.at(words[3]);
    if (words.size() == 5) fault.error = std::stoi(words[4]);
    if (here(at == std::string::npos ? "" : item.substr(at + 1))) plan.push_back(fault);
  }
  std::lock_guard lock(state().mutex);
  state().plan = std::move(plan);
}

void note_context(const void* context, int device) {
  std::lock_guard lock(state().mutex);
  state().contexts[context] = device;
  state().lost_contexts.erase(context);  // at the address of one that is gone
}

int launches_after_loss() { return state().launches_after_loss; }

Fault next_call(int function, int device, const void* context) {
  State& all = state();
  const bool concerns_device = device >= 0;
  if (device < 0 || device >= kMostDevices) device = 0;
  auto& calls = all.calls[static_cast<size_t>(function)][static_cast<size_t>(device)];
  const uint64_t number = ++calls.all;
  auto& lost = all.lost[static_cast<size_t>(device)];
  if (const cl_int error = lost.load(); error && concerns_device) return {Mode::kFail, error};
  std::lock_guard lock(all.mutex);
  const std::string& name = all.names[static_cast<size_t>(function)];
  if (const auto found = all.lost_contexts.find(context); found != all.lost_contexts.end()) {
    return {Mode::kFail, found->second};
  }
  if (all.has_lost_contexts[static_cast<size_t>(device)] && name == "clEnqueueNDRangeKernel") {
    ++all.launches_after_loss;
  }
  for (const Planned& fault : all.plan) {
    const bool this_one = fault.each ? number % fault.number == 0 : number == fault.number;
    if (!this_one || fault.function != name ||
        (fault.device != kAnyDevice && fault.device != device)) {
      continue;
    }
    ++all.happened;
    if (fault.mode == Mode::kContext) {
      const cl_int error = fault.error.value_or(CL_OUT_OF_RESOURCES);
      std::erase_if(all.contexts, [&](const auto& known) {
        if (known.second == device) all.lost_contexts[known.first] = error;
        return known.second == device;
      });
      all.has_lost_contexts[static_cast<size_t>(device)] = true;
      return {Mode::kFail, error};
    }
    if (fault.mode != Mode::kLost) {
      return {fault.mode, fault.error.value_or(usual_error(name))};
    }
    lost = fault.error.value_or(CL_OUT_OF_RESOURCES);
    return {Mode::kFail, lost.load()};
  }
  return {};
}

bool is_lost(int device) {
  return device >= 0 && device < kMostDevices &&
         state().lost[static_cast<size_t>(device)].load() != CL_SUCCESS;
}

void end_preparation() {
  for (auto& function : state().calls) {
    for (Calls& calls : function) calls.prepared = calls.all.load();
  }
}

std::string counts() {
  std::lock_guard lock(state().mutex);
  std::ostringstream text;
  for (size_t i = 0; i < state().names.size(); ++i) {
    for (size_t device = 0; device < kMostDevices; ++device) {
      const Calls& calls = state().calls[i][device];
      if (calls.all == 0) continue;
      text << state().names[i] << ' ' << device << ' ' << calls.prepared << ' ' << calls.all
           << '\n';
    }
  }
  return text.str();
}

int faults_happened() { return state().happened; }

}  // namespace tutti::faulty
