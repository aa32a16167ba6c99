// SPDX-License-Identifier: Apache-2.0
// `tutti doctor` on machines made up for the test: the real driver over stub vendors.
#include "tools/doctor.h"

#include <grp.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>

#include "tools_fixture.h"

namespace tutti {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using tools::Finding;
using tools::Findings;
using tools::Severity;

class DoctorTest : public ToolsTest {
 protected:
  void SetUp() override {
    ToolsTest::SetUp();
    std::filesystem::create_directories(tree_ / "lib");
    std::filesystem::create_symlink(TUTTI_TEST_COMPILER, tree_ / "lib/libtutti-compiler.so");
    tree_.write("etc/OpenCL/vendors/tutti.icd", TUTTI_TEST_DRIVER "\n");
    tree_.write("v/stub.icd", tree_ / "stub.so");
    setenv("OCL_ICD_VENDORS", (tree_ / "v").c_str(), 1);
    unsetenv("TUTTI_TEST_STUB");
  }
  void TearDown() override { unsetenv("OCL_ICD_VENDORS"); }

  json diagnosis(int code, const std::string& environment = {}) {
    const Outcome outcome =
        shell(environment + " " + tool() + " doctor --json 2>" + (tree_ / "log"));
    EXPECT_EQ(outcome.code, code) << outcome.output;
    return json::parse(outcome.output);
  }
  /// The one finding of an area whose text has `part`.
  static json finding(const json& output, const std::string& area, const std::string& part) {
    json found;
    for (const json& entry : output["findings"]) {
      if (entry["area"] != area) continue;
      if (entry["text"].get<std::string>().find(part) == std::string::npos) continue;
      EXPECT_TRUE(found.is_null()) << part << " is found twice";
      found = entry;
    }
    if (!found.is_null()) return found;
    ADD_FAILURE() << "no finding in " << area << " with '" << part << "' in " << output.dump(1);
    return json{{"severity", ""}, {"text", ""}, {"fix", ""}};
  }
  static size_t count(const json& output, const std::string& severity) {
    return static_cast<size_t>(
        std::count_if(output["findings"].begin(), output["findings"].end(),
                      [&severity](const json& entry) { return entry["severity"] == severity; }));
  }
};

TEST_F(DoctorTest, ASoundMachine) {
  const json output = diagnosis(0);
  EXPECT_EQ(output["found"], true);
  EXPECT_EQ(output["found_without_run"], false);
  EXPECT_EQ(count(output, "problem"), 0u);
  EXPECT_EQ(count(output, "warning"), 0u);
  finding(output, "loader", "libOpenCL.so.1");
  EXPECT_EQ(finding(output, "loader", "shows without tutti run")["text"],
            "shows without tutti run: Stub (1 device)");
  EXPECT_EQ(finding(output, "drivers", "v/stub.icd")["severity"], "ok");
  EXPECT_THAT(finding(output, "devices", "stub-device")["text"].get<std::string>(),
              HasSubstr(": used"));
  EXPECT_EQ(finding(output, "environment", "OCL_ICD_VENDORS=")["severity"], "note");
  EXPECT_EQ(finding(output, "driver", "libtutti.so")["severity"], "ok");
  EXPECT_EQ(finding(output, "driver", "libtutti-compiler.so")["severity"], "ok");
  EXPECT_EQ(
      finding(output, "application", "does not find it without")["fix"],
      "set OCL_ICD_VENDORS=" + (tree_ / "etc/OpenCL/vendors/") + ", or install with PREFIX=/usr");
  const Outcome text = shell(tool() + " doctor");
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(text.output, HasSubstr("An application finds the Tutti device; problems: 0"));
}

TEST_F(DoctorTest, NothingIsSaidOfApplicationsWithoutTheProbe) {
  std::filesystem::remove(tree_ / "libexec/tutti/tutti-probe");
  const json output = diagnosis(1);
  EXPECT_TRUE(output["found"].is_null());
  EXPECT_TRUE(output["found_without_run"].is_null());
  EXPECT_EQ(count(output, "problem"), 0u);
  EXPECT_THAT(finding(output, "loader", "not known")["fix"].get<std::string>(),
              HasSubstr("completely"));
  EXPECT_EQ(finding(output, "application", "not known")["severity"], "warning");
  EXPECT_THAT(shell(tool() + " doctor").output, HasSubstr("may or may not find the Tutti device"));
}

TEST_F(DoctorTest, CalledByItsNameFromAnyFolder) {
  const Outcome outcome =
      shell("cd /proc && PATH=" + (tree_ / "bin") + ":$PATH tutti doctor --json");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(finding(json::parse(outcome.output), "driver", "kernel compiler")["text"],
              "kernel compiler: " + (tree_ / "lib/libtutti-compiler.so"));
}

TEST_F(DoctorTest, RegisteredForAllApplications) {
  tree_.write("v/tutti.icd", TUTTI_TEST_DRIVER "\n");
  const json output = diagnosis(0, "TUTTI_VENDORS=" + (tree_ / "v"));
  EXPECT_EQ(output["found_without_run"], true);
  EXPECT_EQ(finding(output, "drivers", "this is Tutti itself")["severity"], "ok");
  EXPECT_THAT(finding(output, "loader", "shows without")["text"].get<std::string>(),
              HasSubstr("Tutti (1 device)"));
}

TEST_F(DoctorTest, EachBrokenDriverIsNamedWithWhatHelps) {
  tree_.write("v/missing.icd", "libnothing-at-all.so");
  tree_.write("v/empty.icd", "");
  tree_.write("v/blank.icd", " \t\n");
  tree_.write("v/damaged.icd", tree_.write("damaged.so", "this is no library\n"));
  tree_.write("v/other.icd", "libm.so.6");
  const json output = diagnosis(0);
  EXPECT_EQ(count(output, "warning"), 5u);
  const auto fix = [&](const std::string& file) {
    const json entry = finding(output, "drivers", "v/" + file);
    EXPECT_EQ(entry["severity"], "warning");
    return entry["fix"].get<std::string>();
  };
  const std::string remove = "or remove " + (tree_ / "v/");
  EXPECT_EQ(fix("missing.icd"),
            "install the package that brings libnothing-at-all.so, " + remove + "missing.icd");
  EXPECT_THAT(fix("empty.icd"), HasSubstr("its first line must be"));
  EXPECT_THAT(fix("blank.icd"), HasSubstr("its first line must be"));
  EXPECT_THAT(fix("damaged.icd"), AllOf(HasSubstr("reinstall"), HasSubstr(remove)));
  EXPECT_THAT(fix("other.icd"), HasSubstr(remove + "other.icd"));
}

TEST_F(DoctorTest, DriversThatCrashOrHaveNoDevice) {
  json output = diagnosis(1, "TUTTI_TEST_STUB=crash:clGetDeviceInfo");
  EXPECT_EQ(output["found"], false);
  json entry = finding(output, "drivers", "crashes when it is queried");
  EXPECT_EQ(entry["severity"], "warning");
  EXPECT_THAT(entry["fix"].get<std::string>(), HasSubstr("update or reinstall"));
  EXPECT_THAT(finding(output, "loader", "crashes")["fix"].get<std::string>(),
              HasSubstr("tutti run"));
  EXPECT_EQ(finding(output, "devices", "no device")["severity"], "problem");
  EXPECT_EQ(finding(output, "application", "no Tutti device")["severity"], "problem");
  output = diagnosis(1, "TUTTI_TEST_STUB=no-devices");
  EXPECT_EQ(finding(output, "drivers", "it has no device")["severity"], "note");
  std::filesystem::copy_file(TUTTI_TEST_STUB_LIBRARY, tree_ / "libRusticlOpenCL.so");
  tree_.write("v/rusticl.icd", tree_ / "libRusticlOpenCL.so");
  output = diagnosis(1, "TUTTI_TEST_STUB=no-devices");
  EXPECT_THAT(finding(output, "drivers", "v/rusticl.icd")["fix"].get<std::string>(),
              HasSubstr("RUSTICL_ENABLE=llvmpipe"));
}

TEST_F(DoctorTest, WithoutAnyDriver) {
  std::filesystem::remove(tree_ / "v/stub.icd");
  const json output = diagnosis(1);
  EXPECT_THAT(finding(output, "drivers", "no driver is named in")["fix"].get<std::string>(),
              HasSubstr("TUTTI_VENDORS"));
  EXPECT_EQ(finding(output, "devices", "no device")["severity"], "problem");
}

TEST_F(DoctorTest, DevicesLeftOut) {
  const json output = diagnosis(0, "TUTTI_TEST_STUB=devices:2 TUTTI_DEVICES=1");
  EXPECT_EQ(finding(output, "devices", "not in TUTTI_DEVICES")["severity"], "note");
  EXPECT_EQ(finding(output, "environment", "TUTTI_DEVICES=1")["severity"], "note");
}

TEST_F(DoctorTest, WhatIsMissingOfTutti) {
  std::filesystem::remove(tree_ / "lib/libtutti-compiler.so");
  json output = diagnosis(1);
  EXPECT_EQ(output["found"], true);
  EXPECT_EQ(finding(output, "driver", "the kernel compiler cannot be loaded")["severity"],
            "problem");
  // The driver, which stands elsewhere here, misses it, too.
  output = diagnosis(1, "TUTTI_COMPILER=/nonexistent.so");
  EXPECT_EQ(output["runs_kernels"], false);
  EXPECT_EQ(finding(output, "kernels", "no application can build")["severity"], "problem");
  EXPECT_THAT(shell("TUTTI_COMPILER=/nonexistent.so " + tool() + " doctor").output,
              HasSubstr("but cannot run kernels on it"));
  tree_.write("etc/OpenCL/vendors/tutti.icd", "/nonexistent/libtutti.so\n");
  output = diagnosis(1);
  EXPECT_EQ(finding(output, "driver", "/nonexistent/libtutti.so")["severity"], "problem");
  std::filesystem::remove(tree_ / "etc/OpenCL/vendors/tutti.icd");
  output = diagnosis(1);
  EXPECT_EQ(finding(output, "driver", "tutti.icd")["severity"], "problem");
}

TEST_F(DoctorTest, WithoutAnIcdLoader) {
  tree_.write("broken/libOpenCL.so.1", "no library");
  const json output = diagnosis(1, "LD_LIBRARY_PATH=" + (tree_ / "broken"));
  EXPECT_THAT(finding(output, "loader", "libOpenCL.so.1")["fix"].get<std::string>(),
              HasSubstr("ocl-icd-libopencl1"));
  EXPECT_EQ(finding(output, "environment", "LD_LIBRARY_PATH")["severity"], "note");
}

TEST_F(DoctorTest, AKernelIsBuiltAndRun) {
  json output = diagnosis(0);
  EXPECT_EQ(output["runs_kernels"], true);
  EXPECT_EQ(finding(output, "kernels", "was built and run")["severity"], "ok");
  for (const char* script : {"error:clBuildProgram:-11", "error:clEnqueueNDRangeKernel:-5",
                             "error:clCreateContext:-6", "event:-9999"}) {
    output = diagnosis(1, std::string("TUTTI_TEST_STUB='devices:2 ") + script + "'");
    EXPECT_EQ(output["found"], true) << script;
    EXPECT_EQ(output["runs_kernels"], false) << script;
    EXPECT_EQ(finding(output, "kernels", "no application can build")["severity"], "problem")
        << script;
    EXPECT_THAT(finding(output, "kernels", "1  stub-device #2 (Stub) cannot")["fix"],
                HasSubstr("TUTTI_DEVICES=-1"))
        << script;
  }
  output = diagnosis(1, "TUTTI_TEST_STUB='crash:clBuildProgram'");
  EXPECT_THAT(finding(output, "kernels", "no application can build")["text"], HasSubstr("crashes"));
}

TEST_F(DoctorTest, ThePlatformMayBeCalledAsThePrimarys) {
  json output = diagnosis(0, "TUTTI_IDENTITY=primary TUTTI_TEST_STUB='platform:NVIDIA_CUDA'");
  EXPECT_EQ(output["found"], true);
  EXPECT_EQ(output["runs_kernels"], true);
  // Another copy of Tutti, which is known by its version, is no vendor.
  tree_.write("v/tutti.icd", TUTTI_TEST_DRIVER "\n");
  output = diagnosis(0, "TUTTI_IDENTITY=primary TUTTI_VENDORS=" + (tree_ / "v"));
  EXPECT_EQ(output["found_without_run"], true);
  finding(output, "drivers", "this is Tutti itself");
}

TEST_F(DoctorTest, TheTrialLeavesNoTraces) {
  const std::string config =
      tree_.write("files.toml", "trace = '" + (tree_ / "t.json") + "'\nsummary = '" +
                                    (tree_ / "s.json") + "'\nrecord = '" + (tree_ / "r") +
                                    "'\nlog = 'debug:" + (tree_ / "l") + "'\n");
  diagnosis(0, "TUTTI_CONFIG=" + config);
  diagnosis(0, "TUTTI_TRACE=" + (tree_ / "t.json") + " TUTTI_RECORD=" + (tree_ / "r"));
  for (const char* file : {"t.json", "s.json", "r"}) {
    EXPECT_FALSE(std::filesystem::exists(tree_ / file)) << file;
  }
}

TEST_F(DoctorTest, NamesThatDoNotExist) {
  const json output = diagnosis(0,
                                "TUTTI_BALANCER=statik TUTTI_DEVICES=0,voodoo TUTTI_SPLIT=forse "
                                "TUTTI_PRIMARY=cray");
  EXPECT_THAT(finding(output, "configuration", "'cray' names no device")["text"],
              HasSubstr("TUTTI_PRIMARY"));
  EXPECT_THAT(finding(output, "configuration", "statik")["text"],
              HasSubstr("did you mean static?"));
  EXPECT_EQ(finding(output, "configuration", "voodoo matches no device")["severity"], "warning");
  EXPECT_THAT(finding(output, "configuration", "TUTTI_SPLIT=forse")["text"],
              HasSubstr("did you mean force?"));
  const std::string file = tree_.write("wrong.toml", "balancr = 'static'\n");
  EXPECT_THAT(finding(diagnosis(0, "TUTTI_CONFIG=" + file), "configuration", "balancr")["text"],
              HasSubstr("did you mean balancer?"));
}

TEST_F(DoctorTest, MistakesInTheConfiguration) {
  const json output = diagnosis(0, "TUTTI_BALANCR=x CUDA_VISIBLE_DEVICES=");
  EXPECT_EQ(finding(output, "configuration", "TUTTI_BALANCR is not an option")["severity"],
            "warning");
  EXPECT_EQ(finding(output, "environment", "CUDA_VISIBLE_DEVICES=")["fix"],
            "unset CUDA_VISIBLE_DEVICES");
}

TEST_F(DoctorTest, CachesThatCannotBeUsed) {
  const std::string folder = tree_ / "readonly";
  std::filesystem::create_directories(folder);
  chmod(folder.c_str(), 0555);
  const auto with = [&](const std::string& cache, const std::string& before,
                        const std::string& command) {
    return shell(as_user(before + "TUTTI_VENDORS=" + (tree_ / "v") + " TUTTI_CACHE=" + cache +
                         " exec " + tool() + " " + command));
  };
  Outcome outcome = with(folder, "", "doctor");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.output,
              HasSubstr(folder + " cannot be written: Permission denied; nothing is remembered"));
  outcome = with(folder + "/below/it", "", "doctor");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.output, HasSubstr("below/it cannot be made: " + folder));
  EXPECT_THAT(with(folder, "", "devices").output, HasSubstr("0  stub-device"));
  const std::string file = tree_.write("file", "");
  outcome = with(file, "", "doctor");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.output, HasSubstr(file + " is not a folder"));
}

