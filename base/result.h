// SPDX-License-Identifier: Apache-2.0
// The one error idiom of the project: functions that can fail return Result<T> or Status; the C ABI
// turns an Error into a cl_int at its edge (icd/). Plain values, no ownership, thread-safe.
#pragma once

#include <CL/cl.h>

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace tutti {

/// An OpenCL error code and, where it helps a person, what happened in words.
struct Error {
  cl_int code = CL_OUT_OF_RESOURCES;
  std::string message;
};

template <typename T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

/// An error value, convertible to any Result.
inline tl::unexpected<Error> fail(cl_int code, std::string message = {}) {
  return tl::unexpected<Error>(Error{code, std::move(message)});
}

inline cl_int code_of(const Status& status) { return status ? CL_SUCCESS : status.error().code; }

}  // namespace tutti

/// Returns the error of a Status expression to the caller.
#define TUTTI_TRY(expression)                                                    \
  do {                                                                           \
    if (auto tutti_status_ = (expression); !tutti_status_) {                     \
      return ::tl::unexpected<::tutti::Error>(std::move(tutti_status_).error()); \
    }                                                                            \
  } while (false)

#define TUTTI_CONCAT_INNER(a, b) a##b
#define TUTTI_CONCAT(a, b) TUTTI_CONCAT_INNER(a, b)
/// Declares `declaration` from a Result expression, or returns its error to the caller.
#define TUTTI_ASSIGN(declaration, expression)                      \
  auto TUTTI_CONCAT(tutti_result_, __LINE__) = (expression);       \
  if (!TUTTI_CONCAT(tutti_result_, __LINE__)) {                    \
    return ::tl::unexpected<::tutti::Error>(                       \
        std::move(TUTTI_CONCAT(tutti_result_, __LINE__)).error()); \
  }                                                                \
  declaration = std::move(*TUTTI_CONCAT(tutti_result_, __LINE__))
