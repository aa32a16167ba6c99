// SPDX-License-Identifier: Apache-2.0
// Which call of the vendor fails, and how. A plan is a text,
//   FUNCTION:DEVICE:NUMBER:MODE[:ERROR][@PROCESS], …
// for example clEnqueueNDRangeKernel:1:3:event. Calls are counted from 1, by function and device
// (the vendor's order), since those of different devices come from different threads. `*` is any
// device: each then has its own NUMBER-th call. NUMBER may be *N: each N-th one. ERROR is a code,
// such as -5. PROCESS is a program's name; without it, the fault happens in every program but
// tutti-probe and tutti-builder.
//
// All functions here may be called from any thread.
#pragma once

#include <CL/cl.h>

#include <cstdint>
#include <string>

namespace tutti::faulty {

enum class Mode : uint8_t {
  kNone,
  kFail,       // the call returns an error, nothing is done
  kFailDone,   // the call returns an error, but what it asks for is done
  kEvent,      // the call succeeds; nothing is done, and the event fails later
  kEventDone,  // … although all is done
  kEventHalf,  // … although half of it is done
  kDelay,      // done later: when somebody waits for it, or has asked a few times
  kHang,       // never done; who waits, waits for ever
  kLost,       // from this call on, every call of this device fails
  kContext,    // likewise, of what belongs to a context that was made before this call
  kWrong,      // of a kernel: it runs, and a byte of what it wrote is another one
  kCrash,      // SIGSEGV in the call
};

struct Fault {
  Mode mode = Mode::kNone;
  cl_int error = CL_SUCCESS;
};

/// A number for the function, by which its calls are counted. Once for each name.
int function_number(const std::string& name);

/// Throws std::invalid_argument, which says what is wrong.
void set_plan(const std::string& text);

/// Counts this call, and says what happens to it. A lost device's calls fail, with an error, and so
/// do those that use what belongs to a lost context (null: the call uses none). `device` is
/// negative for calls that concern none, which are counted as the first one's: a driver answers
/// them whatever has become of its devices.
Fault next_call(int function, int device, const void* context);

/// A context was made for the device.
void note_context(const void* context, int device);

/// Kernels that devices whose contexts were lost got in other ones.
int launches_after_loss();

/// Whether the device is lost; for what is asked of one that nobody counts.
bool is_lost(int device);

/// From here on, calls belong to the scenario and not to its preparation.
void end_preparation();

/// A line for each function and device that was called: NAME DEVICE CALLS-OF-PREPARATION CALLS.
std::string counts();

/// How many of the plan's faults have happened.
int faults_happened();

}  // namespace tutti::faulty
