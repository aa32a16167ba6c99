// SPDX-License-Identifier: Apache-2.0
// `tutti top`: samples, once a second, what processes publish; on a terminal that is redrawn until
// `q` is pressed.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "backends/api/backend.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/live_counters.h"
#include "scheduler/observe/energy_monitor.h"
#include "tools/commands.h"
#include "tools/report_output.h"
#include "tools/terminal.h"
#include "tools/terminal_screen.h"
#include "tools/top_rates.h"

namespace tutti::tools {
namespace {

struct TopOptions {
  bool once = false;    // prints what one interval tells, and ends
  bool json = false;    // the same as JSON
  double interval = 1;  // seconds
};

/// Watts of the sensors that serve the devices that processes use. They are of the whole machine,
/// not of one process.
class Power {
 public:
  explicit Power(EnergySources sources) : sources_(std::move(sources)) {}

  struct Reading {
    std::string sensor;
    std::vector<uint32_t> devices;  // by index
    double watts = 0;
  };

  /// Since the last call; the first one for a sensor tells nothing.
  std::vector<Reading> read(const LiveSample& sample) {
    find(sample);
    std::vector<Reading> readings;
    for (size_t i = 0; i < found_.sensors.size(); ++i) {
      const uint64_t now = now_ns();
      const auto joules = found_.sensors[i]->joules();
      State& state = states_[i];
      if (joules && state.joules && now > state.at_ns) {
        readings.push_back({printable(found_.infos[i].name), devices_of(i),
                            (*joules - *state.joules) / seconds_between(state.at_ns, now)});
      }
      state = {now, joules};
    }
    return readings;
  }

 private:
  struct State {
    uint64_t at_ns = 0;
    std::optional<double> joules;
  };

  void find(const LiveSample& sample) {
    bool more = false;
    for (const LiveProcess& process : sample.processes) {
      for (const LiveDevice& device : process.devices) {
        if (traits_.contains(device.index)) continue;
        backends::DeviceTraits traits;
        traits.index = device.index;
        traits.type = device.type;
        traits.vendor = device.vendor;
        traits.pci_address = device.pci_address;
        traits_[device.index] = traits;
        more = true;
      }
    }
    if (!more) return;
    std::vector<const backends::DeviceTraits*> list;
    for (const auto& [index, traits] : traits_) list.push_back(&traits);
    found_ = scheduler::assign_sensors(list, sources_);
    states_.assign(found_.sensors.size(), {});
  }

  std::vector<uint32_t> devices_of(size_t sensor) const {
    std::vector<uint32_t> indices;
    for (const uint32_t place : found_.infos[sensor].devices) {
      indices.push_back(std::next(traits_.begin(), place)->first);
    }
    return indices;
  }

  const EnergySources sources_;
  std::map<uint32_t, backends::DeviceTraits> traits_;  // by index
  scheduler::SensorAssignment found_;
  std::vector<State> states_;  // of the sensors
};

using Readings = std::vector<Power::Reading>;

std::optional<double> watts_of(const Readings& readings, uint32_t device) {
  for (const Power::Reading& reading : readings) {
    if (std::count(reading.devices.begin(), reading.devices.end(), device) > 0) {
      return reading.watts;
    }
  }
  return std::nullopt;
}

std::string json_text(const std::vector<TopProcess>& processes, const Readings& readings,
                      double seconds) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const TopProcess& top : processes) {
    nlohmann::ordered_json devices = nlohmann::ordered_json::array();
    for (const TopDevice& entry : top.devices) {
      nlohmann::ordered_json kernels = nlohmann::ordered_json::array();
      for (const auto& [name, launches] : entry.kernels) {
        kernels.push_back({{"name", name}, {"launches_per_second", launches}});
      }
      const auto watts = watts_of(readings, entry.device.index);
      devices.push_back(
          {{"device", entry.device.index},
           {"name", entry.device.name},
           {"platform", entry.device.platform},
           {"lost", entry.device.lost},
           {"busy", entry.busy},
           {"commands_per_second", entry.commands},
           {"bytes_to_device_per_second", entry.bytes_to_device},
           {"bytes_to_host_per_second", entry.bytes_to_host},
           {"watts", watts ? nlohmann::ordered_json(*watts) : nlohmann::ordered_json(nullptr)},
           {"kernels", std::move(kernels)}});
    }
    list.push_back({{"process", top.process.process},
                    {"program", top.process.program},
                    {"waiting", top.waiting},
                    {"wait_seconds", top.wait_seconds},
                    {"devices", std::move(devices)}});
  }
  nlohmann::ordered_json sensors = nlohmann::ordered_json::array();
  for (const Power::Reading& reading : readings) {
    sensors.push_back(
        {{"name", reading.sensor}, {"devices", reading.devices}, {"watts", reading.watts}});
  }
  const nlohmann::ordered_json output{
      {"seconds", seconds}, {"processes", std::move(list)}, {"sensors", std::move(sensors)}};
  return tools::json_text(output);
}

