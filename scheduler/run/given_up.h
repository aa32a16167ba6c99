// SPDX-License-Identifier: Apache-2.0
// Why something that has failed is not computed anew, in the log: a user whose result is missing
// learns whether what it needs was gone, and where that was. The texts are read by
// tests/faults/sweep.py, which counts by them. Stateless; no lock is held.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "scheduler/command/work.h"
#include "scheduler/order/command_log.h"
#include "scheduler/run/package_use.h"

namespace tutti::scheduler {

enum class NotAnew : uint8_t {
  kOverwritten,  // what it needs: it may have changed that, and nobody else has it
  kReliedOn,     // others have begun with what it should have written
  kJoined,       // others have joined it, whose ends are not known one by one
  kUnknown,      // what it reads and writes is not known closely
  kRefused,      // every device that may carry it out has failed
  kTransfer,     // no way to or from a device has worked
  kMayGoOn,      // its device may still be computing
};

/// Of a command of that work. For the log alone.
void tell_given_up(const Work& work, NotAnew why, const Error& error);
/// `uses`: of the launch, or of a package of it, on the device that has failed.
void tell_given_up(const KernelWork& work, NotAnew why, const Error& error,
                   std::span<const PackageUse> uses = {});
/// The device is lost: what of the buffer lies there alone has failed, and the log says how much
/// that is.
void lose_content(CommandLog& commands, BackendSet& backends, LogicalBuffer& buffer,
                  uint32_t backend, cl_int error);
/// The same of what a launch, which has ended, has left on devices that were lost meanwhile.
void lose_results(CommandLog& commands, BackendSet& backends, const KernelWork& work);

}  // namespace tutti::scheduler
