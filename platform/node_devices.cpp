// SPDX-License-Identifier: Apache-2.0
// Devices of other hosts, which helpers drive with a PoCL that has a remote client.
#include <algorithm>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/lower_case.h"
#include "platform/known_nodes.h"
#include "platform/vendor_loader.h"

namespace tutti::platform {
namespace {

using backends::process::StartedHelper;
using backends::process::StartingHelper;

/// What is known of a node so far.
struct Trial {
  const Node* node = nullptr;
  std::string library;  // that was tried last, or drives it
  std::string reason;   // why it cannot be used
  std::optional<StartedHelper> helper;
};

/// What a driver that hangs may cost: as long as a call.
uint32_t bound_by(uint32_t deadline) {
  const uint32_t most = backends::process::kStartSeconds;
  return deadline == 0 ? most : std::min(deadline, most);
}

/// What a helper may take to find the node's device: it waits for the server, then loads a driver.
uint32_t start_seconds(const Node& node, uint32_t deadline) {
  return node.wait_seconds + bound_by(deadline);
}

/// To try it. A build is part of that, which may take longer than a call.
uint32_t trial_seconds(const Node& node, uint32_t deadline) {
  return std::max(node.wait_seconds, bound_by(deadline));
}

/// Has a helper for each node look for its device with this driver, all at once.
void try_driver(const DiscoveryOptions& options, const std::string& library,
                std::vector<Trial>& trials) {
  std::vector<std::pair<Trial*, Result<StartingHelper>>> starting;
  for (Trial& trial : trials) {
    if (trial.helper || !trial.node->refusal().empty()) continue;
    trial.library = library;
    starting.emplace_back(&trial, backends::process::begin_helper(
                                      {options.device_program, library, text_of(*trial.node),
                                       start_seconds(*trial.node, options.node_deadline)}));
  }
  for (auto& [trial, begun] : starting) {
    auto started = begun ? backends::process::end_helper(std::move(*begun))
                         : Result<StartedHelper>(tl::unexpected(begun.error()));
    if (!started) {
      trial->reason = started.error().message;
    } else if (started->listing.devices.empty()) {
      trial->reason = started->listing.reason.empty() ? "the driver finds no device there"
                                                      : started->listing.reason;
    } else {
      trial->reason = started->listing.devices.front().reason;
      trial->helper = std::move(*started);
    }
  }
}

}  // namespace

std::vector<std::string> VendorLoader::node_drivers() const {
  if (!options_.node_driver.empty()) return {options_.node_driver};
  std::vector<std::string> found;
  for (const FoundDriver& driver : drivers_) {
    // Others have no remote client, and a GPU's driver takes long to tell.
    if (!contains_ignoring_case(driver.library, "pocl")) continue;
    if (std::find(found.begin(), found.end(), driver.library) == found.end()) {
      found.push_back(driver.library);
    }
  }
  return found;
}

void VendorLoader::add_nodes() {
  std::vector<Trial> trials;
  for (const Node& node : options_.nodes) {
    Trial& trial = trials.emplace_back();
    trial.node = &node;
    trial.reason = node.refusal();
    if (trial.reason.empty()) {
      trial.reason = "there is no PoCL with a remote client that could drive it";
    } else {
      trial.reason = "refused: " + trial.reason;
    }
  }
  if (trials.empty()) return;
  for (const std::string& library : node_drivers()) {
    try_driver(options_, library, trials);
  }
  for (Trial& trial : trials) {
    const std::string label = trial.node->label();
    FoundDriver driver;
    driver.library = trial.library;
    driver.reason = trial.reason;
    driver.ok = trial.reason.empty();
    driver.node = label;
    driver.required = trial.node->required;
    const std::string text = text_of(*trial.node);
    std::optional<KnownNode> known;
    if (!trial.helper && trial.node->refusal().empty()) {
      known = recall_node(options_.cache_folder, label);
    }
    if (!driver.ok) {
      log(LogLevel::kWarning, "node {} is left out{}: {}", label, known ? " until it answers" : "",
          trial.reason);
    }
    drivers_.push_back(std::move(driver));
    if (trial.helper) {
      add_listed(trial.helper->listing.devices.front(), trial.library);
      const MutexLock lock(mutex_);
      helpers_.emplace(text, std::move(*trial.helper));
    } else if (known) {
      add_listed(known->device, known->library);
      devices_.back().away = trial.reason;
    } else {
      continue;
    }
    devices_.back().node = text;
    devices_.back().start_seconds = start_seconds(*trial.node, options_.node_deadline);
    devices_.back().trial_seconds = trial_seconds(*trial.node, options_.node_deadline);
    devices_.back().required = trial.node->required;
  }
}

}  // namespace tutti::platform
