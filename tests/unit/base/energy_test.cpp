// SPDX-License-Identifier: Apache-2.0
// Energy sensors: RAPL in a powercap folder made by hand, NVML in a stand-in for its library.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>

#include "base/clock.h"
#include "base/energy_sampler.h"
#include "base/nvml.h"
#include "base/rapl.h"
#include "temporary_folder.h"

namespace tutti {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint64_t kRange = 262143328850;  // µJ, as many processors have it

class Rapl : public ::testing::Test {
 protected:
  void zone(const std::string& path, const std::string& name, uint64_t energy) const {
    folder_.write(path + "/name", name + "\n");
    folder_.write(path + "/max_energy_range_uj", std::to_string(kRange) + "\n");
    set(path, energy);
  }
  void set(const std::string& path, uint64_t energy) const {
    folder_.write(path + "/energy_uj", std::to_string(energy) + "\n");
  }
  TemporaryFolder folder_;
};

TEST_F(Rapl, CountsPackagesAndNothingTwice) {
  zone("intel-rapl:0", "package-0", 5'000'000);
  zone("intel-rapl:0/intel-rapl:0:0", "core", 1'000'000);
  zone("intel-rapl:0:0", "core", 1'000'000);  // as a link beside it
  zone("intel-rapl:0:1", "dram", 1'000'000);
  zone("intel-rapl:1", "package-1", 7'000'000);
  zone("intel-rapl:2", "psys", 90'000'000);
  zone("intel-rapl-mmio:0", "package-0", 5'000'000);
  FoundSensor found = find_rapl(folder_.path());
  ASSERT_TRUE(found.sensor) << found.absent;
  EXPECT_EQ(found.sensor->name(), "RAPL package-0, package-1");
  EXPECT_EQ(found.sensor->joules(), 0);
  for (const char* path : {"intel-rapl:0", "intel-rapl:0:0", "intel-rapl:0:1", "intel-rapl:1",
                           "intel-rapl:2", "intel-rapl-mmio:0"}) {
    set(path, 100'000'000);
  }
  EXPECT_DOUBLE_EQ(*found.sensor->joules(), 95 + 93);
}

TEST_F(Rapl, GoesOnWhereTheCounterWrapsAround) {
  zone("intel-rapl:0", "package-0", kRange - 1'000'000);
  FoundSensor found = find_rapl(folder_.path());
  ASSERT_TRUE(found.sensor) << found.absent;
  set("intel-rapl:0", 2'000'000);
  EXPECT_DOUBLE_EQ(*found.sensor->joules(), 3);
  set("intel-rapl:0", 2'500'000);
  EXPECT_DOUBLE_EQ(*found.sensor->joules(), 3.5);
}

TEST_F(Rapl, ACounterThatBeginsAnewHasNotWrapped) {
  zone("intel-rapl:0", "package-0", 60'000'000);
  FoundSensor found = find_rapl(folder_.path());
  ASSERT_TRUE(found.sensor) << found.absent;
  set("intel-rapl:0", 2'000'000);  // no quarter of a megajoule was used
  EXPECT_DOUBLE_EQ(*found.sensor->joules(), 2);
}

TEST_F(Rapl, AFileThatVanishesIsNoReading) {
  zone("intel-rapl:0", "package-0", 1'000'000);
  FoundSensor found = find_rapl(folder_.path());
  ASSERT_TRUE(found.sensor) << found.absent;
  std::filesystem::remove(folder_ / "intel-rapl:0/energy_uj");
  EXPECT_EQ(found.sensor->joules(), std::nullopt);
  set("intel-rapl:0", 4'000'000);
  EXPECT_DOUBLE_EQ(*found.sensor->joules(), 3);
}

TEST_F(Rapl, SaysWhatIsMissing) {
  EXPECT_THAT(find_rapl(folder_ / "nowhere").absent, HasSubstr(folder_ / "nowhere"));
  zone("intel-rapl:0", "psys", 1);
  EXPECT_THAT(find_rapl(folder_.path()).absent, HasSubstr("no RAPL counters of CPU packages"));
  zone("intel-rapl:1", "package-0", 1);
  folder_.write("intel-rapl:1/energy_uj", "much\n");
  EXPECT_THAT(find_rapl(folder_.path()).absent, HasSubstr("intel-rapl:1/energy_uj cannot be read"));
}

TEST_F(Rapl, WhereOnlyRootMayReadSaysSoAndWhatHelps) {
  zone("intel-rapl:0", "package-0", 1);
  ASSERT_EQ(chmod((folder_ / "intel-rapl:0/energy_uj").c_str(), 0400), 0);
  ASSERT_EQ(chmod(folder_.path().c_str(), 0755), 0);
  const pid_t child = fork();
  if (child == 0) {
    // Root may read everything.
    if (geteuid() == 0 && setuid(65534) != 0) _exit(2);
    if (getuid() != 65534) chmod((folder_ / "intel-rapl:0/energy_uj").c_str(), 0);
    const FoundSensor found = find_rapl(folder_.path());
    const bool said = !found.sensor && found.absent.find("only root may read") == 0 &&
                      found.absent.find("sudo chmod a+r " + folder_.path()) != std::string::npos;
    _exit(said ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(EnergySources, WhatIsNamedStandsInPlaceOfAllDefaults) {
  EXPECT_EQ(energy_sources("").powercap, "/sys/class/powercap");
  EXPECT_EQ(energy_sources("").nvml, "libnvidia-ml.so.1");
  EXPECT_EQ(energy_sources("/host/powercap").powercap, "/host/powercap");
  EXPECT_THAT(energy_sources("/host/powercap").nvml, IsEmpty());
  EXPECT_EQ(energy_sources("/opt/libnvidia-ml.so.550").nvml, "/opt/libnvidia-ml.so.550");
  EXPECT_THAT(energy_sources("/opt/libnvidia-ml.so").powercap, IsEmpty());
  EXPECT_EQ(energy_sources("/a/powercap:/b/libnvidia-ml.so.1").powercap, "/a/powercap");
  EXPECT_EQ(energy_sources("/a/powercap:/b/libnvidia-ml.so.1").nvml, "/b/libnvidia-ml.so.1");
}

class Nvml : public ::testing::Test {
 protected:
  using Set = void (*)(unsigned long long, unsigned int, int, bool);
  void SetUp() override {
    void* const stub = dlopen(TUTTI_TEST_STUB_NVML, RTLD_NOW);
    ASSERT_NE(stub, nullptr) << dlerror();
    set = reinterpret_cast<Set>(dlsym(stub, "stub_nvml_set"));
    ASSERT_NE(set, nullptr);
    set(1'000'000, 50'000, 0, false);
  }
  Set set = nullptr;
  std::string absent;
};

TEST_F(Nvml, TakesTheCounterWhereThereIsOne) {
  const auto nvml = NvmlLibrary::open(TUTTI_TEST_STUB_NVML, absent);
  ASSERT_TRUE(nvml) << absent;
  FoundSensor found = nvml->sensor("0000:3b:00.0");
  ASSERT_TRUE(found.sensor) << found.absent;
  EXPECT_EQ(found.sensor->name(), "NVML 0000:3b:00.0");
  EXPECT_EQ(found.sensor->joules(), 0);
  set(1'002'500, 0, 0, false);
  EXPECT_DOUBLE_EQ(*found.sensor->joules(), 2.5);
  set(0, 0, 0, true);
  EXPECT_EQ(found.sensor->joules(), std::nullopt);
  set(500, 0, 0, false);  // the driver was loaded anew
  EXPECT_DOUBLE_EQ(*found.sensor->joules(), 3);
}

TEST_F(Nvml, IntegratesPowerWhereThereIsNone) {
  const auto nvml = NvmlLibrary::open(TUTTI_TEST_STUB_NVML, absent);
  ASSERT_TRUE(nvml) << absent;
  const uint64_t before = now_ns();
  FoundSensor found = nvml->sensor("0000:5e:00.0");
  const uint64_t begun = now_ns();
  ASSERT_TRUE(found.sensor) << found.absent;
  while (now_ns() - begun < 2'000'000) {
  }
  set(0, 150'000, 0, false);
  const uint64_t asked = now_ns();
  const double joules = *found.sensor->joules();
  // The power's mean, 100 W, over what lies between the readings.
  EXPECT_GE(joules, 100 * seconds_between(begun, asked));
  EXPECT_LE(joules, 100 * seconds_between(before, now_ns()));
}

TEST_F(Nvml, SaysWhatIsMissing) {
  EXPECT_FALSE(NvmlLibrary::open("libno-such-nvml.so.1", absent));
  EXPECT_THAT(absent, HasSubstr("libno-such-nvml.so.1"));
  EXPECT_FALSE(NvmlLibrary::open("libc.so.6", absent));
  EXPECT_THAT(absent, HasSubstr("is not NVML"));
  set(0, 0, 9, false);
  EXPECT_FALSE(NvmlLibrary::open(TUTTI_TEST_STUB_NVML, absent));
  EXPECT_THAT(absent, HasSubstr("Driver Not Loaded (9)"));
  set(0, 0, 0, false);
  const auto nvml = NvmlLibrary::open(TUTTI_TEST_STUB_NVML, absent);
  ASSERT_TRUE(nvml) << absent;
  EXPECT_THAT(nvml->sensor("0000:01:00.0").absent, HasSubstr("0000:01:00.0: Not Found (6)"));
  set(0, 0, 0, true);
  EXPECT_THAT(nvml->sensor("0000:3b:00.0").absent, HasSubstr("tells no power"));
}

/// Uses a joule each time that it is asked.
class Steady : public EnergySensor {
 public:
  const std::string& name() const override { return name_; }
  std::optional<double> joules() override {
    ++asked_;
    if (asked_ == 3) return std::nullopt;  // once it cannot be read
    return asked_;
  }

 private:
  const std::string name_ = "steady";
  double asked_ = 0;
};

TEST(EnergySampler, HandsOnWhatWasUsedBetweenReadings) {
  std::vector<std::unique_ptr<EnergySensor>> sensors;
  sensors.push_back(std::make_unique<Steady>());
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<EnergyReading> readings;
  EnergySampler sampler(std::move(sensors), 1, [&](const std::vector<EnergyReading>& some) {
    const std::lock_guard lock(mutex);
    readings.insert(readings.end(), some.begin(), some.end());
    changed.notify_all();
  });
  const uint64_t begun = now_ns();
  ASSERT_TRUE(sampler.start());
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return readings.size() >= 5; });
  }
  sampler.stop();
  const size_t count = readings.size();
  EXPECT_GE(readings.front().begin_ns, begun);
  for (size_t i = 1; i < count; ++i) EXPECT_EQ(readings[i].begin_ns, readings[i - 1].end_ns);
  // The second reading reaches over the one that failed.
  EXPECT_DOUBLE_EQ(readings[0].joules, 1);
  EXPECT_DOUBLE_EQ(readings[1].joules, 2);
  EXPECT_DOUBLE_EQ(readings[2].joules, 1);
  sampler.stop();
  EXPECT_EQ(readings.size(), count);
}

}  // namespace
}  // namespace tutti
