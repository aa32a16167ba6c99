// SPDX-License-Identifier: Apache-2.0
// Reads and writes of images, in the bytes of the host's copy: pixel (x, y, z) lies at
// z·slice_bytes + y·row_bytes + x·pixel_bytes (plan/image_layout.h).
//
// A write touches one pixel. Where a coordinate is not known, the write may be to all that this
// coordinate and those inside it can reach: the row, the slice. A read may see neighbours, too, and
// is followed by rows only, for few and simple expressions; in 1-D images by pixels.
#include <llvm/IR/Constants.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "kernel_compiler/access_collector.h"
#include "kernel_compiler/image_coordinates.h"
#include "kernel_compiler/source_line.h"
#include "scheduler/access/image_layout.h"

namespace tutti::kernel_compiler {

using scheduler::Access;
using scheduler::AccessKind;
using scheduler::ArgKind;
using scheduler::Compare;
using scheduler::ExprKind;
using scheduler::ImageLayout;

namespace {

/// The parts of an image argument's layout, as expressions.
class Layout {
 public:
  Layout(ExprBuilder& builder, uint32_t argument) : builder_(builder), argument_(argument) {}

  /// Bytes from one index of the dimension to the next.
  uint32_t pitch(unsigned dimension) const {
    static constexpr std::array<size_t, 3> kOffsets = {offsetof(ImageLayout, pixel_bytes),
                                                       offsetof(ImageLayout, row_bytes),
                                                       offsetof(ImageLayout, slice_bytes)};
    return builder_.argument(argument_, kOffsets[dimension], 64);
  }
  uint32_t extent(unsigned dimension) const {
    const uint64_t offset = offsetof(ImageLayout, extent) + dimension * sizeof(uint32_t);
    return builder_.widened(builder_.argument(argument_, offset, 32), false);
  }

