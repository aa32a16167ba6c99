// SPDX-License-Identifier: Apache-2.0
// A program: where it came from, the state of its last build, compilation or linking, and what that
// gave: the built program that kernels are made from, or the units of an object or a library. Both
// are shared, so that kernels, commands in flight and linked programs keep what they need. Kernels
// hold a reference to their program; "attached" counts those that the application still has.
// Thread-safe. No lock is held while compilers run or the application's callback is called.
#pragma once

#include <CL/cl.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/thread_annotations.h"
#include "device_virtual/built_program.h"
#include "device_virtual/context.h"
#include "device_virtual/handle.h"
#include "device_virtual/info.h"
#include "device_virtual/program_binary.h"

namespace tutti::device_virtual {

class Kernel;

class Program : public Handle<Program, _cl_program, Kind::kProgram> {
 public:
  using Devices = std::vector<Ref<Device>>;
  using Notify = void(CL_CALLBACK*)(cl_program, void*);

  Program(Context& context, std::string source);
  /// Of kernels built into the devices, which have all of them; it is built already, as far as that
  /// succeeds.
  static Program* create_with_built_in_kernels(Context& context, Devices devices,
                                               const std::string& names);
  /// In SPIR-V; `il` is what the application gave.
  Program(Context& context, kernel_compiler::SpirvModule module, std::string il);
  /// From binaries that Tutti made, one per entry of the device list (which names the one device,
  /// perhaps again); CL_INVALID_BINARY, and `status` (unless null) tells which.
  static Result<Program*> create_from_binaries(Context& context, Devices devices, cl_uint count,
                                               const size_t* lengths,
                                               const unsigned char* const* binaries,
                                               cl_int* status);

  Context& context() const { return *context_; }

  /// In the order in which CL_PROGRAM_DEVICES tells them.
  std::span<const Ref<Device>> devices() const { return devices_; }
  bool has(const Device* device) const;

  /// clBuildProgram for `devices` of the program's, and what it has of their sub-devices. Without
  /// `notify`: returns when the build has ended, with its outcome. With it: checks what can be
  /// checked at once, then builds in a thread of ours. `options` may be null.
  Status build(Devices devices, const char* options, Notify notify, void* user_data);
  /// clCompileProgram, in the same way. `headers` are the programs' sources under their names.
  Status compile(Devices devices, const char* options,
                 std::vector<kernel_compiler::EmbeddedHeader> headers, Notify notify,
                 void* user_data);

  /// A program that linking began for, and how it went (so far).
  struct Linked {
    Program* program = nullptr;
    Status status;
  };
  /// clLinkProgram, in the same way. An error: linking could not begin, and there is no program.
  static Result<Linked> link(Context& context, Devices devices, const char* options,
                             std::span<Program* const> inputs, Notify notify, void* user_data);

  /// What clCreateProgramWithSource was given.
  const std::string& source() const { return source_; }
  /// clSetProgramSpecializationConstant, for builds that begin from then on.
  Status specialize(cl_uint id, std::span<const std::byte> value);

  /// CL_INVALID_PROGRAM_EXECUTABLE, CL_INVALID_KERNEL_NAME.
  Result<Kernel*> create_kernel(const char* name);
  /// One kernel object per kernel function, in source order; CL_INVALID_VALUE when there are more
  /// than `room` (unless `kernels` is null). `count` may be null.
  Status create_kernels(size_t room, cl_kernel* kernels, cl_uint* count);

  Status info(cl_program_info what, const InfoAnswer& answer);
  Status build_info(const Device& device, cl_program_build_info what, const InfoAnswer& answer);

  /// Called by Kernel: a handle more, a handle less in the application's hands.
  void attach_kernel();
  void detach_kernel();

 private:
  enum class Origin : uint8_t { kSource, kIl, kBinary, kLinked, kBuiltIn };
  Program(Context& context, Devices devices, Origin origin)
      : context_(&context), devices_(std::move(devices)), origin_(origin) {}
  Program(Context& context, Devices devices, ProgramBinary binary);

  /// What clLinkProgram takes of this program; CL_INVALID_OPERATION when there is nothing to link.
  Status add_to_link(CompiledUnits& units, bool& all_take_options);
  kernel_compiler::CompileRequest request(const std::string& options) const;
  /// The executable of the last build; CL_INVALID_PROGRAM_EXECUTABLE when there is none.
  Result<std::shared_ptr<BuiltProgram>> executable();
  /// As executable(), with a kernel attached already, so that no build can begin in between.
  Result<std::shared_ptr<BuiltProgram>> executable_and_attach();
  /// What CL_PROGRAM_BINARIES answers; empty when there is none.
  std::vector<std::byte> binary(const Device& device);
  Status begin_build(Devices devices, const std::string& options);
  /// Of a program in SPIR-V: builds or compiles it.
  Status run_il(Devices devices, const std::string& options, bool unit, Notify notify,
                void* user_data);
  BackendGroups backends_to_build_on();
  bool built_for(const Device& device) const TUTTI_REQUIRES(mutex_);
  size_t variable_bytes(const Device& device);
  void end_build(BuildOutcome outcome) noexcept;
  Status end_build_with_status(BuildOutcome outcome);
  BuildOutcome build_again();
  /// What became of the kernels when the program was made, which stays so. (Drivers have
  /// clBuildProgram called for them or not; the specification says CL_INVALID_OPERATION.)
  BuildOutcome built_in_outcome();
  using Work = std::function<BuildOutcome()>;
  /// After begin_build(): `work`, in this thread or, with `notify` and if `check` finds nothing
  /// wrong, in one of ours.
  Status run(Work work, const Work& check, Notify notify, void* user_data);

  const Ref<Context> context_;  // first, so that it outlives all else
  const Devices devices_;
  const Origin origin_ = Origin::kSource;
  const std::string source_;
  const std::string il_;
  const std::optional<ProgramBinary> loaded_;  // made from a binary: that
  // What a success gives that is no executable: an object, or a library.
  cl_program_binary_type kind_of_units_ = CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT;
  bool takes_link_options_ = false;  // constant once linked

  // The state of the last build:
  //   CL_BUILD_NONE ──▶ CL_BUILD_IN_PROGRESS ──▶ CL_BUILD_SUCCESS or CL_BUILD_ERROR ──▶ (again)
  Mutex mutex_;
  cl_build_status status_ TUTTI_GUARDED_BY(mutex_) = CL_BUILD_NONE;
  std::string options_ TUTTI_GUARDED_BY(mutex_);
  Devices build_devices_ TUTTI_GUARDED_BY(mutex_);  // those of the last build
  std::string log_ TUTTI_GUARDED_BY(mutex_);
  std::shared_ptr<BuiltProgram> built_ TUTTI_GUARDED_BY(mutex_);  // the executable, or null
  CompiledUnits units_ TUTTI_GUARDED_BY(mutex_);                  // of an object or a library
  // Of a program in SPIR-V, with the constants that were given.
  std::optional<kernel_compiler::SpirvModule> module_ TUTTI_GUARDED_BY(mutex_);
  uint32_t attached_kernels_ TUTTI_GUARDED_BY(mutex_) = 0;
};

}  // namespace tutti::device_virtual
