// SPDX-License-Identifier: Apache-2.0
// Every .cl file of some folders goes through the compiler: no crash, no hang, consistent answers.
// The folders: TUTTI_CL_CORPUS (separated by colons), else what Debian's packages install.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "kernel_compiler/summary_json.h"
#include "test_support.h"

namespace tutti::kernel_compiler {
namespace {

std::vector<std::filesystem::path> folders() {
  std::vector<std::filesystem::path> result;
  if (const char* list = std::getenv("TUTTI_CL_CORPUS")) {
    std::istringstream stream(list);
    for (std::string folder; std::getline(stream, folder, ':');) {
      result.emplace_back(folder);
    }
  } else {
    result = {"/usr/lib/x86_64-linux-gnu/piglit", "/usr/lib/python3/dist-packages/pyopencl/cl",
              "/usr/share/darktable/kernels"};
  }
  return result;
}

std::vector<std::filesystem::path> files() {
  std::vector<std::filesystem::path> result;
  for (const auto& folder : folders()) {
    std::error_code error;
    for (auto it = std::filesystem::recursive_directory_iterator(folder, error);
         !error && it != std::filesystem::recursive_directory_iterator(); it.increment(error)) {
      if (it->path().extension() == ".cl") {
        result.push_back(it->path());
      }
    }
  }
  return result;
}

TEST(Corpus, EveryFileGoesThrough) {
  const auto all = files();
  if (all.empty()) {
    GTEST_SKIP() << "no .cl files installed";
  }
  size_t succeeded = 0;
  size_t kernels = 0;
  size_t whole = 0;
  for (const auto& file : all) {
    SCOPED_TRACE(file);
    std::ifstream stream(file);
    std::string source((std::istreambuf_iterator<char>(stream)), {});
    CompileRequest request = request_for(source, "-w -I \"" + file.parent_path().string() + "\"");
    request.extensions.push_back("cl_khr_fp16");
    const auto output = compile(request);
    ASSERT_TRUE(output) << output.error().message;
    EXPECT_FALSE(output->invalid_options) << output->log;
    if (!output->ok) {
      EXPECT_NE(output->log.find("error:"), std::string::npos) << output->log;
      continue;
    }
    ++succeeded;
    // Summaries survive their own text form, which also checks every index.
    const auto back = decode_summary(encode_summary(output->summary));
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(*back, output->summary);
    // What vendors get compiles as well, to the same kernels with the same accesses.
    request.source = output->preprocessed;
    const auto again = compile(request);
    ASSERT_TRUE(again && again->ok) << again->log;
    auto same = output->summary;
    if (request.source.find("__tutti_") != std::string::npos) {
      // Nobody rewrites what has been rewritten; a kernel that needs it says so.
      for (size_t i = 0; i < same.kernels.size() && i < again->summary.kernels.size(); ++i) {
        if (same.kernels[i].needs_rewrite) {
          same.kernels[i].whole_reason = again->summary.kernels[i].whole_reason;
        }
      }
    }
    EXPECT_EQ(again->summary, same);
    for (const auto& kernel : output->summary.kernels) {
      ++kernels;
      whole += kernel.whole_reason.empty() ? 0 : 1;
      EXPECT_TRUE(!kernel.needs_rewrite || !output->rewritten.empty() ||
                  !kernel.whole_reason.empty())
          << kernel.name;
    }
  }
  std::cout << all.size() << " files, " << succeeded << " compiled, " << kernels << " kernels, "
            << whole << " of them kept whole\n";
  EXPECT_GT(succeeded, all.size() / 2);
}

}  // namespace
}  // namespace tutti::kernel_compiler
