// SPDX-License-Identifier: Apache-2.0
#include "kernel_compiler/access_expr.h"

#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Operator.h>

#include <algorithm>
#include <cstddef>

#include "kernel_compiler/builtin_names.h"
#include "kernel_compiler/image_coordinates.h"
#include "scheduler/access/image_layout.h"

namespace tutti::kernel_compiler {
namespace {

using llvm::Loop;
using llvm::SCEV;
using llvm::Value;
using scheduler::Expr;
using scheduler::ExprKind;

// Beyond these a kernel's addresses are data, not patterns (unrolled ciphers and the like).
constexpr int kDeepest = 150;
constexpr size_t kMostExprs = 20'000;

/// Bits of an integer type that expressions can hold, else 0.
uint8_t width_of(const llvm::Type* type) {
  if (!type->isIntegerTy() || type->getIntegerBitWidth() > 64) {
    return 0;
  }
  return static_cast<uint8_t>(type->getIntegerBitWidth());
}

bool encloses(const Loop* loop, const Loop* scope) {
  return scope != nullptr && loop->contains(scope);
}

}  // namespace

ExprBuilder::ExprBuilder(scheduler::KernelSummary& summary, llvm::ScalarEvolution& evolution,
                         llvm::LoopInfo& loops, const llvm::DataLayout& layout)
    : summary_(summary), evolution_(evolution), loops_(loops), layout_(layout) {}

uint32_t ExprBuilder::add(Expr expr) {
  const auto key = std::make_tuple(expr.kind, expr.width, expr.index, expr.value, expr.operands);
  if (const auto it = known_.find(key); it != known_.end()) {
    return it->second;
  }
  if (summary_.exprs.size() >= kMostExprs && expr.kind != ExprKind::kUnknown) {
    return unknown(expr.width);
  }
  bool is_exact = expr.kind != ExprKind::kUnknown && expr.kind != ExprKind::kHull;
  for (const uint32_t operand : expr.operands) {
    is_exact = is_exact && exact_[operand];
  }
  const auto index = static_cast<uint32_t>(summary_.exprs.size());
  summary_.exprs.push_back(std::move(expr));
  exact_.push_back(is_exact);
  known_.emplace(key, index);
  return index;
}

uint32_t ExprBuilder::constant(uint8_t width, int64_t value) {
  if (width < 64) {  // canonical: sign-extended
    value = static_cast<int64_t>(static_cast<uint64_t>(value) << (64 - width)) >> (64 - width);
  }
  return add({.kind = ExprKind::kConst, .width = width, .value = value, .operands = {}});
}

uint32_t ExprBuilder::unknown(uint8_t width) {
  return add({.kind = ExprKind::kUnknown, .width = width, .operands = {}});
}

uint32_t ExprBuilder::loop_counter(uint32_t loop, uint8_t width) {
  return add({.kind = ExprKind::kLoop, .width = width, .index = loop, .operands = {}});
}

uint32_t ExprBuilder::argument(uint32_t index, uint64_t byte_offset, uint8_t width) {
  return add({.kind = ExprKind::kArg,
              .width = width,
              .index = index,
              .value = static_cast<int64_t>(byte_offset),
              .operands = {}});
}

uint32_t ExprBuilder::work_item(ExprKind kind, uint32_t dimension, uint8_t width) {
  return add({.kind = kind, .width = width, .index = dimension, .operands = {}});
}

uint32_t ExprBuilder::node(ExprKind kind, uint8_t width, std::vector<uint32_t> operands) {
  // Nothing is known of a sum or product with an unknown part; keep the pool small. (A quotient or
  // an extension of an unknown is still bounded.)
  if (kind == ExprKind::kAdd || kind == ExprKind::kSub || kind == ExprKind::kMul) {
    for (const uint32_t operand : operands) {
      if (at(operand).kind == ExprKind::kUnknown) {
        return unknown(width);
      }
    }
  }
  if (kind == ExprKind::kAdd || kind == ExprKind::kMul) {
    // One constant of all (in the arithmetic of 64 bits, which `constant` reduces to the width).
    uint64_t folded = kind == ExprKind::kMul ? 1 : 0;
    std::erase_if(operands, [&](uint32_t operand) {
      const bool is_constant = at(operand).kind == ExprKind::kConst;
      if (is_constant) {
        const auto value = static_cast<uint64_t>(at(operand).value);
        folded = kind == ExprKind::kMul ? folded * value : folded + value;
      }
      return is_constant;
    });
    if (operands.empty() || (kind == ExprKind::kMul && folded == 0)) {
      return constant(width, static_cast<int64_t>(folded));
    }
    if (folded != (kind == ExprKind::kMul ? 1u : 0u)) {
      operands.push_back(constant(width, static_cast<int64_t>(folded)));
    }
    if (operands.size() == 1) {
      return operands.front();
    }
  }
  return add({.kind = kind, .width = width, .operands = std::move(operands)});
}

uint32_t ExprBuilder::hull(uint8_t width, std::vector<uint32_t> options) {
  for (size_t i = 0; i < options.size() && options.size() < 64; ++i) {
    if (at(options[i]).kind == ExprKind::kHull) {  // in one level
      const std::vector<uint32_t> inner = at(options[i]).operands;
      options[i] = inner.front();
      options.insert(options.end(), inner.begin() + 1, inner.end());
    }
  }
  std::sort(options.begin(), options.end());
  options.erase(std::unique(options.begin(), options.end()), options.end());
  for (const uint32_t option : options) {
    if (at(option).kind == ExprKind::kUnknown) {
      return unknown(width);
    }
  }
  if (options.size() == 1) {
    return options.front();
  }
  return options.empty() ? unknown(width) : node(ExprKind::kHull, width, std::move(options));
}

uint32_t ExprBuilder::widened(uint32_t expr, bool is_signed) {
  if (at(expr).width == 64) {
    return expr;
  }
  return node(is_signed ? ExprKind::kSExt : ExprKind::kZExt, 64, {expr});
}

uint32_t ExprBuilder::loop_index(const Loop* loop) {
  if (const auto it = loop_indices_.find(loop); it != loop_indices_.end()) {
    return it->second;
  }
  const auto index = static_cast<uint32_t>(summary_.loops.size());
  loop_indices_.emplace(loop, index);
  summary_.loops.emplace_back();

  // The exact count holds only where it is known for every exit together; else any exit's bound
  // will do. Both are unsigned numbers, given that the loop is entered: where its entry condition
  // fails, no access in it happens whatever the count.
  const Loop* outside = loop->getParentLoop();
  const SCEV* count = evolution_.getBackedgeTakenCount(loop);
  const bool whole = !llvm::isa<llvm::SCEVCouldNotCompute>(count);
  if (!whole) {
    count = evolution_.getSymbolicMaxBackedgeTakenCount(loop);
  }
  if (llvm::isa<llvm::SCEVCouldNotCompute>(count) || width_of(count->getType()) == 0) {
    if (const auto last = last_by_exit_test(loop)) summary_.loops[index].last = *last;
    return index;
  }
  const uint32_t last = translate(evolution_.getSCEVAtScope(count, outside), outside);
  if (at(last).kind != ExprKind::kUnknown) {
    const uint32_t wide = widened(last, false);
    summary_.loops[index].last = wide;
    summary_.loops[index].exact = whole && exact(wide);
  }
  return index;
}

uint32_t ExprBuilder::synthetic_loop(uint32_t last) {
  const auto index = static_cast<uint32_t>(summary_.loops.size());
  summary_.loops.emplace_back();
  if (at(last).kind != ExprKind::kUnknown) {
    summary_.loops.back().last = last;
    summary_.loops.back().exact = exact(last);
  }
  return index;
}

std::vector<uint32_t> ExprBuilder::enclosing(const Loop* scope) {
  std::vector<uint32_t> result;
  for (const Loop* loop = scope; loop != nullptr; loop = loop->getParentLoop()) {
    result.push_back(loop_index(loop));
  }
  std::reverse(result.begin(), result.end());
  return result;
}

uint32_t ExprBuilder::translate(Value* value, const Loop* user_loop, const Loop* scope) {
  const uint8_t width = width_of(value->getType());
  if (width == 0 || !evolution_.isSCEVable(value->getType())) {
    return unknown(width == 0 ? 64 : width);
  }
  // Replaces values of loops that ended before the user by their final ones.
  return translate(evolution_.getSCEVAtScope(value, user_loop), scope);
}

uint32_t ExprBuilder::translate(const SCEV* value, const Loop* scope) {
  const auto key = std::make_pair(value, scope);
  if (const auto it = translated_.find(key); it != translated_.end()) {
    return it->second;
  }
  if (depth_ >= kDeepest) {
    const uint8_t width = width_of(value->getType());
    return unknown(width == 0 ? 64 : width);
  }
  ++depth_;
  const uint32_t result = translate_new(value, scope);
  --depth_;
  translated_.emplace(key, result);
  return result;
}

uint32_t ExprBuilder::nary(ExprKind kind, const llvm::SCEVNAryExpr* value, const Loop* scope) {
  std::vector<uint32_t> operands;
  for (const SCEV* operand : value->operands()) {
    operands.push_back(translate(operand, scope));
  }
  return node(kind, width_of(value->getType()), std::move(operands));
}

uint32_t ExprBuilder::translate_new(const SCEV* value, const Loop* scope) {
  if (llvm::isa<llvm::SCEVCouldNotCompute>(value)) {
    return unknown(64);
  }
  const uint8_t width = width_of(value->getType());
  if (width == 0) {
    return unknown(64);
  }
  const auto cast = [&](ExprKind kind) {
    const SCEV* operand = llvm::cast<llvm::SCEVCastExpr>(value)->getOperand();
    return width_of(operand->getType()) == 0 ? unknown(width)
                                             : node(kind, width, {translate(operand, scope)});
  };
  switch (value->getSCEVType()) {
    case llvm::scConstant: {
      const llvm::APInt& number = llvm::cast<llvm::SCEVConstant>(value)->getAPInt();
      return constant(width, number.getSExtValue());
    }
    case llvm::scTruncate:
      return cast(ExprKind::kTrunc);
    case llvm::scZeroExtend:
      return cast(ExprKind::kZExt);
    case llvm::scSignExtend:
      return cast(ExprKind::kSExt);
    case llvm::scAddExpr:
      return nary(ExprKind::kAdd, llvm::cast<llvm::SCEVAddExpr>(value), scope);
    case llvm::scMulExpr:
      return nary(ExprKind::kMul, llvm::cast<llvm::SCEVMulExpr>(value), scope);
    case llvm::scUMaxExpr:
      return nary(ExprKind::kUMax, llvm::cast<llvm::SCEVNAryExpr>(value), scope);
    case llvm::scSMaxExpr:
      return nary(ExprKind::kSMax, llvm::cast<llvm::SCEVNAryExpr>(value), scope);
    case llvm::scSequentialUMinExpr:  // differs from umin only in what poison it lets through
    case llvm::scUMinExpr:
      return nary(ExprKind::kUMin, llvm::cast<llvm::SCEVNAryExpr>(value), scope);
    case llvm::scSMinExpr:
      return nary(ExprKind::kSMin, llvm::cast<llvm::SCEVNAryExpr>(value), scope);
    case llvm::scUDivExpr: {
      const auto* quotient = llvm::cast<llvm::SCEVUDivExpr>(value);
      return node(ExprKind::kUDiv, width,
                  {translate(quotient->getLHS(), scope), translate(quotient->getRHS(), scope)});
    }
    case llvm::scAddRecExpr: {
      const auto* recurrence = llvm::cast<llvm::SCEVAddRecExpr>(value);
      // The counter stands for the iteration that the scope is in: only loops around it have one.
      if (!recurrence->isAffine() || !encloses(recurrence->getLoop(), scope)) {
        return unknown(width);
      }
      const uint32_t start = translate(recurrence->getStart(), scope);
      const uint32_t step = translate(recurrence->getStepRecurrence(evolution_), scope);
      const uint32_t counter = loop_counter(loop_index(recurrence->getLoop()), width);
      return node(ExprKind::kAdd, width, {start, node(ExprKind::kMul, width, {step, counter})});
    }
    case llvm::scUnknown:
      return leaf(llvm::cast<llvm::SCEVUnknown>(value)->getValue(), scope);
    default:
      return unknown(width);
  }
}

uint32_t ExprBuilder::leaf(Value* value, const Loop* scope) {
  const uint8_t width = width_of(value->getType());
  if (const auto* argument_value = llvm::dyn_cast<llvm::Argument>(value)) {
    return argument(argument_value->getArgNo(), 0, width);
  }
  if (const auto* number = llvm::dyn_cast<llvm::ConstantInt>(value)) {
    return constant(width, number->getSExtValue());
  }
  if (auto* operation = llvm::dyn_cast<llvm::Instruction>(value)) {
    return instruction(operation, width, scope);
  }
  return unknown(width);
}

uint32_t ExprBuilder::instruction(llvm::Instruction* value, uint8_t width, const Loop* scope) {
  // Operands are read where the instruction stands.
  const Loop* here = loops_.getLoopFor(value->getParent());
  const auto operand = [&](unsigned i) { return translate(value->getOperand(i), here, scope); };
  const auto binary = [&](ExprKind kind) { return node(kind, width, {operand(0), operand(1)}); };
  switch (value->getOpcode()) {
    case llvm::Instruction::Add:
      return binary(ExprKind::kAdd);
    case llvm::Instruction::Sub:
      return binary(ExprKind::kSub);
    case llvm::Instruction::Mul:
      return binary(ExprKind::kMul);
    case llvm::Instruction::UDiv:
      return binary(ExprKind::kUDiv);
    case llvm::Instruction::SDiv:
      return binary(ExprKind::kSDiv);
    case llvm::Instruction::URem:
      return binary(ExprKind::kURem);
    case llvm::Instruction::SRem:
      return binary(ExprKind::kSRem);
    case llvm::Instruction::Shl:
      return binary(ExprKind::kShl);
    case llvm::Instruction::LShr:
      return binary(ExprKind::kLShr);
    case llvm::Instruction::AShr:
      return binary(ExprKind::kAShr);
    case llvm::Instruction::And:
      return binary(ExprKind::kAnd);
    case llvm::Instruction::Or:
      return binary(ExprKind::kOr);
    case llvm::Instruction::Xor:
      return binary(ExprKind::kXor);
    case llvm::Instruction::Freeze:
      // Differs from its operand only where that is poison, which a defined program's addresses
      // and conditions do not depend on.
      return width_of(value->getOperand(0)->getType()) == 0 ? unknown(width) : operand(0);
    case llvm::Instruction::Select:
      return hull(width, {operand(1), operand(2)});
    case llvm::Instruction::PHI: {
      // At a loop's head a phi carries values of earlier iterations, which no expression of the
      // current counters bounds; elsewhere it is one of its inputs, of the same iteration. (The
      // analysis refuses irreducible control flow, so there are no other cycles.)
      if (loops_.isLoopHeader(value->getParent())) {
        return unknown(width);
      }
      std::vector<uint32_t> options;
      for (Value* incoming : llvm::cast<llvm::PHINode>(value)->incoming_values()) {
        if (!llvm::isa<llvm::UndefValue>(incoming)) {
          options.push_back(translate(incoming, here, scope));
        }
      }
      return hull(width, std::move(options));
    }
    case llvm::Instruction::Call:
      return call(llvm::cast<llvm::CallInst>(value), width);
    case llvm::Instruction::Load:
    case llvm::Instruction::ExtractElement:
      return argument_part(value, width);
    default:
      return unknown(width);
  }
}

uint32_t ExprBuilder::call(llvm::CallInst* value, uint8_t width) {
  const llvm::Function* callee = value->getCalledFunction();
  if (callee == nullptr || !callee->isDeclaration()) {
    return unknown(width);
  }
  const BuiltinName name =
      split_mangled(std::string_view(callee->getName().data(), callee->getName().size()));
  if (name.base == "get_work_dim") {
    return hull(width, {constant(width, 1), constant(width, 2), constant(width, 3)});
  }
  const auto product = [&](std::vector<uint32_t> factors) {
    return node(ExprKind::kMul, width, std::move(factors));
  };
  const auto linear = [&](auto&& id, ExprKind size) {
    // (id(2) * size(1) + id(1)) * size(0) + id(0), section 6.15.1
    return node(ExprKind::kAdd, width,
                {product({id(2), work_item(size, 1, width), work_item(size, 0, width)}),
                 product({id(1), work_item(size, 0, width)}), id(0)});
  };
  if (name.base == "get_local_linear_id") {
    return linear([&](uint32_t d) { return work_item(ExprKind::kLocalId, d, width); },
                  ExprKind::kLocalSize);
  }
  if (name.base == "get_global_linear_id") {
    return linear(
        [&](uint32_t d) {
          return node(ExprKind::kSub, width,
                      {work_item(ExprKind::kGlobalId, d, width),
                       work_item(ExprKind::kGlobalOffset, d, width)});
        },
        ExprKind::kGlobalSize);
  }
  if (name.base.starts_with("get_image_")) {
    return image_size(*value, name.base, 0, width);
  }
  const auto leaf_kind = work_item_leaf(name.base);
  if (!leaf_kind || value->arg_size() != 1) {
    return unknown(width);
  }
  const auto* dimension = llvm::dyn_cast<llvm::ConstantInt>(value->getArgOperand(0));
  if (dimension == nullptr) {
    return unknown(width);
  }
  if (dimension->getZExtValue() > 2) {
    return constant(width, leaf_kind->default_value);
  }
  return work_item(leaf_kind->kind, static_cast<uint32_t>(dimension->getZExtValue()), width);
}

/// Lane `lane` of what get_image_width and its kin tell of an image argument.
uint32_t ExprBuilder::image_size(const llvm::CallInst& query, std::string_view name, unsigned lane,
                                 uint8_t width) {
  const auto* image =
      query.arg_size() == 1 ? llvm::dyn_cast<llvm::Argument>(query.getArgOperand(0)) : nullptr;
  const auto kind = image != nullptr ? image_kind(image->getType()) : std::nullopt;
  if (!kind) return unknown(width);
  const unsigned last = kind->coordinates - 1;
  unsigned dimension = 3;
  if (name == "get_image_width") dimension = 0;
  if (name == "get_image_height") dimension = 1;
  if (name == "get_image_depth") dimension = 2;
  if (name == "get_image_array_size") dimension = last;
  if (name == "get_image_dim") dimension = lane;  // without the layers of an array
  if (dimension > last) return unknown(width);
  const uint32_t size =
      argument(image->getArgNo(),
               offsetof(scheduler::ImageLayout, extent) + dimension * sizeof(uint32_t), 32);
  return width == 64 ? widened(size, false) : width == 32 ? size : unknown(width);
}

/// A lane of a vector argument, or a member of a structure passed by value. Nothing writes to the
/// memory of such an argument: the kernel works on a copy (module_preparation.cpp).
uint32_t ExprBuilder::argument_part(llvm::Instruction* value, uint8_t width) {
  if (width % 8 != 0) {
    return unknown(width);
  }
  const auto loaded_from = [&](const Value* source, uint64_t lane_bytes) {
    const auto* load = llvm::dyn_cast<llvm::LoadInst>(source);
    if (load == nullptr || !load->isSimple()) {
      return unknown(width);
    }
    llvm::APInt offset(layout_.getIndexTypeSizeInBits(load->getPointerOperandType()), 0);
    const auto* base = llvm::dyn_cast<llvm::Argument>(
        load->getPointerOperand()->stripAndAccumulateConstantOffsets(layout_, offset, true));
    if (base == nullptr || base->getParamByValType() == nullptr || offset.isNegative()) {
      return unknown(width);
    }
    const uint64_t byte = offset.getZExtValue() + lane_bytes;
    const uint64_t size = layout_.getTypeAllocSize(base->getParamByValType()).getFixedValue();
    return byte + width / 8 <= size ? argument(base->getArgNo(), byte, width) : unknown(width);
  };
  const auto* lane = llvm::dyn_cast<llvm::ExtractElementInst>(value);
  if (lane == nullptr) {
    return loaded_from(value, 0);
  }
  const auto* index = llvm::dyn_cast<llvm::ConstantInt>(lane->getIndexOperand());
  const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(lane->getVectorOperandType());
  if (index == nullptr || type == nullptr || index->getZExtValue() >= type->getNumElements()) {
    return unknown(width);
  }
  if (const auto* query = llvm::dyn_cast<llvm::CallInst>(lane->getVectorOperand());
      query != nullptr && query->getCalledFunction() != nullptr) {
    const llvm::StringRef callee = query->getCalledFunction()->getName();
    return image_size(*query, split_mangled({callee.data(), callee.size()}).base,
                      static_cast<unsigned>(index->getZExtValue()), width);
  }
  const uint64_t bytes = index->getZExtValue() * (width / 8);
  if (const auto* whole = llvm::dyn_cast<llvm::Argument>(lane->getVectorOperand())) {
    return argument(whole->getArgNo(), bytes, width);
  }
  return loaded_from(lane->getVectorOperand(), bytes);
}

}  // namespace tutti::kernel_compiler
