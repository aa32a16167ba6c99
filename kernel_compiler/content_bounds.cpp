// SPDX-License-Identifier: Apache-2.0
#include "kernel_compiler/content_bounds.h"

#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/Argument.h>

#include <algorithm>

namespace tutti::kernel_compiler {

using llvm::CmpInst;
using llvm::LoadInst;
using llvm::SCEV;
using scheduler::Access;
using scheduler::AccessKind;
using scheduler::ContentBounds;

namespace {

// Elements are no larger, and no further from where an argument points.
constexpr int64_t kMostBytes = int64_t{1} << 40;

std::optional<int64_t> small_constant(const SCEV* value) {
  const auto* constant = llvm::dyn_cast<llvm::SCEVConstant>(value);
  if (constant == nullptr || constant->getAPInt().getSignificantBits() > 62) return std::nullopt;
  const int64_t number = constant->getAPInt().getSExtValue();
  if (number < -kMostBytes || number > kMostBytes) return std::nullopt;
  return number;
}

/// An integer that is read from memory as it lies there.
const LoadInst* loaded_number(const SCEV* value) {
  const auto* leaf = llvm::dyn_cast<llvm::SCEVUnknown>(value);
  const auto* load = leaf ? llvm::dyn_cast<LoadInst>(leaf->getValue()) : nullptr;
  if (load == nullptr || !load->isSimple() || !load->getType()->isIntegerTy()) return nullptr;
  const unsigned bits = load->getType()->getIntegerBitWidth();
  if (bits != 32 && bits != 64) return nullptr;
  return load->getAlign().value() >= bits / 8 ? load : nullptr;
}

const SCEV* without_extension(const SCEV* value, bool& sign, bool& zero) {
  sign = zero = false;
  if (const auto* extended = llvm::dyn_cast<llvm::SCEVSignExtendExpr>(value)) {
    sign = true;
    return extended->getOperand();
  }
  if (const auto* extended = llvm::dyn_cast<llvm::SCEVZeroExtendExpr>(value)) {
    zero = true;
    return extended->getOperand();
  }
  return value;
}

}  // namespace

void ContentBoundsFinder::note(uint32_t access, const LoadInst* load) {
  loads_[access].push_back(load);
  if (load != nullptr) accesses_[load].push_back(access);
}

void ContentBoundsFinder::find(std::vector<Access>& accesses) {
  for (const auto& [index, loads] : loads_) {
    Access& access = accesses[index];
    if (access.kind != AccessKind::kLoad || access.size == 0) continue;
    std::optional<ContentBounds> common;
    for (size_t i = 0; i < loads.size(); ++i) {
      const auto bounds = loads[i] ? bounds_of(*loads[i]) : std::nullopt;
      if (!bounds || (i > 0 && bounds != common)) {
        common.reset();
        break;
      }
      common = bounds;
    }
    access.content = common;
  }
}

std::optional<uint32_t> ContentBoundsFinder::access_of(const LoadInst& load) const {
  const auto found = accesses_.find(&load);
  if (found == accesses_.end() || found->second.size() != 1) return std::nullopt;
  return found->second.front();
}

std::optional<ContentBoundsFinder::Address> ContentBoundsFinder::address_of(const SCEV* pointer) {
  Address address;
  bool based = false;
  const auto* sum = llvm::dyn_cast<llvm::SCEVAddExpr>(pointer);
  if (sum == nullptr) return std::nullopt;
  for (const SCEV* term : sum->operands()) {
    const auto* leaf = llvm::dyn_cast<llvm::SCEVUnknown>(term);
    if (leaf != nullptr && leaf->getType()->isPointerTy()) {
      if (based || !llvm::isa<llvm::Argument>(leaf->getValue())) return std::nullopt;
      based = true;
      continue;
    }
    if (llvm::isa<llvm::SCEVConstant>(term)) {
      const auto added = small_constant(term);
      if (!added) return std::nullopt;
      address.added += *added;
      continue;
    }
    if (address.number != nullptr) return std::nullopt;
    int64_t scale = 1;
    if (const auto* product = llvm::dyn_cast<llvm::SCEVMulExpr>(term)) {
      const auto factor = small_constant(product->getOperand(0));
      if (product->getNumOperands() != 2 || !factor) return std::nullopt;
      scale = *factor;
      term = product->getOperand(1);
    }
    address.number =
        loaded_number(without_extension(term, address.sign_extended, address.zero_extended));
    if (address.number == nullptr) return std::nullopt;
    address.scale = scale;
  }
  if (!based || address.number == nullptr) return std::nullopt;
  const bool extended = address.sign_extended || address.zero_extended;
  const unsigned bits = address.number->getType()->getIntegerBitWidth();
  return extended == (bits < 64) ? std::optional(address) : std::nullopt;
}

/// Proof obligation: a counter that begins with `first`, grows by one each time, and is less than
/// the end in every iteration never wraps around: what comes before it was less than the end, which
/// its type holds.
const LoadInst* ContentBoundsFinder::end_of(const llvm::Loop& loop, const Address& first,
                                            bool& is_signed) {
  llvm::SmallVector<llvm::BasicBlock*, 4> exiting;
  loop.getExitingBlocks(exiting);
  const SCEV* const begin = evolution_.getSCEV(const_cast<LoadInst*>(first.number));
  for (llvm::BasicBlock* block : exiting) {
    const auto* branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
    if (branch == nullptr || !branch->isConditional()) continue;
    const auto* compare = llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition());
    if (compare == nullptr || !compare->getOperand(0)->getType()->isIntegerTy()) continue;
    for (llvm::Value* operand : compare->operands()) {
      const SCEV* const bound = evolution_.getSCEV(operand);
      if (!evolution_.isLoopInvariant(bound, &loop)) continue;
      bool sign = false, zero = false;
      const LoadInst* const end = loaded_number(without_extension(bound, sign, zero));
      if (end == nullptr || end->getType() != first.number->getType()) continue;
      for (const bool with_sign : {true, false}) {
        if ((with_sign ? zero || first.zero_extended : sign || first.sign_extended)) continue;
        const SCEV* start = begin;
        if (sign) start = evolution_.getSignExtendExpr(begin, bound->getType());
        if (zero) start = evolution_.getZeroExtendExpr(begin, bound->getType());
        const auto* counter = llvm::dyn_cast<llvm::SCEVAddRecExpr>(evolution_.getAddRecExpr(
            start, evolution_.getOne(bound->getType()), &loop, SCEV::FlagAnyWrap));
        if (counter == nullptr) continue;
        const auto less = with_sign ? CmpInst::ICMP_SLT : CmpInst::ICMP_ULT;
        if (!evolution_.isKnownOnEveryIteration(less, counter, bound)) continue;
        is_signed = with_sign;
        return end;
      }
    }
  }
  return nullptr;
}

