// SPDX-License-Identifier: Apache-2.0
#include "tools/expression_text.h"

#include <algorithm>
#include <functional>
#include <string_view>

namespace tutti::tools {
namespace {

using scheduler::Expr;
using scheduler::ExprKind;
using scheduler::KernelSummary;

// How strongly an operator binds, as in C; but a quotient in a product is set in brackets, since
// 4·(x/2) is not 4·x/2.
enum Binding { kBitOr, kBitXor, kBitAnd, kShift, kSum, kQuotient, kProduct, kAtom };

class Printer {
 public:
  Printer(const KernelSummary& kernel, uint32_t dims, size_t most)
      : kernel_(kernel), dims_(dims), most_(most) {}

  std::string text(uint32_t index, Binding around) {
    // A shared subtree is printed at each use, so the text may be far longer than the pool.
    if (too_long_) return {};
    const Expr& expr = kernel_.exprs[index];
    Binding own = kAtom;
    std::string result = plain(expr, own);
    too_long_ |= result.size() > most_;
    return own < around ? "(" + result + ")" : result;
  }
  bool too_long() const { return too_long_; }

 private:
  std::string id(const char* name, const Expr& expr) const {
    return dims_ > 1 || expr.index > 0 ? name + std::to_string(expr.index) : name;
  }

  std::string plain(const Expr& expr, Binding& own) {
    switch (expr.kind) {
      case ExprKind::kConst:
        return std::to_string(expr.value);
      case ExprKind::kArg: {
        const auto& argument = kernel_.arguments[expr.index];
        return expr.value == 0 ? argument.name : argument.name + "+" + std::to_string(expr.value);
      }
      case ExprKind::kGlobalId:
        return id("gid", expr);
      case ExprKind::kLocalId:
        return id("lid", expr);
      case ExprKind::kGroupId:
        return id("group", expr);
      case ExprKind::kGlobalSize:
        return id("global_size", expr);
      case ExprKind::kLocalSize:
        return id("local_size", expr);
      case ExprKind::kNumGroups:
        return id("groups", expr);
      case ExprKind::kGlobalOffset:
        return id("global_offset", expr);
      case ExprKind::kLoop:
        return "k" + std::to_string(expr.index);
      case ExprKind::kAdd:
        return infix(expr, " + ", own = kSum);
      case ExprKind::kSub:
        return infix(expr, " - ", own = kSum);
      case ExprKind::kMul:
        return infix(expr, "·", own = kProduct);
      case ExprKind::kUDiv:
      case ExprKind::kSDiv:
        return infix(expr, "/", own = kQuotient);
      case ExprKind::kURem:
      case ExprKind::kSRem:
        return infix(expr, "%", own = kQuotient);
      case ExprKind::kShl:
        return infix(expr, " << ", own = kShift);
      case ExprKind::kLShr:
      case ExprKind::kAShr:
        return infix(expr, " >> ", own = kShift);
      case ExprKind::kAnd:
        return infix(expr, " & ", own = kBitAnd);
      case ExprKind::kOr:
        return infix(expr, " | ", own = kBitOr);
      case ExprKind::kXor:
        return infix(expr, " ^ ", own = kBitXor);
      case ExprKind::kUMin:
      case ExprKind::kSMin:
        return call("min", expr);
      case ExprKind::kUMax:
      case ExprKind::kSMax:
        return call("max", expr);
      case ExprKind::kZExt:
      case ExprKind::kSExt:
      case ExprKind::kTrunc: {
        const Expr& inner = kernel_.exprs[expr.operands[0]];
        return plain(inner, own);
      }
      case ExprKind::kHull:
        return call("one of", expr);
      case ExprKind::kUnknown:
        break;
    }
    return "?";
  }

  std::string infix(const Expr& expr, std::string_view separator, Binding own) {
    // Constants first in products, last in sums, as in 4·(gid + 1).
    std::vector<uint32_t> operands = expr.operands;
    const auto is_constant = [&](uint32_t i) { return kernel_.exprs[i].kind == ExprKind::kConst; };
    if (expr.kind == ExprKind::kMul) {
      std::stable_partition(operands.begin(), operands.end(), is_constant);
    } else if (expr.kind == ExprKind::kAdd) {
      std::stable_partition(operands.begin(), operands.end(), std::not_fn(is_constant));
    }
    const bool commutes = expr.kind == ExprKind::kAdd || expr.kind == ExprKind::kMul ||
                          expr.kind == ExprKind::kAnd || expr.kind == ExprKind::kOr ||
                          expr.kind == ExprKind::kXor;
    std::string result;
    for (const uint32_t operand : operands) {
      if (result.empty()) {
        result = text(operand, own);
        continue;
      }
      const std::string next = text(operand, commutes           ? own
                                             : own == kQuotient ? kAtom
                                                                : static_cast<Binding>(own + 1));
      if (expr.kind == ExprKind::kAdd && next.starts_with("-")) {
        result += " - " + next.substr(1);
      } else {
        result.append(separator).append(next);
      }
    }
    return result;
  }

  std::string call(const char* name, const Expr& expr) {
    std::string result;
    for (const uint32_t operand : expr.operands) {
      result += (result.empty() ? "" : ", ") + text(operand, kBitOr);
    }
    return std::string(name) + "(" + result + ")";
  }

  const KernelSummary& kernel_;
  const uint32_t dims_;
  const size_t most_;
  bool too_long_ = false;
};

}  // namespace

std::string expression_text(const KernelSummary& kernel, uint32_t expr, uint32_t dims,
                            size_t most) {
  Printer printer(kernel, dims, most);
  std::string text = printer.text(expr, kBitOr);
  return printer.too_long() || text.size() > most ? std::string() : text;
}

}  // namespace tutti::tools
