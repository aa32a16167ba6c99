// SPDX-License-Identifier: Apache-2.0
// What cl_khr_semaphore 1.0.0, cl_khr_external_memory 1.0.1 and their like have that headers
// before 2024 do not, and the names of these extensions.
#pragma once

#include <CL/cl_ext.h>

#include <array>
#include <string_view>

namespace tutti::backends {

inline constexpr std::string_view kSemaphores = "cl_khr_semaphore";
inline constexpr std::string_view kExternalSemaphores = "cl_khr_external_semaphore";

// CL_SEMAPHORE_DEVICE_HANDLE_LIST_KHR; the list ends with 0.
inline constexpr cl_semaphore_properties_khr kSemaphoreDevices = 0x2053;
inline constexpr cl_semaphore_info_khr kSemaphoreExportable =
    0x2054;  // CL_SEMAPHORE_EXPORTABLE_KHR

/// Kinds of external handles, and the extensions that have them: those that are file descriptors.
struct HandleKind {
  cl_uint type = 0;
  std::string_view extension;
};
inline constexpr std::array<HandleKind, 2> kSemaphoreHandles{
    {{CL_SEMAPHORE_HANDLE_OPAQUE_FD_KHR, "cl_khr_external_semaphore_opaque_fd"},
     {CL_SEMAPHORE_HANDLE_SYNC_FD_KHR, "cl_khr_external_semaphore_sync_fd"}}};

inline constexpr std::string_view kGlSharing = "cl_khr_gl_sharing";

inline constexpr std::string_view kExternalMemory = "cl_khr_external_memory";
// CL_MEM_DEVICE_HANDLE_LIST_KHR; the list ends with 0.
inline constexpr cl_mem_properties kMemoryDevices = 0x2051;
// CL_DEVICE_EXTERNAL_MEMORY_IMPORT_ASSUME_LINEAR_IMAGES_HANDLE_TYPES_KHR
inline constexpr cl_device_info kLinearImageHandles = 0x2052;
inline constexpr std::array<HandleKind, 2> kMemoryHandles{
    {{CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR, "cl_khr_external_memory_opaque_fd"},
     {CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR, "cl_khr_external_memory_dma_buf"}}};

using ReimportProperties = cl_properties;  // cl_semaphore_reimport_properties_khr
using clReImportSemaphoreSyncFdKHR_fn = cl_int(CL_API_CALL*)(cl_semaphore_khr, ReimportProperties*,
                                                             int);

}  // namespace tutti::backends
