// SPDX-License-Identifier: Apache-2.0
#include "base/config.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "temporary_folder.h"

namespace tutti {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

LoadedConfig from_environment(std::vector<std::pair<std::string, std::string>> environment) {
  return load_config({std::move(environment), {}});
}

TEST(Config, Defaults) {
  const LoadedConfig loaded = load_config({});
  EXPECT_THAT(loaded.warnings, IsEmpty());
  const Config& config = loaded.config;
  EXPECT_EQ(config.balancer.value, "sigmoid");
  EXPECT_EQ(config.balancer.origin, "default");
  EXPECT_TRUE(config.balancer.is_default());
  EXPECT_EQ(config.device_type.value, DeviceTypeChoice::kAuto);
  EXPECT_EQ(config.split.value, SplitMode::kAuto);
  EXPECT_EQ(config.races.value, RaceTrust::kTrust);
  EXPECT_EQ(config.log.value, (LogTarget{LogLevel::kWarning, ""}));
  EXPECT_EQ(config.keep_cores.value, 0u);
  EXPECT_EQ(config.deadline.value, 0u);
  EXPECT_EQ(config.summary.value, "");
}

TEST(Config, EveryOptionFromTheEnvironment) {
  const LoadedConfig loaded = from_environment({{"TUTTI_BALANCER", "static"},
                                                {"TUTTI_DEVICES", "1,0"},
                                                {"TUTTI_VENDORS", "/a:/b"},
                                                {"TUTTI_DEVICE_TYPE", "GPU"},
                                                {"TUTTI_SPLIT", "force"},
                                                {"TUTTI_SEED", "18446744073709551615"},
                                                {"TUTTI_KEEP_CORES", "2"},
                                                {"TUTTI_LOG", "debug:/tmp/x:y.log"},
                                                {"TUTTI_SUMMARY", "out.json"},
                                                {"TUTTI_RACES", "distrust"},
                                                {"TUTTI_COMPILER", "/c.so"},
                                                {"TUTTI_CACHE", "/cache"},
                                                {"HOME", "/nowhere"}});
  EXPECT_THAT(loaded.warnings, IsEmpty());
  const Config& config = loaded.config;
  EXPECT_EQ(config.balancer.value, "static");
  EXPECT_EQ(config.balancer.origin, "TUTTI_BALANCER");
  EXPECT_EQ(config.devices.value, "1,0");
  EXPECT_EQ(config.vendors.value, "/a:/b");
  EXPECT_EQ(config.device_type.value, DeviceTypeChoice::kGpu);
  EXPECT_EQ(config.split.value, SplitMode::kForce);
  EXPECT_EQ(config.seed.value, UINT64_MAX);
  EXPECT_EQ(config.keep_cores.value, 2u);
  EXPECT_EQ(config.log.value, (LogTarget{LogLevel::kDebug, "/tmp/x:y.log"}));
  EXPECT_EQ(config.summary.value, "out.json");
  EXPECT_EQ(config.races.value, RaceTrust::kDistrust);
  EXPECT_EQ(config.compiler.value, "/c.so");
  EXPECT_EQ(cache_folder(config), "/cache");
}

struct BadValue {
  const char* name;
  const char* value;
  const char* accepted;
};
class ConfigBadValues : public ::testing::TestWithParam<BadValue> {};

TEST_P(ConfigBadValues, WarnOnceNamingWhatIsAccepted) {
  const auto [name, value, accepted] = GetParam();
  const LoadedConfig loaded = from_environment({{name, value}});
  EXPECT_THAT(loaded.warnings,
              ElementsAre(AllOf(HasSubstr(name), HasSubstr(value), HasSubstr(accepted))));
  const Config fresh;
  EXPECT_EQ(loaded.config.split.value, fresh.split.value);
  EXPECT_EQ(loaded.config.seed.value, fresh.seed.value);
  EXPECT_EQ(loaded.config.log.value, fresh.log.value);
  EXPECT_EQ(loaded.config.summary.value, fresh.summary.value);
  EXPECT_TRUE(loaded.config.keep_cores.is_default());
}

INSTANTIATE_TEST_SUITE_P(
    All, ConfigBadValues,
    ::testing::Values(BadValue{"TUTTI_SPLIT", "sometimes", "auto, force, never"},
                      BadValue{"TUTTI_DEVICE_TYPE", "fpga", "auto, cpu, gpu, accelerator"},
                      BadValue{"TUTTI_RACES", "yes", "trust, distrust"},
                      BadValue{"TUTTI_SEED", "-1", "a number"},
                      BadValue{"TUTTI_SEED", "12x", "a number"},
                      BadValue{"TUTTI_SEED", "18446744073709551616", "a number"},
                      BadValue{"TUTTI_KEEP_CORES", "4294967296", "a number"},
                      BadValue{"TUTTI_LOG", "loud", "off, error, warning"},
                      BadValue{"TUTTI_LOG", "debug:", "LEVEL:FILE"},
                      BadValue{"TUTTI_SUMMARY", "out.txt", ".json"},
                      BadValue{"TUTTI_SUMMARY", ".json", ".json"}));

TEST(Config, UnknownVariablesAreNamed) {
  const LoadedConfig loaded = from_environment({{"TUTTI_BALANCERS", "x"},
                                                {"TUTTI_TEST_ANYTHING", "x"},
                                                {"TUTTI_INSIDE_PROBE", "1"},
                                                {"NOT_TUTTI_X", "x"}});
  EXPECT_THAT(loaded.warnings,
              ElementsAre(AllOf(HasSubstr("TUTTI_BALANCERS is not an option"),
                                HasSubstr("TUTTI_BALANCER, "), HasSubstr("TUTTI_CACHE"))));
}

TEST(Config, AnEmptyVariableIsAsUnset) {
  const LoadedConfig loaded = from_environment({{"TUTTI_SPLIT", ""}, {"TUTTI_BALANCER", ""}});
  EXPECT_THAT(loaded.warnings, IsEmpty());
  EXPECT_EQ(loaded.config.balancer.value, "sigmoid");
}

TEST(Config, LaterFilesAndTheEnvironmentWin) {
  const TemporaryFolder folder;
  const std::string first =
      folder.write("a.toml", "balancer = 'static'\nsplit = 'never'\nseed = 5\n");
  const std::string second = folder.write("b.toml", "split = \"force\"\nkeep_cores = \"3\"\n");
  const LoadedConfig loaded =
      load_config({{{"TUTTI_SEED", "9"}}, {first, second, folder / "missing.toml"}});
  EXPECT_THAT(loaded.warnings, IsEmpty());
  EXPECT_EQ(loaded.config.balancer.value, "static");
  EXPECT_EQ(loaded.config.balancer.origin, first);
  EXPECT_EQ(loaded.config.split.value, SplitMode::kForce);
  EXPECT_EQ(loaded.config.split.origin, second);
  EXPECT_EQ(loaded.config.keep_cores.value, 3u);
  EXPECT_EQ(loaded.config.seed.value, 9u);
  EXPECT_EQ(loaded.config.seed.origin, "TUTTI_SEED");
}

TEST(Config, AFileNamedByTheEnvironmentStandsInForTheOthers) {
  const TemporaryFolder folder;
  const std::string usual = folder.write("usual.toml", "split = 'never'");
  const std::string named = folder.write("named.toml", "seed = 3");
  const LoadedConfig loaded = load_config({{{"TUTTI_CONFIG", named}}, {usual}});
  EXPECT_EQ(loaded.config.split.value, SplitMode::kAuto);
  EXPECT_EQ(loaded.config.seed.value, 3u);
  EXPECT_EQ(loaded.config.config.value, named);
  const LoadedConfig missing = load_config({{{"TUTTI_CONFIG", folder / "no"}}, {usual}});
  EXPECT_THAT(missing.warnings, ElementsAre(HasSubstr("there is no such file")));
}

TEST(Config, FilesThatAreNotAsTheyShouldBe) {
  const TemporaryFolder folder;
  const std::string damaged = folder.write("damaged.toml", "split = 'never'\nsplit = = 3\n");
  const std::string binary = folder.write("binary.toml", std::string("\0\xff\x80 = [", 6));
  const std::string keys =
      folder.write("keys.toml", "spit = 'never'\nseed = [1]\nraces = true\nconfig = 'x'\n");
  LoadedConfig loaded = load_config({{}, {damaged}});
  EXPECT_THAT(loaded.warnings, ElementsAre(AllOf(HasSubstr(damaged + ":2"), HasSubstr("ignored"))));
  EXPECT_EQ(loaded.config.split.value, SplitMode::kAuto);
  loaded = load_config({{}, {binary}});
  EXPECT_EQ(loaded.warnings.size(), 1u);
  loaded = load_config({{}, {keys}});
  EXPECT_THAT(loaded.warnings, ::testing::UnorderedElementsAre(
                                   AllOf(HasSubstr("spit is not an option"), HasSubstr("split")),
                                   HasSubstr("seed must be"), HasSubstr("races must be"),
                                   HasSubstr("config is not an option")));
  loaded = load_config({{}, {folder.path()}});  // a folder
  EXPECT_THAT(loaded.warnings, ElementsAre(HasSubstr("is not a file")));
}

TEST(Config, AFileThatMayNotBeRead) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const TemporaryFolder folder;
  const std::string file = folder.write("a.toml", "seed = 3");
  std::filesystem::permissions(file, std::filesystem::perms::none);
  const LoadedConfig loaded = load_config({{}, {file}});
  EXPECT_EQ(loaded.warnings.size(), 1u);
  EXPECT_TRUE(loaded.config.seed.is_default());
}

