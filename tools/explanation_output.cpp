// SPDX-License-Identifier: Apache-2.0
#include "tools/explanation_output.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/safe_file.h"
#include "tools/terminal.h"

namespace tutti::tools {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using scheduler::ArgKind;

constexpr size_t kWidestName = 24;

std::vector<std::string> split_lines(std::istream& text) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

// ---- text ---------------------------------------------------------------------------------------

/// `head`, then the words of `text` in lines that begin below its end. Ends with a newline.
std::string hung(const std::string& head, std::string_view text, size_t columns) {
  return paragraph(head, text, text_columns(head), columns);
}

std::string sizes(const std::array<uint64_t, 3>& values, uint32_t dims) {
  std::string text;
  for (uint32_t d = 0; d < dims; ++d) text += (d ? "x" : "") + std::to_string(values[d]);
  return text;
}

std::string bytes(uint64_t count) { return fmt::format("{} byte{}", count, count == 1 ? "" : "s"); }

/// " at 4·gid, 4·gid + 4"
std::string touch_text(const Direction& direction) {
  constexpr size_t kMost = 3;
  std::vector<std::string> offsets;
  bool more = false;
  for (const Touch& touch : direction.touches) {
    if (touch.offset.empty() || touch.offset == "?") {
      more = true;
    } else if (offsets.size() <= kMost &&
               std::find(offsets.begin(), offsets.end(), touch.offset) == offsets.end()) {
      offsets.push_back(touch.offset);
    }
  }
  std::string text;
  for (size_t i = 0; i < offsets.size() && i < kMost; ++i) text += (i ? ", " : "") + offsets[i];
  if (text.empty()) return {};
  return ", at " + text + (more || offsets.size() > kMost ? ", …" : "");
}

std::string direction_text(const Direction& direction, const KernelExplanation& kernel) {
  if (!kernel.analysed) return "possibly any byte (not analysed)";
  if (direction.whole_buffer) {
    return "possibly any byte: no closer bound is known" + touch_text(direction);
  }
  const std::string range =
      fmt::format("bytes {} to {}", direction.launch.begin, direction.launch.end);
  if (!direction.slice) return range;
  const SliceUse& slice = *direction.slice;
  const char* const some = slice.all ? "" : ", in some slices";
  std::string text;
  if (kernel.slices == 1) {
    text = range;
  } else if (slice.pattern == SliceUse::Pattern::kSame) {
    text = fmt::format("{} in {}", range, slice.all ? "every slice" : "some slices");
  } else if (slice.pattern == SliceUse::Pattern::kRegular) {
    text = fmt::format("{} per slice, {} apart{}{}", bytes(slice.bytes), std::abs(slice.apart),
                       slice.apart < 0 ? ", from the end" : "", some);
  } else {
    text = fmt::format("up to {} per slice, unevenly placed{}", bytes(slice.bytes), some);
  }
  if (direction.period != 0) text += fmt::format(", again every {} bytes", direction.period);
  if (direction.every_byte) text += ", all overwritten";
  return text + touch_text(direction);
}

const char* given_text(bool given) { return given ? "" : " (assumed)"; }

struct Row {
  std::string name, label, text;
};

std::string atomics_text(const ArgumentExplanation& argument) {
  std::string text;
  for (const std::string& operation : argument.atomics) {
    text += (text.empty() ? "atomic " : ", ") + operation;
  }
  return text;
}

void add_rows(const ArgumentExplanation& argument, const KernelExplanation& kernel,
              std::vector<Row>& rows) {
  const auto& declared = argument.declared;
  const std::string name = declared.name.empty()
                               ? fmt::format("({})", &argument - kernel.arguments.data())
                               : declared.name;
  const std::string given =
      argument.value.size != 0 ? fmt::format(" (of {})", bytes(argument.value.size)) : "";
  switch (declared.kind) {
    case ArgKind::kScalar:
      rows.push_back({name, declared.type_name,
                      argument.value.text.empty()
                          ? "any value: no access depends on it"
                          : argument.value.text + given_text(argument.value.given)});
      return;
    case ArgKind::kLocal:
      rows.push_back({name, "local", "memory of each work-group" + given});
      return;
    case ArgKind::kPipe:
      rows.push_back({name, "pipe", "packets of " + declared.type_name});
      return;
    case ArgKind::kSampler:
    case ArgKind::kQueue:
    case ArgKind::kOther:
      rows.push_back({name, declared.type_name, "no memory"});
      if (declared.kind == ArgKind::kOther) rows.back().text = "not understood";
      return;
    default:
      break;
  }
  const std::string atomics = atomics_text(argument);
  if (argument.only_atomics && argument.written.used) {
    rows.push_back(
        {name, "atomic", direction_text(argument.written, kernel) + ", by " + atomics + given});
    return;
  }
  if (argument.read.used) {
    rows.push_back({name, "read", direction_text(argument.read, kernel) + given});
  }
  if (argument.written.used) {
    rows.push_back({name, "written",
                    direction_text(argument.written, kernel) +
                        (atomics.empty() ? "" : ", also by " + atomics) + given});
  }
  if (!argument.read.used && !argument.written.used) {
    rows.push_back({name, "unused", "neither read nor written" + given});
  }
}

/// The reason without "(line 7)", which is said in a line of its own.
std::string bare_reason(const scheduler::Verdict& verdict) {
  const std::string suffix = fmt::format(" (line {})", verdict.line);
  return verdict.line != 0 && verdict.reason.ends_with(suffix)
             ? verdict.reason.substr(0, verdict.reason.size() - suffix.size())
             : verdict.reason;
}

// ---- JSON ---------------------------------------------------------------------------------------

const char* kind_name(ArgKind kind) {
  switch (kind) {
    case ArgKind::kScalar:
      return "scalar";
    case ArgKind::kGlobal:
      return "global";
    case ArgKind::kConstant:
      return "constant";
    case ArgKind::kLocal:
      return "local";
    case ArgKind::kImage:
      return "image";
    case ArgKind::kSampler:
      return "sampler";
    case ArgKind::kPipe:
      return "pipe";
    case ArgKind::kQueue:
      return "queue";
    case ArgKind::kOther:
      break;
  }
  return "other";
}

ordered_json direction_json(const Direction& direction, bool write) {
  if (!direction.used) return nullptr;
  ordered_json result{{"whole_buffer", direction.whole_buffer},
                      {"begin", nullptr},
                      {"end", nullptr},
                      {"slice", nullptr}};
  if (!direction.whole_buffer || direction.launch.end < kLargeBuffer) {
    result["begin"] = direction.launch.begin;
    result["end"] = direction.launch.end;
  }
  if (direction.slice) {
    static constexpr const char* kPatterns[] = {"same", "regular", "irregular"};
    const SliceUse& slice = *direction.slice;
    const bool regular = slice.pattern == SliceUse::Pattern::kRegular;
    result["slice"] = {{"pattern", kPatterns[static_cast<size_t>(slice.pattern)]},
                       {"bytes", slice.bytes},
                       {"apart", regular ? ordered_json(slice.apart) : ordered_json(nullptr)},
                       {"all_slices", slice.all}};
  }
  if (write) {
    result["every_byte"] = direction.every_byte;
    result["period"] =
        direction.period == 0 ? ordered_json(nullptr) : ordered_json(direction.period);
  }
  ordered_json touches = ordered_json::array();
  for (const Touch& touch : direction.touches) {
    touches.push_back(
        {{"offset", touch.offset.empty() ? ordered_json(nullptr) : ordered_json(touch.offset)},
         {"bytes", touch.size == 0 ? ordered_json(nullptr) : ordered_json(touch.size)},
         {"line", touch.line == 0 ? ordered_json(nullptr) : ordered_json(touch.line)}});
  }
  result["accesses"] = std::move(touches);
  return result;
}

ordered_json argument_json(const ArgumentExplanation& argument, size_t index) {
  const auto& declared = argument.declared;
  ordered_json result{{"index", index},
                      {"name", declared.name},
                      {"type", declared.type_name},
                      {"kind", kind_name(declared.kind)}};
  if (declared.kind == ArgKind::kScalar) {
    const std::string& text = argument.value.text;
    result["value"] = text.empty() ? ordered_json(nullptr) : ordered_json(text);
    result["assumed"] = !argument.value.given;
    return result;
  }
  if (declared.kind == ArgKind::kSampler || declared.kind == ArgKind::kQueue ||
      declared.kind == ArgKind::kOther) {
    return result;
  }
  if (declared.kind == ArgKind::kPipe) {
    result["access"] = declared.access;
    return result;
  }
  const uint64_t size = argument.value.size;
  result["size"] = size == 0 ? ordered_json(nullptr) : ordered_json(size);
  result["assumed"] = !argument.value.given;
  if (declared.kind == ArgKind::kLocal) return result;
  if (declared.kind == ArgKind::kImage) result["access"] = declared.access;
  result["read"] = direction_json(argument.read, false);
  result["written"] = direction_json(argument.written, true);
  result["atomics"] = argument.atomics;
  if (argument.written.used) result["merge"] = scheduler::merge_mode_name(argument.merge);
  if (!argument.atomics.empty()) result["atomic_results_used"] = argument.atomic_results_used;
  return result;
}

ordered_json sizes_json(const std::array<uint64_t, 3>& values, uint32_t dims) {
  return std::vector<uint64_t>(values.begin(), values.begin() + dims);
}

ordered_json kernel_json(const KernelExplanation& kernel, SourceFiles& sources) {
  const auto& verdict = kernel.verdict;
  ordered_json result{
      {"name", kernel.name},      {"mode", scheduler::merge_mode_name(verdict.mode)},
      {"reason", verdict.reason}, {"unprofitable", nullptr},
      {"dimension", nullptr},     {"file", sources.shown(kernel.file)},
      {"line", nullptr},          {"source", nullptr}};
  if (kernel.split) result["dimension"] = verdict.dimension;
  if (!kernel.unprofitable.empty()) result["unprofitable"] = kernel.unprofitable;
  if (verdict.line != 0) {
    result["line"] = verdict.line;
    if (const auto line = sources.line(kernel.file, verdict.line)) result["source"] = *line;
  }
  result["launch"] = {{"global", sizes_json(kernel.shape.global, kernel.shape.dims)},
                      {"global_assumed", !kernel.global_given},
                      {"local", sizes_json(kernel.shape.local, kernel.shape.dims)},
                      {"local_assumed", !kernel.local_given},
                      {"offset", sizes_json(kernel.shape.offset, kernel.shape.dims)}};
  result["slices"] = {{"dimension", kernel.slice_dimension},
                      {"count", kernel.slices},
                      {"work_items", kernel.slice_items}};
  result["analysed"] = kernel.analysed;
  result["rewritten"] = kernel.needs_rewrite;
  result["arguments"] = ordered_json::array();
  for (size_t i = 0; i < kernel.arguments.size(); ++i) {
    result["arguments"].push_back(argument_json(kernel.arguments[i], i));
  }
  return result;
}

}  // namespace

