// SPDX-License-Identifier: Apache-2.0
// NVML's stand-in for tests: two GPUs, one of which counts energy; the other one tells its power.
#include <cstring>

namespace {
int counting = 0, telling = 0;  // what stands for the two devices
unsigned long long millijoules = 1'000'000;
unsigned int milliwatts = 50'000;
int start_code = 0;
bool lost = false;
constexpr int kNotSupported = 3, kNotFound = 6, kLost = 15;
}  // namespace

extern "C" {

int nvmlInit_v2() { return start_code; }
const char* nvmlErrorString(int code) {
  return code == kNotFound ? "Not Found" : code == 9 ? "Driver Not Loaded" : "Some Error";
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** device) {
  if (std::strcmp(address, "0000:3b:00.0") == 0) return *device = &counting, 0;
  if (std::strcmp(address, "0000:5e:00.0") == 0) return *device = &telling, 0;
  return kNotFound;
}
int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* value) {
  if (lost) return kLost;
  if (device != &counting) return kNotSupported;
  *value = millijoules;
  return 0;
}
int nvmlDeviceGetPowerUsage(void*, unsigned int* value) {
  if (lost) return kLost;
  *value = milliwatts;
  return 0;
}
/// For the test.
void stub_nvml_set(unsigned long long energy, unsigned int power, int start, bool is_lost) {
  millijoules = energy;
  milliwatts = power;
  start_code = start;
  lost = is_lost;
}

}  // extern "C"
