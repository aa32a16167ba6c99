// SPDX-License-Identifier: Apache-2.0
#include "icd/validate/program.h"

#include <algorithm>
#include <cstring>

#include "base/name_list.h"

namespace tutti::icd::validate {

using device_virtual::Context;
using device_virtual::Device;
using device_virtual::from_handle;
using device_virtual::Program;

namespace {

Status list_and_count(cl_uint count, const cl_device_id* devices) {
  // "CL_INVALID_VALUE if device_list is NULL and num_devices is greater than zero, or if
  // device_list is not NULL and num_devices is zero."
  if ((devices == nullptr) != (count == 0)) {
    return fail(CL_INVALID_VALUE, "device_list and num_devices do not agree");
  }
  return {};
}

/// The devices of the list, none twice; `owner` is the program or the context.
template <typename Owner>
Result<DeviceList> each_device(const Owner& owner, cl_uint count, const cl_device_id* devices) {
  DeviceList list;
  for (cl_uint i = 0; i < count; ++i) {
    // "CL_INVALID_DEVICE if any device in device_list is not in the list of devices associated with
    // program" (or context).
    Ref<Device> device(from_handle<Device>(devices[i]));
    if (!owner.has(device.get())) {
      return fail(CL_INVALID_DEVICE, "a device in device_list is not one of the context");
    }
    if (std::find(list.begin(), list.end(), device) == list.end()) list.push_back(device);
  }
  return list;
}

/// "If device_list is NULL value, the program executable is built for all devices associated with
/// program" (or context).
template <typename Owner>
Result<DeviceList> listed_or_all(const Owner& owner, cl_uint count, const cl_device_id* devices) {
  if (devices == nullptr) return DeviceList(owner.devices().begin(), owner.devices().end());
  return each_device(owner, count, devices);
}

Status callback(const void* notify, const void* user_data) {
  // "CL_INVALID_VALUE if pfn_notify is NULL but user_data is not NULL."
  if (notify == nullptr && user_data != nullptr) {
    return fail(CL_INVALID_VALUE, "user_data without pfn_notify");
  }
  return {};
}

}  // namespace

Result<Program*> program(cl_program handle) {
  // "CL_INVALID_PROGRAM if program is not a valid program object."
  if (Program* found = from_handle<Program>(handle)) return found;
  return fail(CL_INVALID_PROGRAM, "not a program");
}

Status built_in_kernels(const Context& context, const char* names) {
  // "CL_INVALID_VALUE if kernel_names is NULL or kernel_names contains a kernel name that is not
  // supported by any of the devices in device_list."
  if (names == nullptr) return fail(CL_INVALID_VALUE, "kernel_names is NULL");
  const auto list = split_names(names);
  if (list.empty()) return fail(CL_INVALID_VALUE, "no kernel's name");
  const auto& known = context.capabilities().built_in_kernels;
  for (const std::string& name : list) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return fail(CL_INVALID_VALUE, "the device has no built-in kernel '" + name + "'");
    }
  }
  return {};
}

Result<std::string> program_source(cl_uint count, const char** strings, const size_t* lengths) {
  // "CL_INVALID_VALUE if count is zero or if strings or any entry in strings is NULL."
  if (count == 0 || strings == nullptr) return fail(CL_INVALID_VALUE, "no strings");
  std::string source;
  for (cl_uint i = 0; i < count; ++i) {
    if (strings[i] == nullptr) return fail(CL_INVALID_VALUE, "an entry in strings is NULL");
    // "If an element in lengths is zero, its accompanying string is null-terminated. If lengths is
    // NULL, all strings in the strings argument are considered null-terminated."
    const bool terminated = lengths == nullptr || lengths[i] == 0;
    source.append(strings[i], terminated ? std::strlen(strings[i]) : lengths[i]);
  }
  // "The concatenation strips any nulls in the original source strings."
  std::erase(source, '\0');
  return source;
}

Result<kernel_compiler::SpirvModule> program_il(const Context& context, const void* il,
                                                size_t length) {
  // "CL_INVALID_OPERATION if no devices in context support intermediate language programs."
  if (!context.capabilities().il_programs) {
    return fail(CL_INVALID_OPERATION, "the device takes no intermediate language");
  }
  // "CL_INVALID_VALUE if il is NULL or if length is zero"; "if the length-byte memory pointed to by
  // il does not contain well-formed intermediate language input that can be consumed by the OpenCL
  // runtime."
  if (il == nullptr || length == 0) return fail(CL_INVALID_VALUE, "no intermediate language");
  return kernel_compiler::SpirvModule::read({static_cast<const std::byte*>(il), length});
}

Result<Program*> specialized_program(cl_program handle) {
  TUTTI_ASSIGN(Program* const found, program(handle));
  // "CL_INVALID_OPERATION if no devices associated with program support intermediate language
  // programs."
  if (!found->context().capabilities().il_programs) {
    return fail(CL_INVALID_OPERATION, "the device takes no intermediate language");
  }
  return found;
}

