// SPDX-License-Identifier: Apache-2.0
#include "kernel_compiler/access_collector.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>

#include <algorithm>

#include "kernel_compiler/address_space.h"
#include "kernel_compiler/source_line.h"

namespace tutti::kernel_compiler {
namespace {

using llvm::Value;
using scheduler::Access;
using scheduler::AccessKind;
using scheduler::ArgKind;
using scheduler::Compare;
using scheduler::ExprKind;

constexpr size_t kMostAccesses = 4000;

// Values of Clang's opencl-c-base.h, which the analysed text was parsed with.
constexpr uint64_t kLocalFence = 1;
constexpr uint64_t kScopeWorkGroup = 1;
constexpr uint64_t kScopeSubGroup = 4;

std::string_view view(llvm::StringRef text) { return {text.data(), text.size()}; }

std::optional<uint64_t> constant_argument(const llvm::CallBase& call, unsigned index) {
  if (index < call.arg_size()) {
    if (const auto* value = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(index))) {
      return value->getZExtValue();
    }
  }
  return std::nullopt;
}

bool within_group(std::optional<uint64_t> scope) {
  return scope && (*scope <= kScopeWorkGroup || *scope == kScopeSubGroup);
}

std::string atomic_name(llvm::AtomicRMWInst::BinOp operation) {
  switch (operation) {
    case llvm::AtomicRMWInst::Xchg:
      return "xchg";
    case llvm::AtomicRMWInst::Add:
      return "add";
    case llvm::AtomicRMWInst::Sub:
      return "sub";
    case llvm::AtomicRMWInst::And:
      return "and";
    case llvm::AtomicRMWInst::Or:
      return "or";
    case llvm::AtomicRMWInst::Xor:
      return "xor";
    case llvm::AtomicRMWInst::Max:
      return "max";
    case llvm::AtomicRMWInst::Min:
      return "min";
    case llvm::AtomicRMWInst::UMax:
      return "umax";
    case llvm::AtomicRMWInst::UMin:
      return "umin";
    case llvm::AtomicRMWInst::FAdd:
      return "fadd";
    default:
      return "other";
  }
}

}  // namespace

AccessCollector::AccessCollector(scheduler::KernelSummary& summary, llvm::Function& kernel,
                                 llvm::DominatorTree& tree, llvm::LoopInfo& loops,
                                 llvm::ScalarEvolution& evolution,
                                 const std::set<std::string>& foreign)
    : summary_(summary),
      kernel_(kernel),
      tree_(tree),
      loops_(loops),
      foreign_(foreign),
      layout_(kernel.getParent()->getDataLayout()),
      builder_(summary, evolution, loops, layout_),
      resolver_(builder_, evolution, loops),
      control_(summary, builder_, tree, loops, evolution),
      content_(evolution, loops),
      results_(kernel, tree, loops),
      exchange_loops_(kernel, loops),
      private_(foreign) {
  for (const llvm::GlobalVariable& variable : kernel.getParent()->globals()) {
    has_variables_ |= variable.getAddressSpace() == kGlobalSpace && !variable.isConstant();
  }
}

void AccessCollector::run() {
  for (llvm::BasicBlock& block : kernel_) {
    if (!tree_.isReachableFromEntry(&block)) {
      continue;
    }
    for (llvm::Instruction& instruction : block) {
      ++steps_;
      visit(instruction);
      if (summary_.accesses.size() > kMostAccesses) {
        keep_whole(instruction, "more memory accesses than can be analysed");
        return;
      }
    }
  }
  content_.find(summary_.accesses);
}

void AccessCollector::keep_whole(const llvm::Instruction& at, std::string reason) {
  if (summary_.whole_reason.empty()) {
    summary_.whole_reason = std::move(reason);
    summary_.whole_line = source_line(at);
  }
}

uint32_t AccessCollector::store_size(llvm::Type* type) const {
  return static_cast<uint32_t>(layout_.getTypeStoreSize(type).getFixedValue());
}

