// SPDX-License-Identifier: Apache-2.0
#include "device_virtual/program_modules.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "device_virtual/background.h"
#include "device_virtual/on_each_backend.h"
#include "scheduler/plan/launch_costs.h"

namespace tutti::device_virtual {
namespace {

using scheduler::backend_bit;
using scheduler::BackendMask;
using scheduler::KernelVariant;

// Loading a like device's binary, or finding what was built, takes this part of a build.
constexpr double kGetting = 1.0 / 8;
// First launches, beside builds: PoCL compiles once more for each local size.
constexpr double kWithFirstLaunch = 1.5;
// Who has run a program so often will run it so many times as often yet: what is built once for
// that may take as long as it then gains.
constexpr double kRunsToCome = 2;
// So many builds are ventured without that: the first device's variant for splits, and another
// device's. A program that gains by them is mostly run again, and then they are there.
constexpr int kVentured = 2;
// A program's kernels that tell where it runs best.
constexpr size_t kKernelsLookedAt = 16;
constexpr double kClearlyFaster = 1.1;
// A device that is lost in so many builds of a program, each time anew, is lost by it: its compiler
// crashes, or hangs.
constexpr uint32_t kLostByBuilding = 3;

/// Of each kernel variant a T, made of the number of backends.
template <typename T>
std::array<T, scheduler::kKernelVariants> by_variant(size_t backends) {
  const auto make = [backends]<size_t... i>(std::index_sequence<i...>) {
    return std::array<T, sizeof...(i)>{((void)i, T(backends))...};
  };
  return make(std::make_index_sequence<scheduler::kKernelVariants>());
}

bool shifts(KernelVariant variant) {
  return variant == KernelVariant::kShards || variant == KernelVariant::kPanels;
}

bool rewritten(const ProgramTexts::Unit& unit, KernelVariant variant) {
  return variant == KernelVariant::kSubRange && !unit.rewritten.empty();
}

const std::string& text_of(const ProgramTexts::Unit& unit, KernelVariant variant) {
  return rewritten(unit, variant) ? unit.rewritten : unit.text;
}

bool of_one_kind(const std::string& kind, const std::string& other) {
  return !kind.empty() && kind == other;
}

/// Whether it has next to nothing to build once the other one has built.
bool gets(const backends::DeviceTraits& traits, const backends::DeviceTraits& other) {
  return loads(traits, other) || of_one_kind(traits.build_kind, other.build_kind);
}

}  // namespace

std::string device_title(const backends::DeviceTraits& traits) {
  return traits.device_name + " (" + traits.platform_name + ")";
}

bool loads(const backends::DeviceTraits& traits, const backends::DeviceTraits& other) {
  return of_one_kind(traits.binary_kind, other.binary_kind);
}

bool may_use_variables(const scheduler::KernelSummary& summary) {
  return summary.uses("__opencl_c_program_scope_global_variables") || summary.uses_anything;
}

Bound bound_of(const scheduler::KernelSummary& summary) {
  if (may_use_variables(summary) || summary.uses("__opencl_c_device_enqueue")) {
    return Bound::kToPrimary;
  }
  return summary.uses("__opencl_c_subgroups") ? Bound::kToLikeDevices : Bound::kNo;
}

ProgramModules::ProgramModules(scheduler::BackendSet& backends, ProgramTexts texts,
                               BackendMask wanted)
    : backends_(backends),
      texts_(std::move(texts)),
      wanted_(wanted),
      renewals_(std::bit_width(wanted)),
      modules_(by_variant<MadeOnce<backends::Module>>(std::bit_width(wanted))),
      lost_(by_variant<std::vector<LostBuilds>>(std::bit_width(wanted))),
      reduced_(std::bit_width(wanted)) {
  for (const ProgramTexts::Unit& unit : texts_.units) {
    key_ = XXH3_64bits_withSeed(unit.text.data(), unit.text.size(), key_);
    key_ = XXH3_64bits_withSeed(unit.options.data(), unit.options.size(), key_);
  }
  const auto& kernels = texts_.summary.kernels;
  for (const scheduler::KernelSummary& kernel : kernels) {
    for (const std::string& feature : kernel.features) who_has_[feature] = wanted_;
    bound_ |= bound_of(kernel) != Bound::kNo;
  }
  for (auto& [feature, has] : who_has_) {
    for (BackendMask rest = wanted_; rest != 0; rest &= rest - 1) {
      const auto i = static_cast<uint32_t>(std::countr_zero(rest));
      if (!has_feature(backends_.traits(i), feature)) has &= ~backend_bit(i);
    }
    // What none has by its own word, their compilers may know all the same, or have an error for.
    if (has == 0) has = wanted_;
  }
  for (BackendMask rest = wanted_; rest != 0; rest &= rest - 1) {
    const auto i = static_cast<uint32_t>(std::countr_zero(rest));
    if (backends_.traits(i).own_process) helped_ |= backend_bit(i);
  }
  complete_ = wanted_;
  BackendMask for_some = kernels.empty() ? wanted_ : 0;
  for (const scheduler::KernelSummary& kernel : kernels) {
    BackendMask& able = able_.emplace_back(wanted_);
    for (const std::string& feature : kernel.features) able &= who_has_.at(feature);
    complete_ &= able;
    for_some |= able;
  }
  if (!texts_.only) for_some &= complete_;
  for (BackendMask rest = wanted_ & ~complete_; rest != 0; rest &= rest - 1) {
    const auto i = static_cast<uint32_t>(std::countr_zero(rest));
    std::string feature;
    for (uint32_t k = 0; feature.empty(); ++k) feature = lacking(i, k);
    const bool some = (for_some & backend_bit(i)) != 0;
    if (!some) {
      for (Mask& failed : failed_) failed.fetch_or(backend_bit(i), std::memory_order_relaxed);
    }
    log(LogLevel::kInfo, "{} takes no part in a {} that uses {}", device_title(backends.traits(i)),
        some ? "kernel" : "program", feature);
  }
}

std::string ProgramModules::lacking(uint32_t backend, uint32_t kernel) const {
  for (const std::string& feature : texts_.summary.kernels[kernel].features) {
    if ((who_has_.at(feature) & backend_bit(backend)) == 0) return feature;
  }
  return {};
}

BackendMask ProgramModules::usable(uint32_t kernel) const { return usable() & able_[kernel]; }

uint64_t ProgramModules::kernel_key(std::string_view kernel) const {
  return XXH3_64bits_withSeed(kernel.data(), kernel.size(), key_);
}

BackendMask ProgramModules::usable() const {
  const auto load = [](const Mask& mask) { return mask.load(std::memory_order_acquire); };
  // Who cannot build the sub-range variant is not asked for the other one if it has none.
  const BackendMask half = load(failed_[index(KernelVariant::kSubRange)]) &
                           ~load(ready_[index(KernelVariant::kUntouched)]);
  return wanted_ & ~load(failed_[index(KernelVariant::kUntouched)]) & ~half;
}

bool ProgramModules::lost_variables(uint32_t backend) const {
  return (ready(KernelVariant::kUntouched) & backend_bit(backend)) != 0 &&
         renewals_[backend].load(std::memory_order_relaxed) != backends_.at(backend).renewals();
}

BackendMask ProgramModules::ready(KernelVariant variant) const {
  return ready_[index(variant)].load(std::memory_order_acquire);
}

Result<backends::Module*> ProgramModules::get(uint32_t backend, KernelVariant variant) {
  if (backend >= backend_end() || (wanted_ >> backend & 1) == 0) {
    return fail(CL_INVALID_PROGRAM_EXECUTABLE, "the program was not built on this device");
  }
  return modules_[index(variant)].get(backend, [&]() -> Attempt<backends::Module> {
    const uint32_t renewals = backends_.at(backend).renewals();
    backends::BuildResult result = make(backend, variant);
    if (result.module != nullptr) {
      if (variant == KernelVariant::kUntouched) {
        renewals_[backend].store(renewals, std::memory_order_relaxed);
      }
      ready_[index(variant)].fetch_or(backend_bit(backend), std::memory_order_acq_rel);
    } else if (failed_by_loss(backends_, backend, result.code, renewals) &&
               worth_another_try(lost_[index(variant)][backend], renewals)) {
      log(LogLevel::kInfo, "{} is lost, and builds a program when it is back: {}",
          device_title(backends_.traits(backend)), result.log);
      return {nullptr, {CL_DEVICE_NOT_AVAILABLE, std::move(result.log)}, true};
    } else {
      failed_[index(variant)].fetch_or(backend_bit(backend), std::memory_order_acq_rel);
      // One device less for this program, or for its splits, not an error of the application's.
      if (ready(KernelVariant::kUntouched) != 0) {
        // Without shards a device has all of the buffers, or none: no news.
        log(shifts(variant) ? LogLevel::kInfo : level_without_vendors(LogLevel::kWarning),
            "{} is left out for {} that it cannot build ({}): {}",
            device_title(backends_.traits(backend)),
            variant == KernelVariant::kUntouched ? "a program" : "splits of a program", result.code,
            result.log);
      }
    }
    return {std::move(result.module), {result.code, std::move(result.log)}};
  });
}

bool ProgramModules::worth_another_try(LostBuilds& lost, uint32_t renewals) const {
  // Who shows variables or sub-groups would become another one, while kernels run.
  if (bound_) return false;
  // While it is lost all builds fail, which is once.
  if (lost.count == 0 || lost.renewals != renewals) lost = {lost.count + 1, renewals};
  return lost.count < kLostByBuilding;
}

backends::BuildResult ProgramModules::make(uint32_t backend, KernelVariant variant) {
  const backends::DeviceTraits& traits = backends_.traits(backend);
  BackendMask there = ready(variant);
  // The first of a kind that is used makes the sub-range variant for all.
  if (there == 0) there = ready(KernelVariant::kUntouched) & (backend_bit(backend) - 1);
  for (uint32_t i = 0; i < backend_end(); ++i) {
    if ((there & backend_bit(i)) == 0 || !loads(traits, backends_.traits(i))) continue;
    const auto made = get(i, variant);
    if (!made) continue;
    const auto binary = (*made)->binary();
    if (!binary || binary->empty()) continue;
    backends::BuildResult loaded = vendor_load(backends_.at(backend), *binary);
    if (loaded.module != nullptr) return loaded;
    log(LogLevel::kInfo, "{} does not load the binary of a like device: {}", device_title(traits),
        loaded.log);
    break;
  }
  const uint64_t begun = now_ns(), begun_own = thread_ns();
  backends::BuildResult built = build(backend, variant);
  if (built.module != nullptr) {
    const double seconds = backends_.build_times().note(
        backend, traits.platform_name, source_bytes(),
        {seconds_between(begun, now_ns()), seconds_between(begun_own, thread_ns())});
    double none = 0;
    build_seconds_.compare_exchange_strong(none, seconds);
  }
  return built;
}

uint64_t ProgramModules::source_bytes() const {
  uint64_t bytes = 0;
  for (const ProgramTexts::Unit& unit : texts_.units) bytes += unit.text.size();
  return bytes;
}

Result<ProgramTexts::Unit*> ProgramModules::reduced_unit(uint32_t backend) {
  return reduced_.get(backend, [&]() -> Attempt<ProgramTexts::Unit> {
    std::vector<std::string> kernels;
    for (uint32_t k = 0; k < able_.size(); ++k) {
      if ((able_[k] & backend_bit(backend)) != 0) kernels.push_back(texts_.summary.kernels[k].name);
    }
    auto made = texts_.only(texts_, kernels);
    if (!made) return {nullptr, std::move(made).error()};
    return {std::make_unique<ProgramTexts::Unit>(std::move(*made))};
  });
}

BackendMask ProgramModules::new_to(BackendMask wanted, KernelVariant variant) const {
  if (texts_.linked() || unit().form != backends::ProgramForm::kSource) return 0;
  wanted &= complete_;
  Mask& known = new_to_[index(variant)];
  Mask& looked_at = looked_at_[index(variant)];
  const BackendMask open = wanted & ~looked_at.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < backend_end(); ++i) {
    if ((open & backend_bit(i)) == 0) continue;
    const auto kept =
        vendor_build_is_kept(backends_.at(i), text_of(unit(), variant), unit().options);
    if (kept == false) known.fetch_or(backend_bit(i), std::memory_order_relaxed);
  }
  if (open != 0) looked_at.fetch_or(open, std::memory_order_release);
  return wanted & known.load(std::memory_order_relaxed);
}

