// SPDX-License-Identifier: Apache-2.0
#include "kernel_compiler/access_pointer.h"

#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Operator.h>

#include "kernel_compiler/address_space.h"

namespace tutti::kernel_compiler {
namespace {

// A pointer chosen from more places than this is followed no further.
constexpr int kDeepest = 40;
constexpr size_t kMostBases = 64;

using llvm::Loop;
using llvm::Value;
using scheduler::ExprKind;

}  // namespace

std::vector<PointerBase> PointerResolver::resolve(Value* pointer, const Loop* scope) {
  std::vector<PointerBase> bases;
  follow(pointer, scope, scope, builder_.constant(64, 0), 0, bases);
  if (bases.size() > kMostBases) {
    bases.assign(1, PointerBase{});
  }
  // The same base by several ways: once, with the hull of the offsets.
  std::vector<PointerBase> merged;
  for (const PointerBase& base : bases) {
    bool found = false;
    for (PointerBase& other : merged) {
      if (other.kind == base.kind && other.argument == base.argument) {
        if (other.offset != base.offset) {
          other.offset = builder_.hull(64, {other.offset, base.offset});
        }
        found = true;
        break;
      }
    }
    if (!found) {
      merged.push_back(base);
    }
  }
  return merged;
}

void PointerResolver::leaf(const Value* object, uint32_t offset,
                           std::vector<PointerBase>& bases) const {
  const unsigned space = object->getType()->getPointerAddressSpace();
  PointerBase base;
  base.offset = offset;
  if (const auto* argument = llvm::dyn_cast<llvm::Argument>(object)) {
    if (space == kGlobalSpace || space == kConstantSpace) {
      base.kind = BaseKind::kArgument;
      base.argument = argument->getArgNo();
    } else if (space == kLocalSpace || argument->getParamByValType() != nullptr) {
      base.kind = BaseKind::kPrivate;
    }
  } else if (llvm::isa<llvm::GlobalVariable>(object)) {
    // Constants of the program are the same everywhere; its other variables are not followed.
    base.kind = space == kGlobalSpace                             ? BaseKind::kProgramScope
                : space == kConstantSpace || space == kLocalSpace ? BaseKind::kPrivate
                                                                  : BaseKind::kUnknown;
  } else if (llvm::isa<llvm::AllocaInst>(object) || space == kPrivateSpace ||
             space == kLocalSpace) {
    // A pointer of type private or local can only point there (no cast leads out of them).
    base.kind = BaseKind::kPrivate;
  } else if (llvm::isa<llvm::ConstantPointerNull>(object) || llvm::isa<llvm::UndefValue>(object)) {
    return;
  }
  bases.push_back(base);
}

/// Bases alone, with unknown offsets: for pointers that loops move about irregularly.
void PointerResolver::underlying(Value* pointer, std::vector<PointerBase>& bases) {
  llvm::SmallVector<const Value*, 8> objects;
  llvm::getUnderlyingObjects(pointer, objects, nullptr, /*MaxLookup=*/0);
  for (const Value* object : objects) {
    leaf(object, builder_.unknown(64), bases);
  }
}

void PointerResolver::follow(Value* pointer, const Loop* user_loop, const Loop* scope,
                             uint32_t added, int depth, std::vector<PointerBase>& bases) {
  if (depth > kDeepest || bases.size() > kMostBases) {
    bases.push_back(PointerBase{BaseKind::kUnknown, 0, builder_.unknown(64)});
    return;
  }
  if (!evolution_.isSCEVable(pointer->getType())) {
    underlying(pointer, bases);
    return;
  }
  const llvm::SCEV* value = evolution_.getSCEVAtScope(pointer, user_loop);
  const auto* root = llvm::dyn_cast<llvm::SCEVUnknown>(evolution_.getPointerBase(value));
  if (root == nullptr) {
    underlying(pointer, bases);
    return;
  }
  const llvm::SCEV* distance = evolution_.removePointerBase(value);
  const uint32_t offset = builder_.node(
      ExprKind::kAdd, 64, {added, builder_.widened(builder_.translate(distance, scope), true)});
  Value* object = root->getValue();
  if (auto* cast = llvm::dyn_cast<llvm::AddrSpaceCastOperator>(object)) {
    follow(cast->getPointerOperand(), user_loop, scope, offset, depth + 1, bases);
    return;
  }
  auto* instruction = llvm::dyn_cast<llvm::Instruction>(object);
  if (instruction == nullptr) {
    leaf(object, offset, bases);
    return;
  }
  // Operands are read where the instruction stands (see ExprBuilder::instruction).
  const Loop* here = loops_.getLoopFor(instruction->getParent());
  switch (instruction->getOpcode()) {
    case llvm::Instruction::Select:
      follow(instruction->getOperand(1), here, scope, offset, depth + 1, bases);
      follow(instruction->getOperand(2), here, scope, offset, depth + 1, bases);
      return;
    case llvm::Instruction::Freeze:
    case llvm::Instruction::AddrSpaceCast:
      follow(instruction->getOperand(0), here, scope, offset, depth + 1, bases);
      return;
    case llvm::Instruction::PHI:
      if (loops_.isLoopHeader(instruction->getParent())) {
        underlying(instruction, bases);  // values of earlier iterations
        return;
      }
      for (Value* incoming : llvm::cast<llvm::PHINode>(instruction)->incoming_values()) {
        follow(incoming, here, scope, offset, depth + 1, bases);
      }
      return;
    default:
      leaf(object, offset, bases);  // an alloca, or whatever comes from memory and calls
      return;
  }
}

}  // namespace tutti::kernel_compiler
