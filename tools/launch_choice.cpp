// SPDX-License-Identifier: Apache-2.0
#include "tools/launch_choice.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>

#include "scheduler/access/image_layout.h"
#include "scheduler/access/local_size.h"

namespace tutti::tools {
namespace {

using scheduler::ArgKind;
using scheduler::Argument;
using scheduler::Expr;
using scheduler::ExprKind;
using scheduler::KernelSummary;
using scheduler::LaunchShape;

// Per dimension, by the number of dimensions: enough slices along each, and products of two scalars
// of that size stay within an int.
constexpr std::array<uint64_t, 3> kAssumedGlobal = {4096, 1024, 256};
constexpr uint64_t kMaxSize = uint64_t{1} << 40;
constexpr uint64_t kMaxGroup = 256;  // no device is known here; every one takes this many

// ---- types and values ---------------------------------------------------------------------------

enum class Number : uint8_t { kSigned, kUnsigned, kFloating, kOther };

/// A scalar argument's type: `lanes` elements of `bytes` each; kOther: a structure.
struct ScalarType {
  Number number = Number::kOther;
  uint32_t bytes = 0;
  uint32_t lanes = 1;
};

/// The bits of scalar arguments that accesses depend on.
struct Field {
  uint64_t offset = 0;
  uint32_t bytes = 0;
};
std::vector<Field> fields_of(const KernelSummary& kernel, const std::vector<bool>& used,
                             size_t argument) {
  std::vector<Field> fields;
  for (size_t i = 0; i < kernel.exprs.size(); ++i) {
    const Expr& expr = kernel.exprs[i];
    if (!used[i] || expr.kind != ExprKind::kArg || expr.index != argument) continue;
    fields.push_back({static_cast<uint64_t>(expr.value), (expr.width + 7u) / 8});
  }
  std::sort(fields.begin(), fields.end(), [](const Field& a, const Field& b) {
    return a.offset != b.offset ? a.offset < b.offset : a.bytes < b.bytes;
  });
  return fields;
}

ScalarType scalar_type(const Argument& argument, const std::vector<Field>& fields) {
  struct Known {
    std::string_view name;
    Number number;
    uint32_t bytes;
  };
  static constexpr Known kKnown[] = {
      {"char", Number::kSigned, 1},    {"uchar", Number::kUnsigned, 1},
      {"short", Number::kSigned, 2},   {"ushort", Number::kUnsigned, 2},
      {"int", Number::kSigned, 4},     {"uint", Number::kUnsigned, 4},
      {"long", Number::kSigned, 8},    {"ulong", Number::kUnsigned, 8},
      {"half", Number::kFloating, 2},  {"float", Number::kFloating, 4},
      {"double", Number::kFloating, 8}};
  const std::string_view name = argument.type_name;
  const size_t digits = name.find_last_not_of("0123456789") + 1;
  for (const Known& known : kKnown) {
    if (name.substr(0, digits) != known.name) continue;
    uint32_t lanes = 1;
    std::from_chars(name.data() + digits, name.data() + name.size(), lanes);
    if (lanes * known.bytes <= argument.size) return {known.number, known.bytes, lanes};
  }
  // A type of the program's own: an integer by another name, or a structure.
  const bool small =
      argument.size == 1 || argument.size == 2 || argument.size == 4 || argument.size == 8;
  const bool in_one = std::all_of(fields.begin(), fields.end(), [&](const Field& field) {
    return field.offset == 0 && field.bytes == argument.size;
  });
  return small && in_one ? ScalarType{Number::kSigned, argument.size, 1} : ScalarType{};
}

void put(std::vector<std::byte>& data, uint64_t offset, const void* value, size_t bytes) {
  if (offset + bytes <= data.size()) std::memcpy(data.data() + offset, value, bytes);
}

std::optional<uint64_t> parse_natural(std::string_view text) {
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  if (hex) text.remove_prefix(2);
  uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, hex ? 16 : 10);
  if (text.empty() || stop != end || error != std::errc()) return std::nullopt;
  return value;
}

/// Appends one element's value to `data` at `offset`; false when the text is no such number.
bool put_number(std::string_view text, Number number, uint32_t bytes, uint64_t offset,
                std::vector<std::byte>& data) {
  if (number == Number::kFloating) {
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (text.empty() || (stop != end && std::string_view(stop, end) != "f") ||
        error != std::errc()) {
      return false;
    }
    const auto single = static_cast<float>(value);
    // A half stays 0: nothing that is understood of an address comes from one.
    if (bytes == 8) put(data, offset, &value, 8);
    if (bytes == 4) put(data, offset, &single, 4);
    return true;
  }
  const bool negative = text.starts_with("-");
  const auto magnitude = parse_natural(negative ? text.substr(1) : text);
  if (!magnitude) return false;
  // Any value of that many bits is taken, signed or not: 0xffffffff is an int, too.
  const uint64_t most = bytes == 8 ? UINT64_MAX : (uint64_t{1} << (8 * bytes)) - 1;
  if (negative ? number == Number::kUnsigned || *magnitude > most / 2 + 1 : *magnitude > most) {
    return false;
  }
  const uint64_t value = negative ? uint64_t{0} - *magnitude : *magnitude;
  put(data, offset, &value, bytes);  // little-endian, as the devices
  return true;
}

std::string label(const KernelSummary& kernel, size_t argument) {
  const std::string& name = kernel.arguments[argument].name;
  return fmt::format("argument '{}' of kernel {}", name.empty() ? std::to_string(argument) : name,
                     kernel.name);
}

// ---- sizes --------------------------------------------------------------------------------------

uint32_t dimensions_used(const KernelSummary& kernel, const std::vector<bool>& used) {
  uint32_t dims = 1;
  for (size_t i = 0; i < kernel.exprs.size(); ++i) {
    const Expr& expr = kernel.exprs[i];
    if (used[i] && expr.kind >= ExprKind::kGlobalId && expr.kind <= ExprKind::kGlobalOffset) {
      dims = std::max(dims, expr.index + 1);
    }
  }
  for (uint32_t d = 1; d < 3; ++d) {
    if (kernel.reqd_local[d] > 1) dims = std::max(dims, d + 1);
  }
  return dims;
}

std::string sizes(const std::array<uint64_t, 3>& values, uint32_t dims) {
  std::string text;
  for (uint32_t d = 0; d < dims; ++d) text += (d ? "," : "") + std::to_string(values[d]);
  return text;
}

Status choose_shape(const KernelSummary& kernel, const std::vector<bool>& used,
                    const LaunchWishes& wishes, ChosenLaunch& launch) {
  LaunchShape& shape = launch.shape;
  const auto error = [&](std::string text) {
    return fail(CL_INVALID_VALUE, fmt::format("kernel {}: {}", kernel.name, text));
  };
  const size_t named = std::max({wishes.global.size(), wishes.local.size(), wishes.offset.size()});
  shape.dims = wishes.global.empty()
                   ? std::max(dimensions_used(kernel, used), static_cast<uint32_t>(named))
                   : static_cast<uint32_t>(wishes.global.size());
  if (named > shape.dims) {
    return error(fmt::format("--global has {} dimension{}, --local or --offset {}", shape.dims,
                             shape.dims == 1 ? "" : "s", named));
  }
  launch.global_given = !wishes.global.empty();
  const bool required = kernel.reqd_local[0] != 0;
  launch.local_given = required || !wishes.local.empty();
  for (uint32_t d = 0; d < shape.dims; ++d) {
    if (d < wishes.offset.size()) shape.offset[d] = wishes.offset[d];
    if (required) shape.local[d] = std::max(kernel.reqd_local[d], 1u);
    if (d < wishes.local.size()) {
      if (required && wishes.local[d] != shape.local[d]) {
        return error(fmt::format("reqd_work_group_size({},{},{}) forbids another local size",
                                 kernel.reqd_local[0], kernel.reqd_local[1], kernel.reqd_local[2]));
      }
      shape.local[d] = wishes.local[d];
    }
    shape.global[d] = launch.global_given ? wishes.global[d] : kAssumedGlobal[shape.dims - 1];
    if (!launch.global_given) {  // up to whole groups, and enough of them
      shape.global[d] = std::max(shape.global[d], shape.local[d] * 2);
      shape.global[d] = (shape.global[d] + shape.local[d] - 1) / shape.local[d] * shape.local[d];
    }
  }
  if (!launch.local_given) choose_local(shape, kMaxGroup);
  for (uint32_t d = 0; d < shape.dims; ++d) {
    if (shape.global[d] % shape.local[d] == 0) continue;
    return error(fmt::format("the global size {} is no multiple of the local size {}",
                             sizes(shape.global, shape.dims), sizes(shape.local, shape.dims)));
  }
  return {};
}

// ---- arguments ----------------------------------------------------------------------------------

/// A scalar of the size of the launch, as far as its type holds it.
uint64_t assumed_number(const LaunchShape& shape, Number number, uint32_t bytes) {
  const uint64_t n = *std::max_element(shape.global.begin(), shape.global.end());
  const uint32_t bits = 8 * bytes - (number == Number::kUnsigned ? 0 : 1);
  return bits >= 64 ? n : std::min(n, (uint64_t{1} << bits) - 1);
}

void assume_scalar(const LaunchShape& shape, const ScalarType& type,
                   const std::vector<Field>& fields, std::vector<std::byte>& data,
                   ChosenValue& value) {
  if (type.number == Number::kFloating) {
    const double one = 1;
    const float single = 1;
    for (uint32_t lane = 0; lane < type.lanes; ++lane) {
      if (type.bytes == 8) put(data, 8 * lane, &one, 8);
      if (type.bytes == 4) put(data, 4 * lane, &single, 4);
    }
    if (!fields.empty()) value.text = "1";
    return;
  }
  if (type.number == Number::kOther) {
    uint64_t next = 0;
    for (const Field& field : fields) {
      if (field.offset < next) continue;  // read again, or as a part
      next = field.offset + field.bytes;
      const uint64_t n = assumed_number(shape, Number::kSigned, field.bytes);
      put(data, field.offset, &n, std::min<size_t>(field.bytes, 8));
      value.text += fmt::format("{}@{}={}", value.text.empty() ? "" : ", ", field.offset, n);
    }
    return;
  }
  const uint64_t n = assumed_number(shape, type.number, type.bytes);
  for (uint32_t lane = 0; lane < type.lanes; ++lane) put(data, type.bytes * lane, &n, type.bytes);
  if (!fields.empty()) value.text = std::to_string(n);
}

/// "name=value" for a scalar; `offset` where the name had one.
Status give_scalar(const std::string& text, std::optional<uint64_t> offset, const ScalarType& type,
                   const std::vector<Field>& fields, const std::string& label,
                   std::vector<std::byte>& data, ChosenValue& value) {
  if (offset) {
    const auto field = std::find_if(fields.begin(), fields.end(),
                                    [&](const Field& f) { return f.offset == *offset; });
    const uint32_t bytes = field == fields.end() ? 4 : std::min(field->bytes, 8u);
    if (*offset + bytes > data.size()) {
      return fail(CL_INVALID_VALUE,
                  fmt::format("{} has {} bytes, none at {}", label, data.size(), *offset));
    }
    if (!put_number(text, Number::kSigned, bytes, *offset, data)) {
      return fail(CL_INVALID_VALUE,
                  fmt::format("'{}' is no integer of {} bytes, for {}", text, bytes, label));
    }
    value.text += fmt::format("{}@{}={}", value.text.empty() ? "" : ", ", *offset, text);
    return {};
  }
  if (type.number == Number::kOther) {
    std::string known;
    for (const Field& field : fields) known += fmt::format(" @{}", field.offset);
    return fail(CL_INVALID_VALUE,
                fmt::format("{} is a structure: give its fields as NAME@BYTES=VALUE{}{}", label,
                            known.empty() ? "" : "; accesses depend on those at", known));
  }
  std::string_view rest = text;
  for (uint32_t lane = 0; lane < type.lanes; ++lane) {
    const size_t comma = lane + 1 < type.lanes ? rest.find(',') : std::string_view::npos;
    // One value for a vector is that of all its elements.
    const std::string_view one = rest.substr(0, comma);
    if (!put_number(one, type.number, type.bytes, type.bytes * lane, data)) {
      return fail(CL_INVALID_VALUE, fmt::format("'{}' is no value for {}", text, label));
    }
    if (comma != std::string_view::npos) rest.remove_prefix(comma + 1);
  }
  value.text = text;
  return {};
}

std::optional<uint64_t> offset_in_name(const std::string& name) {
  const size_t mark = name.rfind('@');
  return mark == std::string::npos ? std::nullopt
                                   : parse_natural(std::string_view(name).substr(mark + 1));
}

/// An image as large as the launch, four floats a pixel.
scheduler::ImageLayout assumed_layout(const std::string& type_name, const LaunchShape& shape) {
  const bool line = type_name == "image1d_t" || type_name == "image1d_buffer_t";
  const bool flat = line || type_name == "image1d_array_t" || type_name.starts_with("image2d_t") ||
                    type_name.starts_with("image2d_depth");
  scheduler::ImageLayout layout;
  layout.extent[0] = static_cast<uint32_t>(shape.global[0]);
  if (!line) layout.extent[1] = static_cast<uint32_t>(shape.global[1]);
  if (!flat) layout.extent[2] = static_cast<uint32_t>(shape.global[2]);
  layout.pixel_bytes = 16;
  layout.row_bytes = layout.pixel_bytes * layout.extent[0];
  layout.slice_bytes = layout.row_bytes * layout.extent[1];
  return layout;
}

Status choose_argument(const KernelSummary& kernel, const std::vector<bool>& used, size_t index,
                       const LaunchWishes& wishes, ChosenLaunch& launch) {
  const Argument& argument = kernel.arguments[index];
  ChosenValue& value = launch.values[index];
  const std::string name = label(kernel, index);
  const bool is_buffer = argument.kind == ArgKind::kGlobal || argument.kind == ArgKind::kConstant;
  const std::vector<Field> fields = fields_of(kernel, used, index);
  const ScalarType type = scalar_type(argument, fields);
  std::vector<std::byte>& data = launch.scalars[index];
  if (argument.kind == ArgKind::kScalar) {
    data.resize(argument.size);
    assume_scalar(launch.shape, type, fields, data, value);
    launch.arguments[index].scalar = data;
  } else if (is_buffer) {
    launch.arguments[index].buffer = index + 1;  // each its own
    launch.arguments[index].size = kLargeBuffer;
  } else if (argument.kind == ArgKind::kImage) {
    const scheduler::ImageLayout layout = assumed_layout(argument.type_name, launch.shape);
    data.resize(sizeof(layout));
    std::memcpy(data.data(), &layout, sizeof(layout));
    launch.arguments[index] = {.scalar = data,
                               .buffer = index + 1,
                               .size = layout.slice_bytes * layout.extent[2],
                               .unit = layout.pixel_bytes};
  } else if (argument.kind == ArgKind::kSampler) {
    const scheduler::SamplerLayout layout;  // the nearest pixel, at its coordinates
    data.resize(sizeof(layout));
    std::memcpy(data.data(), &layout, sizeof(layout));
    launch.arguments[index].scalar = data;
  }
  for (const auto& [wanted, text] : wishes.arguments) {
    if (!names_argument(wanted, kernel, index)) continue;
    if (argument.kind == ArgKind::kScalar) {
      if (!value.given) value.text.clear();
      TUTTI_TRY(give_scalar(text, offset_in_name(wanted), type, fields, name, data, value));
    } else if (is_buffer || argument.kind == ArgKind::kLocal) {
      const auto size = parse_natural(text);
      if (!size || *size == 0 || *size > kMaxSize) {
        return fail(CL_INVALID_VALUE, fmt::format("'{}' is no size in bytes, for {}", text, name));
      }
      value.size = *size;
      if (is_buffer) launch.arguments[index].size = *size;
    } else {
      return fail(CL_INVALID_VALUE,
                  fmt::format("{} is of type {} and takes no value", name, argument.type_name));
    }
    value.given = true;
  }
  return {};
}

}  // namespace

