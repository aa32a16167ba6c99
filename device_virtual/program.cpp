// SPDX-License-Identifier: Apache-2.0
#include "device_virtual/program.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/process_exit.h"
#include "device_virtual/background.h"
#include "device_virtual/kernel.h"
#include "kernel_compiler/build_options.h"

namespace tutti::device_virtual {

using backends::ProgramForm;

namespace {

CompiledUnits units_of(const ProgramBinary& binary) {
  CompiledUnits units;
  for (const ProgramBinary::Unit& unit : binary.units) {
    units.push_back(std::make_shared<CompiledUnit>(
        unit.source, unit.options, unit.il ? ProgramForm::kIl : ProgramForm::kSource));
  }
  return units;
}

/// Nothing is thrown across threads of ours: memory was lacking.
BuildOutcome outcome_of(const std::function<BuildOutcome()>& work) noexcept {
  try {
    return work();
  } catch (...) {
    BuildOutcome outcome;
    outcome.code = CL_OUT_OF_HOST_MEMORY;
    return outcome;
  }
}

}  // namespace

Program::Program(Context& context, std::string source)
    : context_(&context),
      devices_(context.devices().begin(), context.devices().end()),
      source_(std::move(source)) {}

Program::Program(Context& context, kernel_compiler::SpirvModule module, std::string il)
    : context_(&context),
      devices_(context.devices().begin(), context.devices().end()),
      origin_(Origin::kIl),
      il_(std::move(il)),
      module_(std::move(module)) {}

Program::Program(Context& context, Devices devices, ProgramBinary binary)
    : context_(&context),
      devices_(std::move(devices)),
      origin_(Origin::kBinary),
      loaded_(std::move(binary)) {
  if (loaded_->type == CL_PROGRAM_BINARY_TYPE_EXECUTABLE) return;  // made anew by clBuildProgram
  kind_of_units_ = loaded_->type;
  takes_link_options_ = loaded_->takes_link_options;
  units_ = units_of(*loaded_);
}

bool Program::has(const Device* device) const {
  return std::any_of(devices_.begin(), devices_.end(),
                     [device](const Ref<Device>& one) { return one.get() == device; });
}

bool Program::built_for(const Device& device) const {
  return std::any_of(build_devices_.begin(), build_devices_.end(),
                     [&device](const Ref<Device>& one) { return device.belongs_to(*one); });
}

BackendGroups Program::backends_to_build_on() {
  const MutexLock lock(mutex_);
  BackendGroups groups;
  for (const Ref<Device>& device : devices_) {
    if (built_for(*device)) groups.push_back(context_->backends_of(*device));
  }
  return groups;
}

Program* Program::create_with_built_in_kernels(Context& context, Devices devices,
                                               const std::string& names) {
  auto made = Ref<Program>::adopt(new Program(context, devices, Origin::kBuiltIn));
  {
    const MutexLock lock(made->mutex_);
    made->build_devices_ = std::move(devices);
  }
  made->end_build(build_built_in_program(context.backends(), made->backends_to_build_on(), names));
  return made.detach();
}

Result<Program*> Program::create_from_binaries(Context& context, Devices devices, cl_uint count,
                                               const size_t* lengths,
                                               const unsigned char* const* binaries,
                                               cl_int* status) {
  std::optional<ProgramBinary> first;
  bool invalid = false;
  for (cl_uint i = 0; i < count; ++i) {
    auto binary = unpack({reinterpret_cast<const std::byte*>(binaries[i]), lengths[i]});
    if (status != nullptr) status[i] = binary ? CL_SUCCESS : CL_INVALID_BINARY;
    invalid = invalid || !binary;
    if (!first) first = std::move(binary);
  }
  if (invalid) return fail(CL_INVALID_BINARY, "not a program binary of this driver's version");
  return new Program(context, std::move(devices), std::move(*first));
}

kernel_compiler::CompileRequest Program::request(const std::string& options) const {
  const Capabilities& capabilities = context_->capabilities();
  kernel_compiler::CompileRequest request;
  request.source = source_;
  request.options = options;
  request.extensions = capabilities.language_extensions;
  request.opencl_c = capabilities.opencl_c;
  // The device's version, whatever the language's (which the front end knows:
  // __OPENCL_C_VERSION__).
  request.device_macros["__OPENCL_VERSION__"] = std::to_string(capabilities.version);
  for (const std::string& feature : capabilities.language_features) {
    request.device_macros[feature] = "1";
  }
  if (capabilities.little_endian) request.device_macros["__ENDIAN_LITTLE__"] = "1";
  request.fp64 = capabilities.fp64;
  request.images = capabilities.images;
  request.address_bits = capabilities.address_bits;
  return request;
}

Status Program::build(Devices devices, const char* given_options, Notify notify, void* user_data) {
  // "CL_INVALID_OPERATION if program was not created with clCreateProgramWithSource,
  // clCreateProgramWithIL or clCreateProgramWithBinary."
  if (origin_ == Origin::kLinked) {
    return fail(CL_INVALID_OPERATION, "the program was created with clLinkProgram");
  }
  // "CL_INVALID_BINARY if program is created with clCreateProgramWithBinary and devices listed in
  // device_list do not have a valid program binary loaded": it "must be an executable binary (not a
  // compiled binary or library)".
  if (loaded_ && loaded_->type != CL_PROGRAM_BINARY_TYPE_EXECUTABLE) {
    return fail(CL_INVALID_BINARY, "the program binary is a compiled object or a library");
  }
  if (origin_ == Origin::kBuiltIn) {
    return run([this] { return built_in_outcome(); }, {}, notify, user_data);
  }
  const std::string options = given_options != nullptr ? given_options : "";
  if (origin_ == Origin::kIl) {
    return run_il(std::move(devices), options, false, notify, user_data);
  }
  TUTTI_TRY(begin_build(std::move(devices), options));
  // "If the program was created using clCreateProgramWithBinary and [options are other than] when
  // the program binary was originally built, then the behavior is implementation-defined": not
  // looked at.
  if (loaded_) return run([this] { return build_again(); }, {}, notify, user_data);
  return run(
      [this, options] {
        return build_program(context_->backends(), backends_to_build_on(), request(options));
      },
      [this, options] { return check_options(request(options)); }, notify, user_data);
}

Status Program::compile(Devices devices, const char* given_options,
                        std::vector<kernel_compiler::EmbeddedHeader> headers, Notify notify,
                        void* user_data) {
  // "CL_INVALID_OPERATION if program has no source or IL available, i.e. it has not been created
  // with clCreateProgramWithSource or clCreateProgramWithIL."
  if (origin_ == Origin::kIl) {
    return run_il(std::move(devices), given_options != nullptr ? given_options : "", true, notify,
                  user_data);
  }
  if (origin_ != Origin::kSource) return fail(CL_INVALID_OPERATION, "the program has no source");
  kernel_compiler::CompileRequest unit = request(given_options != nullptr ? given_options : "");
  unit.unit = true;
  unit.headers = std::move(headers);
  TUTTI_TRY(begin_build(std::move(devices), unit.options));
  const auto shared = std::make_shared<const kernel_compiler::CompileRequest>(std::move(unit));
  return run(
      [this, shared] {
        return build_program(context_->backends(), backends_to_build_on(), *shared);
      },
      [shared] { return check_options(*shared); }, notify, user_data);
}

Status Program::run_il(Devices devices, const std::string& options, bool unit, Notify notify,
                       void* user_data) {
  TUTTI_TRY(begin_build(std::move(devices), options));
  // "The specialization value will be used by subsequent calls to clBuildProgram": not by this one.
  const auto module = [this] {
    const MutexLock lock(mutex_);
    return std::make_shared<const kernel_compiler::SpirvModule>(*module_);
  }();
  return run(
      [this, module, options, unit] {
        return build_il_program(context_->backends(), backends_to_build_on(), *module, options,
                                unit);
      },
      [options, unit] { return check_il_options(options, unit); }, notify, user_data);
}

Status Program::specialize(cl_uint id, std::span<const std::byte> value) {
  const MutexLock lock(mutex_);
  // "CL_INVALID_PROGRAM if program is not a valid program object created from an intermediate
  // language".
  if (!module_) return fail(CL_INVALID_PROGRAM, "the program is in no intermediate language");
  // "CL_INVALID_SPEC_ID if spec_id is not a valid specialization constant identifier."
  const auto size = module_->constant_size(id);
  if (!size) return fail(CL_INVALID_SPEC_ID, "there is no such constant");
  // "CL_INVALID_VALUE if spec_size does not match the size of the specialization constant in the
  // module, or if spec_value is NULL."
  if (value.data() == nullptr || value.size() != *size) {
    return fail(CL_INVALID_VALUE, "no value of the constant's size");
  }
  module_->specialize(id, value);
  return {};
}

Result<Program::Linked> Program::link(Context& context, Devices devices, const char* given_options,
                                      std::span<Program* const> inputs, Notify notify,
                                      void* user_data) {
  const std::string text = given_options != nullptr ? given_options : "";
  const kernel_compiler::LinkOptions options = kernel_compiler::parse_link_options(text);
  // "CL_INVALID_LINKER_OPTIONS if the linker options specified by options are invalid."
  if (!options.errors.empty()) return fail(CL_INVALID_LINKER_OPTIONS, options.errors.front());
  CompiledUnits units;
  bool all_take_options = true;
  for (Program* input : inputs) TUTTI_TRY(input->add_to_link(units, all_take_options));

  Ref<Program> made = Ref<Program>::adopt(new Program(context, devices, Origin::kLinked));
  made->kind_of_units_ = CL_PROGRAM_BINARY_TYPE_LIBRARY;
  made->takes_link_options_ = options.link_options_allowed;
  TUTTI_TRY(made->begin_build(std::move(devices), text));
  kernel_compiler::CompileRequest asked = made->request({});
  asked.library = options.library;
  // "-enable-link-options: Allows the linker to modify the library behavior based on one or more
  // link options": without it, they are for nobody, since a vendor's linker takes one set for all.
  const std::string vendor_options = all_take_options ? options.vendor_options : std::string();
  Program& program = *made;
  Linked linked;
  linked.status = program.run(
      [&program, asked, units, vendor_options] {
        return link_program(program.context_->backends(), program.backends_to_build_on(), asked,
                            units, vendor_options);
      },
      {}, notify, user_data);
  // "If the linking operation can begin, clLinkProgram returns a valid non-zero program object",
  // also when it fails.
  if (!linked.status && linked.status.error().code != CL_LINK_PROGRAM_FAILURE) {
    return tl::unexpected<Error>(linked.status.error());
  }
  linked.program = made.detach();  // the application's
  return linked;
}

Status Program::add_to_link(CompiledUnits& units, bool& all_take_options) {
  const MutexLock lock(mutex_);
  // "CL_INVALID_OPERATION if the compilation or build of a program executable for any of the
  // devices listed in device_list by a previous call to clCompileProgram or clBuildProgram for
  // program has not completed"; "if the rules for devices containing compiled binaries or libraries
  // as described in input_programs argument above are not followed".
  if (status_ == CL_BUILD_IN_PROGRESS) {
    return fail(CL_INVALID_OPERATION, "an input program is being compiled");
  }
  if (units_.empty()) {
    return fail(CL_INVALID_OPERATION, "an input program is neither compiled nor a library");
  }
  units.insert(units.end(), units_.begin(), units_.end());
  if (kind_of_units_ == CL_PROGRAM_BINARY_TYPE_LIBRARY) all_take_options &= takes_link_options_;
  return {};
}

Status Program::run(Work work, const Work& check, Notify notify, void* user_data) {
  if (notify == nullptr) return end_build_with_status(outcome_of(work));

  // "The build operation can begin if the … build options specified are all valid": so these are
  // reported by the call itself, and there is no callback.
  if (check) {
    BuildOutcome valid = outcome_of(check);
    if (valid.code != CL_SUCCESS) return end_build_with_status(std::move(valid));
  }
  const Ref<Program> self(this);  // whatever the application releases meanwhile
  const auto in_background = [self, work = std::move(work)] { self->end_build(outcome_of(work)); };
  const auto after = [self, notify, user_data] {
    const ApplicationCode code;
    notify(self->handle(), user_data);
  };
  Status started = run_in_background(in_background, after);
  if (!started) {
    BuildOutcome none;
    none.code = started.error().code;
    none.log = started.error().message;
    return end_build_with_status(std::move(none));
  }
  return {};
}

BuildOutcome Program::built_in_outcome() {
  const MutexLock lock(mutex_);
  BuildOutcome same;
  same.code = status_ == CL_BUILD_SUCCESS ? CL_SUCCESS : CL_BUILD_PROGRAM_FAILURE;
  same.log = log_;
  same.program = built_;
  return same;
}

BuildOutcome Program::build_again() {
  scheduler::BackendSet& backends = context_->backends();
  return link_program(backends, backends_to_build_on(), request({}), units_of(*loaded_),
                      loaded_->link_options, !loaded_->linked);
}

Status Program::begin_build(Devices devices, const std::string& options) {
  std::shared_ptr<BuiltProgram> replaced;  // these end after the lock
  CompiledUnits replaced_units;
  const MutexLock lock(mutex_);
  if (status_ == CL_BUILD_IN_PROGRESS) {
    return fail(CL_INVALID_OPERATION, "a build of this program has not completed");
  }
  if (attached_kernels_ != 0) {
    return fail(CL_INVALID_OPERATION, "there are kernel objects attached to the program");
  }
  // What was built for other devices stays, as long as one executable serves all.
  if (built_ != nullptr && options_ == options) {
    for (const Ref<Device>& other : build_devices_) {
      if (std::find(devices.begin(), devices.end(), other) == devices.end()) {
        devices.push_back(other);
      }
    }
  }
  build_devices_ = std::move(devices);
  options_ = options;
  log_.clear();
  replaced = std::move(built_);
  built_ = nullptr;
  replaced_units.swap(units_);
  status_ = CL_BUILD_IN_PROGRESS;
  return {};
}

void Program::end_build(BuildOutcome outcome) noexcept {
  const MutexLock lock(mutex_);
  status_ = outcome.code == CL_SUCCESS ? CL_BUILD_SUCCESS : CL_BUILD_ERROR;
  log_ = std::move(outcome.log);
  built_ = std::move(outcome.program);
  units_ = std::move(outcome.units);
}

Status Program::end_build_with_status(BuildOutcome outcome) {
  if (outcome.code == CL_SUCCESS) {
    end_build(std::move(outcome));
    return {};
  }
  Error error{outcome.code, outcome.log};
  end_build(std::move(outcome));
  return tl::unexpected<Error>(std::move(error));
}

Result<std::shared_ptr<BuiltProgram>> Program::executable() {
  const MutexLock lock(mutex_);
  if (built_ == nullptr) {
    return fail(CL_INVALID_PROGRAM_EXECUTABLE, "the program has no successfully built executable");
  }
  return built_;
}

Result<std::shared_ptr<BuiltProgram>> Program::executable_and_attach() {
  const MutexLock lock(mutex_);
  if (built_ == nullptr) {
    return fail(CL_INVALID_PROGRAM_EXECUTABLE, "the program has no successfully built executable");
  }
  ++attached_kernels_;
  return built_;
}

void Program::attach_kernel() {
  const MutexLock lock(mutex_);
  ++attached_kernels_;
}

void Program::detach_kernel() {
  const MutexLock lock(mutex_);
  --attached_kernels_;
}

namespace {

/// Gives back the attachment that kept builds away while a kernel was made.
class Attachment {
 public:
  explicit Attachment(Program& program) : program_(program) {}
  ~Attachment() { program_.detach_kernel(); }
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;

