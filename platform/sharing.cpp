// SPDX-License-Identifier: Apache-2.0
#include "platform/sharing.h"

#include "backends/api/sharing_api.h"
#include "platform/platform_object.h"

namespace tutti::platform {
namespace {

/// As the device's vendor has them.
class Versions {
 public:
  explicit Versions(const DeviceFacts& device)
      : known_(ask_list<cl_name_version>(device, CL_DEVICE_EXTENSIONS_WITH_VERSION)) {}
  cl_name_version of(std::string_view name) const {
    for (const cl_name_version& entry : known_) {
      if (std::string_view(entry.name, strnlen(entry.name, sizeof entry.name)) == name) {
        return entry;
      }
    }
    return name_version(name, CL_MAKE_VERSION(1, 0, 0));
  }

 private:
  const std::vector<cl_name_version> known_;
};

/// Those of the kinds of handles that we know.
template <size_t kCount>
std::vector<cl_uint> known_handles(const DeviceFacts& device, cl_device_info what,
                                   const std::array<backends::HandleKind, kCount>& kinds) {
  std::vector<cl_uint> types = ask_list<cl_uint>(device, what);
  std::erase_if(types, [&](cl_uint type) {
    return std::none_of(kinds.begin(), kinds.end(), [&](const auto& kind) {
      return kind.type == type && has_feature(device.traits, kind.extension);
    });
  });
  return types;
}

void put_semaphores(Answers& answers, Capabilities& caps, const DeviceFacts& device,
                    std::vector<cl_name_version>& extensions, const Versions& versions) {
  caps.sharing.semaphores = true;
  extensions.push_back(versions.of(backends::kSemaphores));
  // "It is mandatory to support CL_SEMAPHORE_TYPE_BINARY_KHR." Others have payloads.
  answers.list<cl_uint>(CL_DEVICE_SEMAPHORE_TYPES_KHR, {CL_SEMAPHORE_TYPE_BINARY_KHR});
  if (!has_feature(device.traits, backends::kExternalSemaphores)) return;
  caps.sharing.semaphore_imports = known_handles(
      device, CL_DEVICE_SEMAPHORE_IMPORT_HANDLE_TYPES_KHR, backends::kSemaphoreHandles);
  caps.sharing.semaphore_exports = known_handles(
      device, CL_DEVICE_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR, backends::kSemaphoreHandles);
  if (caps.sharing.semaphore_imports.empty() && caps.sharing.semaphore_exports.empty()) return;
  extensions.push_back(versions.of(backends::kExternalSemaphores));
  for (const backends::HandleKind& kind : backends::kSemaphoreHandles) {
    if (contains(caps.sharing.semaphore_imports, kind.type) ||
        contains(caps.sharing.semaphore_exports, kind.type)) {
      extensions.push_back(versions.of(kind.extension));
    }
  }
  answers.list(CL_DEVICE_SEMAPHORE_IMPORT_HANDLE_TYPES_KHR, caps.sharing.semaphore_imports);
  answers.list(CL_DEVICE_SEMAPHORE_EXPORT_HANDLE_TYPES_KHR, caps.sharing.semaphore_exports);
}

void put_external_memory(Answers& answers, Capabilities& caps, const DeviceFacts& device,
                         std::vector<cl_name_version>& extensions, const Versions& versions) {
  std::vector<cl_uint>& imports = caps.sharing.memory_imports;
  imports = known_handles(device, CL_DEVICE_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR,
                          backends::kMemoryHandles);
  if (imports.empty()) return;
  caps.sharing.external_memory = true;
  extensions.push_back(versions.of(backends::kExternalMemory));
  for (const backends::HandleKind& kind : backends::kMemoryHandles) {
    if (contains(imports, kind.type)) extensions.push_back(versions.of(kind.extension));
  }
  answers.list(CL_DEVICE_EXTERNAL_MEMORY_IMPORT_HANDLE_TYPES_KHR, imports);
  answers.list(backends::kLinearImageHandles,
               known_handles(device, backends::kLinearImageHandles, backends::kMemoryHandles));
}

}  // namespace

std::vector<cl_name_version> put_sharing(Answers& answers, Capabilities& caps,
                                         const DeviceFacts& device) {
  std::vector<cl_name_version> extensions;
  if (!device.alone) return extensions;
  const Versions versions(device);
  if (device.traits.semaphores) put_semaphores(answers, caps, device, extensions, versions);
  if (device.traits.external_memory) {
    put_external_memory(answers, caps, device, extensions, versions);
  }
  if (device.traits.gl_sharing) {
    caps.sharing.gl = true;
    extensions.push_back(versions.of(backends::kGlSharing));
  }
  return extensions;
}

}  // namespace tutti::platform
