// SPDX-License-Identifier: Apache-2.0
#include "icd/dispatch.h"

#include "base/log.h"
#include "device_virtual/handle.h"

namespace tutti::icd {
namespace {

/// In the slots of Windows' sharing functions, which the header declares as void*. All of them
/// return cl_int or an object; both read this as an error or take a null errcode_ret's default.
cl_int not_on_this_system() {
  log_once("windows sharing", LogLevel::kWarning, "a Windows sharing function was called");
  return CL_INVALID_OPERATION;
}
void* const kNotHere = reinterpret_cast<void*>(&not_on_this_system);

const cl_icd_dispatch kBefore = {
    .clGetPlatformIDs = &icd::clGetPlatformIDs,
    .clGetPlatformInfo = &icd::clGetPlatformInfo,
    .clGetDeviceIDs = &icd::clGetDeviceIDs,
    .clGetDeviceInfo = &icd::clGetDeviceInfo,
    .clCreateContext = &icd::clCreateContext,
    .clCreateContextFromType = &icd::clCreateContextFromType,
    .clRetainContext = &icd::clRetainContext,
    .clReleaseContext = &icd::clReleaseContext,
    .clGetContextInfo = &icd::clGetContextInfo,
    .clCreateCommandQueue = &icd::clCreateCommandQueue,
    .clRetainCommandQueue = &icd::clRetainCommandQueue,
    .clReleaseCommandQueue = &icd::clReleaseCommandQueue,
    .clGetCommandQueueInfo = &icd::clGetCommandQueueInfo,
    .clSetCommandQueueProperty = &icd::clSetCommandQueueProperty,
    .clCreateBuffer = &icd::clCreateBuffer,
    .clCreateImage2D = &icd::clCreateImage2D,
    .clCreateImage3D = &icd::clCreateImage3D,
    .clRetainMemObject = &icd::clRetainMemObject,
    .clReleaseMemObject = &icd::clReleaseMemObject,
    .clGetSupportedImageFormats = &icd::clGetSupportedImageFormats,
    .clGetMemObjectInfo = &icd::clGetMemObjectInfo,
    .clGetImageInfo = &icd::clGetImageInfo,
    .clCreateSampler = &icd::clCreateSampler,
    .clRetainSampler = &icd::clRetainSampler,
    .clReleaseSampler = &icd::clReleaseSampler,
    .clGetSamplerInfo = &icd::clGetSamplerInfo,
    .clCreateProgramWithSource = &icd::clCreateProgramWithSource,
    .clCreateProgramWithBinary = &icd::clCreateProgramWithBinary,
    .clRetainProgram = &icd::clRetainProgram,
    .clReleaseProgram = &icd::clReleaseProgram,
    .clBuildProgram = &icd::clBuildProgram,
    .clUnloadCompiler = &icd::clUnloadCompiler,
    .clGetProgramInfo = &icd::clGetProgramInfo,
    .clGetProgramBuildInfo = &icd::clGetProgramBuildInfo,
    .clCreateKernel = &icd::clCreateKernel,
    .clCreateKernelsInProgram = &icd::clCreateKernelsInProgram,
    .clRetainKernel = &icd::clRetainKernel,
    .clReleaseKernel = &icd::clReleaseKernel,
    .clSetKernelArg = &icd::clSetKernelArg,
    .clGetKernelInfo = &icd::clGetKernelInfo,
    .clGetKernelWorkGroupInfo = &icd::clGetKernelWorkGroupInfo,
    .clWaitForEvents = &icd::clWaitForEvents,
    .clGetEventInfo = &icd::clGetEventInfo,
    .clRetainEvent = &icd::clRetainEvent,
    .clReleaseEvent = &icd::clReleaseEvent,
    .clGetEventProfilingInfo = &icd::clGetEventProfilingInfo,
    .clFlush = &icd::clFlush,
    .clFinish = &icd::clFinish,
    .clEnqueueReadBuffer = &icd::clEnqueueReadBuffer,
    .clEnqueueWriteBuffer = &icd::clEnqueueWriteBuffer,
    .clEnqueueCopyBuffer = &icd::clEnqueueCopyBuffer,
    .clEnqueueReadImage = &icd::clEnqueueReadImage,
    .clEnqueueWriteImage = &icd::clEnqueueWriteImage,
    .clEnqueueCopyImage = &icd::clEnqueueCopyImage,
    .clEnqueueCopyImageToBuffer = &icd::clEnqueueCopyImageToBuffer,
    .clEnqueueCopyBufferToImage = &icd::clEnqueueCopyBufferToImage,
    .clEnqueueMapBuffer = &icd::clEnqueueMapBuffer,
    .clEnqueueMapImage = &icd::clEnqueueMapImage,
    .clEnqueueUnmapMemObject = &icd::clEnqueueUnmapMemObject,
    .clEnqueueNDRangeKernel = &icd::clEnqueueNDRangeKernel,
    .clEnqueueTask = &icd::clEnqueueTask,
    .clEnqueueNativeKernel = &icd::clEnqueueNativeKernel,
    .clEnqueueMarker = &icd::clEnqueueMarker,
    .clEnqueueWaitForEvents = &icd::clEnqueueWaitForEvents,
    .clEnqueueBarrier = &icd::clEnqueueBarrier,
    .clGetExtensionFunctionAddress = &icd::clGetExtensionFunctionAddress,
    .clCreateFromGLBuffer = &icd::clCreateFromGLBuffer,
    .clCreateFromGLTexture2D = &icd::clCreateFromGLTexture2D,
    .clCreateFromGLTexture3D = &icd::clCreateFromGLTexture3D,
    .clCreateFromGLRenderbuffer = &icd::clCreateFromGLRenderbuffer,
    .clGetGLObjectInfo = &icd::clGetGLObjectInfo,
    .clGetGLTextureInfo = &icd::clGetGLTextureInfo,
    .clEnqueueAcquireGLObjects = &icd::clEnqueueAcquireGLObjects,
    .clEnqueueReleaseGLObjects = &icd::clEnqueueReleaseGLObjects,
    .clGetGLContextInfoKHR = &icd::clGetGLContextInfoKHR,
    .clGetDeviceIDsFromD3D10KHR = kNotHere,
    .clCreateFromD3D10BufferKHR = kNotHere,
    .clCreateFromD3D10Texture2DKHR = kNotHere,
    .clCreateFromD3D10Texture3DKHR = kNotHere,
    .clEnqueueAcquireD3D10ObjectsKHR = kNotHere,
    .clEnqueueReleaseD3D10ObjectsKHR = kNotHere,
    .clSetEventCallback = &icd::clSetEventCallback,
    .clCreateSubBuffer = &icd::clCreateSubBuffer,
    .clSetMemObjectDestructorCallback = &icd::clSetMemObjectDestructorCallback,
    .clCreateUserEvent = &icd::clCreateUserEvent,
    .clSetUserEventStatus = &icd::clSetUserEventStatus,
    .clEnqueueReadBufferRect = &icd::clEnqueueReadBufferRect,
    .clEnqueueWriteBufferRect = &icd::clEnqueueWriteBufferRect,
    .clEnqueueCopyBufferRect = &icd::clEnqueueCopyBufferRect,
    .clCreateSubDevicesEXT = &icd::clCreateSubDevicesEXT,
    .clRetainDeviceEXT = &icd::clRetainDeviceEXT,
    .clReleaseDeviceEXT = &icd::clReleaseDeviceEXT,
    .clCreateEventFromGLsyncKHR = &icd::clCreateEventFromGLsyncKHR,
    .clCreateSubDevices = &icd::clCreateSubDevices,
    .clRetainDevice = &icd::clRetainDevice,
    .clReleaseDevice = &icd::clReleaseDevice,
    .clCreateImage = &icd::clCreateImage,
    .clCreateProgramWithBuiltInKernels = &icd::clCreateProgramWithBuiltInKernels,
    .clCompileProgram = &icd::clCompileProgram,
    .clLinkProgram = &icd::clLinkProgram,
    .clUnloadPlatformCompiler = &icd::clUnloadPlatformCompiler,
    .clGetKernelArgInfo = &icd::clGetKernelArgInfo,
    .clEnqueueFillBuffer = &icd::clEnqueueFillBuffer,
    .clEnqueueFillImage = &icd::clEnqueueFillImage,
    .clEnqueueMigrateMemObjects = &icd::clEnqueueMigrateMemObjects,
    .clEnqueueMarkerWithWaitList = &icd::clEnqueueMarkerWithWaitList,
    .clEnqueueBarrierWithWaitList = &icd::clEnqueueBarrierWithWaitList,
    .clGetExtensionFunctionAddressForPlatform = &icd::clGetExtensionFunctionAddressForPlatform,
    .clCreateFromGLTexture = &icd::clCreateFromGLTexture,
    .clGetDeviceIDsFromD3D11KHR = kNotHere,
    .clCreateFromD3D11BufferKHR = kNotHere,
    .clCreateFromD3D11Texture2DKHR = kNotHere,
    .clCreateFromD3D11Texture3DKHR = kNotHere,
    .clCreateFromDX9MediaSurfaceKHR = kNotHere,
    .clEnqueueAcquireD3D11ObjectsKHR = kNotHere,
    .clEnqueueReleaseD3D11ObjectsKHR = kNotHere,
    .clGetDeviceIDsFromDX9MediaAdapterKHR = kNotHere,
    .clEnqueueAcquireDX9MediaSurfacesKHR = kNotHere,
    .clEnqueueReleaseDX9MediaSurfacesKHR = kNotHere,
    .clCreateFromEGLImageKHR = &icd::clCreateFromEGLImageKHR,
    .clEnqueueAcquireEGLObjectsKHR = &icd::clEnqueueAcquireEGLObjectsKHR,
    .clEnqueueReleaseEGLObjectsKHR = &icd::clEnqueueReleaseEGLObjectsKHR,
    .clCreateEventFromEGLSyncKHR = &icd::clCreateEventFromEGLSyncKHR,
    .clCreateCommandQueueWithProperties = &icd::clCreateCommandQueueWithProperties,
    .clCreatePipe = &icd::clCreatePipe,
    .clGetPipeInfo = &icd::clGetPipeInfo,
    .clSVMAlloc = &icd::clSVMAlloc,
    .clSVMFree = &icd::clSVMFree,
    .clEnqueueSVMFree = &icd::clEnqueueSVMFree,
    .clEnqueueSVMMemcpy = &icd::clEnqueueSVMMemcpy,
    .clEnqueueSVMMemFill = &icd::clEnqueueSVMMemFill,
    .clEnqueueSVMMap = &icd::clEnqueueSVMMap,
    .clEnqueueSVMUnmap = &icd::clEnqueueSVMUnmap,
    .clCreateSamplerWithProperties = &icd::clCreateSamplerWithProperties,
    .clSetKernelArgSVMPointer = &icd::clSetKernelArgSVMPointer,
    .clSetKernelExecInfo = &icd::clSetKernelExecInfo,
    .clGetKernelSubGroupInfoKHR = &icd::clGetKernelSubGroupInfoKHR,
    .clCloneKernel = &icd::clCloneKernel,
    .clCreateProgramWithIL = &icd::clCreateProgramWithIL,
    .clEnqueueSVMMigrateMem = &icd::clEnqueueSVMMigrateMem,
    .clGetDeviceAndHostTimer = &icd::clGetDeviceAndHostTimer,
    .clGetHostTimer = &icd::clGetHostTimer,
    .clGetKernelSubGroupInfo = &icd::clGetKernelSubGroupInfo,
    .clSetDefaultDeviceCommandQueue = &icd::clSetDefaultDeviceCommandQueue,
    .clSetProgramReleaseCallback = &icd::clSetProgramReleaseCallback,
    .clSetProgramSpecializationConstant = &icd::clSetProgramSpecializationConstant,
    .clCreateBufferWithProperties = &icd::clCreateBufferWithProperties,
    .clCreateImageWithProperties = &icd::clCreateImageWithProperties,
    .clSetContextDestructorCallback = &icd::clSetContextDestructorCallback,
};

/// Newer headers have the slot themselves.
template <typename Table>
Table with_suggested_local_size(Table table) {
  if constexpr (requires { table.clGetKernelSuggestedLocalWorkSize; }) {
    table.clGetKernelSuggestedLocalWorkSize =
        reinterpret_cast<decltype(table.clGetKernelSuggestedLocalWorkSize)>(
            &icd::clGetKernelSuggestedLocalWorkSize);
  }
  return table;
}

const DispatchTable kDispatch = {with_suggested_local_size(kBefore),
                                 &icd::clGetKernelSuggestedLocalWorkSize};

// Handles get their dispatch pointer from here, before the loader can ask for the first one.
[[maybe_unused]] const bool kPublished = [] {
  device_virtual::g_dispatch = &kDispatch;
  return true;
}();

}  // namespace

const DispatchTable& dispatch_table() { return kDispatch; }

}  // namespace tutti::icd
