// SPDX-License-Identifier: Apache-2.0
// What a kernel does to memory, as plain data: made once per program by kernel_compiler, evaluated
// at launch by plan/access_eval. Value types, immutable after creation, free to share by threads.
//
// Expressions are trees in one pool per kernel (`exprs`, operands by index, always smaller than the
// user's own index). An expression has `width` bits and denotes a mathematical integer *modulo
// 2^width*: add, sub, mul and shl are done in Z; zext, sext, division, shifts to the right, min,
// max and comparisons first need the canonical value (unsigned resp. signed range of the width),
// which the evaluator establishes by intervals or answers "any value". So wrap-around is never
// assumed away, and never has to be encoded.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::scheduler {

enum class ExprKind : uint8_t {
  kConst,     // value (sign-extended)
  kArg,       // scalar argument `index`: `width` bits at byte offset `value` in the argument's data
  kGlobalId,  // index = dimension; offset included, as get_global_id
  kLocalId,   // index = dimension
  kGroupId,   // index = dimension, of the whole launch
  kGlobalSize,    // index = dimension, of the whole launch
  kLocalSize,     // index = dimension
  kNumGroups,     // index = dimension, of the whole launch
  kGlobalOffset,  // index = dimension, the application's
  kLoop,          // index into `loops`: the iteration counter 0, 1, 2 …
  kAdd,           // operands 2…n
  kSub,           // operands 2
  kMul,           // operands 2…n
  kUDiv,
  kSDiv,
  kURem,
  kSRem,
  kShl,
  kLShr,
  kAShr,
  kAnd,
  kOr,
  kXor,
  kUMin,
  kUMax,
  kSMin,
  kSMax,
  kZExt,
  kSExt,
  kTrunc,
  kHull,     // any one of the operands (phi, select)
  kUnknown,  // any value of `width` bits
};

struct Expr {
  ExprKind kind = ExprKind::kUnknown;
  uint8_t width = 64;  // bits, 1 to 64
  uint32_t index = 0;
  int64_t value = 0;
  std::vector<uint32_t> operands;
  bool operator==(const Expr&) const = default;
};

enum class Compare : uint8_t { kEq, kNe, kULt, kULe, kUGt, kUGe, kSLt, kSLe, kSGt, kSGe };

/// A condition known to hold whenever the access executes: left `compare` right.
struct Guard {
  Compare compare = Compare::kEq;
  uint32_t left = 0;   // into exprs
  uint32_t right = 0;  // into exprs
  bool operator==(const Guard&) const = default;
};

/// A loop around an access. The counter runs from 0 to at most `last` (inclusive; the number of
/// times the back edge is taken); absent = not bounded by the analysis.
struct Loop {
  std::optional<uint32_t> last;  // into exprs
  bool exact = false;            // the body's accesses execute for every counter value up to `last`
  bool operator==(const Loop&) const = default;
};

enum class AccessKind : uint8_t { kLoad, kStore, kAtomic };

/// Of a load that a loop repeats from one number in memory up to another, as rows of a sparse
/// matrix are read: its offset lies from scale * first + added to scale * (end - 1) + added, where
/// the work-item has loaded `first` and `end`, integers of `width` bits, by those accesses of the
/// kernel. Says something only while the kernel leaves what they load alone.
struct ContentBounds {
  uint32_t first = 0, end = 0;  // into accesses: loads of `width` bits, at multiples of that
  uint8_t width = 32;           // bits: 32 or 64
  bool is_signed = false;
  int64_t scale = 1;  // bytes, > 0
  int64_t added = 0;  // bytes
  bool operator==(const ContentBounds&) const = default;
};

