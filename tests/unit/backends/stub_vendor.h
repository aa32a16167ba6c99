// SPDX-License-Identifier: Apache-2.0
// The script language of the stub vendor driver, a small OpenCL driver for tests that computes on
// the host and fails on demand. It is steered by the environment variable TUTTI_TEST_STUB, or, once
// it is loaded, by its exported functions; see below. One stub library is one driver with one
// platform.
//
// A script is a list of words with blanks between them:
//   crash:FUNCTION           the function ends the process with SIGSEGV
//   hang:FUNCTION            the function never returns
//   meet:FUNCTION:FOLDER     the function waits for another process to call it; "gate" in the
//                            folder is a FIFO
//   error:FUNCTION:CODE      the function returns CODE (also clBuildProgram, clCreate…, clEnqueue…)
//   null:FUNCTION            the slot in the dispatch table is null; read with the platforms
//   event:CODE               commands do nothing; their events end with CODE, or from 1 on never
//   no-platforms, no-devices
//   platform:NAME, device:NAME, devices:N, type:cpu|gpu|accelerator|custom, units:N, version:1.1,
//   c-version:1.1, newest-c:3.1 (the only one listed), unavailable, no-compiler, address-bits:N
//   host-copy                CL_MEM_USE_HOST_PTR buffers are copies
//   driver:VERSION           CL_DRIVER_VERSION
//   pci-bus:N                its PCI address is fff0:N:00.0, N in decimal; 0: 0000:00:00.0
//   native:here|thread|wait  the device runs native kernels: in the thread that enqueues them, in
//                            one of its own, or in the one that waits (clFinish)
//   equal-times              profiling times are consecutive numbers, as on llvmpipe of Mesa 22.3
//   notify:WORD              the context tells its callback WORD when it is made
//
// Kernels, whatever the source says, as long as it contains their name: `add_one` adds 1 to each
// uint of argument 0 at the global ids; `scale` multiplies it by the uint argument 1. A source with
// the text "#error" does not build. Commands run at once, in the enqueuing thread.
#pragma once

#include <cstdint>

extern "C" {
using TuttiTestStubScript = void (*)(const char* script);       // tutti_test_stub_script
using TuttiTestStubCalls = uint64_t (*)(const char* function);  // tutti_test_stub_calls
using TuttiTestStubLiveObjects = int64_t (*)();                 // tutti_test_stub_live_objects
}
