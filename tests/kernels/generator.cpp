// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "sites.h"

namespace tutti::kernel_fuzz {
namespace {

using Site = void (*)(Builder&);

/// Of the kinds, without those for groups as a whole.
std::vector<Site> kinds_sites(const Offer& offer, bool local_given) {
  std::vector<Site> sites;
  if (offer.exchange_loops) sites.push_back(add_exchange_loop);
  if (offer.float_atomics()) sites.push_back(add_float_atomics);
  if (offer.explicit_atomics) sites.push_back(add_explicit_atomics);
  if (offer.generic && local_given) sites.push_back(add_generic);
  if (offer.constants) sites.push_back(add_variables);
  if (offer.shared_memory) sites.push_back(add_followed);
  if (offer.columns) sites.push_back(add_columns);
  return sites;
}

void add_stage(Builder& b) {
  std::vector<Site> stages;
  if (b.offer.sub_groups) stages.push_back(add_sub_group_stage);
  if (b.offer.collectives) stages.push_back(add_collective_stage);
  if (b.local_given && !stages.empty() && b.chance(60)) {
    stages[b.pick(static_cast<uint32_t>(stages.size()))](b);
  } else {
    add_group_stage(b);
  }
}

void add_site(Builder& b) {
  switch (b.pick(24)) {
    default:
      add_stores(b);
      break;
    case 16:
    case 17:
      if (b.local_given) {
        add_group_result(b);
      } else {
        add_stores(b);
      }
      break;
    case 18:
    case 19:
    case 20:
    case 21:
      add_atomics(b);
      break;
  }
}

}  // namespace

KernelCase make_case(Choices& choices, const Offer& offer, bool large) {
  Builder b(choices, offer, large);
  b.choose_launch();
  const bool groups = offer.sub_groups || offer.collectives;
  const uint32_t stages = b.chance(groups ? 45 : 25) ? 1 + b.pick(2) : 0;
  for (uint32_t i = 0; i < stages; ++i) add_stage(b);
  const std::vector<Site> kinds = kinds_sites(offer, b.local_given);
  const uint32_t sites = 1 + (b.chance(35) ? 1 + b.pick(2) : 0);
  for (uint32_t i = 0; i < sites; ++i) {
    // Without kinds, no choice: what a seed makes then does not depend on which there are.
    if (!kinds.empty() && b.chance(60)) {
      kinds[b.pick(static_cast<uint32_t>(kinds.size()))](b);
    } else {
      add_site(b);
    }
    // Whoever leaves early misses no barrier: stores alone follow.
    if (i + 1 == sites && b.chance(10)) {
      b.line("if " + b.condition() + " return;");
      add_stores(b);
    }
  }
  return b.finish();
}

}  // namespace tutti::kernel_fuzz
