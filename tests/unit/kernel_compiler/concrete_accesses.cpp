// SPDX-License-Identifier: Apache-2.0
#include "concrete_accesses.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>

namespace tutti::kernel_compiler {
namespace {

using namespace scheduler;

using Values = std::optional<std::set<int64_t>>;  // nothing = any value

uint64_t masked(int64_t value, unsigned width) {
  return width == 64 ? static_cast<uint64_t>(value)
                     : static_cast<uint64_t>(value) & ((uint64_t{1} << width) - 1);
}

int64_t sign_extended(int64_t value, unsigned width) {
  const unsigned shift = 64 - width;
  return static_cast<int64_t>(static_cast<uint64_t>(value) << shift) >> shift;
}

class Walker {
 public:
  Walker(const KernelSummary& kernel, const Launch& launch)
      : kernel_(kernel), launch_(launch), counters_(kernel.loops.size()) {
    for (uint32_t i = 0; i < kernel.arguments.size(); ++i) {
      const ArgKind kind = kernel.arguments[i].kind;
      if (kind == ArgKind::kGlobal || kind == ArgKind::kConstant) {
        const size_t size = launch.arguments.at(i).size();
        result_[i] = {std::vector<bool>(size), std::vector<bool>(size), std::vector<bool>(size)};
      }
    }
  }

  std::map<uint32_t, Touched> run() {
    for (id_[2] = 0; id_[2] < launch_.global[2]; ++id_[2]) {
      for (id_[1] = 0; id_[1] < launch_.global[1]; ++id_[1]) {
        for (id_[0] = 0; id_[0] < launch_.global[0]; ++id_[0]) {
          for (const Access& access : kernel_.accesses) {
            iterate(access, 0);
          }
        }
      }
    }
    return std::move(result_);
  }

 private:
  void iterate(const Access& access, size_t depth) {
    if (depth == access.loops.size()) {
      touch(access);
      return;
    }
    const Loop& loop = kernel_.loops[access.loops[depth]];
    const Values last = loop.last ? value(*loop.last) : std::nullopt;
    constexpr uint64_t kOpenEnd = 3000;  // beyond every trial's number of iterations
    uint64_t most = kOpenEnd;
    if (last) {
      uint64_t highest = 0;
      for (const int64_t number : *last) {
        highest = std::max(highest, static_cast<uint64_t>(number));
      }
      most = std::min(most, highest);
    }
    for (uint64_t i = 0; i <= most; ++i) {
      counters_[access.loops[depth]] = static_cast<int64_t>(i);
      iterate(access, depth + 1);
    }
  }

  bool holds(const Guard& guard) const {
    const Values left = value(guard.left);
    const Values right = value(guard.right);
    if (!left || !right) {
      return true;
    }
    const unsigned width = kernel_.exprs[guard.left].width;
    for (const int64_t a : *left) {
      for (const int64_t b : *right) {
        const int64_t sa = sign_extended(a, width), sb = sign_extended(b, width);
        const uint64_t ua = masked(a, width), ub = masked(b, width);
        const bool yes = guard.compare == Compare::kEq    ? ua == ub
                         : guard.compare == Compare::kNe  ? ua != ub
                         : guard.compare == Compare::kULt ? ua < ub
                         : guard.compare == Compare::kULe ? ua <= ub
                         : guard.compare == Compare::kUGt ? ua > ub
                         : guard.compare == Compare::kUGe ? ua >= ub
                         : guard.compare == Compare::kSLt ? sa < sb
                         : guard.compare == Compare::kSLe ? sa <= sb
                         : guard.compare == Compare::kSGt ? sa > sb
                                                          : sa >= sb;
        if (yes) {
          return true;
        }
      }
    }
    return false;
  }

  void touch(const Access& access) {
    for (const Guard& guard : access.guards) {
      if (!holds(guard)) {
        return;
      }
    }
    Touched& touched = result_.at(access.argument);
    const size_t size = touched.read.size();
    const Values offsets = access.size == 0 ? std::nullopt : value(access.offset);
    const auto mark = [&](size_t begin, size_t count, bool sure) {
      for (size_t i = begin; i < begin + count; ++i) {
        if (access.kind != AccessKind::kStore) {
          touched.read[i] = true;
        }
        if (access.kind != AccessKind::kLoad) {
          touched.written[i] = true;
        }
        if (access.kind == AccessKind::kStore && sure) {
          touched.surely_written[i] = true;
        }
      }
    };
    if (!offsets) {
      mark(0, size, false);
      return;
    }
    for (const int64_t offset : *offsets) {
      const bool inside = offset >= 0 && static_cast<uint64_t>(offset) + access.size <= size;
      if (access.guards_exact && offsets->size() == 1) {
        EXPECT_TRUE(inside) << kernel_.name << " line " << access.line << " offset " << offset;
      }
      if (inside) {
        mark(static_cast<size_t>(offset), access.size, access.guards_exact && offsets->size() == 1);
      }
    }
  }

