// SPDX-License-Identifier: Apache-2.0
#include "claims.h"

#include <algorithm>
#include <functional>
#include <sstream>

#include "scheduler/access/local_size.h"

namespace tutti::kernel_fuzz {
namespace {

using scheduler::ArgumentUse;

/// The bytes of each root that the uses allow to be read and written. The one place that knows what
/// a use is made of.
struct Allowed {
  std::vector<Bytes> read, written;
  void add(const KernelCase& kernel, const ArgumentUse& use) {
    const CaseArgument& argument = kernel.arguments.at(use.argument);
    const auto mark = [&](Bytes& bytes, uint64_t begin, uint64_t end) {
      for (uint64_t i = begin; i < end; ++i) bytes.at(argument.origin + i) = 1;
    };
    use.for_each_read([&](uint64_t begin, uint64_t end) { mark(read[argument.root], begin, end); });
    use.write.for_each(
        [&](uint64_t begin, uint64_t end) { mark(written[argument.root], begin, end); });
  }
};

/// Bytes that a use promises to have stored, all of them. Those that it reads as well are valid
/// before, and may be stored as they were: a component of a vector is stored with its neighbours.
std::string broken_promise(const KernelCase& kernel, const ArgumentUse& use,
                           const Touched& touched) {
  if (!use.overwrites) return {};
  const CaseArgument& argument = kernel.arguments.at(use.argument);
  std::string broken;
  Bytes read(kernel.roots.at(argument.root).size);
  use.for_each_read([&](uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; ++i) read.at(i) = 1;
  });
  use.write.for_each([&](uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end && broken.empty(); ++i) {
      if (read.at(i) || touched.stored[argument.root].at(argument.origin + i)) continue;
      broken = "argument " + std::to_string(use.argument) + " byte " + std::to_string(i) +
               " is promised to be stored, and is not";
    }
  });
  return broken;
}

/// Whether anything that the package wrote depends on bytes that were not predicted to be read. A
/// compiler may drop a load whose value has no effect; the twin records it.
bool matters(const KernelCase& kernel, const Touched& touched, const std::vector<Bytes>& suspects,
             const std::function<std::vector<Bytes>(const std::vector<Bytes>&)>& run) {
  const std::vector<Bytes> initial = kernel.contents();
  std::vector<Bytes> changed = initial;
  for (size_t r = 0; r < changed.size(); ++r) {
    for (size_t i = 0; i < changed[r].size(); ++i) {
      if (!suspects[r][i]) continue;
      // Indices stay near where they were.
      bool index = false;
      for (const Pattern& pattern : kernel.roots[r].patterns) {
        index |= i >= pattern.offset && i < pattern.offset + pattern.count * pattern.width;
      }
      const auto& links = kernel.roots[r].links;
      if (std::any_of(links.begin(), links.end(),
                      [&](const Link& link) { return i >= link.offset && i < link.offset + 8; })) {
        continue;  // any other address is somewhere else
      }
      changed[r][i] ^= index ? 1 : 0xff;
    }
  }
  const auto before = run(initial), after = run(changed);
  for (size_t r = 0; r < before.size(); ++r) {
    for (size_t i = 0; i < before[r].size(); ++i) {
      const bool written = touched.stored[r][i] || touched.atomic[r][i];
      if (written && before[r][i] != after[r][i]) return true;
    }
  }
  return false;
}

std::string check_package(const KernelCase& kernel, const EvaluatedLaunch& launch,
                          const std::vector<ArgumentUse>& uses, const Touched& touched,
                          const std::function<std::vector<Bytes>(const std::vector<Bytes>&)>& run) {
  Allowed allowed;
  for (const Root& root : kernel.roots) {
    // Through a pointer into shared memory a kernel may go back as well as forth.
    const bool all =
        root.shared() && (launch.reaches || (!launch.split() && !launch.access.exact()));
    allowed.read.emplace_back(root.size, all);
    allowed.written.emplace_back(root.size, all);
  }
  // Of a launch that is not understood, Tutti believes no more than which arguments are written.
  if (!launch.split() && !launch.access.exact()) {
    for (uint32_t i = 0; i < kernel.arguments.size(); ++i) {
      const CaseArgument& argument = kernel.arguments[i];
      if (argument.kind != CaseArgument::Kind::kBuffer) continue;
      ArgumentUse use;
      use.argument = i;
      use.read.range = {0, argument.size};
      if (launch.written[i]) use.write.range = {0, argument.size};
      allowed.add(kernel, use);
    }
  }
  for (const ArgumentUse& use : uses) {
    const std::string broken = broken_promise(kernel, use, touched);
    if (!broken.empty()) return broken;
    allowed.add(kernel, use);
  }
  std::vector<Bytes> suspects;
  std::string unpredicted;
  for (size_t r = 0; r < kernel.roots.size(); ++r) {
    suspects.emplace_back(kernel.roots[r].size);
    for (size_t i = 0; i < kernel.roots[r].size; ++i) {
      const std::string where = "root " + std::to_string(r) + " byte " + std::to_string(i);
      if ((touched.stored[r][i] || touched.atomic[r][i]) && !allowed.written[r][i]) {
        return where + " is written, and not predicted to be";
      }
      if (touched.read[r][i] && !allowed.read[r][i]) {
        suspects[r][i] = 1;
        if (unpredicted.empty()) unpredicted = where + " is read, and not predicted to be";
      }
    }
  }
  if (unpredicted.empty() || !matters(kernel, touched, suspects, run)) return {};
  return unpredicted;
}

}  // namespace

