// SPDX-License-Identifier: Apache-2.0
// Checks of the entry points on programs, in the specification's order. Pure functions,
// thread-safe.
#pragma once

#include <CL/cl.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "device_virtual/context.h"
#include "device_virtual/device.h"
#include "device_virtual/program.h"

namespace tutti::icd::validate {

Result<device_virtual::Program*> program(cl_program handle);  // CL_INVALID_PROGRAM

/// The concatenated source, as CL_PROGRAM_SOURCE answers it.
Result<std::string> program_source(cl_uint count, const char** strings, const size_t* lengths);

/// The names of clCreateProgramWithBuiltInKernels.
Status built_in_kernels(const device_virtual::Context& context, const char* names);

/// What clCreateProgramWithIL is given.
Result<kernel_compiler::SpirvModule> program_il(const device_virtual::Context& context,
                                                const void* il, size_t length);
/// The program of clSetProgramSpecializationConstant.
Result<device_virtual::Program*> specialized_program(cl_program handle);

using DeviceList = std::vector<Ref<device_virtual::Device>>;

/// A list of devices that must name some: these, none twice.
Result<DeviceList> required_devices(const device_virtual::Context& context, cl_uint count,
                                    const cl_device_id* devices);

/// The devices to build for.
Result<DeviceList> build_program(const device_virtual::Program& program, cl_uint num_devices,
                                 const cl_device_id* device_list, const void* notify,
                                 const void* user_data);

using Headers = std::vector<kernel_compiler::EmbeddedHeader>;
struct CompileProgram {
  DeviceList devices;
  Headers headers;  // the sources of input_headers under their names
};
Result<CompileProgram> compile_program(device_virtual::Program& program, cl_uint num_devices,
                                       const cl_device_id* device_list, cl_uint num_input_headers,
                                       const cl_program* input_headers,
                                       const char** header_include_names, const void* notify,
                                       const void* user_data);
struct LinkProgram {
  DeviceList devices;
  std::vector<device_virtual::Program*> inputs;
};
Result<LinkProgram> link_program(device_virtual::Context& context, cl_uint num_devices,
                                 const cl_device_id* device_list, cl_uint num_input_programs,
                                 const cl_program* input_programs, const void* notify,
                                 const void* user_data);
Status program_binaries(cl_uint num_devices, const size_t* lengths, const unsigned char** binaries,
                        cl_int* binary_status);
Result<device_virtual::Device*> build_info_device(const device_virtual::Program& program,
                                                  cl_device_id handle);

}  // namespace tutti::icd::validate
