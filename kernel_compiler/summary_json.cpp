// SPDX-License-Identifier: Apache-2.0
#include "kernel_compiler/summary_json.h"

#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/memory_reserve.h"
#include "kernel_compiler/json_reader.h"

namespace tutti::kernel_compiler {
namespace {

using nlohmann::json;
using namespace scheduler;

// ---- writing ------------------------------------------------------------------------------------

std::string dump(const json& value) {
  // A source may hold bytes that are no UTF-8 (comments, printf strings): replaced, never thrown
  // at.
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

json write_expr(const Expr& expr) {
  json row = json::array({static_cast<int>(expr.kind), expr.width, expr.index, expr.value});
  for (const uint32_t operand : expr.operands) {
    row.push_back(operand);
  }
  return row;
}

json write_argument(const Argument& argument) {
  return {{"kind", static_cast<int>(argument.kind)},
          {"name", argument.name},
          {"type", argument.type_name},
          {"size", argument.size},
          {"const", argument.is_const},
          {"restrict", argument.is_restrict},
          {"volatile", argument.is_volatile},
          {"access", argument.access}};
}

json write_content(const std::optional<ContentBounds>& content) {
  if (!content) return nullptr;
  return {content->first,     content->end,   content->width,
          content->is_signed, content->scale, content->added};
}

json write_access(const Access& access) {
  json guards = json::array();
  for (const Guard& guard : access.guards) {
    guards.push_back({static_cast<int>(guard.compare), guard.left, guard.right});
  }
  return {{"kind", static_cast<int>(access.kind)},
          {"arg", access.argument},
          {"offset", access.offset},
          {"size", access.size},
          {"guards", std::move(guards)},
          {"loops", access.loops},
          {"exact", access.guards_exact},
          {"volatile", access.is_volatile},
          {"op", access.atomic_op},
          {"used", access.result_used},
          {"decides_loop", access.decides_loop},
          {"seldom", access.seldom},
          {"line", access.line},
          {"content", write_content(access.content)}};
}

json write_kernel(const KernelSummary& kernel) {
  json arguments = json::array();
  for (const Argument& argument : kernel.arguments) {
    arguments.push_back(write_argument(argument));
  }
  json exprs = json::array();
  for (const Expr& expr : kernel.exprs) {
    exprs.push_back(write_expr(expr));
  }
  json loops = json::array();
  for (const Loop& loop : kernel.loops) {
    loops.push_back({loop.last ? static_cast<int64_t>(*loop.last) : int64_t{-1}, loop.exact});
  }
  json accesses = json::array();
  for (const Access& access : kernel.accesses) {
    accesses.push_back(write_access(access));
  }
  return {{"name", kernel.name},
          {"file", kernel.file},
          {"arguments", std::move(arguments)},
          {"argument_info", kernel.argument_info},
          {"attributes", kernel.attributes},
          {"reqd_local", {kernel.reqd_local[0], kernel.reqd_local[1], kernel.reqd_local[2]}},
          {"smaller_groups", kernel.smaller_groups},
          {"exprs", std::move(exprs)},
          {"loops", std::move(loops)},
          {"accesses", std::move(accesses)},
          {"whole", kernel.whole_reason},
          {"whole_line", kernel.whole_line},
          {"rewrite", kernel.needs_rewrite},
          {"shards", kernel.shard_arguments},
          {"panels", kernel.panel_arguments},
          {"features", kernel.features},
          {"addresses", kernel.uses_addresses},
          {"anything", kernel.uses_anything},
          {"barrier", kernel.uses_barrier},
          {"local", kernel.uses_local_memory}};
}

json write_summary(const ProgramSummary& summary) {
  json kernels = json::array();
  for (const KernelSummary& kernel : summary.kernels) {
    kernels.push_back(write_kernel(kernel));
  }
  return {{"version", kSummaryVersion}, {"kernels", std::move(kernels)}};
}

// ---- reading ------------------------------------------------------------------------------------

/// How many operands a kind takes: {least, most}.
std::pair<size_t, size_t> operand_count(ExprKind kind) {
  switch (kind) {
    case ExprKind::kConst:
    case ExprKind::kArg:
    case ExprKind::kGlobalId:
    case ExprKind::kLocalId:
    case ExprKind::kGroupId:
    case ExprKind::kGlobalSize:
    case ExprKind::kLocalSize:
    case ExprKind::kNumGroups:
    case ExprKind::kGlobalOffset:
    case ExprKind::kLoop:
    case ExprKind::kUnknown:
      return {0, 0};
    case ExprKind::kAdd:
    case ExprKind::kMul:
    case ExprKind::kUMin:
    case ExprKind::kUMax:
    case ExprKind::kSMin:
    case ExprKind::kSMax:
      return {2, 1u << 20};
    case ExprKind::kHull:
      return {1, 1u << 20};
    case ExprKind::kZExt:
    case ExprKind::kSExt:
    case ExprKind::kTrunc:
      return {1, 1};
    default:
      return {2, 2};
  }
}

Expr read_expr(JsonReader& reader, const json& row, size_t own_index) {
  Expr expr;
  if (!row.is_array() || row.size() < 4) {
    reader.fail("expression");
    return expr;
  }
  expr.kind = reader.choice(&row[0], "expression kind", ExprKind::kUnknown);
  expr.width = static_cast<uint8_t>(reader.number<uint32_t>(&row[1], "expression width", 64));
  expr.index = reader.number<uint32_t>(&row[2], "expression index");
  expr.value = reader.number<int64_t>(&row[3], "expression value");
  for (size_t i = 4; i < row.size(); ++i) {
    expr.operands.push_back(reader.number<uint32_t>(&row[i], "operand"));
    if (expr.operands.back() >= own_index) {
      reader.fail("operand order");
    }
  }
  const auto [least, most] = operand_count(expr.kind);
  if (expr.width == 0 || expr.operands.size() < least || expr.operands.size() > most) {
    reader.fail("expression shape");
  }
  if (expr.kind >= ExprKind::kGlobalId && expr.kind <= ExprKind::kGlobalOffset && expr.index > 2) {
    reader.fail("dimension");
  }
  return expr;
}

Argument read_argument(JsonReader& reader, const json& value) {
  Argument argument;
  argument.kind = reader.choice(reader.find(value, "kind"), "argument kind", ArgKind::kOther);
  argument.name = reader.string(value, "name");
  argument.type_name = reader.string(value, "type");
  argument.size = reader.number<uint32_t>(reader.find(value, "size"), "argument size");
  argument.is_const = reader.boolean(value, "const");
  argument.is_restrict = reader.boolean(value, "restrict");
  argument.is_volatile = reader.boolean(value, "volatile");
  argument.access = reader.string(value, "access");
  return argument;
}

/// An index below `count`.
uint32_t read_index(JsonReader& reader, const json* value, const char* what, size_t count) {
  const auto index = reader.number<uint32_t>(value, what);
  if (index >= count) {
    reader.fail(what);
  }
  return index;
}

std::optional<ContentBounds> read_content(JsonReader& reader, const json* value) {
  if (value == nullptr || value->is_null()) return std::nullopt;
  if (!value->is_array() || value->size() != 6 || !(*value)[3].is_boolean()) {
    reader.fail("content");
    return std::nullopt;
  }
  constexpr int64_t kMost = int64_t{1} << 40;
  const json& row = *value;
  ContentBounds content;
  content.first = reader.number<uint32_t>(&row[0], "content");
  content.end = reader.number<uint32_t>(&row[1], "content");
  content.width = reader.number<uint8_t>(&row[2], "content", 64);
  content.is_signed = row[3].get<bool>();
  content.scale = reader.number<int64_t>(&row[4], "content", kMost);
  content.added = reader.number<int64_t>(&row[5], "content", kMost);
  if (content.scale < 1 || content.added < -kMost) reader.fail("content");
  return content;
}

Access read_access(JsonReader& reader, const json& value, const KernelSummary& kernel) {
  Access access;
  access.kind = reader.choice(reader.find(value, "kind"), "access kind", AccessKind::kAtomic);
  access.argument =
      read_index(reader, reader.find(value, "arg"), "access argument", kernel.arguments.size());
  access.offset =
      read_index(reader, reader.find(value, "offset"), "access offset", kernel.exprs.size());
  access.size = reader.number<uint32_t>(reader.find(value, "size"), "access size");
  reader.array(reader.find(value, "guards"), "guards", [&](const json& row) {
    if (!row.is_array() || row.size() != 3) {
      reader.fail("guard");
      return;
    }
    Guard guard;
    guard.compare = reader.choice(&row[0], "guard compare", Compare::kSGe);
    guard.left = read_index(reader, &row[1], "guard", kernel.exprs.size());
    guard.right = read_index(reader, &row[2], "guard", kernel.exprs.size());
    access.guards.push_back(guard);
  });
  reader.array(reader.find(value, "loops"), "access loops", [&](const json& row) {
    access.loops.push_back(read_index(reader, &row, "access loop", kernel.loops.size()));
  });
  access.guards_exact = reader.boolean(value, "exact");
  access.is_volatile = reader.boolean(value, "volatile");
  access.atomic_op = reader.string(value, "op");
  access.result_used = reader.boolean(value, "used");
  access.decides_loop = reader.boolean(value, "decides_loop");
  access.seldom = reader.boolean(value, "seldom");
  access.line = reader.number<uint32_t>(reader.find(value, "line"), "line");
  access.content = read_content(reader, reader.find(value, "content"));
  return access;
}

/// What it names may stand behind it.
bool content_fits(const ContentBounds& content, const KernelSummary& kernel) {
  const auto loads = [&](uint32_t index) {
    return index < kernel.accesses.size() && kernel.accesses[index].kind == AccessKind::kLoad &&
           kernel.accesses[index].size * 8 == content.width;
  };
  return (content.width == 32 || content.width == 64) && loads(content.first) && loads(content.end);
}

KernelSummary read_kernel(JsonReader& reader, const json& value) {
  KernelSummary kernel;
  kernel.name = reader.string(value, "name");
  kernel.file = reader.string(value, "file");
  reader.array(reader.find(value, "arguments"), "arguments",
               [&](const json& row) { kernel.arguments.push_back(read_argument(reader, row)); });
  kernel.argument_info = reader.boolean(value, "argument_info");
  kernel.attributes = reader.string(value, "attributes");
  size_t dimension = 0;
  reader.array(
      reader.find(value, "reqd_local"), "reqd_local",
      [&](const json& row) {
        kernel.reqd_local[dimension++] = reader.number<uint32_t>(&row, "reqd_local");
      },
      3, 3);
  kernel.smaller_groups = reader.boolean(value, "smaller_groups");
  reader.array(reader.find(value, "exprs"), "exprs", [&](const json& row) {
    kernel.exprs.push_back(read_expr(reader, row, kernel.exprs.size()));
  });
  reader.array(reader.find(value, "loops"), "loops", [&](const json& row) {
    if (!row.is_array() || row.size() != 2 || !row[1].is_boolean()) {
      reader.fail("loop");
      return;
    }
    Loop loop;
    const auto last = reader.number<int64_t>(&row[0], "loop", int64_t{1} << 32);
    if (last >= 0) {
      loop.last = read_index(reader, &row[0], "loop", kernel.exprs.size());
    }
    loop.exact = row[1].get<bool>();
    kernel.loops.push_back(loop);
  });
  for (const Expr& expr : kernel.exprs) {
    if ((expr.kind == ExprKind::kLoop && expr.index >= kernel.loops.size()) ||
        (expr.kind == ExprKind::kArg && expr.index >= kernel.arguments.size())) {
      reader.fail("expression index");
    }
  }
  reader.array(reader.find(value, "accesses"), "accesses", [&](const json& row) {
    kernel.accesses.push_back(read_access(reader, row, kernel));
  });
  for (const Access& access : kernel.accesses) {
    if (access.content && !content_fits(*access.content, kernel)) reader.fail("content");
  }
  kernel.whole_reason = reader.string(value, "whole");
  kernel.whole_line = reader.number<uint32_t>(reader.find(value, "whole_line"), "whole_line");
  kernel.needs_rewrite = reader.boolean(value, "rewrite");
  kernel.shard_arguments = reader.number<uint32_t>(reader.find(value, "shards"), "shards");
  kernel.panel_arguments = reader.number<uint32_t>(reader.find(value, "panels"), "panels");
  reader.array(reader.find(value, "features"), "features",
               [&](const json& row) { kernel.features.push_back(reader.text(row, "features")); });
  kernel.uses_addresses = reader.boolean(value, "addresses");
  kernel.uses_anything = reader.boolean(value, "anything");
  kernel.uses_barrier = reader.boolean(value, "barrier");
  kernel.uses_local_memory = reader.boolean(value, "local");
  return kernel;
}

void check_version(JsonReader& reader, const json& value) {
  if (reader.number<int64_t>(reader.find(value, "version"), "version") != kSummaryVersion) {
    reader.fail("version");
  }
}

ProgramSummary read_summary(JsonReader& reader, const json& value) {
  ProgramSummary summary;
  check_version(reader, value);
  reader.array(reader.find(value, "kernels"), "kernels",
               [&](const json& row) { summary.kernels.push_back(read_kernel(reader, row)); });
  return summary;
}

std::optional<json> parse(std::string_view text) {
  json value = json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded()) {
    return std::nullopt;
  }
  return value;
}

/// The common frame of every decode function.
template <typename T, typename Read>
Result<T> decode(std::string_view text, Read&& read) {
  const MemoryEnsured memory;  // JSON's destructor needs some
  JsonReader reader;
  const auto value = parse(text);
  if (!value) {
    reader.fail("no JSON");
    return reader.error();
  }
  T result = read(reader, *value);
  if (reader.failed()) {
    return reader.error();
  }
  return result;
}

}  // namespace

std::string encode_summary(const ProgramSummary& summary) {
  const MemoryEnsured memory;
  return dump(write_summary(summary));
}

Result<ProgramSummary> decode_summary(std::string_view text) {
  return decode<ProgramSummary>(text, read_summary);
}

std::string encode_kernel(const KernelSummary& kernel) {
  const MemoryEnsured memory;
  json value = write_kernel(kernel);
  value["version"] = kSummaryVersion;
  return dump(value);
}

Result<KernelSummary> decode_kernel(std::string_view text) {
  return decode<KernelSummary>(text, [](JsonReader& reader, const json& value) {
    check_version(reader, value);
    return read_kernel(reader, value);
  });
}

std::string encode_request(const CompileRequest& request) {
  const MemoryEnsured memory;
  json headers = json::array();
  for (const EmbeddedHeader& header : request.headers) {
    headers.push_back({{"name", header.name}, {"source", header.source}});
  }
  json units = json::array();
  for (const UnitSource& unit : request.units) {
    units.push_back({{"source", unit.source}, {"options", unit.options}});
  }
  return dump({{"source", request.source},
               {"options", request.options},
               {"unit", request.unit},
               {"units", std::move(units)},
               {"library", request.library},
               {"kernels", request.kernels},
               {"shards", request.shards},
               {"panels", request.panels},
               {"not_analysed", request.not_analysed},
               {"foreign_units", request.foreign_units},
               {"headers", std::move(headers)},
               {"extensions", request.extensions},
               {"opencl_c", request.opencl_c},
               {"device_macros", request.device_macros},
               {"fp64", request.fp64},
               {"images", request.images},
               {"address_bits", request.address_bits}});
}

Result<CompileRequest> decode_request(std::string_view text) {
  return decode<CompileRequest>(text, [](JsonReader& reader, const json& value) {
    CompileRequest request;
    request.source = reader.string(value, "source");
    request.options = reader.string(value, "options");
    if (value.contains("headers")) {
      reader.array(&value["headers"], "headers", [&](const json& row) {
        request.headers.push_back({reader.string(row, "name"), reader.string(row, "source")});
      });
    }
    if (value.contains("units")) {
      reader.array(&value["units"], "units", [&](const json& row) {
        request.units.push_back({reader.string(row, "source"), reader.string(row, "options")});
      });
    }
    request.unit = value.contains("unit") && reader.boolean(value, "unit");
    request.library = value.contains("library") && reader.boolean(value, "library");
    request.shards = value.contains("shards") && reader.boolean(value, "shards");
    request.panels = value.contains("panels") && reader.boolean(value, "panels");
    request.foreign_units =
        value.contains("foreign_units") && reader.boolean(value, "foreign_units");
    if (value.contains("not_analysed")) {
      request.not_analysed = reader.string(value, "not_analysed");
    }
    const auto names = [&reader](const json* list, const char* title) {
      std::vector<std::string> result;
      reader.array(list, title, [&](const json& row) {
        if (row.is_string()) {
          result.push_back(row.get<std::string>());
        } else {
          reader.fail(title);
        }
      });
      return result;
    };
    request.extensions = names(reader.find(value, "extensions"), "extensions");
    if (value.contains("kernels")) request.kernels = names(&value["kernels"], "kernels");
    request.opencl_c = reader.number<uint32_t>(reader.find(value, "opencl_c"), "opencl_c");
    if (const json* macros = reader.find(value, "device_macros");
        macros != nullptr && macros->is_object()) {
      for (const auto& [name, definition] : macros->items()) {
        if (!definition.is_string()) {
          reader.fail("device macro");
          break;
        }
        request.device_macros[name] = definition.get<std::string>();
      }
    } else {
      reader.fail("device_macros");
    }
    request.fp64 = reader.boolean(value, "fp64");
    request.images = reader.boolean(value, "images");
    request.address_bits =
        reader.number<uint32_t>(reader.find(value, "address_bits"), "address_bits");
    return request;
  });
}

std::string encode_output(const CompileOutput& output) {
  const MemoryEnsured memory;
  json units = json::array();
  for (const UnitOutput& unit : output.units) {
    units.push_back({{"preprocessed", unit.preprocessed}, {"rewritten", unit.rewritten}});
  }
  json files = json::array();
  for (const FileLookup& file : output.files) {
    files.push_back({{"path", file.path}, {"state", file.state}});
  }
  return dump({{"ok", output.ok},
               {"failure", output.failure},
               {"invalid_options", output.invalid_options},
               {"left_to_vendors", output.left_to_vendors},
               {"log", output.log},
               {"preprocessed", output.preprocessed},
               {"original", output.original},
               {"vendor_options", output.vendor_options},
               {"analysis_steps", output.analysis_steps},
               {"rewritten", output.rewritten},
               {"units", std::move(units)},
               {"files", std::move(files)},
               {"repeatable", output.repeatable},
               {"summary", write_summary(output.summary)}});
}

Result<CompileOutput> decode_output(std::string_view text) {
  return decode<CompileOutput>(text, [](JsonReader& reader, const json& value) {
    CompileOutput output;
    output.ok = reader.boolean(value, "ok");
    output.failure = reader.string(value, "failure");
    output.invalid_options = reader.boolean(value, "invalid_options");
    output.left_to_vendors = reader.string(value, "left_to_vendors");
    output.log = reader.string(value, "log");
    output.preprocessed = reader.string(value, "preprocessed");
    output.original = reader.string(value, "original");
    output.vendor_options = reader.string(value, "vendor_options");
    output.analysis_steps =
        reader.number<uint64_t>(reader.find(value, "analysis_steps"), "analysis_steps");
    output.rewritten = reader.string(value, "rewritten");
    reader.array(reader.find(value, "units"), "units", [&](const json& row) {
      output.units.push_back({reader.string(row, "preprocessed"), reader.string(row, "rewritten")});
    });
    reader.array(reader.find(value, "files"), "files", [&](const json& row) {
      output.files.push_back({reader.string(row, "path"), reader.string(row, "state")});
    });
    output.repeatable = reader.boolean(value, "repeatable");
    if (const json* summary = reader.find(value, "summary")) {
      output.summary = read_summary(reader, *summary);
    }
    return output;
  });
}

}  // namespace tutti::kernel_compiler
