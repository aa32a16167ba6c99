// SPDX-License-Identifier: Apache-2.0
#include "kernel_compiler/builtin_lowering.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <charconv>
#include <vector>

#include "kernel_compiler/builtin_names.h"

namespace tutti::kernel_compiler {
namespace {

using llvm::CallInst;
using llvm::IRBuilder;
using llvm::Value;

bool integers(const CallInst& call) {
  if (!call.getType()->isIntOrIntVectorTy()) {
    return false;
  }
  for (const llvm::Use& argument : call.args()) {
    if (!argument->getType()->isIntOrIntVectorTy()) {
      return false;
    }
  }
  return true;
}

/// A scalar second operand of a vector min, max or clamp stands for all lanes.
Value* widened(IRBuilder<>& builder, Value* value, llvm::Type* type) {
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
      vector != nullptr && !value->getType()->isVectorTy()) {
    return builder.CreateVectorSplat(vector->getNumElements(), value);
  }
  return value;
}

Value* lower_integer(IRBuilder<>& builder, CallInst& call, std::string_view base,
                     const ElementType& type) {
  using llvm::Intrinsic::ID;
  if (!integers(call)) {
    return nullptr;
  }
  const auto argument = [&](unsigned i) {
    return widened(builder, call.getArgOperand(i), call.getType());
  };
  const ID least = type.is_unsigned ? llvm::Intrinsic::umin : llvm::Intrinsic::smin;
  const ID most = type.is_unsigned ? llvm::Intrinsic::umax : llvm::Intrinsic::smax;
  const unsigned count = call.arg_size();
  if (base == "min" && count == 2) {
    return builder.CreateBinaryIntrinsic(least, argument(0), argument(1));
  }
  if (base == "max" && count == 2) {
    return builder.CreateBinaryIntrinsic(most, argument(0), argument(1));
  }
  if (base == "clamp" && count == 3) {
    // min(max(x, low), high); undefined for low > high.
    return builder.CreateBinaryIntrinsic(
        least, builder.CreateBinaryIntrinsic(most, argument(0), argument(1)), argument(2));
  }
  if (base == "abs" && count == 1) {
    return type.is_unsigned ? argument(0)
                            : builder.CreateBinaryIntrinsic(llvm::Intrinsic::abs, argument(0),
                                                            builder.getFalse());
  }
  // Operands beyond 24 bits give results that the specification leaves to the implementation
  // (section 6.15.3), which no program may depend on: a plain product.
  if (base == "mul24" && count == 2) {
    return builder.CreateMul(argument(0), argument(1));
  }
  if (base == "mad24" && count == 3) {
    return builder.CreateAdd(builder.CreateMul(argument(0), argument(1)), argument(2));
  }
  if (base.starts_with("convert_") && count == 1 && base.find("_sat") == std::string_view::npos) {
    return builder.CreateIntCast(argument(0), call.getType(), !type.is_unsigned);
  }
  return nullptr;
}

/// vload and vstore in all forms: "vload4", "vloada_half3", "vstore_half8_rte", "vload_half".
struct VectorAccess {
  bool store = false;
  bool half = false;     // memory holds halves
  bool aligned = false;  // vloada, vstorea: three lanes take the place of four
  unsigned lanes = 1;
};

std::optional<VectorAccess> vector_access(std::string_view base) {
  VectorAccess access;
  if (base.starts_with("vload")) {
    base.remove_prefix(5);
  } else if (base.starts_with("vstore")) {
    access.store = true;
    base.remove_prefix(6);
  } else {
    return std::nullopt;
  }
  if (base.starts_with("a_half")) {
    access.aligned = access.half = true;
    base.remove_prefix(6);
  } else if (base.starts_with("_half")) {
    access.half = true;
    base.remove_prefix(5);
  }
  const auto rounding = base.find('_');
  if (rounding != std::string_view::npos) {
    if (!access.half || !access.store || base.size() != rounding + 4) {
      return std::nullopt;  // "_rte" and its kin belong to half stores
    }
    base = base.substr(0, rounding);
  }
  if (base.empty()) {
    return access.half ? std::optional(access) : std::nullopt;
  }
  const auto [end, error] = std::from_chars(base.data(), base.data() + base.size(), access.lanes);
  if (error != std::errc() || end != base.data() + base.size() || access.lanes < 2 ||
      access.lanes > 16) {
    return std::nullopt;
  }
  return access;
}

bool lower_vector_access(IRBuilder<>& builder, CallInst& call, const VectorAccess& access) {
  const unsigned first = access.store ? 1 : 0;
  if (call.arg_size() != first + 2) {
    return false;
  }
  Value* index = call.getArgOperand(first);
  Value* pointer = call.getArgOperand(first + 1);
  llvm::Type* value_type = access.store ? call.getArgOperand(0)->getType() : call.getType();
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value_type);
  if (!index->getType()->isIntegerTy() || !pointer->getType()->isPointerTy() ||
      (vector != nullptr ? vector->getNumElements() : 1) != access.lanes) {
    return false;
  }
  llvm::Type* lane = access.half ? builder.getHalfTy() : value_type->getScalarType();
  llvm::Type* memory =
      access.lanes == 1 ? lane
                        : static_cast<llvm::Type*>(llvm::FixedVectorType::get(lane, access.lanes));
  const unsigned stride = access.aligned && access.lanes == 3 ? 4 : access.lanes;
  Value* at = builder.CreateMul(index, llvm::ConstantInt::get(index->getType(), stride));
  Value* address = builder.CreateInBoundsGEP(lane, pointer, at);
  const llvm::Align align(lane->getScalarSizeInBits() / 8);
  if (access.store) {
    Value* value = call.getArgOperand(0);
    if (value->getType() != memory) {
      if (!value->getType()->isFPOrFPVectorTy()) {
        return false;
      }
      value = builder.CreateFPCast(value, memory);
    }
    builder.CreateAlignedStore(value, address, align);
    return true;
  }
  Value* value = builder.CreateAlignedLoad(memory, address, align);
  if (value->getType() != call.getType()) {
    value = builder.CreateFPCast(value, call.getType());
  }
  call.replaceAllUsesWith(value);
  return true;
}

