// SPDX-License-Identifier: Apache-2.0
#include "device_virtual/mutable_command.h"

#include <algorithm>
#include <span>

#include "device_virtual/command_buffer.h"
#include "device_virtual/kernel.h"
#include "device_virtual/recorded_launch.h"

namespace tutti::device_virtual {

void GivenRange::replace(const size_t* new_offset, const size_t* new_global,
                         const size_t* new_local) {
  if (new_offset != nullptr) std::copy_n(new_offset, dims, offset.begin());
  if (new_global != nullptr) std::copy_n(new_global, dims, global.begin());
  if (new_local == nullptr) return;
  std::copy_n(new_local, dims, local.begin());
  local_given = true;
}

Status MutableCommand::info(cl_uint what, const InfoAnswer& answer) {
  const auto launch = owner_.launch_of(*this);
  const GivenRange& range = launch->range;
  const auto sizes = [&](const std::array<size_t, 3>& all) {
    return answer.list(std::span<const size_t>(all.data(), range.dims));
  };
  switch (what) {
    case kMutableCommandQueue:
      return answer.value<cl_command_queue>(owner_.queue().handle());
    case kMutableCommandBuffer:
      return answer.value<cl_command_buffer_khr>(owner_.handle());
    case kMutableCommandType:
      return answer.value<cl_command_type>(CL_COMMAND_NDRANGE_KERNEL);
    case kMutableCommandProperties:
      return answer.list(std::span<const cl_properties>(properties_));
    case kMutableCommandKernel:
      return answer.value<cl_kernel>(kernel_.handle());
    case kMutableCommandDimensions:
      return answer.value<cl_uint>(range.dims);
    case kMutableCommandOffset:
      return sizes(range.offset);
    case kMutableCommandGlobal:
      return sizes(range.global);
    case kMutableCommandLocal:
      return sizes(range.local);  // "If a local work-item size was not set, zero is returned"
    default:
      return unknown_query();
  }
}

}  // namespace tutti::device_virtual
