// SPDX-License-Identifier: Apache-2.0
// The backend's programs: from source, SPIR-V or a binary, built in one go or compiled and linked.
#include <atomic>
#include <utility>

#include "backends/opencl/first_launches.h"
#include "backends/opencl/opencl_backend.h"
#include "backends/opencl/quirks.h"
#include "base/log.h"
#include "base/process_exit.h"

namespace tutti::backends {

Result<OpenClProgram::Made> OpenClBackend::create_program(const std::string& source) {
  TUTTI_ASSIGN(const ContextPtr made, context());
  const char* text = source.data();
  const size_t length = source.size();
  cl_int code = CL_SUCCESS;
  OwnedProgram program(device_.cl->clCreateProgramWithSource(made->get(), 1, &text, &length, &code),
                       device_.cl->clReleaseProgram);
  if (code != CL_SUCCESS || !program.get()) {
    return device_.failure("clCreateProgramWithSource", code ? code : CL_OUT_OF_RESOURCES);
  }
  return Program{std::move(program), made->generation};
}

Result<OpenClProgram::Made> OpenClBackend::create_program(std::span<const std::byte> binary) {
  TUTTI_ASSIGN(const ContextPtr made, context());
  const auto* bytes = reinterpret_cast<const unsigned char*>(binary.data());
  const size_t size = binary.size();
  cl_int status = CL_SUCCESS, code = CL_SUCCESS;
  OwnedProgram program(device_.cl->clCreateProgramWithBinary(made->get(), 1, &device_.device, &size,
                                                             &bytes, &status, &code),
                       device_.cl->clReleaseProgram);
  if (code == CL_SUCCESS) code = status;
  if (code != CL_SUCCESS || !program.get()) {
    return device_.failure("clCreateProgramWithBinary", code ? code : CL_INVALID_BINARY);
  }
  return Program{std::move(program), made->generation};
}

Result<OpenClProgram::Made> OpenClBackend::create_il_program(const std::string& il) {
  TUTTI_ASSIGN(const ContextPtr made, context());
  cl_int code = CL_SUCCESS;
  OwnedProgram program(device_.cl->clCreateProgramWithIL(made->get(), il.data(), il.size(), &code),
                       device_.cl->clReleaseProgram);
  if (code != CL_SUCCESS || !program.get()) {
    return device_.failure("clCreateProgramWithIL", code ? code : CL_OUT_OF_RESOURCES);
  }
  return Program{std::move(program), made->generation};
}

Result<OpenClProgram::Made> OpenClBackend::create_built_in_program(const std::string& names) {
  TUTTI_ASSIGN(const ContextPtr made, context());
  cl_int code = CL_SUCCESS;
  OwnedProgram program(device_.cl->clCreateProgramWithBuiltInKernels(
                           made->get(), 1, &device_.device, names.c_str(), &code),
                       device_.cl->clReleaseProgram);
  if (code != CL_SUCCESS || !program.get()) {
    return device_.failure("clCreateProgramWithBuiltInKernels", code ? code : CL_OUT_OF_RESOURCES);
  }
  return Program{std::move(program), made->generation, true};
}

std::string OpenClBackend::build_log(cl_program program) {
  auto log = query_bytes("clGetProgramBuildInfo", [&](size_t size, void* value, size_t* size_ret) {
    return device_.cl->clGetProgramBuildInfo(program, device_.device, CL_PROGRAM_BUILD_LOG, size,
                                             value, size_ret);
  });
  if (!log) {
    device_.note("clGetProgramBuildInfo(CL_PROGRAM_BUILD_LOG)", log.error().code);
    return {};
  }
  return text_of(*log);
}

void OpenClBackend::compiler_used() {
  if (!built_.exchange(true, std::memory_order_relaxed)) watch_process_exit();
}

cl_int OpenClBackend::build_program(const Program& program, const std::string& options) {
  const ExitHold hold;
  cl_int code = device_.cl->clBuildProgram(program.program.get(), 1, &device_.device,
                                           options.c_str(), nullptr, nullptr);
  // PoCL builds programs of built-in kernels. "CL_INVALID_OPERATION if program was not created with
  // clCreateProgramWithSource, clCreateProgramWithIL or clCreateProgramWithBinary": they are ready.
  if (program.built_in && code == CL_INVALID_OPERATION) code = CL_SUCCESS;
  compiler_used();
  return code;
}

BuildResult OpenClBackend::build_with(std::function<Result<Program>()> create,
                                      const std::string& options, MakeAhead ahead) {
  auto program = create();
  if (!program) return {nullptr, program.error().code, program.error().message};
  const cl_int code = build_program(*program, options);
  std::string log = build_log(program->program.get());
  if (code != CL_SUCCESS) {
    return device_.build_failure<BuildResult>("clBuildProgram", code, std::move(log));
  }
  const auto again = [this, create = std::move(create), options]() -> Result<Program> {
    TUTTI_ASSIGN(Program made, create());
    const cl_int failed = build_program(made, options);
    if (failed != CL_SUCCESS) return device_.failure("clBuildProgram", failed);
    return made;
  };
  auto module = std::make_unique<OpenClModule>(
      device_, std::make_shared<OpenClProgram>(device_, std::move(*program), again), log,
      std::move(ahead));
  return {std::move(module), CL_SUCCESS, std::move(log)};
}

BuildResult OpenClBackend::build(const std::string& source, const std::string& options) {
  const std::string all_options = vendor_build_options(traits_, device_.quirks, options, number_);
  if (const Status ahead = builder_.build_ahead(source, all_options); !ahead) {
    return device_.build_failure<BuildResult>("clBuildProgram", ahead.error().code,
                                              ahead.error().message + "\n");
  }
  const VendorBuilder::Turn turn = builder_.turn(source, all_options);
  return build_with(
      [this, source] { return create_program(source); }, all_options,
      builder_.in_helpers() ? first_launches(builder_, {source, all_options}) : MakeAhead());
}

BuildResult OpenClBackend::build_il(const std::string& il, const std::string& options) {
  if (!device_.cl->clCreateProgramWithIL) return Backend::build_il(il, options);
  return build_with([this, il] { return create_il_program(il); },
                    vendor_build_options(traits_, device_.quirks, options, number_));
}

BuildResult OpenClBackend::take_built_in(const std::string& names) {
  if (!device_.cl->clCreateProgramWithBuiltInKernels) return Backend::take_built_in(names);
  return build_with([this, names] { return create_built_in_program(names); }, {});
}

std::optional<bool> OpenClBackend::build_is_kept(const std::string& source,
                                                 const std::string& options) const {
  return builder_.is_kept(source, vendor_build_options(traits_, device_.quirks, options, number_));
}

BuildResult OpenClBackend::load(std::span<const std::byte> binary) {
  if (!device_.cl->clCreateProgramWithBinary) return Backend::load(binary);
  return build_with(
      [this, kept = std::vector<std::byte>(binary.begin(), binary.end())] {
        return create_program(std::span<const std::byte>(kept));
      },
      {});
}

cl_int OpenClBackend::compile_program(const Program& program, const std::string& options) {
  const ExitHold hold;
  const cl_int code =
      device_.cl->clCompileProgram(program.program.get(), 1, &device_.device, options.c_str(), 0,
                                   nullptr, nullptr, nullptr, nullptr);
  compiler_used();
  return code;
}

ObjectResult OpenClBackend::compile(const std::string& source, const std::string& options) {
  static std::atomic<uint64_t> units{0};
  return compile_with(
      [this, unit = vendor_unit(device_.quirks, source, ++units)] { return create_program(unit); },
      options);
}

ObjectResult OpenClBackend::compile_il(const std::string& il, const std::string& options) {
  if (!device_.cl->clCreateProgramWithIL) return Backend::compile_il(il, options);
  return compile_with([this, il] { return create_il_program(il); }, options);
}

ObjectResult OpenClBackend::compile_with(std::function<Result<Program>()> create,
                                         const std::string& options) {
  if (!device_.cl->clCompileProgram || !device_.cl->clLinkProgram) {
    return {nullptr, CL_COMPILER_NOT_AVAILABLE, device_.name + ": has no clCompileProgram"};
  }
  auto program = create();
  if (!program) return {nullptr, program.error().code, program.error().message};
  const std::string all_options = vendor_build_options(traits_, device_.quirks, options, number_);
  const cl_int code = compile_program(*program, all_options);
  std::string log = build_log(program->program.get());
  if (code != CL_SUCCESS) {
    return device_.build_failure<ObjectResult>("clCompileProgram", code, std::move(log));
  }
  const auto again = [this, create = std::move(create), all_options]() -> Result<Program> {
    TUTTI_ASSIGN(Program made, create());
    const cl_int failed = compile_program(made, all_options);
    if (failed != CL_SUCCESS) return device_.failure("clCompileProgram", failed);
    return made;
  };
  return {std::make_unique<OpenClObject>(
              std::make_shared<OpenClProgram>(device_, std::move(*program), again)),
          CL_SUCCESS, std::move(log)};
}

Result<OpenClProgram::Made> OpenClBackend::link_program(
    std::span<const std::shared_ptr<OpenClProgram>> objects, const std::string& options,
    std::string& text) {
  TUTTI_ASSIGN(const ContextPtr made, context());
  std::vector<cl_program> inputs;
  inputs.reserve(objects.size());
  for (const auto& object : objects) {
    TUTTI_ASSIGN(const OpenClProgram::Present input, object->present());
    inputs.push_back(input.handle);
  }
  cl_int code = CL_SUCCESS;
  const ExitHold hold;
  const auto link_with = [&](const std::string& chosen) {
    return OwnedProgram(device_.cl->clLinkProgram(made->get(), 1, &device_.device, chosen.c_str(),
                                                  static_cast<cl_uint>(inputs.size()),
                                                  inputs.data(), nullptr, nullptr, &code),
                        device_.cl->clReleaseProgram);
  };
  OwnedProgram program = link_with(options);
  // PoCL 3.1 refuses all of a linker's options. They only allow optimisations.
  if (code == CL_INVALID_LINKER_OPTIONS && !options.empty()) {
    log(LogLevel::kInfo, "{}: clLinkProgram refuses {}: linked without", device_.name, options);
    program = link_with({});
  }
  if (program.get()) text = build_log(program.get());
  if (code != CL_SUCCESS || !program.get()) {
    return device_.failure("clLinkProgram", code ? code : CL_LINK_PROGRAM_FAILURE);
  }
  return Program{std::move(program), made->generation};
}

BuildResult OpenClBackend::link(std::span<Object* const> objects, const std::string& options) {
  std::vector<std::shared_ptr<OpenClProgram>> inputs;
  for (Object* object : objects) inputs.push_back(static_cast<OpenClObject*>(object)->program());
  if (device_.quirks.distinct_builds) {
    // Options of the linker make no difference to the vendor's cache: another unit does.
    ObjectResult marked = compile(distinct_unit(number_), {});
    if (!marked.object) return {nullptr, marked.code, std::move(marked.log)};
    inputs.push_back(static_cast<OpenClObject&>(*marked.object).program());
  }
  std::string text;
  auto program = link_program(inputs, options, text);
  if (!program) {
    return device_.build_failure<BuildResult>("clLinkProgram", program.error().code,
                                              std::move(text));
  }
  const auto again = [this, inputs = std::move(inputs), options] {
    std::string unread;
    return link_program(inputs, options, unread);
  };
  auto module = std::make_unique<OpenClModule>(
      device_, std::make_shared<OpenClProgram>(device_, std::move(*program), again), text);
  return {std::move(module), CL_SUCCESS, std::move(text)};
}

}  // namespace tutti::backends
