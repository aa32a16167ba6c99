// SPDX-License-Identifier: Apache-2.0
// What is kept of compilations: it must never differ from what the compiler would say now.
#include "kernel_compiler/compile_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "base/kept_file.h"
#include "base/temporary_folder.h"
#include "test_support.h"

namespace tutti::kernel_compiler {
namespace {

namespace fs = std::filesystem;

constexpr char kKernel[] =
    "kernel void k(global float* o) { o[get_group_id(0)] = get_global_id(0); }";

class CompileCache : public testing::Test {
 protected:
  /// Asks for the program, and checks the answer against the compiler's.
  CompileOutput ask(const CompileRequest& request) {
    auto output = compile_or_recall(request, programs_);
    auto expected = compile(request);
    EXPECT_TRUE(output && expected);
    if (!output || !expected) return {};
    EXPECT_EQ(*output, *expected);
    return std::move(*output);
  }
  CompileOutput ask(const std::string& source, const std::string& options = {}) {
    return ask(request_for(source, options));
  }
  std::vector<fs::path> kept() const {
    std::vector<fs::path> files;
    std::error_code none_yet;
    for (const auto& entry : fs::directory_iterator(programs_, none_yet)) files.push_back(entry);
    std::sort(files.begin(), files.end());
    return files;
  }
  /// Whether asking makes a kept file anew, which is a compilation.
  bool compiles(const CompileRequest& request) {
    const auto numbers = [this] {
      std::vector<ino_t> all;
      for (const fs::path& file : kept()) {
        struct stat status {};
        EXPECT_EQ(stat(file.c_str(), &status), 0);
        all.push_back(status.st_ino);
        // A file that replaces it gets another number as long as this one is in use.
        links_.push_back(folder_ / ("link" + std::to_string(links_.size())));
        fs::create_hard_link(file, links_.back());
      }
      return all;
    };
    const auto before = numbers();
    ask(request);
    return numbers() != before;
  }
  bool compiles(const std::string& source, const std::string& options = {}) {
    return compiles(request_for(source, options));
  }

