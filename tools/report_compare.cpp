// SPDX-License-Identifier: Apache-2.0
#include "tools/report_compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "tools/report_numbers.h"
#include "tools/report_output.h"
#include "tools/report_page_parts.h"
#include "tools/terminal.h"
#include "tools/trace_file.h"

namespace tutti::tools {
namespace {

using nlohmann::json;
using Json = nlohmann::ordered_json;

constexpr double kSameSpeed = 0.02;  // a smaller difference is not called one

std::optional<double> number(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}
uint64_t count(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
}

/// Absent: it is none.
std::optional<Run> summary_of(const std::string& text) {
  if (!text.starts_with('{')) return std::nullopt;
  const json content = json::parse(text, nullptr, false);
  if (!content.is_object() || content.contains("traceEvents")) return std::nullopt;
  const auto kernels = content.find("kernels");
  if (kernels == content.end() || !kernels->is_array() || !content.contains("devices")) {
    return std::nullopt;
  }
  Run run;
  for (const json& entry : *kernels) {
    const auto name = entry.is_object() ? entry.find("name") : entry.end();
    if (!entry.is_object() || name == entry.end() || !name->is_string()) return std::nullopt;
    run.kernels.push_back({name->get<std::string>(), count(entry, "launches"),
                           count(entry, "split"), number(entry, "seconds"), number(entry, "gain")});
  }
  return run;
}

std::optional<double> quotient(std::optional<double> part, std::optional<double> whole) {
  if (!part || !whole || *whole <= 0) return std::nullopt;
  return *part / *whole;
}

std::string seconds_text(std::optional<double> seconds) {
  if (!seconds) return "-";
  return time_text(static_cast<uint64_t>(std::llround(std::max(*seconds, 0.0) * 1e9)));
}

std::string ratio_text(std::optional<double> ratio) {
  return ratio ? fmt::format("{:.3f}", *ratio) : "-";
}

const char* verdict(std::optional<double> ratio) {
  if (!ratio) return "";
  return *ratio > 1 + kSameSpeed ? "slower" : *ratio < 1 - kSameSpeed ? "faster" : "the same";
}

std::string split_text(const std::optional<RunKernel>& kernel) {
  return kernel ? fmt::format("{}/{}", kernel->split, kernel->launches) : "-";
}

template <typename Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json json_of(const Run& run) {
  return {{"source", run.source},
          {"program", run.program},
          {"complete", run.complete},
          {"lost", run.lost},
          {"seconds", or_null(run.seconds)}};
}

Json json_of(const std::optional<RunKernel>& kernel) {
  if (!kernel) return nullptr;
  return {{"launches", kernel->launches},
          {"split", kernel->split},
          {"seconds", or_null(kernel->seconds)},
          {"each_seconds", or_null(kernel->each())},
          {"gain", or_null(kernel->gain)}};
}

Json json_of(const Comparison& comparison) {
  Json kernels = Json::array();
  for (const ComparedKernel& kernel : comparison.kernels) {
    kernels.push_back({{"name", kernel.name},
                       {"a", json_of(kernel.a)},
                       {"b", json_of(kernel.b)},
                       {"ratio", or_null(kernel.ratio)},
                       {"each_ratio", or_null(kernel.each)},
                       {"verdict", verdict(kernel.each)}});
  }
  return {{"a", json_of(comparison.a)},
          {"b", json_of(comparison.b)},
          {"a_seconds", or_null(comparison.a_seconds)},
          {"b_seconds", or_null(comparison.b_seconds)},
          {"ratio", or_null(comparison.ratio)},
          {"kernels", std::move(kernels)}};
}

}  // namespace

double RunKernel::split_share() const {
  return launches == 0 ? 0 : static_cast<double>(split) / static_cast<double>(launches);
}

std::optional<double> RunKernel::each() const {
  if (!seconds || launches == 0) return std::nullopt;
  return *seconds / static_cast<double>(launches);
}

Result<Run> read_run(const std::string& path) {
  TUTTI_ASSIGN(const std::string text, trace_text(path));
  if (auto summary = summary_of(text)) {
    summary->source = path;
    return std::move(*summary);
  }
  TUTTI_ASSIGN(const TraceFile trace, parse_trace(text, path));
  const ReportNumbers numbers = report_numbers(trace);
  Run run;
  run.source = path;
  run.program = trace.program;
  run.complete = trace.complete;
  run.lost = trace.lost;
  run.seconds = static_cast<double>(trace.duration) * 1e-9;
  for (const KernelNumbers& kernel : numbers.kernels) {
    // What had not ended when the trace stops has no time.
    run.kernels.push_back({kernel.name, kernel.launches - kernel.unfinished, kernel.split,
                           static_cast<double>(kernel.total_ns) * 1e-9,
                           quotient(kernel.best_ns, kernel.split_ns)});
  }
  return run;
}

Comparison compare_runs(Run a, Run b) {
  Comparison comparison;
  std::map<std::string, ComparedKernel> kernels;
  for (const RunKernel& kernel : a.kernels) kernels[kernel.name].a = kernel;
  for (const RunKernel& kernel : b.kernels) kernels[kernel.name].b = kernel;
  const auto sum = [](std::optional<double>& to, double more) { to = to.value_or(0) + more; };
  for (auto& [name, kernel] : kernels) {
    kernel.name = name;
    if (kernel.a && kernel.b) {
      kernel.ratio = quotient(kernel.b->seconds, kernel.a->seconds);
      kernel.each = quotient(kernel.b->each(), kernel.a->each());
      if (kernel.a->seconds && kernel.b->seconds) {
        sum(comparison.a_seconds, *kernel.a->seconds);
        sum(comparison.b_seconds, *kernel.b->seconds);
      }
    }
    comparison.kernels.push_back(std::move(kernel));
  }
  comparison.ratio = quotient(comparison.b_seconds, comparison.a_seconds);
  const auto seconds = [](const std::optional<RunKernel>& kernel) {
    return kernel ? kernel->seconds.value_or(0) : 0;
  };
  std::stable_sort(comparison.kernels.begin(), comparison.kernels.end(),
                   [&](const ComparedKernel& first, const ComparedKernel& second) {
                     return std::abs(seconds(first.b) - seconds(first.a)) >
                            std::abs(seconds(second.b) - seconds(second.a));
                   });
  comparison.a = std::move(a);
  comparison.b = std::move(b);
  return comparison;
}

std::string comparison_text(const Comparison& comparison) {
  std::string text;
  for (const auto& [name, run] : {std::pair("A", &comparison.a), std::pair("B", &comparison.b)}) {
    text += fmt::format("{}: {}{}{}\n", name, printable(run->source),
                        run->program.empty() ? "" : ", " + printable(run->program),
                        run->seconds ? ", " + seconds_text(run->seconds) + " traced" : "");
    if (!run->complete) text += "   The trace breaks off.\n";
    if (run->lost > 0) text += fmt::format("   {} events of it are lost.\n", run->lost);
  }
  size_t width = 6;
  for (const ComparedKernel& kernel : comparison.kernels) {
    width = std::clamp(text_columns(printable(kernel.name)), width, size_t{40});
  }
  text +=
      fmt::format("\n{:<{}}  {:>10} {:>10} {:>7}  {:>10} {:>10} {:>7}  {:>11} {:>11}\n", "kernel",
                  width, "A", "B", "B/A", "A, each", "B, each", "B/A", "A split", "B split");
  for (const ComparedKernel& kernel : comparison.kernels) {
    const auto part = [](const std::optional<RunKernel>& of, bool each) {
      return of ? seconds_text(each ? of->each() : of->seconds) : std::string("-");
    };
    text += fmt::format("{}  {:>10} {:>10} {:>7}  {:>10} {:>10} {:>7}  {:>11} {:>11}  {}\n",
                        padded(printable(kernel.name), width), part(kernel.a, false),
                        part(kernel.b, false), ratio_text(kernel.ratio), part(kernel.a, true),
                        part(kernel.b, true), ratio_text(kernel.each), split_text(kernel.a),
                        split_text(kernel.b),
                        !kernel.a   ? "in B only"
                        : !kernel.b ? "in A only"
                                    : verdict(kernel.each));
  }
  if (comparison.kernels.empty()) text += "No kernel was launched.\n";
  if (comparison.ratio) {
    text += fmt::format("{:<{}}  {:>10} {:>10} {:>7}\n", "in both", width,
                        seconds_text(comparison.a_seconds), seconds_text(comparison.b_seconds),
                        ratio_text(comparison.ratio));
  }
  return text;
}

std::string comparison_json(const Comparison& comparison) { return json_text(json_of(comparison)); }

std::string comparison_page(const Comparison& comparison) {
  return page_of(PageKind::kComparison,
                 json_of(comparison).dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace tutti::tools
