// SPDX-License-Identifier: Apache-2.0
#include "base/profiles.h"

#include <gmock/gmock.h>

#include "base/config.h"
#include "temporary_folder.h"

namespace tutti {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr const char* kProfiles = R"(
[[profile]]
program = "Painter"
executables = ["painter", "painter-cli"]
settings = { identity = "primary", keep_cores = "2" }
[[profile.check]]
property = "device vendor"
begins = ["NVIDIA"]
at_least = 2
ignore_case = true
refuses = true
otherwise = "refuses it"
source = "a/b: c"

[[profile]]
program = "Mover"
libraries = ["libMover"]
settings = { split = "never" }
)";

class ProfilesTest : public ::testing::Test {
 protected:
  LoadedConfig load(ProgramNames program,
                    std::vector<std::pair<std::string, std::string>> environment = {},
                    const std::string& settings = "") {
    ConfigSources sources{std::move(environment), {folder_.write("tutti.toml", settings)}};
    sources.program = std::move(program);
    sources.profiles = file_;
    return load_config(sources);
  }
  TemporaryFolder folder_;
  const std::string file_ = folder_.write("profiles.toml", kProfiles);
};

TEST_F(ProfilesTest, AreRead) {
  const auto profiles = read_profiles(file_);
  ASSERT_TRUE(profiles) << profiles.error().message;
  ASSERT_EQ(profiles->size(), 2u);
  const Profile& painter = profiles->front();
  EXPECT_THAT(painter.executables, ElementsAre("painter", "painter-cli"));
  ASSERT_EQ(painter.checks.size(), 1u);
  EXPECT_THAT(painter.checks[0].begins, ElementsAre("NVIDIA"));
  EXPECT_EQ(painter.checks[0].at_least, 2);
  EXPECT_TRUE(painter.checks[0].refuses && painter.checks[0].ignore_case);
  EXPECT_EQ(profile_named(*profiles, "PAINTER"), &painter);
  EXPECT_EQ(profile_named(*profiles, "/usr/bin/painter-cli"), &painter);
  EXPECT_EQ(profile_named(*profiles, "paint"), nullptr);
  EXPECT_EQ(profile_of(*profiles, {"painter-cli", {}}), &painter);
  EXPECT_EQ(profile_of(*profiles, {"python3", {"libc", "libMover"}}), &profiles->back());
  EXPECT_EQ(profile_of(*profiles, {"python3", {"libc", "libMoverX"}}), nullptr);
  EXPECT_EQ(profile_of(*profiles, {}), nullptr);
}

TEST_F(ProfilesTest, GiveSettingsWhereNobodyElseDoes) {
  LoadedConfig loaded = load({"painter", {}});
  EXPECT_THAT(loaded.warnings, IsEmpty());
  EXPECT_EQ(loaded.config.identity.value, IdentityChoice::kPrimary);
  EXPECT_EQ(loaded.config.identity.origin, "the profile of Painter");
  EXPECT_EQ(loaded.config.keep_cores.value, 2u);
  EXPECT_EQ(load({"python3", {"libc", "libMover"}}).config.split.value, SplitMode::kNever);
  EXPECT_EQ(load({"gimp", {}}).config.identity.value, IdentityChoice::kAuto);
  EXPECT_EQ(load({}).config.identity.value, IdentityChoice::kAuto);
  // The user's file wins over the profile, the environment over both.
  loaded = load({"painter", {}}, {}, "identity = 'own'\n");
  EXPECT_EQ(loaded.config.identity.value, IdentityChoice::kOwn);
  EXPECT_EQ(loaded.config.keep_cores.value, 2u);
  loaded = load({"painter", {}}, {{"TUTTI_IDENTITY", "auto"}});
  EXPECT_EQ(loaded.config.identity.value, IdentityChoice::kAuto);
  EXPECT_EQ(loaded.config.identity.origin, "TUTTI_IDENTITY");
}

TEST_F(ProfilesTest, WhatIsWrongIsSaidWithItsLine) {
  const auto problem = [this](const std::string& text) {
    const auto profiles = read_profiles(folder_.write("profiles.toml", text));
    return profiles ? std::string() : profiles.error().message;
  };
  EXPECT_THAT(problem("[[profile"), StartsWith(file_ + ":1: "));
  EXPECT_THAT(problem("\n[[profile]]\nexecutables = ['painter']\n"),
              AllOf(StartsWith(file_ + ":2: "), HasSubstr("program is missing")));
  EXPECT_THAT(problem("[[profile]]\nprogram = 'x'\ncolour = 'red'\n"),
              AllOf(StartsWith(file_ + ":3: "), HasSubstr("colour is not known here")));
  EXPECT_THAT(problem("[[profile]]\nprogram = 7\n"), HasSubstr("program is a text"));
  EXPECT_THAT(problem("profile = 7\n"), HasSubstr("profile is a list of tables"));
  EXPECT_THAT(problem("[[profile]]\nprogram = 'x'\nexecutables = ['a', 7]\n"),
              HasSubstr("executables is a list of texts"));
  EXPECT_THAT(problem("[[profile]]\nprogram = 'x'\n[[profile.check]]\nproperty = 'images'\n"),
              HasSubstr("otherwise is missing"));
}

TEST_F(ProfilesTest, WhatIsWrongIsAWarningToItsProgram) {
  const auto warning = [this](const std::string& settings) {
    folder_.write("profiles.toml", "[[profile]]\nprogram = 'x'\nexecutables = [\"painter\"]\n" +
                                       ("settings = " + settings));
    EXPECT_THAT(load({"gimp", {"libc"}}).warnings, IsEmpty());
    const LoadedConfig loaded = load({"painter", {}});
    EXPECT_EQ(loaded.warnings.size(), 1u) << settings;
    return loaded.warnings.empty() ? std::string() : loaded.warnings[0];
  };
  EXPECT_THAT(warning("{ identiti = 'own' }\n"), HasSubstr("did you mean identity?"));
  EXPECT_THAT(warning("{ identity = 'other' }\n"), HasSubstr("is not understood"));
  EXPECT_THAT(warning("{ config = '/x' }\n"), HasSubstr("is not an option"));
  EXPECT_THAT(warning("{ identity = }\n"),
              AllOf(StartsWith(file_ + ":4: "), HasSubstr("No program has a profile.")));
}

TEST_F(ProfilesTest, AreNoneWithoutAFile) {
  const auto profiles = read_profiles(folder_ / "nothing.toml");
  ASSERT_TRUE(profiles);
  EXPECT_THAT(*profiles, IsEmpty());
}

}  // namespace
}  // namespace tutti
