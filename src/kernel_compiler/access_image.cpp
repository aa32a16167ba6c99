// SPDX-License-Identifier: Apache-2.0
// Stores to images. A 2-D image is written by whole rows: the row is followed, the column is not,
// since devices exchange images by rows.
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Constants.h>

#include <cstddef>

#include "kernel_compiler/access_collector.h"
#include "kernel_compiler/source_line.h"
#include "scheduler/plan/image_layout.h"

namespace tutti::kernel_compiler {

using scheduler::AccessKind;
using scheduler::ExprKind;
using scheduler::ImageLayout;

void AccessCollector::visit_image_write(llvm::CallBase& call, const BuiltinName& name) {
  const auto* image = llvm::dyn_cast<llvm::Argument>(call.getArgOperand(0));
  const bool known = image != nullptr && image->getParent() == &kernel_ &&
                     summary_.arguments[image->getArgNo()].type_name == "image2d_t";
  if (!known || call.arg_size() < 3) {
    keep_whole(call, "calls " + std::string(name.base) + " on an image that is not followed");
    return;
  }
  const uint32_t argument = image->getArgNo();
  llvm::Value* row = llvm::findScalarElement(call.getArgOperand(1), 1);
  const llvm::Loop* scope = scope_of(call);
  const uint32_t y = row != nullptr ? builder_.widened(builder_.translate(row, scope, scope), true)
                                    : builder_.unknown(64);
  const uint32_t row_bytes = builder_.argument(argument, offsetof(ImageLayout, row_bytes), 64);
  // Every byte of the row, one after the other.
  const uint32_t loop = builder_.synthetic_loop(
      builder_.node(ExprKind::kAdd, 64, {row_bytes, builder_.constant(64, -1)}));
  const Conditions& conditions = control_.of(call.getParent());
  scheduler::Access access;
  access.kind = AccessKind::kStore;
  access.argument = argument;
  access.offset = builder_.node(
      ExprKind::kAdd, 64,
      {builder_.node(ExprKind::kMul, 64, {y, row_bytes}), builder_.loop_counter(loop, 64)});
  access.size = 1;
  access.guards = conditions.guards;
  access.loops = conditions.loops;
  access.loops.push_back(loop);
  access.guards_exact = false;  // a pixel is not a row
  access.line = source_line(call);
  append(std::move(access));
}

}  // namespace tutti::kernel_compiler
