// SPDX-License-Identifier: Apache-2.0
#include "tools/trace_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>
#include <tuple>

#include "base/printable.h"
#include "base/safe_file.h"
#include "base/trace.h"

namespace tutti::tools {
namespace {

using nlohmann::json;

constexpr uint64_t kMostTraceBytes = 8192 * kMiB;
constexpr const char* kKindNames[kSliceKinds] = {"api",    "host",     "decision", "package",
                                                 "kernel", "transfer", "merge"};

std::optional<SliceKind> kind_of(const std::string& category) {
  for (size_t i = 0; i < kSliceKinds; ++i) {
    if (category == kKindNames[i]) return static_cast<SliceKind>(i);
  }
  return std::nullopt;
}

/// Nanoseconds of the format's microseconds, or of another unit.
uint64_t nanoseconds(const json& event, const char* key, double unit = 1e3) {
  const auto found = event.find(key);
  if (found == event.end() || !found->is_number()) return 0;
  const double value = found->get<double>() * unit;
  return value > 0 && value < 9e18 ? static_cast<uint64_t>(std::llround(value)) : 0;
}

// Whatever is not there or of another type counts as 0, false or empty: a trace may be of another
// version.
uint64_t number(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_unsigned()) return 0;
  return found->get<uint64_t>();
}
uint32_t small(const json& object, const char* key) {
  return static_cast<uint32_t>(std::min<uint64_t>(number(object, key), UINT32_MAX));
}
std::string text(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}
bool truth(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}
template <typename T>
std::vector<T> numbers(const json& object, const char* key) {
  std::vector<T> list;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return list;
  for (const json& value : *found) {
    if (value.is_number_unsigned()) list.push_back(value.get<T>());
  }
  return list;
}

class Reader {
 public:
  /// False: this is no event.
  bool take(const json& event);
  /// Puts everything in order. False: this is no trace of ours.
  bool finish(TraceFile& into);
  bool complete = false;

 private:
  uint32_t text_number(const std::string& text);
  uint32_t row(const json& event);
  void take_note(const json& event, const std::string& name, const json& args);
  void take_slice(const json& event, SliceKind kind, const json& args);
  void take_decision(uint64_t begin, const json& args);
  void take_flow(const json& event, bool begins);
  void take_counter(const json& event, const json& args);
  void take_memory(const json& event, const json& args);
  void take_command(const json& args);
  void take_launch(const json& event, bool begins, const json& args);
  TraceLaunch& launch_of(uint64_t command);
  void order_rows();
  void shift_times();

