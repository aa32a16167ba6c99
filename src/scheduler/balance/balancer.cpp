// SPDX-License-Identifier: Apache-2.0
// Balancers by name.
#include "scheduler/balance/balancer.h"

#include <algorithm>

#include "scheduler/balance/balancers.h"

namespace tutti::scheduler {
namespace {

struct Kind {
  const char* name;
  const char* usage;
  size_t parameters;  // at most
  std::unique_ptr<Balancer> (*make)(uint64_t, const std::vector<BalancerDevice>&);
};

constexpr Kind kKinds[] = {
    {"single", "single[:device]", 1, nullptr},
    {"static", "static", 0, &make_static},
    {"sigmoid", "sigmoid", 0, &make_sigmoid},
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
    return fail(CL_INVALID_VALUE, "unknown balancer " + given + "; accepted are: " + accepted());
  }
  if (spec.parameters.size() > kind->parameters ||
      std::any_of(spec.parameters.begin(), spec.parameters.end(),
                  [](const std::string& parameter) { return parameter.empty(); })) {
    return fail(CL_INVALID_VALUE, "bad parameter in balancer " + given + "; it is written " +
                                      kind->usage + " (accepted are: " + accepted() + ")");
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
  return kind->make(total, devices);
}

}  // namespace tutti::scheduler
