// SPDX-License-Identifier: Apache-2.0
#include "kernel_compiler/atomic_results.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>
#include <set>
#include <vector>

#include "kernel_compiler/address_space.h"

namespace tutti::kernel_compiler {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;
using llvm::Value;

// A test whose operands are computed by more than this is taken to come from memory: it does.
constexpr size_t kLargestSlice = 4096;
constexpr int kDeepestTest = 16;
// So many tests of data, or one that finds a match, make what is behind them seldom.
constexpr int kSeldom = 6;

/// The argument or private variable that a pointer leads into; null: not known.
const Value* object_of(const Value* pointer) {
  const Value* base = llvm::getUnderlyingObject(pointer, 0);
  const bool known = llvm::isa<llvm::Argument>(base) || llvm::isa<llvm::AllocaInst>(base) ||
                     llvm::isa<llvm::GlobalVariable>(base);
  return known ? base : nullptr;
}

/// Everything in the function that may depend on some first values, through registers, branches and
/// memory. What is stored to an object may be seen by every load from it, or from an unknown one.
/// (That arguments share no memory where it matters is for the launch to see: plan/merge_rule.)
class Dependents {
 public:
  Dependents(llvm::Function& kernel, const llvm::PostDominatorTree& post)
      : kernel_(kernel), post_(post) {}

  void add(const Value* value) {
    if (values_.insert(value).second) open_.push_back(value);
  }

  void follow() {
    while (!open_.empty()) {
      const Value* value = open_.back();
      open_.pop_back();
      for (const llvm::User* user : value->users()) {
        if (const auto* instruction = llvm::dyn_cast<Instruction>(user)) add_user(*instruction);
      }
    }
  }

  bool contains(const Value* value) const { return values_.count(value) != 0; }
  /// Whether the block runs at all depends on them.
  bool decides(const BasicBlock* block) const { return blocks_.count(block) != 0; }

 private:
  void add_user(const Instruction& user) {
    if (user.isTerminator()) return add_branch(*user.getParent());
    add_writes(user);
    add(&user);
  }

  void add_writes(const Instruction& instruction) {
    if (!instruction.mayWriteToMemory()) return;
    const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
    if (store != nullptr) return add_memory(object_of(store->getPointerOperand()));
    // Atomics and calls; what has no pointer (a barrier) writes nothing itself.
    for (const Value* operand : instruction.operands()) {
      if (operand->getType()->isPtrOrPtrVectorTy() && !llvm::isa<llvm::Function>(operand)) {
        add_memory(operand->getType()->isPointerTy() ? object_of(operand) : nullptr);
      }
    }
  }

  void add_branch(const BasicBlock& from) {
    if (!branches_.insert(&from).second) return;
    const auto* node = post_.getNode(&from);
    const auto* after = node != nullptr ? node->getIDom() : nullptr;
    const BasicBlock* meeting = after != nullptr ? after->getBlock() : nullptr;
    std::vector<const BasicBlock*> open(llvm::succ_begin(&from), llvm::succ_end(&from));
    std::set<const BasicBlock*> seen;
    while (!open.empty()) {
      const BasicBlock* block = open.back();
      open.pop_back();
      if (!seen.insert(block).second) continue;
      for (const llvm::PHINode& phi : block->phis()) add(&phi);
      if (block == meeting) continue;
      blocks_.insert(block);
      for (const Instruction& instruction : *block) add_writes(instruction);
      open.insert(open.end(), llvm::succ_begin(block), llvm::succ_end(block));
    }
  }

  void add_memory(const Value* object) {
    if (!objects_.insert(object).second) return;
    for (const BasicBlock& block : kernel_) {
      for (const Instruction& instruction : block) {
        if (!instruction.mayReadFromMemory()) continue;
        const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
        if (load != nullptr && load->getPointerAddressSpace() == kConstantSpace) continue;
        const Value* seen = load != nullptr ? object_of(load->getPointerOperand()) : nullptr;
        if (object == nullptr || seen == nullptr || seen == object) add(&instruction);
      }
    }
  }

