// SPDX-License-Identifier: Apache-2.0
#include "tools/recorded_arguments.h"

#include <CL/cl.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "device_virtual/image_format.h"

namespace tutti::tools {

using record::Call;
using record::Value;

namespace {

bool makes_image(const Call& call) {
  return call.name == "clCreateImage" || call.name == "clCreateImageWithProperties";
}
size_t image_argument(const Call& call) { return call.name == "clCreateImage" ? 3 : 4; }

/// Bytes of the pixels that an image begins with.
uint64_t image_bytes(const Call& call, size_t description) {
  const Value& format_value = call.arguments[description - 1];
  const std::vector<uint64_t>& numbers = call.arguments[description].numbers;
  if (format_value.type != Value::Type::kBytes || numbers.size() != 10 ||
      format_value.texts.front().size() != sizeof(cl_image_format)) {
    return 0;
  }
  cl_image_format format{};
  std::memcpy(&format, format_value.texts.front().data(), sizeof format);
  const auto type = static_cast<cl_mem_object_type>(numbers[0]);
  const unsigned dimensions = device_virtual::image_dimensions(type);
  uint64_t bytes = product(device_virtual::pixel_size(format), numbers[1]);
  if (dimensions >= 2) bytes = product(bytes, numbers[2]);
  if (dimensions == 3) bytes = product(bytes, numbers[3]);
  return device_virtual::is_image_array(type) ? product(bytes, numbers[4]) : bytes;
}

}  // namespace

ReadData read_data(const Call& call, size_t pixel) {
  if (call.name == "clEnqueueWriteBuffer") return {5, number_at(call, 4)};
  if (call.name == "clEnqueueWriteBufferRect") return {10, product_at(call, 5)};
  if (call.name == "clEnqueueWriteImage") return {7, product(product_at(call, 4), pixel)};
  if (call.name == "clEnqueueFillBuffer") return {2, number_at(call, 3)};
  if (call.name == "clSetKernelArg") return {3, number_at(call, 2)};
  if (call.name == "clCreateBuffer") return {3, number_at(call, 2)};
  if (call.name == "clCreateBufferWithProperties") return {4, number_at(call, 3)};
  if (call.name == "clCreateSubBuffer") return {3, sizeof(cl_buffer_region)};
  if (makes_image(call) && call.arguments.size() > image_argument(call) + 1) {
    const size_t description = image_argument(call);
    return {description + 1, image_bytes(call, description)};
  }
  return {};
}

void pack_rows(Call& call) {
  const auto zero = [&call](size_t first, size_t last) {
    for (size_t i = first; i <= last && i < call.arguments.size(); ++i)
      call.arguments[i].number = 0;
  };
  if (call.name.starts_with("clEnqueueReadBufferRect") ||
      call.name.starts_with("clEnqueueWriteBufferRect")) {
    if (call.arguments.size() > 4) call.arguments[4] = Value::of_numbers({0, 0, 0});
    zero(8, 9);
  } else if (call.name == "clEnqueueReadImage" || call.name == "clEnqueueWriteImage") {
    zero(5, 6);
  } else if (makes_image(call) && call.arguments.size() > image_argument(call) + 1 &&
             call.arguments[image_argument(call) + 1].type == Value::Type::kContent) {
    std::vector<uint64_t>& numbers = call.arguments[image_argument(call)].numbers;
    if (numbers.size() == 10) numbers[5] = numbers[6] = 0;
  }
}

std::string data_problem(const Call& call, size_t pixel, uint64_t most_bytes) {
  for (const Value& value : call.arguments) {
    if (value.type == Value::Type::kContent && value.content.size > most_bytes) {
      return fmt::format("{} bytes of data are more than a device takes", value.content.size);
    }
  }
  const auto [argument, bytes] = read_data(call, pixel);
  if (argument >= call.arguments.size()) return {};
  const Value& value = call.arguments[argument];
  uint64_t there = UINT64_MAX;  // nothing is read behind a null pointer
  if (value.type == Value::Type::kContent) there = value.content.size;
  if (value.type == Value::Type::kBytes) there = value.texts.front().size();
  if (value.type == Value::Type::kObject) there = sizeof(void*);
  // Content is recorded for this call alone, and is as large as it says.
  if (value.type == Value::Type::kContent ? bytes == there : bytes <= there) return {};
  return fmt::format("it takes {} bytes, and {} are recorded", bytes, there);
}

}  // namespace tutti::tools
