// SPDX-License-Identifier: Apache-2.0
// A fixture that loads a copy of the stub vendor driver of its own for each test, since a library
// is loaded once per process and keeps its state. Single-threaded.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "platform/create_backends.h"
#include "stub_vendor.h"

namespace tutti::backends {

class StubTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "tutti-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    library_ = folder_ / "stub.so";
    std::filesystem::copy_file(TUTTI_TEST_STUB_LIBRARY, library_);
  }
  void TearDown() override {
    std::filesystem::remove_all(folder_);
    unsetenv("TUTTI_TEST_STUB");
  }

  /// Loads the driver with a script, without the probe unless asked.
  platform::VendorLoader load(const std::string& script, const std::string& probe = {}) {
    setenv("TUTTI_TEST_STUB", script.c_str(), 1);
    platform::DiscoveryOptions options;
    options.vendors = library_.string();
    options.probe = probe;
    return platform::VendorLoader(options);
  }
  template <typename Function>
  Function symbol(const char* name) {
    void* handle = dlopen(library_.c_str(), RTLD_NOW | RTLD_NOLOAD);
    EXPECT_NE(handle, nullptr);
    return handle ? reinterpret_cast<Function>(dlsym(handle, name)) : nullptr;
  }
  void script(const char* text) { symbol<TuttiTestStubScript>("tutti_test_stub_script")(text); }
  uint64_t calls(const char* function) {
    return symbol<TuttiTestStubCalls>("tutti_test_stub_calls")(function);
  }
  int64_t live_objects() {
    return symbol<TuttiTestStubLiveObjects>("tutti_test_stub_live_objects")();
  }

  std::filesystem::path folder_, library_;
};

}  // namespace tutti::backends
