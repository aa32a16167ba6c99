// SPDX-License-Identifier: Apache-2.0
// The entry points of the dispatch table, in its order. They live in a namespace, so that no symbol
// of ours can be confused with the loader's functions of the same name.
#pragma once

#include <CL/cl.h>
#include <CL/cl_egl.h>
#include <CL/cl_ext.h>
#include <CL/cl_gl.h>
#include <CL/cl_icd.h>

namespace tutti::icd {

decltype(::clGetPlatformIDs) clGetPlatformIDs;
decltype(::clGetPlatformInfo) clGetPlatformInfo;
decltype(::clGetDeviceIDs) clGetDeviceIDs;
decltype(::clGetDeviceInfo) clGetDeviceInfo;
decltype(::clCreateContext) clCreateContext;
decltype(::clCreateContextFromType) clCreateContextFromType;
decltype(::clRetainContext) clRetainContext;
decltype(::clReleaseContext) clReleaseContext;
decltype(::clGetContextInfo) clGetContextInfo;
decltype(::clCreateCommandQueue) clCreateCommandQueue;
decltype(::clRetainCommandQueue) clRetainCommandQueue;
decltype(::clReleaseCommandQueue) clReleaseCommandQueue;
decltype(::clGetCommandQueueInfo) clGetCommandQueueInfo;
decltype(::clSetCommandQueueProperty) clSetCommandQueueProperty;
decltype(::clCreateBuffer) clCreateBuffer;
decltype(::clCreateImage2D) clCreateImage2D;
decltype(::clCreateImage3D) clCreateImage3D;
decltype(::clRetainMemObject) clRetainMemObject;
decltype(::clReleaseMemObject) clReleaseMemObject;
decltype(::clGetSupportedImageFormats) clGetSupportedImageFormats;
decltype(::clGetMemObjectInfo) clGetMemObjectInfo;
decltype(::clGetImageInfo) clGetImageInfo;
decltype(::clCreateSampler) clCreateSampler;
decltype(::clRetainSampler) clRetainSampler;
decltype(::clReleaseSampler) clReleaseSampler;
decltype(::clGetSamplerInfo) clGetSamplerInfo;
decltype(::clCreateProgramWithSource) clCreateProgramWithSource;
decltype(::clCreateProgramWithBinary) clCreateProgramWithBinary;
decltype(::clRetainProgram) clRetainProgram;
decltype(::clReleaseProgram) clReleaseProgram;
decltype(::clBuildProgram) clBuildProgram;
decltype(::clUnloadCompiler) clUnloadCompiler;
decltype(::clGetProgramInfo) clGetProgramInfo;
decltype(::clGetProgramBuildInfo) clGetProgramBuildInfo;
decltype(::clCreateKernel) clCreateKernel;
decltype(::clCreateKernelsInProgram) clCreateKernelsInProgram;
decltype(::clRetainKernel) clRetainKernel;
decltype(::clReleaseKernel) clReleaseKernel;
decltype(::clSetKernelArg) clSetKernelArg;
decltype(::clGetKernelInfo) clGetKernelInfo;
decltype(::clGetKernelWorkGroupInfo) clGetKernelWorkGroupInfo;
decltype(::clWaitForEvents) clWaitForEvents;
decltype(::clGetEventInfo) clGetEventInfo;
decltype(::clRetainEvent) clRetainEvent;
decltype(::clReleaseEvent) clReleaseEvent;
decltype(::clGetEventProfilingInfo) clGetEventProfilingInfo;
decltype(::clFlush) clFlush;
decltype(::clFinish) clFinish;
decltype(::clEnqueueReadBuffer) clEnqueueReadBuffer;
decltype(::clEnqueueWriteBuffer) clEnqueueWriteBuffer;
decltype(::clEnqueueCopyBuffer) clEnqueueCopyBuffer;
decltype(::clEnqueueReadImage) clEnqueueReadImage;
decltype(::clEnqueueWriteImage) clEnqueueWriteImage;
decltype(::clEnqueueCopyImage) clEnqueueCopyImage;
decltype(::clEnqueueCopyImageToBuffer) clEnqueueCopyImageToBuffer;
decltype(::clEnqueueCopyBufferToImage) clEnqueueCopyBufferToImage;
decltype(::clEnqueueMapBuffer) clEnqueueMapBuffer;
decltype(::clEnqueueMapImage) clEnqueueMapImage;
decltype(::clEnqueueUnmapMemObject) clEnqueueUnmapMemObject;
decltype(::clEnqueueNDRangeKernel) clEnqueueNDRangeKernel;
decltype(::clEnqueueTask) clEnqueueTask;
decltype(::clEnqueueNativeKernel) clEnqueueNativeKernel;
decltype(::clEnqueueMarker) clEnqueueMarker;
decltype(::clEnqueueWaitForEvents) clEnqueueWaitForEvents;
decltype(::clEnqueueBarrier) clEnqueueBarrier;
decltype(::clGetExtensionFunctionAddress) clGetExtensionFunctionAddress;
decltype(::clCreateFromGLBuffer) clCreateFromGLBuffer;
decltype(::clCreateFromGLTexture2D) clCreateFromGLTexture2D;
decltype(::clCreateFromGLTexture3D) clCreateFromGLTexture3D;
decltype(::clCreateFromGLRenderbuffer) clCreateFromGLRenderbuffer;
decltype(::clGetGLObjectInfo) clGetGLObjectInfo;
decltype(::clGetGLTextureInfo) clGetGLTextureInfo;
decltype(::clEnqueueAcquireGLObjects) clEnqueueAcquireGLObjects;
decltype(::clEnqueueReleaseGLObjects) clEnqueueReleaseGLObjects;
decltype(::clGetGLContextInfoKHR) clGetGLContextInfoKHR;
decltype(::clSetEventCallback) clSetEventCallback;
decltype(::clCreateSubBuffer) clCreateSubBuffer;
decltype(::clSetMemObjectDestructorCallback) clSetMemObjectDestructorCallback;
decltype(::clCreateUserEvent) clCreateUserEvent;
decltype(::clSetUserEventStatus) clSetUserEventStatus;
decltype(::clEnqueueReadBufferRect) clEnqueueReadBufferRect;
decltype(::clEnqueueWriteBufferRect) clEnqueueWriteBufferRect;
decltype(::clEnqueueCopyBufferRect) clEnqueueCopyBufferRect;
decltype(::clCreateSubDevicesEXT) clCreateSubDevicesEXT;
decltype(::clRetainDeviceEXT) clRetainDeviceEXT;
decltype(::clReleaseDeviceEXT) clReleaseDeviceEXT;
decltype(::clCreateEventFromGLsyncKHR) clCreateEventFromGLsyncKHR;
decltype(::clCreateSubDevices) clCreateSubDevices;
decltype(::clRetainDevice) clRetainDevice;
decltype(::clReleaseDevice) clReleaseDevice;
decltype(::clCreateImage) clCreateImage;
decltype(::clCreateProgramWithBuiltInKernels) clCreateProgramWithBuiltInKernels;
decltype(::clCompileProgram) clCompileProgram;
decltype(::clLinkProgram) clLinkProgram;
decltype(::clUnloadPlatformCompiler) clUnloadPlatformCompiler;
decltype(::clGetKernelArgInfo) clGetKernelArgInfo;
decltype(::clEnqueueFillBuffer) clEnqueueFillBuffer;
decltype(::clEnqueueFillImage) clEnqueueFillImage;
decltype(::clEnqueueMigrateMemObjects) clEnqueueMigrateMemObjects;
decltype(::clEnqueueMarkerWithWaitList) clEnqueueMarkerWithWaitList;
decltype(::clEnqueueBarrierWithWaitList) clEnqueueBarrierWithWaitList;
decltype(::clGetExtensionFunctionAddressForPlatform) clGetExtensionFunctionAddressForPlatform;
decltype(::clCreateFromGLTexture) clCreateFromGLTexture;
decltype(::clCreateFromEGLImageKHR) clCreateFromEGLImageKHR;
decltype(::clEnqueueAcquireEGLObjectsKHR) clEnqueueAcquireEGLObjectsKHR;
decltype(::clEnqueueReleaseEGLObjectsKHR) clEnqueueReleaseEGLObjectsKHR;
decltype(::clCreateEventFromEGLSyncKHR) clCreateEventFromEGLSyncKHR;
decltype(::clCreateCommandQueueWithProperties) clCreateCommandQueueWithProperties;
decltype(::clCreatePipe) clCreatePipe;
decltype(::clGetPipeInfo) clGetPipeInfo;
decltype(::clSVMAlloc) clSVMAlloc;
decltype(::clSVMFree) clSVMFree;
decltype(::clEnqueueSVMFree) clEnqueueSVMFree;
decltype(::clEnqueueSVMMemcpy) clEnqueueSVMMemcpy;
decltype(::clEnqueueSVMMemFill) clEnqueueSVMMemFill;
decltype(::clEnqueueSVMMap) clEnqueueSVMMap;
decltype(::clEnqueueSVMUnmap) clEnqueueSVMUnmap;
decltype(::clCreateSamplerWithProperties) clCreateSamplerWithProperties;
decltype(::clSetKernelArgSVMPointer) clSetKernelArgSVMPointer;
decltype(::clSetKernelExecInfo) clSetKernelExecInfo;
decltype(::clGetKernelSubGroupInfoKHR) clGetKernelSubGroupInfoKHR;
decltype(::clCloneKernel) clCloneKernel;
decltype(::clCreateProgramWithIL) clCreateProgramWithIL;
decltype(::clEnqueueSVMMigrateMem) clEnqueueSVMMigrateMem;
decltype(::clGetDeviceAndHostTimer) clGetDeviceAndHostTimer;
decltype(::clGetHostTimer) clGetHostTimer;
decltype(::clGetKernelSubGroupInfo) clGetKernelSubGroupInfo;
decltype(::clSetDefaultDeviceCommandQueue) clSetDefaultDeviceCommandQueue;
decltype(::clSetProgramReleaseCallback) clSetProgramReleaseCallback;
decltype(::clSetProgramSpecializationConstant) clSetProgramSpecializationConstant;
decltype(::clCreateBufferWithProperties) clCreateBufferWithProperties;
decltype(::clCreateImageWithProperties) clCreateImageWithProperties;
decltype(::clSetContextDestructorCallback) clSetContextDestructorCallback;
// Of OpenCL 3.1, which older headers do not know.
decltype(::clGetKernelSuggestedLocalWorkSizeKHR) clGetKernelSuggestedLocalWorkSize;

// Extensions', not in the table.
decltype(::clIcdGetPlatformIDsKHR) clIcdGetPlatformIDsKHR;
decltype(::clCreateCommandQueueWithPropertiesKHR) clCreateCommandQueueWithPropertiesKHR;
decltype(::clCreateProgramWithILKHR) clCreateProgramWithILKHR;
decltype(::clGetKernelSuggestedLocalWorkSizeKHR) clGetKernelSuggestedLocalWorkSizeKHR;
decltype(::clCreateCommandBufferKHR) clCreateCommandBufferKHR;
decltype(::clRetainCommandBufferKHR) clRetainCommandBufferKHR;
decltype(::clReleaseCommandBufferKHR) clReleaseCommandBufferKHR;
decltype(::clFinalizeCommandBufferKHR) clFinalizeCommandBufferKHR;
decltype(::clEnqueueCommandBufferKHR) clEnqueueCommandBufferKHR;
decltype(::clGetCommandBufferInfoKHR) clGetCommandBufferInfoKHR;
decltype(::clHostMemAllocINTEL) clHostMemAllocINTEL;
decltype(::clDeviceMemAllocINTEL) clDeviceMemAllocINTEL;
decltype(::clSharedMemAllocINTEL) clSharedMemAllocINTEL;
decltype(::clMemFreeINTEL) clMemFreeINTEL;
decltype(::clMemBlockingFreeINTEL) clMemBlockingFreeINTEL;
decltype(::clGetMemAllocInfoINTEL) clGetMemAllocInfoINTEL;
decltype(::clSetKernelArgMemPointerINTEL) clSetKernelArgMemPointerINTEL;
decltype(::clEnqueueMemFillINTEL) clEnqueueMemFillINTEL;
decltype(::clEnqueueMemcpyINTEL) clEnqueueMemcpyINTEL;
decltype(::clEnqueueMigrateMemINTEL) clEnqueueMigrateMemINTEL;
decltype(::clEnqueueMemAdviseINTEL) clEnqueueMemAdviseINTEL;

// Of cl_ext_buffer_device_address, which headers may not have.
cl_int CL_API_CALL clSetKernelArgDevicePointerEXT(cl_kernel kernel, cl_uint arg_index,
                                                  cl_ulong arg_value);

// As cl_khr_command_buffer_mutable_dispatch 0.9.5 has them: headers may have others, or none.
cl_int CL_API_CALL clUpdateMutableCommandsKHR(cl_command_buffer_khr command_buffer,
                                              cl_uint num_configs, const cl_uint* config_types,
                                              const void** configs);
cl_int CL_API_CALL clGetMutableCommandInfoKHR(cl_mutable_command_khr command, cl_uint param_name,
                                              size_t param_value_size, void* param_value,
                                              size_t* param_value_size_ret);

// Those that record commands, as cl_khr_command_buffer 0.9.8 has them: headers before 0.9.5 declare
// them without `properties`.
cl_int CL_API_CALL clCommandBarrierWithWaitListKHR(cl_command_buffer_khr command_buffer,
                                                   cl_command_queue command_queue,
                                                   const cl_properties* properties,
                                                   cl_uint num_sync_points_in_wait_list,
                                                   const cl_sync_point_khr* sync_point_wait_list,
                                                   cl_sync_point_khr* sync_point,
                                                   cl_mutable_command_khr* mutable_handle);
cl_int CL_API_CALL clCommandCopyBufferKHR(cl_command_buffer_khr command_buffer,
                                          cl_command_queue command_queue,
                                          const cl_properties* properties, cl_mem src_buffer,
                                          cl_mem dst_buffer, size_t src_offset, size_t dst_offset,
                                          size_t size, cl_uint num_sync_points_in_wait_list,
                                          const cl_sync_point_khr* sync_point_wait_list,
                                          cl_sync_point_khr* sync_point,
                                          cl_mutable_command_khr* mutable_handle);
cl_int CL_API_CALL clCommandCopyBufferRectKHR(
    cl_command_buffer_khr command_buffer, cl_command_queue command_queue,
    const cl_properties* properties, cl_mem src_buffer, cl_mem dst_buffer, const size_t* src_origin,
    const size_t* dst_origin, const size_t* region, size_t src_row_pitch, size_t src_slice_pitch,
    size_t dst_row_pitch, size_t dst_slice_pitch, cl_uint num_sync_points_in_wait_list,
    const cl_sync_point_khr* sync_point_wait_list, cl_sync_point_khr* sync_point,
    cl_mutable_command_khr* mutable_handle);
cl_int CL_API_CALL clCommandCopyBufferToImageKHR(
    cl_command_buffer_khr command_buffer, cl_command_queue command_queue,
    const cl_properties* properties, cl_mem src_buffer, cl_mem dst_image, size_t src_offset,
    const size_t* dst_origin, const size_t* region, cl_uint num_sync_points_in_wait_list,
    const cl_sync_point_khr* sync_point_wait_list, cl_sync_point_khr* sync_point,
    cl_mutable_command_khr* mutable_handle);
cl_int CL_API_CALL clCommandCopyImageKHR(
    cl_command_buffer_khr command_buffer, cl_command_queue command_queue,
    const cl_properties* properties, cl_mem src_image, cl_mem dst_image, const size_t* src_origin,
    const size_t* dst_origin, const size_t* region, cl_uint num_sync_points_in_wait_list,
    const cl_sync_point_khr* sync_point_wait_list, cl_sync_point_khr* sync_point,
    cl_mutable_command_khr* mutable_handle);
cl_int CL_API_CALL clCommandCopyImageToBufferKHR(
    cl_command_buffer_khr command_buffer, cl_command_queue command_queue,
    const cl_properties* properties, cl_mem src_image, cl_mem dst_buffer, const size_t* src_origin,
    const size_t* region, size_t dst_offset, cl_uint num_sync_points_in_wait_list,
    const cl_sync_point_khr* sync_point_wait_list, cl_sync_point_khr* sync_point,
    cl_mutable_command_khr* mutable_handle);
cl_int CL_API_CALL clCommandFillBufferKHR(cl_command_buffer_khr command_buffer,
                                          cl_command_queue command_queue,
                                          const cl_properties* properties, cl_mem buffer,
                                          const void* pattern, size_t pattern_size, size_t offset,
                                          size_t size, cl_uint num_sync_points_in_wait_list,
                                          const cl_sync_point_khr* sync_point_wait_list,
                                          cl_sync_point_khr* sync_point,
                                          cl_mutable_command_khr* mutable_handle);
cl_int CL_API_CALL clCommandFillImageKHR(cl_command_buffer_khr command_buffer,
                                         cl_command_queue command_queue,
                                         const cl_properties* properties, cl_mem image,
                                         const void* fill_color, const size_t* origin,
                                         const size_t* region, cl_uint num_sync_points_in_wait_list,
                                         const cl_sync_point_khr* sync_point_wait_list,
                                         cl_sync_point_khr* sync_point,
                                         cl_mutable_command_khr* mutable_handle);
cl_int CL_API_CALL clCommandSVMMemcpyKHR(
    cl_command_buffer_khr command_buffer, cl_command_queue command_queue,
    const cl_properties* properties, void* dst_ptr, const void* src_ptr, size_t size,
    cl_uint num_sync_points_in_wait_list, const cl_sync_point_khr* sync_point_wait_list,
    cl_sync_point_khr* sync_point, cl_mutable_command_khr* mutable_handle);
cl_int CL_API_CALL clCommandSVMMemFillKHR(cl_command_buffer_khr command_buffer,
                                          cl_command_queue command_queue,
                                          const cl_properties* properties, void* svm_ptr,
                                          const void* pattern, size_t pattern_size, size_t size,
                                          cl_uint num_sync_points_in_wait_list,
                                          const cl_sync_point_khr* sync_point_wait_list,
                                          cl_sync_point_khr* sync_point,
                                          cl_mutable_command_khr* mutable_handle);
cl_int CL_API_CALL clCommandNDRangeKernelKHR(
    cl_command_buffer_khr command_buffer, cl_command_queue command_queue,
    const cl_properties* properties, cl_kernel kernel, cl_uint work_dim,
    const size_t* global_work_offset, const size_t* global_work_size, const size_t* local_work_size,
    cl_uint num_sync_points_in_wait_list, const cl_sync_point_khr* sync_point_wait_list,
    cl_sync_point_khr* sync_point, cl_mutable_command_khr* mutable_handle);

decltype(::clEnqueueAcquireExternalMemObjectsKHR) clEnqueueAcquireExternalMemObjectsKHR;
decltype(::clEnqueueReleaseExternalMemObjectsKHR) clEnqueueReleaseExternalMemObjectsKHR;
// cl_khr_semaphore and cl_khr_external_semaphore, of which older headers do not declare the last.
decltype(::clCreateSemaphoreWithPropertiesKHR) clCreateSemaphoreWithPropertiesKHR;
decltype(::clRetainSemaphoreKHR) clRetainSemaphoreKHR;
decltype(::clReleaseSemaphoreKHR) clReleaseSemaphoreKHR;
decltype(::clGetSemaphoreInfoKHR) clGetSemaphoreInfoKHR;
decltype(::clEnqueueWaitSemaphoresKHR) clEnqueueWaitSemaphoresKHR;
decltype(::clEnqueueSignalSemaphoresKHR) clEnqueueSignalSemaphoresKHR;
decltype(::clGetSemaphoreHandleForTypeKHR) clGetSemaphoreHandleForTypeKHR;
cl_int CL_API_CALL clReImportSemaphoreSyncFdKHR(cl_semaphore_khr sema_object,
                                                cl_properties* reimport_props, int fd);

}  // namespace tutti::icd
