// SPDX-License-Identifier: Apache-2.0
// The recording function of an entry point whose arguments' types tell all.
#pragma once

#include "icd/recorder/recorded_call.h"

#include <tuple>

namespace tutti::icd::recorder {

template <auto kFunction, auto kName, Shape kShape>
struct PlainCall;

template <typename R, typename... A, R(CL_API_CALL* kFunction)(A...), auto kName, Shape kShape>
struct PlainCall<kFunction, kName, kShape> {
  static R CL_API_CALL function(A... arguments) {
    RecordedCall call(kName(), kShape);
    if (!call.active()) return kFunction(arguments...);
    if constexpr (kShape.asks) {
      const R code = kFunction(call.passed(arguments)...);
      const void* const value = std::get<sizeof...(A) - 2>(std::forward_as_tuple(arguments...));
      if (code == CL_SUCCESS) call.set_answer(value);
      call.arguments(arguments...);
      call.finish(code);
      return code;
    }
    call.arguments(arguments...);
    const R result = kFunction(call.passed(arguments)...);
    if constexpr (std::is_pointer_v<R>) {
      call.created(result);
      call.finish(call.code());
    } else {
      call.finish(result);
    }
    return result;
  }
};

}  // namespace tutti::icd::recorder