const llvm::Loop* AccessCollector::scope_of(const llvm::Instruction& at) const {
  return loops_.getLoopFor(at.getParent());
}

bool AccessCollector::touches_objects(Value* pointer, llvm::Instruction& at) {
  const auto bases = resolver_.resolve(pointer, scope_of(at));
  return std::any_of(bases.begin(), bases.end(),
                     [](const PointerBase& base) { return base.kind != BaseKind::kPrivate; });
}

void AccessCollector::append(Access access, const llvm::LoadInst* load) {
  // The same access may stand in several places (inlined helpers); lines are for people only.
  std::vector<uint32_t> key = {access.argument, access.offset, access.size};
  for (const scheduler::Guard& guard : access.guards) {
    key.insert(key.end(), {static_cast<uint32_t>(guard.compare), guard.left, guard.right});
  }
  std::vector<uint32_t>& alike = alike_[std::move(key)];
  const uint32_t line = access.line;
  for (const uint32_t index : alike) {
    ++steps_;
    access.line = summary_.accesses[index].line;
    if (summary_.accesses[index] == access) return content_.note(index, load);
  }
  access.line = line;
  content_.note(static_cast<uint32_t>(summary_.accesses.size()), load);
  alike.push_back(static_cast<uint32_t>(summary_.accesses.size()));
  summary_.accesses.push_back(std::move(access));
}

void AccessCollector::record(const Site& site, const Repetition* repetition) {
  const llvm::Loop* scope = scope_of(*site.at);
  const auto bases = resolver_.resolve(site.pointer, scope);
  for (const PointerBase& base : bases) {
    switch (base.kind) {
      case BaseKind::kPrivate:
        break;
      case BaseKind::kProgramScope:
        keep_whole(*site.at, "uses a variable in global memory");
        break;
      case BaseKind::kUnknown:
        if (site.kind == AccessKind::kLoad && !has_variables_) {
          record_unknown_load(site);
        } else {
          keep_whole(*site.at, "uses a pointer whose buffer is not known");
        }
        break;
      case BaseKind::kArgument: {
        const Conditions& conditions = control_.of(site.at->getParent());
        Access access;
        access.kind = site.kind;
        access.argument = base.argument;
        access.offset = base.offset;
        access.size = site.size;
        access.guards = conditions.guards;
        access.loops = conditions.loops;
        // One pointer of several: which one is not among the guards.
        access.guards_exact = conditions.exact && bases.size() == 1;
        access.atomic_op = site.atomic_op;
        access.result_used = site.result_used;
        if (site.kind == AccessKind::kAtomic) {
          access.decides_loop = site.result_used && results_.decides_loop(*site.at);
          access.seldom = results_.is_seldom(*site.at);
        }
        access.is_volatile = site.is_volatile;
        access.line = source_line(*site.at);
        if (repetition != nullptr) {
          access.offset = builder_.node(ExprKind::kAdd, 64, {access.offset, repetition->offset});
          access.loops.push_back(repetition->loop);
          access.guards.insert(access.guards.end(), repetition->guards.begin(),
                               repetition->guards.end());
          access.guards_exact = access.guards_exact && repetition->exact;
        }
        const bool plain = bases.size() == 1 && repetition == nullptr;
        append(std::move(access), plain ? llvm::dyn_cast<llvm::LoadInst>(site.at) : nullptr);
        break;
      }
    }
  }
}

/// A load through a pointer that is not followed can be of any byte of any object that such a
/// pointer can lead to.
void AccessCollector::record_unknown_load(const Site& site) {
  const bool constant = site.pointer->getType()->getPointerAddressSpace() == kConstantSpace;
  for (uint32_t i = 0; i < summary_.arguments.size(); ++i) {
    if (summary_.arguments[i].kind != (constant ? ArgKind::kConstant : ArgKind::kGlobal)) {
      continue;
    }
    Access access;
    access.kind = AccessKind::kLoad;
    access.argument = i;
    access.offset = builder_.unknown(64);
    access.size = 0;
    access.line = source_line(*site.at);
    append(std::move(access));
  }
}

