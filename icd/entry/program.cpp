// SPDX-License-Identifier: Apache-2.0
// Entry points on programs.
#include <utility>
#include <vector>

#include "device_virtual/program.h"
#include "icd/entry/entries.h"
#include "icd/entry/entry.h"
#include "icd/validate/common.h"
#include "icd/validate/program.h"

namespace tutti::icd {

using device_virtual::InfoAnswer;
using device_virtual::Program;

cl_program CL_API_CALL clCreateProgramWithSource(cl_context context, cl_uint count,
                                                 const char** strings, const size_t* lengths,
                                                 cl_int* errcode_ret) {
  return entry_object("clCreateProgramWithSource", errcode_ret, [&]() -> Result<cl_program> {
    TUTTI_ASSIGN(auto* owner, validate::context(context));
    TUTTI_ASSIGN(std::string source, validate::program_source(count, strings, lengths));
    return (new Program(*owner, std::move(source)))->handle();
  });
}

cl_program CL_API_CALL clCreateProgramWithBinary(cl_context context, cl_uint num_devices,
                                                 const cl_device_id* device_list,
                                                 const size_t* lengths,
                                                 const unsigned char** binaries,
                                                 cl_int* binary_status, cl_int* errcode_ret) {
  return entry_object("clCreateProgramWithBinary", errcode_ret, [&]() -> Result<cl_program> {
    TUTTI_ASSIGN(auto* owner, validate::context(context));
    TUTTI_ASSIGN(auto devices, validate::required_devices(*owner, num_devices, device_list));
    TUTTI_TRY(validate::program_binaries(num_devices, lengths, binaries, binary_status));
    TUTTI_ASSIGN(Program * program,
                 Program::create_from_binaries(*owner, std::move(devices), num_devices, lengths,
                                               binaries, binary_status));
    return program->handle();
  });
}

cl_program CL_API_CALL clCreateProgramWithBuiltInKernels(cl_context context, cl_uint num_devices,
                                                         const cl_device_id* device_list,
                                                         const char* kernel_names,
                                                         cl_int* errcode_ret) {
  return entry_object(
      "clCreateProgramWithBuiltInKernels", errcode_ret, [&]() -> Result<cl_program> {
        TUTTI_ASSIGN(auto* owner, validate::context(context));
        TUTTI_ASSIGN(auto devices, validate::required_devices(*owner, num_devices, device_list));
        TUTTI_TRY(validate::built_in_kernels(*owner, kernel_names));
        return Program::create_with_built_in_kernels(*owner, std::move(devices), kernel_names)
            ->handle();
      });
}

namespace {
cl_program create_with_il(const char* name, cl_context context, const void* il, size_t length,
                          cl_int* errcode_ret) {
  return entry_object(name, errcode_ret, [&]() -> Result<cl_program> {
    TUTTI_ASSIGN(auto* owner, validate::context(context));
    TUTTI_ASSIGN(auto module, validate::program_il(*owner, il, length));
    std::string given(static_cast<const char*>(il), length);
    return (new Program(*owner, std::move(module), std::move(given)))->handle();
  });
}
}  // namespace

cl_program CL_API_CALL clCreateProgramWithIL(cl_context context, const void* il, size_t length,
                                             cl_int* errcode_ret) {
  return create_with_il("clCreateProgramWithIL", context, il, length, errcode_ret);
}

cl_program CL_API_CALL clCreateProgramWithILKHR(cl_context context, const void* il, size_t length,
                                                cl_int* errcode_ret) {
  return create_with_il("clCreateProgramWithILKHR", context, il, length, errcode_ret);
}

cl_int CL_API_CALL clRetainProgram(cl_program program) {
  return entry("clRetainProgram", [&]() -> Status {
    TUTTI_ASSIGN(Program * object, validate::program(program));
    object->retain_public();
    return {};
  });
}

cl_int CL_API_CALL clReleaseProgram(cl_program program) {
  return entry("clReleaseProgram", [&]() -> Status {
    TUTTI_ASSIGN(Program * object, validate::program(program));
    if (!object->release_public()) return fail(CL_INVALID_PROGRAM, "released already");
    return {};
  });
}

cl_int CL_API_CALL clSetProgramReleaseCallback(cl_program program,
                                               void(CL_CALLBACK* pfn_notify)(cl_program, void*),
                                               void* user_data) {
  return entry("clSetProgramReleaseCallback", [&]() -> Status {
    TUTTI_TRY(validate::program(program).map([](Program*) {}));
    (void)pfn_notify;
    (void)user_data;
    // "CL_INVALID_OPERATION if no devices in the context associated with program support
    // destructors for program scope global variables."
    return fail(CL_INVALID_OPERATION, "the device has no program scope destructors");
  });
}

cl_int CL_API_CALL clSetProgramSpecializationConstant(cl_program program, cl_uint spec_id,
                                                      size_t spec_size, const void* spec_value) {
  return entry("clSetProgramSpecializationConstant", [&]() -> Status {
    TUTTI_ASSIGN(Program * object, validate::specialized_program(program));
    return object->specialize(spec_id, {static_cast<const std::byte*>(spec_value), spec_size});
  });
}

cl_int CL_API_CALL clBuildProgram(cl_program program, cl_uint num_devices,
                                  const cl_device_id* device_list, const char* options,
                                  void(CL_CALLBACK* pfn_notify)(cl_program, void*),
                                  void* user_data) {
  return entry("clBuildProgram", [&]() -> Status {
    TUTTI_ASSIGN(Program * object, validate::program(program));
    TUTTI_ASSIGN(auto devices,
                 validate::build_program(*object, num_devices, device_list,
                                         reinterpret_cast<const void*>(pfn_notify), user_data));
    return object->build(std::move(devices), options, pfn_notify, user_data);
  });
}

cl_int CL_API_CALL clCompileProgram(cl_program program, cl_uint num_devices,
                                    const cl_device_id* device_list, const char* options,
                                    cl_uint num_input_headers, const cl_program* input_headers,
                                    const char** header_include_names,
                                    void(CL_CALLBACK* pfn_notify)(cl_program, void*),
                                    void* user_data) {
  return entry("clCompileProgram", [&]() -> Status {
    TUTTI_ASSIGN(Program * object, validate::program(program));
    TUTTI_ASSIGN(auto call,
                 validate::compile_program(*object, num_devices, device_list, num_input_headers,
                                           input_headers, header_include_names,
                                           reinterpret_cast<const void*>(pfn_notify), user_data));
    return object->compile(std::move(call.devices), options, std::move(call.headers), pfn_notify,
                           user_data);
  });
}

cl_program CL_API_CALL clLinkProgram(cl_context context, cl_uint num_devices,
                                     const cl_device_id* device_list, const char* options,
                                     cl_uint num_input_programs, const cl_program* input_programs,
                                     void(CL_CALLBACK* pfn_notify)(cl_program, void*),
                                     void* user_data, cl_int* errcode_ret) {
  cl_program made = nullptr;  // also beside CL_LINK_PROGRAM_FAILURE
  const cl_int code = entry("clLinkProgram", [&]() -> Status {
    TUTTI_ASSIGN(auto* owner, validate::context(context));
    TUTTI_ASSIGN(
        auto call,
        validate::link_program(*owner, num_devices, device_list, num_input_programs, input_programs,
                               reinterpret_cast<const void*>(pfn_notify), user_data));
    TUTTI_ASSIGN(Program::Linked linked, Program::link(*owner, std::move(call.devices), options,
                                                       call.inputs, pfn_notify, user_data));
    made = linked.program->handle();
    return std::move(linked.status);
  });
  if (errcode_ret != nullptr) *errcode_ret = code;
  return made;
}

cl_int CL_API_CALL clUnloadPlatformCompiler(cl_platform_id platform) {
  return entry("clUnloadPlatformCompiler", [&]() -> Status {
    // "This is a hint … and does not guarantee … that the compiler will actually be unloaded."
    return validate::platform(platform).map([](auto*) {});
  });
}

cl_int CL_API_CALL clUnloadCompiler() {
  return CL_SUCCESS;  // "clUnloadCompiler will always return CL_SUCCESS."
}

cl_int CL_API_CALL clGetProgramInfo(cl_program program, cl_program_info param_name,
                                    size_t param_value_size, void* param_value,
                                    size_t* param_value_size_ret) {
  return entry("clGetProgramInfo", [&]() -> Status {
    TUTTI_ASSIGN(Program * object, validate::program(program));
    return object->info(param_name,
                        InfoAnswer(param_value_size, param_value, param_value_size_ret));
  });
}

cl_int CL_API_CALL clGetProgramBuildInfo(cl_program program, cl_device_id device,
                                         cl_program_build_info param_name, size_t param_value_size,
                                         void* param_value, size_t* param_value_size_ret) {
  return entry("clGetProgramBuildInfo", [&]() -> Status {
    TUTTI_ASSIGN(Program * object, validate::program(program));
    TUTTI_ASSIGN(const auto* const found, validate::build_info_device(*object, device));
    return object->build_info(*found, param_name,
                              InfoAnswer(param_value_size, param_value, param_value_size_ret));
  });
}

}  // namespace tutti::icd
