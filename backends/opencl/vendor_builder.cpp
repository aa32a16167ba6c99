// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/vendor_builder.h"

#include <dlfcn.h>
#include <fmt/core.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "backends/opencl/device_traits.h"
#include "backends/opencl/first_launches.h"
#include "backends/opencl/quirks.h"
#include "base/config.h"
#include "base/keep_forever.h"
#include "base/kept_file.h"
#include "base/log.h"
#include "base/own_files.h"

namespace tutti::backends {
namespace {

constexpr std::string_view kFormat = "tutti-build 1\n";

/// True for all but the first that come with this source and driver.
bool built_by_another(const DevicePlace& place, const std::string& source) {
  static NeverDestroyed<Mutex> mutex;
  static NeverDestroyed<std::set<std::pair<std::string, uint64_t>>> seen;
  const MutexLock lock(*mutex);
  return !seen->emplace(place.library, XXH3_64bits(source.data(), source.size())).second;
}

/// What is being built, by anybody whose builds others find.
struct UnderWay {
  Mutex mutex;
  ConditionVariable ended;
  std::set<uint64_t> builds TUTTI_GUARDED_BY(mutex);
};
UnderWay& under_way() {
  static NeverDestroyed<UnderWay> builds;
  return *builds;
}

/// What a crash is remembered by.
std::string key_of(const DeviceTraits& traits, const std::string& source,
                   const std::string& options) {
  const XXH128_hash_t hash = XXH3_128bits(source.data(), source.size());
  return fmt::format("{}\n{}\n{}\n{:016x}{:016x}\n{}\n", traits.platform_name,
                     traits.driver_version, traits.device_name, hash.high64, hash.low64, options);
}

/// Empty where nothing is remembered.
std::string file_of(const std::string& key) {
  const std::string folder = cache_folder(process_config());
  if (folder.empty()) return {};
  return fmt::format("{}/builds/{:016x}", folder, XXH3_64bits(key.data(), key.size()));
}

/// What happened: nothing where all went well. A file holds the format, the key and that.
std::optional<std::string> recall(const std::string& key) {
  const std::string file = file_of(key);
  if (file.empty()) return std::nullopt;
  const auto kept = read_kept(file);
  const std::string head = std::string(kFormat) + key;
  if (!kept || !kept->starts_with(head)) return std::nullopt;
  if (kept->size() == head.size()) return std::string();
  return fmt::format("{} (remembered; remove {} to try again)", kept->substr(head.size()), file);
}

void remember(const std::string& key, const std::string& what) {
  const std::string file = file_of(key);
  if (file.empty()) return;
  if (const Status kept = keep_file(file, std::string(kFormat) + key + what); !kept) {
    log(LogLevel::kDebug, "how a build went is not remembered: {}", kept.error().message);
  }
}

Status its_compiler(const std::string& what) {
  return fail(CL_BUILD_PROGRAM_FAILURE, "its compiler " + what);
}

}  // namespace

std::unique_ptr<HelperProcess> VendorBuilder::idle_helper() {
  const MutexLock lock(mutex_);
  std::unique_ptr<HelperProcess> idle = std::move(idle_);
  return idle != nullptr && idle->alive() ? std::move(idle) : nullptr;
}

std::unique_ptr<HelperProcess> VendorBuilder::helper() {
  if (std::unique_ptr<HelperProcess> idle = idle_helper()) return idle;
  const Config& config = process_config();
  const std::string program = find_own_program(kBuilderProgram);
  if (program.empty()) return nullptr;
  auto started = HelperProcess::start(
      program,
      {"vendor", device_.place.library, std::to_string(device_.place.platform),
       std::to_string(device_.place.device), traits_.device_name},
      {config.build_seconds.value, config.build_memory.value}, {std::string(kInsideProbe) + "=1"});
  const std::string why = !started ? "cannot be started: " + started.error().message
                          : (*started)->greeting().kind == HelperMessageKind::kAnswer
                              ? std::string()
                              : (*started)->greeting().text;
  if (why.empty()) return std::move(*started);
  log(LogLevel::kInfo, "{} builds in the application: its helper {}", device_.name, why);
  return nullptr;
}

VendorBuilder::Turn::Turn(uint64_t build) : build_(build) {
  UnderWay& all = under_way();
  const MutexLock lock(all.mutex);
  all.ended.wait(all.mutex,
                 [&]() TUTTI_REQUIRES(all.mutex) { return !all.builds.contains(build); });
  all.builds.insert(build);
}

VendorBuilder::Turn::~Turn() {
  if (build_ == 0) return;
  UnderWay& all = under_way();
  const MutexLock lock(all.mutex);
  all.builds.erase(build_);
  all.ended.notify_all();
}

VendorBuilder::Turn VendorBuilder::turn(const std::string& source,
                                        const std::string& options) const {
  if (!device_.quirks.serial_builds || device_.quirks.distinct_builds) return {};
  const std::string key = key_of(traits_, source, options);
  return Turn(std::max<uint64_t>(XXH3_64bits(key.data(), key.size()), 1));
}

bool VendorBuilder::in_helpers() const {
  // What equal devices share one of them builds, in the application.
  return device_.quirks.serial_builds && device_.quirks.distinct_builds &&
         !device_.place.library.empty() && process_config().builds.value != BuildPlace::kInside;
}

std::optional<bool> VendorBuilder::is_kept(const std::string& source,
                                           const std::string& options) const {
  if (!in_helpers() || cache_folder(process_config()).empty()) return std::nullopt;
  const auto known = recall(key_of(traits_, source, options));
  return known && known->empty();
}

Status VendorBuilder::build_ahead(const std::string& source, const std::string& options) {
  if (!in_helpers()) return {};
  const std::string key = key_of(traits_, source, options);
  if (const auto known = recall(key)) {
    // What went well is on disk, as far as its driver still has it.
    return known->empty() ? Status() : its_compiler(*known);
  }
  if (!built_by_another(device_.place, source)) return {};
  std::unique_ptr<HelperProcess> process = helper();
  if (process == nullptr) return {};
  const HelperMessage answer = ask(std::move(process), options + '\0' + source);
  switch (answer.kind) {
    case HelperMessageKind::kFailed:
      remember(key, answer.text);
      return its_compiler(answer.text);
    case HelperMessageKind::kTransient:
      return its_compiler(answer.text);
    case HelperMessageKind::kAnswer:
      remember(key, {});
      return {};
    default:
      return {};
  }
}

bool VendorBuilder::launch_ahead(const BuiltText& text, const std::string& launch) {
  // Starting one would take longer than most kernels' first launches do.
  std::unique_ptr<HelperProcess> process = idle_helper();
  if (process == nullptr) return false;
  const HelperMessage answer =
      ask(std::move(process), text.options + '\0' + text.source + '\0' + launch);
  if (answer.kind == HelperMessageKind::kAnswer) return true;
  log(LogLevel::kInfo, "{} compiles first launches in the application: its helper {}", device_.name,
      answer.text);
  return false;
}

HelperMessage VendorBuilder::ask(std::unique_ptr<HelperProcess> process,
                                 const std::string& request) {
  HelperMessage answer = process->ask(request);
  if (answer.kind == HelperMessageKind::kAnswer) {
    const MutexLock lock(mutex_);
    idle_ = std::move(process);
  }
  return answer;
}

Result<VendorDevice> find_device(const DevicePlace& place, const std::string& name) {
  void* const library = dlopen(place.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const function =
      library != nullptr ? dlsym(library, "clGetExtensionFunctionAddress") : nullptr;
  if (function == nullptr) return fail(CL_DEVICE_NOT_AVAILABLE, "cannot load " + place.library);
  TUTTI_ASSIGN(const auto platforms, vendor_platforms(function));
  if (place.platform >= platforms.size()) return fail(CL_DEVICE_NOT_AVAILABLE, "has no platform");
  const cl_platform_id platform = platforms[place.platform];
  TUTTI_ASSIGN(VendorFunctions functions, read_vendor_functions(platform));
  static const auto* const cl = new VendorFunctions(std::move(functions));
  cl_uint count = 0;
  if (cl->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS ||
      place.device >= count) {
    return fail(CL_DEVICE_NOT_AVAILABLE, "has no such device");
  }
  std::vector<cl_device_id> devices(count);
  const cl_int code =
      cl->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, devices.data(), nullptr);
  if (code != CL_SUCCESS) return fail(code, "has no devices");
  VendorDevice found;
  found.cl = cl;
  found.platform = platform;
  found.device = devices[place.device];
  DeviceQuery query(*cl, found.device);
  found.name = query.text(CL_DEVICE_NAME);
  if (found.name != name) return fail(CL_DEVICE_NOT_AVAILABLE, "finds another device");
  return found;
}

void HelpersBuilds::carry_out(std::string_view request) {
  const size_t source = request.find('\0') + 1;
  const size_t end = std::min(request.find('\0', source), request.size());
  const cl_program program = build(request.substr(0, end));
  if (program == nullptr || end == request.size()) return;
  launch_in_helper(device_, context_, program, std::string(request.substr(end + 1)));
}

cl_program HelpersBuilds::build(std::string_view text) {
  if (program_.get() != nullptr && text == text_) return program_.get();
  text_ = text;
  const std::string options(text.substr(0, text.find('\0')));
  const char* source = text_.data() + options.size() + 1;
  const size_t size = text_.size() - options.size() - 1;
  cl_int code = CL_SUCCESS;
  program_ = OwnedProgram(device_.cl->clCreateProgramWithSource(context_, 1, &source, &size, &code),
                          device_.cl->clReleaseProgram);
  if (code != CL_SUCCESS) return nullptr;
  // Its errors are found again, and told, where it is built next.
  static_cast<void>(device_.cl->clBuildProgram(program_.get(), 1, &device_.device, options.c_str(),
                                               nullptr, nullptr));
  return program_.get();
}

}  // namespace tutti::backends
