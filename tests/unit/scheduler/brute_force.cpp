// SPDX-License-Identifier: Apache-2.0
#include "brute_force.h"

#include <algorithm>
#include <cstring>

namespace tutti::scheduler::test {
namespace {

constexpr uint64_t kOpenLoop = 3;  // rounds of a loop without a known end

struct Item {
  std::array<uint64_t, 3> group{};
  std::array<uint64_t, 3> lid{};
  std::vector<uint64_t> counters;  // by loop
  std::vector<bool> inside;        // by loop
};

uint64_t mask_of(unsigned width) { return width >= 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1; }
int64_t as_signed(uint64_t value, unsigned width) {
  const unsigned shift = 64 - width;
  return static_cast<int64_t>(value << shift) >> shift;
}

class Machine {
 public:
  Machine(const KernelSummary& summary, const LaunchShape& shape,
          const std::vector<ArgumentValue>& arguments, std::mt19937_64& random)
      : summary_(summary), shape_(shape), arguments_(arguments), random_(random) {}

  Execution run();

 private:
  /// The value modulo 2^width; none where it is undefined.
  std::optional<uint64_t> value(uint32_t index);
  std::optional<uint64_t> binary(const Expr& e, uint64_t a, uint64_t b) const;
  std::optional<bool> holds(const Guard& guard);
  void enter(uint32_t access, size_t depth);
  void touch(uint32_t access);
  uint64_t draw(uint64_t below) { return random_() % below; }

