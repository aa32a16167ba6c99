// SPDX-License-Identifier: Apache-2.0
#include "tools/simulation_plan.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include "base/safe_file.h"

namespace tutti::tools {
namespace {

using scheduler::sim::Device;
using scheduler::sim::LoadShape;
using scheduler::sim::Scenario;

const std::map<std::string_view, LoadShape> kLoads = {
    {"regular", LoadShape::kRegular}, {"middle", LoadShape::kMiddle}, {"ramp", LoadShape::kRamp}};

// A device where nothing else is said: ten thousand slices per second, 30 µs per package.
constexpr double kRate = 10'000;
constexpr double kStartup = 30e-6;

Result<LoadShape> load_named(const std::string& name) {
  const auto found = kLoads.find(name);
  if (found == kLoads.end()) {
    return fail(CL_INVALID_VALUE, fmt::format("load '{}': there are regular, middle, ramp", name));
  }
  return found->second;
}

const std::map<std::string_view, Objective> kObjectives = {
    {"time", Objective::kTime}, {"energy", Objective::kEnergy}, {"edp", Objective::kEnergyDelay}};

Result<Objective> objective_named(const std::string& name) {
  const auto found = kObjectives.find(name);
  if (found == kObjectives.end()) {
    return fail(CL_INVALID_VALUE, fmt::format("objective '{}': there are time, energy, edp", name));
  }
  return found->second;
}

/// The whole text as a number.
template <typename T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> items;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    items.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return items;
}

/// The keys of a TOML table, each taken once; what nobody took is an error.
class Keys {
 public:
  Keys(const toml::table& table, std::string where) : table_(table), where_(std::move(where)) {}

  /// Leaves `value` alone when the key is not there.
  Status take(const char* key, double& value, double least) {
    accepted_.emplace_back(key);
    const toml::node* const node = table_.get(key);
    if (node == nullptr) return {};
    const std::optional<double> found = node->value<double>();
    if (!found || !std::isfinite(*found) || *found < least) {
      return wrong(key, fmt::format("a number of at least {}", least));
    }
    value = *found;
    return {};
  }
  Status take(const char* key, uint64_t& value, uint64_t least) {
    accepted_.emplace_back(key);
    const toml::node* const node = table_.get(key);
    if (node == nullptr) return {};
    const std::optional<int64_t> found = node->value_exact<int64_t>();
    if (!found || *found < static_cast<int64_t>(least)) {
      return wrong(key, fmt::format("a whole number of at least {}", least));
    }
    value = static_cast<uint64_t>(*found);
    return {};
  }
  Status take(const char* key, bool& value) {
    accepted_.emplace_back(key);
    const toml::node* const node = table_.get(key);
    if (node == nullptr) return {};
    const std::optional<bool> found = node->value<bool>();
    if (!found) return wrong(key, "true or false");
    value = *found;
    return {};
  }
  Status take(const char* key, std::string& value) {
    accepted_.emplace_back(key);
    const toml::node* const node = table_.get(key);
    if (node == nullptr) return {};
    const std::optional<std::string> found = node->value<std::string>();
    if (!found) return wrong(key, "a text");
    value = *found;
    return {};
  }
  void accept(const char* key) { accepted_.emplace_back(key); }

  Status end() const {
    for (const auto& [key, value] : table_) {
      if (std::find(accepted_.begin(), accepted_.end(), key.str()) == accepted_.end()) {
        return fail(CL_INVALID_VALUE, fmt::format("{}: unknown key '{}'; there are {}", where_,
                                                  key.str(), fmt::join(accepted_, ", ")));
      }
    }
    return {};
  }

 private:
  Status wrong(const char* key, const std::string& wanted) const {
    return fail(CL_INVALID_VALUE, fmt::format("{}: '{}' must be {}", where_, key, wanted));
  }

