// SPDX-License-Identifier: Apache-2.0
#include "kernel_compiler/kept_stores.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <vector>

#include "kernel_compiler/address_space.h"

namespace tutti::kernel_compiler {
namespace {

constexpr const char* kKept = "tutti.kept";

bool is_kept(const llvm::Value* value) {
  const auto* call = llvm::dyn_cast<llvm::CallInst>(value);
  const llvm::Function* callee = call != nullptr ? call->getCalledFunction() : nullptr;
  return callee != nullptr && callee->hasFnAttribute(kKept);
}

/// Others see what is written there: other work-groups, and the host.
bool is_seen(const llvm::Value* pointer) {
  const unsigned space = pointer->getType()->getPointerAddressSpace();
  if (space != kGlobalSpace && space != kGenericSpace) return false;
  const auto* variable = llvm::dyn_cast<llvm::AllocaInst>(llvm::getUnderlyingObject(pointer));
  return variable == nullptr;
}

/// One for each type.
llvm::Function* keeper_of(llvm::Type* type, llvm::Module& module) {
  auto* shape = llvm::FunctionType::get(type, {type}, /*isVarArg=*/false);
  for (llvm::Function& function : module) {
    if (function.hasFnAttribute(kKept) && function.getFunctionType() == shape) return &function;
  }
  auto* keeper = llvm::Function::Create(shape, llvm::GlobalValue::ExternalLinkage, kKept, module);
  keeper->addFnAttr(kKept);
  keeper->setDoesNotAccessMemory();
  keeper->setDoesNotThrow();
  keeper->setWillReturn();
  return keeper;
}

/// InstCombine makes a load and a store of a short transfer, and may drop the store at once. So it
/// is done here.
bool is_short(const llvm::MemTransferInst& transfer) {
  const auto* length = llvm::dyn_cast<llvm::ConstantInt>(transfer.getLength());
  return length != nullptr && length->getValue().isPowerOf2() && length->getValue().ule(8) &&
         !transfer.isVolatile() && is_seen(transfer.getRawDest());
}

bool make_short_stores(llvm::Function& function) {
  std::vector<llvm::MemTransferInst*> transfers;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* transfer = llvm::dyn_cast<llvm::MemTransferInst>(&instruction);
    if (transfer != nullptr && is_short(*transfer)) transfers.push_back(transfer);
  }
  for (llvm::MemTransferInst* transfer : transfers) {
    llvm::IRBuilder<> builder(transfer);
    const uint64_t bytes = llvm::cast<llvm::ConstantInt>(transfer->getLength())->getZExtValue();
    llvm::Value* content =
        builder.CreateAlignedLoad(builder.getIntNTy(static_cast<unsigned>(bytes * 8)),
                                  transfer->getRawSource(), transfer->getSourceAlign());
    builder.CreateAlignedStore(content, transfer->getRawDest(), transfer->getDestAlign());
    transfer->eraseFromParent();
  }
  return !transfers.empty();
}

/// What a store or a transfer takes its content from, where it must be kept; else null. Of a
/// transfer that is where it reads: the same place would be no transfer. One from a variable is
/// left to SROA, which makes stores of it.
llvm::Use* content_of(llvm::Instruction& instruction) {
  llvm::Use* content = nullptr;
  if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
    if (store->isSimple() && is_seen(store->getPointerOperand()))
      content = &store->getOperandUse(0);
  } else if (auto* transfer = llvm::dyn_cast<llvm::MemTransferInst>(&instruction)) {
    if (is_seen(transfer->getRawDest()) && is_seen(transfer->getRawSource())) {
      content = &transfer->getRawSourceUse();
    }
  }
  return content != nullptr && !is_kept(content->get()) ? content : nullptr;
}

llvm::PreservedAnalyses same_blocks(bool changed) {
  if (!changed) return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses preserved;
  preserved.preserveSet<llvm::CFGAnalyses>();
  return preserved;
}

}  // namespace

llvm::PreservedAnalyses KeepStoresPass::run(llvm::Function& function,
                                            llvm::FunctionAnalysisManager&) {
  bool changed = make_short_stores(function);
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    llvm::Use* content = content_of(instruction);
    // A constant is not what was loaded.
    if (content == nullptr || llvm::isa<llvm::Constant>(content->get())) continue;
    llvm::IRBuilder<> builder(&instruction);
    content->set(builder.CreateCall(keeper_of(content->get()->getType(), *function.getParent()),
                                    {content->get()}));
    changed = true;
  }
  return same_blocks(changed);
}

llvm::PreservedAnalyses ReleaseStoresPass::run(llvm::Function& function,
                                               llvm::FunctionAnalysisManager&) {
  std::vector<llvm::CallInst*> calls;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (is_kept(&instruction)) calls.push_back(llvm::cast<llvm::CallInst>(&instruction));
  }
  for (llvm::CallInst* call : calls) {
    call->replaceAllUsesWith(call->getArgOperand(0));
    call->eraseFromParent();
  }
  return same_blocks(!calls.empty());
}

}  // namespace tutti::kernel_compiler