// No file may grow, as on a full disk.
TEST_F(DoctorTest, AFullCache) {
  const std::string room = tree_ / "room";
  std::filesystem::create_directories(room);
  const Outcome outcome = shell("trap '' XFSZ; ulimit -f 0; TUTTI_VENDORS=" + (tree_ / "v") +
                                " TUTTI_CACHE=" + room + " exec " + tool() + " devices");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.output, HasSubstr("0  stub-device"));
  const auto check = [&room] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit none{0, 0};
    setrlimit(RLIMIT_FSIZE, &none);
    Findings findings;
    tools::check_cache(room, findings);
    const bool right =
        findings.size() == 1 && findings[0].severity == Severity::kWarning &&
        findings[0].text == room + " cannot be written: File too large; nothing is remembered";
    exit(right ? 0 : 1);
  };
  EXPECT_EXIT(check(), ::testing::ExitedWithCode(0), "");
  for (const auto& left : std::filesystem::recursive_directory_iterator(room)) {
    EXPECT_FALSE(left.is_regular_file()) << left.path() << " was left behind";
  }
}

TEST_F(DoctorTest, WhoseProcessesAreLookedAt) {
  const std::string folder = tree_ / "board";
  const auto told = [&](const std::string& environment) {
    return finding(diagnosis(0, "TUTTI_BOARD=" + environment), "neighbours", "launches");
  };
  json entry = told(folder);
  EXPECT_EQ(entry["severity"], "note");
  EXPECT_THAT(entry["text"], HasSubstr("this user alone: there is no " + folder));
  EXPECT_THAT(entry["fix"], HasSubstr("install -d -m 1777 " + folder));
  std::filesystem::create_directory(folder);
  std::filesystem::permissions(folder, std::filesystem::perms::all);
  entry = told(folder);
  EXPECT_EQ(entry["severity"], "warning");
  EXPECT_EQ(entry["fix"], "chmod +t " + folder);
  std::filesystem::permissions(folder,
                               std::filesystem::perms::all | std::filesystem::perms::sticky_bit);
  entry = told(folder);
  EXPECT_EQ(entry["severity"], "ok");
  EXPECT_EQ(entry["text"], "launches are planned around those of all users: " + folder);
  EXPECT_THAT(told("user")["text"], HasSubstr("TUTTI_BOARD=user"));
  EXPECT_THAT(told("user TUTTI_TOP=off")["text"], HasSubstr("TUTTI_TOP=off"));
  EXPECT_THAT(told("user TUTTI_NEIGHBOURS=off")["text"], HasSubstr("TUTTI_NEIGHBOURS=off"));
}