std::vector<bool> used_expressions(const KernelSummary& kernel) {
  std::vector<bool> used(kernel.exprs.size());
  const auto mark = [&](uint32_t i) { used[i] = true; };
  for (const auto& access : kernel.accesses) {
    mark(access.offset);
    for (const auto& guard : access.guards) {
      mark(guard.left);
      mark(guard.right);
    }
    for (const uint32_t loop : access.loops) {
      if (kernel.loops[loop].last) mark(*kernel.loops[loop].last);
    }
  }
  // Operands stand before their users.
  for (size_t i = used.size(); i-- > 0;) {
    if (!used[i]) continue;
    for (const uint32_t operand : kernel.exprs[i].operands) mark(operand);
  }
  return used;
}

bool names_argument(const std::string& name, const KernelSummary& kernel, size_t argument) {
  const auto is = [&](std::string_view text) {
    return text == kernel.arguments[argument].name || text == std::to_string(argument);
  };
  if (is(name)) return true;
  return kernel.arguments[argument].kind == ArgKind::kScalar && offset_in_name(name) &&
         is(std::string_view(name).substr(0, name.rfind('@')));
}

Result<ChosenLaunch> choose_launch(const KernelSummary& kernel, const LaunchWishes& wishes) {
  ChosenLaunch launch;
  const std::vector<bool> used = used_expressions(kernel);
  TUTTI_TRY(choose_shape(kernel, used, wishes, launch));
  const size_t count = kernel.arguments.size();
  launch.arguments.resize(count);
  launch.values.resize(count);
  launch.scalars.resize(count);
  for (size_t i = 0; i < count; ++i) {
    TUTTI_TRY(choose_argument(kernel, used, i, wishes, launch));
  }
  return launch;
}

}  // namespace tutti::tools
