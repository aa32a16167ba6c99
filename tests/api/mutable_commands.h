// SPDX-License-Identifier: Apache-2.0
//
// What the tests of cl_khr_command_buffer_mutable_dispatch share: its functions and structures as
// 0.9.5 has them (older headers declare others), and updates that own what they name. Skipped where
// the device does not have that version.
//
// Ownership: a Change owns the values that it sets. Thread-safety: of the test's thread.
#pragma once

#include <list>

#include "command_buffers.h"

namespace tutti::api_tests {

// Of cl_ext.h, under the same numbers.
constexpr cl_bitfield kMutableFlag = 1 << 1;             // CL_COMMAND_BUFFER_MUTABLE_KHR
constexpr cl_properties kCommandBufferAsserts = 0x12B7;  // …_MUTABLE_DISPATCH_ASSERTS_KHR
constexpr cl_properties kUpdatableFields = 0x12B1;       // CL_MUTABLE_DISPATCH_UPDATABLE_FIELDS_KHR
constexpr cl_properties kDispatchAsserts = 0x12B8;       // CL_MUTABLE_DISPATCH_ASSERTS_KHR
constexpr cl_bitfield kUpdateOffset = 1, kUpdateGlobal = 2, kUpdateLocal = 4, kUpdateArguments = 8,
                      kUpdateExecInfo = 16, kUpdateAll = 31;
constexpr cl_device_info kMutableCapabilities = 0x12B0;     // CL_DEVICE_MUTABLE_DISPATCH_…
constexpr cl_int kInvalidMutableCommand = -1141;            // CL_INVALID_MUTABLE_COMMAND_KHR
constexpr cl_command_buffer_state_khr kFinalizedState = 2;  // CL_COMMAND_BUFFER_STATE_FINALIZED_KHR
constexpr cl_uint kOfQueue = 0x12A0, kOfCommandBuffer = 0x12A1, kOfProperties = 0x12A2,
                  kOfKernel = 0x12A3, kOfDimensions = 0x12A4, kOfOffset = 0x12A5,
                  kOfGlobal = 0x12A6, kOfLocal = 0x12A7, kOfType = 0x12AD;

struct RawArgument {
  cl_uint index;
  size_t size;
  const void* value;
};
struct RawConfig {
  cl_mutable_command_khr command;
  cl_uint num_args, num_svm_args, num_exec_infos, work_dim;
  const RawArgument* args;
  const RawArgument* svm_args;
  const RawArgument* exec_infos;  // the same layout
  const size_t* offset;
  const size_t* global;
  const size_t* local;
};

// How one command is to be changed.
class Change {
 public:
  explicit Change(cl_mutable_command_khr command) { raw_.command = command; }
  Change(const Change&) = delete;

  template <typename T>
  Change& arg(cl_uint index, const T& value) {
    return arg_bytes(index, sizeof value, &value);
  }
  template <typename T, auto kRelease>
  Change& arg(cl_uint index, const Handle<T, kRelease>& object) {
    return arg_bytes(index, sizeof(T), object.list());
  }
  Change& arg(cl_uint index, const LocalBytes& local) {
    args_.push_back({index, local.size, nullptr});
    return *this;
  }
  Change& arg_bytes(cl_uint index, size_t size, const void* value);
  Change& svm(cl_uint index, const void* pointer) {
    svm_args_.push_back({index, 0, pointer});
    return *this;
  }
  Change& exec_info(cl_uint name, size_t size, const void* value) {
    exec_infos_.push_back({name, size, value});
    return *this;
  }
  Change& dims(cl_uint count) {
    raw_.work_dim = count;
    return *this;
  }
  Change& offset(std::vector<size_t> sizes) { return sizes_of(raw_.offset, std::move(sizes)); }
  Change& global(std::vector<size_t> sizes) { return sizes_of(raw_.global, std::move(sizes)); }
  Change& local(std::vector<size_t> sizes) { return sizes_of(raw_.local, std::move(sizes)); }

  // Valid as long as the change, and until it is changed.
  const RawConfig& raw();

 private:
  Change& sizes_of(const size_t*& place, std::vector<size_t> sizes);

  RawConfig raw_{};
  std::vector<RawArgument> args_, svm_args_, exec_infos_;
  std::list<std::vector<std::byte>> values_;
  std::list<std::vector<size_t>> sizes_;
};

struct MutableFunctions {
  cl_int(CL_API_CALL* update)(cl_command_buffer_khr, cl_uint, const cl_uint*,
                              const void**) = nullptr;
  cl_int(CL_API_CALL* info)(cl_mutable_command_khr, cl_uint, size_t, void*, size_t*) = nullptr;
};

class MutableTest : public CommandBufferTest {
 protected:
  void SetUp() override;

  CommandBuffer make_mutable(cl_command_queue queue = nullptr) const;
  // With the list of properties.
  CommandBuffer make_with(const std::vector<cl_properties>& properties,
                          cl_command_queue queue = nullptr) const;
  // A launch that may be updated; expects success.
  cl_mutable_command_khr record(cl_command_buffer_khr commands, cl_kernel kernel, size_t global,
                                const std::vector<cl_properties>& properties = {},
                                const size_t* local = nullptr) const;
  cl_int record_as(cl_command_buffer_khr commands, cl_kernel kernel, size_t global,
                   const std::vector<cl_properties>& properties, const size_t* local,
                   cl_mutable_command_khr* handle) const;
  cl_int update(cl_command_buffer_khr commands, std::initializer_list<Change*> changes) const;
  cl_int update(cl_command_buffer_khr commands, Change& change) const {
    return update(commands, {&change});
  }
  Query info_of(cl_mutable_command_khr command, cl_uint param) const;
  cl_command_buffer_state_khr state_of(cl_command_buffer_khr commands) const {
    return value_of<cl_command_buffer_state_khr>(query_of(commands, CL_COMMAND_BUFFER_STATE_KHR));
  }

  MutableFunctions m_;
};

}  // namespace tutti::api_tests
