// SPDX-License-Identifier: Apache-2.0
//
// What kernels print is the application's own standard output, each line once.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "fixtures.h"

namespace tutti::api_tests {
namespace {

/// Standard output goes to a file while this lives.
class CapturedOutput {
 public:
  CapturedOutput() : path_(testing::TempDir() + "tutti-printf-" + std::to_string(getpid())) {
    std::fflush(stdout);
    kept_ = dup(STDOUT_FILENO);
    const int file = open(path_.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    dup2(file, STDOUT_FILENO);
    close(file);
  }
  std::string end() {
    std::fflush(stdout);
    dup2(kept_, STDOUT_FILENO);
    close(kept_);
    std::ostringstream text;
    text << std::ifstream(path_).rdbuf();
    unlink(path_.c_str());
    return text.str();
  }

 private:
  const std::string path_;
  int kept_ = -1;
};

class KernelPrintf : public QueueTest {
 protected:
  /// Standard output of a launch, when it has ended.
  std::string printed(const Kernel& kernel, size_t global, size_t local) const {
    CapturedOutput captured;
    const cl_int launched = launch(kernel, global, local);
    const cl_int finished = clFinish(queue_);
    std::string text = captured.end();
    EXPECT_SUCCESS(launched);
    EXPECT_SUCCESS(finished);
    return text;
  }
};

TEST_F(KernelPrintf, GoesToStandardOutput) {
  const Program program = build(
      "kernel void speak(global int* out) {\n"
      "  out[get_global_id(0)] = 1;\n"
      "  if (get_local_id(0) == 0) printf(\"<group %d of %d>\\n\", (int)get_group_id(0),\n"
      "                                   (int)get_num_groups(0));\n"
      "}\n");
  const Kernel speak = make_kernel(program, "speak");
  const Buffer out = make_buffer(256 * sizeof(cl_int));
  set_args(speak, out);
  const std::string text = printed(speak, 256, 64);
  for (int group = 0; group < 4; ++group) {
    const std::string line = "<group " + std::to_string(group) + " of 4>";
    const size_t at = text.find(line);
    ASSERT_NE(at, std::string::npos) << text;
    EXPECT_EQ(text.find(line, at + 1), std::string::npos) << text;
  }
}

TEST_F(KernelPrintf, ShowsSizesAndDifferences) {
  if (!device_supports_c(310)) GTEST_SKIP() << "of OpenCL C 3.1";
  const Program program = build(
      "kernel void speak(global int* out) {\n"
      "  const size_t size = (size_t)out[0] << 33;\n"
      "  printf(\"<%zu %zx %td>\\n\", size, size, -(ptrdiff_t)size);\n"
      "}\n",
      "-cl-std=CL3.1");
  const Kernel speak = make_kernel(program, "speak");
  const Buffer out = make_buffer_of(std::vector<cl_int>{1});
  set_args(speak, out);
  EXPECT_EQ(printed(speak, 1, 1), "<8589934592 200000000 -8589934592>\n");
}

}  // namespace
}  // namespace tutti::api_tests
