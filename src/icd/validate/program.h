// SPDX-License-Identifier: Apache-2.0
// Checks of the entry points on programs, in the specification's order. Pure functions,
// thread-safe.
#pragma once

#include <CL/cl.h>

#include <string>
#include <vector>

#include "device_virtual/context.h"
#include "device_virtual/device.h"
#include "device_virtual/program.h"
#include "platform/result.h"

namespace tutti::icd::validate {

Result<device_virtual::Program*> program(cl_program handle);  // CL_INVALID_PROGRAM

/// The concatenated source, as CL_PROGRAM_SOURCE answers it.
Result<std::string> program_source(cl_uint count, const char** strings, const size_t* lengths);

/// A list of devices that must name some.
Status required_devices(const device_virtual::Device& device, cl_uint count,
                        const cl_device_id* devices);

Status build_program(const device_virtual::Device& device, cl_uint num_devices,
                     const cl_device_id* device_list, const void* notify, const void* user_data);
using Headers = std::vector<kernel_compiler::EmbeddedHeader>;
/// Fills `headers`: the sources of input_headers under their names.
Status compile_program(device_virtual::Program& program, cl_uint num_devices,
                       const cl_device_id* device_list, cl_uint num_input_headers,
                       const cl_program* input_headers, const char** header_include_names,
                       const void* notify, const void* user_data, Headers& headers);
/// Fills `inputs`.
Status link_program(device_virtual::Context& context, cl_uint num_devices,
                    const cl_device_id* device_list, cl_uint num_input_programs,
                    const cl_program* input_programs, const void* notify, const void* user_data,
                    std::vector<device_virtual::Program*>& inputs);
Status program_binaries(cl_uint num_devices, const size_t* lengths, const unsigned char** binaries,
                        cl_int* binary_status);
Status build_info_device(const device_virtual::Device& device, cl_device_id handle);

}  // namespace tutti::icd::validate