std::optional<ContentBounds> ContentBoundsFinder::bounds_of(const LoadInst& load) {
  if (!load.isSimple()) return std::nullopt;
  const llvm::Loop* const inner = loops_.getLoopFor(load.getParent());
  const auto* moving = llvm::dyn_cast<llvm::SCEVAddRecExpr>(
      evolution_.getSCEV(const_cast<llvm::Value*>(load.getPointerOperand())));
  if (inner == nullptr || moving == nullptr || !moving->isAffine()) return std::nullopt;
  const llvm::Loop* const loop = moving->getLoop();
  if (!loop->contains(inner)) return std::nullopt;
  const auto first = address_of(moving->getStart());
  const auto step = small_constant(moving->getStepRecurrence(evolution_));
  if (!first || !step || *step <= 0 || *step != first->scale) return std::nullopt;
  ContentBounds bounds;
  const LoadInst* const end = end_of(*loop, *first, bounds.is_signed);
  if (end == nullptr) return std::nullopt;
  const auto first_access = access_of(*first->number), end_access = access_of(*end);
  if (!first_access || !end_access) return std::nullopt;
  bounds.first = *first_access;
  bounds.end = *end_access;
  bounds.width = static_cast<uint8_t>(end->getType()->getIntegerBitWidth());
  bounds.scale = first->scale;
  bounds.added = first->added;
  return bounds;
}

}  // namespace tutti::kernel_compiler
