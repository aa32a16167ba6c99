// SPDX-License-Identifier: Apache-2.0
#include "tools/replay_frame.h"

#include <algorithm>

namespace tutti::tools {

void* ReplayFrame::content(const record::Content& content) {
  auto bytes = replay.record_.content.get(content, replay.most_bytes_);
  if (!bytes) {
    failure = bytes.error().message;
    return nullptr;
  }
  return memory.emplace_back(std::move(*bytes)).data();
}

std::vector<std::byte> ReplayFrame::packed() const {
  std::vector<std::byte> result(size());
  std::byte* to = result.data();
  for (size_t slice = 0; slice < slice_count; ++slice) {
    for (size_t row = 0; row < row_count; ++row, to += row_bytes) {
      std::memcpy(to, rows + slice * slice_pitch + row * row_pitch, row_bytes);
    }
  }
  return result;
}

void ReplayFrame::unpack(const std::vector<std::byte>& bytes) const {
  if (bytes.size() != size()) return;
  const std::byte* from = bytes.data();
  for (size_t slice = 0; slice < slice_count; ++slice) {
    for (size_t row = 0; row < row_count; ++row, from += row_bytes) {
      std::memcpy(rows + slice * slice_pitch + row * row_pitch, from, row_bytes);
    }
  }
}

void* ReplayFrame::bytes_of(const std::string& text) {
  // 128 bytes at least, aligned by the allocator: the largest type of a kernel's argument.
  auto& bytes = memory.emplace_back(std::max<size_t>(text.size(), 128));
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes.data();
}

void* ReplayFrame::behind(const record::Value& value) {
  switch (value.type) {
    case record::Value::Type::kBytes:
      return bytes_of(value.texts.front());
    case record::Value::Type::kContent:
      return content(value.content);
    case record::Value::Type::kObject:
      return handles.emplace_back(1, live(value.objects.front())).data();
    case record::Value::Type::kPointer:
      return pointer;
    default:
      return nullptr;
  }
}

const cl_image_desc* ReplayFrame::image(const record::Value& value) {
  if (value.type != record::Value::Type::kNumbers || value.numbers.size() != 10) return nullptr;
  const std::vector<uint64_t>& from = value.numbers;
  cl_image_desc& result = images.emplace_back();
  result.image_type = static_cast<cl_mem_object_type>(from[0]);
  result.image_width = from[1];
  result.image_height = from[2];
  result.image_depth = from[3];
  result.image_array_size = from[4];
  result.image_row_pitch = from[5];
  result.image_slice_pitch = from[6];
  result.num_mip_levels = static_cast<cl_uint>(from[7]);
  result.num_samples = static_cast<cl_uint>(from[8]);
  result.mem_object = static_cast<cl_mem>(live({record::ObjectKind::kMemory, from[9]}));
  return &result;
}

const cl_context_properties* ReplayFrame::properties(std::vector<uint64_t> list) {
  for (size_t i = 0; i + 1 < list.size(); i += 2) {
    if (list[i] == CL_CONTEXT_PLATFORM) {
      list[i + 1] = reinterpret_cast<uint64_t>(replay.platform_);
    }
  }
  return reinterpret_cast<const cl_context_properties*>(ended_list(std::move(list)).data());
}

const std::vector<uint64_t>& ReplayFrame::ended_list(std::vector<uint64_t> list) {
  list.resize(list.size() + 3);
  return lists.emplace_back(std::move(list));
}

}  // namespace tutti::tools
