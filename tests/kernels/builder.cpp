// SPDX-License-Identifier: Apache-2.0
#include "builder.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace tutti::kernel_fuzz {
namespace {

constexpr uint64_t kGuard = 64;       // bytes that nothing may touch, at both ends of a region
constexpr uint64_t kAlignment = 512;  // of sub-buffers' origins; NVIDIA's, the largest known

uint64_t rounded(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

std::string converted(const Type& type, const std::string& value) {
  const std::string name = type.name;
  if (name == "float") return "(float)((" + value + ") & 0xffffffu)";
  if (type.size == 8) return "(" + name + ")((" + value + ") * 0x100000003ul)";
  return "(" + name + ")(" + value + ")";
}

std::string as_uint(const Type& type, const std::string& value) {
  if (std::string_view(type.name) == "float") return "as_uint(" + value + ")";
  return "(uint)" + value;
}

void Builder::choose_launch() {
  dims = 1 + std::min(pick(10) / 5, 1u);
  if (dims == 2 && chance(25)) dims = 3;
  // The number of groups along dimensions first: slices are what packages are made of.
  static constexpr uint64_t kLocal[3][6] = {
      {4, 1, 8, 2, 3, 16}, {2, 1, 4, 3, 2, 1}, {1, 2, 1, 3, 1, 1}};
  static constexpr uint64_t kMost[3] = {14, 6, 4};
  for (uint32_t d = 0; d < dims; ++d) {
    local[d] = kLocal[d][pick(6)];
    global[d] = local[d] * (d == 0 ? 2 + pick(kMost[d]) : 1 + pick(kMost[d]));
    if (chance(20)) offset[d] = pick(2) == 0 ? local[d] * (1 + pick(4)) : 1 + pick(19);
  }
  while (items() > 256) {
    uint32_t largest = 0;
    for (uint32_t d = 1; d < dims; ++d) {
      if (groups(d) > groups(largest)) largest = d;
    }
    if (groups(largest) == 1) break;
    global[largest] = local[largest] * (groups(largest) / 2);
  }
  if (chance(10)) {
    local_given = false;
    local = {1, 1, 1};
    // Ragged: nothing that a group's size divides well.
    if (chance(60)) global[0] += 1 + 2 * pick(3);
    if (chance(30)) global[0] = 97 + pick(400);
  }
  if (!large_) return;
  // More groups along one of the dimensions: along the others slices stay few.
  const uint32_t d = pick(dims);
  const uint64_t others = items() / groups(d);
  global[d] = local[d] * ((kLargeItems + others - 1) / others + pick(200));
}

std::string Builder::scalar(const char* type, uint32_t size, uint64_t value) {
  Parameter parameter;
  const std::string name = fresh("n");
  parameter.text = std::string(type) + " " + name;
  parameter.argument.scalar.resize(size);
  std::memcpy(parameter.argument.scalar.data(), &value, size);
  parameters_.push_back(std::move(parameter));
  return name;
}

std::string Builder::number(uint64_t value) {
  const std::string literal = std::to_string(value);
  if (!chance(35) || parameters_.size() > 20) return literal;
  const uint64_t garbage = pick(1u << 30);
  switch (pick(9)) {
    case 0:
      return scalar("int", 4, value);
    case 1:
      return scalar("uint", 4, value);
    case 2:
      return "((int)" + scalar("ulong", 8, value) + ")";
    case 3:
      return "((int)" + scalar("long", 8, value | garbage << 32) + ")";  // cut off
    case 4:
      if (value > 0x7fff)
        return "(" + scalar("short", 2, value & 0x7fff) + " + " +
               std::to_string(value & ~0x7fffull) + ")";
      return value < 128 ? scalar("char", 1, value) : scalar("short", 2, value);
    case 5:
      return value < 256 ? scalar("uchar", 1, value) : scalar("uint", 4, value);
    case 6: {  // a sum that wraps
      if (value > 255)
        return "(" + scalar("ushort", 2, value & 0xffff) + " + " +
               std::to_string(value & ~0xffffull) + ")";
      const uint64_t other = garbage & 255;
      return "((int)(uchar)(" + scalar("uchar", 1, value - other) + " + " +
             scalar("uchar", 1, other) + "))";
    }
    case 7:
      return "((int)(" + scalar("uint", 4, value - garbage) + " + " + scalar("uint", 4, garbage) +
             "))";
    default:
      return "(-" + scalar("int", 4, -value) + ")";
  }
}

Builder::Buffer& Builder::new_buffer(const Type& type, bool written, bool constant) {
  Buffer buffer;
  buffer.name = fresh(constant ? "c" : written ? "o" : "a");
  buffer.type = type;
  buffer.written = written;
  buffer.constant = constant;
  if (!constant && chance(10)) {
    buffer.base_scalar = scalar(chance(50) ? "int" : "uint", 4, 0);
  }
  Parameter parameter;
  static constexpr const char* kQualifiers[] = {"", "", "const "};
  const std::string qualifier = written || constant ? "" : one_of(kQualifiers);
  parameter.text = (constant ? "constant " : "global " + qualifier) + std::string(type.name) +
                   "* " + buffer.name;
  parameter.argument.kind = CaseArgument::Kind::kBuffer;
  parameter.buffer = static_cast<int>(buffers_.size());
  parameters_.push_back(std::move(parameter));
  buffers_.push_back(std::move(buffer));
  return buffers_.back();
}

Region Builder::region_of(Buffer& buffer, uint64_t count, const Pattern* pattern) {
  const uint64_t first = buffer.count;
  buffer.count += count;
  if (pattern != nullptr) {
    buffer.patterns.push_back(*pattern);
    buffer.patterns.back().offset = first * buffer.type.size;
    buffer.patterns.back().width = buffer.type.size;
    buffer.patterns.back().count = count;
  }
  // The base is known when all buffers are placed.
  std::string base = buffer.base_scalar.empty() ? "@base " + buffer.name + "@" : buffer.base_scalar;
  if (first != 0) base = "(" + base + " + " + std::to_string(first) + ")";
  return {buffer.name, base};
}

Region Builder::input(const Type& type, uint64_t count, const Pattern* pattern) {
  if (pattern == nullptr && chance(50)) {
    for (Buffer& buffer : buffers_) {
      if (!buffer.written && !buffer.constant && buffer.patterns.empty() &&
          std::string_view(buffer.type.name) == type.name) {
        buffer.count = std::max(buffer.count, count);
        return {buffer.name,
                buffer.base_scalar.empty() ? "@base " + buffer.name + "@" : buffer.base_scalar};
      }
    }
  }
  // In a buffer that the kernel writes elsewhere, at times.
  if (chance(12)) {
    for (Buffer& buffer : buffers_) {
      if (buffer.written && !buffer.only && std::string_view(buffer.type.name) == type.name) {
        return region_of(buffer, count, pattern);
      }
    }
  }
  return region_of(new_buffer(type, false, false), count, pattern);
}

Region Builder::output(const Type& type, uint64_t count, const Pattern* pattern) {
  if (chance(30)) {
    for (Buffer& buffer : buffers_) {
      if (buffer.written && !buffer.only && std::string_view(buffer.type.name) == type.name) {
        return region_of(buffer, count, pattern);
      }
    }
  }
  return region_of(new_buffer(type, true, false), count, pattern);
}

Region Builder::linked(const Type& type, uint64_t count, std::vector<Pointer> links) {
  Buffer& buffer = new_buffer(type, true, false);
  buffer.shared = true;
  buffer.links = std::move(links);
  buffer.only = true;
  targets_.push_back({buffers_.size() - 1, 0});
  return region_of(buffer, count, nullptr);
}

size_t Builder::reached(const Type& type, uint64_t count, const Pattern* pattern) {
  Buffer buffer;
  buffer.name = fresh("reached");
  buffer.type = type;
  buffer.written = true;
  buffer.only = true;
  buffer.shared = true;
  buffers_.push_back(buffer);
  region_of(buffers_.back(), count, pattern);
  targets_.push_back({buffers_.size() - 1, 0});
  return targets_.size() - 1;
}

std::string Builder::constant_load(const std::string& index, uint64_t count) {
  Buffer* found = nullptr;
  for (Buffer& buffer : buffers_) {
    if (buffer.constant) found = &buffer;
  }
  if (found == nullptr) found = &new_buffer(kUint, false, true);
  found->count = std::max(found->count, count);
  return "LDC(@root " + found->name + "@, @origin " + found->name + "@, " + found->name +
         ", @base " + found->name + "@ + " + index + ")";
}

std::string Builder::local_array(uint64_t count) {
  uses_group = true;
  const std::string name = fresh("t");
  if (chance(30)) {
    Parameter parameter;
    parameter.text = "local uint* " + name;
    parameter.argument.kind = CaseArgument::Kind::kLocal;
    parameter.argument.size = count * 4;
    parameters_.push_back(std::move(parameter));
  } else {
    line("local uint " + name + "[" + std::to_string(count) + "];");
  }
  return name;
}

/// Of shared memory: the argument points to anywhere before or behind its first element.
void Builder::move_window(Buffer& buffer, Root::Kind kind) {
  const bool pointer = kind == Root::Kind::kShared;
  const auto align = static_cast<int64_t>(pointer ? 16 : kAlignment);
  const bool behind = pointer && buffer.base_scalar.empty() && !buffer.constant && chance(25);
  const auto unit = static_cast<int64_t>(buffer.type.size);
  const auto first = static_cast<int64_t>(buffer.origin + buffer.base * buffer.type.size);
  int64_t origin = first / align * align + (behind ? align * (1 + pick(3)) : 0);
  // A whole number of elements from there.
  for (int steps = 0; steps < 3 && (first - origin) % unit != 0; ++steps) {
    origin += behind ? align : -align;
  }
  if (origin < 0 || (first - origin) % unit != 0) return;
  if (behind && origin > first + static_cast<int64_t>(buffer.count) * unit) return;
  buffer.origin = static_cast<uint64_t>(origin);
  buffer.base = static_cast<uint64_t>((first - origin) / unit);
  buffer.size = 1;
}

/// Roots hold one buffer or several: side by side in windows that overlap, or all of it for each.
void Builder::place_buffers(KernelCase& result) {
  struct Shared {
    uint64_t end = 0;
    Root::Kind kind = Root::Kind::kBuffer;
  };
  std::vector<Shared> shared;
  const auto kind_for = [&](const Buffer& buffer) {
    if (!offer.shared_memory || (!buffer.shared && !chance(40))) return Root::Kind::kBuffer;
    return chance(30) ? Root::Kind::kSharedBoth : Root::Kind::kShared;
  };
  // Those that must be in shared memory come first, so that there is a root for each of the others.
  std::vector<Buffer*> order;
  for (const bool first : {true, false}) {
    for (Buffer& buffer : buffers_) {
      if (buffer.shared == first) order.push_back(&buffer);
    }
  }
  for (Buffer* placed_now : order) {
    Buffer& buffer = *placed_now;
    const uint64_t unit = buffer.type.size;
    const bool join = !shared.empty() && (shared.size() == kMaxRoots || chance(15));
    if (join) {
      buffer.root = pick(static_cast<uint32_t>(shared.size()));
    } else {
      buffer.root = static_cast<uint32_t>(shared.size());
      shared.emplace_back().kind = kind_for(buffer);
    }
    Shared& root = shared[buffer.root];
    const uint64_t begin = rounded(root.end + kGuard, 16);
    // A sub-buffer begins somewhere before; else the window is all of the root.
    buffer.origin = 0;
    // Constant buffers always: what they may hold is little (64 KiB on Oclgrind).
    if (chance(join ? 50 : 15) || buffer.constant) {
      if (!join) root.end += kAlignment * pick(3);
      buffer.origin = rounded(root.end + kGuard, 16) / kAlignment * kAlignment;
      buffer.size = 1;
    }
    const uint64_t from = std::max(begin, rounded(root.end + kGuard, 16)) - buffer.origin;
    buffer.base = (from + unit - 1) / unit;
    root.end = buffer.origin + (buffer.base + buffer.count) * unit;
    if (root.kind != Root::Kind::kBuffer && chance(40)) move_window(buffer, root.kind);
    if (buffer.size != 0) {  // to its last byte, or into what follows
      buffer.size = root.end - buffer.origin + (pick(2) == 0 ? 0 : kGuard / 2);
    }
  }
  for (const Shared& root : shared) {
    Root made;
    made.size = rounded(root.end + kGuard, 16) + 8 * pick(3);
    made.seed = 1 + result.roots.size();
    made.kind = root.kind;
    result.roots.push_back(made);
  }
  for (Buffer& buffer : buffers_) {
    Root& root = result.roots[buffer.root];
    if (buffer.size == 0) buffer.size = root.size;
    if (root.shared()) buffer.size = root.size - buffer.origin;
    const uint64_t begin = buffer.origin + buffer.base * buffer.type.size;
    for (const Pointer& pointer : buffer.links) {
      const Target& target = targets_[pointer.target];
      const Buffer& to = buffers_[target.buffer];
      root.links.push_back({begin + pointer.offset, to.root,
                            to.origin + (to.base + target.first) * to.type.size + pointer.at});
    }
    for (Pattern pattern : buffer.patterns) {
      pattern.offset += buffer.origin + buffer.base * buffer.type.size;
      root.patterns.push_back(pattern);
    }
  }
}

std::string Builder::placed(const std::string& text) const {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '@') {
      result += text[i];
      continue;
    }
    const size_t end = text.find('@', i + 1);
    const std::string words = text.substr(i + 1, end - i - 1);
    const size_t blank = words.find(' ');
    const std::string what = words.substr(0, blank);
    for (const Buffer& buffer : buffers_) {
      if (buffer.name != words.substr(blank + 1)) continue;
      if (what == "base" && static_cast<int64_t>(buffer.base) < 0) {
        result += "(" + std::to_string(static_cast<int64_t>(buffer.base)) + "L)";
        continue;
      }
      result += std::to_string(what == "base"   ? buffer.base
                               : what == "root" ? buffer.root
                                                : buffer.origin);
    }
    i = end;
  }
  return result;
}

