// SPDX-License-Identifier: Apache-2.0
#include "tester.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>

#include "builder.h"
#include "natively.h"
#include "shrink.h"

namespace tutti::kernel_fuzz {
namespace {

std::string hex(const Bytes& bytes, size_t at) {
  char text[8];
  std::snprintf(text, sizeof text, "%02x", bytes.at(at));
  return text;
}

std::string kind_of(const std::string& why) { return why.substr(0, why.find(':')); }

}  // namespace

Tester::Tester(const Options& options, Counts& counts)
    : options_(options), counts_(counts), random_(options.seed) {
  const std::string native =
      options.native.empty() ? first_platform_but(options.virtual_platform) : options.native;
  native_ = Device::find(native, true);
  // Unobserved launches have ways of their own, and a failed one's content cannot be read.
  tutti_ = Device::find(options.virtual_platform, false);
  if (!native_) throw std::runtime_error("no device of a platform '" + native + "'");
  if (!tutti_)
    throw std::runtime_error("no device of a platform '" + options.virtual_platform + "'");
  offer_ = offer_of(*native_, *tutti_, options.kinds);
  counts_.offer = offer_;
}

void Tester::now(const char* doing) {
  std::strncpy(counts_.doing, doing, sizeof counts_.doing - 1);
  if (options_.trace) {
    std::fprintf(stderr, "k%llu: %s\n", static_cast<unsigned long long>(counts_.current), doing);
  }
}

KernelCase case_of(const Options& options, uint64_t number, const Offer& offer,
                   std::vector<uint32_t>* list) {
  // One seed for each, so that any can be made alone.
  std::seed_seq mixed{static_cast<uint32_t>(options.seed),
                      static_cast<uint32_t>(options.seed >> 32), static_cast<uint32_t>(number)};
  uint32_t words[2];
  mixed.generate(words, words + 2);
  Choices choices(uint64_t{words[0]} << 32 | words[1]);
  KernelCase result = make_case(choices, offer, options.large(number));
  if (list != nullptr) *list = choices.list();
  return result;
}

KernelCase read_case(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error("cannot read " + file);
  return from_text(std::string((std::istreambuf_iterator<char>(in)), {}));
}

Tester::Built Tester::build(const std::vector<const Item*>& items) {
  std::string kernels;
  std::string options = options_.build_options;
  uint32_t language = 0;
  for (const Item* item : items) {
    kernels += "\n" + item->kernel.text(item->number);
    language = std::max(language, item->kernel.language);
  }
  options += language_option(language);
  const std::string plain = prelude(false, offer_.atomics64) + kernels;
  Built built;
  now("native build");
  built.native = native_->build(plain, options);
  now("build");
  built.tutti = tutti_->build(plain, options);
  if (options_.packages > 0) {
    now("build of the twin");
    built.twin = native_->build(prelude(true, offer_.atomics64) + kernels, options);
    built.summary = compiled(plain, *tutti_, options).summary;
  }
  return built;
}

std::string Tester::compare(const KernelCase& kernel, const std::vector<Bytes>& expected,
                            const std::vector<Bytes>& actual,
                            const std::vector<Bytes>& settled) const {
  const auto initial = kernel.contents();
  std::ostringstream text;
  int shown = 0;
  for (size_t r = 0; r < expected.size(); ++r) {
    for (size_t i = 0; i < expected[r].size(); ++i) {
      if (expected[r][i] == actual[r][i] || !settled[r][i] || shown++ >= 8) continue;
      text << (shown == 1 ? "difference:" : "") << " root " << r << " byte " << i << " is "
           << hex(actual[r], i) << ", should be " << hex(expected[r], i) << ", was "
           << hex(initial[r], i) << '\n';
    }
  }
  if (shown > 8) text << " and " << shown - 8 << " more\n";
  return text.str();
}

void Tester::unsettle(const Built& built, const Item& item, const std::vector<Bytes>& expected,
                      uint32_t times, std::vector<Bytes>& settled) {
  const auto first = item.kernel.contents();
  for (uint32_t t = 0; t < times; ++t) {
    auto initial = first;
    for (size_t r = 0; r < initial.size(); ++r) {
      if (!item.kernel.roots[r].unwritten) continue;
      // The opposite, zeros, ones, then by turns what new memory often holds: runs of zeros or of a
      // value, and numbers of any width.
      uint8_t value = 0;
      uint64_t number = 0;
      for (size_t i = 0; i < initial[r].size(); ++i) {
        uint8_t& byte = initial[r][i];
        if (random_() % 32 == 0) value = static_cast<uint8_t>(random_() % 2 == 0 ? random_() : 0);
        number = i % 8 == 0 ? random_() >> (random_() % 64) : number >> 8;
        const auto next = t % 2 == 0 ? static_cast<uint8_t>(number) : value;
        byte = t == 0 ? static_cast<uint8_t>(~byte) : t == 1 ? 0 : t == 2 ? 0xff : next;
      }
    }
    const auto other = native_->run(built.native, item.number, item.kernel, &initial);
    for (size_t r = 0; r < other.size(); ++r) {
      for (size_t i = 0; i < other[r].size(); ++i) settled[r][i] &= other[r][i] == expected[r][i];
    }
  }
}

std::string Tester::judge(const Built& built, const Item& item, uint32_t times) {
  const KernelCase& kernel = item.kernel;
  std::vector<Bytes> expected;
  cl_int native_error = CL_SUCCESS;
  std::string native_text;
  bool launch_failed = false;
  try {
    now("native run");
    expected = native_->run(built.native, item.number, kernel);
  } catch (const ClError& error) {
    launch_failed = dynamic_cast<const LaunchFailed*>(&error) != nullptr;
    native_error = error.code;
    native_text = error.what();
  }
  std::vector<Bytes> settled;
  for (const Bytes& root : expected) settled.emplace_back(root.size(), 1);
  if (kernel.has_unwritten() && native_error == CL_SUCCESS) {
    unsettle(built, item, expected, 3, settled);
  }
  for (uint32_t i = 0; i < times; ++i) {
    cl_int tutti_error = CL_SUCCESS;
    std::string tutti_text;
    std::vector<Bytes> actual;
    try {
      now("run");
      actual = tutti_->run_unwritten(built.tutti, item.number, kernel);
      counts_.launches += kernel.repeat;
    } catch (const ClError& error) {
      tutti_error = error.code;
      tutti_text = error.what();
    }
    if (launch_failed && tutti_error == CL_SUCCESS) return "vendor: natively, " + native_text;
    if ((native_error == CL_SUCCESS) != (tutti_error == CL_SUCCESS)) {
      return "error: natively '" + native_text + "', through Tutti '" + tutti_text + "'";
    }
    if (native_error != CL_SUCCESS) {
      ++counts_.refused;
      if (options_.trace) std::fprintf(stderr, "refused: %s\n", native_text.c_str());
      return {};
    }
    std::string difference = compare(kernel, expected, actual, settled);
    if (!difference.empty() && kernel.has_unwritten()) {
      unsettle(built, item, expected, 200, settled);
      difference = compare(kernel, expected, actual, settled);
    }
    if (difference.empty()) continue;
    if (native_->run(built.native, item.number, kernel) != expected) {
      return "unsteady: natively, two runs differ";
    }
    return difference;
  }
  if (options_.packages == 0) return {};
  // Recording every access of a large launch takes long.
  const uint32_t packages = options_.large(counts_.current) ? 1 : options_.packages * times;
  for (const auto& summary : built.summary.kernels) {
    if (summary.name != "k" + std::to_string(item.number)) continue;
    now("claims");
    try {
      const auto result =
          check_claims(summary, kernel, item.number, *native_, built.native, built.twin, packages,
                       std::min(native_->max_work_group(), tutti_->max_work_group()), random_);
      counts_.packages += result.checked;
      return result.violation.empty() ? "" : "claim: " + result.violation;
    } catch (const LaunchFailed& error) {
      return "vendor: the instrumented twin, " + std::string(error.what());
    }
  }
  return "claim: no summary";
}

std::string Tester::judge_alone(const KernelCase& kernel, uint32_t times) {
  Item item;
  item.number = extra_++;
  item.kernel = kernel;
  try {
    return judge(build({&item}), item, times);
  } catch (const std::runtime_error& error) {
    return "build: " + std::string(error.what());
  }
}

void Tester::run_program(const std::vector<Item>& items) {
  counts_.current = items.front().number;
  counts_.alone = items.size() == 1;
  std::optional<Built> built;
  std::vector<const Item*> pointers;
  for (const Item& item : items) pointers.push_back(&item);
  try {
    built = build(pointers);
  } catch (const std::runtime_error&) {
    counts_.alone = true;
  }
  for (const Item& item : items) {
    counts_.current = item.number;
    std::string why;
    try {
      // What Tutti decides for a kernel depends on what it knows of it.
      const uint32_t times = options_.large(item.number) ? 2 : 1;
      why = built ? judge(*built, item, times) : judge_alone(item.kernel, times);
    } catch (const std::runtime_error& error) {
      why = "failure: " + std::string(error.what());
    }
    ++counts_.kernels;
    if (!why.empty()) report(item, why);
  }
}

void Tester::report(const Item& item, std::string why) {
  progress_.end();
  const auto number = static_cast<unsigned long long>(item.number);
  const std::string kind = kind_of(why);
  if (kind != "claim" && kind != "unsteady") {
    now("vendors asked");
    const std::string fault =
        kind == "vendor" ? why.substr(8) : vendors_fault({item.kernel}, options_);
    if (!fault.empty()) {
      ++counts_.vendor_faults;
      std::fprintf(stderr, "\nkernel %llu: vendor's fault: %s\n", number, fault.c_str());
      return;
    }
  }
  ++counts_.failures;
  counts_.reported = true;
  std::fprintf(stderr, "\nkernel %llu (--only %llu) FAILED\n%s\n", number, number, why.c_str());
  KernelCase smallest = item.kernel;
  const std::string first_why = why;
  if (options_.shrink && !item.choices.empty() && counts_.failures <= 10) {
    constexpr uint32_t kTimes = 4;  // packages are cut at random
    const auto fails = [&](const std::vector<uint32_t>& list) {
      Choices choices(list);
      const KernelCase kernel = make_case(choices, offer_, options_.large(item.number));
      const std::string answer = judge_alone(kernel, kTimes);
      if (kind_of(answer) != kind) return false;
      why = answer;
      smallest = kernel;
      return true;
    };
    if (!fails(item.choices)) {
      std::fprintf(stderr,
                   "(not again when alone; the whole program is needed, or other packages)\n");
    } else {
      shrunk(item.choices, fails, std::chrono::seconds(120));
      if (kind != "claim" && !vendors_fault({smallest}, options_).empty()) {
        std::fprintf(stderr, "(shrunk, it becomes a vendor's fault: here it is as it was)\n");
        smallest = item.kernel;
        why = first_why;
      }
    }
  }
  const std::string text = to_text(smallest);
  std::fprintf(stderr, "--- smallest:\n%s\n%s---\n", why.c_str(), text.c_str());
  keep(item, why, text);
  counts_.reported = false;
}

void Tester::keep(const Item& item, const std::string& why, const std::string& text) const {
  if (options_.keep.empty()) return;
  const std::string name = options_.keep + "/" + std::to_string(options_.seed) + "-" +
                           std::to_string(item.number) + ".kernel";
  std::ofstream file(name);
  std::istringstream lines(why);
  for (std::string line; std::getline(lines, line);) file << "# " << line << '\n';
  const std::string& balancer = options_.balancer_of(item.number / options_.program_size);
  if (!balancer.empty()) file << "# --balancers " << balancer << '\n';
  file << text;
  if (!file) std::fprintf(stderr, "%s could not be written\n", name.c_str());
}

void Tester::run(const Lane& lane) {
  const auto make = [&](uint64_t number) {
    Item item;
    item.number = number;
    item.kernel = case_of(options_, number, offer_, &item.choices);
    return item;
  };
  if (options_.only) {
    if (lane.from <= *options_.only) run_program({make(*options_.only)});
    return;
  }
  for (uint64_t first = lane.number * options_.program_size; first < options_.kernels;
       first += lane.count * options_.program_size) {
    const uint64_t end = std::min(first + options_.program_size, options_.kernels);
    if (end <= lane.from) continue;
    std::vector<Item> items;
    for (uint64_t i = std::max(first, lane.from); i < end; ++i) items.push_back(make(i));
    if (first < lane.alone_until) {
      for (const Item& item : items) run_program({item});
    } else {
      run_program(items);
    }
    if (lane.number == 0) progress_.count("kernels", end, options_.kernels);
    if (counts_.failures >= kMostFailures) return;
  }
}

void Tester::replay(const std::string& file) {
  Item item;
  item.number = counts_.kernels;
  item.kernel = read_case(file);
  counts_.current = item.number;
  counts_.alone = true;
  std::string why;
  try {
    why = judge(build({&item}), item, 8);
  } catch (const std::runtime_error& error) {
    why = "failure: " + std::string(error.what());
  }
  ++counts_.kernels;
  if (why.empty()) return;
  std::fprintf(stderr, "%s:\n", file.c_str());
  report(item, why);
}

}  // namespace tutti::kernel_fuzz
