// SPDX-License-Identifier: Apache-2.0
// Runs `tutti` in trees made up for the test, where a stub driver stands for Tutti or for a vendor.
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/config.h"
#include "tools_fixture.h"

namespace tutti {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
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
            (tree_ / "share/tutti/vendors/") + "\n");  // CUDA's loader needs the last slash
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

TEST_F(ToolsTest, RunStartsWithoutMuchDynamicLinking) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "linked otherwise";
#endif
  install_icd("etc/OpenCL/vendors");
  // What the dynamic linker says ends with the numbers of the whole process, here of `tutti`.
  const std::string output =
      shell("LD_DEBUG=statistics " + tool() + " run no-such-program-anywhere").output;
  const std::string label = "final number of relocations: ";
  const size_t at = output.find(label);
  ASSERT_NE(at, std::string::npos) << output;
  // Of the C++ library alone there are 1900.
  EXPECT_LT(std::atoi(output.c_str() + at + label.size()), 600) << output;
}

TEST_F(ToolsTest, RunSetsTheOptions) {
  install_icd("etc/OpenCL/vendors");
  show_vendors(8);
  const std::string show = " -- sh -c 'echo \"$TUTTI_DEVICES|$TUTTI_BALANCER|$TUTTI_SUMMARY\"'";
  EXPECT_EQ(shell(tool() + " run --devices 0,-1 --balancer=static --summary" + show).output,
            "0,-1|static|-\n");
  EXPECT_EQ(shell(tool() + " run --summary=x.json --devices=-1" + show).output, "-1||x.json\n");
  EXPECT_EQ(shell("TUTTI_DEVICES=7 TUTTI_SUMMARY=- " + tool() + " run" + show).output, "7||-\n");
}

TEST_F(ToolsTest, RunSetsEachOptionsVariable) {
  install_icd("etc/OpenCL/vendors");
  const std::pair<const char*, const char*> options[] = {
      {"--verify", "TUTTI_VERIFY=1"},
      {"--verify=1:1e-6", "TUTTI_VERIFY=1:1e-6"},
      {"--verify=vote", "TUTTI_VERIFY=vote"},
      {"--verify=vote:1e-5", "TUTTI_VERIFY=vote:1e-5"},
      {"--split never", "TUTTI_SPLIT=never"},
      {"--log debug:x.log", "TUTTI_LOG=debug:x.log"},
      {"--objective edp", "TUTTI_OBJECTIVE=edp"},
      {"--balancer hguided:3", "TUTTI_BALANCER=hguided:3"},
      {"--trace t.json", "TUTTI_TRACE=t.json"},
      {"--summary", "TUTTI_SUMMARY=-"}};
  for (const auto& [option, variable] : options) {
    const std::string expected = variable;
    const Outcome outcome = shell(tool() + " run " + option + " env");
    EXPECT_EQ(outcome.code, 0) << option;
    EXPECT_THAT(outcome.output, HasSubstr("\n" + expected + "\n")) << option;
  }
}

TEST_F(ToolsTest, RunsHelpNamesTheAcceptedValues) {
  const std::string help = shell(tool() + " run --help").output;
  std::string words;  // as the lines were before they were broken
  for (const char c : help) {
    if (c != '\n' && (c != ' ' || !words.ends_with(' '))) words += c;
    if (c == '\n' && !words.ends_with(' ')) words += ' ';
  }
  for (const char* key :
       {"devices", "balancer", "summary", "trace", "verify", "split", "objective", "log"}) {
    const auto table = option_table();
    const auto option = std::find_if(table.begin(), table.end(),
                                     [key](const OptionInfo& info) { return info.key == key; });
    EXPECT_THAT(words, HasSubstr("Accepted: " + std::string(option->accepted) + " (" +
                                 std::string(option->variable) + ")"));
  }
  for (size_t begin = 0; begin < help.size();) {
    const size_t end = help.find('\n', begin);
    EXPECT_LE(end - begin, 80u) << help.substr(begin, end - begin);
    begin = end + 1;
  }
}