KernelCase Builder::finish() {
  KernelCase result;
  result.language = language_3 ? 300 : 0;
  result.dims = dims;
  result.global = global;
  if (local_given) result.local = local;
  result.offset = offset;
  result.repeat = chance(20) ? kMostLaunches : 1;
  place_buffers(result);
  std::string signature;
  for (Parameter& parameter : parameters_) {
    if (parameter.buffer >= 0) {
      const Buffer& buffer = buffers_[static_cast<size_t>(parameter.buffer)];
      parameter.argument.root = buffer.root;
      parameter.argument.origin = buffer.origin;
      parameter.argument.size = buffer.size;
    }
    for (const Buffer& buffer : buffers_) {
      if (!buffer.base_scalar.empty() && parameter.text.ends_with(" " + buffer.base_scalar)) {
        std::memcpy(parameter.argument.scalar.data(), &buffer.base, 4);
      }
    }
    signature += (signature.empty() ? "" : ", ") + parameter.text;
    result.arguments.push_back(parameter.argument);
  }
  std::string init = "  KERNEL_INIT(";
  for (size_t i = 0; i < kMaxRoots; ++i) {
    init +=
        (i == 0 ? "" : ", ") + std::to_string(i < result.roots.size() ? result.roots[i].size : 0);
  }
  std::string attributes;
  if (local_given && uses_group && chance(15)) {
    attributes = "__attribute__((reqd_work_group_size(" + std::to_string(local[0]) + ", " +
                 std::to_string(local[1]) + ", " + std::to_string(local[2]) + "))) ";
  }
  result.source = placed(functions_ + attributes + "kernel void k$(" + signature +
                         " KERNEL_P) {\n" + init + ")\n" + body_ + "}\n");
  // Of outputs only: what each device reads where nothing was written is its own affair, so that no
  // single content need explain results that mix it. Indices come from patterns.
  for (uint32_t r = 0; r < result.roots.size(); ++r) {
    Root& root = result.roots[r];
    const bool outputs = std::all_of(buffers_.begin(), buffers_.end(), [&](const Buffer& buffer) {
      return buffer.root != r || buffer.written;
    });
    root.unwritten = outputs && root.patterns.empty() && root.links.empty() && chance(50);
  }
  return result;
}

}  // namespace tutti::kernel_fuzz
