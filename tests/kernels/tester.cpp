// SPDX-License-Identifier: Apache-2.0
#include "tester.h"

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "builder.h"
#include "shrink.h"

namespace tutti::kernel_fuzz {
namespace {

std::string hex(const Bytes& bytes, size_t at) {
  char text[8];
  std::snprintf(text, sizeof text, "%02x", bytes.at(at));
  return text;
}

std::string kind_of(const std::string& why) { return why.substr(0, why.find(':')); }

std::string first_platform_but(const std::string& name) {
  cl_uint count = 0;
  clGetPlatformIDs(0, nullptr, &count);
  std::vector<cl_platform_id> platforms(count);
  if (count > 0) clGetPlatformIDs(count, platforms.data(), nullptr);
  for (cl_platform_id platform : platforms) {
    char text[256] = "";
    clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof text, text, nullptr);
    cl_uint devices = 0;
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &devices);
    if (devices > 0 && std::string(text).find(name) == std::string::npos) return text;
  }
  throw std::runtime_error("no platform but " + name);
}

}  // namespace

Tester::Tester(const Options& options, Counts& counts)
    : options_(options), counts_(counts), random_(options.seed) {
  const std::string native =
      options.native.empty() ? first_platform_but(options.virtual_platform) : options.native;
  native_ = Device::find(native);
  tutti_ = Device::find(options.virtual_platform);
  if (!native_) throw std::runtime_error("no device of a platform '" + native + "'");
  if (!tutti_)
    throw std::runtime_error("no device of a platform '" + options.virtual_platform + "'");
  atomics64_ = true;
  for (const char* extension : {"cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"}) {
    atomics64_ = atomics64_ && native_->has(extension) && tutti_->has(extension);
  }
}

void Tester::now(uint64_t number, const char* doing) {
  counts_.current = number;
  std::strncpy(counts_.doing, doing, sizeof counts_.doing - 1);
  if (options_.trace)
    std::fprintf(stderr, "k%llu: %s\n", static_cast<unsigned long long>(number), doing);
}

Tester::Item Tester::make(uint64_t number) const {
  // One seed for each, so that any can be made alone.
  std::seed_seq mixed{static_cast<uint32_t>(options_.seed),
                      static_cast<uint32_t>(options_.seed >> 32), static_cast<uint32_t>(number)};
  uint32_t words[2];
  mixed.generate(words, words + 2);
  Choices choices(uint64_t{words[0]} << 32 | words[1]);
  Item item;
  item.number = number;
  item.kernel = make_case(choices, atomics64_);
  item.choices = choices.list();
  return item;
}

Tester::Built Tester::build(const std::vector<const Item*>& items) {
  std::string text;
  if (atomics64_) {
    text +=
        "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n"
        "#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable\n";
  }
  std::string kernels;
  for (const Item* item : items) kernels += "\n" + item->kernel.text(item->number);
  Built built;
  const uint64_t number = items.front()->number;
  now(number, "native build");
  built.native = native_->build(text + prelude(false) + kernels, options_.build_options);
  now(number, "build");
  built.tutti = tutti_->build(text + prelude(false) + kernels, options_.build_options);
  if (options_.packages > 0) {
    now(number, "build of the twin");
    built.twin = native_->build(text + prelude(true) + kernels, options_.build_options);
    built.summary = summaries_of(text + prelude(false) + kernels, *tutti_);
  }
  return built;
}

std::string Tester::compare(const KernelCase& kernel, const std::vector<Bytes>& expected,
                            const std::vector<Bytes>& actual) const {
  const auto initial = kernel.contents();
  std::ostringstream text;
  int shown = 0;
  for (size_t r = 0; r < expected.size(); ++r) {
    for (size_t i = 0; i < expected[r].size(); ++i) {
      if (expected[r][i] == actual[r][i] || shown++ >= 8) continue;
      text << (shown == 1 ? "difference:" : "") << " root " << r << " byte " << i << " is "
           << hex(actual[r], i) << ", should be " << hex(expected[r], i) << ", was "
           << hex(initial[r], i) << '\n';
    }
  }
  if (shown > 8) text << " and " << shown - 8 << " more\n";
  return text.str();
}