TEST_F(DoctorTest, WithoutAHome) {
  const Outcome outcome =
      shell("env -i OCL_ICD_VENDORS=" + (tree_ / "v") + " " + tool() + " doctor");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.output, HasSubstr("nothing is remembered: neither HOME"));
}

TEST_F(DoctorTest, BadUsage) {
  EXPECT_EQ(shell(tool() + " doctor --nonsense").code, 2);
  EXPECT_EQ(shell(tool() + " doctor gromacs nonsense").code, 2);
}

TEST(Doctor, ADeviceThatRunsNoKernelIsNamed) {
  Findings findings;
  platform::DeviceReport good, bad;
  bad.index = 1;
  bad.name = "Voodoo";
  bad.platform = "3dfx";
  tools::check_kernels({}, {{good, {}}, {bad, {true, "clBuildProgram: CL_OUT_OF_RESOURCES"}}},
                       findings);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].severity, Severity::kOk);
  EXPECT_EQ(findings[1].severity, Severity::kWarning);
  EXPECT_THAT(findings[1].text,
              AllOf(HasSubstr("1  Voodoo (3dfx)"), HasSubstr("OUT_OF_RESOURCES")));
}

TEST(Doctor, ALibraryThatADriverNeedsIsNamed) {
  Findings findings;
  check_drivers({{"/v/a.icd", "liba.so", false,
                  "cannot be loaded: libtbb.so.12: cannot open shared object file: No such file or "
                  "directory"},
                 {"", "/x/b.so", false, "cannot be loaded: /x/b.so: wrong ELF class: ELFCLASS32"},
                 {"/v/p.icd", "libpocl.so.2", false, "it has no device"},
                 {"/v/c.icd", "libc1.so", false, "clGetDeviceIDs: CL_OUT_OF_RESOURCES"}},
                {}, findings);
  EXPECT_THAT(findings, ElementsAre(Field(&Finding::fix,
                                          "install the package that brings libtbb.so.12, which "
                                          "liba.so needs"),
                                    Field(&Finding::fix,
                                          "install the driver for this architecture, or take "
                                          "it out of TUTTI_VENDORS"),
                                    Field(&Finding::fix, HasSubstr("POCL_CACHE_DIR")),
                                    Field(&Finding::fix, "update the driver, or remove /v/c.icd")));
}