/// Conversions of integers to floats of the default rounding: coordinates of images are made so.
Value* lower_to_float(IRBuilder<>& builder, CallInst& call, const BuiltinName& name) {
  const auto type = first_parameter_type(name.parameters);
  const bool plain = name.base.starts_with("convert_float") &&
                     name.base.find("_rt") == std::string_view::npos && call.arg_size() == 1;
  if (!plain || !type || type->is_float || !call.getType()->isFPOrFPVectorTy() ||
      !call.getArgOperand(0)->getType()->isIntOrIntVectorTy()) {
    return nullptr;
  }
  Value* argument = call.getArgOperand(0);
  return type->is_unsigned ? builder.CreateUIToFP(argument, call.getType())
                           : builder.CreateSIToFP(argument, call.getType());
}

/// Returns whether `call` was replaced (and may be erased).
bool lower(CallInst& call) {
  const llvm::Function* callee = call.getCalledFunction();
  const BuiltinName name =
      split_mangled(std::string_view(callee->getName().data(), callee->getName().size()));
  if (name.parameters.empty()) {
    return false;
  }
  IRBuilder<> builder(&call);
  if (const auto access = vector_access(name.base)) {
    return lower_vector_access(builder, call, *access);
  }
  if (Value* value = lower_to_float(builder, call, name)) {
    call.replaceAllUsesWith(value);
    return true;
  }
  if (const auto type = first_parameter_type(name.parameters); type && !type->is_float) {
    if (Value* value = lower_integer(builder, call, name.base, *type);
        value != nullptr && value->getType() == call.getType()) {
      call.replaceAllUsesWith(value);
      return true;
    }
  }
  return false;
}

bool plain_values(const llvm::Function& function) {
  const auto plain = [](const llvm::Type* type) {
    return type->isIntOrIntVectorTy() || type->isFPOrFPVectorTy();
  };
  if (!plain(function.getReturnType())) {
    return false;
  }
  for (const llvm::Argument& argument : function.args()) {
    if (!plain(argument.getType())) {
      return false;
    }
  }
  return true;
}

/// Every built-in function returns, which Clang does not say: else a loop with a barrier might be
/// left there, and nothing would be known of how often it runs. Work-item and other value functions
/// may be merged, moved and dropped, too: Clang calls every function convergent, which for these is
/// only in the optimiser's way.
void mark_builtin(llvm::Function& function) {
  const BuiltinName name =
      split_mangled(std::string_view(function.getName().data(), function.getName().size()));
  const BuiltinClass kind = classify_builtin(name.base);
  if (kind == BuiltinClass::kUnknown || name.parameters.empty()) {
    return;
  }
  function.setDoesNotThrow();
  function.addFnAttr(llvm::Attribute::WillReturn);
  if ((kind != BuiltinClass::kValue && kind != BuiltinClass::kWorkItem) ||
      !plain_values(function)) {
    return;
  }
  const auto mark = [](auto& target) {
    target.setDoesNotAccessMemory();
    target.removeFnAttr(llvm::Attribute::Convergent);
  };
  mark(function);
  function.addFnAttr(llvm::Attribute::Speculatable);
  for (llvm::User* user : function.users()) {
    if (auto* call = llvm::dyn_cast<CallInst>(user);
        call != nullptr && call->getCalledFunction() == &function) {
      mark(*call);
    }
  }
}

}  // namespace

void lower_builtins(llvm::Module& module, const std::set<std::string>& foreign) {
  std::vector<CallInst*> calls;
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* call = llvm::dyn_cast<CallInst>(&instruction);
      const llvm::Function* callee = call != nullptr ? call->getCalledFunction() : nullptr;
      if (callee != nullptr && callee->isDeclaration() && !callee->isIntrinsic() &&
          !foreign.contains(callee->getName().str())) {
        calls.push_back(call);
      }
    }
  }
  for (CallInst* call : calls) {
    if (lower(*call)) {
      call->eraseFromParent();
    }
  }
  for (llvm::Function& function : module) {
    if (function.isDeclaration() && !function.isIntrinsic() &&
        !foreign.contains(function.getName().str())) {
      mark_builtin(function);
    }
  }
}

}  // namespace tutti::kernel_compiler