std::string kernels_text(const TopDevice& entry) {
  std::string text = entry.device.lost ? "takes no part: it fails" : "";
  for (const auto& [name, launches] : entry.kernels) {
    if (!text.empty()) text += ", ";
    text += launches > 0 ? fmt::format("{} {}/s", name, cut(rate_text(launches), 12)) : name;
  }
  return text;
}

/// The lines of one picture; `columns` 0: as long as they are.
std::vector<std::string> lines_of(const std::vector<TopProcess>& processes,
                                  const Readings& readings, size_t columns) {
  std::vector<std::string> lines;
  const auto put = [&](const std::string& line) {
    lines.push_back(columns == 0 ? line : cut(line, columns));
  };
  put(fmt::format("{:>8}  {:<18} {:>7} {:>9} {:>10} {:>10} {:>8}  {}", "PROCESS", "DEVICE", "BUSY",
                  "COMMANDS", "TO DEVICE", "TO HOST", "WATTS", "KERNELS"));
  for (const TopProcess& top : processes) {
    put(fmt::format("{:>8}  {}: {} wait{}, {} each", top.process.process, top.process.program,
                    cut(fmt::format("{:.3g}", top.waiting), 8), top.waiting == 1 ? "s" : "",
                    time_text(static_cast<uint64_t>(top.wait_seconds * 1e9))));
    for (const TopDevice& entry : top.devices) {
      const auto watts = watts_of(readings, entry.device.index);
      put(fmt::format("{:>8}  {} {:>5.1f} % {:>9} {:>10} {:>10} {:>8}  {}", "",
                      fitted(fmt::format("{} {}", entry.device.index, entry.device.name), 18),
                      100 * entry.busy, rate_text(entry.commands) + "/s",
                      bytes_text(static_cast<uint64_t>(entry.bytes_to_device)) + "/s",
                      bytes_text(static_cast<uint64_t>(entry.bytes_to_host)) + "/s",
                      watts ? fmt::format("{:.1f}", *watts) : "-", kernels_text(entry)));
    }
  }
  if (processes.empty()) put("No process of yours uses Tutti now.");
  for (const Power::Reading& reading : readings) {
    put(fmt::format("{}: {:.1f} W, of the whole machine", reading.sensor, reading.watts));
  }
  return lines;
}

class Sampler {
 public:
  explicit Sampler(const Config& config)
      : folder_(live::folder(cache_folder(config))), power_(energy_sources(config.sensors.value)) {
    take();
  }
  void take() {
    before_ = std::move(now_);
    now_ = live::read_processes(folder_);
    readings_ = power_.read(now_);
  }
  double seconds() const { return seconds_between(before_.at_ns, now_.at_ns); }
  std::vector<TopProcess> processes() const { return compare(before_, now_); }
  const Readings& readings() const { return readings_; }

 private:
  const std::string folder_;
  Power power_;
  LiveSample before_, now_;
  Readings readings_;
};

int flushed() { return std::fflush(stdout) == 0 ? 0 : kFailed; }

/// Again and again until `q` is pressed; where there is no terminal, once.
int top(const TopOptions& options) {
  const Config& config = process_config();
  Sampler sampler(config);
  const int milliseconds = static_cast<int>(std::lround(options.interval * 1000));
  if (options.json || options.once || isatty(STDOUT_FILENO) == 0 || isatty(STDIN_FILENO) == 0) {
    poll(nullptr, 0, milliseconds);  // what is counted within that time
    sampler.take();
    if (options.json) {
      fmt::print("{}", json_text(sampler.processes(), sampler.readings(), sampler.seconds()));
      return flushed();
    }
    std::string text;
    for (const std::string& line : lines_of(sampler.processes(), sampler.readings(), 0)) {
      text += line + "\n";
    }
    put(text);
    return flushed();
  }
  TerminalScreen screen;
  if (!screen.begin()) {
    complain("top", "the terminal cannot be set up; try tutti top --once");
    return kFailed;
  }
  std::vector<std::string> head{"Waiting for the first second …"};
  screen.draw(head);
  for (;;) {
    const auto event = screen.wait(milliseconds);
    if (event == TerminalScreen::Event::kEnd) break;
    if (event == TerminalScreen::Event::kTime) sampler.take();
    std::vector<std::string> lines =
        lines_of(sampler.processes(), sampler.readings(), screen.columns());
    lines.insert(lines.begin(),
                 cut(fmt::format("tutti top: the last {:.2g} s; q ends", sampler.seconds()),
                     screen.columns()));
    screen.draw(lines);
  }
  return screen.end();
}

CommandLine add_top(CLI::App& command) {
  const auto options = std::make_shared<TopOptions>();
  command.footer(
      "Busy: the share of the time with something of the process in the device's queues. Watts "
      "are\n"
      "of the whole device or package. Processes of this user that run with TUTTI_TOP=on (the\n"
      "default) are seen.");
  command.add_flag("--once", options->once, "Print one interval's numbers and end");
  command.add_flag("--json", options->json, "The same as JSON");
  command.add_option("--interval", options->interval, "Seconds between two pictures")
      ->check(CLI::Range(0.05, 3600.0));
  return {[options] { return top(*options); }};
}

}  // namespace

const Command kTopCommand{"top", "Show what running processes do with their devices, live",
                          add_top};

}  // namespace tutti::tools
