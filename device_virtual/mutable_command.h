// SPDX-License-Identifier: Apache-2.0
// What clCommandNDRangeKernelKHR returns of a recorded launch: by it the application asks for the
// launch and updates it (cl_khr_command_buffer_mutable_dispatch). Owned by the command buffer, with
// which it ends. Thread-safe.
#pragma once

#include <CL/cl.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "device_virtual/command_buffer_api.h"
#include "device_virtual/handle.h"
#include "device_virtual/info.h"

namespace tutti::device_virtual {

class CommandBuffer;
class Kernel;

class MutableCommand
    : public Handle<MutableCommand, _cl_mutable_command_khr, Kind::kMutableCommand> {
 public:
  /// `kernel`: the application's, which the command buffer keeps. `properties`: as given, with the
  /// closing 0; empty if NULL. `fields`: that may be updated.
  MutableCommand(CommandBuffer& owner, Kernel& kernel, std::vector<cl_properties> properties,
                 cl_bitfield fields)
      : owner_(owner), kernel_(kernel), properties_(std::move(properties)), fields_(fields) {}

  CommandBuffer& owner() const { return owner_; }
  cl_bitfield fields() const { return fields_; }
  /// Its place in the command buffer, which sets it when it takes the command.
  uint32_t index() const { return index_; }
  void set_index(uint32_t index) { index_ = index; }

  Status info(cl_uint what, const InfoAnswer& answer);

 private:
  CommandBuffer& owner_;
  Kernel& kernel_;
  const std::vector<cl_properties> properties_;
  const cl_bitfield fields_;
  uint32_t index_ = 0;
};

}  // namespace tutti::device_virtual