Result<ProgramTexts::Shards*> ProgramModules::shards(KernelVariant variant) {
  const auto number = static_cast<uint32_t>(index(variant));
  return shards_.get(number, [&]() -> Attempt<ProgramTexts::Shards> {
    if (!texts_.shards) return {nullptr, {CL_INVALID_OPERATION, "a program without shards"}};
    auto made = texts_.shards(texts_, variant);
    if (!made) return {nullptr, std::move(made).error()};
    return {std::make_unique<ProgramTexts::Shards>(std::move(*made))};
  });
}

uint32_t ProgramModules::shard_arguments(uint32_t kernel) {
  const auto made = shards(KernelVariant::kShards);
  return made && kernel < (*made)->arguments.size() ? (*made)->arguments[kernel] : 0;
}

uint32_t ProgramModules::panel_arguments(uint32_t kernel) {
  if (shard_arguments(kernel) == 0) return 0;
  const auto made = shards(KernelVariant::kPanels);
  return made && kernel < (*made)->panels.size() ? (*made)->panels[kernel] : 0;
}

backends::BuildResult ProgramModules::build(uint32_t index, KernelVariant variant) {
  backends::Backend& backend = backends_.at(index);
  if (shifts(variant)) {
    const auto made = shards(variant);
    if (!made) return {nullptr, made.error().code, made.error().message};
    if ((complete_ & backend_bit(index)) == 0) {
      return {nullptr, CL_INVALID_OPERATION, "it does not take all of the program"};
    }
    if (!backends_.shard_probe().passed(backends_, index)) {
      return {nullptr, CL_INVALID_OPERATION, "it shifts no pointers"};
    }
    return vendor_build(backend, (*made)->unit.rewritten, (*made)->unit.options);
  }
  if (!texts_.linked()) {
    const ProgramTexts::Unit* built = &unit();
    if ((complete_ & backend_bit(index)) == 0) {
      const auto reduced = reduced_unit(index);
      if (!reduced) return {nullptr, reduced.error().code, reduced.error().message};
      built = *reduced;
    }
    return vendor_build(backend, text_of(*built, variant), built->options, built->form);
  }
  std::vector<backends::Object*> objects;
  std::vector<std::unique_ptr<backends::Object>> own;
  for (size_t i = 0; i < texts_.units.size(); ++i) {
    const ProgramTexts::Unit& unit = texts_.units[i];
    if (rewritten(unit, variant)) {
      backends::ObjectResult made = vendor_compile(backend, unit.rewritten, unit.options);
      if (made.object == nullptr) return {nullptr, made.code, std::move(made.log)};
      objects.push_back(made.object.get());
      own.push_back(std::move(made.object));
    } else {
      const auto object = texts_.objects[i]->object(backends_, index, unit.text);
      if (!object) return {nullptr, object.error().code, object.error().message};
      objects.push_back(*object);
    }
  }
  return vendor_link(backend, objects, texts_.link_options);
}