  TraceFile file_;
  bool ours_ = false;
  uint64_t first_ = UINT64_MAX, last_ = 0;
  std::unordered_map<std::string, uint32_t> text_numbers_{{"", 0}};
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> row_numbers_;
  std::map<uint32_t, std::string> process_names_;
  std::map<uint64_t, TraceSensor> sensors_;                                 // by number
  std::map<uint32_t, std::vector<std::pair<uint64_t, double>>> power_;      // by process
  std::map<uint32_t, TraceMemory> memories_;                                // by process
  std::map<uint32_t, uint32_t> device_of_;                                  // by process
  std::map<uint64_t, TraceCommand> commands_;                               // by number
  std::unordered_map<uint64_t, size_t> launches_;                           // by command
  std::unordered_map<uint64_t, std::pair<uint32_t, uint64_t>> open_flows_;  // by id
};

uint32_t Reader::text_number(const std::string& value) {
  const auto [entry, added] =
      text_numbers_.try_emplace(value, static_cast<uint32_t>(text_numbers_.size()));
  return entry->second;
}

uint32_t Reader::row(const json& event) {
  const std::pair key(small(event, "pid"), small(event, "tid"));
  const auto [entry, added] =
      row_numbers_.try_emplace(key, static_cast<uint32_t>(file_.rows.size()));
  if (added) file_.rows.push_back({key.first, key.second, {}, {}});
  return entry->second;
}

bool Reader::take(const json& event) {
  if (!event.is_object()) return false;
  const std::string phase = text(event, "ph");
  if (phase.size() != 1) return false;
  static const json kNone = json::object();
  const auto found = event.find("args");
  const json& args = found != event.end() && found->is_object() ? *found : kNone;
  switch (phase.front()) {
    case 'M':
      take_note(event, text(event, "name"), args);
      break;
    case 'X':
      if (text(event, "cat") == "memory") take_memory(event, args);
      if (const auto kind = kind_of(text(event, "cat"))) take_slice(event, *kind, args);
      break;
    case 's':
    case 'f':
      take_flow(event, phase == "s");
      break;
    case 'C':
      take_counter(event, args);
      break;
    case 'b':
    case 'e':
      if (text(event, "cat") == "launch") take_launch(event, phase == "b", args);
      break;
    default:
      break;  // some other event of the format
  }
  return true;
}

void Reader::take_note(const json& event, const std::string& name, const json& args) {
  if (name == "tutti_trace") {
    ours_ = true;
    file_.program = text(args, "program");
    file_.process = number(args, "process");
  } else if (name == "tutti_device") {
    file_.devices.push_back({small(args, "device"), text(args, "name"), text(args, "platform"),
                             truth(args, "shares_host_memory")});
    device_of_[small(args, "row")] = file_.devices.back().index;
  } else if (name == "tutti_energy_sensor") {
    TraceSensor& sensor = sensors_[number(args, "sensor")];
    sensor.name = text(args, "name");
    sensor.devices = numbers<uint32_t>(args, "devices");
    sensor.process = small(args, "row");
  } else if (name == "tutti_command") {
    take_command(args);
  } else if (name == "tutti_trace_lost") {
    file_.lost = number(args, "events");
  } else if (name == "tutti_energy_absent") {
    file_.energy_absent = text(args, "why");
  } else if (name == "process_name") {
    process_names_[small(event, "pid")] = text(args, "name");
  } else if (name == "thread_name") {
    file_.rows[row(event)].name = text(args, "name");
  }
}

void Reader::take_slice(const json& event, SliceKind kind, const json& args) {
  TraceSlice slice;
  slice.kind = kind;
  slice.row = row(event);
  slice.name = text_number(text(event, "name"));
  slice.begin = nanoseconds(event, "ts");
  slice.end = slice.begin + nanoseconds(event, "dur");
  slice.command = number(args, "command");
  slice.kernel = text_number(text(args, "kernel"));
  slice.argument = text_number(text(args, "argument"));
  slice.why = text_number(text(args, kind == SliceKind::kApi ? "error" : "why"));
  slice.device = small(args, "device");
  slice.first = number(args, "first");
  slice.count = number(args, "count");
  slice.bytes = number(args, "bytes");
  const std::string way = text(args, "direction");
  if (way == "to_host") slice.way = TransferWay::kToHost;
  if (way == "on_device") slice.way = TransferWay::kOnDevice;
  first_ = std::min(first_, slice.begin);
  last_ = std::max(last_, slice.end);
  if (kind == SliceKind::kDecision) take_decision(slice.begin, args);
  if (kind == SliceKind::kKernel) {  // a whole launch is this slice
    TraceLaunch& launch = launch_of(slice.command);
    launch.begin = slice.begin;
    launch.end = slice.end;
    launch.ended = true;
  }
  file_.slices.push_back(slice);
}

void Reader::take_command(const json& args) {
  const uint64_t named = number(args, "command");
  if (named == 0) return;
  TraceCommand& command = commands_[named];
  command.number = named;
  // The second note of a command only says what else it waited for.
  if (args.contains("what")) {
    command.queue = small(args, "queue");
    command.what = text_number(text(args, "what"));
    command.kernel = text_number(text(args, "kernel"));
    command.enqueued = number(args, "enqueued_ns");
    if (command.enqueued != 0) first_ = std::min(first_, command.enqueued);
  }
  constexpr std::pair<const char*, WaitKind> kWaits[] = {
      {"named", WaitKind::kNamed}, {"order", WaitKind::kOrder}, {"data", WaitKind::kData}};
  for (const auto& [key, kind] : kWaits) {
    for (const uint64_t on : numbers<uint64_t>(args, key)) {
      const bool known = std::any_of(command.waits.begin(), command.waits.end(),
                                     [&](const TraceWait& wait) { return wait.on == on; });
      // Nothing waits for a later one, whatever a damaged trace says.
      if (!known && on != 0 && on < named) command.waits.push_back({on, kind});
    }
  }
}

TraceLaunch& Reader::launch_of(uint64_t command) {
  const auto [entry, added] = launches_.try_emplace(command, file_.launches.size());
  if (added) file_.launches.emplace_back().command = command;
  return file_.launches[entry->second];
}

void Reader::take_decision(uint64_t begin, const json& args) {
  TraceLaunch& launch = launch_of(number(args, "command"));
  launch.kernel = text_number(text(args, "kernel"));
  launch.split = truth(args, "split");
  launch.mode = text(args, "mode");
  launch.reason = text(args, "reason");
  launch.line = small(args, "line");
  launch.dimension = small(args, "dimension");
  launch.slices = number(args, "slices");
  launch.items = number(args, "items");
  launch.expected_whole = nanoseconds(args, "expected_whole_seconds", 1e9);
  launch.expected_split = nanoseconds(args, "expected_split_seconds", 1e9);
  launch.global = numbers<uint64_t>(args, "global");
  launch.local = numbers<uint64_t>(args, "local");
  launch.candidates = numbers<uint32_t>(args, "candidates");
  if (!launch.ended) launch.begin = launch.end = begin;
}

void Reader::take_launch(const json& event, bool begins, const json& args) {
  TraceLaunch& launch = launch_of(number(event, "id"));
  const uint64_t time = nanoseconds(event, "ts");
  if (begins) {
    launch.begin = launch.end = time;
    launch.failed = truth(args, "failed");
  } else {
    launch.end = std::max(launch.begin, time);
    launch.ended = true;
  }
  first_ = std::min(first_, time);
  last_ = std::max(last_, time);
}

void Reader::take_flow(const json& event, bool begins) {
  const uint64_t id = number(event, "id");
  const uint32_t where = row(event);
  const uint64_t time = nanoseconds(event, "ts");
  if (begins) {
    open_flows_[id] = {where, time};
    return;
  }
  const auto open = open_flows_.find(id);
  if (open == open_flows_.end()) return;
  file_.arrows.push_back({open->second.first, where, open->second.second, time});
  open_flows_.erase(open);
}

void Reader::take_counter(const json& event, const json& args) {
  const std::string name = text(event, "name");
  const bool memory = name == "memory";
  const auto value = args.find(memory ? "bytes" : "W");
  if ((name != "power" && !memory) || value == args.end() || !value->is_number()) return;
  const uint64_t time = nanoseconds(event, "ts");
  const auto number = value->get<double>();
  if (!memory) {
    power_[small(event, "pid")].emplace_back(time, number);
  } else if (number >= 0 && number < 9e18) {
    memories_[small(event, "pid")].bytes.emplace_back(time, static_cast<uint64_t>(number));
  }
  first_ = std::min(first_, time);
  last_ = std::max(last_, time);
}

void Reader::take_memory(const json& event, const json& args) {
  const std::string name = text(event, "name");
  if (name != "eviction" && name != "shard") return;
  const uint64_t begin = nanoseconds(event, "ts"), end = begin + nanoseconds(event, "dur");
  memories_[small(event, "pid")].events.push_back(
      {name == "eviction", begin, end, number(args, "bytes")});
  first_ = std::min(first_, begin);
  last_ = std::max(last_, end);
}

void Reader::order_rows() {
  std::vector<uint32_t> order(file_.rows.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [this](uint32_t a, uint32_t b) {
    const TraceRow &first = file_.rows[a], &second = file_.rows[b];
    return std::tie(first.process, first.thread) < std::tie(second.process, second.thread);
  });
  std::vector<uint32_t> place(order.size());
  std::vector<TraceRow> rows;
  for (uint32_t i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
    rows.push_back(std::move(file_.rows[order[i]]));
    rows.back().group = process_names_[rows.back().process];
  }
  file_.rows = std::move(rows);
  for (TraceSlice& slice : file_.slices) slice.row = place[slice.row];
  for (TraceArrow& arrow : file_.arrows) {
    arrow.from_row = place[arrow.from_row];
    arrow.to_row = place[arrow.to_row];
  }
  std::sort(file_.slices.begin(), file_.slices.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.row, a.begin, b.end) < std::tuple(b.row, b.begin, a.end);
  });
}

