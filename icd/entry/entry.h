// SPDX-License-Identifier: Apache-2.0
// The one shape of every entry point: fork check, note of the calling thread, trace, exception
// barrier, the body (validate, then one call), and the answer as a cl_int or through errcode_ret.
// Nothing else lives here.
// Thread-safe.
#pragma once

#include <CL/cl.h>

#include <exception>
#include <new>
#include <type_traits>
#include <utility>

#include "base/calling_threads.h"
#include "base/log.h"
#include "base/result.h"
#include "base/trace.h"
#include "platform/composition.h"

namespace tutti::icd {

/// Logs an error that goes to the application; never throws.
void report_error(const char* entry_point, const Error& error) noexcept;

/// Runs `body`, which returns Status. `name` is the entry point's name, for the log.
template <typename Body>
cl_int entry(const char* name, Body&& body) noexcept {
  if (platform::is_forked_child()) return CL_OUT_OF_RESOURCES;
  note_calling_thread();
  trace::CallScope call(name);
  try {
    const Status status = std::forward<Body>(body)();
    if (status) return CL_SUCCESS;
    report_error(name, status.error());
    call.failed(status.error().code);
    return status.error().code;
  } catch (const std::bad_alloc&) {
    return CL_OUT_OF_HOST_MEMORY;
  } catch (...) {
    report_error(name, Error{CL_OUT_OF_RESOURCES, "unexpected exception"});
    return CL_OUT_OF_RESOURCES;
  }
}

/// Runs `body`, which returns Result<T> with T a handle (cl_mem …) or another pointer; null and the
/// code through `errcode_ret` on failure.
template <typename Body>
auto entry_object(const char* name, cl_int* errcode_ret, Body&& body) noexcept ->
    typename std::invoke_result_t<Body>::value_type {
  typename std::invoke_result_t<Body>::value_type object = nullptr;
  const cl_int code = entry(name, [&]() -> Status {
    auto result = body();
    if (!result) return tl::unexpected<Error>(std::move(result).error());
    object = *result;
    return {};
  });
  if (errcode_ret != nullptr) *errcode_ret = code;
  return object;
}

}  // namespace tutti::icd