  int64_t leaf(const Expr& expr) const {
    const uint64_t id = id_.at(expr.index % 3);
    const size_t d = expr.index % 3;
    uint64_t number = 0;
    switch (expr.kind) {
      case ExprKind::kGlobalId:
        number = id + launch_.offset[d];
        break;
      case ExprKind::kLocalId:
        number = id % launch_.local[d];
        break;
      case ExprKind::kGroupId:
        number = id / launch_.local[d];
        break;
      case ExprKind::kGlobalSize:
        number = launch_.global[d];
        break;
      case ExprKind::kLocalSize:
        number = launch_.local[d];
        break;
      case ExprKind::kNumGroups:
        number = launch_.global[d] / launch_.local[d];
        break;
      case ExprKind::kGlobalOffset:
        number = launch_.offset[d];
        break;
      case ExprKind::kLoop:
        return counters_.at(expr.index);
      case ExprKind::kArg: {
        const auto& data = launch_.arguments.at(expr.index);
        const auto at = static_cast<size_t>(expr.value);
        EXPECT_LE(at + expr.width / 8, data.size());
        int64_t value = 0;
        std::memcpy(&value, data.data() + at, expr.width / 8);
        return value;
      }
      default:
        return expr.value;
    }
    return static_cast<int64_t>(number);
  }

  std::optional<int64_t> binary(const Expr& expr, int64_t a, int64_t b, unsigned width) const {
    const uint64_t ua = masked(a, width), ub = masked(b, width);
    const int64_t sa = sign_extended(a, width), sb = sign_extended(b, width);
    switch (expr.kind) {
      case ExprKind::kAdd:
        return static_cast<int64_t>(ua + ub);
      case ExprKind::kSub:
        return static_cast<int64_t>(ua - ub);
      case ExprKind::kMul:
        return static_cast<int64_t>(ua * ub);
      case ExprKind::kUDiv:
        return ub == 0 ? std::nullopt : std::optional(static_cast<int64_t>(ua / ub));
      case ExprKind::kSDiv:
        return sb == 0 ? std::nullopt : std::optional(sa / sb);
      case ExprKind::kURem:
        return ub == 0 ? std::nullopt : std::optional(static_cast<int64_t>(ua % ub));
      case ExprKind::kSRem:
        return sb == 0 ? std::nullopt : std::optional(sa % sb);
      case ExprKind::kShl:
        return ub >= width ? std::nullopt : std::optional(static_cast<int64_t>(ua << ub));
      case ExprKind::kLShr:
        return ub >= width ? std::nullopt : std::optional(static_cast<int64_t>(ua >> ub));
      case ExprKind::kAShr:
        return ub >= width ? std::nullopt : std::optional(sa >> ub);
      case ExprKind::kAnd:
        return a & b;
      case ExprKind::kOr:
        return a | b;
      case ExprKind::kXor:
        return a ^ b;
      case ExprKind::kUMin:
        return static_cast<int64_t>(std::min(ua, ub));
      case ExprKind::kUMax:
        return static_cast<int64_t>(std::max(ua, ub));
      case ExprKind::kSMin:
        return std::min(sa, sb);
      case ExprKind::kSMax:
        return std::max(sa, sb);
      default:
        ADD_FAILURE() << "expression kind " << static_cast<int>(expr.kind);
        return std::nullopt;
    }
  }

  /// All values are sign-extended from their width.
  Values value(uint32_t index) const {
    const Expr& expr = kernel_.exprs[index];
    if (expr.kind == ExprKind::kUnknown) {
      return std::nullopt;
    }
    if (expr.operands.empty()) {
      return std::set<int64_t>{sign_extended(leaf(expr), expr.width)};
    }
    std::set<int64_t> values;
    if (expr.kind == ExprKind::kHull) {
      for (const uint32_t operand : expr.operands) {
        const Values option = value(operand);
        if (!option) {
          return std::nullopt;
        }
        values.insert(option->begin(), option->end());
      }
      return values;
    }
    const unsigned width = kernel_.exprs[expr.operands[0]].width;
    Values sofar = value(expr.operands[0]);
    if (!sofar) {
      return std::nullopt;
    }
    if (expr.operands.size() == 1) {
      for (const int64_t number : *sofar) {
        values.insert(expr.kind == ExprKind::kZExt
                          ? sign_extended(static_cast<int64_t>(masked(number, width)), expr.width)
                          : sign_extended(number, expr.width));
      }
      return values;
    }
    for (size_t i = 1; i < expr.operands.size(); ++i) {
      const Values next = value(expr.operands[i]);
      if (!next) {
        return std::nullopt;
      }
      values.clear();
      for (const int64_t a : *sofar) {
        for (const int64_t b : *next) {
          const auto number = binary(expr, a, b, width);
          if (!number) {
            return std::nullopt;
          }
          values.insert(sign_extended(*number, expr.width));
        }
      }
      sofar = values;
    }
    return sofar;
  }

  const KernelSummary& kernel_;
  const Launch& launch_;
  std::array<uint64_t, 3> id_ = {};
  std::vector<int64_t> counters_;
  std::map<uint32_t, Touched> result_;
};

}  // namespace

std::map<uint32_t, Touched> touched_bytes(const KernelSummary& kernel, const Launch& launch) {
  return Walker(kernel, launch).run();
}

}  // namespace tutti::kernel_compiler