  TemporaryFolder folder_;
  const std::string programs_ = folder_ / "cache/programs";
  std::vector<std::string> links_;
};

TEST_F(CompileCache, TheSameRequestIsCompiledOnce) {
  EXPECT_TRUE(compiles(kKernel));
  EXPECT_FALSE(compiles(kKernel));
  EXPECT_TRUE(compiles(kKernel, "-DN=1"));
  EXPECT_TRUE(compiles(std::string(kKernel) + "\n"));
  CompileRequest other = request_for(kKernel);
  other.fp64 = !other.fp64;
  EXPECT_TRUE(compiles(other));
  EXPECT_FALSE(compiles(other));
  EXPECT_FALSE(compiles(kKernel));
  EXPECT_EQ(kept().size(), 4);
}

TEST_F(CompileCache, WithoutAFolderNothingIsKept) {
  const auto output = compile_or_recall(request_for(kKernel), {});
  ASSERT_TRUE(output);
  EXPECT_TRUE(output->ok);
  EXPECT_TRUE(kept().empty());
}

TEST_F(CompileCache, AFolderThatCannotBeMadeIsNoFault) {
  folder_.write("cache", "a file");
  EXPECT_TRUE(ask(kKernel).ok);
  EXPECT_TRUE(ask(kKernel).ok);
}

TEST_F(CompileCache, FaultsAreNotKept) {
  EXPECT_FALSE(ask("kernel void k() { missing(); }").ok);
  EXPECT_TRUE(ask(kKernel, "-what-is-this").invalid_options);
  EXPECT_TRUE(kept().empty());
}

TEST_F(CompileCache, WarningsAre) {
  const std::string source = "#warning look here\nkernel void k() {}";
  EXPECT_TRUE(compiles(source));
  EXPECT_FALSE(compiles(source));
  EXPECT_NE(ask(source).log.find("look here"), std::string::npos);
}

TEST_F(CompileCache, ChangedFilesAreRead) {
  const std::string options = "-I " + folder_ / "a" + " -I " + folder_ / "b";
  const std::string source =
      "#include \"n.h\"\nkernel void k(global int* o) { o[get_global_id(0) + N] = 0; }";
  folder_.write("b/n.h", "#define N 1");
  EXPECT_TRUE(compiles(source, options));
  EXPECT_FALSE(compiles(source, options));
  folder_.write("b/n.h", "#define N 2");
  EXPECT_TRUE(compiles(source, options));
  EXPECT_FALSE(compiles(source, options));
  // One that is found earlier, in a folder that did not exist.
  folder_.write("a/n.h", "#define N 3");
  EXPECT_TRUE(compiles(source, options));
  EXPECT_FALSE(compiles(source, options));
  // One that was there before, and is gone.
  fs::remove(folder_ / "a/n.h");
  EXPECT_TRUE(compiles(source, options));
  fs::remove(folder_ / "b/n.h");
  EXPECT_FALSE(ask(source, options).ok);
  fs::create_directory(folder_ / "b/n.h");
  EXPECT_FALSE(ask(source, options).ok);
}

TEST_F(CompileCache, FilesThatAreAskedForAreLookedFor) {
  const std::string options = "-I " + folder_.path();
  const std::string source =
      "#if __has_include(\"x.h\")\nkernel void yes() {}\n#else\nkernel void no() {}\n#endif\n";
  EXPECT_EQ(ask(source, options).summary.kernels.at(0).name, "no");
  EXPECT_FALSE(compiles(source, options));
  folder_.write("x.h", "");
  EXPECT_EQ(ask(source, options).summary.kernels.at(0).name, "yes");
  EXPECT_FALSE(compiles(source, options));
  fs::remove(folder_ / "x.h");
  EXPECT_EQ(ask(source, options).summary.kernels.at(0).name, "no");
}

TEST_F(CompileCache, PathsAreThoseOfTheWorkingFolder) {
  struct Return {
    fs::path from = fs::current_path();
    ~Return() { fs::current_path(from); }
  } there;
  const std::string source = "#include \"n.h\"\nkernel void k(global int* o) { o[N] = 0; }";
  folder_.write("one/n.h", "#define N 1");
  folder_.write("two/n.h", "#define N 2");
  for (const char* name : {"one", "two", "one"}) {
    fs::current_path(folder_ / name);
    EXPECT_TRUE(compiles(source)) << name;
    EXPECT_FALSE(compiles(source)) << name;
  }
}

TEST_F(CompileCache, HeadersOfTheRequestCount) {
  CompileRequest request =
      request_for("#include <n.h>\nkernel void k(global int* o) { o[N] = 0; }");
  request.unit = true;
  request.headers = {{"n.h", "#define N 1"}};
  EXPECT_TRUE(compiles(request));
  EXPECT_FALSE(compiles(request));
  request.headers[0].source = "#define N 2";
  EXPECT_TRUE(compiles(request));
}

TEST_F(CompileCache, LinkedProgramsAreKept) {
  CompileRequest request = request_for({});
  request.units = {{"void f(global int* o);\nkernel void k(global int* o) { f(o); }\n", {}},
                   {"void f(global int* o) { o[get_global_id(0)] = 1; }\n", {}}};
  EXPECT_TRUE(compiles(request));
  EXPECT_FALSE(compiles(request));
  request.units[1].source = "void f(global int* o) { o[get_global_id(0)] = 2; }\n";
  EXPECT_TRUE(compiles(request));
}

TEST_F(CompileCache, ProgramsThatShowTheTimeAreNotKept) {
  for (const char* macro : {"__DATE__", "__TIME__", "__TIMESTAMP__"}) {
    const std::string source = std::string("constant char t[] = ") + macro +
                               ";\nkernel void k(global char* o) { *o = *t; }";
    const auto output = compile_or_recall(request_for(source), programs_);
    ASSERT_TRUE(output);
    EXPECT_TRUE(output->ok) << output->log;
    EXPECT_FALSE(output->repeatable) << macro;
  }
  // Put together by the preprocessor, or hidden in a file.
  folder_.write("t.h", "#define NOW __TI##ME__\n#define JOIN(a, b) a##b\n");
  ASSERT_TRUE(
      compile_or_recall(request_for("#include \"t.h\"\nconstant char t[] = JOIN(__TI, ME__);"
                                    "\nkernel void k(global char* o) { *o = *t; }",
                                    "-I " + folder_.path()),
                        programs_));
  EXPECT_TRUE(kept().empty());
  EXPECT_TRUE(compiles("#ifdef __TIME__\nkernel void k() {}\n#endif"));
}

TEST_F(CompileCache, DamagedFilesAreMadeAnew) {
  ask(kKernel);
  ASSERT_EQ(kept().size(), 1);
  const std::string file = kept()[0];
  const std::string whole = *read_kept(file);
  for (size_t length = 0; length < whole.size(); length += whole.size() / 7) {
    ASSERT_TRUE(keep_file(file, whole.substr(0, length)));
    EXPECT_TRUE(compiles(kKernel)) << length;
    EXPECT_EQ(*read_kept(file), whole);
  }
  for (size_t at = 0; at < whole.size(); at += whole.size() / 11) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    ASSERT_TRUE(keep_file(file, damaged));
    EXPECT_TRUE(compiles(kKernel)) << at;
  }
  EXPECT_FALSE(compiles(kKernel));
}

TEST_F(CompileCache, AnotherProgramOfTheSameNameIsAnother) {
  ask(kKernel);
  const std::string file = kept().at(0);
  fs::rename(file, folder_ / "first");
  ask("kernel void other() {}");
  fs::remove(kept().at(0));
  fs::rename(folder_ / "first", file);
  ASSERT_FALSE(compiles(kKernel));
  ask("kernel void other() {}");
  const auto both = kept();
  ASSERT_EQ(both.size(), 2);
  const fs::path other = both[0] == file ? both[1] : both[0];
  fs::copy_file(other, file, fs::copy_options::overwrite_existing);
  EXPECT_TRUE(compiles(kKernel));
}

TEST_F(CompileCache, WhatWasUsedLongestAgoGoesFirst) {
  for (int i = 0; i < 8; ++i) ask(kKernel, "-DN=" + std::to_string(i));
  const auto files = kept();
  ASSERT_EQ(files.size(), 8);
  uint64_t bytes = 0;
  const auto now = fs::file_time_type::clock::now();
  for (size_t i = 0; i < files.size(); ++i) {
    bytes += fs::file_size(files[i]);
    fs::last_write_time(files[i], now - std::chrono::hours(48 + i));
  }
  trim_kept_programs(programs_, bytes);
  EXPECT_EQ(kept().size(), 8);
  trim_kept_programs(programs_, bytes - 1);  // down to three quarters
  EXPECT_EQ(kept(), std::vector<fs::path>(files.begin(), files.begin() + 5));
  // Those that are used are new again.
  for (int i = 0; i < 8; ++i) ask(kKernel, "-DN=" + std::to_string(i));
  for (const fs::path& file : kept()) {
    EXPECT_GT(fs::last_write_time(file), now - std::chrono::hours(24));
  }
}

TEST_F(CompileCache, ManyAtOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this] {
      for (int i = 0; i < 12; ++i) {
        const auto request = request_for(kKernel, "-DN=" + std::to_string(i % 3));
        const auto output = compile_or_recall(request, programs_);
        EXPECT_TRUE(output && output->ok);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(kept().size(), 3);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(compiles(kKernel, "-DN=" + std::to_string(i)));
}

}  // namespace
}  // namespace tutti::kernel_compiler