  const toml::table& table_;
  std::string where_;
  std::vector<std::string> accepted_;
};

/// The scenario and its devices before the options are applied.
struct Draft {
  Scenario scenario;
  Device device;                // where only numbers of devices are given
  std::string devices = "2,8";  // those numbers
  uint64_t hosts = 1;           // which those are spread over
  std::string load = "regular";
  std::string objective = "time";
  std::string balancers = "static,dynamic,hguided,autotune,adaptive,sigmoid";
};

Status take_device(Keys& keys, Device& device) {
  uint64_t in_flight = device.in_flight;
  TUTTI_TRY(keys.take("rate", device.rate, 1e-9));
  TUTTI_TRY(keys.take("startup", device.startup, 0));
  TUTTI_TRY(keys.take("floor", device.floor, 0));
  TUTTI_TRY(keys.take("transfer", device.transfer, 0));
  TUTTI_TRY(keys.take("min_package", device.known.min_package, 1));
  TUTTI_TRY(keys.take("in_flight", in_flight, 1));
  TUTTI_TRY(keys.take("gpu", device.known.gpu));
  TUTTI_TRY(keys.take("busy_watts", device.busy_watts, 0));
  TUTTI_TRY(keys.take("idle_watts", device.idle_watts, 0));
  device.in_flight = in_flight;
  device.known.nominal_speed = device.rate;
  return {};
}

Status take_table(const toml::table& table, const Device& usual, Scenario& scenario) {
  Keys keys(table, "[[device]]");
  Device device = usual;
  uint64_t count = 1;
  uint64_t host = 0;
  TUTTI_TRY(keys.take("count", count, 1));
  TUTTI_TRY(keys.take("host", host, 0));
  TUTTI_TRY(take_device(keys, device));
  TUTTI_TRY(keys.take("known_rate", device.known.nominal_speed, 1e-9));
  TUTTI_TRY(keys.take("change_at", device.change_at, 0));
  TUTTI_TRY(keys.take("change", device.change, 1e-9));
  TUTTI_TRY(keys.take("fails_at", device.fails_at, 0));
  TUTTI_TRY(keys.end());
  if (host >= kMostDevices) {
    return fail(CL_INVALID_VALUE, fmt::format("host {}: there are at most {}", host, kMostDevices));
  }
  device.host = static_cast<uint32_t>(host);
  if (scenario.devices.size() + count > kMostDevices) {
    return fail(CL_INVALID_VALUE, fmt::format("more than {} devices", kMostDevices));
  }
  scenario.devices.insert(scenario.devices.end(), count, device);
  return {};
}

Status read_plan_file(const std::string& path, Draft& draft) {
  const auto content = read_file(path, {.most_bytes = kMiB, .kind = FileKind::kStream});
  if (!content) {
    return fail(CL_INVALID_VALUE,
                fmt::format("{} cannot be read: {}", path, content.error().message));
  }
  const toml::parse_result parsed = toml::parse(*content, path);
  if (!parsed) {
    return fail(CL_INVALID_VALUE, fmt::format("{}:{}: {}", path, parsed.error().source().begin.line,
                                              parsed.error().description()));
  }
  const toml::table& table = parsed.table();
  Scenario& scenario = draft.scenario;
  Keys keys(table, path);
  TUTTI_TRY(take_device(keys, draft.device));
  TUTTI_TRY(keys.take("devices", draft.devices));
  TUTTI_TRY(keys.take("hosts", draft.hosts, 1));
  TUTTI_TRY(keys.take("latency", scenario.network.latency, 0));
  TUTTI_TRY(keys.take("link", scenario.network.link, 0));
  TUTTI_TRY(keys.take("shared_link", scenario.network.shared_link, 0));
  TUTTI_TRY(keys.take("balancers", draft.balancers));
  TUTTI_TRY(keys.take("load", draft.load));
  TUTTI_TRY(keys.take("objective", draft.objective));
  TUTTI_TRY(keys.take("slices", scenario.slices_per_device, 1));
  TUTTI_TRY(keys.take("noise", scenario.noise, 0));
  TUTTI_TRY(keys.take("spread", scenario.spread, 1));
  TUTTI_TRY(keys.take("error", scenario.error, 1));
  TUTTI_TRY(keys.take("runs", scenario.runs, 1));
  TUTTI_TRY(keys.take("seed", scenario.seed, 0));
  keys.accept("device");
  TUTTI_TRY(keys.end());
  if (const toml::node* const node = table.get("device"); node != nullptr) {
    const toml::array* const tables = node->as_array();
    if (tables == nullptr || !tables->is_array_of_tables()) {
      return fail(CL_INVALID_VALUE, fmt::format("{}: 'device' must be [[device]] tables", path));
    }
    for (const toml::node& one : *tables) {
      TUTTI_TRY(take_table(*one.as_table(), draft.device, scenario));
    }
  }
  return {};
}

/// What was given on the command line.
Status apply(const SimulateOptions& options, Draft& draft) {
  const auto each = [&](const auto& change) {
    change(draft.device);
    for (Device& device : draft.scenario.devices) change(device);
  };
  Scenario& scenario = draft.scenario;
  if (options.rate) {
    each([&](Device& device) { device.rate = device.known.nominal_speed = *options.rate; });
  }
  if (options.startup) each([&](Device& device) { device.startup = *options.startup; });
  if (options.floor) each([&](Device& device) { device.floor = *options.floor; });
  if (options.transfer) each([&](Device& device) { device.transfer = *options.transfer; });
  if (options.min_package) {
    each([&](Device& device) { device.known.min_package = *options.min_package; });
  }
  if (options.busy_watts) each([&](Device& device) { device.busy_watts = *options.busy_watts; });
  if (options.idle_watts) each([&](Device& device) { device.idle_watts = *options.idle_watts; });
  if (options.in_flight) each([&](Device& device) { device.in_flight = *options.in_flight; });
  scheduler::sim::Network& network = scenario.network;
  network.latency = options.latency.value_or(network.latency);
  network.link = options.link.value_or(network.link);
  network.shared_link = options.shared_link.value_or(network.shared_link);
  scenario.slices_per_device = options.slices.value_or(scenario.slices_per_device);
  scenario.noise = options.noise.value_or(scenario.noise);
  scenario.spread = options.spread.value_or(scenario.spread);
  scenario.error = options.error.value_or(scenario.error);
  scenario.runs = options.runs.value_or(scenario.runs);
  scenario.seed = options.seed.value_or(scenario.seed);
  if (!options.load.empty()) draft.load = options.load;
  if (!options.objective.empty()) draft.objective = options.objective;
  if (!options.balancers.empty()) draft.balancers = options.balancers;
  if (!options.devices.empty()) {
    if (!scenario.devices.empty()) {
      return fail(CL_INVALID_VALUE, "--devices: the scenario lists its devices itself");
    }
    draft.devices = options.devices;
  }
  if (options.hosts) {
    if (!scenario.devices.empty()) {
      return fail(CL_INVALID_VALUE, "--hosts: the scenario lists its devices, each with its host");
    }
    draft.hosts = *options.hosts;
  }
  return {};
}

/// What a formula or a loop would not survive. TOML's values were checked where they are; an
/// option's were not.
Status check(const Draft& draft) {
  const auto refuse = [](const char* what) { return fail(CL_INVALID_VALUE, what); };
  const auto outside = [](double value, double least) {
    return !std::isfinite(value) || value < least;
  };
  const Scenario& scenario = draft.scenario;
  const Device& device = draft.device;
  if (outside(device.rate, 1e-9)) return refuse("--rate must be positive");
  if (outside(device.startup, 0)) return refuse("--startup must not be negative");
  if (outside(device.floor, 0)) return refuse("--floor must not be negative");
  if (outside(device.transfer, 0)) return refuse("--transfer must not be negative");
  if (outside(device.busy_watts, 0)) return refuse("--busy-watts must not be negative");
  if (outside(device.idle_watts, 0)) return refuse("--idle-watts must not be negative");
  const auto no_power = [](const Device& one) { return one.busy_watts <= 0; };
  if (draft.objective != "time" &&
      (scenario.devices.empty()
           ? no_power(device)
           : std::any_of(scenario.devices.begin(), scenario.devices.end(), no_power))) {
    return refuse("an objective of energy needs the devices' power: busy_watts, --busy-watts");
  }
  if (device.known.min_package < 1) return refuse("--min-package must be at least 1");
  if (device.in_flight < 1) return refuse("--in-flight must be at least 1");
  if (outside(scenario.network.latency, 0)) return refuse("--latency must not be negative");
  if (outside(scenario.network.link, 0)) return refuse("--link must not be negative");
  if (outside(scenario.network.shared_link, 0)) {
    return refuse("--shared-link must not be negative");
  }
  if (outside(scenario.spread, 1)) return refuse("spread must be at least 1");
  if (outside(scenario.error, 1)) return refuse("error must be at least 1");
  if (outside(scenario.noise, 0) || scenario.noise > 1) return refuse("noise must be from 0 to 1");
  if (scenario.runs < 1) return refuse("--runs must be at least 1");
  if (draft.hosts < 1) return refuse("--hosts must be at least 1");
  if (scenario.slices_per_device < 1) return refuse("--slices must be at least 1");
  return {};
}

/// A number and a time, as "3@0.5"; nothing where it is not.
std::optional<std::pair<size_t, double>> failure(std::string_view text) {
  const size_t at = text.find('@');
  if (at == std::string_view::npos) return std::nullopt;
  const auto which = number<size_t>(text.substr(0, at));
  const auto time = number<double>(text.substr(at + 1));
  if (!which || !time || !(*time >= 0)) return std::nullopt;
  return std::pair(*which, *time);
}

Status add_failures(const SimulateOptions& options, Scenario& scenario) {
  for (const std::string& text : options.failures) {
    const auto found = failure(text);
    if (!found) return fail(CL_INVALID_VALUE, fmt::format("--fail {}: not DEVICE@SECONDS", text));
    if (found->first >= scenario.devices.size()) {
      return fail(CL_INVALID_VALUE,
                  fmt::format("--fail {}: there are {} devices", text, scenario.devices.size()));
    }
    scenario.devices[found->first].fails_at = found->second;
  }
  for (const std::string& text : options.host_failures) {
    const auto found = failure(text);
    if (!found) {
      return fail(CL_INVALID_VALUE, fmt::format("--fail-host {}: not HOST@SECONDS", text));
    }
    bool known = false;
    for (Device& device : scenario.devices) {
      if (device.host != found->first) continue;
      device.fails_at = std::min(device.fails_at, found->second);
      known = true;
    }
    if (!known) {
      return fail(CL_INVALID_VALUE, fmt::format("--fail-host {}: no device is there", text));
    }
  }
  return {};
}

}  // namespace

