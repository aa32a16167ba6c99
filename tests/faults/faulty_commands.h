// SPDX-License-Identifier: Apache-2.0
// What happens to commands of a faulty vendor's queues, and to their events. A command that is not
// carried out as usual gets an event of ours (one of the vendor's user events, which the vendor
// itself never sees in a wait list), whose status is told here.
//
// What a vendor may do when a command fails is its own choice (OpenCL 3.0, 5.13). This one does the
// least that lets anybody know: who has the command's event is told by it, and later commands run.
// Where nobody has it, all later commands of that queue fail, until a clFinish has told it.
//
// All functions may be called from any thread.
#pragma once

#include <CL/cl_icd.h>

#include <functional>
#include <optional>

#include "faulty_plan.h"

namespace tutti::faulty {

/// The vendor's own functions, and which of its devices an object belongs to.
const cl_icd_dispatch& vendor();
int device_of(cl_command_queue queue);
void set_vendor(const cl_icd_dispatch& table);

using CarryOut = std::function<cl_int(cl_uint, const cl_event*, cl_event*)>;

struct Command {
  cl_command_queue queue = nullptr;
  bool blocking = false;
  cl_uint wait_count = 0;
  const cl_event* wait = nullptr;
  cl_event* event = nullptr;
  CarryOut carry_out;
  std::function<CarryOut()> keep;  // a copy for later; where there is none, it cannot be delayed
  CarryOut half;                   // the first half of it; where there is none, all of it
};

cl_int enqueue(const Command& command, Fault fault);

cl_int flush(cl_command_queue queue);
cl_int finish(cl_command_queue queue);
cl_int wait_for(cl_uint count, const cl_event* events);

/// Of an event of ours; nothing where it is the vendor's.
std::optional<cl_int> status_of(cl_event event);
/// Somebody has been told that the vendor's command has ended: those before it have, too.
void note_ended(cl_event event);
bool is_ours(cl_event event);
int device_of(cl_event event);
void release(cl_event event);
void release(cl_command_queue queue);

/// As a call that never returns.
[[noreturn]] void wait_for_ever();

/// What was delayed is carried out, since something that it uses may go.
void carry_out_all();

}  // namespace tutti::faulty