 private:
  Program& program_;
};

}  // namespace

Result<Kernel*> Program::create_kernel(const char* name) {
  TUTTI_ASSIGN(const std::shared_ptr<BuiltProgram> built, executable_and_attach());
  const Attachment attachment(*this);
  const auto index = built->find(name);
  if (!index) return fail(CL_INVALID_KERNEL_NAME, "no kernel '" + std::string(name) + "'");
  return new Kernel(*this, std::make_shared<KernelExecutable>(built, *index));
}

Status Program::create_kernels(size_t room, cl_kernel* kernels, cl_uint* count) {
  TUTTI_ASSIGN(const std::shared_ptr<BuiltProgram> built, executable_and_attach());
  const Attachment attachment(*this);
  const size_t available = built->summary().kernels.size();
  if (kernels != nullptr) {
    if (room < available) return fail(CL_INVALID_VALUE, "num_kernels is too small");
    std::vector<Ref<Kernel>> made;
    made.reserve(available);
    for (uint32_t i = 0; i < available; ++i) {
      made.push_back(
          Ref<Kernel>::adopt(new Kernel(*this, std::make_shared<KernelExecutable>(built, i))));
    }
    for (size_t i = 0; i < available; ++i) kernels[i] = made[i].detach()->handle();
  }
  if (count != nullptr) *count = static_cast<cl_uint>(available);
  return {};
}

std::vector<std::byte> Program::binary(const Device& device) {
  ProgramBinary binary;
  const MutexLock lock(mutex_);
  const bool meant = built_for(device);
  if (meant && built_ != nullptr) {
    const ProgramTexts& texts = built_->texts();
    binary.linked = texts.linked();
    binary.link_options = texts.link_options;
    for (const ProgramTexts::Unit& unit : texts.units) {
      binary.units.push_back({unit.source, unit.options, unit.form == ProgramForm::kIl});
    }
    return pack(binary);
  }
  if (!units_.empty() && (meant || loaded_)) {
    binary.type = kind_of_units_;
    binary.takes_link_options = takes_link_options_;
    for (const auto& unit : units_) {
      binary.units.push_back({unit->source(), unit->options(), unit->il()});
    }
    return pack(binary);
  }
  if (loaded_) return pack(*loaded_);
  return {};
}

Status Program::info(cl_program_info what, const InfoAnswer& answer) {
  switch (what) {
    case CL_PROGRAM_REFERENCE_COUNT:
      return answer.value<cl_uint>(public_references());
    case CL_PROGRAM_CONTEXT:
      return answer.value<cl_context>(context_->handle());
    case CL_PROGRAM_NUM_DEVICES:
      return answer.value(static_cast<cl_uint>(devices_.size()));
    case CL_PROGRAM_DEVICES: {
      std::vector<cl_device_id> handles;
      for (const Ref<Device>& device : devices_) handles.push_back(device->handle());
      return answer.list(std::span<const cl_device_id>(handles));
    }
    case CL_PROGRAM_SOURCE:
      return answer.string(source_);
    case CL_PROGRAM_IL:
      // Of others "param_value_size_ret will be set to 0".
      return answer.bytes(il_.empty() ? nullptr : il_.data(), il_.size());
    case CL_PROGRAM_BINARY_SIZES: {
      std::vector<size_t> sizes;
      for (const Ref<Device>& device : devices_) sizes.push_back(binary(*device).size());
      return answer.list(std::span<const size_t>(sizes));
    }
    case CL_PROGRAM_BINARIES: {
      const size_t size = devices_.size() * sizeof(unsigned char*);
      if (answer.data() != nullptr) {
        if (answer.size() < size) return fail(CL_INVALID_VALUE, "param_value_size is too small");
        auto* const places = static_cast<unsigned char**>(answer.data());
        for (size_t i = 0; i < devices_.size(); ++i) {
          // "Each entry in this array is used … as the location in memory where to copy the program
          // binary": an application not interested leaves it NULL.
          if (places[i] == nullptr) continue;
          const std::vector<std::byte> content = binary(*devices_[i]);
          if (!content.empty()) std::memcpy(places[i], content.data(), content.size());
        }
      }
      if (answer.size_ret() != nullptr) *answer.size_ret() = size;
      return {};
    }
    case CL_PROGRAM_NUM_KERNELS: {
      TUTTI_ASSIGN(const auto built, executable());
      return answer.value<size_t>(built->summary().kernels.size());
    }
    case CL_PROGRAM_KERNEL_NAMES: {
      TUTTI_ASSIGN(const auto built, executable());
      std::string names;
      for (const auto& kernel : built->summary().kernels) {
        if (!names.empty()) names += ';';
        names += kernel.name;
      }
      return answer.string(names);
    }
    case CL_PROGRAM_SCOPE_GLOBAL_CTORS_PRESENT:
    case CL_PROGRAM_SCOPE_GLOBAL_DTORS_PRESENT: {
      TUTTI_TRY(executable().map([](const auto&) {}));
      return answer.boolean(false);  // OpenCL C has neither
    }
    default:
      return unknown_query();
  }
}

size_t Program::variable_bytes(const Device& device) {
  std::shared_ptr<BuiltProgram> built;  // a vendor is asked with no lock held
  {
    const MutexLock lock(mutex_);
    if (built_for(device)) built = built_;
  }
  return built ? built->variable_bytes(context_->backends_of(device)) : 0;
}

Status Program::build_info(const Device& device, cl_program_build_info what,
                           const InfoAnswer& answer) {
  if (what == CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE) {
    return answer.value<size_t>(variable_bytes(device));
  }
  const MutexLock lock(mutex_);
  const bool meant = built_for(device);
  switch (what) {
    case CL_PROGRAM_BUILD_STATUS:
      return answer.value<cl_build_status>(meant ? status_ : CL_BUILD_NONE);
    case CL_PROGRAM_BUILD_OPTIONS:
      return answer.string(meant ? options_ : std::string());
    case CL_PROGRAM_BUILD_LOG:
      return answer.string(meant ? log_ : std::string());
    case CL_PROGRAM_BINARY_TYPE:
      return answer.value<cl_program_binary_type>(
          !units_.empty() && (meant || loaded_)     ? kind_of_units_
          : (meant && built_ != nullptr) || loaded_ ? CL_PROGRAM_BINARY_TYPE_EXECUTABLE
                                                    : CL_PROGRAM_BINARY_TYPE_NONE);
    default:
      return unknown_query();
  }
}

}  // namespace tutti::device_virtual
