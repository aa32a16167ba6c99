// SPDX-License-Identifier: Apache-2.0
// Extension functions, and the two symbols that the library exports.
#include <string_view>

#include "device_virtual/device.h"
#include "device_virtual/handle.h"
#include "icd/entry/entries.h"
#include "icd/recorder/recording_functions.h"
#include "platform/composition.h"
#include "platform/platform_object.h"

namespace tutti::icd {
namespace {

#define TUTTI_FUNCTION(function) \
  if (wanted == #function) return reinterpret_cast<void*>(&icd::function)

/// Of extensions that the device need not have, as it is when this is asked: null where it does
/// not.
void* shared_objects_function(std::string_view wanted) {
  const auto offered = [](bool device_virtual::Capabilities::Sharing::*what) {
    const platform::Composition* const all = platform::composition();
    return all != nullptr && all->device->capabilities().sharing.*what;
  };
  if (wanted.find("Semaphore") != std::string_view::npos &&
      offered(&device_virtual::Capabilities::Sharing::semaphores)) {
    TUTTI_FUNCTION(clCreateSemaphoreWithPropertiesKHR);
    TUTTI_FUNCTION(clRetainSemaphoreKHR);
    TUTTI_FUNCTION(clReleaseSemaphoreKHR);
    TUTTI_FUNCTION(clGetSemaphoreInfoKHR);
    TUTTI_FUNCTION(clEnqueueWaitSemaphoresKHR);
    TUTTI_FUNCTION(clEnqueueSignalSemaphoresKHR);
    TUTTI_FUNCTION(clGetSemaphoreHandleForTypeKHR);
    TUTTI_FUNCTION(clReImportSemaphoreSyncFdKHR);
  }
  if (wanted.find("ExternalMemObjects") != std::string_view::npos &&
      offered(&device_virtual::Capabilities::Sharing::external_memory)) {
    TUTTI_FUNCTION(clEnqueueAcquireExternalMemObjectsKHR);
    TUTTI_FUNCTION(clEnqueueReleaseExternalMemObjectsKHR);
  }
  if (wanted.find("GL") != std::string_view::npos &&
      offered(&device_virtual::Capabilities::Sharing::gl)) {
    TUTTI_FUNCTION(clGetGLContextInfoKHR);
    TUTTI_FUNCTION(clCreateFromGLBuffer);
    TUTTI_FUNCTION(clCreateFromGLTexture);
    TUTTI_FUNCTION(clCreateFromGLTexture2D);
    TUTTI_FUNCTION(clCreateFromGLTexture3D);
    TUTTI_FUNCTION(clCreateFromGLRenderbuffer);
    TUTTI_FUNCTION(clGetGLObjectInfo);
    TUTTI_FUNCTION(clGetGLTextureInfo);
    TUTTI_FUNCTION(clEnqueueAcquireGLObjects);
    TUTTI_FUNCTION(clEnqueueReleaseGLObjects);
  }
  return nullptr;
}

void* function_address(const char* name) noexcept {
  if (name == nullptr) return nullptr;
  const std::string_view wanted = name;
  TUTTI_FUNCTION(clIcdGetPlatformIDsKHR);
  TUTTI_FUNCTION(clCreateCommandQueueWithPropertiesKHR);
  TUTTI_FUNCTION(clCreateProgramWithILKHR);
  TUTTI_FUNCTION(clGetKernelSuggestedLocalWorkSizeKHR);
  // A core function, which loaders of before OpenCL 3.1 do not have.
  TUTTI_FUNCTION(clGetKernelSuggestedLocalWorkSize);
  TUTTI_FUNCTION(clCreateCommandBufferKHR);
  TUTTI_FUNCTION(clRetainCommandBufferKHR);
  TUTTI_FUNCTION(clReleaseCommandBufferKHR);
  TUTTI_FUNCTION(clFinalizeCommandBufferKHR);
  TUTTI_FUNCTION(clEnqueueCommandBufferKHR);
  TUTTI_FUNCTION(clGetCommandBufferInfoKHR);
  TUTTI_FUNCTION(clUpdateMutableCommandsKHR);
  TUTTI_FUNCTION(clGetMutableCommandInfoKHR);
  TUTTI_FUNCTION(clCommandBarrierWithWaitListKHR);
  TUTTI_FUNCTION(clCommandCopyBufferKHR);
  TUTTI_FUNCTION(clCommandCopyBufferRectKHR);
  TUTTI_FUNCTION(clCommandCopyBufferToImageKHR);
  TUTTI_FUNCTION(clCommandCopyImageKHR);
  TUTTI_FUNCTION(clCommandCopyImageToBufferKHR);
  TUTTI_FUNCTION(clCommandFillBufferKHR);
  TUTTI_FUNCTION(clCommandFillImageKHR);
  TUTTI_FUNCTION(clCommandNDRangeKernelKHR);
  TUTTI_FUNCTION(clCommandSVMMemcpyKHR);
  TUTTI_FUNCTION(clCommandSVMMemFillKHR);
  TUTTI_FUNCTION(clHostMemAllocINTEL);
  TUTTI_FUNCTION(clDeviceMemAllocINTEL);
  TUTTI_FUNCTION(clSharedMemAllocINTEL);
  TUTTI_FUNCTION(clMemFreeINTEL);
  TUTTI_FUNCTION(clMemBlockingFreeINTEL);
  TUTTI_FUNCTION(clGetMemAllocInfoINTEL);
  TUTTI_FUNCTION(clSetKernelArgMemPointerINTEL);
  TUTTI_FUNCTION(clEnqueueMemFillINTEL);
  TUTTI_FUNCTION(clEnqueueMemcpyINTEL);
  TUTTI_FUNCTION(clEnqueueMigrateMemINTEL);
  TUTTI_FUNCTION(clEnqueueMemAdviseINTEL);
  TUTTI_FUNCTION(clSetKernelArgDevicePointerEXT);
  // No extension's function, but ocl-icd asks for it here.
  TUTTI_FUNCTION(clGetPlatformInfo);
  return shared_objects_function(wanted);
}
#undef TUTTI_FUNCTION

}  // namespace

void* CL_API_CALL clGetExtensionFunctionAddress(const char* func_name) {
  return function_address(func_name);
}

void* CL_API_CALL clGetExtensionFunctionAddressForPlatform(cl_platform_id platform,
                                                           const char* func_name) {
  // "NULL if … platform is not a valid platform".
  if (device_virtual::from_handle<platform::Platform>(platform) == nullptr) return nullptr;
  return function_address(func_name);
}

}  // namespace tutti::icd

extern "C" {

__attribute__((visibility("default"))) void* CL_API_CALL
clGetExtensionFunctionAddress(const char* func_name) {
  void* recording = tutti::icd::recorder::extension_function(func_name);
  return recording != nullptr ? recording : tutti::icd::clGetExtensionFunctionAddress(func_name);
}

__attribute__((visibility("default"))) cl_int CL_API_CALL
clIcdGetPlatformIDsKHR(cl_uint num_entries, cl_platform_id* platforms, cl_uint* num_platforms) {
  return tutti::icd::clIcdGetPlatformIDsKHR(num_entries, platforms, num_platforms);
}

}  // extern "C"
