// SPDX-License-Identifier: Apache-2.0
// Entry points on kernels.
#include "device_virtual/kernel.h"
#include "icd/entry/entries.h"
#include "icd/entry/entry.h"
#include "icd/entry/works.h"
#include "icd/validate/common.h"
#include "icd/validate/kernel.h"
#include "icd/validate/program.h"
#include "icd/validate/svm.h"

namespace tutti::icd {

using device_virtual::InfoAnswer;
using device_virtual::Kernel;

cl_kernel CL_API_CALL clCreateKernel(cl_program program, const char* kernel_name,
                                     cl_int* errcode_ret) {
  return entry_object("clCreateKernel", errcode_ret, [&]() -> Result<cl_kernel> {
    TUTTI_ASSIGN(auto* owner, validate::program(program));
    TUTTI_TRY(validate::kernel_name(kernel_name));
    TUTTI_ASSIGN(Kernel * kernel, owner->create_kernel(kernel_name));
    return kernel->handle();
  });
}

cl_int CL_API_CALL clCreateKernelsInProgram(cl_program program, cl_uint num_kernels,
                                            cl_kernel* kernels, cl_uint* num_kernels_ret) {
  return entry("clCreateKernelsInProgram", [&]() -> Status {
    TUTTI_ASSIGN(auto* owner, validate::program(program));
    return owner->create_kernels(num_kernels, kernels, num_kernels_ret);
  });
}

cl_kernel CL_API_CALL clCloneKernel(cl_kernel source_kernel, cl_int* errcode_ret) {
  return entry_object("clCloneKernel", errcode_ret, [&]() -> Result<cl_kernel> {
    TUTTI_ASSIGN(Kernel * source, validate::kernel(source_kernel));
    TUTTI_ASSIGN(Kernel * clone, source->clone());
    return clone->handle();
  });
}

cl_int CL_API_CALL clRetainKernel(cl_kernel kernel) {
  return entry("clRetainKernel", [&]() -> Status {
    TUTTI_ASSIGN(Kernel * object, validate::kernel(kernel));
    object->retain_public();
    return {};
  });
}

cl_int CL_API_CALL clReleaseKernel(cl_kernel kernel) {
  return entry("clReleaseKernel", [&]() -> Status {
    TUTTI_ASSIGN(Kernel * object, validate::kernel(kernel));
    if (!object->release_public()) return fail(CL_INVALID_KERNEL, "released already");
    return {};
  });
}

cl_int CL_API_CALL clSetKernelArg(cl_kernel kernel, cl_uint arg_index, size_t arg_size,
                                  const void* arg_value) {
  return entry("clSetKernelArg", [&]() -> Status {
    TUTTI_ASSIGN(Kernel * object, validate::kernel(kernel));
    return set_argument(*object, arg_index, arg_size, arg_value);
  });
}

cl_int CL_API_CALL clSetKernelArgSVMPointer(cl_kernel kernel, cl_uint arg_index,
                                            const void* arg_value) {
  return entry("clSetKernelArgSVMPointer", [&]() -> Status {
    TUTTI_ASSIGN(const auto call, validate::argument_pointer(kernel, arg_index, arg_value));
    set_pointer(call, arg_index);
    return {};
  });
}

cl_int CL_API_CALL clSetKernelArgDevicePointerEXT(cl_kernel kernel, cl_uint arg_index,
                                                  cl_ulong arg_value) {
  return entry("clSetKernelArgDevicePointerEXT", [&]() -> Status {
    TUTTI_ASSIGN(const auto call, validate::argument_address(kernel, arg_index, arg_value));
    set_pointer(call, arg_index);
    return {};
  });
}

cl_int CL_API_CALL clSetKernelExecInfo(cl_kernel kernel, cl_kernel_exec_info param_name,
                                       size_t param_value_size, const void* param_value) {
  return entry("clSetKernelExecInfo", [&]() -> Status {
    TUTTI_ASSIGN(Kernel * object, validate::kernel(kernel));
    // What a kernel may reach is known of the kernel itself, and all that there is counts.
    return validate::exec_info(*object, param_name, param_value_size, param_value);
  });
}

cl_int CL_API_CALL clGetKernelInfo(cl_kernel kernel, cl_kernel_info param_name,
                                   size_t param_value_size, void* param_value,
                                   size_t* param_value_size_ret) {
  return entry("clGetKernelInfo", [&]() -> Status {
    TUTTI_ASSIGN(Kernel * object, validate::kernel(kernel));
    return object->info(param_name,
                        InfoAnswer(param_value_size, param_value, param_value_size_ret));
  });
}

cl_int CL_API_CALL clGetKernelArgInfo(cl_kernel kernel, cl_uint arg_index,
                                      cl_kernel_arg_info param_name, size_t param_value_size,
                                      void* param_value, size_t* param_value_size_ret) {
  return entry("clGetKernelArgInfo", [&]() -> Status {
    TUTTI_ASSIGN(Kernel * object, validate::kernel(kernel));
    TUTTI_TRY(validate::argument_index(*object, arg_index));
    return object->argument_info(arg_index, param_name,
                                 InfoAnswer(param_value_size, param_value, param_value_size_ret));
  });
}

cl_int CL_API_CALL clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device,
                                            cl_kernel_work_group_info param_name,
                                            size_t param_value_size, void* param_value,
                                            size_t* param_value_size_ret) {
  return entry("clGetKernelWorkGroupInfo", [&]() -> Status {
    TUTTI_ASSIGN(Kernel * object, validate::kernel(kernel));
    TUTTI_TRY(validate::kernel_device(*object, device));
    return object->work_group_info(param_name,
                                   InfoAnswer(param_value_size, param_value, param_value_size_ret));
  });
}

namespace {

cl_int sub_group_info(const char* name, cl_kernel kernel, cl_device_id device,
                      cl_kernel_sub_group_info what, size_t input_size, const void* input,
                      const InfoAnswer& answer) {
  return entry(name, [&]() -> Status {
    TUTTI_ASSIGN(Kernel * object, validate::kernel(kernel));
    TUTTI_TRY(validate::kernel_device(*object, device));
    TUTTI_ASSIGN(const auto values, validate::sub_group_question(*object, what, input_size, input));
    return object->sub_group_info(what, values, answer);
  });
}

}  // namespace

cl_int CL_API_CALL clGetKernelSubGroupInfo(cl_kernel kernel, cl_device_id device,
                                           cl_kernel_sub_group_info param_name,
                                           size_t input_value_size, const void* input_value,
                                           size_t param_value_size, void* param_value,
                                           size_t* param_value_size_ret) {
  return sub_group_info("clGetKernelSubGroupInfo", kernel, device, param_name, input_value_size,
                        input_value,
                        InfoAnswer(param_value_size, param_value, param_value_size_ret));
}

cl_int CL_API_CALL clGetKernelSubGroupInfoKHR(cl_kernel kernel, cl_device_id device,
                                              cl_kernel_sub_group_info param_name,
                                              size_t input_value_size, const void* input_value,
                                              size_t param_value_size, void* param_value,
                                              size_t* param_value_size_ret) {
  return sub_group_info("clGetKernelSubGroupInfoKHR", kernel, device, param_name, input_value_size,
                        input_value,
                        InfoAnswer(param_value_size, param_value, param_value_size_ret));
}

}  // namespace tutti::icd