TEST_F(ToolsTest, RunStartsNothingWithValuesThatAreNotAccepted) {
  install_icd("etc/OpenCL/vendors");
  show_vendors(2);
  const std::string touched = tree_ / "touched";
  const auto refused = [&](const std::string& before, const std::string& options) {
    const Outcome outcome =
        shell(before + " " + tool() + " run " + options + " -- touch " + touched);
    EXPECT_EQ(outcome.code, 2) << before << " " << options << ": " << outcome.output;
    EXPECT_FALSE(std::filesystem::exists(touched)) << before << " " << options;
    return outcome.output;
  };
  EXPECT_THAT(refused("", "--balancer sigmod"),
              AllOf(HasSubstr("did you mean sigmoid?"), HasSubstr("hguided[:C]")));
  EXPECT_THAT(refused("", "--balancer static:abc"), HasSubstr("it is written static"));
  EXPECT_THAT(refused("TUTTI_BALANCER=dynamc", ""), HasSubstr("did you mean dynamic?"));
  EXPECT_THAT(refused("TUTTI_BALANCER=dynamic:no", ""), HasSubstr("dynamic[:packages]"));
  EXPECT_THAT(refused("", "--devices voodoo"),
              AllOf(HasSubstr("voodoo matches no device"), HasSubstr("1 = Stub / stub-device")));
  EXPECT_THAT(refused("", "--devices 0,7"), HasSubstr("7 matches no device"));
  EXPECT_THAT(refused("", "--devices=-7"), HasSubstr("-7 matches no device"));
  EXPECT_THAT(refused("TUTTI_DEVICES=voodoo", ""), HasSubstr("voodoo matches no device"));
  EXPECT_THAT(refused("", "--balancer single:2"),
              AllOf(HasSubstr("single:2"), HasSubstr("1 = Stub / stub-device")));
  EXPECT_THAT(refused("", "--balancer single:voodoo"), HasSubstr("single:voodoo"));
  EXPECT_THAT(refused("", "--split forse"),
              AllOf(HasSubstr("did you mean force?"), HasSubstr("auto, force, never")));
  EXPECT_THAT(refused("", "--verify=2"), HasSubstr("1:TOLERANCE"));
  EXPECT_THAT(refused("", "--log loud"), HasSubstr("error, warning"));
  EXPECT_THAT(refused("", "--objective joules"), HasSubstr("time, energy, edp"));
  EXPECT_THAT(refused("", "--summary=text"), HasSubstr(".json"));
  const std::string file = tree_.write("wrong.toml", "balancer = 'statik'\n");
  EXPECT_THAT(refused("TUTTI_CONFIG=" + file, ""),
              AllOf(HasSubstr("did you mean static?"), HasSubstr(file)));
  for (const char* good : {"--devices 1,0", "--devices=-1", "--devices stub", "--balancer single:1",
                           "--balancer single:stub-device", "--balancer dynamic:64"}) {
    EXPECT_EQ(shell(tool() + " run " + good + " true").code, 0) << good;
  }
  EXPECT_EQ(shell("TUTTI_BALANCR=x " + tool() + " run true").code, 0);  // the driver warns
}