uint32_t ProgramModules::best(BackendMask wanted) const {
  std::vector<uint32_t> devices;
  for (uint32_t i = 0; i < backend_end(); ++i) {
    if ((wanted & backend_bit(i)) != 0) devices.push_back(i);
  }
  if (devices.size() < 2) return devices.empty() ? 0 : devices.front();
  const scheduler::LaunchCosts costs(backends_);
  std::vector<size_t> votes(devices.size());
  std::vector<scheduler::ComputeCost> known;
  const auto& kernels = texts_.summary.kernels;
  for (size_t k = 0; k < std::min(kernels.size(), kKernelsLookedAt); ++k) {
    (void)costs.compute(kernel_key(kernels[k].name), 1, devices, known);
    size_t fastest = 0;
    for (size_t i = 1; i < devices.size(); ++i) {
      if (known[i].rate > kClearlyFaster * known[fastest].rate) fastest = i;
    }
    ++votes[fastest];
  }
  return devices[static_cast<size_t>(std::max_element(votes.begin(), votes.end()) - votes.begin())];
}

ProgramModules::Readying ProgramModules::readying(BackendMask wanted, KernelVariant variant) const {
  BackendMask there = ready(variant);
  const BackendMask lacking = wanted & ~there;
  const BackendMask anew = std::popcount(lacking) > kVentured ? new_to(lacking, variant) : 0;
  double longest = 0;
  const double known = build_seconds_.load(std::memory_order_relaxed);
  const uint64_t bytes = source_bytes();
  scheduler::BuildTimes& times = backends_.build_times();
  Readying builds;
  for (uint32_t i = 0; i < backend_end(); ++i) {
    if ((wanted & ~there & backend_bit(i)) == 0) continue;
    bool got = false;
    for (uint32_t j = 0; j < backend_end() && !got; ++j) {
      got = (there & backend_bit(j)) != 0 && gets(backends_.traits(i), backends_.traits(j));
    }
    double each = got ? kGetting * known : times.expected(i, bytes, known);
    if ((anew & backend_bit(i)) != 0 && !got) {
      const double once = times.expected_anew(i, bytes, known);
      each = std::min(each, kGetting * once);
      longest = std::max(longest, once);
      builds.once += once;
    }
    builds.each += kWithFirstLaunch * each;
    there |= backend_bit(i);
  }
  // What is new is built in helpers.
  builds.once = kWithFirstLaunch * std::max(0.0, builds.once - kVentured * longest) /
                scheduler::BuildTimes::side_by_side(std::popcount(anew));
  return builds;
}

