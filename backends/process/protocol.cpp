// SPDX-License-Identifier: Apache-2.0
#include "backends/process/protocol.h"

#include <algorithm>
#include <sstream>
#include <string_view>

#include "backends/api/buffer_address_api.h"
#include "backends/api/sharing_api.h"

namespace tutti::backends::process {
namespace {

/// Calls `visit` with each member that is a plain value, of both kinds of traits.
template <typename Traits, typename Visit>
void for_plain_members(Traits& traits, Visit visit) {
  visit(traits.index);
  visit(traits.type);
  visit(traits.compute_units);
  visit(traits.clock_mhz);
  visit(traits.global_memory);
  visit(traits.max_allocation);
  visit(traits.local_memory);
  visit(traits.max_work_group);
  visit(traits.max_work_items);
  visit(traits.max_constant);
  visit(traits.image_sizes);
  visit(traits.memory_alignment);
  visit(traits.pins_host_memory);
  visit(traits.shares_host_memory);
  visit(traits.host_atomics);
  visit(traits.sub_buffers);
  visit(traits.images_over_host_memory);
  visit(traits.synchronous);
  visit(traits.serial);
  visit(traits.costly_profiling);
  visit(traits.reads_ahead);
  visit(traits.markers);
  visit(traits.overlaps_launches);
  visit(traits.max_offset);
  visit(traits.advises_groups);
  visit(traits.smaller_groups);
  visit(traits.nominal_gflops);
  visit(traits.max_parts);
  visit(traits.svm);
  visit(traits.unified);
  visit(traits.buffer_addresses);
  visit(traits.semaphores);
  visit(traits.external_memory);
  visit(traits.own_process);
  visit(traits.link);
}

template <typename Traits, typename Visit>
void for_texts(Traits& traits, Visit visit) {
  visit(traits.platform_name);
  visit(traits.platform_vendor);
  visit(traits.device_name);
  visit(traits.vendor);
  visit(traits.driver_version);
  visit(traits.device_version);
  visit(traits.pci_address);
  visit(traits.node);
  visit(traits.binary_kind);
  visit(traits.build_kind);
}

template <typename Traits, typename Visit>
void for_lists(Traits& traits, Visit visit) {
  visit(traits.features);
  visit(traits.built_in_kernels);
}

template <typename T>
void put_plain(Writer& to, const T& value) {
  to.put(value);
}
/// Any byte may come back, where it was kept in a file.
void put_plain(Writer& to, const bool& value) { to.put<uint8_t>(value ? 1 : 0); }
template <typename T>
void get_plain(Reader& from, T& value) {
  from.into(value);
}
void get_plain(Reader& from, bool& value) { value = from.get<uint8_t>() != 0; }

/// Addresses, handles and queues of a process mean nothing in another one.
bool stays_behind(std::string_view feature) {
  constexpr std::string_view kNames[] = {kUnifiedMemory,          kBufferAddresses,
                                         "__opencl_c_pipes",      "__opencl_c_device_enqueue",
                                         "cl_khr_device_enqueue", kGlSharing};
  constexpr std::string_view kFamilies[] = {kSemaphores, kExternalSemaphores, kExternalMemory};
  return std::find(std::begin(kNames), std::end(kNames), feature) != std::end(kNames) ||
         std::any_of(std::begin(kFamilies), std::end(kFamilies),
                     [&](std::string_view family) { return feature.starts_with(family); });
}

}  // namespace

void put(Writer& to, const DeviceTraits& traits) {
  for_plain_members(traits, [&](const auto& member) { put_plain(to, member); });
  for_texts(traits, [&](const std::string& text) { to.text(text); });
  for_lists(traits, [&](const std::vector<std::string>& items) {
    to.put<uint64_t>(items.size());
    for (const std::string& item : items) to.text(item);
  });
}

bool same_device(DeviceTraits a, DeviceTraits b) {
  for (DeviceTraits* traits : {&a, &b}) {
    leave_out_what_stays_behind(*traits);
    traits->index = 0;
    traits->clock_mhz = 0;
    traits->nominal_gflops = 0;
    traits->link = {};
  }
  Writer first, second;
  put(first, a);
  put(second, b);
  return first.bytes() == second.bytes();
}

DeviceTraits get_traits(Reader& from) {
  DeviceTraits traits;
  for_plain_members(traits, [&](auto& member) { get_plain(from, member); });
  for_texts(traits, [&](std::string& text) { from.into(text); });
  for_lists(traits, [&](std::vector<std::string>& items) {
    for (auto left = from.get<uint64_t>(); left > 0 && from.whole(); --left) {
      items.push_back(from.text());
    }
  });
  return traits;
}

void put(Writer& to, const ProgramText& text) {
  to.put(text.kind).text(text.text).text(text.options);
}

ProgramText get_text(Reader& from) {
  ProgramText text;
  from.into(text.kind);
  from.into(text.text);
  from.into(text.options);
  return text;
}

std::string text_of(const Listing& listing) {
  Writer to;
  to.text(listing.path).text(listing.reason).put<uint64_t>(listing.devices.size());
  for (const ListedDevice& device : listing.devices) {
    to.put(device.platform).put(device.device).text(device.reason);
    put(to, device.traits);
  }
  return {reinterpret_cast<const char*>(to.bytes().data()), to.bytes().size()};
}

std::optional<Listing> get_listing(std::string_view text) {
  Reader from(std::as_bytes(std::span(text)));
  Listing listing;
  from.into(listing.path);
  from.into(listing.reason);
  for (auto left = from.get<uint64_t>(); left > 0 && from.whole(); --left) {
    ListedDevice& device = listing.devices.emplace_back();
    from.into(device.platform);
    from.into(device.device);
    from.into(device.reason);
    device.traits = get_traits(from);
  }
  if (!from.whole()) return std::nullopt;
  return listing;
}

void leave_out_what_stays_behind(DeviceTraits& traits) {
  std::erase_if(traits.features, stays_behind);
  traits.svm = 0;
  traits.unified = {};
  traits.buffer_addresses = traits.semaphores = traits.external_memory = false;
  traits.shares_host_memory = traits.host_atomics = false;
  traits.max_parts = 1;
  traits.own_process = true;
  // Memory that both processes share: transfers from and to it are the only ones without a copy.
  traits.pins_host_memory = true;
  // What lies elsewhere is copied when the write is enqueued.
  traits.reads_ahead = true;
}

std::optional<std::vector<std::byte>> answer_without(cl_device_info what) {
  switch (what) {
    case CL_DEVICE_SVM_CAPABILITIES:
    case CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES:
    case CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES:
      static_assert(sizeof(cl_device_svm_capabilities) == sizeof(cl_command_queue_properties) &&
                    sizeof(cl_device_device_enqueue_capabilities) == sizeof(cl_bitfield));
      return std::vector<std::byte>(sizeof(cl_bitfield));
    case CL_DEVICE_PIPE_SUPPORT:
    case CL_DEVICE_MAX_PIPE_ARGS:
    case CL_DEVICE_PIPE_MAX_ACTIVE_RESERVATIONS:
    case CL_DEVICE_PIPE_MAX_PACKET_SIZE:
    case CL_DEVICE_QUEUE_ON_DEVICE_MAX_SIZE:
    case CL_DEVICE_QUEUE_ON_DEVICE_PREFERRED_SIZE:
    case CL_DEVICE_MAX_ON_DEVICE_QUEUES:
    case CL_DEVICE_MAX_ON_DEVICE_EVENTS:
    case CL_DEVICE_HOST_UNIFIED_MEMORY:
      static_assert(sizeof(cl_bool) == sizeof(cl_uint));
      return std::vector<std::byte>(sizeof(cl_uint));
    default:
      return std::nullopt;
  }
}

std::vector<std::byte> leave_out(cl_device_info what, std::vector<std::byte> answer) {
  if (what == CL_DEVICE_EXTENSIONS) {
    const auto* const begin = reinterpret_cast<const char*>(answer.data());
    std::istringstream words(std::string(begin, strnlen(begin, answer.size())));
    std::string kept;
    for (std::string word; words >> word;) {
      if (!stays_behind(word)) kept += (kept.empty() ? "" : " ") + word;
    }
    answer.resize(kept.size() + 1);
    std::memcpy(answer.data(), kept.c_str(), kept.size() + 1);
  } else if (what == CL_DEVICE_EXTENSIONS_WITH_VERSION || what == CL_DEVICE_OPENCL_C_FEATURES) {
    std::vector<std::byte> kept;
    for (size_t at = 0; at + sizeof(cl_name_version) <= answer.size();
         at += sizeof(cl_name_version)) {
      cl_name_version entry;
      std::memcpy(&entry, answer.data() + at, sizeof entry);
      if (stays_behind({entry.name, strnlen(entry.name, sizeof entry.name)})) continue;
      kept.insert(kept.end(), answer.data() + at, answer.data() + at + sizeof entry);
    }
    return kept;
  }
  return answer;
}

}  // namespace tutti::backends::process
