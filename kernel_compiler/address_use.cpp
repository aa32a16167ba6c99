// SPDX-License-Identifier: Apache-2.0
#include "kernel_compiler/address_use.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>

#include <algorithm>

#include "kernel_compiler/address_space.h"
#include "kernel_compiler/builtin_names.h"
#include "kernel_compiler/private_functions.h"

namespace tutti::kernel_compiler {
namespace {

bool own_space(const llvm::Type& type) {
  const unsigned space = type.getPointerAddressSpace();
  return space == kPrivateSpace || space == kLocalSpace;
}

/// Pointers may stand in values of this type.
bool holds_pointers(const llvm::Type& type) {
  if (type.isPtrOrPtrVectorTy()) return true;
  return std::any_of(type.subtype_begin(), type.subtype_end(),
                     [](const llvm::Type* part) { return holds_pointers(*part); });
}

/// A value that is stored, or becomes a number.
bool keeps_address(const llvm::Value& value) {
  if (!holds_pointers(*value.getType())) return false;
  if (const auto* constant = llvm::dyn_cast<llvm::Constant>(&value)) {
    return !constant->isNullValue() && !llvm::isa<llvm::UndefValue>(constant);
  }
  return !value.getType()->isPointerTy() || !own_space(*value.getType());
}

class AddressUse {
 public:
  AddressUse(std::span<const scheduler::Argument> arguments, const std::set<std::string>& foreign)
      : arguments_(arguments), foreign_(foreign), private_(foreign) {}

  bool in(const llvm::Instruction& instruction) {
    // Also inside constant expressions, where addresses can only be of the program's variables.
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
      return !known(*load->getPointerOperand());
    }
    if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
      return !known(*store->getPointerOperand()) || keeps_address(*store->getValueOperand());
    }
    if (const auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
      return !known(*update->getPointerOperand()) || keeps_address(*update->getValOperand());
    }
    if (const auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
      return !known(*exchange->getPointerOperand()) || keeps_address(*exchange->getNewValOperand());
    }
    if (const auto* number = llvm::dyn_cast<llvm::PtrToIntInst>(&instruction)) {
      return keeps_address(*number->getPointerOperand());
    }
    if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) return in_call(*call);
    return instruction.mayReadOrWriteMemory();  // not understood
  }

 private:
  /// It leads to an argument's memory, to the kernel's own, or to the program's variables.
  bool known(const llvm::Value& pointer) const {
    if (!pointer.getType()->isPointerTy()) return false;  // a vector of them
    llvm::SmallVector<const llvm::Value*, 8> objects;
    llvm::getUnderlyingObjects(&pointer, objects, nullptr, /*MaxLookup=*/0);
    return std::all_of(objects.begin(), objects.end(), [this](const llvm::Value* object) {
      if (object->getType()->isPointerTy() && own_space(*object->getType())) return true;
      if (const auto* argument = llvm::dyn_cast<llvm::Argument>(object)) {
        return is_memory(argument->getArgNo());
      }
      return llvm::isa<llvm::AllocaInst, llvm::GlobalVariable, llvm::ConstantPointerNull,
                       llvm::UndefValue>(object);
    });
  }
  /// Not a structure whose members are arguments to LLVM.
  bool is_memory(unsigned argument) const {
    if (argument >= arguments_.size()) return false;
    const scheduler::ArgKind kind = arguments_[argument].kind;
    return kind != scheduler::ArgKind::kScalar && kind != scheduler::ArgKind::kPipe &&
           kind != scheduler::ArgKind::kQueue && kind != scheduler::ArgKind::kOther;
  }

  bool in_call(const llvm::CallBase& call) {
    const llvm::Function* callee = call.getCalledFunction();
    if (call.isInlineAsm() || callee == nullptr) return true;
    if (const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&call)) {
      if (intrinsic->isLifetimeStartOrEnd() || intrinsic->isAssumeLikeIntrinsic()) return false;
    } else if (!callee->isDeclaration()) {
      return !private_.contains(*callee) ||
             std::any_of(call.arg_begin(), call.arg_end(),
                         [](const llvm::Use& argument) { return keeps_address(*argument); });
    } else if (foreign_.contains(callee->getName().str())) {
      return true;
    }
    // Built-ins touch what their arguments point to, and keep none of them; printf shows them.
    const BuiltinName name = split_mangled({callee->getName().data(), callee->getName().size()});
    const bool keeps = classify_builtin(name.base) == BuiltinClass::kPrintf;
    return std::any_of(call.arg_begin(), call.arg_end(), [&](const llvm::Use& argument) {
      const llvm::Type& type = *argument->getType();
      if (!type.isPtrOrPtrVectorTy()) return false;
      if (!known(*argument)) return true;
      return keeps && !llvm::isa<llvm::Constant>(*argument) && keeps_address(*argument);
    });
  }

  const std::span<const scheduler::Argument> arguments_;
  const std::set<std::string>& foreign_;
  PrivateFunctions private_;
};

}  // namespace

bool uses_addresses(const llvm::Function& kernel, std::span<const scheduler::Argument> arguments,
                    const std::set<std::string>& foreign) {
  AddressUse use(arguments, foreign);
  return std::any_of(llvm::inst_begin(kernel), llvm::inst_end(kernel),
                     [&](const llvm::Instruction& instruction) { return use.in(instruction); });
}

}  // namespace tutti::kernel_compiler
