// SPDX-License-Identifier: Apache-2.0
// Discovery on folders of made-up .icd files, and the probe on the stub vendor driver.
#include "platform/discovery.h"

#include <gmock/gmock.h>

#include <csignal>

#include "base/own_files.h"
#include "temporary_folder.h"

namespace tutti::platform {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class DiscoveryTest : public ::testing::Test {
 protected:
  void TearDown() override { unsetenv("TUTTI_TEST_STUB"); }
  // A stub library of its own: one file is loaded once per process.
  std::string stub(const std::string& name) {
    const std::string path = folder_ / name;
    std::filesystem::copy_file(TUTTI_TEST_STUB_LIBRARY, path);
    return path;
  }
  std::vector<VendorLibrary> discover(const std::string& vendors) {
    DiscoveryOptions options;
    options.vendors = vendors;
    options.system_folder = folder_ / "system";
    return discover_vendors(options);
  }
  TemporaryFolder folder_;
};

TEST_F(DiscoveryTest, AFolderInTheOrderOfNames) {
  const std::string b = stub("b.so"), a = stub("a.so");
  folder_.write("icds/1.icd", b + "\n");
  folder_.write("icds/2.icd", a);
  folder_.write("icds/3.txt", a);
  const auto found = discover(folder_ / "icds");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].library, b);
  EXPECT_EQ(found[0].icd, folder_ / "icds/1.icd");
  EXPECT_EQ(found[0].path, b);
  EXPECT_TRUE(found[0].ok());
  EXPECT_NE(found[0].get_extension_function, nullptr);
  EXPECT_EQ(found[1].library, a);
  EXPECT_TRUE(found[1].ok());
}

TEST_F(DiscoveryTest, TheSystemsFolderByDefault) {
  folder_.write("system/x.icd", stub("x.so"));
  EXPECT_EQ(discover("").size(), 1u);
  EXPECT_EQ(discover("x.icd").size(), 1u);  // as ocl-icd has it
}

TEST_F(DiscoveryTest, AListOfFoldersFilesAndLibraries) {
  const std::string a = stub("a.so"), b = stub("b.so"), c = stub("c.so");
  folder_.write("icds/a.icd", a);
  const std::string file = folder_.write("other.icd", b);
  const auto found = discover(folder_ / "icds" + "::" + file + ":" + c);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].library, a);
  EXPECT_EQ(found[1].library, b);
  EXPECT_EQ(found[2].library, c);
  EXPECT_EQ(found[2].icd, "");
  for (const VendorLibrary& library : found) EXPECT_TRUE(library.ok()) << library.reason;
}

TEST_F(DiscoveryTest, WhatIsNoDriverIsLeftOutWithAReason) {
  folder_.write("icds/0-empty.icd", "");
  folder_.write("icds/1-blank.icd", " \n");
  folder_.write("icds/2-missing.icd", "libdoes-not-exist-anywhere.so");
  folder_.write("icds/3-text.icd", folder_.write("text.so", "not a library"));
  folder_.write("icds/4-other.icd", "libm.so.6");
  folder_.write("icds/5-binary.icd", std::string("\x7f\0\0\xff", 4));
  const auto found = discover(folder_ / "icds");
  ASSERT_EQ(found.size(), 6u);
  for (const VendorLibrary& library : found) EXPECT_FALSE(library.ok()) << library.icd;
  EXPECT_THAT(found[0].reason, HasSubstr("empty"));
  EXPECT_THAT(found[1].reason, HasSubstr("names no library"));
  EXPECT_THAT(found[2].reason, HasSubstr("cannot be loaded"));
  EXPECT_THAT(found[3].reason, HasSubstr("cannot be loaded"));
  EXPECT_THAT(found[4].reason, HasSubstr("not an OpenCL driver"));
}

TEST_F(DiscoveryTest, ItselfIsRefused) {
  const std::string named = stub("libtutti.so");
  const std::string link = folder_ / "libother.so";
  std::filesystem::create_symlink(named, link);
  folder_.write("icds/a.icd", named);
  folder_.write("icds/b.icd", "libtutti.so");  // a bare name, wherever it would be found
  folder_.write("icds/c.icd", own_binary());
  const auto found = discover(folder_ / "icds" + ":" + link);
  ASSERT_EQ(found.size(), 4u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(found[i].reason, "this is Tutti itself") << i;
}

TEST_F(DiscoveryTest, OneLibraryOnce) {
  const std::string a = stub("a.so");
  const std::string link = folder_ / "link.so";
  std::filesystem::create_symlink(a, link);
  const auto found = discover(a + ":" + link);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_TRUE(found[0].ok());
  EXPECT_THAT(found[1].reason, StartsWith("already loaded"));
}

TEST_F(DiscoveryTest, MissingFolders) {
  EXPECT_THAT(discover(""), IsEmpty());
  EXPECT_THAT(discover(":::"), IsEmpty());
  const auto found = discover(folder_ / "nothing");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].reason, HasSubstr("cannot be loaded"));
}

TEST_F(DiscoveryTest, NothingInsideTheProbe) {
  setenv(kInsideProbe, "1", 1);
  EXPECT_THAT(discover(stub("a.so")), IsEmpty());
  unsetenv(kInsideProbe);
  EXPECT_EQ(discover(folder_ / "a.so").size(), 1u);
}

