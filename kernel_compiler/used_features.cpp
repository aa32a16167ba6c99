// SPDX-License-Identifier: Apache-2.0
#include "kernel_compiler/used_features.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "kernel_compiler/address_space.h"
#include "kernel_compiler/builtin_names.h"

namespace tutti::kernel_compiler {
namespace {

using Features = std::set<std::string>;

void note_type(const llvm::Type* type, Features& features) {
  if (type->isDoubleTy()) features.insert("cl_khr_fp64");
  if (type->isHalfTy()) features.insert("cl_khr_fp16");
  if (type->isPointerTy() && type->getPointerAddressSpace() == kGenericSpace) {
    features.insert("__opencl_c_generic_address_space");
  }
  if (const auto* opaque = llvm::dyn_cast<llvm::TargetExtType>(type)) {
    const llvm::StringRef name = opaque->getName();
    if (name == "spirv.Image") {
      features.insert("__opencl_c_images");
      constexpr unsigned kReadWrite = 2;  // SPIR-V's Access Qualifier, the last parameter
      if (!opaque->int_params().empty() && opaque->int_params().back() == kReadWrite) {
        features.insert("__opencl_c_read_write_images");
      }
    } else if (name == "spirv.Pipe") {
      features.insert("__opencl_c_pipes");
    } else if (name == "spirv.Queue" || name == "spirv.DeviceEvent") {
      features.insert("__opencl_c_device_enqueue");
    }
  }
  for (const llvm::Type* part : type->subtypes()) note_type(part, features);
}

void note_atomic(std::string_view base, std::string_view parameters, Features& features) {
  const auto type = first_parameter_type(parameters);
  if (!type) return;
  if (type->is_float && base.substr(0, 13) == "atomic_fetch_") {
    features.insert("cl_ext_float_atomics");
    return;
  }
  if (type->bytes != 8) return;
  const auto ends = [base](std::string_view end) {
    const auto at = base.rfind("_explicit");
    const std::string_view name = base.substr(0, std::min(base.size(), at));
    return name.size() >= end.size() && name.substr(name.size() - end.size()) == end;
  };
  const bool extended = ends("_min") || ends("_max") || ends("_and") || ends("_or") || ends("_xor");
  features.insert(extended ? "cl_khr_int64_extended_atomics" : "cl_khr_int64_base_atomics");
}

struct NamedFeature {
  std::string_view begin;  // of functions' names; the first that fits counts
  std::string_view feature;
};
constexpr NamedFeature kFunctions[] = {
    {"__enqueue_kernel_", "__opencl_c_device_enqueue"},
    {"__get_kernel_", "__opencl_c_device_enqueue"},
    {"sub_group_shuffle_up", "cl_khr_subgroup_shuffle_relative"},
    {"sub_group_shuffle_down", "cl_khr_subgroup_shuffle_relative"},
    {"sub_group_shuffle", "cl_khr_subgroup_shuffle"},
    {"sub_group_clustered_rotate", "cl_khr_subgroup_rotate"},
    {"sub_group_clustered_", "cl_khr_subgroup_clustered_reduce"},
    {"sub_group_rotate", "cl_khr_subgroup_rotate"},
    {"sub_group_elect", "cl_khr_subgroup_non_uniform_vote"},
    {"sub_group_non_uniform_all", "cl_khr_subgroup_non_uniform_vote"},
    {"sub_group_non_uniform_any", "cl_khr_subgroup_non_uniform_vote"},
    {"sub_group_non_uniform_broadcast", "cl_khr_subgroup_ballot"},
    {"sub_group_non_uniform_", "cl_khr_subgroup_non_uniform_arithmetic"},
    {"sub_group_broadcast_first", "cl_khr_subgroup_ballot"},
    {"sub_group_ballot", "cl_khr_subgroup_ballot"},
    {"sub_group_inverse_ballot", "cl_khr_subgroup_ballot"},
    {"intel_sub_group_", "cl_intel_subgroups"},
    {"dot_4x8packed_", "cl_khr_integer_dot_product"},
    {"dot_acc_sat", "cl_khr_integer_dot_product"},
    {"bitfield_", "cl_khr_extended_bit_ops"},
    {"bit_reverse", "cl_khr_extended_bit_ops"},
    {"clock_read_", "cl_khr_kernel_clock"},
    {"work_group_all", "__opencl_c_work_group_collective_functions"},
    {"work_group_any", "__opencl_c_work_group_collective_functions"},
    {"work_group_broadcast", "__opencl_c_work_group_collective_functions"},
    {"work_group_reduce_", "__opencl_c_work_group_collective_functions"},
    {"work_group_scan_", "__opencl_c_work_group_collective_functions"},
    {"__enqueue_kernel", "__opencl_c_device_enqueue"},
};

void note_function(std::string_view base, std::string_view parameters, Features& features) {
  if (base.find("sub_group") != std::string_view::npos) features.insert("__opencl_c_subgroups");
  for (const NamedFeature& named : kFunctions) {
    if (base.substr(0, named.begin.size()) != named.begin) continue;
    features.insert(std::string(named.feature));
    return;
  }
  const auto type = base == "dot" ? first_parameter_type(parameters) : std::nullopt;
  if (type && !type->is_float) features.insert("cl_khr_integer_dot_product");
}

void note_call(const llvm::Function& callee, Features& features) {
  const auto [base, parameters] = split_mangled({callee.getName().data(), callee.getName().size()});
  note_function(base, parameters, features);
  if (classify_builtin(base) == BuiltinClass::kAtomic) note_atomic(base, parameters, features);
  const auto has = [parameters = parameters](std::string_view text) {
    return parameters.find(text) != std::string_view::npos;
  };
  if (!has("ocl_image")) return;
  features.insert("__opencl_c_images");
  if (has("depth")) features.insert("cl_khr_depth_images");
  if (has("ocl_image3d") && base.substr(0, 11) == "write_image") {
    features.insert("cl_khr_3d_image_writes");
  }
}

/// What OpenCL C 3.0 has too, but not with all that 3.1 makes of it: printf's `z` and `t`, and
/// atomics of several scopes, which there may synchronize with each other. The rest of 3.1 is
/// functions that are extensions' in 3.0.
bool differs_in_version_31(const llvm::Function& callee) {
  const auto [base, parameters] = split_mangled({callee.getName().data(), callee.getName().size()});
  return base == "printf" || base == "atomic_work_item_fence" ||
         parameters.find("U7_Atomic") != std::string_view::npos;
}

void note_operand(const llvm::Value& operand, Features& features) {
  note_type(operand.getType(), features);
  // A table of constants, wherever in an expression it is named.
  if (const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(&operand)) {
    note_type(variable->getValueType(), features);
    if (variable->getAddressSpace() == kGlobalSpace) {
      features.insert("__opencl_c_program_scope_global_variables");
    }
  } else if (const auto* expression = llvm::dyn_cast<llvm::ConstantExpr>(&operand)) {
    for (const llvm::Use& use : expression->operands()) note_operand(*use, features);
  }
}

Features of_function(const llvm::Function& function, uint32_t language) {
  Features features;
  for (const llvm::Argument& argument : function.args()) note_type(argument.getType(), features);
  for (const llvm::Instruction& instruction : llvm::instructions(function)) {
    note_type(instruction.getType(), features);
    for (const llvm::Use& use : instruction.operands()) note_operand(*use, features);
    if (const auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction)) {
      note_type(variable->getAllocatedType(), features);
    } else if (const auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction)) {
      note_type(address->getSourceElementType(), features);
    } else if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
      const llvm::Function* callee = call->getCalledFunction();
      if (callee == nullptr || !callee->isDeclaration()) continue;
      note_call(*callee, features);
      if (language > 300 && differs_in_version_31(*callee)) features.insert("OpenCL C 3.1");
    }
  }
  return features;
}

