// SPDX-License-Identifier: Apache-2.0
// `tutti explain` on all files of bench/kernels. Numbers are worked out by hand.
#include <algorithm>
#include <set>
#include <sstream>

#include "explain_fixture.h"

namespace tutti {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

struct BenchCase {
  const char* name;  // of the file
  const char* mode;
  json dimension;
  const char* reason;
  json line;
  const char* kernel = nullptr;  // null: the file's only one, called as the file
};

TEST_F(ExplainTest, BenchKernels) {
  const BenchCase cases[] = {
      {"aho", "disjoint", 0, "'found' are 1024 bytes apart", nullptr},
      {"bfs", "diff", 0, "stores to argument 'next' (line 27) scatter", nullptr, "bfs_expand"},
      {"bfs", "diff", 0, "stores to argument 'found' (line 40) scatter", nullptr, "bfs_advance"},
      // a float per work-group of 256
      {"binomial", "disjoint", 0, "'values' are 4 bytes apart", nullptr},
      // 4 rows of 1024 blocks, with 8 pairs each
      {"bm3d", "disjoint", 1, "'out' are 262144 bytes apart", nullptr},
      // 4 rows of 1024 pixels
      {"gaussian", "disjoint", 1, "'out' are 16384 bytes apart", nullptr},
      // 16 rows of 1024 floats, in groups of 16 x 16
      {"gemm", "disjoint", 1, "'c' are 65536 bytes apart", nullptr},
      {"gridstride", "disjoint", 0, "'out' are 1024 bytes apart", nullptr},
      {"groupsum", "disjoint", 0, "'out' are 4 bytes apart", nullptr},
      {"histogram", "atomic", 0, "'bins' is only updated by atomic inc", nullptr},
      // 4 rows of 1024 ints
      {"mandelbrot", "disjoint", 1, "'out' are 16384 bytes apart", nullptr},
      // 256 items of 16 bytes
      {"nbody", "disjoint", 0, "'new_position' are 4096 bytes apart", nullptr},
      {"rap", "disjoint", 0, "'out' are 1024 bytes apart", nullptr},
      {"ray", "disjoint", 1, "'out' are 16384 bytes apart", nullptr},
      {"saxpy", "disjoint", 0, "'out' are 1024 bytes apart", nullptr},
      {"scatter", "diff", 0, "stores to argument 'out' (line 8) scatter", nullptr},
      {"scan", "disjoint", 0, "'out' are 1024 bytes apart", nullptr, "scan_blocks"},
      {"scan", "disjoint", 0, "'out' are 1024 bytes apart", nullptr, "scan_add"},
      {"sort", "disjoint", 0, "'data' are 2048 bytes apart", nullptr, "sort_spans"},
      {"sort", "diff", 0, "stores to argument 'data' (line 48) scatter", nullptr, "sort_step"},
      {"spmv", "disjoint", 0, "'y' are 1024 bytes apart", nullptr},
      // 4 rows of 1024 ints
      {"stencil2d", "disjoint", 1, "'out' are 16384 bytes apart", nullptr},
      {"taylor", "disjoint", 0, "'out' are 1024 bytes apart", nullptr},
      // 16 columns become rows of 1024 ints
      {"transpose", "disjoint", 0, "'out' are 65536 bytes apart", nullptr},
      {"torus", "disjoint", 1, "'out' are 16384 bytes apart", nullptr},
      // 256 rows of 4096 uints; columns of as many rows would be too many strips
      {"sweeps", "disjoint", 0, "'data' are 4194304 bytes apart", nullptr, "sweep_rows"},
      {"sweeps", "diff", 0, "stores to argument 'data' (line 20) scatter", nullptr,
       "sweep_columns"},
      {"feedback", "disjoint", 0, "'sums' are 4 bytes apart", nullptr, "feedback_sum"},
      {"feedback", "disjoint", 0, "'data' are 1024 bytes apart", nullptr, "feedback_use"},
      {"halves", "disjoint", 0, "'data' are 1024 bytes apart", nullptr},
      {"opposite", "disjoint", 0, "'out' are 1024 bytes apart", nullptr},
      {"frames", "disjoint", 0, "'out' are 1024 bytes apart", nullptr, "frames_smooth"},
      {"frames", "disjoint", 0, "'data' are 1024 bytes apart", nullptr, "frames_map"},
      {"worklist", "whole", nullptr, "uses the result of atomic inc on argument 'next'", 7},
  };
  std::set<std::string> expected;
  for (const BenchCase& item : cases) expected.insert(item.name);
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(TUTTI_TEST_BENCH_KERNELS)) {
    if (entry.path().extension() == ".cl") files.insert(entry.path().stem());
  }
  EXPECT_EQ(files, expected);
  for (const BenchCase& item : cases) {
    SCOPED_TRACE(item.name);
    const std::string file = std::string(TUTTI_TEST_BENCH_KERNELS "/") + item.name + ".cl";
    const std::string name = item.kernel != nullptr ? item.kernel : item.name;
    const json all = explained(file + " --kernel " + name);
    ASSERT_EQ(all["kernels"].size(), 1u);
    const json& k = all["kernels"][0];
    EXPECT_EQ(k["name"], name);
    EXPECT_EQ(k["mode"], item.mode);
    EXPECT_EQ(k["dimension"], item.dimension);
    EXPECT_THAT(k["reason"].get<std::string>(), HasSubstr(item.reason));
    EXPECT_EQ(k["line"], item.line);
    EXPECT_EQ(k["file"], file);
    for (const json& argument : k["arguments"]) {
      for (const char* key : {"index", "name", "type", "kind"}) {
        EXPECT_TRUE(argument.contains(key)) << key;
      }
    }
    const Outcome text = run(file + " --kernel " + name);
    EXPECT_EQ(text.code, 0);
    EXPECT_THAT(text.output, StartsWith(name + ": "));
    std::istringstream lines(text.output);
    for (std::string line; std::getline(lines, line);) {
      if (line.find(TUTTI_TEST_BENCH_KERNELS) != std::string::npos) continue;  // as long as it is
      EXPECT_LE(std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; }),
                100)
          << line;
    }
  }
}