void Reader::shift_times() {
  if (first_ == UINT64_MAX) return;
  file_.begin = first_;
  file_.duration = last_ - first_;
  const auto shift = [this](uint64_t& time) { time = std::max(time, first_) - first_; };
  for (TraceSlice& slice : file_.slices) shift(slice.begin), shift(slice.end);
  for (TraceLaunch& launch : file_.launches) shift(launch.begin), shift(launch.end);
  for (TraceArrow& arrow : file_.arrows) shift(arrow.from), shift(arrow.to);
  for (auto& [number, command] : commands_) {
    shift(command.enqueued);
    file_.commands.push_back(std::move(command));
  }
  for (auto& [number, sensor] : sensors_) {
    sensor.power = std::move(power_[sensor.process]);
    std::stable_sort(sensor.power.begin(), sensor.power.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [time, watts] : sensor.power) shift(time);
    file_.sensors.push_back(std::move(sensor));
  }
  for (auto& [process, memory] : memories_) {
    const auto device = device_of_.find(process);
    if (device == device_of_.end()) continue;
    memory.device = device->second;
    std::stable_sort(memory.bytes.begin(), memory.bytes.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::stable_sort(memory.events.begin(), memory.events.end(),
                     [](const auto& a, const auto& b) { return a.begin < b.begin; });
    for (auto& [time, bytes] : memory.bytes) shift(time);
    for (TraceMemoryEvent& done : memory.events) shift(done.begin), shift(done.end);
    file_.memories.push_back(std::move(memory));
  }
}

bool Reader::finish(TraceFile& into) {
  if (!ours_) return false;
  order_rows();
  shift_times();
  // A package whose decision the trace does not hold belongs to nothing that could be said.
  std::erase_if(file_.launches, [](const TraceLaunch& launch) { return launch.mode.empty(); });
  std::sort(file_.devices.begin(), file_.devices.end(),
            [](const auto& a, const auto& b) { return a.index < b.index; });
  file_.texts.resize(text_numbers_.size());
  for (const auto& [value, at] : text_numbers_) file_.texts[at] = value;
  file_.complete = complete;
  into = std::move(file_);
  return true;
}

/// Takes the first line away from the text, with its end.
std::string_view next_line(std::string_view& rest) {
  const size_t end = std::min(rest.find('\n'), rest.size());
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return line;
}

/// As the driver writes it, an event per line. An error's text is what is wrong, without the name.
Status read_lines(std::string_view rest, Reader& reader) {
  next_line(rest);
  size_t at = 1;
  std::string damaged;  // the line before, if it was; it may be the last one, and cut
  while (!rest.empty()) {
    std::string_view line = next_line(rest);
    ++at;
    if (!damaged.empty()) return fail(CL_INVALID_VALUE, damaged);
    if (reader.complete && !line.empty()) {
      return fail(CL_INVALID_VALUE, fmt::format("line {} comes after the end of the trace", at));
    }
    if (line == "]") {
      reader.complete = true;
      continue;
    }
    if (line.ends_with(',')) line.remove_suffix(1);
    if (line.empty()) continue;
    const json event = json::parse(line, nullptr, false);
    if (event.is_discarded() || !reader.take(event)) {
      damaged = fmt::format("line {} is damaged: {}", at, printable(line.substr(0, 60)));
    }
  }
  return {};
}

/// As some other program has stored it.
Status read_whole(std::string_view text, Reader& reader) {
  json content = json::parse(text, nullptr, false);
  if (content.is_discarded()) return fail(CL_INVALID_VALUE, "it is not JSON");
  const json& events =
      content.is_object() && content.contains("traceEvents") ? content["traceEvents"] : content;
  if (!events.is_array()) return fail(CL_INVALID_VALUE, "it is JSON, but no trace");
  for (const json& event : events) {
    if (!reader.take(event)) return fail(CL_INVALID_VALUE, "it is JSON, but no trace");
  }
  reader.complete = true;
  return {};
}

}  // namespace

