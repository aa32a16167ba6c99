// SPDX-License-Identifier: Apache-2.0
#include "base/nvml.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/clock.h"
#include "base/process_exit.h"

namespace tutti {

// NVML's binary interface, as far as it is used (NVML API reference, chapters "Initialization and
// Cleanup" and "Device Queries"). Calls return 0 for success.
struct NvmlLibrary::Functions {
  using Code = int;
  using Device = void*;
  Code (*init)() = nullptr;
  const char* (*error_string)(Code) = nullptr;
  Code (*device_by_address)(const char* pci_address, Device* device) = nullptr;
  Code (*total_energy)(Device device, unsigned long long* millijoules) = nullptr;  // may be absent
  Code (*power)(Device device, unsigned int* milliwatts) = nullptr;

  std::string error(Code code) const {
    const char* const text = error_string ? error_string(code) : nullptr;
    return text ? fmt::format("{} ({})", text, code) : fmt::format("NVML's error {}", code);
  }
};

class NvmlSensor final : public EnergySensor {
 public:
  using Functions = NvmlLibrary::Functions;
  NvmlSensor(std::shared_ptr<const Functions> nvml, Functions::Device device, std::string name)
      : nvml_(std::move(nvml)), device_(device), name_(std::move(name)) {}

  /// Takes the first reading; 0 or NVML's error.
  Functions::Code begin() {
    unsigned long long millijoules = 0;
    if (nvml_->total_energy && nvml_->total_energy(device_, &millijoules) == 0) {
      counts_ = true;
      last_millijoules_ = millijoules;
      return 0;
    }
    unsigned int milliwatts = 0;
    const Functions::Code code = nvml_->power(device_, &milliwatts);
    last_watts_ = milliwatts * 1e-3;
    last_ns_ = now_ns();
    return code;
  }

  const std::string& name() const override { return name_; }
  std::optional<double> joules() override {
    if (counts_) {
      unsigned long long millijoules = 0;
      if (nvml_->total_energy(device_, &millijoules) != 0) return std::nullopt;
      // It begins anew when the driver is loaded anew.
      const uint64_t used =
          millijoules >= last_millijoules_ ? millijoules - last_millijoules_ : millijoules;
      joules_ += static_cast<double>(used) * 1e-3;
      last_millijoules_ = millijoules;
      return joules_;
    }
    unsigned int milliwatts = 0;
    if (nvml_->power(device_, &milliwatts) != 0) return std::nullopt;
    const double watts = milliwatts * 1e-3;
    const uint64_t now = now_ns();
    joules_ += (last_watts_ + watts) / 2 * seconds_between(last_ns_, now);
    last_watts_ = watts;
    last_ns_ = now;
    return joules_;
  }

 private:
  const std::shared_ptr<const Functions> nvml_;
  const Functions::Device device_;
  const std::string name_;
  bool counts_ = false;
  uint64_t last_millijoules_ = 0;
  double last_watts_ = 0;
  uint64_t last_ns_ = 0;
  double joules_ = 0;
};

NvmlLibrary::NvmlLibrary(std::shared_ptr<const Functions> functions)
    : functions_(std::move(functions)) {}
NvmlLibrary::~NvmlLibrary() = default;

std::unique_ptr<NvmlLibrary> NvmlLibrary::open(const std::string& library, std::string& absent) {
  void* const handle = library.empty() ? nullptr : dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* const why = library.empty() ? "none is named" : dlerror();
    absent = fmt::format("NVML could not be loaded: {}", why ? why : library.c_str());
    return nullptr;
  }
  auto functions = std::make_shared<Functions>();
  const auto find = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
    return function != nullptr;
  };
  find("nvmlErrorString", functions->error_string);
  find("nvmlDeviceGetTotalEnergyConsumption", functions->total_energy);
  if (!find("nvmlInit_v2", functions->init) ||
      !find("nvmlDeviceGetHandleByPciBusId_v2", functions->device_by_address) ||
      !find("nvmlDeviceGetPowerUsage", functions->power)) {
    absent = fmt::format("{} is not NVML, or too old: functions are missing", library);
    return nullptr;  // loaded it stays, as all vendors' libraries do
  }
  const Functions::Code code = functions->init();
  watch_process_exit();
  if (code != 0) {
    absent = fmt::format("NVML does not start: {}", functions->error(code));
    return nullptr;
  }
  return std::unique_ptr<NvmlLibrary>(new NvmlLibrary(std::move(functions)));
}

FoundSensor NvmlLibrary::sensor(const std::string& pci_address) const {
  Functions::Device device = nullptr;
  if (const auto code = functions_->device_by_address(pci_address.c_str(), &device); code != 0) {
    return {nullptr, fmt::format("NVML does not know the GPU at {}: {}", pci_address,
                                 functions_->error(code))};
  }
  auto sensor = std::make_unique<NvmlSensor>(functions_, device, "NVML " + pci_address);
  if (const auto code = sensor->begin(); code != 0) {
    return {nullptr, fmt::format("NVML tells no power of the GPU at {}: {}", pci_address,
                                 functions_->error(code))};
  }
  return {std::move(sensor), {}};
}

}  // namespace tutti