TEST_F(ExplainTest, BenchKernelsInDetail) {
  const std::string folder = TUTTI_TEST_BENCH_KERNELS "/";
  const json stride = explained(folder + "gridstride.cl --global 1024 --local 256 --arg n=8192");
  // 8 rounds over 1024 items.
  const json& strips = stride["kernels"][0]["arguments"][1];
  EXPECT_EQ(strips["written"]["end"], 32768);
  EXPECT_EQ(strips["written"]["period"], 4096);
  EXPECT_EQ(strips["written"]["slice"], regular(1024, 1024));
  EXPECT_EQ(strips["merge"], "disjoint");
  const json sum = explained(folder + "groupsum.cl --global 4096 --local 128");
  EXPECT_EQ(sum["kernels"][0]["rewritten"], true);
  EXPECT_EQ(sum["kernels"][0]["arguments"][0]["read"]["slice"], regular(512, 512));
  EXPECT_EQ(sum["kernels"][0]["arguments"][1]["written"]["slice"], regular(4, 4));
  const json bins = explained(folder + "histogram.cl")["kernels"][0]["arguments"][1];
  EXPECT_EQ(bins["atomics"], json{"inc"});
  EXPECT_EQ(bins["atomic_results_used"], false);
  EXPECT_EQ(bins["written"]["slice"], same(1024));  // 256 bins
  const json rows = explained(folder + "spmv.cl --global 512 --local 64 --arg rows=512");
  EXPECT_EQ(rows["kernels"][0]["arguments"][0]["read"]["slice"], regular(260, 256));
  EXPECT_EQ(rows["kernels"][0]["arguments"][3]["read"]["whole_buffer"], true);
  const json all = explained(folder + "nbody.cl --global 512 --local 64 --arg n=512");
  EXPECT_EQ(all["kernels"][0]["arguments"][0]["read"]["slice"], same(8192));
  EXPECT_EQ(all["kernels"][0]["arguments"][1]["read"]["slice"], regular(1024, 1024));
}

}  // namespace
}  // namespace tutti
