// SPDX-License-Identifier: Apache-2.0
// A launch's arguments as the evaluation of its accesses wants them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "scheduler/access/access_eval.h"
#include "scheduler/access/image_layout.h"
#include "scheduler/command/work.h"
#include "scheduler/memory/image_boxes.h"

namespace tutti::scheduler {

/// Refers to the arguments, and lives as long as the evaluation takes.
struct ArgumentValues {
  explicit ArgumentValues(const ArgumentSet& arguments)
      : values(arguments.size()), layouts(arguments.size()), samplers(arguments.size()) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      const ArgumentSlot& slot = arguments[i];
      if (slot.kind == ArgumentSlot::Kind::kBytes)
        values[i].scalar = {slot.bytes.data(), slot.bytes.size()};
      if (slot.kind == ArgumentSlot::Kind::kSampler) {
        samplers[i] = layout_of(slot.sampler);
        values[i].scalar = std::as_bytes(std::span(&samplers[i], 1));
      }
      if (slot.kind != ArgumentSlot::Kind::kBuffer || !slot.view.buffer) continue;
      values[i].buffer = slot.view.buffer->id();
      values[i].origin = slot.view.origin;
      values[i].size = slot.view.size;
      values[i].before = slot.view.buffer->is_shared() ? slot.view.origin : 0;
      const backends::ImageShape* shape =
          slot.image ? &slot.image->shape() : slot.view.buffer->image();
      if (!shape) continue;
      layouts[i] = layout_of(*shape);
      if (!slot.image) values[i].unit = shape->pixel_size;
      values[i].scalar = std::as_bytes(std::span(&layouts[i], 1));
    }
  }
  /// Equal for launches of which an evaluation says the same.
  std::string launch(const LaunchShape& shape) const {
    std::string bytes;
    const auto put = [&bytes](const void* data, size_t size) {
      bytes.append(static_cast<const char*>(data), size);
    };
    put(&shape.dims, sizeof shape.dims);
    for (const auto* sizes : {&shape.offset, &shape.global, &shape.local}) {
      put(sizes, sizeof *sizes);
    }
    for (const ArgumentValue& value : values) {
      const uint64_t numbers[] = {value.scalar.size(), value.buffer, value.origin, value.size,
                                  value.unit};
      put(numbers, sizeof numbers);
      put(value.scalar.data(), value.scalar.size());
    }
    return bytes;
  }
  std::vector<ArgumentValue> values;
  std::vector<ImageLayout> layouts;
  std::vector<SamplerLayout> samplers;
};

}  // namespace tutti::scheduler
