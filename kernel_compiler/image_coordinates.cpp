// SPDX-License-Identifier: Apache-2.0
#include "kernel_compiler/image_coordinates.h"

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <cmath>
#include <cstddef>

#include "kernel_compiler/builtin_names.h"
#include "scheduler/access/image_layout.h"

namespace tutti::kernel_compiler {
namespace {

using llvm::Value;
using scheduler::ExprKind;

// Of SPIR-V's OpTypeImage: dimensionality.
constexpr unsigned kDim1d = 0, kDim2d = 1, kDim3d = 2, kDimBuffer = 5;

// Of Clang's opencl-c-base.h, which the analysed text was parsed with.
constexpr uint64_t kNormalized = 1;
constexpr uint64_t kAddressing = 0xe;
constexpr uint64_t kClamp = 4;  // the greatest mode without repetition
constexpr uint64_t kLinear = 0x20;

// Devices may round a coordinate to a fixed point before they take its integral part.
constexpr double kRounding = 1.0 / 64;
// Of constants in coordinates of floating point: with these, and coordinates within any image, all
// sums and products are exact in a float.
constexpr double kMostAdded = 4096;
constexpr double kMostFactor = 16;
constexpr int64_t kBeyondImages = int64_t{1} << 32;
constexpr double kGranularity = 8;
constexpr int kDeepest = 5;

/// A floating-point coordinate: the value of `whole` (64 bits) plus `part`.
struct Fractional {
  uint32_t whole = 0;
  double part = 0;
};

std::optional<double> constant_of(const Value* value) {
  const auto* number = llvm::dyn_cast<llvm::ConstantFP>(value);
  if (number == nullptr || !number->getType()->isFloatTy()) return std::nullopt;
  const double result = static_cast<double>(number->getValueAPF().convertToFloat());
  const bool fine = std::isfinite(result) && std::abs(result) <= kMostAdded &&
                    result * kGranularity == std::floor(result * kGranularity);
  return fine ? std::optional(result) : std::nullopt;
}

class FractionalReader {
 public:
  FractionalReader(ExprBuilder& builder, const llvm::Loop* scope)
      : builder_(builder), scope_(scope) {}

  std::optional<Fractional> read(Value* value, int depth = 0) const {
    if (depth > kDeepest || !value->getType()->isFloatTy()) return std::nullopt;
    if (const auto number = constant_of(value))
      return Fractional{builder_.constant(64, 0), *number};
    auto* operation = llvm::dyn_cast<llvm::Instruction>(value);
    if (operation == nullptr) return std::nullopt;
    const auto operand = [&](unsigned i) { return operation->getOperand(i); };
    switch (operation->getOpcode()) {
      case llvm::Instruction::SIToFP:
      case llvm::Instruction::UIToFP: {
        const bool is_signed = operation->getOpcode() == llvm::Instruction::SIToFP;
        const llvm::Type* type = operand(0)->getType();
        const unsigned width = type->isIntegerTy() ? type->getIntegerBitWidth() : 128;
        if (width > (is_signed ? 32 : 64)) return std::nullopt;
        uint32_t number = builder_.translate(operand(0), scope_, scope_);
        if (builder_.at(number).kind == ExprKind::kUnknown) return std::nullopt;
        if (width > 32) {
          // A size_t below zero is a large number here, and right of every image.
          number = builder_.node(
              ExprKind::kUMin, static_cast<uint8_t>(width),
              {number, builder_.constant(static_cast<uint8_t>(width), kBeyondImages)});
        }
        return Fractional{builder_.widened(number, is_signed), 0};
      }
      case llvm::Instruction::FAdd:
        return sum(read(operand(0), depth + 1), read(operand(1), depth + 1));
      case llvm::Instruction::FSub:
        return sum(read(operand(0), depth + 1), times(read(operand(1), depth + 1), -1));
      case llvm::Instruction::FNeg:
        return times(read(operand(0), depth + 1), -1);
      case llvm::Instruction::FMul:
        return product(operand(0), operand(1), depth);
      case llvm::Instruction::Call:
        if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(operation);
            call != nullptr && call->getIntrinsicID() == llvm::Intrinsic::fmuladd) {
          return sum(product(operand(0), operand(1), depth), read(operand(2), depth + 1));
        }
        return std::nullopt;
      default:
        return std::nullopt;
    }
  }

 private:
  std::optional<Fractional> product(Value* a, Value* b, int depth) const {
    auto factor = constant_of(b);
    Value* other = a;
    if (!factor) {
      factor = constant_of(a);
      other = b;
    }
    if (!factor) return std::nullopt;
    return times(read(other, depth + 1), *factor);
  }
  std::optional<Fractional> times(std::optional<Fractional> value, double factor) const {
    if (!value || factor != std::floor(factor) || std::abs(factor) > kMostFactor) {
      return std::nullopt;
    }
    value->whole = builder_.node(
        ExprKind::kMul, 64, {value->whole, builder_.constant(64, static_cast<int64_t>(factor))});
    value->part *= factor;
    return bounded(*value);
  }
  std::optional<Fractional> sum(const std::optional<Fractional>& a,
                                const std::optional<Fractional>& b) const {
    if (!a || !b) return std::nullopt;
    return bounded({builder_.node(ExprKind::kAdd, 64, {a->whole, b->whole}), a->part + b->part});
  }
  static std::optional<Fractional> bounded(const Fractional& value) {
    return std::abs(value.part) <= kMostAdded ? std::optional(value) : std::nullopt;
  }