void AccessCollector::visit(llvm::Instruction& instruction) {
  if (exchange_loops_.is_read_of_one(instruction)) {
    return;  // the loop's exchange stands for it
  }
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
    if (!load->isSimple() && touches_objects(load->getPointerOperand(), instruction)) {
      // Another work-group may be spoken to this way.
      keep_whole(instruction, load->isAtomic() ? "atomic load from global memory"
                                               : "volatile access to global memory");
    }
    record({.kind = AccessKind::kLoad,
            .at = load,
            .pointer = load->getPointerOperand(),
            .size = store_size(load->getType()),
            .is_volatile = load->isVolatile()});
  } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
    if (!store->isSimple() && touches_objects(store->getPointerOperand(), instruction)) {
      keep_whole(instruction, store->isAtomic() ? "atomic store to global memory"
                                                : "volatile access to global memory");
    }
    record({.kind = AccessKind::kStore,
            .at = store,
            .pointer = store->getPointerOperand(),
            .size = store_size(store->getValueOperand()->getType()),
            .is_volatile = store->isVolatile()});
  } else if (auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
    record({.kind = AccessKind::kAtomic,
            .at = update,
            .pointer = update->getPointerOperand(),
            .size = store_size(update->getType()),
            .atomic_op = atomic_name(update->getOperation()),
            .result_used = !update->use_empty()});
  } else if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
    record({.kind = AccessKind::kAtomic,
            .at = exchange,
            .pointer = exchange->getPointerOperand(),
            .size = store_size(exchange->getNewValOperand()->getType()),
            .atomic_op = "cmpxchg",
            .result_used = !exchange->use_empty()});
  } else if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
    visit_call(*call);
  } else if (instruction.mayReadOrWriteMemory()) {
    keep_whole(instruction, std::string("memory instruction '") + instruction.getOpcodeName() +
                                "' is not understood");
  }
}

void AccessCollector::visit_call(llvm::CallBase& call) {
  if (call.isInlineAsm()) {
    keep_whole(call, "inline assembly");
    return;
  }
  const llvm::Function* callee = call.getCalledFunction();
  if (callee == nullptr) {
    keep_whole(call, "calls a function through a pointer");
    return;
  }
  if (auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&call)) {
    visit_intrinsic(*intrinsic);
    return;
  }
  const BuiltinName name = split_mangled(view(callee->getName()));
  const std::string base(name.base);
  if (!callee->isDeclaration()) {
    if (private_.contains(*callee)) return;
    keep_whole(call, "calls " + base + ", which is recursive or too large to analyse");
    return;
  }
  if (foreign_.contains(callee->getName().str())) {
    keep_whole(call, "calls " + base + ", which the program does not define");
    return;
  }
  if (visit_image_call(call, name)) {
    return;
  }
  switch (classify_builtin(name.base)) {
    case BuiltinClass::kWorkItem:
    case BuiltinClass::kNoAccess:
      return;
    case BuiltinClass::kBarrier:
      visit_barrier(call, name);
      return;
    case BuiltinClass::kFence:
      visit_fence(call, name);
      return;
    case BuiltinClass::kAsyncCopy:
      visit_async_copy(call, name);
      return;
    case BuiltinClass::kAtomic:
      visit_atomic_call(call, name);
      return;
    case BuiltinClass::kPointerResult:
      visit_pointer_result(call, name);
      return;
    case BuiltinClass::kPrintf:
      keep_whole(call, "calls printf");
      return;
    case BuiltinClass::kUnknown:
      keep_whole(call, "calls " + base + ", which is not understood");
      return;
    case BuiltinClass::kValue:
      for (const llvm::Use& argument : call.args()) {
        if (argument->getType()->isPtrOrPtrVectorTy() &&
            (argument->getType()->isVectorTy() || touches_objects(argument.get(), call))) {
          keep_whole(call, "passes a pointer to " + base + ", which is not understood");
          return;
        }
      }
      return;
  }
}

