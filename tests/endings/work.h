// SPDX-License-Identifier: Apache-2.0
// What every ending has to do with: an OpenCL program with a queue, a buffer and kernels. Raw
// handles on purpose: these processes release nothing, or release late. Thread-safe as OpenCL is.
#pragma once

#include <CL/cl.h>

#include <cstddef>
#include <string>

namespace tutti::endings {

/// The platform whose name begins so is used.
void choose_platform(const std::string& name);
bool is_tutti();

/// Ends the process with a message when a call fails.
void require(cl_int code, const char* what);
/// The same when something else is not as it should be.
void require(bool holds, const char* what);

struct Work {
  static constexpr size_t kCount = 1 << 14;

  cl_device_id device = nullptr;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
  cl_mem buffer = nullptr;
  cl_program program = nullptr;
  cl_kernel kernel = nullptr;   // adds 1 to each element, and takes a while
  cl_kernel endless = nullptr;  // ends where the buffer has -1
  cl_int launches = 0;          // of `kernel`
};

/// Of ways that have one for the whole process.
extern Work the_work;

Work make_work();
/// Loads the drivers that the .icd files of TUTTI_VENDORS name, and asks for their devices. A
/// process that exits while another thread does so crashes now and then, natively, too: PoCL loads
/// LLVM then, and exit() destroys what LLVM constructs.
void load_vendors();
/// Whether Tutti is loaded; of other platforms true.
bool platform_is_loaded();
/// The first calls of a process that may be going down meanwhile.
void begin_somehow();
/// `event`: of the launch, null: none.
void launch(Work& work, cl_event wait_for = nullptr, cl_event* event = nullptr);
/// A kernel that ends only if it is to, which it sees in the buffer.
void run_endless(const Work& work, bool ends);
bool runs_native_kernels(const Work& work);
/// Reads the buffer, and requires that each launch has had its effect.
void check(const Work& work);
void release(const Work& work);
cl_event gate(const Work& work);
/// Builds a program that nobody has built before, with so many statements. `notify`: see
/// clBuildProgram.
void build_something_new(const Work& work, void(CL_CALLBACK* notify)(cl_program, void*) = nullptr,
                         int statements = 1);

/// Calls `callback` when the event has ended.
void call_back(cl_event event, void(CL_CALLBACK* callback)(cl_event, cl_int, void*));

/// In a signal handler: whether the thread was in the middle of malloc or free.
bool allocator_is_interrupted();

/// Writes a line to stdout: for the driver.
void tell(const char* line);
/// Returns when the process's first thread has ended by pthread_exit, or at once in that thread.
void wait_until_main_has_ended();
/// Returns when no thread of Tutti's is left but the calling one.
void wait_until_no_thread_of_tutti();
/// Returns when the thread sleeps, in whatever call.
void wait_until_asleep(int thread);

}  // namespace tutti::endings
