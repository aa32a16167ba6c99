// SPDX-License-Identifier: Apache-2.0
#include "device_virtual/sampler.h"

#include <utility>

namespace tutti::device_virtual {

Sampler::Sampler(Context& context, backends::SamplerState state,
                 std::vector<cl_sampler_properties> properties)
    : context_(&context), state_(state), properties_(std::move(properties)) {}

Status Sampler::info(cl_sampler_info what, const InfoAnswer& answer) const {
  switch (what) {
    case CL_SAMPLER_REFERENCE_COUNT:
      return answer.value(public_references());
    case CL_SAMPLER_CONTEXT:
      return answer.value<cl_context>(context_->handle());
    case CL_SAMPLER_NORMALIZED_COORDS:
      return answer.boolean(state_.normalized);
    case CL_SAMPLER_ADDRESSING_MODE:
      return answer.value(state_.addressing);
    case CL_SAMPLER_FILTER_MODE:
      return answer.value(state_.filter);
    case CL_SAMPLER_PROPERTIES:
      return answer.list(std::span<const cl_sampler_properties>(properties_));
    default:
      return unknown_query();
  }
}

}  // namespace tutti::device_virtual