SourceFiles::SourceFiles(std::string file, const std::string& text) : file_(std::move(file)) {
  std::istringstream stream(text);
  lines_[""] = split_lines(stream);
}

std::optional<std::string> SourceFiles::line(const std::string& file, uint32_t number) {
  if (!lines_.contains(file)) {
    // Names in line marks are relative to the current folder, or mean to be beside the file.
    // Of whatever the source names: no pipe is waited for.
    constexpr ReadRules kRules{.most_bytes = 64 * kMiB};
    auto content = read_file(file, kRules);
    if (!content) content = read_file((fs::path(file_).parent_path() / file).string(), kRules);
    std::istringstream stream(content.value_or(std::string()));
    lines_[file] = split_lines(stream);
  }
  const auto& lines = lines_[file];
  if (number == 0 || number > lines.size()) return std::nullopt;
  const std::string& text = lines[number - 1];
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string::npos) return std::nullopt;
  return text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

std::string explanation_text(const KernelExplanation& kernel, SourceFiles& sources,
                             size_t columns) {
  const auto& verdict = kernel.verdict;
  const auto& shape = kernel.shape;
  std::string text =
      kernel.split ? fmt::format("{}: {} ({})\n", toned(Tone::kStrong, kernel.name),
                                 toned(Tone::kGood,
                                       fmt::format("split along dimension {}", verdict.dimension)),
                                 scheduler::merge_mode_name(verdict.mode))
                   : fmt::format("{}: {}\n", toned(Tone::kStrong, kernel.name),
                                 toned(Tone::kWarning, "whole, on one device"));
  text += hung("  reason   ", bare_reason(verdict), columns);
  if (verdict.line != 0) {
    const std::string place = fmt::format("{}:{}", sources.shown(kernel.file), verdict.line);
    auto line = sources.line(kernel.file, verdict.line);
    if (line) line = cut(*line, columns - 13);
    std::string both = place + (line ? ": " + *line : "");
    if (line && 11 + text_columns(both) > columns) {  // the quotation in a line of its own
      both = place + ":\n             " + *line;
    }
    text += "           " + both + "\n";
  }
  if (!kernel.unprofitable.empty()) {
    text += hung("  besides  ",
                 fmt::format("{}: {} work-items, of a kernel that is not known to be slow",
                             kernel.unprofitable, shape.items()),
                 columns);
  }
  std::string launch = fmt::format("global {}{}, local {}{}", sizes(shape.global, shape.dims),
                                   given_text(kernel.global_given), sizes(shape.local, shape.dims),
                                   given_text(kernel.local_given));
  if (shape.offset[0] + shape.offset[1] + shape.offset[2] != 0) {
    launch += fmt::format(", offset {}", sizes(shape.offset, shape.dims));
  }
  launch += fmt::format(": {} slice{} of {} work-items", kernel.slices,
                        kernel.slices == 1 ? "" : "s", kernel.slice_items);
  if (shape.dims > 1) launch += fmt::format(" along dimension {}", kernel.slice_dimension);
  text += hung("  launch   ", launch, columns);
  if (kernel.needs_rewrite && kernel.split) {
    text +=
        hung("  variant  ",
             "parts run a rewritten kernel: it asks for ids or sizes of the whole launch", columns);
  }
  std::vector<Row> rows;
  for (const ArgumentExplanation& argument : kernel.arguments) add_rows(argument, kernel, rows);
  size_t name_width = 0;
  size_t label_width = 7;
  for (const Row& row : rows) {
    name_width = std::max(name_width, std::min(text_columns(row.name), kWidestName));
    label_width = std::max(label_width, std::min(text_columns(row.label), kWidestName));
  }
  for (const Row& row : rows) {
    text += hung("  " + padded(row.name, name_width) + "  " + padded(row.label, label_width) + "  ",
                 row.text, columns);
  }
  return text;
}

std::string explanation_json(const std::vector<KernelExplanation>& kernels, SourceFiles& sources,
                             const std::string& log) {
  ordered_json result{
      {"file", sources.shown("")}, {"log", log}, {"kernels", ordered_json::array()}};
  for (const KernelExplanation& kernel : kernels) {
    result["kernels"].push_back(kernel_json(kernel, sources));
  }
  return json_text(result);
}

}  // namespace tutti::tools
