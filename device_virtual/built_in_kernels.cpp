// SPDX-License-Identifier: Apache-2.0
#include "device_virtual/built_in_kernels.h"

#include <array>
#include <cstring>
#include <string_view>
#include <utility>

namespace tutti::device_virtual {
namespace {

using scheduler::ArgKind;
using scheduler::Argument;

template <typename Value>
Result<Value> value_of(backends::Kernel& kernel, uint32_t index, cl_kernel_arg_info what) {
  TUTTI_ASSIGN(const auto bytes, kernel.argument_info(index, what));
  Value value{};
  if (bytes.size() < sizeof value) return fail(CL_OUT_OF_RESOURCES, "a vendor's answer is short");
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

Result<std::string> text_of(backends::Kernel& kernel, uint32_t index, cl_kernel_arg_info what) {
  TUTTI_ASSIGN(const auto bytes, kernel.argument_info(index, what));
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text.substr(0, text.find('\0'));
}

/// Bytes of a number or a vector of numbers; 0: it is another type.
uint32_t size_of_type(std::string_view name) {
  constexpr std::pair<std::string_view, uint32_t> kNumbers[] = {
      {"char", 1},      {"short", 2},    {"int", 4},      {"long", 8},
      {"half", 2},      {"float", 4},    {"double", 8},   {"size_t", 8},
      {"ptrdiff_t", 8}, {"intptr_t", 8}, {"uintptr_t", 8}};
  if (name.starts_with("unsigned ")) name.remove_prefix(std::strlen("unsigned "));
  for (const auto& [number, size] : kNumbers) {
    std::string_view rest = name;
    if (rest.starts_with('u') && number[0] != 'u') rest.remove_prefix(1);
    if (!rest.starts_with(number)) continue;
    rest.remove_prefix(number.size());
    if (rest.empty()) return size;
    // "typen": 3-component vectors have the size of 4-component ones.
    constexpr std::pair<std::string_view, uint32_t> kCounts[] = {
        {"2", 2}, {"3", 4}, {"4", 4}, {"8", 8}, {"16", 16}};
    for (const auto& [text, count] : kCounts) {
      if (rest == text) return size * count;
    }
  }
  return 0;
}

const char* access_text(cl_kernel_arg_access_qualifier access) {
  switch (access) {
    case CL_KERNEL_ARG_ACCESS_WRITE_ONLY:
      return "write_only";
    case CL_KERNEL_ARG_ACCESS_READ_WRITE:
      return "read_write";
    default:
      return "read_only";
  }
}

ArgKind kind_of(const std::string& type, cl_kernel_arg_address_qualifier address,
                cl_kernel_arg_access_qualifier access, bool pipe) {
  if (pipe) return ArgKind::kPipe;
  if (type == "sampler_t") return ArgKind::kSampler;
  if (type == "queue_t") return ArgKind::kQueue;
  if (access != CL_KERNEL_ARG_ACCESS_NONE || type.starts_with("image")) return ArgKind::kImage;
  switch (address) {
    case CL_KERNEL_ARG_ADDRESS_GLOBAL:
      return ArgKind::kGlobal;
    case CL_KERNEL_ARG_ADDRESS_CONSTANT:
      return ArgKind::kConstant;
    case CL_KERNEL_ARG_ADDRESS_LOCAL:
      return ArgKind::kLocal;
    default:
      return size_of_type(type) != 0 ? ArgKind::kScalar : ArgKind::kOther;
  }
}

Result<Argument> argument_of(backends::Kernel& kernel, uint32_t index) {
  Argument argument;
  TUTTI_ASSIGN(const auto address, value_of<cl_kernel_arg_address_qualifier>(
                                       kernel, index, CL_KERNEL_ARG_ADDRESS_QUALIFIER));
  TUTTI_ASSIGN(const auto access, value_of<cl_kernel_arg_access_qualifier>(
                                      kernel, index, CL_KERNEL_ARG_ACCESS_QUALIFIER));
  TUTTI_ASSIGN(const auto qualifiers,
               value_of<cl_kernel_arg_type_qualifier>(kernel, index, CL_KERNEL_ARG_TYPE_QUALIFIER));
  TUTTI_ASSIGN(argument.type_name, text_of(kernel, index, CL_KERNEL_ARG_TYPE_NAME));
  TUTTI_ASSIGN(argument.name, text_of(kernel, index, CL_KERNEL_ARG_NAME));
  argument.kind =
      kind_of(argument.type_name, address, access, (qualifiers & CL_KERNEL_ARG_TYPE_PIPE) != 0);
  if (argument.kind == ArgKind::kScalar) argument.size = size_of_type(argument.type_name);
  if (argument.kind == ArgKind::kImage || argument.kind == ArgKind::kPipe) {
    argument.access = access_text(access);
  }
  argument.is_const = (qualifiers & CL_KERNEL_ARG_TYPE_CONST) != 0;
  argument.is_restrict = (qualifiers & CL_KERNEL_ARG_TYPE_RESTRICT) != 0;
  argument.is_volatile = (qualifiers & CL_KERNEL_ARG_TYPE_VOLATILE) != 0;
  return argument;
}

}  // namespace

Result<scheduler::KernelSummary> built_in_kernel(backends::Kernel& kernel,
                                                 const std::string& name) {
  scheduler::KernelSummary summary;
  summary.name = name;
  for (uint32_t i = 0; i < kernel.argument_count(); ++i) {
    TUTTI_ASSIGN(Argument argument, argument_of(kernel, i));
    summary.arguments.push_back(std::move(argument));
  }
  std::array<size_t, 3> required{};
  const auto answer = kernel.work_group_info(CL_KERNEL_COMPILE_WORK_GROUP_SIZE);
  if (answer && answer->size() >= sizeof required) {
    std::memcpy(required.data(), answer->data(), sizeof required);
  }
  for (size_t i = 0; i < required.size(); ++i) {
    summary.reqd_local[i] = static_cast<uint32_t>(required[i]);
  }
  summary.argument_info = true;
  summary.features = {name};
  summary.whole_reason = "it is built into the device";
  summary.uses_addresses = true;  // for all that is known
  return summary;
}

}  // namespace tutti::device_virtual
