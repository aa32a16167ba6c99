// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/trace.h"
#include "tools/report_output.h"
#include "tools/report_page_parts.h"
#include "tools/terminal.h"

namespace tutti::tools {
namespace {

using Json = nlohmann::ordered_json;

// More slices than this make a browser slow; the shortest ones would not be seen anyway.
constexpr size_t kMostSlices = 300'000;
constexpr size_t kMostCommands = 100'000;

Json moved_json(const std::vector<MovedNumbers>& moved) {
  Json list = Json::array();
  for (const MovedNumbers& entry : moved) {
    list.push_back({{"way", static_cast<int>(entry.way)},
                    {"device", entry.device},
                    {"why", entry.why},
                    {"argument", entry.argument},
                    {"bytes", entry.bytes},
                    {"transfers", entry.transfers},
                    {"ns", entry.ns}});
  }
  return list;
}

/// Null: nothing is known of it.
Json memory_json(const std::optional<MemoryNumbers>& memory) {
  if (!memory) return nullptr;
  Json points = Json::array();  // time, bytes, time, bytes …
  for (const auto& [time, bytes] : memory->bytes) {
    points.push_back(time);
    points.push_back(bytes);
  }
  return {{"peak", memory->peak},
          {"evictions", memory->evictions},
          {"evicted_bytes", memory->evicted_bytes},
          {"shard_changes", memory->shard_changes},
          {"shard_bytes", memory->shard_bytes},
          {"bytes", std::move(points)},
          {"eviction_times", memory->eviction_times}};
}

Json device_json(const DeviceNumbers& entry) {
  return {{"index", entry.device.index},
          {"name", entry.device.name},
          {"platform", entry.device.platform},
          {"shares_host_memory", entry.device.shares_host_memory},
          {"busy_ns", entry.busy_ns},
          {"share", entry.share},
          {"utilisation", entry.utilisation},
          {"packages", entry.packages},
          {"whole_launches", entry.whole_launches},
          {"bytes_to_device", entry.bytes_to_device},
          {"bytes_to_host", entry.bytes_to_host},
          {"joules", entry.joules},
          {"memory", memory_json(entry.memory)}};
}

Json kernel_json(const KernelNumbers& kernel) {
  Json verdicts = Json::array(), devices = Json::array(), all = Json::array();
  for (const VerdictNumbers& verdict : kernel.verdicts) {
    verdicts.push_back({{"mode", verdict.mode},
                        {"reason", verdict.reason},
                        {"line", verdict.line},
                        {"launches", verdict.launches}});
  }
  for (const KernelDeviceNumbers& entry : kernel.devices) {
    devices.push_back({{"device", entry.device},
                       {"packages", entry.packages},
                       {"whole_launches", entry.whole_launches},
                       {"items", entry.items},
                       {"busy_ns", entry.busy_ns},
                       {"share", entry.share},
                       {"speed", entry.speed},
                       {"smallest", entry.smallest},
                       {"largest", entry.largest},
                       {"joules", entry.joules}});
  }
  for (const LaunchNumbers& launch : kernel.all) {
    all.push_back({{"command", launch.command},
                   {"verdict", launch.verdict},
                   {"split", launch.split},
                   {"failed", launch.failed},
                   {"ended", launch.ended},
                   {"begin", launch.begin},
                   {"end", launch.end},
                   {"items", launch.items},
                   {"slices", launch.slices},
                   {"dimension", launch.dimension},
                   {"packages", launch.packages},
                   {"expected_whole_ns", launch.expected_whole_ns},
                   {"expected_split_ns", launch.expected_split_ns},
                   {"efficiency", launch.efficiency}});
  }
  return {{"name", kernel.name},
          {"launches", kernel.launches},
          {"split", kernel.split},
          {"failed", kernel.failed},
          {"unfinished", kernel.unfinished},
          {"total_ns", kernel.total_ns},
          {"median_ns", kernel.median_ns},
          {"verdicts", std::move(verdicts)},
          {"devices", std::move(devices)},
          {"all", std::move(all)},
          {"moved", moved_json(kernel.moved)},
          {"merges", kernel.merges},
          {"merge_ns", kernel.merge_ns},
          {"measured_launches", kernel.measured_launches},
          {"split_ns", kernel.split_ns},
          {"ideal_ns", kernel.ideal_ns},
          {"best_ns", kernel.best_ns},
          {"best_device", kernel.best_device},
          {"efficiency", kernel.efficiency},
          {"median_efficiency", kernel.median_efficiency},
          {"share", kernel.share},
          {"run_share", kernel.run_share},
          {"gain", kernel.gain},
          {"compared_ns", kernel.compared_ns},
          {"alone_ns", kernel.alone_ns},
          {"moved_bytes", kernel.moved_bytes},
          {"joules", kernel.joules},
          {"energy_delay", kernel.energy_delay}};
}

Json energy_json(const ReportNumbers& numbers) {
  Json sensors = Json::array();
  for (const SensorNumbers& sensor : numbers.sensors) {
    Json power = Json::array();  // time, watts, time, watts …
    for (const auto& [time, watts] : sensor.power) {
      power.push_back(time);
      power.push_back(watts);
    }
    sensors.push_back({{"name", sensor.name},
                       {"devices", sensor.devices},
                       {"joules", sensor.joules},
                       {"busy_joules", sensor.busy_joules},
                       {"watts", sensor.watts},
                       {"power", std::move(power)}});
  }
  return {{"joules", numbers.joules},
          {"seconds", numbers.energy_seconds},
          {"energy_delay", numbers.energy_delay},
          {"absent", numbers.energy_absent},
          {"sensors", std::move(sensors)}};
}

/// Slices at least as long as this are shown.
uint64_t shortest_shown(const TraceFile& trace) {
  if (trace.slices.size() <= kMostSlices) return 0;
  std::vector<uint64_t> lengths;
  for (const TraceSlice& slice : trace.slices) lengths.push_back(slice.end - slice.begin);
  const auto place = lengths.end() - static_cast<std::ptrdiff_t>(kMostSlices);
  std::nth_element(lengths.begin(), place, lengths.end());
  return *place + 1;
}

/// Rows with their slices as plain numbers, eleven each (page.js names them).
Json rows_json(const TraceFile& trace, uint64_t& omitted) {
  const uint64_t least = shortest_shown(trace);
  std::vector<Json> slices(trace.rows.size(), Json::array());
  for (const TraceSlice& slice : trace.slices) {
    if (slice.end - slice.begin < least) {
      ++omitted;
      continue;
    }
    const bool package = slice.kind == SliceKind::kPackage;
    Json& list = slices[slice.row];
    for (const uint64_t value :
         {slice.begin, slice.end - slice.begin,
          uint64_t{static_cast<uint8_t>(slice.kind)} * 4 + static_cast<uint8_t>(slice.way),
          uint64_t{slice.name}, slice.command, package ? slice.first : slice.bytes, slice.count,
          uint64_t{slice.why}, uint64_t{slice.argument}, uint64_t{slice.device},
          uint64_t{slice.kernel}}) {
      list.push_back(value);
    }
  }
  Json rows = Json::array();
  for (size_t i = 0; i < trace.rows.size(); ++i) {
    const TraceRow& row = trace.rows[i];
    const bool device = row.process >= trace::kDevices;
    rows.push_back({{"number", i},
                    {"group", row.group},
                    {"name", row.name},
                    {"device", device ? Json(row.process - trace::kDevices) : Json(nullptr)},
                    {"slices", std::move(slices[i])}});
  }
  return rows;
}

/// The texts of the page: the trace's, and after them what else is said of commands.
class Texts {
 public:
  explicit Texts(const TraceFile& trace) : list_(trace.texts) {
    for (uint32_t i = 0; i < list_.size(); ++i) numbers_.emplace(list_[i], i);
  }
  uint32_t number(const std::string& text) {
    const auto [entry, added] = numbers_.try_emplace(text, static_cast<uint32_t>(list_.size()));
    if (added) list_.push_back(text);
    return entry->second;
  }
  const std::vector<std::string>& list() const { return list_; }

