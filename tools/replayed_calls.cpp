// SPDX-License-Identifier: Apache-2.0
// first, since cl_icd.h declares what cl.h hides without these
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "tools/replayed_calls.h"

#include <functional>
#include <map>

namespace tutti::tools {
namespace {

using Caller = void* (*)(const cl_icd_dispatch&, ReplayFrame&, const record::Call&);

template <auto kSlot>
void* call_slot(const cl_icd_dispatch& cl, ReplayFrame& frame, const record::Call& call) {
  if constexpr (std::is_same_v<decltype(frame.call(cl.*kSlot, call)), cl_int>) {
    frame.code = frame.call(cl.*kSlot, call);
    return nullptr;
  } else {
    return frame.call(cl.*kSlot, call);
  }
}

const std::map<std::string_view, Caller>& table() {
  static const std::map<std::string_view, Caller> callers{
#define TUTTI_REPLAYED_CALL(name) {#name, &call_slot<&cl_icd_dispatch::name>},
#include "tools/replayed_calls.def"
#undef TUTTI_REPLAYED_CALL
      {"clCreateCommandQueueWithPropertiesKHR",
       &call_slot<&cl_icd_dispatch::clCreateCommandQueueWithProperties>},
  };
  return callers;
}

}  // namespace

void* call_recorded(const cl_icd_dispatch& cl, ReplayFrame& frame, const record::Call& call) {
  const auto found = table().find(call.name);
  return found != table().end() ? found->second(cl, frame, call) : nullptr;
}

bool is_replayed(std::string_view name) { return table().contains(name); }

}  // namespace tutti::tools
