// SPDX-License-Identifier: Apache-2.0
// Profiles of programs: judged by `tutti doctor PROGRAM`, and followed by the driver.
#include "tools/doctor_program.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/config.h"
#include "tools/device_view.h"
#include "tools_fixture.h"

namespace tutti {
namespace {

using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using tools::holds;
using tools::PropertyValue;

TEST(ProfileChecks, OfTexts) {
  const PropertyValue vendor{"Intel(R) Corporation", {}, {}};
  ProfileCheck check;
  check.contains = {"NVIDIA", "Corporation"};
  EXPECT_TRUE(holds(check, vendor));
  EXPECT_FALSE(holds(check, std::nullopt));
  check.begins = {"intel"};
  EXPECT_FALSE(holds(check, vendor));
  check.ignore_case = true;
  EXPECT_TRUE(holds(check, vendor));
  check.lacks = {"(r)"};
  EXPECT_FALSE(holds(check, vendor));
  EXPECT_EQ(tools::wanted(check),
            "has one of NVIDIA, Corporation and begins with intel and has not (r)");
}

TEST(ProfileChecks, OfListsAndNumbers) {
  ProfileCheck check;
  check.contains = {"cl_khr_fp16"};
  EXPECT_TRUE(holds(check, PropertyValue{{}, std::vector<std::string>{"a", "cl_khr_fp16"}, {}}));
  EXPECT_FALSE(holds(check, PropertyValue{{}, std::vector<std::string>{"cl_khr_fp16x"}, {}}));
  ProfileCheck number;
  number.at_least = 1.2;
  EXPECT_TRUE(holds(number, PropertyValue{"1.2", {}, 1.2}));
  EXPECT_FALSE(holds(number, PropertyValue{"1.1", {}, 1.1}));
  EXPECT_FALSE(holds(number, std::nullopt));
  ProfileCheck most;
  most.below = 7;
  EXPECT_FALSE(holds(most, PropertyValue{"7", {}, 7.0}));
  EXPECT_TRUE(holds(most, std::nullopt));  // it is not of that vendor
}

// What is installed.
TEST(ProfileChecks, TheInstalledProfilesAskForWhatIsKnown) {
  const auto profiles = read_profiles(TUTTI_TEST_SOURCES "/platform/profiles.toml");
  ASSERT_TRUE(profiles) << profiles.error().message;
  EXPECT_GE(profiles->size(), 7u);
  const std::vector<std::string_view> names = tools::property_names();
  for (const Profile& profile : *profiles) {
    EXPECT_FALSE(profile.executables.empty() && profile.libraries.empty()) << profile.program;
    EXPECT_THAT(profile.checks, Not(IsEmpty())) << profile.program;
    for (const std::string& executable : profile.executables) {
      const auto found =
          read_profile_of(TUTTI_TEST_SOURCES "/platform/profiles.toml", {executable, {"libc"}});
      ASSERT_TRUE(found && *found) << executable;
      EXPECT_EQ((*found)->program, profile.program);
    }
    for (const std::string& library : profile.libraries) {
      const auto found = read_profile_of(TUTTI_TEST_SOURCES "/platform/profiles.toml",
                                         {"python3", {"libc", library}});
      ASSERT_TRUE(found && *found) << library;
    }
    for (const auto& [key, value] : profile.settings) {
      std::string variable = "TUTTI_" + key;
      std::transform(variable.begin(), variable.end(), variable.begin(), ::toupper);
      EXPECT_EQ(value_problem(variable, value), "") << profile.program;
      const auto table = option_table();
      EXPECT_TRUE(std::any_of(table.begin(), table.end(), [&](const OptionInfo& option) {
        return option.key == key;
      })) << key;
    }
    for (const ProfileCheck& check : profile.checks) {
      EXPECT_THAT(names, Contains(check.property)) << profile.program;
      EXPECT_NE(tools::wanted(check), "") << profile.program << ": " << check.property;
      EXPECT_THAT(check.source, HasSubstr("/")) << profile.program;
    }
  }
}

class DoctorProgramTest : public ToolsTest {
 protected:
  void SetUp() override {
    ToolsTest::SetUp();
    std::filesystem::create_directories(tree_ / "share/tutti");
    std::filesystem::copy_file(TUTTI_TEST_SOURCES "/platform/profiles.toml",
                               tree_ / "share/tutti/profiles.toml");
    setenv("TUTTI_VENDORS", (tree_ / "stub.so").c_str(), 1);
    unsetenv("TUTTI_IDENTITY");
  }
  Json judged(const std::string& program, int code, const std::string& environment = {}) {
    const Outcome outcome =
        shell(environment + " " + tool() + " doctor --json " + program + " 2>" + (tree_ / "log"));
    EXPECT_EQ(outcome.code, code) << outcome.output;
    return Json::parse(outcome.output);
  }
  static Json check(const Json& output, const std::string& property) {
    for (const Json& entry : output["checks"]) {
      if (entry["property"] == property) return entry;
    }
    ADD_FAILURE() << "no check of " << property << " in " << output.dump(1);
    return {{"holds", nullptr}, {"fix", ""}};
  }
};

TEST_F(DoctorProgramTest, NamesEachCheckThatFailsAndWhatHelps) {
  Json output = judged("gromacs", 1);
  EXPECT_EQ(output["program"], "GROMACS");
  EXPECT_EQ(output["accepted"], false);
  Json vendor = check(output, "device vendor");
  EXPECT_EQ(vendor["holds"], false);
  EXPECT_EQ(vendor["primary_holds"], false);
  EXPECT_EQ(vendor["value"], "stub");
  EXPECT_THAT(vendor["fix"], HasSubstr("GMX_GPU_DISABLE_COMPATIBILITY_CHECK"));
  EXPECT_THAT(vendor["source"], HasSubstr("gromacs/gromacs: src/"));
  EXPECT_THAT(check(output, "device type")["fix"], HasSubstr("set TUTTI_DEVICE_TYPE=gpu"));
  EXPECT_EQ(check(output, "OpenCL version")["holds"], true);
  output = judged("/opt/gromacs/bin/gmx", 0,
                  "TUTTI_TEST_STUB='vendor:NVIDIA type:gpu' TUTTI_DEVICE_TYPE=gpu");
  EXPECT_EQ(output["accepted"], true);
  for (const Json& entry : output["checks"]) EXPECT_EQ(entry["fix"], "") << entry.dump();
}

TEST_F(DoctorProgramTest, JudgesWithTheSettingsOfTheProfile) {
  const std::string nvidia = "TUTTI_TEST_STUB='vendor:NVIDIA platform-vendor:NVIDIA' ";
  Json output = judged("openmm", 0, nvidia);
  EXPECT_EQ(output["settings"][0], (Json{{"key", "identity"},
                                         {"value", "primary"},
                                         {"holds", "primary"},
                                         {"origin", "the profile of OpenMM"}}));
  EXPECT_EQ(check(output, "platform vendor")["holds"], true);
  output = judged("openmm", 0, nvidia + "TUTTI_IDENTITY=auto");
  EXPECT_EQ(output["settings"][0]["holds"], "auto");
  EXPECT_EQ(output["settings"][0]["origin"], "TUTTI_IDENTITY");
  const Json vendor = check(output, "platform vendor");
  EXPECT_EQ(vendor["holds"], false);
  EXPECT_EQ(vendor["primary_holds"], true);
  EXPECT_EQ(vendor["fix"], "set TUTTI_IDENTITY=primary");
  EXPECT_EQ(check(output, "device vendor")["holds"], true);
}

TEST_F(DoctorProgramTest, SaysItInWords) {
  const Outcome refused = shell(tool() + " doctor llama.cpp");
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.output,
              AllOf(HasSubstr("llama.cpp has kernels for GPUs of Qualcomm and Intel only"),
                    HasSubstr("problem  OpenCL C version"),
                    HasSubstr("llama.cpp does not take the Tutti device, whose primary is stub")));
  const Outcome taken = shell(tool() + " doctor katago");
  EXPECT_EQ(taken.code, 0);
  EXPECT_THAT(taken.output, HasSubstr("KataGo takes the Tutti device, whose primary is "
                                      "stub-device, but not at its best."));
}

TEST_F(DoctorProgramTest, ListsWhatIsCommonlyCheckedForAnUnknownProgram) {
  const Json output = judged("voodoo", 0);
  EXPECT_EQ(output["known"], false);
  EXPECT_TRUE(output["accepted"].is_null());
  EXPECT_THAT(output["properties"], Contains(Json{{"property", "platform vendor"},
                                                  {"value", "Tutti project"},
                                                  {"primary_value", "STUB"}}));
  const Outcome text = shell(tool() + " doctor voodoo");
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(text.output,
              AllOf(HasSubstr("It is not known what voodoo checks"), HasSubstr("OpenMM"),
                    HasSubstr("OpenCL C version"), HasSubstr("Tutti project  (natively STUB)")));
}

TEST_F(DoctorProgramTest, WithoutDevicesOrWithDamagedProfiles) {
  EXPECT_EQ(shell("TUTTI_TEST_STUB=no-devices " + tool() + " doctor gromacs").code, 1);
  tree_.write("share/tutti/profiles.toml", "[[profile]]\n");
  const Outcome damaged = shell(tool() + " doctor gromacs 2>&1");
  EXPECT_EQ(damaged.code, 1);
  EXPECT_THAT(damaged.output, HasSubstr("profiles.toml:1: program is missing"));
  std::filesystem::remove(tree_ / "share/tutti/profiles.toml");
  EXPECT_THAT(shell(tool() + " doctor gromacs").output, HasSubstr("there are profiles of no prog"));
}

// The driver of the build tree reads the profiles there.
TEST_F(DoctorProgramTest, TheDriverFollowsTheProfileOfItsProgram) {
  tree_.write("etc/OpenCL/vendors/tutti.icd", TUTTI_TEST_DRIVER "\n");
  std::filesystem::copy_file(TUTTI_TEST_LIST_PLATFORMS, tree_ / "bin/darktable");
  std::filesystem::copy_file(TUTTI_TEST_LIST_PLATFORMS, tree_ / "bin/lighttable");
  const auto platforms = [this](const std::string& program, const std::string& environment = {}) {
    return shell(environment + " " + tool() + " run -- " + (tree_ / "bin/" + program)).output;
  };
  EXPECT_EQ(platforms("lighttable"), "platform Tutti\n");
  EXPECT_EQ(platforms("darktable"), "platform Stub\n");
  EXPECT_EQ(platforms("darktable", "TUTTI_IDENTITY=auto"), "platform Tutti\n");
  tree_.write("own.toml", "identity = 'own'\n");
  EXPECT_EQ(platforms("darktable", "TUTTI_CONFIG=" + (tree_ / "own.toml")), "platform Tutti\n");
}

}  // namespace
}  // namespace tutti
