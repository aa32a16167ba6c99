// SPDX-License-Identifier: Apache-2.0
// Balancers by name.
#include "scheduler/balance/balancer.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/nearest.h"
#include "scheduler/balance/balancers.h"

namespace tutti::scheduler {
namespace {

struct Kind {
  const char* name;
  const char* usage;
  size_t parameters;  // at most
  std::unique_ptr<Balancer> (*make)(uint64_t, const std::vector<BalancerDevice>&, Parameters);
};

constexpr Kind kKinds[] = {
    {"single", "single[:device]", 1, nullptr},
    {"static", "static", 0, &make_static},
    {"dynamic", "dynamic[:packages]", 1, &make_dynamic},
    {"hguided", "hguided[:C]", 1, &make_hguided},
    {"autotune", "autotune", 0, &make_autotune},
    {"adaptive", "adaptive", 0, &make_adaptive},
    {"model", "model[:tail]", 1, &make_model},
    {"sigmoid", "sigmoid[:k_r[:k_i[:p]]]", 3, &make_sigmoid},
};

const Kind* find_kind(std::string_view name) {
  const auto* kind = std::find_if(std::begin(kKinds), std::end(kKinds),
                                  [&](const Kind& k) { return name == k.name; });
  return kind == std::end(kKinds) ? nullptr : kind;
}

std::string accepted() {
  std::string result;
  for (const Kind& kind : kKinds) result += (result.empty() ? "" : ", ") + std::string(kind.usage);
  return result;
}

/// The parameters of a balancer that takes numbers; empty when one is no positive number.
std::optional<std::vector<double>> numbers(const BalancerSpec& spec) {
  std::vector<double> result;
  for (const std::string& text : spec.parameters) {
    double value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end || !std::isfinite(value) || value <= 0) return {};
    result.push_back(value);
  }
  return result;
}

}  // namespace

Result<BalancerSpec> parse_balancer(std::string_view text) {
  BalancerSpec spec;
  spec.name = std::string(text.substr(0, text.find(':')));
  for (size_t colon = text.find(':'); colon != std::string_view::npos;) {
    const size_t begin = colon + 1;
    colon = text.find(':', begin);
    spec.parameters.emplace_back(text.substr(begin, colon - begin));
  }
  const Kind* kind = find_kind(spec.name);
  const std::string given = '\'' + std::string(text) + '\'';
  if (kind == nullptr) {
    return fail(CL_INVALID_VALUE, "unknown balancer " + given +
                                      did_you_mean(spec.name, balancer_names()) +
                                      " accepted are: " + accepted());
  }
  const bool wants_numbers = kind->make != nullptr && kind->parameters > 0;
  if (spec.parameters.size() > kind->parameters || (wants_numbers && !numbers(spec)) ||
      std::any_of(spec.parameters.begin(), spec.parameters.end(),
                  [](const std::string& parameter) { return parameter.empty(); })) {
    return fail(CL_INVALID_VALUE, "bad parameter in balancer " + given + "; it is written " +
                                      kind->usage +
                                      (wants_numbers ? " with positive numbers" : "") +
                                      " (accepted are: " + accepted() + ")");
  }
  return spec;
}

std::vector<std::string> balancer_names() {
  std::vector<std::string> names;
  for (const Kind& kind : kKinds) names.emplace_back(kind.name);
  return names;
}

std::unique_ptr<Balancer> make_balancer(const BalancerSpec& spec, uint64_t total,
                                        const std::vector<BalancerDevice>& devices) {
  const Kind* kind = find_kind(spec.name);
  if (kind == nullptr || kind->make == nullptr || devices.empty()) return nullptr;
  const auto parameters = numbers(spec);
  return parameters ? kind->make(total, devices, *parameters) : nullptr;
}

}  // namespace tutti::scheduler
