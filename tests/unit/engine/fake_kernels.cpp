// SPDX-License-Identifier: Apache-2.0
#include "fake_kernels.h"

#include <atomic>

namespace tutti::testing {
namespace {
using namespace scheduler;

Expr leaf(ExprKind kind, uint8_t width, uint32_t index = 0) {
  Expr expr;
  expr.kind = kind;
  expr.width = width;
  expr.index = index;
  return expr;
}

Argument pointer(const char* name, bool is_const) {
  Argument argument;
  argument.kind = ArgKind::kGlobal;
  argument.name = name;
  argument.is_const = is_const;
  return argument;
}

Argument scalar(const char* name) {
  Argument argument;
  argument.name = name;
  argument.size = 4;
  return argument;
}

uint8_t value(const std::byte* memory, size_t at) { return std::to_integer<uint8_t>(memory[at]); }

}  // namespace

KernelSummary summary_of(KernelForm form) {
  KernelSummary summary;
  summary.name = "fake";
  summary.shard_arguments = 3;
  summary.arguments = {pointer("in", true), pointer("out", false), scalar("n"), scalar("c")};
  summary.exprs.push_back(leaf(ExprKind::kGlobalId, 64));  // 0
  summary.exprs.push_back(leaf(ExprKind::kArg, 32, 2));    // 1
  Expr wide = leaf(ExprKind::kZExt, 64);
  wide.operands = {1};
  summary.exprs.push_back(wide);                          // 2
  summary.exprs.push_back(leaf(ExprKind::kUnknown, 64));  // 3
  const Guard in_range{Compare::kULt, 0, 2};
  Access load, store;
  load.kind = AccessKind::kLoad;
  load.argument = 0;
  load.size = 1;
  load.guards = {in_range};
  load.offset = form == KernelForm::kGather ? 3 : 0;
  store.kind = AccessKind::kStore;
  store.argument = 1;
  store.size = 1;
  store.guards = {in_range};
  store.guards_exact = form != KernelForm::kSparse;
  store.offset = form == KernelForm::kScatter || form == KernelForm::kSearch ? 3 : 0;
  summary.accesses = {load, store};
  if (form == KernelForm::kStencil) {
    const auto at = static_cast<uint32_t>(summary.exprs.size());
    Expr one = leaf(ExprKind::kConst, 64), left = leaf(ExprKind::kSub, 64),
         right = leaf(ExprKind::kAdd, 64);
    one.value = 1;
    left.operands = right.operands = {0, at};
    summary.exprs.insert(summary.exprs.end(), {one, left, right});
    load.offset = at + 1;
    load.guards = {in_range, {Compare::kUGe, 0, at}};
    summary.accesses.push_back(load);
    load.offset = at + 2;
    load.guards = {{Compare::kULt, at + 2, 2}};
    summary.accesses.push_back(load);
  }
  if (form == KernelForm::kCount) {
    Access& count = summary.accesses.back();
    count.kind = AccessKind::kAtomic;
    count.atomic_op = "inc";
    count.offset = 3;
    count.size = 4;
  }
  if (form == KernelForm::kSearch) {
    Access ticket = store;
    ticket.kind = AccessKind::kAtomic;
    ticket.atomic_op = "inc";
    ticket.result_used = ticket.seldom = true;
    ticket.offset = static_cast<uint32_t>(summary.exprs.size());
    ticket.size = 4;
    summary.exprs.push_back(leaf(ExprKind::kConst, 64));
    summary.accesses.push_back(ticket);
  }
  return summary;
}

void apply(KernelForm form, const std::byte* in, std::byte* out, uint32_t i, uint32_t n,
           uint32_t c) {
  if (i >= n) return;
  switch (form) {
    case KernelForm::kMap:
      out[i] = std::byte(static_cast<uint8_t>(value(in, i) * 3 + c));
      break;
    case KernelForm::kSparse:
      if (value(in, i) % 2) out[i] = std::byte(static_cast<uint8_t>(c));
      break;
    case KernelForm::kGather:
      out[i] = std::byte(static_cast<uint8_t>(value(in, (i * 7 + c) % n) + 1));
      break;
    case KernelForm::kStencil:
      out[i] = std::byte(static_cast<uint8_t>((i > 0 ? value(in, i - 1) : 0) + value(in, i) +
                                              (i + 1 < n ? value(in, i + 1) : 0)));
      break;
    case KernelForm::kScatter:
      out[n - 1 - i] = std::byte(static_cast<uint8_t>(value(in, i) + c));
      break;
    case KernelForm::kCount: {
      auto* const counters = reinterpret_cast<uint32_t*>(out);
      std::atomic_ref<uint32_t>(counters[value(in, i) % 8]).fetch_add(1);
      break;
    }
    case KernelForm::kSearch:
      if (value(in, i) == c) {
        auto* count = reinterpret_cast<uint32_t*>(out);
        out[4 + std::atomic_ref<uint32_t>(*count).fetch_add(1)] =
            std::byte(static_cast<uint8_t>(i));
      }
      break;
  }
}

std::shared_ptr<FakeKernel> fake_kernel(KernelForm form, uint32_t backends) {
  return std::make_shared<FakeKernel>(
      summary_of(form),
      [form](const FakeItem& item) {
        apply(form, item.memory(0), item.memory(1), static_cast<uint32_t>(item.global_id[0]),
              item.scalar<uint32_t>(2), item.scalar<uint32_t>(3));
      },
      backends);
}

}  // namespace tutti::testing
