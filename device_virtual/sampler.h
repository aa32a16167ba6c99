// SPDX-License-Identifier: Apache-2.0
// A sampler: three settings. Kernels and commands copy them, the vendors' samplers are made where
// they are used, so nothing depends on this object's life. Immutable.
#pragma once

#include <CL/cl.h>

#include <vector>

#include "backends/api/backend.h"
#include "device_virtual/context.h"
#include "device_virtual/handle.h"
#include "device_virtual/info.h"

namespace tutti::device_virtual {

class Sampler : public Handle<Sampler, _cl_sampler, Kind::kSampler> {
 public:
  /// `properties`: as given to clCreateSamplerWithProperties, with the closing 0; empty if NULL.
  Sampler(Context& context, backends::SamplerState state,
          std::vector<cl_sampler_properties> properties);

  Context& context() const { return *context_; }
  const backends::SamplerState& state() const { return state_; }
  Status info(cl_sampler_info what, const InfoAnswer& answer) const;

 private:
  const Ref<Context> context_;
  const backends::SamplerState state_;
  const std::vector<cl_sampler_properties> properties_;
};

}  // namespace tutti::device_virtual
