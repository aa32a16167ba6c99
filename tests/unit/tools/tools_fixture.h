// SPDX-License-Identifier: Apache-2.0
// `tutti` in a tree made up for the test, where a stub driver (../backends/stub_vendor.h) stands
// for Tutti or for a vendor. Used by one thread.
#pragma once

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "base/temporary_folder.h"
#include "shell.h"

namespace tutti {

class ToolsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    namespace fs = std::filesystem;
    fs::create_directories(tree_ / "bin");
    fs::create_directories(tree_ / "libexec/tutti");
    fs::copy_file(TUTTI_TEST_TOOL, tree_ / "bin/tutti");
    fs::copy_file(TUTTI_TEST_PROBE, tree_ / "libexec/tutti/tutti-probe");
    fs::copy_file(TUTTI_TEST_BUILDER, tree_ / "libexec/tutti/tutti-builder");
    fs::copy_file(TUTTI_TEST_DEVICE, tree_ / "libexec/tutti/tutti-device");
    fs::copy_file(TUTTI_TEST_STUB_LIBRARY, tree_ / "stub.so");
    for (const char* name : {"OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH", "OCL_ICD_FILENAMES",
                             "TUTTI_VENDORS", "TUTTI_DEVICES", "TUTTI_BALANCER", "TUTTI_SUMMARY",
                             "TUTTI_LOG", "TUTTI_TRACE", "TUTTI_TEST_STUB"}) {
      unsetenv(name);
    }
    setenv("TUTTI_CACHE", (tree_ / "cache").c_str(), 1);
    setenv("TUTTI_CONFIG", tree_.write("empty.toml", "").c_str(), 1);
  }
  std::string tool() { return tree_ / "bin/tutti"; }
  /// The command bound by permissions, also where the tests run as root.
  static std::string as_user(const std::string& command) {
    if (geteuid() != 0) return command;
    return "setpriv --bounding-set=-dac_override,-dac_read_search -- sh -c '" + command + "'";
  }
  void install_icd(const std::string& folder) {
    tree_.write(folder + "/tutti.icd", (tree_ / "stub.so") + "\n");
  }
  /// The stub driver is the only vendor's, with so many devices.
  void show_vendors(int devices) {
    setenv("TUTTI_VENDORS", (tree_ / "stub.so").c_str(), 1);
    setenv("TUTTI_TEST_STUB", ("devices:" + std::to_string(devices)).c_str(), 1);
  }
  TemporaryFolder tree_;
};

}  // namespace tutti
