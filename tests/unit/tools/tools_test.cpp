// SPDX-License-Identifier: Apache-2.0
// Runs `tutti` in trees made up for the test, where a stub driver stands for Tutti or for a vendor.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tools_fixture.h"

namespace tutti {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST_F(ToolsTest, VersionAndHelp) {
  EXPECT_THAT(shell(tool() + " --version").output, StartsWith("tutti "));
  const Outcome help = shell(tool() + " --help");
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.output, AllOf(HasSubstr("run"), HasSubstr("devices"),
                                 HasSubstr("TUTTI_BALANCER"), HasSubstr("auto, force, never")));
  EXPECT_EQ(shell(tool() + " run --help").code, 0);
}

TEST_F(ToolsTest, BadUsage) {
  EXPECT_EQ(shell(tool()).code, 2);
  EXPECT_EQ(shell(tool() + " nonsense").code, 2);
  EXPECT_EQ(shell(tool() + " devices --nonsense").code, 2);
  install_icd("etc/OpenCL/vendors");
  EXPECT_EQ(shell(tool() + " run").code, 2);
  EXPECT_EQ(shell(tool() + " run --").code, 2);
  const Outcome unknown = shell(tool() + " run --nonsense true");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.output, HasSubstr("--nonsense"));
}

TEST_F(ToolsTest, RunShowsTheApplicationTuttiAlone) {
  install_icd("etc/OpenCL/vendors");
  const Outcome outcome =
      shell("TUTTI_TEST_STUB=platform:Stand-in " + tool() + " run " + TUTTI_TEST_LIST_PLATFORMS);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.output, "platform Stand-in\n");
}

TEST_F(ToolsTest, RunPrefersTheInstalledPrivateFolder) {
  install_icd("etc/OpenCL/vendors");
  install_icd("share/tutti/vendors");
  EXPECT_EQ(shell(tool() + " run sh -c 'echo $OCL_ICD_VENDORS'").output,
            (tree_ / "share/tutti/vendors") + "\n");
}

TEST_F(ToolsTest, RunGivesArgumentsAndExitCodeAsTheyAre) {
  install_icd("etc/OpenCL/vendors");
  const std::string show = " sh -c 'for a in \"$@\"; do echo \"<$a>\"; done; exit 42' x ";
  for (const char* mark : {" run", " run --", " run --summary", " run --summary --"}) {
    const Outcome outcome = shell(tool() + mark + show + "--devices -- 'a b' --json ''");
    EXPECT_EQ(outcome.code, 42) << mark;
    EXPECT_EQ(outcome.output, "<--devices>\n<-->\n<a b>\n<--json>\n<>\n") << mark;
  }
  EXPECT_EQ(shell(tool() + " run -- sh -c 'kill -9 $$'; exit $?").code, 137);
}

TEST_F(ToolsTest, RunSetsTheOptions) {
  install_icd("etc/OpenCL/vendors");
  const std::string show = " -- sh -c 'echo \"$TUTTI_DEVICES|$TUTTI_BALANCER|$TUTTI_SUMMARY\"'";
  EXPECT_EQ(shell(tool() + " run --devices 0,-1 --balancer=static --summary" + show).output,
            "0,-1|static|-\n");
  EXPECT_EQ(shell(tool() + " run --summary=x.json --devices=-1" + show).output, "-1||x.json\n");
  EXPECT_EQ(shell("TUTTI_DEVICES=7 TUTTI_SUMMARY=- " + tool() + " run" + show).output, "7||-\n");
}

TEST_F(ToolsTest, RunHandsTheLoadersVendorsOn) {
  install_icd("etc/OpenCL/vendors");
  const std::string show =
      tool() + " run sh -c 'echo \"$TUTTI_VENDORS|${OCL_ICD_FILENAMES-unset}|$OCL_ICD_VENDORS\"'";
  const std::string own = tree_ / "etc/OpenCL/vendors";
  EXPECT_EQ(shell(show).output, "|unset|" + own + "\n");
  EXPECT_EQ(shell("OCL_ICD_VENDORS=/mine " + show).output, "/mine|unset|" + own + "\n");
  EXPECT_EQ(shell("OPENCL_VENDOR_PATH=/mine " + show).output, "/mine|unset|" + own + "\n");
  EXPECT_EQ(shell("OCL_ICD_VENDORS=/mine OPENCL_VENDOR_PATH=/no " + show).output,
            "/mine|unset|" + own + "\n");
  EXPECT_EQ(shell("OCL_ICD_VENDORS=/mine TUTTI_VENDORS=/x " + show).output,
            "/x|unset|" + own + "\n");
  EXPECT_EQ(shell("OCL_ICD_FILENAMES=/a.so:/b.so " + show).output,
            "/etc/OpenCL/vendors:/a.so:/b.so|unset|" + own + "\n");
  EXPECT_EQ(shell(tool() + " run " + show).output, "|unset|" + own + "\n");  // nested
}

