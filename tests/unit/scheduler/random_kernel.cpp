// SPDX-License-Identifier: Apache-2.0
#include "random_kernel.h"

namespace tutti::scheduler::test {
namespace {

class Generator {
 public:
  explicit Generator(const std::vector<uint32_t>& choices) : choices_(choices) {}

  RandomCase run();

 private:
  using E = KernelMaker::E;

  /// 0 … below − 1; 0 when the choices are used up, so that shrinking simplifies.
  uint32_t pick(uint32_t below) { return next_ < choices_.size() ? choices_[next_++] % below : 0; }
  bool chance(uint32_t percent) { return pick(100) >= 100 - percent; }

  void make_arguments();
  void make_loops();
  void make_access();
  void make_atomics(Access& access);
  E pattern();
  E arbitrary(int depth, uint8_t width);
  E leaf(uint8_t width);
  E resized(E e, uint8_t width);
  E id(uint32_t d);
  Guard guard();
  E narrow(E e) { return chance(30) ? k().sext(k().trunc(e, small_width())) : e; }
  uint8_t small_width() { return std::array<uint8_t, 3>{32, 16, 8}[pick(3)]; }
  KernelMaker& k() { return result_.kernel; }
  uint32_t dimension() { return pick(result_.shape.dims); }

  const std::vector<uint32_t>& choices_;
  size_t next_ = 0;
  RandomCase result_;
  std::vector<uint32_t> buffers_;
  std::vector<uint32_t> scalars_;
  std::vector<uint32_t> around_;  // loops around the access being made
};

void Generator::make_arguments() {
  const uint32_t buffers = 1 + pick(3);
  for (uint32_t i = 0; i < buffers; ++i) {
    // Often views of one allocation, at origins that overlap or just do not.
    const uint64_t root = chance(70) ? 7 : 8 + i;
    const uint64_t size = 32 + 8 * pick(64);
    const uint64_t origin = chance(60) ? 0 : 4 * pick(100);
    buffers_.push_back(k().buffer('b' + std::to_string(i), size, root, origin));
  }
  for (int i = 0; i < 2; ++i) {
    scalars_.push_back(k().scalar('n' + std::to_string(i), static_cast<int64_t>(pick(40)) - 4, 8));
  }
}

void Generator::make_loops() {
  const uint32_t loops = pick(3);
  for (uint32_t i = 0; i < loops; ++i) {
    std::optional<E> last;
    switch (pick(6)) {
      case 0:
      case 1:
      case 2:
        last = k().c(pick(6));
        break;
      case 3:  // for (j = lid; j < c; j += L)
        last = k().op(ExprKind::kUDiv, k().sub(k().c(7 + pick(9)), k().lid(0)), k().local_size(0));
        break;
      case 4:
        last = arbitrary(1, 32);
        break;
      default:
        break;
    }
    around_ = {};
    k().add_loop(last, chance(70));
  }
}

Generator::E Generator::id(uint32_t d) {
  switch (pick(5)) {
    case 0:
    case 1:
    case 2:
      return k().gid(d);
    case 3:
      return k().add(k().mul(k().group(d), k().local_size(d)), k().lid(d));
    default:
      return k().group(d);
  }
}

Generator::E Generator::pattern() {
  const uint32_t d = dimension();
  const E i = narrow(id(d));
  switch (pick(18)) {
    case 0:
    case 1:
      return k().times(i, 1 + pick(4));
    case 2:  // rows
      return k().add(k().times(k().gid(result_.shape.dims - 1), 4 + pick(12)), k().gid(0));
    case 3:
      if (around_.empty()) return i;
      return k().add(k().times(i, 1 + pick(6)),
                     k().loop(around_[pick(static_cast<uint32_t>(around_.size()))]));
    case 4: {  // strided loop
      if (around_.empty()) return i;
      const E step = chance(50) ? k().local_size(d) : k().global_size(d);
      return k().add(k().add(k().times(k().group(d), pick(17)), k().lid(d)),
                     k().mul(k().loop(around_[0]), step));
    }
    case 5: {  // quotient and remainder
      const int64_t w = 2 + pick(7);
      const ExprKind div = chance(50) ? ExprKind::kUDiv : ExprKind::kSDiv;
      const ExprKind rem = div == ExprKind::kUDiv ? ExprKind::kURem : ExprKind::kSRem;
      return k().add(k().times(k().op(div, i, k().c(w)), w + pick(3)), k().op(rem, i, k().c(w)));
    }
    case 6:
      return k().op(chance(50) ? ExprKind::kXor : ExprKind::kOr, i, k().c(pick(9)));
    case 7:
      return k().op(ExprKind::kAnd, i, k().c(static_cast<int64_t>(pick(20)) - 4));
    case 8:
      return k().op(chance(50) ? ExprKind::kUMin : ExprKind::kSMin, i, k().c(3 + pick(20)));
    case 9:
      return k().op(chance(50) ? ExprKind::kUMax : ExprKind::kSMax, i, k().c(pick(10)));
    case 10:
      return k().node(ExprKind::kHull, 64, {i, k().plus(i, 1 + pick(3))});
    case 11:  // descending
      return k().sub(k().c(40), i);
    case 12:
      return k().op(ExprKind::kLShr, i, k().c(1 + pick(3)));
    case 13:
    case 14:
    case 15:  // structure of arrays, or a grid-stride loop
      if (around_.empty()) return k().plus(i, 24 * pick(3));
      return k().add(i, k().times(k().loop(around_[0]), 12 + 6 * pick(6)));
    default:
      return k().plus(i, static_cast<int64_t>(pick(5)) - 2);
  }
}

Generator::E Generator::resized(E e, uint8_t width) {
  if (k().width(e) == width) return e;
  if (k().width(e) > width) return k().trunc(e, width);
  return chance(50) ? k().sext(e, width) : k().zext(e, width);
}

Generator::E Generator::leaf(uint8_t width) {
  const uint32_t d = dimension();
  switch (pick(10)) {
    case 0: {
      static constexpr int64_t kExtremes[] = {
          INT64_MIN, INT64_MAX, int64_t{1} << 62, INT32_MIN,   INT32_MAX, int64_t{1} << 32, -128,
          127,       255,       (1LL << 32) - 4,  -(1LL << 33)};
      if (chance(20)) {
        const auto bits = static_cast<uint64_t>(kExtremes[pick(std::size(kExtremes))]);
        return k().c(static_cast<int64_t>(bits << (64 - width)) >> (64 - width), width);
      }
      return k().c(static_cast<int64_t>(pick(20)) - 6, width);
    }
    case 1:
      return resized(k().arg(scalars_[pick(2)], chance(50) ? 32 : 64, 0), width);
    case 2:
      if (!around_.empty()) {
        return k().loop(around_[pick(static_cast<uint32_t>(around_.size()))], width);
      }
      return k().c(1, width);
    case 3:
      return resized(k().lid(d), width);
    case 4:
      return resized(k().group(d), width);
    case 5:
      return resized(k().node(ExprKind::kGlobalOffset, 64, {}, d), width);
    case 6:
      return chance(20) ? k().unknown(width) : k().c(4, width);
    default:
      return resized(k().gid(d), width);
  }
}

Generator::E Generator::arbitrary(int depth, uint8_t width) {
  if (depth == 0) return leaf(width);
  static constexpr ExprKind kKinds[] = {
      ExprKind::kAdd,  ExprKind::kSub,  ExprKind::kMul,  ExprKind::kAdd,  ExprKind::kUDiv,
      ExprKind::kSDiv, ExprKind::kURem, ExprKind::kSRem, ExprKind::kShl,  ExprKind::kLShr,
      ExprKind::kAShr, ExprKind::kAnd,  ExprKind::kOr,   ExprKind::kXor,  ExprKind::kUMin,
      ExprKind::kUMax, ExprKind::kSMin, ExprKind::kSMax, ExprKind::kHull, ExprKind::kZExt,
      ExprKind::kSExt, ExprKind::kTrunc};
  const ExprKind kind = kKinds[pick(std::size(kKinds))];
  switch (kind) {
    case ExprKind::kZExt:
    case ExprKind::kSExt: {
      if (width == 8) return leaf(width);
      const uint8_t from = width == 64 ? small_width() : 8;
      return k().node(kind, width, {arbitrary(depth - 1, from)});
    }
    case ExprKind::kTrunc:
      if (width == 64) return leaf(width);
      return k().trunc(arbitrary(depth - 1, 64), width);
    case ExprKind::kUDiv:
    case ExprKind::kSDiv:
    case ExprKind::kURem:
    case ExprKind::kSRem:
    case ExprKind::kShl:
    case ExprKind::kLShr:
    case ExprKind::kAShr: {
      const E a = arbitrary(depth - 1, width);
      if (chance(70)) return k().op(kind, a, k().c(1 + pick(6), width));
      return k().op(kind, a, arbitrary(depth - 1, width));
    }
    default: {
      const E a = arbitrary(depth - 1, width);
      const E b = chance(30) ? a : arbitrary(depth - 1, width);  // the same expression twice
      return k().op(kind, a, b);
    }
  }
}

Guard Generator::guard() {
  const auto compare = static_cast<Compare>(pick(10));
  if (chance(60)) {
    const E left = chance(50) ? narrow(id(dimension())) : pattern();
    const E right =
        chance(50) ? k().c(static_cast<int64_t>(pick(30)) - 2) : k().arg(scalars_[0], 64);
    // The form that LLVM gives to lower ≤ x && x < upper.
    if (chance(30)) {
      return {Compare::kULt, k().plus(k().trunc(left), -1), k().c(2 + pick(20), 32)};
    }
    return {compare, left, right};
  }
  const uint8_t width = chance(50) ? 64 : small_width();
  return {compare, arbitrary(2, width), arbitrary(1, width)};
}

void Generator::make_access() {
  around_ = {};
  for (uint32_t i = 0; i < k().summary().loops.size(); ++i) {
    if (chance(60)) around_.push_back(i);
  }
  std::vector<Guard> guards;
  const uint32_t count = pick(3);
  for (uint32_t i = 0; i < count; ++i) guards.push_back(guard());
  static constexpr uint32_t kSizes[] = {4, 1, 8, 2};
  const uint32_t size = kSizes[pick(4)];
  E offset = 0;
  if (chance(35)) {
    offset = arbitrary(3, 64);
    if (chance(50)) offset = k().times(offset, size);
  } else {
    offset = k().plus(k().times(pattern(), chance(85) ? size : 2), size * pick(3));
  }
  const bool store = chance(60);
  const uint32_t argument = buffers_[pick(static_cast<uint32_t>(buffers_.size()))];
  const bool exact = chance(80);
  Access& access = k().access(store ? AccessKind::kStore : AccessKind::kLoad, argument, offset,
                              size, guards, around_);
  access.guards_exact = exact;
  if (size >= 4 && chance(30)) make_atomics(access);
  if (chance(25)) {
    // Its neighbour, as fields of a structure are.
    Access twin = access;
    twin.offset = k().plus(twin.offset, size);
    k().summary().accesses.push_back(std::move(twin));
  }
  if (chance(25)) {
    // The same through another argument, which may be a view of the same memory.
    Access twin = k().summary().accesses.back();
    twin.argument = buffers_[pick(static_cast<uint32_t>(buffers_.size()))];
    if (twin.kind != AccessKind::kAtomic || chance(50)) {
      twin.kind = chance(50) ? AccessKind::kStore : AccessKind::kLoad;
    }
    k().summary().accesses.push_back(std::move(twin));
  }
}

/// Elements are aligned, as atomics need them to be.
void Generator::make_atomics(Access& access) {
  static constexpr const char* kOperations[] = {"add", "inc", "umax", "xchg", "fadd"};
  access.kind = AccessKind::kAtomic;
  access.atomic_op = kOperations[chance(70) ? 0 : pick(std::size(kOperations))];
  access.result_used = chance(20);
  access.offset = k().op(ExprKind::kAnd, access.offset, k().c(-int64_t{access.size}));
}

RandomCase Generator::run() {
  LaunchShape& shape = result_.shape;
  shape.dims = 1 + pick(2);
  for (uint32_t d = 0; d < shape.dims; ++d) {
    shape.local[d] = std::array<uint64_t, 5>{4, 1, 2, 3, 8}[pick(5)];
    shape.global[d] = shape.local[d] * (1 + pick(d == 0 ? 6 : 4));
    shape.offset[d] = chance(25) ? pick(9) : 0;
  }
  make_arguments();
  make_loops();
  const uint32_t accesses = 1 + pick(4);
  for (uint32_t i = 0; i < accesses; ++i) make_access();
  return std::move(result_);
}

}  // namespace

RandomCase make_random_case(const std::vector<uint32_t>& choices) {
  return Generator(choices).run();
}

}  // namespace tutti::scheduler::test
