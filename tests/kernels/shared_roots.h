// SPDX-License-Identifier: Apache-2.0
// The roots of a case that are shared virtual memory: allocated, filled, read and freed for one
// launch. Pointers in them are addresses while kernels run, and symbols in what is written and
// read. OpenCL errors are exceptions. One thread.
#pragma once

#include <CL/cl.h>

#include <vector>

#include "kernel_case.h"

namespace tutti::kernel_fuzz {

class SharedRoots {
 public:
  SharedRoots(cl_context context, cl_command_queue queue, const KernelCase& kernel);
  /// When the queue has ended.
  ~SharedRoots();
  SharedRoots(const SharedRoots&) = delete;
  SharedRoots& operator=(const SharedRoots&) = delete;

  void write(size_t root, const Bytes& data);
  void read(size_t root, Bytes& data);
  /// The caller's.
  cl_mem buffer_over(size_t root);
  void set_argument(cl_kernel kernel, cl_uint index, size_t root, uint64_t at);
  /// Tells the kernel of all that it may reach.
  void name_all(cl_kernel kernel);

 private:
  void copy(size_t root, Bytes& data, bool write);

  cl_context context_;
  cl_command_queue queue_;
  const KernelCase& kernel_;
  std::vector<uint8_t*> memory_;  // null: a buffer
};

}  // namespace tutti::kernel_fuzz
