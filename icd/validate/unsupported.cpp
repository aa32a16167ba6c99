// SPDX-License-Identifier: Apache-2.0
#include "icd/validate/unsupported.h"

#include "base/log.h"

namespace tutti::icd::validate {

void say_once(const char* entry_point) {
  log_once(entry_point, LogLevel::kWarning, "{} is not supported by Tutti yet", entry_point);
}

Status unsupported_in_context(const char* entry_point, cl_context context_handle) {
  // "CL_INVALID_CONTEXT if context is not a valid context."
  TUTTI_ASSIGN([[maybe_unused]] auto* const found, context(context_handle));
  say_once(entry_point);
  // "CL_INVALID_OPERATION if there are no devices in context that support images" (samplers).
  return fail(CL_INVALID_OPERATION, "the device does not support it");
}

Status unsupported_in_queue(const char* entry_point, cl_command_queue queue_handle) {
  // "CL_INVALID_COMMAND_QUEUE if command_queue is not a valid host command-queue."
  TUTTI_ASSIGN([[maybe_unused]] auto* const found, queue(queue_handle));
  say_once(entry_point);
  // "CL_INVALID_OPERATION if the device associated with command_queue does not support images"
  // (SVM).
  return fail(CL_INVALID_OPERATION, "the device does not support it");
}

}  // namespace tutti::icd::validate