TEST(Doctor, SeveralLlvmsAreAWarning) {
  Findings findings;
  check_llvm({{"libpocl.so.2", "/usr/lib/libLLVM-15.so.1"}, {"x.so", "/opt/libLLVM.so.19.1"}},
             findings);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, Severity::kWarning);
  EXPECT_THAT(findings[0].text, AllOf(HasSubstr("libLLVM-15.so.1 in libpocl.so.2"),
                                      HasSubstr("libLLVM.so.19.1 in x.so")));
  findings.clear();
  check_llvm({{"a.so", "/usr/lib/libLLVM-15.so.1"}, {"b.so", "/usr/lib/libLLVM-15.so.1"}},
             findings);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, Severity::kOk);
  EXPECT_THAT(findings[0].text, HasSubstr("a.so, b.so"));
}

TEST(Doctor, GraphicsCardsWithoutADriver) {
  const TemporaryFolder pci;
  pci.write("0/class", "0x030000\n");
  pci.write("0/vendor", "0x10de\n");
  pci.write("1/class", "0x030200\n");
  pci.write("1/vendor", "0x10de\n");
  pci.write("2/class", "0x020000\n");  // a network card
  pci.write("2/vendor", "0x8086\n");
  Findings findings;
  check_graphics_cards(pci.path(), {}, findings);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, Severity::kNote);
  EXPECT_EQ(findings[0].text, "2 graphics cards of NVIDIA, which no OpenCL driver shows");
  EXPECT_THAT(findings[0].fix, HasSubstr("nvidia-opencl-icd"));
  findings.clear();
  platform::DeviceReport gpu;
  gpu.platform = "NVIDIA CUDA";
  gpu.type = CL_DEVICE_TYPE_GPU;
  check_graphics_cards(pci.path(), {gpu}, findings);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, Severity::kOk);
  findings.clear();
  check_graphics_cards("/nonexistent", {}, findings);
  EXPECT_THAT(findings, IsEmpty());
}