 private:
  std::vector<std::string> list_;
  std::unordered_map<std::string, uint32_t> numbers_;
};

/// Eight numbers a command, and three for each that it waited for (graph.js names them).
void put_commands(Json& page, const ReportNumbers& numbers, Texts& texts) {
  Json commands = Json::array(), waits = Json::array();
  const size_t shown = std::min(numbers.commands.size(), kMostCommands);
  for (size_t i = 0; i < shown; ++i) {
    const CommandNumbers& command = numbers.commands[i];
    for (const uint64_t value :
         {command.number, uint64_t{command.queue}, uint64_t{texts.number(command.what)},
          uint64_t{texts.number(command.kernel)}, command.enqueued, command.begin, command.end,
          uint64_t{command.critical ? 1u : 0u}}) {
      commands.push_back(value);
    }
    for (const TraceWait& wait : command.waits) {
      waits.push_back(command.number);
      waits.push_back(wait.on);
      waits.push_back(static_cast<int>(wait.kind));
    }
  }
  page["commands"] = std::move(commands);
  page["waits"] = std::move(waits);
  page["omitted_commands"] = numbers.commands.size() - shown;
}

Json page_data(const TraceFile& trace, const ReportNumbers& numbers, const std::string& source) {
  Json devices = Json::array(), kernels = Json::array(), asked = Json::array();
  for (const DeviceNumbers& entry : numbers.devices) devices.push_back(device_json(entry));
  for (const KernelNumbers& kernel : numbers.kernels) kernels.push_back(kernel_json(kernel));
  for (const AskedNumbers& entry : numbers.asked) {
    asked.push_back({{"what", entry.what},
                     {"commands", entry.commands},
                     {"bytes", entry.bytes},
                     {"ns", entry.ns}});
  }
  Json arrows = Json::array();
  for (const TraceArrow& arrow : trace.arrows) {
    arrows.push_back(arrow.from_row);
    arrows.push_back(arrow.from);
    arrows.push_back(arrow.to_row);
    arrows.push_back(arrow.to);
  }
  uint64_t omitted = 0;
  Json rows = rows_json(trace, omitted);
  Texts texts(trace);
  Json page = {{"program", trace.program},
               {"process", trace.process},
               {"source", source},
               {"complete", trace.complete},
               {"duration", trace.duration},
               {"launches", numbers.launches},
               {"split", numbers.split},
               {"bytes_to_device", numbers.bytes_to_device},
               {"bytes_to_host", numbers.bytes_to_host},
               {"calls", numbers.calls},
               {"call_ns", numbers.call_ns},
               {"devices", std::move(devices)},
               {"kernels", std::move(kernels)},
               {"asked", std::move(asked)},
               {"moved", moved_json(numbers.moved)},
               {"energy", energy_json(numbers)},
               {"lost", numbers.lost},
               {"rows", std::move(rows)},
               {"arrows", std::move(arrows)},
               {"omitted", omitted}};
  put_commands(page, numbers, texts);
  page["texts"] = texts.list();
  return page;
}

}  // namespace

std::string report_json(const TraceFile& trace, const ReportNumbers& numbers) {
  Json kernels = Json::array(), devices = Json::array(), commands = Json::array();
  for (const DeviceNumbers& entry : numbers.devices) devices.push_back(device_json(entry));
  for (const KernelNumbers& kernel : numbers.kernels) kernels.push_back(kernel_json(kernel));
  constexpr const char* kKinds[kWaitKinds] = {"event", "order", "data"};
  for (const CommandNumbers& command : numbers.commands) {
    Json waits = Json::array();
    for (const TraceWait& wait : command.waits) {
      waits.push_back({{"command", wait.on}, {"why", kKinds[static_cast<size_t>(wait.kind)]}});
    }
    commands.push_back({{"command", command.number},
                        {"queue", command.queue},
                        {"what", command.what},
                        {"kernel", command.kernel},
                        {"enqueued_ns", command.enqueued},
                        {"begin_ns", command.begin},
                        {"end_ns", command.end},
                        {"waited_for", std::move(waits)},
                        {"critical", command.critical}});
  }
  const Json report{{"program", trace.program},
                    {"process", trace.process},
                    {"complete", trace.complete},
                    {"lost", numbers.lost},
                    {"duration_ns", trace.duration},
                    {"launches", numbers.launches},
                    {"split", numbers.split},
                    {"bytes_to_device", numbers.bytes_to_device},
                    {"bytes_to_host", numbers.bytes_to_host},
                    {"devices", std::move(devices)},
                    {"kernels", std::move(kernels)},
                    {"commands", std::move(commands)},
                    {"moved", moved_json(numbers.moved)},
                    {"energy", energy_json(numbers)}};
  return json_text(report);
}

std::string report_page(const TraceFile& trace, const ReportNumbers& numbers,
                        const std::string& source) {
  return page_of(PageKind::kReport,
                 page_data(trace, numbers, source)
                     .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace tutti::tools