TEST_F(ToolsTest, RunOverwritesNothingByMistake) {
  install_icd("etc/OpenCL/vendors");
  const std::string application = tree_.write("application", "#!/bin/sh\ntouch ran\n");
  chmod(application.c_str(), 0755);
  const std::string data = tree_.write("data.json", "[1, 2, 3]\n");
  const std::string notes = tree_.write("notes", "dear diary\n");
  std::filesystem::create_symlink(data, tree_ / "link.json");
  std::filesystem::create_hard_link(data, tree_ / "hard.json");
  const auto refused = [&](const std::string& options, const std::string& before = {}) {
    const Outcome outcome =
        shell("cd " + tree_.path() + " && " + before + " " + tool() + " run " + options);
    EXPECT_EQ(outcome.code, 2) << options << ": " << outcome.output;
    EXPECT_FALSE(std::filesystem::exists(tree_ / "ran")) << options;
    return outcome.output;
  };
  // The file's name was forgotten.
  EXPECT_THAT(refused("--trace -- ./application"), HasSubstr("name is missing before '--'"));
  EXPECT_THAT(refused("--trace --summary ./application"), HasSubstr("before '--summary'"));
  EXPECT_THAT(refused("--trace=-x ./application"), HasSubstr("./-x"));
  EXPECT_THAT(refused("--summary=-x.json ./application"), HasSubstr("./-x.json"));
  for (const char* option : {"--devices", "--balancer", "--split", "--objective", "--log"}) {
    EXPECT_THAT(refused(option + std::string(" -- ./application")), HasSubstr("'--'")) << option;
  }
  // So that another word is taken for it.
  EXPECT_THAT(refused("--trace ./application ./application"), HasSubstr("would be overwritten"));
  EXPECT_THAT(refused("--trace notes ./application"),
              HasSubstr("notes exists and is nothing that"));
  EXPECT_THAT(refused("--summary=data.json ./application"), HasSubstr("data.json exists"));
  EXPECT_THAT(refused("--trace data.json ./application"), HasSubstr("data.json exists"));
  tree_.write("settings.json", "{\"a\": 1}\n");
  EXPECT_THAT(refused("--summary=settings.json ./application"), HasSubstr("settings.json exists"));
  EXPECT_THAT(refused("--trace data.json ./application data.json"), HasSubstr("is read as well"));
  EXPECT_THAT(refused("--trace link.json ./application data.json"), HasSubstr("data.json would"));
  EXPECT_THAT(refused("--trace hard.json ./application link.json"), HasSubstr("overwritten"));
  EXPECT_THAT(refused("--log debug:notes ./application notes"), HasSubstr("TUTTI_LOG: notes"));
  EXPECT_THAT(refused("./application data.json", "TUTTI_TRACE=data.json"),
              HasSubstr("TUTTI_TRACE: data.json"));
  EXPECT_EQ(shell("cat " + data + " " + notes).output, "[1, 2, 3]\ndear diary\n");
  // What an earlier run has left may be written anew, and what is no file at all.
  tree_.write("old.json", R"([
{"ph":"M","pid":2,"tid":0,"name":"tutti_trace_lost","args":{"events":0}})");
  tree_.write("empty", "");
  for (const char* file : {"old.json", "empty", "new.json", "/dev/null", "./-x.json"}) {
    EXPECT_EQ(shell("cd " + tree_.path() + " && " + tool() + " run --trace " + file + " true").code,
              0)
        << file;
  }
}

TEST_F(ToolsTest, WordsThatDoNotExistHaveNeighbours) {
  const auto said = [&](const std::string& words) {
    const Outcome outcome = shell(tool() + " " + words);
    EXPECT_EQ(outcome.code, 2) << words;
    return outcome.output;
  };
  EXPECT_THAT(said("device"), HasSubstr("there is no command 'device'; did you mean devices?"));
  EXPECT_THAT(said("dcotor"), HasSubstr("did you mean doctor?"));
  EXPECT_THAT(said("help device"), HasSubstr("did you mean devices?"));
  EXPECT_THAT(said("record shwo"), HasSubstr("tutti record: there is no command 'shwo'; did you"));
  EXPECT_THAT(said("model clean"), HasSubstr("did you mean clear?"));
  EXPECT_THAT(said("devices --jason"), HasSubstr("there is no option '--jason'; did you mean"));
  EXPECT_THAT(said("run --balancr=static true"), HasSubstr("did you mean --balancer?"));
  EXPECT_THAT(said("report --outptu x t.json"), HasSubstr("did you mean --output?"));
  EXPECT_THAT(said("--versoin"), HasSubstr("did you mean --version?"));
  const std::string far = said("zebra");
  EXPECT_THAT(far, AllOf(HasSubstr("commands: run, devices"), Not(HasSubstr("did you mean"))));
  EXPECT_THAT(far, Not(HasSubstr("documentation")));  // hidden
}