double ProgramModules::seconds_until_ready(BackendMask wanted, KernelVariant variant) const {
  const Readying builds = readying(wanted, variant);
  return builds.each + builds.once;
}

uint64_t ProgramModules::gain_key(KernelVariant variant) const {
  return XXH3_64bits_withSeed("gain", 4, key_ + index(variant));
}

void ProgramModules::note_gain(double seconds, BackendMask wanted, KernelVariant variant) {
  const auto& kernels = texts_.summary.kernels;
  backends_.model().note_gain(gain_key(variant), seconds,
                              kernels.empty() ? std::string() : kernels.front().name);
  const BackendMask begun = begun_[index(variant)].load(std::memory_order_relaxed);
  if ((wanted & usable() & ~ready(variant) & ~begun) != 0) foregone_.fetch_add(seconds);
}

bool ProgramModules::build_if_worth(BackendMask wanted, KernelVariant variant) {
  BackendMask lacking = wanted & usable() & ~ready(variant);
  lacking &= ~begun_[index(variant)].load(std::memory_order_relaxed);
  if (lacking == 0) return false;
  const double foregone = foregone_.load(std::memory_order_relaxed);
  if (foregone < seconds_until_ready(lacking, variant)) return false;
  foregone_.store(0);
  lacking &= ~begin_on(lacking & helped_, variant);
  if (lacking == 0) return false;
  build_on(lacking, variant);
  return (lacking & usable() & ~ready(variant)) != lacking;
}