  const KernelSummary& summary_;
  const LaunchShape& shape_;
  const std::vector<ArgumentValue>& arguments_;
  std::mt19937_64& random_;
  Item item_;
  Execution result_;
};

std::optional<uint64_t> Machine::binary(const Expr& e, uint64_t a, uint64_t b) const {
  const unsigned w = e.width;
  const int64_t sa = as_signed(a, w);
  const int64_t sb = as_signed(b, w);
  switch (e.kind) {
    case ExprKind::kAdd:
      return a + b;
    case ExprKind::kSub:
      return a - b;
    case ExprKind::kMul:
      return a * b;
    case ExprKind::kUDiv:
      if (b == 0) return std::nullopt;
      return a / b;
    case ExprKind::kURem:
      if (b == 0) return std::nullopt;
      return a % b;
    case ExprKind::kSDiv:
    case ExprKind::kSRem:
      if (sb == 0 || (sb == -1 && sa == as_signed(uint64_t{1} << (w - 1), w))) return std::nullopt;
      return static_cast<uint64_t>(e.kind == ExprKind::kSDiv ? sa / sb : sa % sb);
    case ExprKind::kShl:
      if (b >= w) return std::nullopt;
      return a << b;
    case ExprKind::kLShr:
      if (b >= w) return std::nullopt;
      return a >> b;
    case ExprKind::kAShr:
      if (b >= w) return std::nullopt;
      return static_cast<uint64_t>(sa >> b);
    case ExprKind::kAnd:
      return a & b;
    case ExprKind::kOr:
      return a | b;
    case ExprKind::kXor:
      return a ^ b;
    case ExprKind::kUMin:
      return std::min(a, b);
    case ExprKind::kUMax:
      return std::max(a, b);
    case ExprKind::kSMin:
      return static_cast<uint64_t>(std::min(sa, sb));
    case ExprKind::kSMax:
      return static_cast<uint64_t>(std::max(sa, sb));
    default:
      return std::nullopt;
  }
}

std::optional<uint64_t> Machine::value(uint32_t index) {
  const Expr& e = summary_.exprs[index];
  const uint64_t mask = mask_of(e.width);
  switch (e.kind) {
    case ExprKind::kConst:
      return static_cast<uint64_t>(e.value) & mask;
    case ExprKind::kArg: {
      uint64_t bits = 0;
      std::memcpy(&bits, arguments_[e.index].scalar.data() + e.value, e.width / 8u);
      return bits & mask;
    }
    case ExprKind::kGlobalId:
      return (shape_.offset[e.index] + item_.group[e.index] * shape_.local[e.index] +
              item_.lid[e.index]) &
             mask;
    case ExprKind::kLocalId:
      return item_.lid[e.index] & mask;
    case ExprKind::kGroupId:
      return item_.group[e.index] & mask;
    case ExprKind::kGlobalSize:
      return shape_.global[e.index] & mask;
    case ExprKind::kLocalSize:
      return shape_.local[e.index] & mask;
    case ExprKind::kNumGroups:
      return shape_.groups(e.index) & mask;
    case ExprKind::kGlobalOffset:
      return shape_.offset[e.index] & mask;
    case ExprKind::kLoop:
      return (item_.inside[e.index] ? item_.counters[e.index] : random_()) & mask;
    case ExprKind::kUnknown:
      return random_() & mask;
    case ExprKind::kHull:
      return value(e.operands[draw(e.operands.size())]);
    case ExprKind::kZExt:
      return value(e.operands[0]);
    case ExprKind::kSExt: {
      const auto operand = value(e.operands[0]);
      if (!operand) return operand;
      return static_cast<uint64_t>(as_signed(*operand, summary_.exprs[e.operands[0]].width)) & mask;
    }
    case ExprKind::kTrunc: {
      const auto operand = value(e.operands[0]);
      if (!operand) return operand;
      return *operand & mask;
    }
    default: {
      auto result = value(e.operands[0]);
      for (size_t i = 1; result && i < e.operands.size(); ++i) {
        const auto other = value(e.operands[i]);
        if (!other) return other;
        result = binary(e, *result, *other);
        if (result) *result &= mask;
      }
      return result;
    }
  }
}

std::optional<bool> Machine::holds(const Guard& guard) {
  const auto l = value(guard.left);
  const auto r = value(guard.right);
  if (!l || !r) return std::nullopt;
  const unsigned width = summary_.exprs[guard.left].width;
  const int64_t sl = as_signed(*l, width);
  const int64_t sr = as_signed(*r, width);
  switch (guard.compare) {
    case Compare::kEq:
      return *l == *r;
    case Compare::kNe:
      return *l != *r;
    case Compare::kULt:
      return *l < *r;
    case Compare::kULe:
      return *l <= *r;
    case Compare::kUGt:
      return *l > *r;
    case Compare::kUGe:
      return *l >= *r;
    case Compare::kSLt:
      return sl < sr;
    case Compare::kSLe:
      return sl <= sr;
    case Compare::kSGt:
      return sl > sr;
    case Compare::kSGe:
      return sl >= sr;
  }
  return std::nullopt;
}

void Machine::touch(uint32_t index) {
  const Access& access = summary_.accesses[index];
  for (const Guard& guard : access.guards) {
    const auto held = holds(guard);
    if (!held) {
      result_.undefined = true;
      return;
    }
    if (!*held) return;
  }
  if (!access.guards_exact && draw(4) == 0) return;
  const auto offset = value(access.offset);
  if (!offset) {
    result_.undefined = true;
    return;
  }
  const auto begin = static_cast<int64_t>(*offset);
  const auto size = static_cast<int64_t>(arguments_[access.argument].size);
  if (begin > size || begin < -static_cast<int64_t>(access.size)) return;
  const int64_t end = begin + access.size;
  const Touch touch{index, item_.group, static_cast<uint64_t>(std::max<int64_t>(begin, 0)),
                    static_cast<uint64_t>(std::min(end, size))};
  if (touch.begin >= touch.end) return;
  (begin >= 0 && end <= size ? result_.touches : result_.cut).push_back(touch);
}

void Machine::enter(uint32_t index, size_t depth) {
  const Access& access = summary_.accesses[index];
  if (depth == access.loops.size()) return touch(index);
  const uint32_t number = access.loops[depth];
  const Loop& loop = summary_.loops[number];
  std::optional<uint64_t> last = kOpenLoop;
  if (loop.last) last = value(*loop.last);
  if (!last) {
    result_.undefined = true;
    return;
  }
  // Long loops are cut short, which a loop that is not exact may do anywhere.
  constexpr uint64_t kLong = 40;
  if (*last > kLong) {
    result_.undefined = true;
    *last = kLong;
  }
  if (!loop.exact && draw(3) == 0) *last = draw(*last + 1);
  item_.inside[number] = true;
  for (uint64_t i = 0; i <= *last; ++i) {
    item_.counters[number] = i;
    enter(index, depth + 1);
  }
  item_.inside[number] = false;
}

Execution Machine::run() {
  item_.counters.resize(summary_.loops.size());
  item_.inside.resize(summary_.loops.size());
  const auto each = [&](const std::array<uint64_t, 3>& counts, std::array<uint64_t, 3>& at,
                        auto&& body) {
    for (at[2] = 0; at[2] < counts[2]; ++at[2]) {
      for (at[1] = 0; at[1] < counts[1]; ++at[1]) {
        for (at[0] = 0; at[0] < counts[0]; ++at[0]) body();
      }
    }
  };
  each({shape_.groups(0), shape_.groups(1), shape_.groups(2)}, item_.group, [&] {
    each(shape_.local, item_.lid, [&] {
      for (uint32_t i = 0; i < summary_.accesses.size(); ++i) enter(i, 0);
    });
  });
  return std::move(result_);
}

}  // namespace

Execution execute(const KernelSummary& summary, const LaunchShape& shape,
                  const std::vector<ArgumentValue>& arguments, std::mt19937_64& random) {
  return Machine(summary, shape, arguments, random).run();
}

}  // namespace tutti::scheduler::test
