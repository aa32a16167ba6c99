// SPDX-License-Identifier: Apache-2.0
#include "test_support.h"

#include <gtest/gtest.h>

#include <array>

namespace tutti::kernel_compiler {
namespace {

using namespace scheduler;

std::string joined(const KernelSummary& kernel, const Expr& expr, const char* separator) {
  std::string text;
  for (const uint32_t operand : expr.operands) {
    text += (text.empty() ? "" : separator) + show(kernel, operand);
  }
  return text;
}

const char* name_of(Compare compare) {
  static constexpr std::array kNames = {"==", "!=", "<u", "<=u", ">u", ">=u", "<", "<=", ">", ">="};
  return kNames.at(static_cast<size_t>(compare));
}

}  // namespace

CompileRequest request_for(const std::string& source, const std::string& options) {
  CompileRequest request;
  request.source = source;
  request.options = options;
  request.extensions = {"cl_khr_byte_addressable_store",    "cl_khr_fp64",
                        "cl_khr_global_int32_base_atomics", "cl_khr_global_int32_extended_atomics",
                        "cl_khr_local_int32_base_atomics",  "cl_khr_local_int32_extended_atomics",
                        "cl_khr_int64_base_atomics",        "cl_khr_int64_extended_atomics"};
  request.opencl_c = 310;
  request.fp64 = true;
  request.images = true;
  return request;
}

CompileOutput run(const CompileRequest& request) {
  auto output = compile(request);
  EXPECT_TRUE(output) << output.error().message;
  return output ? *output : CompileOutput{};
}

CompileOutput run(const std::string& source, const std::string& options) {
  return run(request_for(source, options));
}

CompileOutput compiled(const CompileRequest& request) {
  auto output = compile(request);
  if (!output) {
    ADD_FAILURE() << output.error().message;
    return {};
  }
  EXPECT_TRUE(output->ok) << output->log;
  return std::move(*output);
}

CompileOutput compiled(const std::string& source, const std::string& options) {
  return compiled(request_for(source, options));
}

const KernelSummary& kernel_of(const CompileOutput& output, std::string_view name) {
  static const KernelSummary kNone;
  for (const KernelSummary& kernel : output.summary.kernels) {
    if (kernel.name == name || (name.empty() && output.summary.kernels.size() == 1)) {
      return kernel;
    }
  }
  ADD_FAILURE() << "no kernel " << name;
  return kNone;
}

std::string show(const KernelSummary& kernel, uint32_t index) {
  const Expr& expr = kernel.exprs.at(index);
  const std::string number = std::to_string(expr.index);
  const std::string width = std::to_string(expr.width);
  switch (expr.kind) {
    case ExprKind::kConst:
      return std::to_string(expr.value);
    case ExprKind::kArg:
      return kernel.arguments.at(expr.index).name +
             (expr.value != 0 ? "@" + std::to_string(expr.value) : "");
    case ExprKind::kGlobalId:
      return "gid" + number;
    case ExprKind::kLocalId:
      return "lid" + number;
    case ExprKind::kGroupId:
      return "group" + number;
    case ExprKind::kGlobalSize:
      return "gsize" + number;
    case ExprKind::kLocalSize:
      return "lsize" + number;
    case ExprKind::kNumGroups:
      return "ngroups" + number;
    case ExprKind::kGlobalOffset:
      return "goff" + number;
    case ExprKind::kLoop:
      return "k" + number;
    case ExprKind::kAdd:
      return "(" + joined(kernel, expr, " + ") + ")";
    case ExprKind::kSub:
      return "(" + joined(kernel, expr, " - ") + ")";
    case ExprKind::kMul:
      return "(" + joined(kernel, expr, "*") + ")";
    case ExprKind::kZExt:
      return "zext" + width + "(" + joined(kernel, expr, ", ") + ")";
    case ExprKind::kSExt:
      return "sext" + width + "(" + joined(kernel, expr, ", ") + ")";
    case ExprKind::kTrunc:
      return "trunc" + width + "(" + joined(kernel, expr, ", ") + ")";
    case ExprKind::kUnknown:
      return "?" + width;
    default:
      break;
  }
  static constexpr std::array kFunctions = {"udiv", "sdiv", "urem", "srem", "shl",  "lshr", "ashr",
                                            "and",  "or",   "xor",  "umin", "umax", "smin", "smax"};
  const std::string function =
      expr.kind == ExprKind::kHull
          ? "hull"
          : kFunctions.at(static_cast<size_t>(expr.kind) - static_cast<size_t>(ExprKind::kUDiv));
  return function + "(" + joined(kernel, expr, ", ") + ")";
}

std::vector<std::string> describe(const KernelSummary& kernel) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < kernel.loops.size(); ++i) {
    const Loop& loop = kernel.loops[i];
    lines.push_back("loop k" + std::to_string(i) +
                    (loop.last ? " to " + show(kernel, *loop.last) : "") +
                    (loop.exact ? " exact" : ""));
  }
  for (const Access& access : kernel.accesses) {
    static constexpr std::array kKinds = {"load ", "store ", "atomic "};
    std::string line = kKinds.at(static_cast<size_t>(access.kind)) +
                       kernel.arguments.at(access.argument).name + "[" +
                       show(kernel, access.offset) + "] " + std::to_string(access.size);
    if (access.kind == AccessKind::kAtomic) {
      line += " " + access.atomic_op + (access.result_used ? " used" : "") +
              (access.decides_loop ? " decides-loop" : "") + (access.seldom ? " seldom" : "");
    }
    for (size_t i = 0; i < access.loops.size(); ++i) {
      line += (i == 0 ? " in k" : ",k") + std::to_string(access.loops[i]);
    }
    for (size_t i = 0; i < access.guards.size(); ++i) {
      const Guard& guard = access.guards[i];
      line += (i == 0 ? " if " : " && ") + show(kernel, guard.left) + " " + name_of(guard.compare) +
              " " + show(kernel, guard.right);
    }
    line += access.guards_exact ? " exact" : "";
    if (const auto& bounds = access.content) {
      line += " from #" + std::to_string(bounds->first) + " to #" + std::to_string(bounds->end) +
              (bounds->is_signed ? " i" : " u") + std::to_string(bounds->width) + " *" +
              std::to_string(bounds->scale) + " + " + std::to_string(bounds->added);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> describe(const std::string& source) {
  return describe(kernel_of(compiled(source)));
}

}  // namespace tutti::kernel_compiler