// Ends with 0 when the two findings of `dev` are as expected, as a user without rights sees them.
[[noreturn]] void check_nodes_as_user(const std::string& dev, gid_t group) {
  if (geteuid() == 0 && (setgroups(0, nullptr) != 0 || setresgid(65534, 65534, 65534) != 0 ||
                         setresuid(65534, 65534, 65534) != 0)) {
    exit(3);
  }
  Findings findings;
  tools::check_device_nodes(dev, findings);
  const ::group* entry = getgrgid(group);
  const std::string name = entry ? entry->gr_name : std::to_string(group);
  const bool right =
      findings.size() == 2 && findings[0].severity == Severity::kWarning &&
      findings[0].text == dev + "/dri/renderD128 cannot be used: Permission denied" &&
      findings[0].fix.find(group == 0 ? "give users access" : "usermod -aG " + name) == 0 &&
      findings[1].severity == Severity::kOk && findings[1].text == dev + "/nvidia0 is accessible";
  for (const Finding& finding : findings) {
    fprintf(stderr, "%s | %s\n", finding.text.c_str(), finding.fix.c_str());
  }
  exit(right ? 0 : 1);
}

TEST(DoctorDeathTest, DeviceNodesThatTheUserMayNotOpen) {
  const TemporaryFolder dev;
  chmod(dev.path().c_str(), 0755);
  const std::string render = dev.write("dri/renderD128", "");
  chmod(dev.write("nvidia0", "").c_str(), 0666);
  dev.write("dri/card0", "");  // displays only
  dev.write("nvidia-modeset", "");
  gid_t group = getegid();
  if (geteuid() == 0 && chown(render.c_str(), 0, 44) == 0) group = 44;  // Debian's video
  // The owner may not either, where the test is no root.
  chmod(render.c_str(), geteuid() == 0 ? 0660 : 0);
  if (geteuid() != 0) GTEST_SKIP() << "a group's rights are tried by root";
  EXPECT_EXIT(check_nodes_as_user(dev.path(), group), ::testing::ExitedWithCode(0), "");
}

TEST(Doctor, MachinesWithoutGpus) {
  const TemporaryFolder dev;
  Findings findings;
  tools::check_device_nodes(dev.path(), findings);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, Severity::kOk);
}

}  // namespace
}  // namespace tutti