std::string Tester::judge(const Built& built, const Item& item, uint32_t times) {
  const KernelCase& kernel = item.kernel;
  std::vector<Bytes> expected;
  cl_int native_error = CL_SUCCESS;
  std::string native_text;
  try {
    now(item.number, "native run");
    expected = native_->run(built.native, item.number, kernel);
  } catch (const ClError& error) {
    native_error = error.code;
    native_text = error.what();
  }
  for (uint32_t i = 0; i < times; ++i) {
    cl_int tutti_error = CL_SUCCESS;
    std::string tutti_text;
    std::vector<Bytes> actual;
    try {
      now(item.number, "run");
      actual = tutti_->run(built.tutti, item.number, kernel);
      counts_.launches += kernel.repeat;
    } catch (const ClError& error) {
      tutti_error = error.code;
      tutti_text = error.what();
    }
    if ((native_error == CL_SUCCESS) != (tutti_error == CL_SUCCESS)) {
      return "error: natively '" + native_text + "', through Tutti '" + tutti_text + "'";
    }
    if (native_error != CL_SUCCESS) {
      ++counts_.refused;
      if (options_.trace) std::fprintf(stderr, "refused: %s\n", native_text.c_str());
      return {};
    }
    const std::string difference = compare(kernel, expected, actual);
    if (difference.empty()) continue;
    if (native_->run(built.native, item.number, kernel) != expected) {
      return "unsteady: natively, two runs differ";
    }
    return difference;
  }
  if (options_.packages == 0) return {};
  for (const auto& summary : built.summary.kernels) {
    if (summary.name != "k" + std::to_string(item.number)) continue;
    now(item.number, "claims");
    const auto result = check_claims(
        summary, kernel, item.number, *native_, built.native, built.twin, options_.packages * times,
        std::min(native_->max_work_group(), tutti_->max_work_group()), random_);
    counts_.packages += result.checked;
    return result.violation.empty() ? "" : "claim: " + result.violation;
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
  Built built;
  std::vector<const Item*> pointers;
  for (const Item& item : items) pointers.push_back(&item);
  try {
    built = build(pointers);
  } catch (const std::runtime_error&) {
    for (const Item& item : items) {
      ++counts_.kernels;
      const std::string why = judge_alone(item.kernel, 1);
      if (!why.empty()) report(item, why);
    }
    return;
  }
  for (const Item& item : items) {
    ++counts_.kernels;
    std::string why;
    try {
      why = judge(built, item, 1);
    } catch (const std::runtime_error& error) {
      why = "failure: " + std::string(error.what());
    }
    if (!why.empty()) report(item, why);
  }
}

void Tester::report(const Item& item, std::string why) {
  ++counts_.failures;
  std::fprintf(stderr, "\nkernel %llu (--only %llu) FAILED\n%s\n",
               static_cast<unsigned long long>(item.number),
               static_cast<unsigned long long>(item.number), why.c_str());
  KernelCase smallest = item.kernel;
  if (options_.shrink && !item.choices.empty() && counts_.failures <= 10) {
    constexpr uint32_t kTimes = 4;  // packages are cut at random
    const std::string kind = kind_of(why);
    const auto fails = [&](const std::vector<uint32_t>& list) {
      Choices choices(list);
      const KernelCase kernel = make_case(choices, atomics64_);
      const std::string answer = judge_alone(kernel, kTimes);
      if (kind_of(answer) != kind) return false;
      why = answer;
      smallest = kernel;
      return true;
    };
    if (fails(item.choices)) {
      shrunk(item.choices, fails, std::chrono::seconds(120));
    } else {
      std::fprintf(stderr,
                   "(not again when alone; the whole program is needed, or other packages)\n");
    }
  }
  std::string text = to_text(smallest);
  std::fprintf(stderr, "--- smallest:\n%s\n%s---\n", why.c_str(), text.c_str());
  if (options_.keep.empty()) return;
  const std::string name = options_.keep + "/" + std::to_string(options_.seed) + "-" +
                           std::to_string(item.number) + ".kernel";
  std::ofstream file(name);
  std::istringstream lines(why);
  for (std::string line; std::getline(lines, line);) file << "# " << line << '\n';
  file << text;
  if (!file) std::fprintf(stderr, "%s could not be written\n", name.c_str());
}

void Tester::run(uint32_t job) {
  if (options_.only) {
    run_program({make(*options_.only)});
    return;
  }
  for (uint64_t first = job * options_.program_size; first < options_.kernels;
       first += options_.jobs * options_.program_size) {
    std::vector<Item> items;
    const uint64_t end = std::min(first + options_.program_size, options_.kernels);
    for (uint64_t i = first; i < end; ++i) items.push_back(make(i));
    run_program(items);
    if (job == 0 && isatty(STDERR_FILENO) != 0) {
      std::fprintf(stderr, "\r%llu of %llu", static_cast<unsigned long long>(end),
                   static_cast<unsigned long long>(options_.kernels));
      if (end + options_.program_size >= options_.kernels) std::fputc('\n', stderr);
    }
    if (counts_.failures >= 20) return;
  }
}

void Tester::replay(const std::string& file) {
  std::ifstream in(file);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  Item item;
  item.number = counts_.kernels++;
  item.kernel = from_text(text);
  std::string why;
  try {
    why = judge(build({&item}), item, 8);
  } catch (const std::runtime_error& error) {
    why = "failure: " + std::string(error.what());
  }
  if (why.empty()) return;
  std::fprintf(stderr, "%s:\n", file.c_str());
  report(item, why);
}

}  // namespace tutti::kernel_fuzz