  ExprBuilder& builder_;
  const llvm::Loop* scope_;
};

/// `base` + [low, high], widened by `reach` (64 bits, absent: by nothing).
PixelSpan span_around(ExprBuilder& builder, uint32_t base, double low, double high,
                      std::optional<uint32_t> reach) {
  const auto from = static_cast<int64_t>(low), to = static_cast<int64_t>(high);
  std::vector<uint32_t> first = {base, builder.constant(64, from)};
  std::vector<uint32_t> more = {builder.constant(64, to - from)};
  if (reach) {
    first.push_back(builder.node(ExprKind::kMul, 64, {*reach, builder.constant(64, -1)}));
    more.push_back(builder.node(ExprKind::kMul, 64, {*reach, builder.constant(64, 2)}));
  }
  return {builder.node(ExprKind::kAdd, 64, std::move(first)),
          builder.node(ExprKind::kAdd, 64, std::move(more))};
}

}  // namespace

bool is_image(const llvm::Type* type) {
  const auto* opaque = llvm::dyn_cast<llvm::TargetExtType>(type);
  return opaque != nullptr && opaque->getName() == "spirv.Image";
}

std::optional<ImageKind> image_kind(const llvm::Type* type) {
  if (!is_image(type)) return std::nullopt;
  const auto* opaque = llvm::cast<llvm::TargetExtType>(type);
  // Dim, Depth, Arrayed, MS …
  if (opaque->getNumIntParameters() < 4) return std::nullopt;
  const bool array = opaque->getIntParameter(2) != 0;
  if (opaque->getIntParameter(1) != 0 || opaque->getIntParameter(3) != 0) return std::nullopt;
  switch (opaque->getIntParameter(0)) {
    case kDim1d:
      return ImageKind{array ? 2u : 1u, array};
    case kDim2d:
      return ImageKind{array ? 3u : 2u, array};
    case kDim3d:
      return array ? std::nullopt : std::optional(ImageKind{3, false});
    case kDimBuffer:
      return array ? std::nullopt : std::optional(ImageKind{1, false});
    default:
      return std::nullopt;
  }
}

SamplerReach sampler_reach(const Value* sampler) {
  if (sampler == nullptr) return {.known = true};
  if (const auto* argument = llvm::dyn_cast<llvm::Argument>(sampler)) {
    return {.known = true, .argument = argument->getArgNo()};
  }
  const auto* call = llvm::dyn_cast<llvm::CallInst>(sampler);
  const llvm::Function* callee = call != nullptr ? call->getCalledFunction() : nullptr;
  if (callee == nullptr || call->arg_size() != 1) return {};
  const BuiltinName name =
      split_mangled(std::string_view(callee->getName().data(), callee->getName().size()));
  const auto* bits = llvm::dyn_cast<llvm::ConstantInt>(call->getArgOperand(0));
  if (name.base != "__translate_sampler_initializer" || bits == nullptr) return {};
  const uint64_t value = bits->getZExtValue();
  if ((value & kNormalized) != 0 || (value & kAddressing) > kClamp) return {};
  return {.known = true, .linear = (value & kLinear) != 0};
}

Value* coordinate(Value* coordinates, unsigned lane) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(coordinates->getType());
  if (vector == nullptr) return lane == 0 ? coordinates : nullptr;
  return lane < vector->getNumElements() ? llvm::findScalarElement(coordinates, lane) : nullptr;
}

std::optional<PixelSpan> pixel_span(ExprBuilder& builder, Value* coordinates, unsigned lane,
                                    const SamplerReach& reach, const llvm::Loop* scope) {
  Value* value = coordinate(coordinates, lane);
  if (value == nullptr || !reach.known) return std::nullopt;
  std::optional<uint32_t> more;
  if (reach.argument) {
    more = builder.widened(
        builder.argument(*reach.argument, offsetof(scheduler::SamplerLayout, reach), 32), true);
  }
  if (value->getType()->isIntegerTy(32)) {
    const uint32_t pixel = builder.translate(value, scope, scope);
    if (builder.at(pixel).kind == ExprKind::kUnknown) return std::nullopt;
    // Defined with the nearest pixel only (section 6.15.15.2); who filters all the same sees its
    // neighbours.
    const double around = reach.linear ? 1 : 0;
    return span_around(builder, builder.widened(pixel, true), -around, around, more);
  }
  const auto at = FractionalReader(builder, scope).read(value);
  if (!at) return std::nullopt;
  // A linear filter takes the pixels ⌊u − ½⌋ and ⌊u − ½⌋ + 1.
  const double half = reach.linear ? 0.5 : 0;
  return span_around(builder, at->whole, std::floor(at->part - half - kRounding),
                     std::floor(at->part - half + kRounding) + (reach.linear ? 1 : 0), more);
}

std::optional<PixelSpan> layer_span(ExprBuilder& builder, Value* coordinates, unsigned lane,
                                    const llvm::Loop* scope) {
  Value* value = coordinate(coordinates, lane);
  if (value == nullptr) return std::nullopt;
  if (value->getType()->isIntegerTy(32)) {
    return pixel_span(builder, coordinates, lane, {.known = true}, scope);
  }
  const auto at = FractionalReader(builder, scope).read(value);
  if (!at) return std::nullopt;
  // The nearest layer: rint(w).
  return span_around(builder, at->whole, std::floor(at->part + 0.5 - kRounding),
                     std::floor(at->part + 0.5 + kRounding), std::nullopt);
}

}  // namespace tutti::kernel_compiler
