// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/opencl_objects.h"

namespace tutti::backends {

Result<OpenClProgram::Present> OpenClProgram::present() {
  MutexLock lock(mutex_);
  if (made_.back().generation != device_.generation()) {
    TUTTI_ASSIGN(Made made, again_());
    made_.push_back(std::move(made));
  }
  return Present{made_.back().program.get(), made_.back().generation};
}

Result<std::unique_ptr<Kernel>> OpenClModule::create_kernel(const std::string& name) {
  if (vendors_gone()) return device_.gone("clCreateKernel");
  const CompileAhead ahead = ahead_ ? ahead_(name) : CompileAhead();
  TUTTI_ASSIGN(auto kernel, OpenClKernel::create(device_, program_, name, ahead));
  return kernel;
}

Result<std::vector<std::byte>> OpenClModule::binary() {
  if (vendors_gone()) return device_.gone("clGetProgramInfo");
  TUTTI_ASSIGN(const OpenClProgram::Present program, program_->present());
  // The context has one device, so there is one binary.
  size_t size = 0;
  cl_int code = device_.cl->clGetProgramInfo(program.handle, CL_PROGRAM_BINARY_SIZES, sizeof size,
                                             &size, nullptr);
  std::vector<std::byte> bytes(code == CL_SUCCESS ? size : 0);
  if (code == CL_SUCCESS && size > 0) {
    void* data = bytes.data();
    code = device_.cl->clGetProgramInfo(program.handle, CL_PROGRAM_BINARIES, sizeof data,
                                        static_cast<void*>(&data), nullptr);
  }
  if (code != CL_SUCCESS) return device_.failure("clGetProgramInfo", code);
  return bytes;
}

Result<size_t> OpenClModule::variable_bytes() {
  if (vendors_gone()) return device_.gone("clGetProgramBuildInfo");
  TUTTI_ASSIGN(const OpenClProgram::Present program, program_->present());
  size_t bytes = 0;
  const cl_int code = device_.cl->clGetProgramBuildInfo(program.handle, device_.device,
                                                        CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE,
                                                        sizeof bytes, &bytes, nullptr);
  // Drivers before OpenCL 2.0 do not know the question.
  if (code == CL_INVALID_VALUE) return 0;
  if (code != CL_SUCCESS) return device_.failure("clGetProgramBuildInfo", code);
  return bytes;
}

}  // namespace tutti::backends
