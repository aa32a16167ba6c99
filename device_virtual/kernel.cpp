// SPDX-License-Identifier: Apache-2.0
#include "device_virtual/kernel.h"

#include <algorithm>
#include <utility>

#include "scheduler/access/local_size.h"

namespace tutti::device_virtual {

using scheduler::ArgKind;

namespace {

/// All of the context's memory that has addresses, since which of it the kernel reaches nobody
/// knows: an application need not name what it gives as arguments, and may forget to name more.
std::shared_ptr<const scheduler::ArgumentSet> with_reached(const scheduler::ArgumentSet& arguments,
                                                           Context& context) {
  auto set = std::make_shared<scheduler::ArgumentSet>(arguments);
  set->version = UINT64_MAX;  // no other launch is like this one
  for (const SharedAllocations* all : {&context.shared_memory(), &context.addressed_buffers()}) {
    for (scheduler::BufferView& view : all->views()) {
      scheduler::ArgumentSlot& slot = set->emplace_back();
      slot.kind = scheduler::ArgumentSlot::Kind::kReached;
      slot.view = std::move(view);
    }
  }
  return set;
}

}  // namespace

Kernel::Kernel(Program& program, std::shared_ptr<KernelExecutable> executable)
    : Kernel(program, executable,
             std::make_shared<KernelArguments>(executable->summary().arguments.size())) {}

Kernel::Kernel(Program& program, std::shared_ptr<KernelExecutable> executable,
               std::shared_ptr<KernelArguments> arguments, bool of_command)
    : program_(&program),
      executable_(std::move(executable)),
      arguments_(std::move(arguments)),
      of_command_(of_command) {
  program_->attach_kernel();
}

Kernel::~Kernel() {
  if (attached_) program_->detach_kernel();
  // An update of a command need not end batches of launches: the application has released nothing.
  if (!of_command_) program_->context().engine().released();
}

void Kernel::last_public_release() {
  attached_ = false;
  program_->detach_kernel();
}

Result<Kernel*> Kernel::clone() {
  auto arguments = std::make_shared<KernelArguments>(*arguments_);
  for (const void* owner : arguments->owners()) {
    if (const auto place = context().shared_memory().find(owner)) {
      place->allocation->argument_holders().add(arguments);
      continue;
    }
    // The application may not have released it; should it have, the handle tells.
    auto* memory = const_cast<_cl_mem*>(static_cast<const _cl_mem*>(owner));
    if (Buffer* buffer = from_handle<Buffer>(memory)) buffer->argument_holders().add(arguments);
  }
  return new Kernel(
      *program_, std::make_shared<KernelExecutable>(executable_->program(), executable_->index()),
      std::move(arguments));
}

Ref<Kernel> Kernel::copy_for_command() const {
  // Versions of argument sets tell launches of one executable apart.
  auto executable = of_command_ ? executable_
                                : std::make_shared<KernelExecutable>(executable_->program(),
                                                                     executable_->index());
  const Ref<Kernel> copy(new Kernel(*program_, std::move(executable),
                                    std::make_shared<KernelArguments>(*arguments_), true));
  copy->release_public();  // the application never holds it
  return copy;
}

void Kernel::set_local(uint32_t index, uint64_t size) { arguments_->set_local(index, size); }

void Kernel::set_buffer(uint32_t index, Buffer* buffer) {
  if (buffer == nullptr) {
    (void)arguments_->set_buffer(index, nullptr, {});
  } else if (arguments_->set_buffer(index, buffer->handle(), buffer->view(),
                                    buffer->buffer_image()) &&
             !of_command_) {
    buffer->argument_holders().add(arguments_);
  }
}

void Kernel::set_shared(uint32_t index, const SharedAllocations::Place& place) {
  const scheduler::BufferView view = place.allocation->view_from(place.offset);
  cl_mem const handle = place.allocation->origin().buffer;
  if (handle == nullptr) {
    if (arguments_->set_buffer(index, place.allocation->address(), view) && !of_command_) {
      place.allocation->argument_holders().add(arguments_);
    }
  } else if (arguments_->set_buffer(index, handle, view) && !of_command_) {
    if (Buffer* buffer = from_handle<Buffer>(handle)) buffer->argument_holders().add(arguments_);
  }
}

void Kernel::set_queue(uint32_t index, const CommandQueue& queue) {
  arguments_->set_queue(index, queue.on_device()->queue, queue.on_device()->home);
}

void Kernel::set_sampler(uint32_t index, const backends::SamplerState& sampler) {
  arguments_->set_sampler(index, sampler);
}

Status Kernel::enqueue(CommandQueue& queue, std::shared_ptr<const scheduler::ArgumentSet> arguments,
                       const scheduler::LaunchShape& shape, bool local_given,
                       const Submission& submission) const {
  // "the kernel command will trivially succeed after its event dependencies are satisfied … unlike
  // a marker, an enqueued kernel with no events passed to event_wait_list may run at any time".
  if (shape.is_empty()) return queue.enqueue(scheduler::no_work(), submission);
  TUTTI_ASSIGN(auto work, launch_now(launch_of(std::move(arguments), shape, local_given)));
  return queue.enqueue(std::move(work), submission);
}

Result<scheduler::KernelWork> Kernel::launch_now(scheduler::KernelWork work) const {
  if (summary().uses_addresses && context().any_reachable()) {
    work.arguments = with_reached(*work.arguments, context());
  }
  if (!work.local_given && suggested_.load(std::memory_order_relaxed)) {
    TUTTI_ASSIGN(const size_t most, executable_->max_work_group_size());
    scheduler::choose_local(work.shape, most);
    work.local_given = true;
  }
  return work;
}

Status Kernel::suggest_local(scheduler::LaunchShape& shape) {
  TUTTI_ASSIGN(const size_t most, executable_->max_work_group_size());
  scheduler::choose_local(shape, most);
  suggested_.store(true, std::memory_order_relaxed);
  return {};
}

Status Kernel::info(cl_kernel_info what, const InfoAnswer& answer) const {
  switch (what) {
    case CL_KERNEL_FUNCTION_NAME:
      return answer.string(summary().name);
    case CL_KERNEL_NUM_ARGS:
      return answer.value<cl_uint>(static_cast<cl_uint>(summary().arguments.size()));
    case CL_KERNEL_REFERENCE_COUNT:
      return answer.value<cl_uint>(public_references());
    case CL_KERNEL_CONTEXT:
      return answer.value<cl_context>(context().handle());
    case CL_KERNEL_PROGRAM:
      return answer.value<cl_program>(program_->handle());
    case CL_KERNEL_ATTRIBUTES:
      return answer.string(summary().attributes);
    default:
      return unknown_query();
  }
}

Status Kernel::argument_info(uint32_t index, cl_kernel_arg_info what,
                             const InfoAnswer& answer) const {
  // "Kernel argument information is only available if the program object associated with kernel is
  // created with clCreateProgramWithSource and the program executable is built with the
  // -cl-kernel-arg-info option".
  if (!summary().argument_info) {
    return fail(CL_KERNEL_ARG_INFO_NOT_AVAILABLE, "built without -cl-kernel-arg-info");
  }
  const scheduler::Argument& argument = summary().arguments[index];
  switch (what) {
    case CL_KERNEL_ARG_ADDRESS_QUALIFIER:
      return answer.value(address_qualifier(argument));
    case CL_KERNEL_ARG_ACCESS_QUALIFIER:
      return answer.value(access_qualifier(argument));
    case CL_KERNEL_ARG_TYPE_NAME:
      return answer.string(argument.type_name);
    case CL_KERNEL_ARG_TYPE_QUALIFIER:
      return answer.value(type_qualifier(argument));
    case CL_KERNEL_ARG_NAME:
      return answer.string(argument.name);
    default:
      return unknown_query();
  }
}

Status Kernel::work_group_info(cl_kernel_work_group_info what, const InfoAnswer& answer) {
  switch (what) {
    case CL_KERNEL_WORK_GROUP_SIZE: {
      TUTTI_ASSIGN(const size_t size, executable_->max_work_group_size());
      return answer.value<size_t>(size);
    }
    case CL_KERNEL_COMPILE_WORK_GROUP_SIZE: {
      const auto& required = summary().reqd_local;
      const size_t size[3] = {required[0], required[1], required[2]};
      return answer.list(std::span<const size_t>(size));
    }
    case CL_KERNEL_LOCAL_MEM_SIZE: {
      // "If the local memory size, for any pointer argument to the kernel declared with the __local
      // address qualifier, is not specified, its size is assumed to be 0."
      TUTTI_ASSIGN(const uint64_t size, executable_->static_local_memory());
      return answer.value<cl_ulong>(size + arguments_->local_bytes());
    }
    case CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE: {
      TUTTI_ASSIGN(const size_t multiple, executable_->preferred_multiple());
      return answer.value<size_t>(multiple);
    }
    case CL_KERNEL_PRIVATE_MEM_SIZE: {
      TUTTI_ASSIGN(const uint64_t size, executable_->private_memory());
      return answer.value<cl_ulong>(size);
    }
    case CL_KERNEL_GLOBAL_WORK_SIZE:
      return fail(CL_INVALID_VALUE, "the kernel is not a built-in kernel");
    default:
      return unknown_query();
  }
}

Status Kernel::sub_group_info(cl_kernel_sub_group_info what, std::span<const size_t> input,
                              const InfoAnswer& answer) {
  const size_t room = answer.data() != nullptr ? answer.size() : 0;
  TUTTI_ASSIGN(const auto bytes, executable_->sub_group_info(what, input, room));
  return answer.list(std::span<const std::byte>(bytes));
}

cl_kernel_arg_address_qualifier address_qualifier(const scheduler::Argument& argument) {
  switch (argument.kind) {
    case ArgKind::kGlobal:
    case ArgKind::kImage:
    case ArgKind::kPipe:
      return CL_KERNEL_ARG_ADDRESS_GLOBAL;
    case ArgKind::kConstant:
      return CL_KERNEL_ARG_ADDRESS_CONSTANT;
    case ArgKind::kLocal:
      return CL_KERNEL_ARG_ADDRESS_LOCAL;
    case ArgKind::kScalar:
    case ArgKind::kSampler:
    case ArgKind::kQueue:
    case ArgKind::kOther:
      break;
  }
  return CL_KERNEL_ARG_ADDRESS_PRIVATE;
}

cl_kernel_arg_access_qualifier access_qualifier(const scheduler::Argument& argument) {
  if (argument.kind != ArgKind::kImage && argument.kind != ArgKind::kPipe) {
    return CL_KERNEL_ARG_ACCESS_NONE;
  }
  if (argument.access == "write_only") return CL_KERNEL_ARG_ACCESS_WRITE_ONLY;
  if (argument.access == "read_write") return CL_KERNEL_ARG_ACCESS_READ_WRITE;
  return CL_KERNEL_ARG_ACCESS_READ_ONLY;  // the language's default too
}

cl_kernel_arg_type_qualifier type_qualifier(const scheduler::Argument& argument) {
  if (argument.kind == ArgKind::kPipe) return CL_KERNEL_ARG_TYPE_PIPE;
  // "CL_KERNEL_ARG_TYPE_NONE is returned for all kernel arguments passed by value."
  if (argument.kind != ArgKind::kGlobal && argument.kind != ArgKind::kConstant &&
      argument.kind != ArgKind::kLocal) {
    return CL_KERNEL_ARG_TYPE_NONE;
  }
  cl_kernel_arg_type_qualifier qualifier = CL_KERNEL_ARG_TYPE_NONE;
  // "Additionally, CL_KERNEL_ARG_TYPE_CONST is returned if the kernel argument is declared with the
  // constant address space qualifier."
  if (argument.is_const || argument.kind == ArgKind::kConstant) {
    qualifier |= CL_KERNEL_ARG_TYPE_CONST;
  }
  if (argument.is_restrict) qualifier |= CL_KERNEL_ARG_TYPE_RESTRICT;
  if (argument.is_volatile) qualifier |= CL_KERNEL_ARG_TYPE_VOLATILE;
  return qualifier;
}

}  // namespace tutti::device_virtual
