// SPDX-License-Identifier: Apache-2.0
// Which pixels a read_image call can see along one dimension.
//
// Obligation: every pixel that the read can depend on lies in the span, once clamped into the
// image; where that is not certain there is no span, and the read may see all of the dimension.
// With coordinates that are not normalized, addressing modes clamp, give a border or leave it
// undefined (OpenCL C 3.0, section 6.15.15.1); only normalized ones repeat.
//
// Used by one thread, for the analysis of one function.
#pragma once

#include <llvm/IR/Value.h>

#include <optional>

#include "kernel_compiler/access_expr.h"

namespace tutti::kernel_compiler {

/// Images of which pixels are followed: neither depth nor multisampled ones.
struct ImageKind {
  unsigned coordinates = 1;  // the layer of an array included
  bool array = false;
};
std::optional<ImageKind> image_kind(const llvm::Type* type);
bool is_image(const llvm::Type* type);

/// What a call's sampler may do; made by sampler_reach().
struct SamplerReach {
  bool known = false;                  // else: any pixel
  bool linear = false;                 // a constant sampler that filters
  std::optional<uint32_t> argument{};  // a sampler argument: known at launch by its SamplerLayout
};
/// Null: a read without a sampler, which sees the nearest pixel.
SamplerReach sampler_reach(const llvm::Value* sampler);

/// The pixels first, first + 1, … first + more, before clamping: expressions of 64 bits.
struct PixelSpan {
  uint32_t first = 0;
  uint32_t more = 0;
};

/// `coordinates` is what the call was given, `lane` the dimension in it; read in `scope`.
std::optional<PixelSpan> pixel_span(ExprBuilder& builder, llvm::Value* coordinates, unsigned lane,
                                    const SamplerReach& reach, const llvm::Loop* scope);
/// The same for the layer of an array, which no sampler changes.
std::optional<PixelSpan> layer_span(ExprBuilder& builder, llvm::Value* coordinates, unsigned lane,
                                    const llvm::Loop* scope);

/// The `lane`-th coordinate, null where it is not followed.
llvm::Value* coordinate(llvm::Value* coordinates, unsigned lane);

}  // namespace tutti::kernel_compiler
