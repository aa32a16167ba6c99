// SPDX-License-Identifier: Apache-2.0
// Makes access summaries by hand, as the kernel front end would. For tests; one thread.
#pragma once

#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/access/access_eval.h"

namespace tutti::scheduler::test {

class KernelMaker {
 public:
  using E = uint32_t;

  uint32_t buffer(const std::string& name, uint64_t size, uint64_t root = 0, uint64_t origin = 0) {
    Argument argument;
    argument.kind = ArgKind::kGlobal;
    argument.name = name;
    argument.type_name = "float*";
    summary_.arguments.push_back(std::move(argument));
    ArgumentValue value;
    value.buffer = root != 0 ? root : 100 + summary_.arguments.size();
    value.origin = origin;
    value.size = size;
    values_.push_back(value);
    data_.emplace_back();
    return static_cast<uint32_t>(values_.size() - 1);
  }
  uint32_t scalar(const std::string& name, int64_t value, uint32_t bytes = 4) {
    Argument argument;
    argument.name = name;
    argument.size = bytes;
    summary_.arguments.push_back(std::move(argument));
    std::vector<std::byte> data(bytes);
    std::memcpy(data.data(), &value, bytes);
    data_.push_back(std::move(data));
    values_.emplace_back();
    return static_cast<uint32_t>(values_.size() - 1);
  }

  E node(ExprKind kind, uint8_t width, std::vector<E> operands = {}, uint32_t index = 0,
         int64_t value = 0) {
    summary_.exprs.push_back({kind, width, index, value, std::move(operands)});
    return static_cast<E>(summary_.exprs.size() - 1);
  }
  E c(int64_t value, uint8_t width = 64) { return node(ExprKind::kConst, width, {}, 0, value); }
  E arg(uint32_t index, uint8_t width = 32, int64_t at = 0) {
    return node(ExprKind::kArg, width, {}, index, at);
  }
  E gid(uint32_t d) { return node(ExprKind::kGlobalId, 64, {}, d); }
  E lid(uint32_t d) { return node(ExprKind::kLocalId, 64, {}, d); }
  E group(uint32_t d) { return node(ExprKind::kGroupId, 64, {}, d); }
  E global_size(uint32_t d) { return node(ExprKind::kGlobalSize, 64, {}, d); }
  E local_size(uint32_t d) { return node(ExprKind::kLocalSize, 64, {}, d); }
  E loop(uint32_t index, uint8_t width = 64) { return node(ExprKind::kLoop, width, {}, index); }
  E unknown(uint8_t width = 64) { return node(ExprKind::kUnknown, width); }
  E op(ExprKind kind, E a, E b) { return node(kind, width(a), {a, b}); }
  E add(E a, E b) { return op(ExprKind::kAdd, a, b); }
  E sub(E a, E b) { return op(ExprKind::kSub, a, b); }
  E mul(E a, E b) { return op(ExprKind::kMul, a, b); }
  E times(E a, int64_t factor) { return mul(a, c(factor, width(a))); }
  E plus(E a, int64_t term) { return add(a, c(term, width(a))); }
  E trunc(E a, uint8_t to = 32) { return node(ExprKind::kTrunc, to, {a}); }
  E sext(E a, uint8_t to = 64) { return node(ExprKind::kSExt, to, {a}); }
  E zext(E a, uint8_t to = 64) { return node(ExprKind::kZExt, to, {a}); }
  uint8_t width(E e) const { return summary_.exprs[e].width; }

  uint32_t add_loop(std::optional<E> last, bool exact = true) {
    summary_.loops.push_back({last, exact});
    return static_cast<uint32_t>(summary_.loops.size() - 1);
  }
  Access& access(AccessKind kind, uint32_t argument, E offset, uint32_t size,
                 std::vector<Guard> guards = {}, std::vector<uint32_t> loops = {}) {
    Access access;
    access.kind = kind;
    access.argument = argument;
    access.offset = offset;
    access.size = size;
    access.guards = std::move(guards);
    access.loops = std::move(loops);
    access.guards_exact = true;
    summary_.accesses.push_back(std::move(access));
    return summary_.accesses.back();
  }
  Access& load(uint32_t argument, E offset, uint32_t size = 4, std::vector<Guard> guards = {},
               std::vector<uint32_t> loops = {}) {
    return access(AccessKind::kLoad, argument, offset, size, std::move(guards), std::move(loops));
  }
  Access& store(uint32_t argument, E offset, uint32_t size = 4, std::vector<Guard> guards = {},
                std::vector<uint32_t> loops = {}) {
    return access(AccessKind::kStore, argument, offset, size, std::move(guards), std::move(loops));
  }

  KernelSummary& summary() { return summary_; }
  std::vector<ArgumentValue> values() const {
    std::vector<ArgumentValue> result = values_;
    for (size_t i = 0; i < result.size(); ++i) result[i].scalar = data_[i];
    return result;
  }
  LaunchAccess evaluate(const LaunchShape& shape) const {
    return LaunchAccess::evaluate(summary_, shape, values());
  }

 private:
  KernelSummary summary_;
  std::vector<ArgumentValue> values_;
  std::vector<std::vector<std::byte>> data_;
};

/// What is done to an argument; nothing where it has no entry.
inline const ArgumentUse& use_of(const std::vector<ArgumentUse>& uses, uint32_t argument) {
  static const ArgumentUse none{};
  for (const ArgumentUse& use : uses) {
    if (use.argument == argument) return use;
  }
  return none;
}

inline LaunchShape launch_1d(uint64_t global, uint64_t local, uint64_t offset = 0) {
  LaunchShape shape;
  shape.global[0] = global;
  shape.local[0] = local;
  shape.offset[0] = offset;
  return shape;
}
inline LaunchShape launch_2d(uint64_t gx, uint64_t gy, uint64_t lx, uint64_t ly) {
  LaunchShape shape;
  shape.dims = 2;
  shape.global = {gx, gy, 1};
  shape.local = {lx, ly, 1};
  return shape;
}

}  // namespace tutti::scheduler::test
