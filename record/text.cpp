// SPDX-License-Identifier: Apache-2.0
#include "record/text.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "base/cl_error_name.h"
#include "base/printable.h"
#include "record/constants.h"

namespace tutti::record {
namespace {

std::string quoted(const std::string& text) {
  constexpr size_t kMost = 200;
  const std::string_view shown = std::string_view(text).substr(0, kMost);
  std::string out = "\"";
  for (size_t at = 0; at < shown.size();) {
    const size_t bytes = utf8_bytes(shown, at);
    const char c = shown[at];
    if (c == '\n') {
      out += "\\n";
    } else if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (bytes == 0) {  // not UTF-8
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      for (size_t i = 0; i < bytes; ++i) {
        out += hidden_bytes(shown, at, bytes) > 0
                   ? fmt::format("\\x{:02x}", static_cast<unsigned char>(shown[at + i]))
                   : std::string(1, shown[at + i]);
      }
    }
    at += std::max<size_t>(bytes, 1);
  }
  return out + (text.size() > kMost ? "…\"" : "\"");
}

/// Printable characters and a zero at the end, and nothing that a number would be.
bool is_string(const std::string& bytes) {
  return bytes.size() > 4 && bytes.back() == '\0' &&
         std::all_of(bytes.begin(), bytes.end() - 1,
                     [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); });
}

template <typename T, typename Show>
std::string list(const std::vector<T>& items, Show show) {
  std::string out = "[";
  for (const T& item : items) out += (out.size() > 1 ? ", " : "") + show(item);
  return out + "]";
}

}  // namespace

std::string text_of(Object object) {
  constexpr const char* kNames[] = {"platform", "device", "context", "queue",  "memory",
                                    "program",  "kernel", "event",   "sampler"};
  if (object.number == 0) return "null";
  const char* name = kNames[static_cast<size_t>(object.kind)];
  if (object.number == kUnknownObject) return fmt::format("unknown {}", name);
  return fmt::format("{} {}", name, object.number);
}

std::string text_of(const Value& value) {
  switch (value.type) {
    case Value::Type::kNull:
      return "null";
    case Value::Type::kPointer:
      return "pointer";
    case Value::Type::kNumber:
      return fmt::format("{}", value.number);
    case Value::Type::kNumbers:
      return fmt::format("[{}]", fmt::join(value.numbers, ", "));
    case Value::Type::kObject:
      return text_of(value.objects.front());
    case Value::Type::kObjects:
      return list(value.objects, [](Object object) { return text_of(object); });
    case Value::Type::kText:
      return quoted(value.texts.front());
    case Value::Type::kTexts:
      return list(value.texts, quoted);
    case Value::Type::kBytes: {
      if (is_string(value.texts.front())) return quoted(value.texts.front().c_str());
      std::string out = fmt::format("{} bytes ", value.texts.front().size());
      constexpr size_t kMost = 32;
      for (const char c : value.texts.front().substr(0, kMost)) {
        out += fmt::format("{:02x}", static_cast<unsigned char>(c));
      }
      return out + (value.texts.front().size() > kMost ? "…" : "");
    }
    case Value::Type::kContent:
      return value.content.pieces.empty()
                 ? "0 bytes"
                 : fmt::format("{} bytes #{:08x}", value.content.size,
                               static_cast<uint32_t>(value.content.pieces.front().low));
  }
  return "?";
}

std::string text_of(const Call& call) {
  if (call.name == kNoteEntry) {
    return "note: " + (call.arguments.empty() || call.arguments[0].texts.empty()
                           ? std::string()
                           : printable(call.arguments[0].texts[0]));
  }
  std::string out = printable(call.name) + "(";
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const Value& value = call.arguments[i];
    std::string text;
    if (value.type == Value::Type::kNumber) text = constant_text(call.name, i, value.number);
    if (value.type == Value::Type::kNumbers) text = constant_text(call.name, i, value.numbers);
    if (value.type == Value::Type::kBytes && value.texts.front().size() == 8) {  // a format
      uint32_t parts[2];
      std::memcpy(parts, value.texts.front().data(), sizeof(parts));
      text = constant_text(call.name, i, {parts[0], parts[1]});
    }
    out += (i > 0 ? ", " : "") + (text.empty() ? text_of(value) : text);
  }
  out += ")";
  if (!call.created.empty()) {
    out += " = ";
    for (size_t i = 0; i < call.created.size(); ++i) {
      out += (i > 0 ? ", " : "") + text_of(call.created[i]);
    }
  }
  if (call.code != CL_SUCCESS) out += fmt::format(" -> {}", cl_error_name(call.code));
  return out;
}

}  // namespace tutti::record
