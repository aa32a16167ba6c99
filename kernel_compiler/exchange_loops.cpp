// SPDX-License-Identifier: Apache-2.0
#include "kernel_compiler/exchange_loops.h"

#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "kernel_compiler/builtin_names.h"

namespace tutti::kernel_compiler {
namespace {

using llvm::Instruction;
using llvm::Value;

/// The value behind casts that keep its bits.
const Value* stripped(const Value* value) {
  while (const auto* cast = llvm::dyn_cast<llvm::BitCastOperator>(value)) {
    value = cast->getOperand(0);
  }
  if (const auto* freeze = llvm::dyn_cast<llvm::FreezeInst>(value)) {
    return stripped(freeze->getOperand(0));
  }
  return value;
}

BuiltinName name_of(const Value* value) {
  const auto* call = llvm::dyn_cast<llvm::CallInst>(value);
  const llvm::Function* callee = call != nullptr ? call->getCalledFunction() : nullptr;
  if (callee == nullptr || !callee->isDeclaration()) return {};
  return split_mangled({callee->getName().data(), callee->getName().size()});
}

bool is_exchange(const Value* value) {
  const std::string_view base = name_of(value).base;
  return (base == "atomic_cmpxchg" || base == "atom_cmpxchg") &&
         llvm::cast<llvm::CallInst>(value)->arg_size() == 3;
}

/// One loop that may be an update.
class Candidate {
 public:
  explicit Candidate(const llvm::Loop& loop) : loop_(loop) {}

  bool matches() {
    return find_parts() && ends_when_put_in_place() && find_old() && find_operation() &&
           nothing_is_seen();
  }
  const Instruction* exchange() const { return exchange_; }
  const std::string& operation() const { return operation_; }
  const std::set<const Instruction*>& reads() const { return reads_; }

 private:
  /// The exchange is the only thing in the loop that writes; what else is there computes values.
  bool find_parts() {
    for (const llvm::BasicBlock* block : loop_.blocks()) {
      for (const Instruction& instruction : *block) {
        if (is_exchange(&instruction)) {
          if (exchange_ != nullptr) return false;
          exchange_ = llvm::cast<llvm::CallInst>(&instruction);
        } else if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
          reads_.insert(load);
        } else if (!is_plain(instruction)) {
          return false;
        }
      }
    }
    if (exchange_ == nullptr || !loop_.isLoopInvariant(exchange_->getArgOperand(0))) return false;
    place_ = exchange_->getArgOperand(0)->stripPointerCasts();
    return std::all_of(reads_.begin(), reads_.end(),
                       [this](const Instruction* load) { return is_of_place(load); });
  }

  static bool is_plain(const Instruction& instruction) {
    if (llvm::isa<llvm::DbgInfoIntrinsic>(instruction)) return true;
    if (llvm::isa<llvm::CallInst>(instruction)) return min_or_max(&instruction).has_value();
    return !instruction.mayReadOrWriteMemory() && !instruction.mayThrow();
  }

  bool is_of_place(const Instruction* instruction) const {
    const auto* load = llvm::dyn_cast<llvm::LoadInst>(instruction);
    return load != nullptr && !load->isAtomic() &&
           load->getPointerOperand()->stripPointerCasts() == place_ &&
           load->getType()->getPrimitiveSizeInBits() ==
               exchange_->getType()->getPrimitiveSizeInBits();
  }

  /// The loop is left by one way only, and there the exchange has found what it expected.
  bool ends_when_put_in_place() const {
    const llvm::BasicBlock* exiting = loop_.getExitingBlock();
    const auto* branch =
        exiting != nullptr ? llvm::dyn_cast<llvm::BranchInst>(exiting->getTerminator()) : nullptr;
    if (branch == nullptr || !branch->isConditional()) return false;
    const auto* test = llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition());
    if (test == nullptr || !test->isEquality()) return false;
    const Value* left = stripped(test->getOperand(0));
    const Value* right = stripped(test->getOperand(1));
    const Value* expected = stripped(exchange_->getArgOperand(1));
    if (!((left == exchange_ && right == expected) || (right == exchange_ && left == expected))) {
      return false;
    }
    const bool leaves_when_true = !loop_.contains(branch->getSuccessor(0));
    return leaves_when_true == (test->getPredicate() == llvm::CmpInst::ICMP_EQ);
  }

