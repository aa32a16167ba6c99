// SPDX-License-Identifier: Apache-2.0
#include "kernel_compiler/private_functions.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>

#include "kernel_compiler/address_space.h"
#include "kernel_compiler/builtin_names.h"
#include "kernel_compiler/image_coordinates.h"

namespace tutti::kernel_compiler {
namespace {

// Address spaces of OpenCL in SPIR.
/// A pointer that leads to private or local memory, or to constants of the program. Pointers of
/// those types lead nowhere else, since what could forge one is not harmless.
bool is_private(const llvm::Value& pointer) {
  if (!pointer.getType()->isPointerTy()) return false;
  const unsigned space = pointer.getType()->getPointerAddressSpace();
  if (space == kPrivateSpace || space == kLocalSpace) return true;
  return space == kConstantSpace &&
         llvm::isa<llvm::GlobalVariable>(llvm::getUnderlyingObject(&pointer, 0));
}

}  // namespace

bool PrivateFunctions::contains(const llvm::Function& function) {
  if (function.isDeclaration()) return false;
  const auto [entry, added] = known_.emplace(&function, false);
  if (!added) return entry->second;
  const auto all = llvm::instructions(function);
  return known_[&function] = std::all_of(all.begin(), all.end(), [this](const auto& instruction) {
           return harmless(instruction);
         });
}

bool PrivateFunctions::harmless(const llvm::Instruction& instruction) {
  if (llvm::isa<llvm::IntToPtrInst>(instruction) ||
      llvm::isa<llvm::AddrSpaceCastInst>(instruction)) {
    return false;
  }
  if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) return harmless_call(*call);
  if (!instruction.mayReadOrWriteMemory()) return true;
  const llvm::Value* pointer = llvm::getLoadStorePointerOperand(&instruction);
  return pointer != nullptr && is_private(*pointer);
}

bool PrivateFunctions::harmless_call(const llvm::CallBase& call) {
  const llvm::Function* callee = call.getCalledFunction();
  if (callee == nullptr || call.isInlineAsm()) return false;
  const auto pointers_are_private = [&] {
    return std::all_of(call.arg_begin(), call.arg_end(), [](const llvm::Use& argument) {
      return !argument->getType()->isPtrOrPtrVectorTy() || is_private(*argument.get());
    });
  };
  if (const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&call)) {
    return intrinsic->isLifetimeStartOrEnd() || intrinsic->isAssumeLikeIntrinsic() ||
           intrinsic->doesNotAccessMemory() ||
           (llvm::isa<llvm::MemIntrinsic>(intrinsic) && pointers_are_private());
  }
  if (!callee->isDeclaration()) return contains(*callee);
  const llvm::StringRef name = callee->getName();
  if (foreign_.contains(name.str())) return false;
  // What images are read and written for is known in kernels only.
  const bool of_image =
      std::any_of(call.arg_begin(), call.arg_end(),
                  [](const llvm::Use& argument) { return is_image(argument->getType()); });
  if (of_image) return false;
  switch (classify_builtin(split_mangled({name.data(), name.size()}).base)) {
    case BuiltinClass::kWorkItem:
      return true;
    case BuiltinClass::kValue:
    case BuiltinClass::kPointerResult:
      return pointers_are_private();
    default:
      return false;
  }
}

}  // namespace tutti::kernel_compiler
