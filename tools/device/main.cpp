// SPDX-License-Identifier: Apache-2.0
// Drives a device for the driver, in a process that may crash (base/helper_service.h): the other
// side is backends/process.
//
// tutti-device SECONDS MIB LIBRARY [NODE]: loads a vendor's driver and tells of its devices; then
// drives the one that it is asked to (backends/process/protocol.h), as calls come through the
// memory that it got as the file behind the socket.
#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "backends/process/node_link.h"
#include "backends/process/node_trial.h"
#include "backends/process/server.h"
#include "base/config.h"
#include "base/helper_service.h"
#include "base/keep_forever.h"
#include "base/log.h"
#include "base/nodes.h"
#include "platform/create_backends.h"

namespace tutti {
namespace {

using backends::process::NodeLink;
using backends::process::Server;
using backends::process::Service;
using backends::process::SharedMapping;
using platform::FoundDevice;
using platform::VendorLoader;

NodeLink* the_link = nullptr;  // where the device is on another host
backends::process::LinkHints the_hints;

constexpr int kMemoryFile = kHelperSocket + 1, kOutputFile = kHelperSocket + 2;

HelperMessage failed(const std::string& why) { return {HelperMessageKind::kFailed, why}; }

HelperMessage drive(const VendorLoader& loader, std::string_view request) {
  Service service;
  if (request.size() != sizeof service) return failed("is asked for nothing");
  std::memcpy(&service, request.data(), sizeof service);
  for (FoundDevice found : loader.devices()) {
    const backends::DevicePlace place = found.device.place;
    if (place.platform != service.platform || place.device != service.device) continue;
    // All is made once, and used until the process ends.
    auto memory = SharedMapping::map(kMemoryFile, service.arena);
    if (!memory) return failed(memory.error().message);
    const SharedMapping& mapping =
        *keep_forever(std::make_unique<SharedMapping>(std::move(*memory)));
    // It builds here: a compiler that crashes costs the device no more than its own process would.
    found.device.place = {};
    backends::Backend& device =
        *keep_forever(platform::create_backend(found, service.index, service.keep_cores));
    backends::DeviceTraits known = device.traits();
    if (the_link != nullptr) {
      if (const Status tried = backends::process::try_node(device); !tried) {
        return failed("finds that the server or its driver is not good enough: " +
                      tried.error().message);
      }
      const auto link = backends::process::measure_link(device, the_hints);
      if (!link) return failed("cannot measure its link: " + link.error().message);
      known.link = *link;
    }
    Server& server = *keep_forever(std::make_unique<Server>(device, mapping));
    if (const Status started = server.start(service.lanes); !started) {
      return failed(started.error().message);
    }
    backends::process::Writer traits;
    put(traits, known);
    return {HelperMessageKind::kAnswer,
            {reinterpret_cast<const char*>(traits.bytes().data()), traits.bytes().size()}};
  }
  return failed("does not find the device");
}

/// Has the driver find the node's device in place of this machine's. What is wrong with it, else.
std::optional<std::string> reach(const Node& node) {
  // Ends the process before the driver can make anything of a loss.
  const auto link = NodeLink::open(node, end_service);
  if (!link) {
    return fmt::format("cannot reach {}:{} ({})", node.host, node.port, link.error().message);
  }
  the_link = *link;
  setenv("POCL_DEVICES", "remote", 1);
  setenv("POCL_REMOTE0_PARAMETERS", the_link->client_address().c_str(), 1);
  return std::nullopt;
}

HelperStart load(const std::string& library, const std::string& node_text) {
  const Config config = load_config(ConfigSources::of_process()).config;  // which others warn of
  start_log(config.log.value.level, config.log.value.file);
  platform::DiscoveryOptions options;
  options.vendors = library;
  options.in_helper = true;
  if (const auto nodes = parse_nodes(node_text); nodes && nodes->size() == 1) {
    const Node& node = nodes->front();
    if (const auto problem = reach(node)) return {{HelperMessageKind::kTransient, *problem}, {}};
    options.node = node.label();
    the_hints = {node.rtt_ms * 1e-3, node.rate_mbit * 1e6 / 8};
  }
  const VendorLoader& loader = *keep_forever(std::make_unique<VendorLoader>(options));
  backends::process::Listing listing;
  for (const platform::FoundDriver& driver : loader.drivers()) {
    listing.path = driver.path;
    listing.reason = driver.reason;
  }
  if (the_link != nullptr && !the_link->in_use()) {
    listing.reason = "this driver has no remote client";
    return {{HelperMessageKind::kAnswer, text_of(listing)}, {}};
  }
  for (const FoundDevice& found : loader.devices()) {
    const backends::DevicePlace& place = found.device.place;
    listing.devices.push_back({place.platform, place.device, found.traits, found.reason});
  }
  return {{HelperMessageKind::kAnswer, text_of(listing)},
          [&loader](std::string_view request) { return drive(loader, request); },
          true};
}

uint32_t number(const std::string& text) {
  return static_cast<uint32_t>(std::strtoul(text.c_str(), nullptr, 10));
}

}  // namespace
}  // namespace tutti

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) {
    std::fprintf(stderr, "tutti-device drives devices for Tutti; it is of no use by itself\n");
    return 2;
  }
  const std::string library = argv[3], node = argc == 5 ? argv[4] : "";
  // What kernels print is read there, and shown where the application's output goes by then.
  dup2(tutti::kOutputFile, STDOUT_FILENO);
  tutti::serve_driver({tutti::number(argv[1]), tutti::number(argv[2])},
                      [&] { return tutti::load(library, node); });
}