void AccessCollector::visit_intrinsic(llvm::IntrinsicInst& call) {
  if (auto* transfer = llvm::dyn_cast<llvm::MemIntrinsic>(&call)) {
    const auto* length = llvm::dyn_cast<llvm::ConstantInt>(transfer->getLength());
    const uint32_t size = length != nullptr && length->getZExtValue() <= UINT32_MAX
                              ? static_cast<uint32_t>(length->getZExtValue())
                              : 0;
    if (length != nullptr && length->isZero()) {
      return;
    }
    if (transfer->isVolatile() && touches_objects(transfer->getRawDest(), call)) {
      keep_whole(call, "volatile access to global memory");
    }
    record(
        {.kind = AccessKind::kStore, .at = &call, .pointer = transfer->getRawDest(), .size = size});
    if (auto* copy = llvm::dyn_cast<llvm::MemTransferInst>(transfer)) {
      if (copy->isVolatile() && touches_objects(copy->getRawSource(), call)) {
        keep_whole(call, "volatile access to global memory");
      }
      record(
          {.kind = AccessKind::kLoad, .at = &call, .pointer = copy->getRawSource(), .size = size});
    }
    return;
  }
  if (call.isLifetimeStartOrEnd() || call.isAssumeLikeIntrinsic() || call.doesNotAccessMemory()) {
    return;
  }
  keep_whole(call,
             "uses " + call.getCalledFunction()->getName().str() + ", which is not understood");
}

void AccessCollector::visit_barrier(llvm::CallBase& call, const BuiltinName& name) {
  summary_.uses_barrier = true;
  // Barriers with a scope may order memory for other work-groups.
  if (name.base.ends_with("_barrier") && call.arg_size() > 1 &&
      !within_group(constant_argument(call, 1))) {
    keep_whole(call, "a barrier that orders memory between work-groups");
  }
}

void AccessCollector::visit_fence(llvm::CallBase& call, const BuiltinName& name) {
  if (constant_argument(call, 0) == kLocalFence) {
    return;
  }
  if (name.base == "atomic_work_item_fence" && within_group(constant_argument(call, 2))) {
    return;
  }
  keep_whole(call, "a fence that orders global memory between work-groups");
}

void AccessCollector::visit_atomic_call(llvm::CallBase& call, const BuiltinName& name) {
  std::string_view operation = name.base;
  operation.remove_prefix(operation.starts_with("atomic_") ? 7 : 5);
  const auto type = first_parameter_type(name.parameters);
  if (call.arg_size() == 0 || !call.getArgOperand(0)->getType()->isPointerTy()) {
    keep_whole(call, "calls " + std::string(name.base) + ", which is not understood");
    return;
  }
  Value* pointer = call.getArgOperand(0);
  if (!touches_objects(pointer, call)) {
    return;  // in local memory
  }
  if (operation.ends_with("_explicit")) {
    operation.remove_suffix(9);
  }
  if (operation.starts_with("fetch_")) {
    operation.remove_prefix(6);
  } else if (operation == "exchange") {
    operation = "xchg";
  } else if (operation.starts_with("compare_exchange_")) {
    operation = "cmpxchg";
  }
  static constexpr std::string_view kKnown[] = {"add", "sub", "inc", "dec", "xchg", "cmpxchg",
                                                "min", "max", "and", "or",  "xor"};
  if (!type || std::find(std::begin(kKnown), std::end(kKnown), operation) == std::end(kKnown)) {
    keep_whole(call, "calls " + std::string(name.base) + " on global memory");
    return;
  }
  if (std::string update = exchange_loops_.update_of(call); !update.empty()) {
    record({.kind = AccessKind::kAtomic,
            .at = &call,
            .pointer = pointer,
            .size = type->bytes,
            .atomic_op = std::move(update)});
    return;
  }
  std::string op(operation);
  if (type->is_float && op != "xchg") {
    op = "f" + op;
  } else if (type->is_unsigned && (op == "min" || op == "max")) {
    op = "u" + op;
  }
  // OpenCL 2.0's compare_exchange also reads and writes `expected`.
  if (op == "cmpxchg" && call.arg_size() > 1 && call.getArgOperand(1)->getType()->isPointerTy()) {
    record({.kind = AccessKind::kLoad,
            .at = &call,
            .pointer = call.getArgOperand(1),
            .size = type->bytes});
    record({.kind = AccessKind::kStore,
            .at = &call,
            .pointer = call.getArgOperand(1),
            .size = type->bytes});
  }
  record({.kind = AccessKind::kAtomic,
          .at = &call,
          .pointer = pointer,
          .size = type->bytes,
          .atomic_op = std::move(op),
          .result_used = !call.use_empty()});
}

