// SPDX-License-Identifier: Apache-2.0
#include "tools/expression_text.h"

#include <string_view>
#include <vector>

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
        const bool part = expr.value != 0 || 8 * argument.size > expr.width;
        return part ? argument.name + "@" + std::to_string(expr.value) : argument.name;
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
      case ExprKind::kMul: {
        std::string product = infix(expr, "·", own = kProduct);
        constexpr std::string_view kMinusOne = "-1·";
        return product.starts_with(kMinusOne) ? "-" + product.substr(kMinusOne.size()) : product;
      }
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
    const bool is_sum = expr.kind == ExprKind::kAdd;
    const bool is_product = expr.kind == ExprKind::kMul;
    const bool commutes = is_sum || is_product || expr.kind == ExprKind::kAnd ||
                          expr.kind == ExprKind::kOr || expr.kind == ExprKind::kXor;
    struct Part {
      int rank;
      std::string text;
    };
    std::vector<Part> parts;
    for (const uint32_t operand : expr.operands) {
      const bool first = parts.empty();
      const Binding around = first || commutes  ? own
                             : own == kQuotient ? kAtom
                                                : static_cast<Binding>(own + 1);
      Part part{0, text(operand, around)};
      // Constants first in products; in sums last, after what is subtracted: 4·(n - gid - 1).
      const bool is_constant = kernel_.exprs[operand].kind == ExprKind::kConst;
      if (is_product) part.rank = is_constant ? 0 : 1;
      if (is_sum) part.rank = is_constant ? 2 : part.text.starts_with("-") ? 1 : 0;
      parts.push_back(std::move(part));
    }
    std::string result;
    for (int rank = 0; rank <= 2; ++rank) {
      for (const Part& part : parts) {
        if (part.rank != rank) continue;
        if (result.empty()) {
          result = part.text;
        } else if (is_sum && part.text.starts_with("-")) {
          result += " - " + part.text.substr(1);
        } else {
          result.append(separator).append(part.text);
        }
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
