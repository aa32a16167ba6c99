// SPDX-License-Identifier: Apache-2.0
// The kernel compiler in its helper processes: what their failures cost, and that the application
// sees nothing of them. main() sets the options before anything reads them.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "kernel_compiler/compile_cache.h"
#include "test_support.h"

namespace tutti::kernel_compiler {
namespace {

namespace fs = std::filesystem;

std::string kernel_with(const std::string& word) {
  return "// " + word + "\nkernel void k(global int* out, int n) { out[get_global_id(0)] = n; }";
}

size_t open_files() {
  const auto folder = fs::directory_iterator("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(folder), end(folder)));
}

class CompilerProcess : public testing::Test {
 protected:
  CompilerProcess() {
    std::string name = (fs::temp_directory_path() / "tutti-compiler-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~CompilerProcess() override { fs::remove_all(folder_); }

  /// Compiles a program whose analysis fails, and checks that only this is lost.
  CompileOutput unanalysed(const std::string& word, const std::string& reason) {
    const CompileOutput output = compiled(kernel_with(word));
    const scheduler::KernelSummary& kernel = kernel_of(output, "k");
    EXPECT_NE(kernel.whole_reason.find(reason), std::string::npos) << kernel.whole_reason;
    EXPECT_EQ(kernel.arguments.size(), 2u);
    EXPECT_TRUE(kernel.accesses.empty());
    EXPECT_NE(output.preprocessed.find("out["), std::string::npos);
    return output;
  }
  size_t kept() const {
    std::error_code none_yet;
    const auto files = fs::directory_iterator(folder_ / "programs", none_yet);
    return static_cast<size_t>(std::distance(begin(files), end(files)));
  }

  fs::path folder_;
};

TEST_F(CompilerProcess, AProgramIsAnalysed) {
  const CompileOutput output = compiled(kernel_with("nothing"));
  EXPECT_EQ(kernel_of(output, "k").whole_reason, "");
  EXPECT_EQ(kernel_of(output, "k").accesses.size(), 1u);
}

TEST_F(CompilerProcess, ACrashOfTheAnalysisCostsTheAnalysis) {
  EXPECT_TRUE(unanalysed("analysis_crashes", "crashed (Segmentation fault)").repeatable);
  EXPECT_TRUE(unanalysed("analysis_aborts", "crashed (Aborted)").repeatable);
  EXPECT_TRUE(unanalysed("analysis_exits", "ended its process").repeatable);
  // Known from now on, and others are analysed.
  EXPECT_TRUE(unanalysed("analysis_crashes", "crashed (Segmentation fault)").repeatable);
  EXPECT_EQ(kernel_of(compiled(kernel_with("another")), "k").whole_reason, "");
}

TEST_F(CompilerProcess, UnitsThatAreLinkedAreNotAnalysedEither) {
  CompileRequest request = request_for({});
  request.units = {
      {"int f(int x) { return x; } // analysis_crashes\n", ""},
      {"int f(int); kernel void k(global int* o) { o[get_global_id(0)] = f(1); }", ""}};
  const CompileOutput output = compiled(request);
  EXPECT_NE(kernel_of(output, "k").whole_reason.find("crashed"), std::string::npos);
  EXPECT_EQ(output.units.size(), 2u);
  request.units.pop_back();
  request.units[0].source += "kernel void l(global int* o) { o[0] = g(1); } int g(int);";
  const auto wrong = compile(request);
  ASSERT_TRUE(wrong);
  EXPECT_FALSE(wrong->ok) << "errors are found without the analysis, too";
}

TEST_F(CompilerProcess, TimeIsBounded) {
  EXPECT_TRUE(unanalysed("analysis_never_ends", "took more than 1 seconds").repeatable);
}

TEST_F(CompilerProcess, WhatMayGoWellAnotherTimeIsNotKept) {
  EXPECT_FALSE(unanalysed("analysis_waits", "has not ended after 10 seconds").repeatable);
}

TEST_F(CompilerProcess, MemoryIsBounded) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer needs more address space than any bound";
#endif
  EXPECT_FALSE(unanalysed("analysis_grows", "ran out of memory").repeatable);
}

TEST_F(CompilerProcess, ACrashOfTheFrontEndIsAnErrorOfTheBuild) {
  const auto output = compile(request_for(kernel_with("front_end_crashes")));
  ASSERT_TRUE(output) << output.error().message;
  EXPECT_FALSE(output->ok);
  EXPECT_NE(output->log.find("the kernel compiler crashed"), std::string::npos) << output->log;
}

TEST_F(CompilerProcess, CrashesAreRememberedAndWhatMayGoWellIsNot) {
  const auto request = request_for(kernel_with("analysis_crashes, on disk"));
  const std::string programs = (folder_ / "programs").string();
  const auto first = compile_or_recall(request, programs);
  ASSERT_TRUE(first && first->ok);
  EXPECT_EQ(kept(), 1u);
  const auto second = compile_or_recall(request, programs);
  ASSERT_TRUE(second);
  EXPECT_EQ(*first, *second);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  ASSERT_TRUE(compile_or_recall(request_for(kernel_with("analysis_grows")), programs));
  EXPECT_EQ(kept(), 1u);
#endif
}

std::atomic<int> ended_children{0};

TEST_F(CompilerProcess, TheApplicationSeesNothingOfIt) {
  compiled(kernel_with("a helper is there"));
  const size_t files = open_files();
  struct sigaction count {
  }, before{};
  count.sa_handler = [](int) { ++ended_children; };
  sigaction(SIGCHLD, &count, &before);
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  unanalysed("analysis_crashes, unseen", "crashed");
  EXPECT_EQ(waitpid(-1, nullptr, __WALL | WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
  // No helper holds the pipe open.
  close(pipe_ends[1]);
  pollfd end{pipe_ends[0], POLLIN, 0};
  EXPECT_EQ(poll(&end, 1, 0), 1);
  close(pipe_ends[0]);
  EXPECT_EQ(ended_children, 0);
  sigaction(SIGCHLD, &before, nullptr);
  EXPECT_EQ(open_files(), files);
}

TEST_F(CompilerProcess, RelativePathsAreTheApplications) {
  compiled(kernel_with("a helper is there"));
  std::ofstream(folder_ / "number.h") << "#define NUMBER 42\n";
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  const CompileOutput output = compiled(
      "#include \"number.h\"\nkernel void k(global int* o) { o[get_global_id(0)] = NUMBER; }");
  fs::current_path(before);
  EXPECT_NE(output.preprocessed.find("42"), std::string::npos);
}

TEST_F(CompilerProcess, ThreadsHaveHelpersOfTheirOwn) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([i] {
      for (int j = 0; j < 4; ++j) {
        const auto output = compile(request_for(kernel_with(std::to_string(10 * i + j))));
        EXPECT_TRUE(output && output->ok);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tutti::kernel_compiler

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  setenv("TUTTI_COMPILER", TUTTI_TEST_FAILING_COMPILER, 1);
  setenv("TUTTI_BUILD_SECONDS", "1", 1);
  setenv("TUTTI_BUILD_MEMORY", "1024", 1);
  setenv("TUTTI_LOG", "error", 1);
  return RUN_ALL_TESTS();
}