/// All that a kernel may get to, itself included.
std::set<const llvm::Function*> reached(const llvm::Function& kernel) {
  std::set<const llvm::Function*> seen{&kernel};
  for (std::vector<const llvm::Function*> open{&kernel}; !open.empty();) {
    const llvm::Function* function = open.back();
    open.pop_back();
    for (const llvm::Instruction& instruction : llvm::instructions(*function)) {
      for (const llvm::Use& use : instruction.operands()) {
        const auto* other = llvm::dyn_cast<llvm::Function>(use->stripPointerCasts());
        if (other != nullptr && seen.insert(other).second) open.push_back(other);
      }
    }
  }
  return seen;
}

}  // namespace

void note_used_features(const llvm::Module& module, uint32_t language,
                        std::vector<scheduler::KernelSummary>& kernels) {
  std::map<const llvm::Function*, Features> known;
  for (scheduler::KernelSummary& summary : kernels) {
    const llvm::Function* kernel = module.getFunction(summary.name);
    if (kernel == nullptr) continue;
    Features all;
    for (const llvm::Function* function : reached(*kernel)) {
      const auto [entry, added] = known.try_emplace(function);
      if (added) entry->second = of_function(*function, language);
      all.insert(entry->second.begin(), entry->second.end());
    }
    summary.features.assign(all.begin(), all.end());
  }
}

}  // namespace tutti::kernel_compiler