const char* slice_kind_name(SliceKind kind) { return kKindNames[static_cast<size_t>(kind)]; }

Result<std::string> trace_text(const std::string& path) {
  auto text = read_file(path, {.most_bytes = kMostTraceBytes, .kind = FileKind::kStream});
  if (!text) return fail(CL_INVALID_VALUE, fmt::format("{}: {}", path, text.error().message));
  return text;
}

Result<TraceFile> parse_trace(std::string_view text, const std::string& path) {
  const auto broken = [&path](const std::string& why) {
    return fail(CL_INVALID_VALUE, fmt::format("{}: {}", path, why));
  };
  if (text.empty()) {
    return broken("it is empty: the application ended before anything was traced");
  }
  std::string_view rest = text;
  const std::string_view first = next_line(rest);
  const bool lines = first == "[" || first == "[]";
  Reader reader;
  const Status read = lines ? read_lines(text, reader) : read_whole(text, reader);
  if (!read) return broken(read.error().message);
  TraceFile file;
  if (!reader.finish(file)) {
    return broken("there is nothing of Tutti's in it; TUTTI_TRACE or tutti run --trace writes one");
  }
  return file;
}

Result<TraceFile> read_trace(const std::string& path) {
  TUTTI_ASSIGN(const std::string text, trace_text(path));
  return parse_trace(text, path);
}

}  // namespace tutti::tools