// Sets a variable, or removes it, for the length of a scope.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* old = getenv(name)) old_ = old;
    value ? setenv(name, value, 1) : unsetenv(name);
  }
  ~ScopedVariable() { old_ ? setenv(name_, old_->c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

TEST(Config, TheFilesOfTheProcess) {
  {
    ScopedVariable xdg("XDG_CONFIG_HOME", nullptr), home("HOME", "/home/x");
    EXPECT_THAT(ConfigSources::of_process().files,
                ElementsAre("/etc/tutti/tutti.toml", "/home/x/.config/tutti/tutti.toml"));
  }
  {
    ScopedVariable xdg("XDG_CONFIG_HOME", "/xdg"), home("HOME", nullptr);
    EXPECT_THAT(ConfigSources::of_process().files,
                ElementsAre("/etc/tutti/tutti.toml", "/xdg/tutti/tutti.toml"));
  }
  ScopedVariable xdg("XDG_CONFIG_HOME", nullptr), home("HOME", nullptr);
  EXPECT_THAT(ConfigSources::of_process().files, ElementsAre("/etc/tutti/tutti.toml"));
}

TEST(Config, TheCacheFolder) {
  const Config config;
  ScopedVariable cache("XDG_CACHE_HOME", "/cache"), home("HOME", "/home/x");
  EXPECT_EQ(cache_folder(config), "/cache/tutti");
  ScopedVariable no_cache("XDG_CACHE_HOME", nullptr);
  EXPECT_EQ(cache_folder(config), "/home/x/.cache/tutti");
  ScopedVariable no_home("HOME", nullptr);
  EXPECT_EQ(cache_folder(config), "");
}

TEST(Config, TheTableTellsEveryOption) {
  EXPECT_EQ(option_table().size(), 40u);
  for (const OptionInfo& option : option_table()) {
    EXPECT_THAT(std::string(option.variable), HasSubstr("TUTTI_"));
    EXPECT_FALSE(option.key.empty());
    EXPECT_FALSE(option.accepted.empty());
    EXPECT_FALSE(option.help.empty());
  }
}

}  // namespace
}  // namespace tutti