void AccessCollector::visit_async_copy(llvm::CallBase& call, const BuiltinName& name) {
  const auto type = first_parameter_type(name.parameters);
  const bool strided = name.base == "async_work_group_strided_copy";
  if (!type || call.arg_size() != (strided ? 5u : 4u)) {
    keep_whole(call, "an asynchronous copy that is not understood");
    return;
  }
  // Every work-item makes the call with the same arguments, and together they copy all elements:
  // the same bytes as if each copied all.
  const llvm::Loop* scope = scope_of(call);
  const uint32_t count = builder_.translate(call.getArgOperand(2), scope, scope);
  const uint8_t width = builder_.at(count).width;
  const uint32_t last = builder_.widened(
      builder_.node(ExprKind::kAdd, width, {count, builder_.constant(width, -1)}), false);
  Repetition repetition;
  repetition.loop = builder_.synthetic_loop(last);
  repetition.exact = builder_.exact(count);
  if (repetition.exact) {
    repetition.guards.push_back({Compare::kNe, count, builder_.constant(width, 0)});
  }
  const uint32_t packed = builder_.node(
      ExprKind::kMul, 64,
      {builder_.loop_counter(repetition.loop, 64), builder_.constant(64, type->stride())});
  uint32_t spread = packed;
  if (strided) {
    const uint32_t stride =
        builder_.widened(builder_.translate(call.getArgOperand(3), scope, scope), false);
    spread = builder_.node(ExprKind::kMul, 64, {packed, stride});
  }
  // The stride is that of the global side; the local side is of no interest, so both may have it.
  repetition.offset = spread;
  record({.kind = AccessKind::kStore,
          .at = &call,
          .pointer = call.getArgOperand(0),
          .size = type->stride()},
         &repetition);
  record({.kind = AccessKind::kLoad,
          .at = &call,
          .pointer = call.getArgOperand(1),
          .size = type->stride()},
         &repetition);
}

void AccessCollector::visit_pointer_result(llvm::CallBase& call, const BuiltinName& name) {
  Value* pointer = call.arg_size() > 0 ? call.getArgOperand(call.arg_size() - 1) : nullptr;
  if (pointer == nullptr || !pointer->getType()->isPointerTy()) {
    keep_whole(call, "calls " + std::string(name.base) + ", which is not understood");
    return;
  }
  // frexp, remquo and lgamma_r yield an int per lane, the others their own type.
  const bool ints = name.base == "frexp" || name.base == "remquo" || name.base == "lgamma_r";
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(call.getType());
  const uint32_t lanes = vector != nullptr ? vector->getNumElements() : 1;
  record({.kind = AccessKind::kStore,
          .at = &call,
          .pointer = pointer,
          .size = ints ? 4 * lanes : store_size(call.getType())});
}

}  // namespace tutti::kernel_compiler
