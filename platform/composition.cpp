// SPDX-License-Identifier: Apache-2.0
#include "platform/composition.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/config.h"
#include "base/live_counters.h"
#include "base/log.h"
#include "base/own_files.h"
#include "base/process_exit.h"
#include "base/trace.h"
#include "device_virtual/device.h"
#include "platform/composition_devices.h"
#include "platform/discovery.h"
#include "platform/identity.h"
#include "platform/platform_object.h"

namespace tutti::platform {

std::atomic<bool> composition_detail::forked_child{false};

namespace {

/// Why there is no platform: what a person needs to put it right.
void explain_absence(const Config& config, const std::vector<DeviceReport>& report) {
  std::string text = "Tutti offers no platform: there is no vendor device that it could use.";
  const auto& drivers = vendor_loader(config).drivers();
  if (drivers.empty()) {
    text += "\n  no vendor driver was found in " + (config.vendors.value.empty()
                                                        ? std::string("/etc/OpenCL/vendors")
                                                        : "TUTTI_VENDORS=" + config.vendors.value);
  }
  for (const FoundDriver& driver : drivers) {
    text += "\n  " + driver.label();
    text += ": " + (driver.ok ? std::string("has devices") : driver.reason);
  }
  for (const DeviceReport& line : report) {
    if (!line.used) text += "\n  " + line.platform + " / " + line.name + ": " + line.reason;
  }
  log(level_without_vendors(LogLevel::kWarning), "{}", text);
}

scheduler::Engine* the_engine = nullptr;  // for the exit hook; constant once set

scheduler::EnergySettings energy_settings(const Config& config) {
  scheduler::EnergySettings settings;
  const bool decides = config.objective.value != Objective::kTime;
  const EnergyChoice choice = config.energy.value;
  if (choice == EnergyChoice::kOff) {
    if (decides) {
      log(LogLevel::kWarning,
          "TUTTI_ENERGY=off: launches are chosen by time, whatever TUTTI_OBJECTIVE says");
    }
    return settings;
  }
  settings.needed = decides || choice == EnergyChoice::kOn;
  settings.wanted = settings.needed || !config.summary.value.empty() || !config.trace.value.empty();
  settings.period = config.energy_period.value;
  settings.sources = energy_sources(config.sensors.value);
  return settings;
}

scheduler::EngineSettings engine_settings(const Config& config,
                                          const std::vector<DeviceReport>& report,
                                          scheduler::BackendSet& devices) {
  scheduler::EngineSettings settings;
  if (auto spec = chosen_balancer(config, report)) {
    settings.balancer = std::move(*spec);
  } else {
    log(LogLevel::kWarning, "{} ({}); the default is used", spec.error().message,
        config.balancer.origin);
  }
  settings.split = config.split.value;
  settings.shards = config.shards.value;
  settings.look_ahead = config.look_ahead.value;
  uint64_t least = UINT64_MAX;
  for (uint32_t i = 0; i < devices.real_count(); ++i) {
    least = std::min(least, devices.memory(i).capacity());
  }
  settings.shard_unit = scheduler::shard_unit_for(least);
  // Where every legal split is tried, small buffers are divided, too; kernels' vectors and devices'
  // sub-buffers begin at multiples of that.
  if (settings.always_shards() && settings.split == SplitMode::kForce) {
    settings.shard_unit = 512;
  }
  settings.seed = config.seed.value;
  settings.policy.distrust_races = config.races.value == RaceTrust::kDistrust;
  settings.policy.float_sums = config.float_sums.value == FloatSums::kAny;
  settings.batches = config.batches.value == Switch::kOn;
  settings.verify = config.verify.value;
  settings.summary = config.summary.value;
  if (const std::string folder = cache_folder(config);
      !folder.empty() && config.model.value == ModelMemory::kDisk) {
    settings.model_file = scheduler::ModelStore::file_in(folder);
  }
  settings.objective = config.objective.value;
  settings.energy = energy_settings(config);
  if (settings.split == SplitMode::kForce) {
    log(LogLevel::kInfo, "TUTTI_SPLIT=force with TUTTI_SEED={}", settings.seed);
  }
  return settings;
}

/// Bytes.
uint64_t host_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page) : 0;
}