 private:
  ExprBuilder& builder_;
  const uint32_t argument_;
};

uint32_t less_one(ExprBuilder& builder, uint32_t expr) {
  return builder.node(ExprKind::kAdd, 64, {expr, builder.constant(64, -1)});
}

}  // namespace

bool AccessCollector::visit_image_call(llvm::CallBase& call, const BuiltinName& name) {
  const bool of_image =
      std::any_of(call.arg_begin(), call.arg_end(),
                  [](const llvm::Use& argument) { return is_image(argument->getType()); });
  if (!of_image) return false;
  if (name.base.starts_with("get_image_")) return true;
  const auto* image = llvm::dyn_cast<llvm::Argument>(call.getArgOperand(0));
  if (image == nullptr || image->getParent() != &kernel_ || !is_image(image->getType())) {
    keep_whole(call, "calls " + std::string(name.base) + " on an image that is not followed");
  } else if (name.base.starts_with("read_image")) {
    visit_image_read(call, *image);
  } else if (name.base.starts_with("write_image") && image_kind(image->getType()) &&
             call.arg_size() == 3) {  // with four, the level of a mipmap
    visit_image_write(call, *image);
  } else {
    keep_whole(call, "calls " + std::string(name.base) + " on an image, which is not followed");
  }
  return true;
}

/// The counter of a loop from 0 to `last`, one for each dimension (3: bytes) and bound.
uint32_t AccessCollector::image_loop(unsigned dimension, uint32_t last) {
  const auto [known, added] = image_loops_.try_emplace({dimension, last}, 0);
  if (added) known->second = builder_.synthetic_loop(last);
  return known->second;
}

/// An access to block `offset` of an image: `block_bytes` bytes, each for itself.
Access AccessCollector::image_access(llvm::CallBase& call, AccessKind kind, uint32_t argument,
                                     uint32_t offset, uint32_t block_bytes) {
  const uint32_t loop = image_loop(3, less_one(builder_, block_bytes));
  const Conditions& conditions = control_.of(call.getParent());
  Access access;
  access.kind = kind;
  access.argument = argument;
  access.offset = builder_.node(ExprKind::kAdd, 64, {offset, builder_.loop_counter(loop, 64)});
  access.size = 1;
  access.guards = conditions.guards;
  access.loops = conditions.loops;
  access.loops.push_back(loop);
  access.guards_exact = conditions.exact;
  access.line = source_line(call);
  return access;
}

void AccessCollector::visit_image_write(llvm::CallBase& call, const llvm::Argument& image) {
  const unsigned dimensions = image_kind(image.getType())->coordinates;
  const uint32_t argument = image.getArgNo();
  const Layout layout(builder_, argument);
  const llvm::Loop* scope = scope_of(call);
  std::array<uint32_t, 3> at{};
  unsigned first = 0;  // of the dimensions that are followed
  bool exact = true;
  for (unsigned i = 0; i < dimensions; ++i) {
    llvm::Value* value = coordinate(call.getArgOperand(1), i);
    at[i] = value != nullptr && value->getType()->isIntegerTy(32)
                ? builder_.widened(builder_.translate(value, scope, scope), true)
                : builder_.unknown(64);
    if (builder_.exact(at[i])) continue;
    exact = false;
    if (i + 1 < dimensions) first = i + 1;
  }
  std::vector<scheduler::Guard> inside;
  std::vector<uint32_t> terms;
  for (unsigned i = first; i < dimensions; ++i) {
    terms.push_back(builder_.node(ExprKind::kMul, 64, {at[i], layout.pitch(i)}));
    // A write outside the image is none (or undefined, OpenCL C 3.0, section 6.15.15.4).
    inside.push_back({Compare::kULt, at[i], layout.extent(i)});
  }
  Access access =
      image_access(call, AccessKind::kStore, argument,
                   builder_.node(ExprKind::kAdd, 64, std::move(terms)), layout.pitch(first));
  access.guards.insert(access.guards.end(), inside.begin(), inside.end());
  access.guards_exact = access.guards_exact && exact;
  append(std::move(access));
}

void AccessCollector::visit_image_read(llvm::CallBase& call, const llvm::Argument& image) {
  const uint32_t argument = image.getArgNo();
  const auto kind = image_kind(image.getType());
  const llvm::Loop* scope = scope_of(call);
  const unsigned count = call.arg_size();  // more than three: a level or gradients of a mipmap
  std::array<std::optional<PixelSpan>, 3> spans;
  bool followed = false;
  if (kind && (count == 2 || count == 3)) {
    const SamplerReach reach = sampler_reach(count == 3 ? call.getArgOperand(1) : nullptr);
    llvm::Value* coordinates = call.getArgOperand(count - 1);
    for (unsigned i = kind->coordinates == 1 ? 0 : 1; i < kind->coordinates; ++i) {
      const bool layer = kind->array && i + 1 == kind->coordinates;
      spans[i] = layer ? layer_span(builder_, coordinates, i, scope)
                       : pixel_span(builder_, coordinates, i, reach, scope);
      followed = followed || spans[i];
    }
  }
  if (!followed) {
    Access access;
    access.argument = argument;
    access.offset = builder_.unknown(64);
    access.line = source_line(call);
    append(std::move(access));
    return;
  }
  const Layout layout(builder_, argument);
  const unsigned first = kind->coordinates == 1 ? 0 : 1;
  std::vector<uint32_t> terms, loops;
  for (unsigned i = first; i < kind->coordinates; ++i) {
    const uint32_t last = less_one(builder_, layout.extent(i));
    uint32_t index = builder_.constant(64, 0);
    uint32_t more = last;
    if (spans[i]) {
      index = spans[i]->first;
      more = spans[i]->more;
    }
    const bool single = builder_.at(more).kind == ExprKind::kConst && builder_.at(more).value == 0;
    if (!single) {
      loops.push_back(image_loop(i, more));
      index = builder_.node(ExprKind::kAdd, 64, {index, builder_.loop_counter(loops.back(), 64)});
    }
    if (spans[i]) {
      index = builder_.node(ExprKind::kSMax, 64, {index, builder_.constant(64, 0)});
      index = builder_.node(ExprKind::kSMin, 64, {index, last});
    }
    terms.push_back(builder_.node(ExprKind::kMul, 64, {index, layout.pitch(i)}));
  }
  Access access =
      image_access(call, AccessKind::kLoad, argument,
                   builder_.node(ExprKind::kAdd, 64, std::move(terms)), layout.pitch(first));
  access.loops.insert(access.loops.end(), loops.begin(), loops.end());
  access.guards_exact = false;
  append(std::move(access));
}

}  // namespace tutti::kernel_compiler