Result<DeviceList> required_devices(const Context& context, cl_uint count,
                                    const cl_device_id* devices) {
  // "CL_INVALID_VALUE if device_list is NULL or num_devices is zero."
  if (devices == nullptr || count == 0) return fail(CL_INVALID_VALUE, "no devices");
  return each_device(context, count, devices);
}

Result<DeviceList> build_program(const Program& program, cl_uint num_devices,
                                 const cl_device_id* device_list, const void* notify,
                                 const void* user_data) {
  TUTTI_TRY(list_and_count(num_devices, device_list));
  TUTTI_TRY(callback(notify, user_data));
  return listed_or_all(program, num_devices, device_list);
}

Result<CompileProgram> compile_program(Program& program, cl_uint num_devices,
                                       const cl_device_id* device_list, cl_uint num_input_headers,
                                       const cl_program* input_headers,
                                       const char** header_include_names, const void* notify,
                                       const void* user_data) {
  CompileProgram call;
  // "CL_INVALID_CONTEXT if the context associated with program and programs in input_headers are
  // not the same." (A program that is none gives CL_INVALID_PROGRAM.)
  if (input_headers != nullptr) {
    for (cl_uint i = 0; i < num_input_headers; ++i) {
      TUTTI_ASSIGN(Program * header, validate::program(input_headers[i]));
      if (&header->context() != &program.context()) {
        return fail(CL_INVALID_CONTEXT, "a header is of another context");
      }
    }
  }
  TUTTI_TRY(list_and_count(num_devices, device_list));
  // "CL_INVALID_VALUE if num_input_headers is zero and header_include_names or input_headers are
  // not NULL or if num_input_headers is not zero and header_include_names or input_headers are
  // NULL."
  if ((num_input_headers == 0) != (header_include_names == nullptr) ||
      (num_input_headers == 0) != (input_headers == nullptr)) {
    return fail(CL_INVALID_VALUE, "num_input_headers and the header lists do not agree");
  }
  TUTTI_TRY(callback(notify, user_data));
  TUTTI_ASSIGN(call.devices, listed_or_all(program, num_devices, device_list));
  for (cl_uint i = 0; i < num_input_headers; ++i) {
    if (header_include_names[i] == nullptr) return fail(CL_INVALID_VALUE, "a header has no name");
    TUTTI_ASSIGN(Program * header, validate::program(input_headers[i]));
    call.headers.push_back({header_include_names[i], header->source()});
  }
  return call;
}

Result<LinkProgram> link_program(Context& context, cl_uint num_devices,
                                 const cl_device_id* device_list, cl_uint num_input_programs,
                                 const cl_program* input_programs, const void* notify,
                                 const void* user_data) {
  LinkProgram call;
  TUTTI_TRY(list_and_count(num_devices, device_list));
  // "CL_INVALID_VALUE if num_input_programs is zero and input_programs is NULL or if
  // num_input_programs is zero and input_programs is not NULL or if num_input_programs is not zero
  // and input_programs is NULL."
  if (num_input_programs == 0 || input_programs == nullptr) {
    return fail(CL_INVALID_VALUE, "no input programs");
  }
  for (cl_uint i = 0; i < num_input_programs; ++i) {
    // "CL_INVALID_PROGRAM if programs specified in input_programs are not valid program objects."
    TUTTI_ASSIGN(Program * input, validate::program(input_programs[i]));
    // "CL_INVALID_CONTEXT if the context associated with programs in input_programs is not the same
    // as context."
    if (&input->context() != &context) {
      return fail(CL_INVALID_CONTEXT, "an input program is of another context");
    }
    call.inputs.push_back(input);
  }
  TUTTI_TRY(callback(notify, user_data));
  TUTTI_ASSIGN(call.devices, listed_or_all(context, num_devices, device_list));
  return call;
}

Status program_binaries(cl_uint num_devices, const size_t* lengths, const unsigned char** binaries,
                        cl_int* binary_status) {
  // "CL_INVALID_VALUE if lengths or binaries is NULL or if any entry in lengths[i] is zero or
  // binaries[i] is NULL."
  if (lengths == nullptr || binaries == nullptr) return fail(CL_INVALID_VALUE, "no binaries");
  bool invalid = false;
  for (cl_uint i = 0; i < num_devices; ++i) {
    const bool missing = lengths[i] == 0 || binaries[i] == nullptr;
    if (binary_status != nullptr) binary_status[i] = missing ? CL_INVALID_VALUE : CL_SUCCESS;
    invalid = invalid || missing;
  }
  if (invalid) return fail(CL_INVALID_VALUE, "an empty binary");
  return {};
}

Result<Device*> build_info_device(const Program& program, cl_device_id handle) {
  // "CL_INVALID_DEVICE if device is not in the list of devices associated with program."
  auto* const device = from_handle<Device>(handle);
  if (!program.has(device)) return fail(CL_INVALID_DEVICE, "not a device of the program");
  return device;
}

}  // namespace tutti::icd::validate
