// SPDX-License-Identifier: Apache-2.0
#include "platform/create_backends.h"

#include <functional>
#include <map>
#include <span>

#include "backends/bounded/bounded_backend.h"
#include "backends/opencl/device_traits.h"
#include "backends/opencl/opencl_backend.h"
#include "backends/process/process_backend.h"
#include "base/all_at_once.h"
#include "base/cl_error_name.h"
#include "base/guarded.h"
#include "base/helper_process.h"
#include "base/log.h"
#include "base/own_files.h"
#include "platform/device_selection.h"
#include "platform/known_nodes.h"

namespace tutti::platform {
namespace {

// PoCL's remote client misses the end of a command now and then, and waits for ever.
constexpr uint32_t kNodeDeadline = 30;

/// Seconds that calls of a node may take.
uint32_t node_deadline(const Config& config) {
  return config.deadline.value != 0 ? config.deadline.value : kNodeDeadline;
}

// A CPU device without the cores that the host keeps: a sub-device, which then stays for the life
// of the process. The device itself where that cannot be.
FoundDevice without_host_cores(const FoundDevice& whole, uint32_t keep) {
  if (keep == 0 || whole.traits.type != CL_DEVICE_TYPE_CPU) return whole;
  const auto give_up = [&whole, keep](const std::string& why) {
    log(LogLevel::kWarning, "TUTTI_KEEP_CORES={}: {} keeps all its cores: {}", keep,
        whole.traits.device_name, why);
    return whole;
  };
  const backends::VendorFunctions& cl = *whole.device.cl;
  const uint32_t units = whole.traits.compute_units;
  if (units <= keep) return give_up("it has only " + std::to_string(units));
  if (!cl.clCreateSubDevices) return give_up("its driver has no sub-devices");
  const cl_device_partition_property properties[] = {
      CL_DEVICE_PARTITION_BY_COUNTS, static_cast<cl_device_partition_property>(units - keep),
      CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0};
  FoundDevice part = whole;
  cl_uint count = 0;
  const cl_int code =
      cl.clCreateSubDevices(whole.device.device, properties, 1, &part.device.device, &count);
  if (code != CL_SUCCESS || count != 1) return give_up(cl_error_name(code));
  auto traits = backends::read_traits(cl, whole.device.platform, part.device.device);
  if (!traits) return give_up(traits.error().message);
  part.traits = std::move(*traits);
  log(LogLevel::kInfo, "{}: {} of {} cores are kept for the host", whole.traits.device_name, keep,
      units);
  return part;
}

/// The device in this process or in one of its own, as it was found; tried out.
Result<std::unique_ptr<backends::Backend>> make_backend(const FoundDevice& found, uint32_t index,
                                                        const Config& config) {
  const uint64_t deadline_ns =
      (found.node.empty() ? config.deadline.value : node_deadline(config)) *
      uint64_t{1'000'000'000};
  const HelperBudget budget{config.build_seconds.value};  // as in helpers
  if (found.apart) {
    const backends::DevicePlace& place = found.device.place;
    backends::process::ProcessDevice device;
    device.subject = found.subject(find_own_program(kDeviceProgram));
    device.name = found.traits.device_name;
    device.service.platform = place.platform;
    device.service.device = place.device;
    device.service.index = index;
    device.service.keep_cores = config.keep_cores.value;
    device.bounds = {deadline_ns, budget.clock_ns(), found.trial_seconds * uint64_t{1'000'000'000}};
    if (!found.away.empty()) {
      return backends::process::drive_when_there(std::move(device), found.traits,
                                                 "was not started: " + found.away);
    }
    auto driven =
        backends::process::drive_in_process(device, vendor_loader(config).take_helper(found));
    if (driven || found.node.empty()) return driven;
    // PoCL's remote client crashes now and then while it connects.
    log(LogLevel::kInfo, "{}: once more", driven.error().message);
    return backends::process::drive_in_process(std::move(device), {});
  }
  const auto make = [found, index, keep = config.keep_cores.value] {
    return create_backend(found, index, keep);
  };
  if (deadline_ns == 0) return make();
  return backends::with_deadline(found.traits.device_name, {deadline_ns, budget.clock_ns()}, make);
}

using MadeBackend = Result<std::unique_ptr<backends::Backend>>;

/// All of them, in the order of `chosen`. Those in processes of their own are tried out at the same
/// time: one that hangs takes as long as its bounds.
std::vector<MadeBackend> make_backends(const std::vector<FoundDevice>& found,
                                       std::span<const size_t> chosen, const Config& config) {
  std::vector<MadeBackend> made(chosen.size());
  const auto make = [&](size_t i) {
    const size_t index = chosen[i];
    Status thrown = guarded(
        [&] { made[i] = make_backend(found[index], static_cast<uint32_t>(index), config); });
    if (!thrown) made[i] = tl::unexpected(std::move(thrown).error());
  };
  std::vector<std::function<Status()>> tasks;
  tasks.emplace_back([&]() -> Status {  // in this thread
    for (size_t i = 0; i < chosen.size(); ++i) {
      if (!found[chosen[i]].apart) make(i);
    }
    return {};
  });
  for (size_t i = 0; i < chosen.size(); ++i) {
    if (!found[chosen[i]].apart) continue;
    tasks.emplace_back([&make, i]() -> Status {
      make(i);
      return {};
    });
  }
  static_cast<void>(all_at_once("tutti-open", tasks));  // each has its own result
  return made;
}

Selection select(const Config& config) {
  std::vector<SelectableDevice> selectable;
  for (const FoundDevice& device : vendor_loader(config).devices()) {
    selectable.push_back(
        {device.traits.platform_name, device.traits.device_name, device.reason.empty()});
  }
  return select_devices(config.devices.value, selectable);
}

}  // namespace

const char* device_type_name(cl_device_type type) {
  switch (type) {
    case CL_DEVICE_TYPE_CPU:
      return "cpu";
    case CL_DEVICE_TYPE_GPU:
      return "gpu";
    case CL_DEVICE_TYPE_ACCELERATOR:
      return "accelerator";
    default:
      return "custom";
  }
}

void tell_apart(std::vector<DeviceReport>& devices) {
  for (const DeviceReport& first : devices) {
    std::vector<DeviceReport*> equal;
    bool addresses = true;  // each has one of its own
    for (DeviceReport& device : devices) {
      if (device.name != first.name || device.platform != first.platform) continue;
      for (const DeviceReport* other : equal) addresses &= other->pci_address != device.pci_address;
      addresses &= !device.pci_address.empty();
      equal.push_back(&device);
    }
    for (size_t i = 0; i < equal.size(); ++i) {
      equal[i]->mark = equal.size() < 2 ? std::string()
                       : addresses      ? equal[i]->pci_address
                                        : "#" + std::to_string(i + 1);
    }
  }
}

std::unique_ptr<backends::Backend> create_backend(const FoundDevice& found, uint32_t index,
                                                  uint32_t keep_cores) {
  FoundDevice device = without_host_cores(found, keep_cores);
  device.traits.index = index;
  return std::make_unique<backends::OpenClBackend>(device.device, device.traits, index);
}

const VendorLoader& vendor_loader(const Config& config) {
  static auto* mutex = new Mutex;
  static auto* loaders = new std::map<std::string, const VendorLoader*>;
  MutexLock lock(*mutex);
  const VendorLoader*& loader =
      (*loaders)[config.vendors.value + '\n' + config.isolate.value + '\n' + config.nodes.value +
                 '\n' + config.node_driver.value + '\n' + std::to_string(node_deadline(config))];
  if (!loader) {
    DiscoveryOptions options;
    options.isolate = config.isolate.value;
    options.nodes = parse_nodes(config.nodes.value).value_or(std::vector<Node>());
    options.node_driver = config.node_driver.value;
    options.node_deadline = node_deadline(config);
    options.device_program = find_own_program(kDeviceProgram);
    options.vendors = config.vendors.value;
    options.cache_folder = cache_folder(config);
    options.probe = find_own_program(kProbeProgram);
    loader = new VendorLoader(options);
  }
  return *loader;
}

std::vector<std::string> selection_problems(const Config& config) {
  return select(config).warnings;
}

std::optional<size_t> find_device(std::string_view text, const std::vector<DeviceReport>& devices) {
  std::vector<SelectableDevice> selectable;
  for (const DeviceReport& device : devices) {
    selectable.push_back({device.platform, device.name, device.used});
  }
  const Selection selection = select_devices(text, selectable);
  if (!selection.warnings.empty() || selection.devices.empty()) return std::nullopt;
  return selection.devices.front();
}

std::vector<std::unique_ptr<backends::Backend>> create_backends(const Config& config,
                                                                std::vector<DeviceReport>* report) {
  const std::vector<FoundDevice>& found = vendor_loader(config).devices();
  std::vector<DeviceReport> lines;
  for (size_t i = 0; i < found.size(); ++i) {
    const backends::DeviceTraits& traits = found[i].traits;
    DeviceReport line;
    line.index = i;
    line.platform = traits.platform_name;
    line.name = traits.device_name;
    line.type = traits.type;
    line.reason = found[i].reason.empty() ? "not in TUTTI_DEVICES" : found[i].reason;
    line.compute_units = traits.compute_units;
    line.memory = traits.global_memory;
    line.version = traits.device_version;
    line.driver_version = traits.driver_version;
    line.local_memory = traits.local_memory;
    line.clock_mhz = traits.clock_mhz;
    line.pci_address = traits.pci_address;
    line.apart = found[i].apart;
    line.node = traits.node;
    lines.push_back(std::move(line));
  }
  tell_apart(lines);
  const Selection selection = select(config);
  for (const std::string& warning : selection.warnings) log(LogLevel::kWarning, "{}", warning);
  std::vector<std::unique_ptr<backends::Backend>> backends;
  std::vector<MadeBackend> made = make_backends(found, selection.devices, config);
  for (size_t i = 0; i < made.size(); ++i) {
    const size_t index = selection.devices[i];
    MadeBackend& backend = made[i];
    lines[index].required = found[index].required;
    if (!backend) {
      lines[index].reason = backend.error().message;
      continue;
    }
    if (!found[index].away.empty()) {
      lines[index].reason = found[index].away + "; it takes part once it answers";
      backends.push_back(std::move(*backend));
      continue;
    }
    if (const backends::DeviceTraits& traits = found[index].traits; !traits.node.empty()) {
      const backends::DevicePlace& place = found[index].device.place;
      remember_node(cache_folder(config), traits.node,
                    {place.library, {place.platform, place.device, (*backend)->traits(), {}}});
    }
    lines[index].used = true;
    lines[index].reason.clear();
    lines[index].compute_units = (*backend)->traits().compute_units;
    backends.push_back(std::move(*backend));
  }
  vendor_loader(config).end_helpers();
  if (backends.empty()) log(LogLevel::kInfo, "no vendor device can be used");
  if (report) *report = std::move(lines);
  return backends;
}

}  // namespace tutti::platform