/// One load, store or atomic of the kernel, on memory of one pointer argument.
struct Access {
  AccessKind kind = AccessKind::kLoad;
  uint32_t argument = 0;  // kernel argument index
  uint32_t offset = 0;    // byte offset from the argument's pointer, 64 bits signed; into exprs
  uint32_t size = 0;      // bytes touched at `offset`; 0 = unknown extent (whole buffer)
  std::vector<Guard> guards;
  std::vector<uint32_t> loops;  // loops that enclose the access, outermost first
  // Executed by every work-item (and every loop iteration) for which all `guards` hold: the guards
  // are not only necessary but sufficient. Needed to prove that a range is wholly overwritten.
  bool guards_exact = false;
  bool is_volatile = false;
  std::string
      atomic_op;  // for kAtomic: add, sub, inc, dec, xchg, cmpxchg, min, max, and, or, xor …
  bool result_used = false;  // for kAtomic
  // For kAtomic whose result is used: it may decide how long a loop around it runs, so the
  // work-item may be waiting for others; it is behind a test that seldom succeeds (a guess).
  bool decides_loop = false;
  bool seldom = false;
  uint32_t line = 0;                     // in the kernel's file, 0 = unknown
  std::optional<ContentBounds> content;  // what else bounds the offset of a load
  bool operator==(const Access&) const = default;
};

enum class ArgKind : uint8_t {
  kScalar,
  kGlobal,
  kConstant,
  kLocal,
  kImage,
  kSampler,
  kPipe,
  kQueue,
  kOther
};

/// One argument as declared; also what clGetKernelArgInfo reports.
struct Argument {
  ArgKind kind = ArgKind::kScalar;
  std::string name;
  std::string type_name;  // as OpenCL reports it, e.g. "float4*"
  uint32_t size = 0;      // bytes of a scalar/struct; 0 for memory objects; local: 0
  bool is_const = false;
  bool is_restrict = false;
  bool is_volatile = false;
  std::string access;  // images and pipes: "read_only", "write_only", "read_write"; else ""
  bool operator==(const Argument&) const = default;
};

struct KernelSummary {
  std::string name;
  std::string file;  // that holds it, as `#line` names it; empty: the program's own source
  std::vector<Argument> arguments;
  bool argument_info = false;          // built with -cl-kernel-arg-info
  std::string attributes;              // as CL_KERNEL_ATTRIBUTES: "reqd_work_group_size(8,8,1)" …
  uint32_t reqd_local[3] = {0, 0, 0};  // zero where not given
  // The language and the options of its unit let the last work-groups be smaller than the others.
  bool smaller_groups = false;

  std::vector<Expr> exprs;
  std::vector<Loop> loops;
  std::vector<Access> accesses;

  // Non-empty: the kernel must run whole on one device, for this reason (e.g. "calls printf"),
  // forced by this line of the kernel's file.
  std::string whole_reason;
  uint32_t whole_line = 0;

  // Uses get_group_id, get_num_groups, get_global_size, get_global_offset or a linear id, itself or
  // in a function it calls: sub-range launches need the rewritten variant (one hidden argument).
  bool needs_rewrite = false;
  // Of the shard variant, where the front end was asked for that: the pointer arguments, as bits,
  // which may lead into a part of what they show (shard_argument.h); 0: there is no such variant.
  uint32_t shard_arguments = 0;
  // Of the panel variant, likewise: of the shard variant's, the arguments of which some columns may
  // lie packed (panel_argument.h); 0: there is no such variant.
  uint32_t panel_arguments = 0;
  /// What it, or a function that it calls, uses of what not all devices have, sorted, by the names
  /// that devices have for it: "cl_khr_fp64", "__opencl_c_images" …
  std::vector<std::string> features;
  bool uses(std::string_view feature) const {
    return std::find(features.begin(), features.end(), feature) != features.end();
  }
  // It may use an address that is none of an argument's, such as a pointer that it has loaded, or
  // keep the address of one: both mean something only where shared virtual memory has its home.
  bool uses_addresses = false;
  // The front end does not know all of it: it may use anything that its device has.
  bool uses_anything = false;
  bool uses_barrier = false;
  bool uses_local_memory = false;
  bool operator==(const KernelSummary&) const = default;
};

/// Everything the front end learned of one program.
struct ProgramSummary {
  std::vector<KernelSummary> kernels;
  bool operator==(const ProgramSummary&) const = default;
};

}  // namespace tutti::scheduler