class ProbeTest : public DiscoveryTest {
 protected:
  ProbeVerdict probe(const std::string& library, const char* script) {
    setenv("TUTTI_TEST_STUB", script, 1);
    return probe_libraries({library}, options_).at(0);
  }
  ProbeTest() {
    options_.probe = TUTTI_TEST_PROBE;
    options_.cache_folder = folder_ / "cache";
  }
  std::vector<std::string> remembered() {
    std::vector<std::string> files;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "cache/probe", error)) {
      files.push_back(entry.path().string());
    }
    return files;
  }
  DiscoveryOptions options_;
};

TEST_F(ProbeTest, SoundDriversAndThoseThatAreNone) {
  EXPECT_TRUE(probe(stub("a.so"), "").safe);
  EXPECT_TRUE(probe(folder_ / "a.so", "no-devices").safe);
  EXPECT_TRUE(probe(folder_ / "a.so", "null:clGetDeviceIDs").safe);
  EXPECT_TRUE(probe("libm.so.6", "").safe);
  EXPECT_TRUE(probe("libdoes-not-exist-anywhere.so", "").safe);
}

TEST_F(ProbeTest, CrashesAreFoundWhereverTheyHappen) {
  const std::string library = stub("a.so");
  for (const char* function :
       {"clIcdGetPlatformIDsKHR", "clGetPlatformInfo", "clGetDeviceIDs", "clGetDeviceInfo"}) {
    const ProbeVerdict verdict = probe(library, (std::string("crash:") + function).c_str());
    EXPECT_FALSE(verdict.safe) << function;
    EXPECT_THAT(verdict.reason, HasSubstr("crashes when it is queried (")) << function;
  }
}

TEST_F(ProbeTest, AHangEnds) {
  options_.probe_seconds = 1;
  const ProbeVerdict verdict = probe(stub("a.so"), "hang:clGetDeviceInfo");
  EXPECT_FALSE(verdict.safe);
  EXPECT_THAT(verdict.reason, HasSubstr("hangs"));
  // It may have been the machine: the next process looks again.
  EXPECT_TRUE(remembered().empty());
}

TEST_F(ProbeTest, TheVerdictIsRemembered) {
  const std::string library = stub("a.so");
  const ProbeVerdict first = probe(library, "crash:clGetDeviceInfo");
  const auto files = remembered();
  ASSERT_EQ(files.size(), 1u);
  // Without the probe program it can only come from memory.
  options_.probe = "/nonexistent/probe";
  const ProbeVerdict again = probe(library, "crash:clGetDeviceInfo");
  EXPECT_FALSE(again.safe);
  EXPECT_THAT(again.reason, AllOf(StartsWith(first.reason), HasSubstr("remove " + files[0])));
  // Another environment, or a changed library, is another question.
  EXPECT_TRUE(probe(library, "").safe);
  options_.probe = TUTTI_TEST_PROBE;
  EXPECT_TRUE(probe(library, "units:3").safe);
  EXPECT_EQ(remembered().size(), 2u);
  std::filesystem::last_write_time(library, std::filesystem::file_time_type{});
  EXPECT_TRUE(probe(library, "units:3").safe);
  EXPECT_EQ(remembered().size(), 3u);
}

TEST_F(ProbeTest, ADamagedMemoryIsMadeAnew) {
  const std::string library = stub("a.so");
  EXPECT_FALSE(probe(library, "crash:clGetDeviceInfo").safe);
  ASSERT_EQ(remembered().size(), 1u);
  const std::string file = remembered()[0];
  for (const char* damage : {"", "tutti-probe 1\n", "tutti-probe 1\nsafe\nanother key\n", "\x01"}) {
    std::ofstream(file, std::ios::trunc) << damage;
    EXPECT_FALSE(probe(library, "crash:clGetDeviceInfo").safe) << damage;
    options_.probe = "/nonexistent/probe";
    EXPECT_FALSE(probe(library, "crash:clGetDeviceInfo").safe) << "not remembered again";
    options_.probe = TUTTI_TEST_PROBE;
  }
}

TEST_F(ProbeTest, ACacheThatCannotBeWrittenDoesNoHarm) {
  options_.cache_folder = folder_.write("a-file", "") + "/cache";
  EXPECT_TRUE(probe(stub("a.so"), "").safe);
  EXPECT_FALSE(probe(folder_ / "a.so", "crash:clGetDeviceIDs").safe);
  options_.cache_folder = "/proc/nothing";
  EXPECT_TRUE(probe(folder_ / "a.so", "").safe);
}

TEST_F(ProbeTest, ApplicationsMayIgnoreTheirChildren) {
  const auto old = std::signal(SIGCHLD, SIG_IGN);
  EXPECT_TRUE(probe(stub("a.so"), "").safe);
  EXPECT_FALSE(probe(folder_ / "a.so", "crash:clGetDeviceInfo").safe);
  std::signal(SIGCHLD, old);
}

TEST_F(ProbeTest, ManyAtOnceKeepTheirOrder) {
  const std::string a = stub("a.so");
  setenv("TUTTI_TEST_STUB", "crash:clGetDeviceInfo", 1);
  const auto verdicts = probe_libraries({"libm.so.6", a, "libc.so.6"}, options_);
  ASSERT_EQ(verdicts.size(), 3u);
  EXPECT_TRUE(verdicts[0].safe);
  EXPECT_FALSE(verdicts[1].safe);
  EXPECT_TRUE(verdicts[2].safe);
}

TEST_F(ProbeTest, ACrashingDriverIsNotLoaded) {
  setenv("TUTTI_TEST_STUB", "crash:clGetPlatformInfo", 1);
  options_.vendors = stub("a.so");
  const auto found = discover_vendors(options_);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_FALSE(found[0].ok());
  EXPECT_THAT(found[0].reason, HasSubstr("crashes"));
}

}  // namespace
}  // namespace tutti::platform