kernel_compiler::CompileOutput compiled(const std::string& source, const Device& device,
                                        const std::string& options) {
  kernel_compiler::CompileRequest request;
  request.source = source;
  std::istringstream words(device.extensions());
  for (std::string word; words >> word;) request.extensions.push_back(word);
  request.options = options;
  request.opencl_c = device.language();
  request.fp64 = device.has("cl_khr_fp64");
  for (const std::string& feature : device.features()) request.device_macros[feature] = "1";
  auto output = kernel_compiler::compile(request);
  if (!output) throw std::runtime_error(output.error().message);
  if (!output->ok)
    throw std::runtime_error("the front end refuses: " + output->log.substr(0, 2000));
  return std::move(*output);
}

EvaluatedLaunch evaluated(const scheduler::KernelSummary& summary, const KernelCase& kernel,
                          uint64_t max_work_group) {
  scheduler::LaunchShape shape;
  shape.dims = kernel.dims;
  shape.global = kernel.global;
  shape.offset = kernel.offset;
  if (kernel.local_given()) {
    shape.local = kernel.local;
  } else {
    choose_local(shape, max_work_group);
  }
  std::vector<scheduler::ArgumentValue> values(kernel.arguments.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const CaseArgument& argument = kernel.arguments[i];
    if (argument.kind == CaseArgument::Kind::kScalar) {
      values[i].scalar = std::as_bytes(std::span(argument.scalar));
    } else if (argument.kind == CaseArgument::Kind::kBuffer) {
      values[i].buffer = argument.root + 1;
      values[i].origin = argument.origin;
      values[i].size = argument.size;
      if (kernel.roots[argument.root].shared()) values[i].before = argument.origin;
    }
  }
  auto access = scheduler::LaunchAccess::evaluate(summary, shape, values);
  EvaluatedLaunch launch;
  launch.shape = shape;
  launch.access = std::move(access);
  launch.reaches = summary.uses_addresses && kernel.has_shared();
  for (size_t i = 0; i < values.size(); ++i) {
    launch.written.push_back(!summary.whole_reason.empty() &&
                             summary.arguments.at(i).kind != scheduler::ArgKind::kConstant);
  }
  for (const scheduler::Access& use : summary.accesses) {
    if (use.kind != scheduler::AccessKind::kLoad) launch.written.at(use.argument) = true;
  }
  for (const auto& value : values) launch.at_home |= value.before != 0 && !launch.access.exact();
  return launch;
}

ClaimResult check_claims(const scheduler::KernelSummary& summary, const KernelCase& kernel,
                         uint64_t number, Device& device, const Program& plain, const Program& twin,
                         uint32_t packages, uint64_t max_work_group, std::mt19937_64& random) {
  const EvaluatedLaunch launch = evaluated(summary, kernel, max_work_group);
  const scheduler::LaunchShape& shape = launch.shape;
  const scheduler::LaunchAccess& access = launch.access;
  ClaimResult result;
  result.split = launch.split();
  Recording recording;
  recording.local = shape.local;
  recording.dimension = access.verdict().dimension;
  const uint64_t slices = launch.slices();
  for (uint32_t i = 0; i < (result.split ? packages : 1); ++i) {
    std::vector<ArgumentUse> uses = access.whole();
    if (result.split) {
      recording.first = random() % slices;
      recording.end = recording.first + 1 + random() % (slices - recording.first);
      uses = access.package(recording.dimension, recording.first, recording.end - recording.first);
    }
    result.violation =
        check_package(kernel, launch, uses, device.record(twin, number, kernel, recording),
                      [&](const std::vector<Bytes>& initial) {
                        return device.run(plain, number, kernel, &initial);
                      });
    ++result.checked;
    if (!result.violation.empty()) {
      std::ostringstream text;
      text << result.violation << " (";
      if (result.split) {
        text << "slices " << recording.first << " to " << recording.end << " along dimension "
             << recording.dimension;
      } else {
        text << "whole launch";
      }
      text << "; " << access.verdict().reason << ")\n";
      for (const ArgumentUse& use : uses) {
        text << "  argument " << use.argument << ": reads [" << use.read.range.begin << ", "
             << use.read.range.end << "), writes [" << use.write.range.begin << ", "
             << use.write.range.end << ")";
        if (use.write.strided()) {
          text << " " << use.write.length << " of every " << use.write.period << " from "
               << use.write.phase;
        }
        text << " " << merge_mode_name(use.merge) << (use.overwrites ? ", overwrites" : "") << '\n';
      }
      result.violation = text.str();
      return result;
    }
  }
  return result;
}

}  // namespace tutti::kernel_fuzz