void ProgramModules::build_what_gained() {
  const auto& kernels = texts_.summary.kernels;
  for (const KernelVariant variant : {KernelVariant::kUntouched, KernelVariant::kSubRange}) {
    const bool used = std::any_of(kernels.begin(), kernels.end(), [&](const auto& kernel) {
      return kernel.needs_rewrite || variant == KernelVariant::kUntouched;
    });
    const BackendMask lacking = usable() & ~ready(variant);
    if (!used || lacking == 0) continue;
    const auto gained = backends_.model().gains(gain_key(variant));
    const Readying builds = readying(lacking, variant);
    if (gained.average > builds.each && kRunsToCome * gained.sum > builds.each + builds.once) {
      build_on(lacking, variant);
    }
  }
}

BackendMask ProgramModules::begin_on(BackendMask wanted, KernelVariant variant) {
  Mask& begun = begun_[index(variant)];
  // Another launch may have begun some of them just now.
  const BackendMask mine = wanted & ~begun.fetch_or(wanted, std::memory_order_acq_rel);
  if (mine == 0) return wanted;
  const auto end = [self = shared_from_this(), &begun, mine] {
    begun.fetch_and(~mine, std::memory_order_acq_rel);
  };
  const auto build = [self = shared_from_this(), mine, variant] { self->build_on(mine, variant); };
  if (run_in_background(build, end)) return wanted;
  end();
  return wanted & ~mine;
}

void ProgramModules::build_on(BackendMask wanted, KernelVariant variant) {
  on_each_backend(wanted, [this, variant](uint32_t i) noexcept {
    try {
      (void)get(i, variant);
    } catch (...) {
      // Memory was lacking: whoever needs it will ask again.
    }
  });
}

}  // namespace tutti::device_virtual