std::shared_ptr<const Capabilities> merged(scheduler::BackendSet& set,
                                           scheduler::BackendMask mask) {
  const auto merge = [&set](scheduler::BackendMask of) {
    std::vector<const backends::Backend*> list;
    size_t primary = 0;
    for (uint32_t i = 0; i < set.count(); ++i) {
      if ((of & scheduler::backend_bit(i)) == 0) continue;
      if (i == set.primary(of)) primary = list.size();
      list.push_back(&set.at(i));
    }
    const Config& config = process_config();
    std::vector<DeviceFacts> facts = facts_of(list);
    facts[0].alone = facts.size() == 1 && of == set.real_devices();
    return std::make_shared<const Capabilities>(merge_capabilities(
        facts, primary,
        {config.device_type.value, config.identity.value, std::string(driver_version()),
         config.memory_size.value, host_memory()}));
  };
  auto all = merge(mask);
  // What a device that is lost meanwhile has not answered would narrow what the others may do.
  scheduler::BackendMask answering = 0;
  for (uint32_t i = 0; i < set.count(); ++i) {
    const scheduler::BackendMask bit = mask & scheduler::backend_bit(i);
    if (bit != 0 && set.at(i).device_info(CL_DEVICE_NAME)) answering |= bit;
  }
  return answering == 0 || answering == mask ? all : merge(answering);
}

// What a device with these backends behind it answers. Asks the vendors, but for the root's.
std::shared_ptr<const Capabilities> capabilities_of(scheduler::BackendMask backends) {
  const Composition& all = *composition();
  if (backends == all.device->backends()) return all.device->shared_capabilities();
  return merged(*all.backends, backends);
}

// From when the library is loaded: another thread may exit while this one composes.
const bool watches_exit = (note_process_exit(), true);

const Composition* compose() {
  if (std::getenv(kInsideProbe) != nullptr) return nullptr;  // see there
  const Config& config = process_config();
  const uint64_t begun_ns = now_ns();
  std::vector<DeviceReport> report;
  const std::string own = live::folder(cache_folder(config));
  const live::Board board = live::board_for(config.board.value, own);
  if (!board.problem.empty() && !board.missing) {
    log(LogLevel::kInfo, "only this user's processes are looked at: {}: {}", config.board.value,
        board.problem);
  }
  if (config.top.value == Switch::kOn) live::start(own, board);
  // Once the drivers are loaded, an exit of the process in another thread waits, since it destroys
  // what they use; not before: it may have begun with that.
  static_cast<void>(vendor_loader(config));
  const ExitHold hold;
  auto list = choose_devices(config, report, Away::kWithThem);
  if (list.empty()) {
    explain_absence(config, report);
    live::stop();
    return nullptr;
  }
  trace::start(config.trace.value);
  auto* made = new Composition;
  made->backends = new scheduler::BackendSet(
      std::move(list), config.memory.value == 0 ? UINT64_MAX : config.memory.value << 20,
      preferred_primary(config, report));
  if (config.neighbours.value == Switch::kOn) {
    made->backends->others().watch(board.folder);
  }
  auto capabilities = merged(*made->backends, made->backends->real_devices());
  made->engine =
      new scheduler::Engine(*made->backends, engine_settings(config, report, *made->backends));
  the_engine = made->engine;
  set_exit_hook([] {
    the_engine->write_out();
    trace::stop();
    live::stop();
  });
  const scheduler::BackendSet& set = *made->backends;
  const backends::Backend* const shown = &made->backends->at(set.primary(set.real_devices()));
  made->platform = new Platform(
      platform_names(facts_of(std::span(&shown, 1)).front(), config.identity.value), capabilities);
  log(LogLevel::kInfo, "{}: {} devices", capabilities->name, made->backends->count());
  auto* seen = new device_virtual::DevicePlatform{made->platform->handle(), *made->backends,
                                                  capabilities_of};
  made->device = new device_virtual::Device(std::move(capabilities), *seen);
  trace::slice(trace::thread_row(trace::kApplication), "api", "start of Tutti", begun_ns, now_ns());
  return made;
}

}  // namespace

const Composition* composition() {
  static const Composition* const made = [] {
    // First of all: a child forked while this runs has half a composition.
    pthread_atfork(nullptr, nullptr,
                   [] { composition_detail::forked_child.store(true, std::memory_order_relaxed); });
    return compose();
  }();
  return made;
}

}  // namespace tutti::platform
