// SPDX-License-Identifier: Apache-2.0
// The barrier that no exception of a task passes: in a thread of ours it would end the process.
#pragma once

#include <exception>
#include <new>
#include <system_error>
#include <utility>

#include "base/result.h"

namespace tutti {

/// Runs `task`. CL_OUT_OF_HOST_MEMORY when memory or a thread was lacking, CL_OUT_OF_RESOURCES
/// after any other exception, with its text.
template <typename Task>
Status guarded(Task&& task) noexcept {
  try {
    try {
      std::forward<Task>(task)();
      return {};
    } catch (const std::bad_alloc&) {
      return fail(CL_OUT_OF_HOST_MEMORY, {});  // no memory for a text, maybe
    } catch (const std::system_error& error) {
      return fail(CL_OUT_OF_HOST_MEMORY, error.what());
    } catch (const std::exception& error) {
      return fail(CL_OUT_OF_RESOURCES, error.what());
    }
  } catch (...) {
    return fail(CL_OUT_OF_RESOURCES, {});
  }
}

}  // namespace tutti