  llvm::Function& kernel_;
  const llvm::PostDominatorTree& post_;
  std::set<const Value*> values_;
  std::set<const BasicBlock*> branches_, blocks_;
  std::vector<const Value*> open_;
  std::set<const Value*> objects_;  // written to; null: any
};

/// Whether a value is computed from what memory holds.
bool comes_from_memory(const Value* value) {
  std::set<const Value*> seen = {value};
  std::vector<const Value*> open = {value};
  while (!open.empty()) {
    const auto* instruction = llvm::dyn_cast<Instruction>(open.back());
    open.pop_back();
    if (instruction == nullptr) continue;
    if (llvm::isa<llvm::LoadInst>(instruction) || seen.size() > kLargestSlice) return true;
    for (const Value* operand : instruction->operands()) {
      if (!llvm::isa<BasicBlock>(operand) && seen.insert(operand).second) open.push_back(operand);
    }
  }
  return false;
}

/// Two values are equal, of which one comes from memory and neither is a constant.
bool is_match(const llvm::CmpInst& test, bool truth) {
  const auto predicate = truth ? test.getPredicate() : test.getInversePredicate();
  return (predicate == llvm::CmpInst::ICMP_EQ || predicate == llvm::CmpInst::FCMP_OEQ ||
          predicate == llvm::CmpInst::FCMP_UEQ) &&
         !llvm::isa<llvm::Constant>(test.getOperand(0)) &&
         !llvm::isa<llvm::Constant>(test.getOperand(1));
}

/// How much a condition that turned out as `truth` says against what depends on it.
int weight(const Value* condition, bool truth, int depth = 0) {
  const auto* instruction = llvm::dyn_cast<Instruction>(condition);
  if (instruction == nullptr || depth > kDeepestTest) return 0;
  const auto both = [&](unsigned i, unsigned j) {
    return weight(instruction->getOperand(i), truth, depth + 1) +
           weight(instruction->getOperand(j), truth, depth + 1);
  };
  if (const auto* test = llvm::dyn_cast<llvm::CmpInst>(instruction)) {
    if (!comes_from_memory(test)) return 0;
    return is_match(*test, truth) ? kSeldom : 1;
  }
  switch (instruction->getOpcode()) {
    case Instruction::And:
      return truth ? both(0, 1) : 0;
    case Instruction::Or:
      return truth ? 0 : both(0, 1);
    case Instruction::Select: {
      const auto* yes = llvm::dyn_cast<llvm::ConstantInt>(instruction->getOperand(1));
      const auto* no = llvm::dyn_cast<llvm::ConstantInt>(instruction->getOperand(2));
      if (truth && no != nullptr && no->isZero()) return both(0, 1);    // a && b
      if (!truth && yes != nullptr && yes->isOne()) return both(0, 2);  // a || b
      return 0;
    }
    case Instruction::Freeze:
      return weight(instruction->getOperand(0), truth, depth + 1);
    default:
      return 0;
  }
}

}  // namespace

bool AtomicResults::decides(const Instruction& atomic, const llvm::Loop& loop) {
  Dependents dependents(kernel_, *post_);
  dependents.add(&atomic);
  // What others write where this atomic is may be looked at by plain loads, too.
  const Value* object = object_of(atomic.getOperand(0));
  for (const BasicBlock* block : loop.blocks()) {
    for (const Instruction& other : *block) {
      if (!other.mayReadFromMemory()) continue;
      if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&other)) {
        const Value* seen = object_of(load->getPointerOperand());
        if (seen == nullptr || object == nullptr || seen == object) dependents.add(load);
      } else if (other.mayWriteToMemory()) {
        dependents.add(&other);  // another atomic, or a function that may contain one
      }
    }
  }
  dependents.follow();
  llvm::SmallVector<BasicBlock*, 8> exits;
  loop.getExitingBlocks(exits);
  return std::any_of(exits.begin(), exits.end(), [&](const BasicBlock* block) {
    if (dependents.decides(block)) return true;
    const Instruction* end = block->getTerminator();
    return std::any_of(end->op_begin(), end->op_end(),
                       [&](const llvm::Use& operand) { return dependents.contains(operand); });
  });
}

bool AtomicResults::decides_loop(const Instruction& atomic) {
  const llvm::Loop* loop = loops_.getLoopFor(atomic.getParent());
  if (loop == nullptr) return false;
  if (!post_) post_.emplace(kernel_);
  for (; loop != nullptr; loop = loop->getParentLoop()) {
    // The atomic is one of those in the loop, of which none makes a difference to the others.
    const auto [known, added] =
        decisions_.try_emplace({loop, object_of(atomic.getOperand(0))}, false);
    if (added) known->second = decides(atomic, *loop);
    if (known->second) return true;
  }
  return false;
}

/// How much the tests on the way to a block say against its running, from the entry on.
int AtomicResults::weight_of(const BasicBlock* block) {
  std::vector<const llvm::DomTreeNode*> open;  // a loop, not recursion: there may be thousands
  int sum = 0;
  for (const auto* node = tree_.getNode(block); node->getIDom() != nullptr;
       node = node->getIDom()) {
    if (const auto known = weights_.find(node->getBlock()); known != weights_.end()) {
      sum = known->second;
      break;
    }
    open.push_back(node);
  }
  for (auto node = open.rbegin(); node != open.rend(); ++node) {
    const BasicBlock* to = (*node)->getBlock();
    const BasicBlock* from = (*node)->getIDom()->getBlock();
    const auto* branch = llvm::dyn_cast<llvm::BranchInst>(from->getTerminator());
    for (unsigned side = 0; branch != nullptr && branch->isConditional() && side < 2; ++side) {
      if (branch->getSuccessor(side) == to && tree_.dominates(llvm::BasicBlockEdge(from, to), to)) {
        // Enough is enough; the sum cannot overflow.
        sum = std::min(kSeldom, sum + weight(branch->getCondition(), side == 0));
      }
    }
    weights_.emplace(to, sum);
  }
  return sum;
}

bool AtomicResults::is_seldom(const Instruction& atomic) {
  return weight_of(atomic.getParent()) >= kSeldom;
}

}  // namespace tutti::kernel_compiler
