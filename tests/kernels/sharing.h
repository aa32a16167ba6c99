// SPDX-License-Identifier: Apache-2.0
// Gives a vendor's platform what it lacks to share objects with other interfaces: cl_khr_semaphore
// and cl_khr_external_semaphore, made of user events, cl_khr_external_memory, files in memory, and
// cl_khr_gl_sharing, the objects of test_gl.h, whose content comes and goes with acquire and
// release. Where these are used in a wrong order, the
// process aborts.
#pragma once

#include <CL/cl_ext.h>
#include <CL/cl_icd.h>

#include <atomic>
#include <thread>

namespace tutti::kernel_fuzz {

/// Before Tutti's first use of the platform; once.
void give_sharing(cl_platform_id platform);

namespace sharing {

/// Says what, and aborts.
[[noreturn]] void wrong(const char* what);

/// The platform's own functions.
const cl_icd_dispatch& original_of(const void* object);

/// In semaphores.cpp: the function of that name, or null; and what devices say of semaphores.
void* semaphore_function(const char* name);
inline constexpr cl_uint kSemaphoreHandleTypes[] = {CL_SEMAPHORE_HANDLE_OPAQUE_FD_KHR,
                                                    CL_SEMAPHORE_HANDLE_SYNC_FD_KHR};

/// In external_memory.cpp likewise.
void* external_memory_function(const char* name);
cl_mem CL_API_CALL create_buffer(cl_context context, const cl_mem_properties* properties,
                                 cl_mem_flags flags, size_t size, void* host, cl_int* code);
cl_mem CL_API_CALL create_image(cl_context context, const cl_mem_properties* properties,
                                cl_mem_flags flags, const cl_image_format* format,
                                const cl_image_desc* description, void* host, cl_int* code);
inline constexpr cl_uint kMemoryHandleTypes[] = {CL_EXTERNAL_MEMORY_HANDLE_OPAQUE_FD_KHR,
                                                 CL_EXTERNAL_MEMORY_HANDLE_DMA_BUF_KHR};
/// An acquire or a release of such memory; `gl`: of an object of OpenGL.
cl_int hand_over(bool gl, bool acquire, cl_command_queue queue, cl_uint count, const cl_mem* memory,
                 cl_uint event_count, const cl_event* events, cl_event* event);
/// Bytes of an image without gaps.
size_t image_bytes(cl_mem image);
/// The object is one of OpenGL whose content is the test's; `used_by` gets who hands it over.
cl_mem over_content(cl_mem memory, void* content, size_t size, bool image,
                    std::atomic<std::thread::id>* used_by);

/// In gl_sharing.cpp.
void replace_gl_functions(cl_icd_dispatch& table);

}  // namespace sharing
}  // namespace tutti::kernel_fuzz