TEST_F(ToolsTest, RunHandsTheLoadersVendorsOn) {
  install_icd("etc/OpenCL/vendors");
  const std::string show =
      tool() + " run sh -c 'echo \"$TUTTI_VENDORS|${OCL_ICD_FILENAMES-unset}|$OCL_ICD_VENDORS\"'";
  const std::string own = tree_ / "etc/OpenCL/vendors/";
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

// No vendor of the other tests has such an extension.
TEST_F(ToolsTest, HintsOfQueuesAreTakenWhereTheVendorHasThem) {
  tree_.write("etc/OpenCL/vendors/tutti.icd", TUTTI_TEST_DRIVER "\n");
  const std::string tests =
      tool() + " run -- " TUTTI_TEST_API " --gtest_filter='*.HintsWhereTheDeviceHasThem'";
  for (const char* extension : {"cl_khr_priority_hints", "cl_khr_throttle_hints"}) {
    const Outcome outcome = shell("TUTTI_VENDORS=" + (tree_ / "stub.so") +
                                  " TUTTI_TEST_STUB=extension:" + extension + " " + tests);
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr("[  PASSED  ] 1 test.")) << extension;
  }
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
                                                {"node", nullptr},
                                                {"ok", true},
                                                {"reason", ""}}));
  EXPECT_EQ(json["drivers"][1]["ok"], false);
  EXPECT_THAT(json["drivers"][1]["reason"].get<std::string>(), HasSubstr("cannot be loaded"));
  ASSERT_EQ(json["devices"].size(), 2u);
  EXPECT_EQ(json["devices"][0]["used"], false);
  EXPECT_EQ(json["devices"][0]["reason"], "not in TUTTI_DEVICES");
  EXPECT_EQ(json["devices"][1], (nlohmann::json{{"index", 1},
                                                {"name", "stub-device"},
                                                {"label", "stub-device #2"},
                                                {"platform", "Stub"},
                                                {"type", "gpu"},
                                                {"used", true},
                                                {"works", true},
                                                {"reason", ""},
                                                {"own_process", false},
                                                {"node", nullptr},
                                                {"primary", true},
                                                {"compute_units", 3},
                                                {"energy",
                                                 {{"sensor", ""},
                                                  {"absent",
                                                   "no sensor is known for devices of this "
                                                   "kind"}}},
                                                {"memory", 1 << 30},
                                                {"local_memory", 32768},
                                                {"clock_mhz", 1024},
                                                {"version", "OpenCL 3.0 stub"},
                                                {"driver_version", "stub"},
                                                {"pci_address", nullptr},
                                                {"pci_link", nullptr}}));
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
  const Outcome apart = shell(vendors + "TUTTI_ISOLATE=stub " + tool() + " devices");
  EXPECT_THAT(apart.output, HasSubstr("used, in a process of its own"));
  const Outcome unknown = shell(vendors + "TUTTI_DEVICES=voodoo " + tool() + " devices");
  EXPECT_EQ(unknown.code, 0);
  EXPECT_THAT(unknown.output,
              AllOf(HasSubstr("voodoo matches no device"), HasSubstr("stub-device")));
}

TEST_F(ToolsTest, DevicesTellsWhichIsThePrimary) {
  const auto primaries = [this](const std::string& settings) {
    const Outcome outcome =
        shell("TUTTI_VENDORS=" + (tree_ / "stub.so") + " TUTTI_TEST_STUB=devices:3 " + settings +
              " " + tool() + " devices --json 2>" + (tree_ / "log"));
    const auto json = nlohmann::json::parse(outcome.output);
    std::vector<size_t> indices;
    for (const auto& device : json["devices"]) {
      if (device["primary"] == true) indices.push_back(device["index"]);
    }
    return indices;
  };
  EXPECT_THAT(primaries(""), ElementsAre(0u));
  EXPECT_THAT(primaries("TUTTI_PRIMARY=2"), ElementsAre(2u));
  // One that takes no part is none.
  EXPECT_THAT(primaries("TUTTI_PRIMARY=2 TUTTI_DEVICES=1,0"), ElementsAre(1u));
  EXPECT_THAT(shell("cat " + (tree_ / "log")).output,
              HasSubstr("primary '2' names no device that takes part"));
  EXPECT_THAT(primaries("TUTTI_DEVICES=voodoo"), ElementsAre(0u));  // all take part
  const Outcome text = shell("TUTTI_VENDORS=" + (tree_ / "stub.so") +
                             " TUTTI_TEST_STUB=devices:2 TUTTI_PRIMARY=1 " + tool() + " devices");
  EXPECT_THAT(text.output,
              AllOf(ContainsRegex("1  stub-device #2\n[^\n]*\n[^\n]*\n +used, the primary: "),
                    ContainsRegex("0  stub-device #1\n[^\n]*\n[^\n]*\n +used\n")));
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
