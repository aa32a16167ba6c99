// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "deviations.h"
#include "fixtures.h"

namespace tutti::api_tests {
namespace {

struct Arguments {
  std::string platform = "Tutti";
  std::optional<bool> strict_handles;
  std::string deviations = TUTTI_API_TESTS_DEVIATIONS;
};

constexpr const char* kHelp =
    "  --platform=NAME           platform to test (default: $TUTTI_TEST_PLATFORM, or Tutti)\n"
    "  --strict-handles[=no]     pass handles of the wrong kind (default: for Tutti only)\n"
    "  --deviations=FILE         table of known deviations of vendors' own drivers\n";

// The value of --name=value or --name value; nothing when `argv[*i]` is another argument.
std::optional<std::string> option(const char* name, int argc, char** argv, int* i) {
  const std::string argument = argv[*i];
  if (argument == name && *i + 1 < argc) return argv[++*i];
  const std::string start = std::string(name) + "=";
  if (argument.compare(0, start.size(), start) == 0) return argument.substr(start.size());
  return std::nullopt;
}

bool parse(int argc, char** argv, Arguments* arguments) {
  if (const char* name = std::getenv("TUTTI_TEST_PLATFORM")) arguments->platform = name;
  for (int i = 1; i < argc; ++i) {
    if (auto platform = option("--platform", argc, argv, &i)) {
      arguments->platform = *platform;
    } else if (auto file = option("--deviations", argc, argv, &i)) {
      arguments->deviations = *file;
    } else if (std::strcmp(argv[i], "--strict-handles") == 0) {
      arguments->strict_handles = true;
    } else if (std::strcmp(argv[i], "--strict-handles=no") == 0) {
      arguments->strict_handles = false;
    } else {
      std::cerr << "unknown argument " << argv[i] << "\n" << kHelp;
      return false;
    }
  }
  return true;
}

bool find_platform(const std::string& wanted, Options* chosen, std::string* device_name) {
  cl_uint count = 0;
  clGetPlatformIDs(0, nullptr, &count);
  std::vector<cl_platform_id> platforms(count);
  if (count > 0) clGetPlatformIDs(count, platforms.data(), nullptr);
  std::string found;
  for (const cl_platform_id platform : platforms) {
    char name[256] = {};
    clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name), name, nullptr);
    found += std::string("\n  ") + name;
    if (wanted != name) continue;
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &chosen->device, nullptr) != CL_SUCCESS) {
      std::cerr << "platform '" << wanted << "' has no device\n";
      return false;
    }
    chosen->platform = platform;
    chosen->platform_name = name;
    char text[1024] = {};
    clGetDeviceInfo(chosen->device, CL_DEVICE_NAME, sizeof(text), text, nullptr);
    *device_name = text;
    return true;
  }
  std::cerr << "no OpenCL platform is named '" << wanted << "'; there are:" << found << "\n";
  return false;
}

int run(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  Arguments arguments;
  if (!parse(argc, argv, &arguments)) return 2;
  if (testing::GTEST_FLAG(list_tests)) return RUN_ALL_TESTS();

  Options chosen;
  std::string device_name;
  if (!find_platform(arguments.platform, &chosen, &device_name)) return 2;
  chosen.tutti = chosen.platform_name == "Tutti";
  chosen.strict_handles = arguments.strict_handles.value_or(chosen.tutti);
  set_options(chosen);

  std::cout << "platform '" << chosen.platform_name << "', device '" << device_name << "'\n";
  std::vector<Deviation> deviations;
  if (!chosen.tutti) {
    deviations = load_deviations(arguments.deviations, chosen.platform_name, device_name);
  }
  return run_tests(deviations);
}

}  // namespace
}  // namespace tutti::api_tests

int main(int argc, char** argv) { return tutti::api_tests::run(argc, argv); }
