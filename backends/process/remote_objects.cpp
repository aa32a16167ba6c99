// SPDX-License-Identifier: Apache-2.0
#include "backends/process/remote_objects.h"

namespace tutti::backends::process {
namespace {

struct MadeKernel {
  uint64_t number = 0, arguments = 0;
};
Result<MadeKernel> make_kernel(Remote& module, const std::string& name, Channel& channel) {
  Writer request;
  TUTTI_ASSIGN(const uint64_t number, module.in(channel));
  request.put(number).text(name);
  TUTTI_ASSIGN(const auto answer, channel.call("making a kernel", Op::kCreateKernel, request));
  Reader from = answer.reader();
  MadeKernel made;
  from.into(made.number);
  from.into(made.arguments);
  return made;
}

}  // namespace

Result<std::vector<std::byte>> RemoteKernel::ask(KernelQuestion question, cl_uint what,
                                                 uint32_t index, std::span<const size_t> input,
                                                 uint64_t size) {
  Channel& channel = device_.present();
  TUTTI_ASSIGN(const uint64_t number, remote_.in(channel));
  Writer request;
  request.put(number).put(question).put(what).put<cl_uint>(index).list(input).put(size);
  TUTTI_ASSIGN(const auto answer, channel.call("asking about a kernel", Op::kKernelInfo, request));
  return answer.reader().bytes();
}

Result<std::vector<std::byte>> RemoteKernel::work_group_info(cl_kernel_work_group_info what) {
  return ask(KernelQuestion::kWorkGroup, what, 0, {}, 0);
}
Result<std::vector<std::byte>> RemoteKernel::sub_group_info(cl_kernel_sub_group_info what,
                                                            std::span<const size_t> input,
                                                            size_t size) {
  return ask(KernelQuestion::kSubGroup, what, 0, input, size);
}
Result<std::vector<std::byte>> RemoteKernel::argument_info(uint32_t index,
                                                           cl_kernel_arg_info what) {
  return ask(KernelQuestion::kArgument, what, index, {}, 0);
}

Result<std::unique_ptr<Kernel>> RemoteModule::create_kernel(const std::string& name) {
  Channel& channel = device_.present();
  TUTTI_ASSIGN(const MadeKernel made, make_kernel(*remote_, name, channel));
  auto again = [module = remote_, name](Channel& later) {
    return make_kernel(*module, name, later).map([](const MadeKernel& one) { return one.number; });
  };
  return std::make_unique<RemoteKernel>(device_, std::move(again), channel, made.number,
                                        made.arguments);
}

Result<Channel::Answer> RemoteModule::ask(const char* what, Op op) {
  Channel& channel = device_.present();
  TUTTI_ASSIGN(const uint64_t number, remote_->in(channel));
  Writer request;
  request.put(number);
  return channel.call(what, op, request);
}

Result<std::vector<std::byte>> RemoteModule::binary() {
  TUTTI_ASSIGN(const auto answer, ask("asking for a binary", Op::kBinary));
  return answer.reader().bytes();
}

Result<size_t> RemoteModule::variable_bytes() {
  TUTTI_ASSIGN(const auto answer, ask("asking about a program", Op::kVariables));
  return static_cast<size_t>(answer.reader().get<uint64_t>());
}

}  // namespace tutti::backends::process