Result<SimulationPlan> plan_simulation(const SimulateOptions& options) {
  Draft draft;
  draft.device.rate = draft.device.known.nominal_speed = kRate;
  draft.device.startup = kStartup;
  if (!options.scenario.empty()) TUTTI_TRY(read_plan_file(options.scenario, draft));
  TUTTI_TRY(apply(options, draft));
  TUTTI_TRY(check(draft));
  TUTTI_ASSIGN(draft.scenario.load, load_named(draft.load));
  TUTTI_ASSIGN(draft.scenario.objective, objective_named(draft.objective));

  SimulationPlan plan;
  if (!draft.scenario.devices.empty()) {
    plan.scenarios.push_back(draft.scenario);
  } else {
    for (const std::string& item : split(draft.devices)) {
      const auto count = number<uint64_t>(item);
      if (!count || *count < 1 || *count > kMostDevices) {
        return fail(CL_INVALID_VALUE,
                    fmt::format("devices '{}': not a number from 1 to {}", item, kMostDevices));
      }
      if (draft.hosts > *count) {
        return fail(CL_INVALID_VALUE,
                    fmt::format("hosts {}: there are {} devices", draft.hosts, *count));
      }
      plan.scenarios.push_back(draft.scenario);
      std::vector<Device>& devices = plan.scenarios.back().devices;
      devices.assign(*count, draft.device);
      for (uint64_t i = 0; i < *count; ++i) {
        devices[i].host = static_cast<uint32_t>(i * draft.hosts / *count);
      }
    }
  }
  for (Scenario& scenario : plan.scenarios) {
    TUTTI_TRY(add_failures(options, scenario));
    if (scenario.slices_per_device > kMostSlices / scenario.devices.size()) {
      return fail(CL_INVALID_VALUE, fmt::format("more than {} slices", kMostSlices));
    }
  }
  plan.balancers = split(draft.balancers);
  for (const std::string& name : plan.balancers) TUTTI_TRY(scheduler::parse_balancer(name));
  return plan;
}

}  // namespace tutti::tools