TEST_F(ToolsTest, RunSaysWhatIsMissing) {
  Outcome outcome = shell(tool() + " run true");
  EXPECT_EQ(outcome.code, 125);
  EXPECT_THAT(outcome.output, HasSubstr("tutti.icd"));
  tree_.write("etc/OpenCL/vendors/tutti.icd", "/nonexistent/libtutti.so\n");
  outcome = shell(tool() + " run true");
  EXPECT_EQ(outcome.code, 125);
  EXPECT_THAT(outcome.output, HasSubstr("/nonexistent/libtutti.so"));
  install_icd("etc/OpenCL/vendors");
  outcome = shell(tool() + " run no-such-program-anywhere");
  EXPECT_EQ(outcome.code, 127);
  EXPECT_THAT(outcome.output, HasSubstr("no-such-program-anywhere"));
  EXPECT_EQ(shell(tool() + " run /etc/passwd").code, 126);
}

TEST_F(ToolsTest, DevicesAsJson) {
  tree_.write("v/1.icd", tree_ / "stub.so");
  tree_.write("v/2.icd", "libnothing-at-all.so");
  const std::string prefix =
      "TUTTI_VENDORS=" + (tree_ / "v") + " TUTTI_TEST_STUB='devices:2 units:3 type:gpu' ";
  const Outcome outcome = shell(prefix + "TUTTI_DEVICES=1 " + tool() + " devices --json");
  EXPECT_EQ(outcome.code, 0);
  const auto json = nlohmann::json::parse(outcome.output);
  ASSERT_EQ(json["drivers"].size(), 2u);
  EXPECT_EQ(json["drivers"][0], (nlohmann::json{{"icd", tree_ / "v/1.icd"},
                                                {"library", tree_ / "stub.so"},
                                                {"ok", true},
                                                {"reason", ""}}));
  EXPECT_EQ(json["drivers"][1]["ok"], false);
  EXPECT_THAT(json["drivers"][1]["reason"].get<std::string>(), HasSubstr("cannot be loaded"));
  ASSERT_EQ(json["devices"].size(), 2u);
  EXPECT_EQ(json["devices"][0]["used"], false);
  EXPECT_EQ(json["devices"][0]["reason"], "not in TUTTI_DEVICES");
  EXPECT_EQ(json["devices"][1], (nlohmann::json{{"index", 1},
                                                {"name", "stub-device"},
                                                {"platform", "Stub"},
                                                {"type", "gpu"},
                                                {"used", true},
                                                {"reason", ""},
                                                {"compute_units", 3},
                                                {"energy",
                                                 {{"sensor", ""},
                                                  {"absent",
                                                   "no sensor is known for devices of this "
                                                   "kind"}}},
                                                {"memory", 1 << 30},
                                                {"version", "OpenCL 3.0 stub"}}));
}

TEST_F(ToolsTest, DevicesThatDoNotFitAreShownAsLeftOut) {
  const std::string environment =
      "TUTTI_VENDORS=" + (tree_ / "stub.so") + " TUTTI_TEST_STUB='c-version:1.1' TUTTI_LOG=error ";
  const Outcome outcome = shell(environment + tool() + " devices --json");
  const auto json = nlohmann::json::parse(outcome.output);
  ASSERT_EQ(json["devices"].size(), 1u);
  EXPECT_EQ(json["devices"][0]["used"], false);
  EXPECT_EQ(json["devices"][0]["reason"], "it does not offer OpenCL C 1.2");
}

TEST_F(ToolsTest, DevicesAsText) {
  const std::string vendors = "TUTTI_VENDORS=" + (tree_ / "stub.so") + " ";
  const Outcome outcome = shell(vendors + tool() + " devices");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("stub.so"), HasSubstr("0  stub-device"),
                                    HasSubstr("2 compute units"), HasSubstr("used")));
  const Outcome unknown = shell(vendors + "TUTTI_DEVICES=voodoo " + tool() + " devices");
  EXPECT_EQ(unknown.code, 0);
  EXPECT_THAT(unknown.output,
              AllOf(HasSubstr("voodoo matches no device"), HasSubstr("stub-device")));
}

TEST_F(ToolsTest, DevicesSurvivesADriverThatCrashes) {
  const std::string prefix =
      "TUTTI_TEST_STUB=crash:clGetDeviceInfo TUTTI_VENDORS=" + (tree_ / "stub.so") + " ";
  for (int again = 0; again < 2; ++again) {
    const Outcome outcome = shell(prefix + tool() + " devices");
    EXPECT_EQ(outcome.code, 0);
    EXPECT_THAT(outcome.output, HasSubstr("left out: crashes when it is queried"));
    EXPECT_EQ(outcome.output.find("remembered") != std::string::npos, again == 1);
  }
}

TEST_F(ToolsTest, DevicesWithoutAnyDriver) {
  std::filesystem::create_directories(tree_ / "none");
  const Outcome outcome = shell("TUTTI_VENDORS=" + (tree_ / "none") + " " + tool() + " devices");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.output, HasSubstr("Devices:\n  none"));
  EXPECT_THAT(outcome.output, Not(HasSubstr("warning")));
}

TEST_F(ToolsTest, DevicesWorksWithoutAHome) {
  const Outcome outcome =
      shell("env -i TUTTI_VENDORS=" + (tree_ / "stub.so") + " " + tool() + " devices --json");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(nlohmann::json::parse(outcome.output)["devices"].size(), 1u);
}

}  // namespace
}  // namespace tutti
