// SPDX-License-Identifier: Apache-2.0
#include "icd/validate/mutable_command.h"

#include <algorithm>

#include "icd/validate/command_buffer.h"
#include "icd/validate/property_list.h"

namespace tutti::icd::validate {

namespace api = device_virtual;
using api::CommandBuffer;
using api::DispatchConfig;
using api::MutableCommand;
using tutti::fail;

Result<MutableCommand*> mutable_command(cl_mutable_command_khr handle) {
  // "CL_INVALID_MUTABLE_COMMAND_KHR if command is not a valid mutable command object."
  if (auto* found = api::from_handle<MutableCommand>(handle)) return found;
  return fail(api::kInvalidMutableCommand, "not a command of a command buffer");
}

namespace {

Status launch_property(cl_properties name, cl_properties value) {
  // "CL_INVALID_VALUE if values specified in properties are not valid."
  if (name != api::kUpdatableFields && name != api::kDispatchAsserts) {
    return fail(CL_INVALID_VALUE, "an unknown property");
  }
  // "CL_INVALID_OPERATION if the requested CL_MUTABLE_DISPATCH_UPDATABLE_FIELDS_KHR properties are
  // not reported by CL_DEVICE_MUTABLE_DISPATCH_CAPABILITIES_KHR": all that there are are.
  const bool fields = name == api::kUpdatableFields;
  if ((value & ~(fields ? api::kUpdates : api::kNoAdditionalGroups)) != 0) {
    return fail(CL_INVALID_VALUE, "unknown flags");
  }
  return {};
}

/// Whether a list and its length contradict each other.
bool contradict(const void* list, cl_uint count) { return (list == nullptr) != (count == 0); }

Status may_update(const MutableCommand& command, cl_bitfield field, bool wanted) {
  if (!wanted || (command.fields() & field) != 0) return {};
  return fail(CL_INVALID_OPERATION, "recorded as not to be updated");
}

}  // namespace

Result<LaunchProperties> launch_properties(const CommandBuffer& commands,
                                           const cl_properties* properties, const size_t* local) {
  LaunchProperties result;
  TUTTI_ASSIGN(result.properties, property_list(properties, launch_property));
  // "CL_INVALID_VALUE if command_buffer was created with the
  // CL_COMMAND_BUFFER_MUTABLE_DISPATCH_ASSERTS_KHR property with
  // CL_MUTABLE_DISPATCH_ASSERT_NO_ADDITIONAL_WORK_GROUPS_KHR and local_work_size is NULL, or if
  // properties includes …".
  const cl_bitfield asserts = commands.property(api::kCommandBufferAsserts) |
                              api::property_in(result.properties, api::kDispatchAsserts, 0);
  if ((asserts & api::kNoAdditionalGroups) != 0 && local == nullptr) {
    return fail(CL_INVALID_VALUE, "an assertion about work-groups whose size is not given");
  }
  // "If CL_MUTABLE_DISPATCH_UPDATABLE_FIELDS_KHR is not specified then it defaults to the value
  // returned by the … device query."
  result.fields = api::property_in(result.properties, api::kUpdatableFields, api::kUpdates);
  return result;
}

Result<UpdateCommands> update_commands(cl_command_buffer_khr handle, cl_uint num_configs,
                                       const cl_uint* types, const void* const* configs) {
  UpdateCommands call;
  TUTTI_ASSIGN(call.commands, command_buffer(handle));
  // "CL_INVALID_OPERATION if command_buffer has not been finalized." "CL_INVALID_OPERATION if
  // command_buffer was not created with the CL_COMMAND_BUFFER_MUTABLE_KHR flag."
  if (!call.commands->is_finalized() || !call.commands->is_mutable()) {
    return fail(CL_INVALID_OPERATION, "the command buffer is not finalized, or not mutable");
  }
  // "CL_INVALID_VALUE if config_types is NULL and num_configs > 0, or config_types is not NULL and
  // num_configs is 0"; the same of configs.
  if (contradict(types, num_configs) || contradict(configs, num_configs)) {
    return fail(CL_INVALID_VALUE, "num_configs contradicts the lists");
  }
  // "CL_INVALID_VALUE if any element of config_types is not a valid
  // cl_command_buffer_update_type_khr enum." "CL_INVALID_VALUE if any element of configs is NULL."
  for (cl_uint i = 0; i < num_configs; ++i) {
    if (types[i] != api::kDispatchConfig || configs[i] == nullptr) {
      return fail(CL_INVALID_VALUE, "an unknown type of update, or none");
    }
    call.configs.push_back(static_cast<const DispatchConfig*>(configs[i]));
  }
  return call;
}

Result<MutableCommand*> updated_command(const CommandBuffer& commands,
                                        const DispatchConfig& config) {
  // "CL_INVALID_MUTABLE_COMMAND_KHR if command is not a valid mutable command object returned from
  // clCommandNDRangeKernelKHR, or created from command_buffer."
  TUTTI_ASSIGN(auto* const command, mutable_command(config.command));
  if (&command->owner() != &commands) {
    return fail(api::kInvalidMutableCommand, "a command of another command buffer");
  }
  return command;
}

Result<DispatchUpdate> dispatch_update(MutableCommand& command, cl_uint dims,
                                       const DispatchConfig& config) {
  DispatchUpdate update;
  // "CL_INVALID_OPERATION if work_dim is not zero and different from the work_dim set on command
  // recording."
  if (config.work_dim != 0 && config.work_dim != dims) {
    return fail(CL_INVALID_OPERATION, "not the work_dim of the recording");
  }
  // "CL_INVALID_OPERATION if the CL_MUTABLE_DISPATCH_… property was not set on command recording
  // and" such a field is given.
  TUTTI_TRY(may_update(command, api::kUpdatesOffset, config.global_work_offset != nullptr));
  TUTTI_TRY(may_update(command, api::kUpdatesGlobal, config.global_work_size != nullptr));
  TUTTI_TRY(may_update(command, api::kUpdatesLocal, config.local_work_size != nullptr));
  TUTTI_TRY(may_update(command, api::kUpdatesArguments,
                       config.num_args != 0 || config.num_svm_args != 0));
  TUTTI_TRY(may_update(command, api::kUpdatesExecInfo, config.num_exec_infos != 0));
  // "CL_INVALID_VALUE if arg_list is NULL and num_args > 0, or arg_list is not NULL and num_args is
  // 0"; the same of the other lists.
  if (contradict(config.arg_list, config.num_args) ||
      contradict(config.arg_svm_list, config.num_svm_args) ||
      contradict(config.exec_info_list, config.num_exec_infos)) {
    return fail(CL_INVALID_VALUE, "a list and its length contradict each other");
  }
  update.arguments = {config.arg_list, config.num_args};
  update.pointers = {config.arg_svm_list, config.num_svm_args};
  update.exec_infos = {config.exec_info_list, config.num_exec_infos};
  return update;
}

Status same_uniformity(const NDRangeShape& before, const NDRangeShape& after) {
  // Where the application gives no local size, or there are no work-groups, nothing tells.
  if (!before.local_given || !after.local_given) return {};
  if (before.shape.is_empty() || after.shape.is_empty()) return {};
  const auto uniform = [](const scheduler::LaunchShape& shape) {
    return std::all_of(
        shape.global.begin(), shape.global.end(),
        [&, d = size_t{0}](uint64_t size) mutable { return size % shape.local[d++] == 0; });
  };
  if (uniform(before.shape) != uniform(after.shape)) {
    return fail(CL_INVALID_OPERATION, "work-groups become uniform, or cease to be");
  }
  return {};
}

}  // namespace tutti::icd::validate