  /// What is expected has been read from the place, in this round or by the one before.
  bool find_old() {
    old_ = stripped(exchange_->getArgOperand(1));
    if (const auto* load = llvm::dyn_cast<Instruction>(old_); load && reads_.contains(load)) {
      return true;
    }
    const auto* phi = llvm::dyn_cast<llvm::PHINode>(old_);
    if (phi == nullptr || phi->getParent() != loop_.getHeader()) return false;
    for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i) {
      const Value* value = stripped(phi->getIncomingValue(i));
      if (loop_.contains(phi->getIncomingBlock(i))) {
        const auto* again = llvm::dyn_cast<Instruction>(value);
        if (value != exchange_ && (again == nullptr || !reads_.contains(again))) return false;
        continue;
      }
      const auto* first = llvm::dyn_cast<Instruction>(value);
      if (first == nullptr || !is_of_place(first)) return false;
      reads_.insert(first);
    }
    return true;
  }

  /// What it was combined with does not depend on the loop.
  bool is_old_and_other(const Value* a, const Value* b) const {
    return stripped(a) == old_ && loop_.isLoopInvariant(stripped(b));
  }
  bool are_old_and_other(const Value* a, const Value* b) const {
    return is_old_and_other(a, b) || is_old_and_other(b, a);
  }

  bool find_operation() {
    const Value* put = stripped(exchange_->getArgOperand(2));
    if (const auto* binary = llvm::dyn_cast<llvm::BinaryOperator>(put)) {
      const Value* a = binary->getOperand(0);
      const Value* b = binary->getOperand(1);
      switch (binary->getOpcode()) {
        case Instruction::FAdd:
          operation_ = "fadd";
          return are_old_and_other(a, b);
        case Instruction::FSub:
          operation_ = "fsub";
          return is_old_and_other(a, b);
        case Instruction::Add:
          operation_ = "add";
          return are_old_and_other(a, b);
        case Instruction::Sub:
          operation_ = "sub";
          return is_old_and_other(a, b);
        case Instruction::And:
          operation_ = "and";
          return are_old_and_other(a, b);
        case Instruction::Or:
          operation_ = "or";
          return are_old_and_other(a, b);
        case Instruction::Xor:
          operation_ = "xor";
          return are_old_and_other(a, b);
        default:
          return false;
      }
    }
    if (const auto named = min_or_max(put)) {
      operation_ = *named;
      const auto* call = llvm::cast<llvm::CallInst>(put);
      return are_old_and_other(call->getArgOperand(0), call->getArgOperand(1));
    }
    return find_selection(llvm::dyn_cast<llvm::SelectInst>(put));
  }

  /// `old < other ? old : other` and its like.
  bool find_selection(const llvm::SelectInst* select) {
    const auto* test =
        select != nullptr ? llvm::dyn_cast<llvm::CmpInst>(select->getCondition()) : nullptr;
    if (test == nullptr) return false;
    const Value* left = stripped(test->getOperand(0));
    const Value* right = stripped(test->getOperand(1));
    const Value* yes = stripped(select->getTrueValue());
    const Value* no = stripped(select->getFalseValue());
    const bool same = yes == left && no == right;
    if (!same && !(yes == right && no == left)) return false;
    // Which of both is old makes a difference where neither is less: a NaN would stay or not.
    if (!are_old_and_other(left, right)) return false;
    const auto predicate = same ? test->getPredicate() : test->getSwappedPredicate();
    switch (predicate) {
      case llvm::CmpInst::FCMP_OLT:
      case llvm::CmpInst::FCMP_OLE:
        operation_ = "fmin";
        return true;
      case llvm::CmpInst::FCMP_OGT:
      case llvm::CmpInst::FCMP_OGE:
        operation_ = "fmax";
        return true;
      case llvm::CmpInst::ICMP_SLT:
      case llvm::CmpInst::ICMP_SLE:
        operation_ = "min";
        return true;
      case llvm::CmpInst::ICMP_SGT:
      case llvm::CmpInst::ICMP_SGE:
        operation_ = "max";
        return true;
      case llvm::CmpInst::ICMP_ULT:
      case llvm::CmpInst::ICMP_ULE:
        operation_ = "umin";
        return true;
      case llvm::CmpInst::ICMP_UGT:
      case llvm::CmpInst::ICMP_UGE:
        operation_ = "umax";
        return true;
      default:
        return false;
    }
  }

  static std::optional<std::string> min_or_max(const Value* value) {
    if (const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(value)) {
      switch (intrinsic->getIntrinsicID()) {
        case llvm::Intrinsic::minnum:
          return "fmin";
        case llvm::Intrinsic::maxnum:
          return "fmax";
        case llvm::Intrinsic::smin:
          return "min";
        case llvm::Intrinsic::smax:
          return "max";
        case llvm::Intrinsic::umin:
          return "umin";
        case llvm::Intrinsic::umax:
          return "umax";
        default:
          return std::nullopt;
      }
    }
    const auto [base, parameters] = name_of(value);
    if (base != "min" && base != "max" && base != "fmin" && base != "fmax") return std::nullopt;
    const auto type = first_parameter_type(parameters);
    if (!type || type->lanes != 1) return std::nullopt;
    const std::string plain(base.substr(base.size() - 3));
    return (type->is_float ? "f" : type->is_unsigned ? "u" : "") + plain;
  }

  /// Nobody outside sees what was read.
  bool nothing_is_seen() const {
    const auto inside = [this](const llvm::User* user) {
      const auto* instruction = llvm::dyn_cast<Instruction>(user);
      return instruction != nullptr && loop_.contains(instruction);
    };
    for (const llvm::BasicBlock* block : loop_.blocks()) {
      for (const Instruction& instruction : *block) {
        if (!std::all_of(instruction.user_begin(), instruction.user_end(), inside)) return false;
      }
    }
    // The first read is before the loop; casts may be between.
    std::vector<const Instruction*> open(reads_.begin(), reads_.end());
    while (!open.empty()) {
      const Instruction* read = open.back();
      open.pop_back();
      if (loop_.contains(read)) continue;
      for (const llvm::User* user : read->users()) {
        if (inside(user)) continue;
        const auto* cast = llvm::dyn_cast<llvm::BitCastInst>(user);
        if (cast == nullptr) return false;
        open.push_back(cast);
      }
    }
    return true;
  }

  const llvm::Loop& loop_;
  const llvm::CallInst* exchange_ = nullptr;
  const Value* place_ = nullptr;
  const Value* old_ = nullptr;
  std::string operation_;
  std::set<const Instruction*> reads_;
};

}  // namespace

ExchangeLoops::ExchangeLoops(const llvm::Function& kernel, const llvm::LoopInfo& loops) {
  if (kernel.isDeclaration()) return;
  for (const llvm::Loop* loop : loops.getLoopsInPreorder()) {
    if (loop->isInnermost()) look_at(*loop);
  }
}

void ExchangeLoops::look_at(const llvm::Loop& loop) {
  Candidate candidate(loop);
  if (!candidate.matches()) return;
  updates_.emplace(candidate.exchange(), candidate.operation());
  reads_.insert(candidate.reads().begin(), candidate.reads().end());
}

std::string ExchangeLoops::update_of(const Instruction& exchange) const {
  const auto found = updates_.find(&exchange);
  return found == updates_.end() ? std::string() : found->second;
}

}  // namespace tutti::kernel_compiler
