// SPDX-License-Identifier: Apache-2.0
// Entry points on recorded launches (cl_khr_command_buffer_mutable_dispatch).
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "icd/entry/entries.h"
#include "icd/entry/entry.h"
#include "icd/entry/works.h"
#include "icd/validate/mutable_command.h"

namespace tutti::icd {
namespace {

using device_virtual::CommandBuffer;
using device_virtual::DispatchConfig;
using device_virtual::GivenRange;
using device_virtual::MutableCommand;
using device_virtual::RecordedLaunch;

/// `old` with what the configuration changes, each value set and each size checked as by the
/// functions that the application calls outside of command buffers.
Result<std::shared_ptr<const RecordedLaunch>> updated(const RecordedLaunch& old,
                                                      MutableCommand& command,
                                                      const DispatchConfig& config) {
  TUTTI_ASSIGN(const auto update, validate::dispatch_update(command, old.range.dims, config));
  const auto kernel = old.own->copy_for_command();
  for (const auto& one : update.arguments) {
    TUTTI_TRY(set_argument(*kernel, one.index, one.size, one.value));
  }
  for (const auto& one : update.pointers) {
    TUTTI_ASSIGN(const auto call,
                 validate::argument_pointer(kernel->handle(), one.index, one.value));
    set_pointer(call, one.index);
  }
  for (const auto& one : update.exec_infos) {
    TUTTI_TRY(validate::exec_info(*kernel, one.name, one.size, one.value));
  }
  GivenRange range = old.range;
  range.replace(config.global_work_offset, config.global_work_size, config.local_work_size);
  validate::KernelLaunch launch;
  validate::WaitList none;
  TUTTI_TRY(validate::kernel_launch(command.owner().queue().handle(), kernel->handle(),
                                    {range.dims, range.offset.data(), range.global.data(),
                                     range.local_given ? range.local.data() : nullptr},
                                    0, nullptr, launch, none, true));
  TUTTI_TRY(validate::same_uniformity({old.work.shape, old.work.local_given}, launch.range));
  return recorded_launch(std::move(launch), range, kernel);
}

/// Of all configurations, as if one came after the other.
Result<std::vector<CommandBuffer::Update>> updates_of(const validate::UpdateCommands& call) {
  std::vector<CommandBuffer::Update> updates;
  std::unordered_map<const MutableCommand*, size_t> places;
  for (const DispatchConfig* config : call.configs) {
    TUTTI_ASSIGN(auto* const command, validate::updated_command(*call.commands, *config));
    const auto [place, first] = places.try_emplace(command, updates.size());
    if (first) {
      const auto now = call.commands->launch_of(*command);
      updates.push_back({command, now, now});
    }
    auto& to = updates[place->second].to;
    TUTTI_ASSIGN(to, updated(*to, *command, *config));
  }
  return updates;
}

}  // namespace

cl_int CL_API_CALL clUpdateMutableCommandsKHR(cl_command_buffer_khr command_buffer,
                                              cl_uint num_configs, const cl_uint* config_types,
                                              const void** configs) {
  return entry("clUpdateMutableCommandsKHR", [&]() -> Status {
    TUTTI_ASSIGN(const auto call,
                 validate::update_commands(command_buffer, num_configs, config_types, configs));
    // Should another thread have updated one of the commands meanwhile, this comes after that.
    for (;;) {
      TUTTI_ASSIGN(const auto updates, updates_of(call));
      if (call.commands->update(updates)) return {};
    }
  });
}

cl_int CL_API_CALL clGetMutableCommandInfoKHR(cl_mutable_command_khr command, cl_uint param_name,
                                              size_t param_value_size, void* param_value,
                                              size_t* param_value_size_ret) {
  return entry("clGetMutableCommandInfoKHR", [&]() -> Status {
    TUTTI_ASSIGN(auto* const object, validate::mutable_command(command));
    return object->info(param_name, {param_value_size, param_value, param_value_size_ret});
  });
}

}  // namespace tutti::icd
