// SPDX-License-Identifier: Apache-2.0
// Runs `tutti explain` as people do, without any vendor driver. Numbers are worked out by hand.
#include <gmock/gmock.h>

#include "explain_fixture.h"

namespace tutti {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kScale[] =
    "kernel void scale(global const float* in, global float* out, float f, int n) {\n"
    "  int i = get_global_id(0);\n"
    "  if (i >= n) return;\n"
    "  out[i] = in[i] * f;\n"
    "}\n";

TEST_F(ExplainTest, Disjoint) {
  const json k = kernel(kScale, "--global 4096 --local 64 --arg n=4096");
  EXPECT_EQ(k["name"], "scale");
  EXPECT_EQ(k["mode"], "disjoint");
  EXPECT_EQ(k["dimension"], 0);
  EXPECT_EQ(k["reason"], "writes of argument 'out' are 256 bytes apart per slice");
  EXPECT_EQ(k["line"], nullptr);
  EXPECT_EQ(k["slices"], (json{{"dimension", 0}, {"count", 64}, {"work_items", 64}}));
  const json access = {{{"offset", "4·gid"}, {"bytes", 4}, {"line", 4}}};
  const json read = {{"whole_buffer", false},
                     {"begin", 0},
                     {"end", 16384},
                     {"slice", regular(256, 256)},
                     {"accesses", access}};
  json written = read;
  written["every_byte"] = true;
  written["period"] = nullptr;
  ASSERT_EQ(k["arguments"].size(), 4u);
  EXPECT_EQ(k["arguments"][0]["read"], read);
  EXPECT_EQ(k["arguments"][0]["written"], nullptr);
  EXPECT_EQ(k["arguments"][1]["read"], nullptr);
  EXPECT_EQ(k["arguments"][1]["written"], written);
  EXPECT_EQ(k["arguments"][2]["value"], nullptr);
  EXPECT_EQ(k["arguments"][3], (json{{"index", 3},
                                     {"name", "n"},
                                     {"type", "int"},
                                     {"kind", "scalar"},
                                     {"value", "4096"},
                                     {"assumed", false}}));
}

TEST_F(ExplainTest, SizesOffsetsAndScalarsCount) {
  const json guarded = kernel(kScale, "--global 4096 --local 64 --arg n=100");
  EXPECT_EQ(guarded["arguments"][1]["written"]["end"], 400);
  EXPECT_EQ(guarded["arguments"][1]["written"]["slice"]["all_slices"], false);
  const json shifted = kernel(kScale, "--global 64 --local 16 --offset 8 --arg n=1000");
  EXPECT_EQ(shifted["arguments"][1]["written"]["begin"], 32);
  EXPECT_EQ(shifted["arguments"][1]["written"]["end"], 32 + 256);
  EXPECT_EQ(shifted["launch"], (json{{"global", {64}},
                                     {"global_assumed", false},
                                     {"local", {16}},
                                     {"local_assumed", false},
                                     {"offset", {8}}}));
  const json clipped = kernel(kScale, "--global 4096 --local 64 --arg out=1000 --arg 3=4096");
  EXPECT_EQ(clipped["arguments"][1]["size"], 1000);
  EXPECT_EQ(clipped["arguments"][1]["assumed"], false);
  EXPECT_EQ(clipped["arguments"][1]["written"]["end"], 1000);
  const json negative = kernel(kScale, "--global 4096 --arg n=-1");
  EXPECT_EQ(negative["arguments"][1]["written"], nullptr);
  EXPECT_EQ(kernel(kScale, "--global 64 --local 64")["reason"],
            "the launch has a single work-group");
}

TEST_F(ExplainTest, WhatIsNotGivenIsAssumedAndSaid) {
  const json k = kernel(kScale);
  EXPECT_EQ(k["launch"], (json{{"global", {4096}},
                               {"global_assumed", true},
                               {"local", {256}},
                               {"local_assumed", true},
                               {"offset", {0}}}));
  EXPECT_EQ(k["arguments"][3]["value"], "4096");
  EXPECT_EQ(k["arguments"][3]["assumed"], true);
  EXPECT_EQ(k["arguments"][0]["size"], nullptr);
  EXPECT_EQ(kernel(kScale, "--global 100000")["arguments"][3]["value"], "100000");
  EXPECT_THAT(run("k.cl").output,
              AllOf(HasSubstr("global 4096 (assumed), local 256 (assumed): 16 slices"),
                    HasSubstr("4096 (assumed)\n"), HasSubstr("Assumed: ")));
  EXPECT_THAT(
      run("k.cl --global 4096 --local 64 --arg n=4 --arg f=2.5 --arg in=9 --arg out=9").output,
      Not(HasSubstr("ssumed")));
}

TEST_F(ExplainTest, IntegersAreAssumedWithinTheirType) {
  const json k = kernel(
      "kernel void k(global int* o, char a, uchar b, short c, ulong d) {\n"
      "  o[get_global_id(0) + a + b + c + d] = 1;\n"
      "}\n",
      "--global 65536");
  EXPECT_EQ(k["arguments"][1]["value"], "127");
  EXPECT_EQ(k["arguments"][2]["value"], "255");
  EXPECT_EQ(k["arguments"][3]["value"], "32767");
  EXPECT_EQ(k["arguments"][4]["value"], "65536");
  EXPECT_EQ(k["arguments"][0]["written"]["begin"], 4 * (127 + 255 + 32767 + 65536));
}

TEST_F(ExplainTest, TwoDimensions) {
  // Along dimension 1 a slice writes 8 rows of 64 floats.
  const json k = kernel(
      "kernel void transform(global float* out, int2 size) {\n"
      "  int x = get_global_id(0), y = get_global_id(1);\n"
      "  if (x < size.x && y < size.y) out[y * size.x + x] = x;\n"
      "}\n",
      "--global 64,32 --local 8,8 --arg size=64,32");
  EXPECT_EQ(k["mode"], "disjoint");
  EXPECT_EQ(k["dimension"], 1);
  EXPECT_EQ(k["slices"], (json{{"dimension", 1}, {"count", 4}, {"work_items", 512}}));
  EXPECT_EQ(k["arguments"][0]["written"]["slice"], regular(2048, 2048));
  EXPECT_EQ(k["arguments"][0]["written"]["end"], 4 * 64 * 32);
  EXPECT_EQ(k["arguments"][0]["written"]["every_byte"], true);
  EXPECT_EQ(k["arguments"][1]["value"], "64,32");
}

TEST_F(ExplainTest, HalosAreReadTwice) {
  // A slice of 64 reads one element more on each side, except at the ends.
  const json k = kernel(
      "kernel void blur(global const float* in, global float* out, int n) {\n"
      "  int i = get_global_id(0);\n"
      "  if (i > 0 && i < n - 1) out[i] = in[i - 1] + in[i] + in[i + 1];\n"
      "}\n",
      "--global 1024 --local 64 --arg n=1024");
  EXPECT_EQ(k["mode"], "disjoint");
  EXPECT_EQ(k["arguments"][0]["read"]["slice"], regular(264, 256));
  EXPECT_EQ(k["arguments"][0]["read"]["begin"], 0);
  EXPECT_EQ(k["arguments"][0]["read"]["end"], 4096);
  EXPECT_EQ(k["arguments"][0]["read"]["accesses"].size(), 3u);
  EXPECT_EQ(k["arguments"][1]["written"]["slice"], regular(256, 256));
  EXPECT_EQ(k["arguments"][1]["written"]["begin"], 4);
  EXPECT_EQ(k["arguments"][1]["written"]["end"], 4092);
}

TEST_F(ExplainTest, Structures) {
  const std::string source =
      "typedef struct { float x, y; int id; int pad; } Particle;\n"
      "typedef struct { int first; int count; } Range;\n"
      "kernel void move(global Particle* p, Range range, float dt) {\n"
      "  int i = get_global_id(0);\n"
      "  if (i >= range.count) return;\n"
      "  p[range.first + i].x += dt;\n"
      "}\n";
  // 128 items, 16 bytes apart; the last one touches 4 of them.
  const json k =
      kernel(source, "--global 1024 --local 128 --arg range@0=10 --arg range@4=1024 --arg dt=0.5f");
  EXPECT_EQ(k["mode"], "disjoint");
  EXPECT_EQ(k["reason"], "writes of argument 'p' are 2048 bytes apart per slice");
  for (const char* way : {"read", "written"}) {
    const json& use = k["arguments"][0][way];
    EXPECT_EQ(use["slice"], regular(127 * 16 + 4, 2048));
    EXPECT_EQ(use["begin"], 160);
    EXPECT_EQ(use["end"], 160 + 1023 * 16 + 4);
  }
  EXPECT_EQ(k["arguments"][0]["written"]["every_byte"], false);
  EXPECT_EQ(k["arguments"][1]["value"], "@0=10, @4=1024");
  const Outcome refused = run("k.cl --arg range=10");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.output, AllOf(HasSubstr("'range'"), HasSubstr("is a structure"),
                                    HasSubstr("accesses depend on those at @0 @4")));
  EXPECT_EQ(run("k.cl --arg range@6=1").code, 2);  // four bytes there reach beyond it
}

TEST_F(ExplainTest, OffsetsReadAsAPersonWouldWriteThem) {
  const std::string source =
      "typedef struct { int width; int height; } Size;\n"
      "kernel void k(global int* a, global int* b, global int* c, Size size, int n) {\n"
      "  int x = get_global_id(0);\n"
      "  a[n - 1 - x] = b[x / 2 + 3] + c[x * size.height + size.width];\n"
      "}\n";
  const json k = kernel(source, "--arg n=4096");
  EXPECT_EQ(k["arguments"][0]["written"]["slice"], regular(1024, -1024));
  EXPECT_EQ(k["arguments"][0]["written"]["accesses"][0]["offset"], "4·(n - gid - 1)");
  EXPECT_EQ(k["arguments"][1]["read"]["accesses"][0]["offset"], "4·(gid/2) + 12");
  EXPECT_EQ(k["arguments"][1]["read"]["slice"], regular(512, 512));
  EXPECT_EQ(k["arguments"][1]["read"]["begin"], 12);
  EXPECT_EQ(k["arguments"][2]["read"]["accesses"][0]["offset"], "4·(gid·size@4 + size@0)");
  EXPECT_THAT(run("k.cl").output, HasSubstr("1024 bytes per slice, 1024 apart, from the end"));
}

TEST_F(ExplainTest, Indirect) {
  const json k = kernel(
      "kernel void gather(global const int* index, global const float* in, global float* out) {\n"
      "  int i = get_global_id(0);\n"
      "  out[i] = in[index[i]];\n"
      "}\n",
      "--global 4096 --local 64 --arg index=16384");
  EXPECT_EQ(k["mode"], "disjoint");
  EXPECT_EQ(k["arguments"][0]["read"]["slice"], regular(256, 256));
  EXPECT_EQ(k["arguments"][1]["read"]["whole_buffer"], true);
  EXPECT_EQ(k["arguments"][1]["read"]["end"], nullptr);
  EXPECT_EQ(k["arguments"][1]["read"]["slice"], nullptr);
  EXPECT_EQ(k["arguments"][2]["written"]["slice"], regular(256, 256));
  const json given = explained("k.cl --arg in=5000");
  EXPECT_EQ(given["kernels"][0]["arguments"][1]["read"]["whole_buffer"], true);
  EXPECT_EQ(given["kernels"][0]["arguments"][1]["read"]["end"], 5000);
}

TEST_F(ExplainTest, KernelsThatAreNotAnalysedClaimNothing) {
  const json k = kernel(
      "kernel void talk(global int* a, constant int* c, int n) {\n"
      "  a[get_global_id(0)] = c[0];\n"
      "  if (n == 7)\n"
      "    printf(\"%d\\n\", n);\n"
      "}\n");
  EXPECT_EQ(k["mode"], "whole");
  EXPECT_EQ(k["dimension"], nullptr);
  EXPECT_EQ(k["line"], 4);
  EXPECT_EQ(k["source"], "printf(\"%d\\n\", n);");
  EXPECT_EQ(k["analysed"], false);
  for (const char* way : {"read", "written"}) {
    EXPECT_EQ(k["arguments"][0][way]["whole_buffer"], true);
  }
  EXPECT_EQ(k["arguments"][1]["read"]["whole_buffer"], true);
  EXPECT_EQ(k["arguments"][1]["written"], nullptr);
  EXPECT_THAT(run("k.cl").output, AllOf(HasSubstr("talk: whole, on one device\n"),
                                        HasSubstr("k.cl:4: printf(\"%d\\n\", n);\n"),
                                        HasSubstr("possibly any byte (not analysed)")));
}

TEST_F(ExplainTest, ImagesAndLocalMemory) {
  const json k = kernel(
      "kernel void k(read_only image2d_t from, write_only image2d_t to, sampler_t s,\n"
      "              local float* l) {\n"
      "  int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
      "  write_imagef(to, at, read_imagef(from, s, at));\n"
      "}\n",
      "--arg l=256");
  EXPECT_EQ(k["mode"], "disjoint");
  EXPECT_EQ(k["dimension"], 1);
  EXPECT_THAT(k["reason"].get<std::string>(), HasSubstr("writes of argument 'to' are"));
  EXPECT_EQ(k["arguments"][0]["kind"], "image");
  EXPECT_EQ(k["arguments"][1]["access"], "write_only");
  EXPECT_EQ(k["arguments"][0]["written"], nullptr);
  EXPECT_EQ(k["arguments"][1]["read"], nullptr);
  EXPECT_EQ(k["arguments"][2]["kind"], "sampler");
  EXPECT_EQ(k["arguments"][3]["size"], 256);
  EXPECT_EQ(run("k.cl --arg from=1").code, 2);
}

TEST_F(ExplainTest, ImagesThatAreOnlyReadDoNotKeepAKernelWhole) {
  const json k = kernel(
      "kernel void k(read_only image2d_t from, sampler_t s, global float4* to) {\n"
      "  int2 at = (int2)(get_global_id(0), 3);\n"
      "  to[get_global_id(0)] = read_imagef(from, s, at);\n"
      "}\n",
      "--global 4096 --local 64");
  EXPECT_EQ(k["mode"], "disjoint");
  EXPECT_EQ(k["dimension"], 0);
  EXPECT_NE(k["arguments"][0]["read"], nullptr);
  EXPECT_EQ(k["arguments"][0]["written"], nullptr);
}

TEST_F(ExplainTest, TextOfAKernel) {
  tree_.write("scale.cl", kScale);
  EXPECT_EQ(run("scale.cl --global 4096 --local 64 --arg n=4096").output,
            "scale: split along dimension 0 (disjoint)\n"
            "  reason   writes of argument 'out' are 256 bytes apart per slice\n"
            "  launch   global 4096, local 64: 64 slices of 64 work-items\n"
            "  in   read     256 bytes per slice, 256 apart, at 4·gid\n"
            "  out  written  256 bytes per slice, 256 apart, all overwritten, at 4·gid\n"
            "  f    float    any value: no access depends on it\n"
            "  n    int      4096\n"
            "\n"
            "scale.cl: 1 kernel, 1 split, 0 whole\n"
            "Assumed: what is marked so, and buffers that are large enough and share no memory. "
            "To give\n"
            "them: --global 4096,16 --local 64,1 --arg SCALAR=VALUE --arg BUFFER=BYTES\n");
}

// ---- lines and files ----------------------------------------------------------------------------

TEST_F(ExplainTest, LinesAreThoseOfTheFile) {
  tree_.write("k/inc/helper.h",
              "\n\n\n#define ADD(p, v) \\\n  (p)[1] = atomic_add(p, v)\n"
              "void count(global int* p) {\n  ADD(p, 1);\n}\n");
  tree_.write("k/inc/more.cl",
              "kernel void third(global int* o) {\n"
              "  o[1] = atomic_inc(o);\n"
              "}\n");
  tree_.write("k/main.cl",
              "#include \"inc/helper.h\"\n"
              "#define STORE(p)  \\\n"
              "  do {            \\\n"
              "    (p)[1] = atomic_inc(p); \\\n"
              "  } while (0)\n"
              "kernel void first(global int* o) {\n"
              "\n"
              "  count(o);\n"
              "}\n"
              "kernel void second(global int* o) {\n"
              "  STORE(o);\n"
              "}\n"
              "#include \"inc/more.cl\"\n");
  // In the file's own folder an application finds them with -I, people without.
  for (const char* options : {"k/main.cl", "k/main.cl -I k", "-Ik k/main.cl"}) {
    SCOPED_TRACE(options);
    const json kernels = explained(options)["kernels"];
    ASSERT_EQ(kernels.size(), 3u);
    EXPECT_EQ(kernels[0]["file"], "k/main.cl");
    EXPECT_EQ(kernels[0]["line"], 8);
    EXPECT_EQ(kernels[0]["source"], "count(o);");
    EXPECT_EQ(kernels[1]["line"], 11);
    EXPECT_EQ(kernels[1]["source"], "STORE(o);");
    EXPECT_EQ(kernels[2]["file"], "k/inc/more.cl");
    EXPECT_EQ(kernels[2]["line"], 2);
    EXPECT_EQ(kernels[2]["source"], "o[1] = atomic_inc(o);");
  }
  EXPECT_THAT(run("k/main.cl").output,
              AllOf(HasSubstr("k/main.cl:8: count(o);\n"), HasSubstr("k/main.cl:11: STORE(o);\n"),
                    HasSubstr("k/inc/more.cl:2: o[1] = atomic_inc(o);\n"),
                    HasSubstr("3 kernels, 0 split, 3 whole")));
}

TEST_F(ExplainTest, LineMarksOfGeneratedSources) {
  const json k =
      kernel("#line 40 \"made.clt\"\nkernel void k(global int* o) {\n  o[1] = atomic_inc(o);\n}\n");
  EXPECT_EQ(k["file"], "made.clt");
  EXPECT_EQ(k["line"], 41);
  EXPECT_EQ(k["source"], nullptr);
}

// ---- options and errors -------------------------------------------------------------------------

TEST_F(ExplainTest, BuildOptionsAsAnApplicationGivesThem) {
  tree_.write("k.cl",
              "#ifndef N\n#error N is missing\n#endif\n"
              "#if __OPENCL_C_VERSION__ != 200\n#error version\n#endif\n"
              "#ifndef __FAST_RELAXED_MATH__\n#error math\n#endif\n"
              "constant char text[] = TEXT;\n"
              "kernel void k(global int* o) { o[get_global_id(0) * N] = text[0] + M; }\n");
  const json k = explained(
      "-cl-std=CL2.0 -cl-fast-relaxed-math -DN=4 -D M=1 '-DTEXT=\"a \\ b\"' k.cl --global 512 "
      "--local 64")["kernels"][0];
  // 64 items, 16 bytes apart
  EXPECT_EQ(k["arguments"][0]["written"]["slice"], regular(63 * 16 + 4, 1024));
  const Outcome unknown = run("-nonsense k.cl");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.output, HasSubstr("unknown build option '-nonsense'"));
}

TEST_F(ExplainTest, ProgramsThatDoNotCompile) {
  tree_.write("bad.cl", "kernel void k(global int* o) {\n\n  o[0] = nowhere;\n}\n");
  for (const char* options : {"bad.cl", "--json bad.cl"}) {
    const Outcome outcome = run(options);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.output,
                AllOf(HasSubstr("bad.cl:3:10: error: use of undeclared identifier 'nowhere'"),
                      HasSubstr("o[0] = nowhere;"), HasSubstr("runs whole on the primary"),
                      Not(HasSubstr("<source>")), Not(HasSubstr("kernels"))));
  }
  tree_.write("worse.cl", "kernel void k(nothing o) {}\n");
  EXPECT_THAT(run("worse.cl").output, Not(HasSubstr("runs whole on the primary")));
  tree_.write("warns.cl", "#warning look out\n" + std::string(kScale));
  EXPECT_THAT(run("warns.cl").output,
              AllOf(HasSubstr("warns.cl:1:2: warning: look out"), HasSubstr("scale: split")));
  EXPECT_THAT(explained("warns.cl")["log"].get<std::string>(), HasSubstr("look out"));
  EXPECT_EQ(run("-Werror warns.cl").code, 1);
}

TEST_F(ExplainTest, FilesThatCannotBeRead) {
  for (const char* file : {"missing.cl", "none"}) {
    const Outcome outcome = run(file);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.output, HasSubstr(std::string(file) + " cannot be read"));
  }
  EXPECT_EQ(run("").code, 2);
  tree_.write("empty.cl", "");
  const Outcome empty = run("empty.cl");
  EXPECT_EQ(empty.code, 0);
  EXPECT_EQ(empty.output, "empty.cl: no kernel\n");
  EXPECT_EQ(explained("empty.cl")["kernels"], json::array());
}

TEST_F(ExplainTest, UnknownNamesAreAnsweredWithTheKnownOnes) {
  tree_.write("two.cl", std::string(kScale) + "kernel void other(global int* o, uint m) { }\n");
  Outcome outcome = run("two.cl --kernel nothing");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.output, HasSubstr("no kernel 'nothing' in two.cl; there are: scale, other"));
  outcome = run("two.cl --arg z=1");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.output, HasSubstr("no argument 'z'; there are:\n  scale: in, out, f, n\n"
                                        "  other: o, m\n"));
  EXPECT_EQ(run("two.cl --arg m=1").code, 0);
  EXPECT_EQ(run("two.cl --kernel scale --arg m=1").code, 2);
  const json kernels = explained("two.cl --kernel other")["kernels"];
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0]["name"], "other");
  EXPECT_EQ(kernels[0]["reason"], "the kernel writes no buffer");
}

TEST_F(ExplainTest, SizesAndValuesThatDoNotFit) {
  tree_.write("k.cl", kScale);
  const std::pair<const char*, const char*> cases[] = {
      {"--global 100 --local 64", "100 is no multiple of the local size 64"},
      {"--global 0", "one to three sizes are expected"},
      {"--global 1,2,3,4", "one to three sizes are expected"},
      {"--global 64,", "one to three sizes are expected"},
      {"--global x", "one to three sizes are expected"},
      {"--global 64 --local 8,8", "--global has 1 dimension, --local or --offset 2"},
      {"--arg n", "NAME=VALUE is expected"},
      {"--arg n=many", "'many' is no value for argument 'n' of kernel scale"},
      {"--arg n=4294967296", "is no value for"},
      {"--arg f=one", "is no value for"},
      {"--arg out=-4", "'-4' is no size in bytes"},
      {"--nonsense", "nonsense"},
  };
  for (const auto& [options, message] : cases) {
    const Outcome outcome = run(std::string("k.cl ") + options);
    EXPECT_EQ(outcome.code, 2) << options;
    EXPECT_THAT(outcome.output, HasSubstr(message)) << options;
  }
  tree_.write("r.cl",
              "kernel __attribute__((reqd_work_group_size(8, 4, 1)))\n"
              "void k(global int* o) { o[get_global_id(1) * 64 + get_global_id(0)] = 1; }\n");
  EXPECT_THAT(run("r.cl --local 4,4").output, HasSubstr("reqd_work_group_size(8,4,1) forbids"));
  EXPECT_THAT(run("r.cl --global 63,64").output, HasSubstr("no multiple"));
  const json k = explained("r.cl --global 64,64")["kernels"][0];
  EXPECT_EQ(k["launch"]["local"], (json{8, 4}));
  EXPECT_EQ(k["launch"]["local_assumed"], false);
  EXPECT_EQ(k["arguments"][0]["written"]["slice"], regular(1024, 1024));
}

TEST_F(ExplainTest, WorksInAnInstalledTreeWithoutAnyEnvironment) {
  namespace fs = std::filesystem;
  fs::create_directories(tree_ / "bin");
  fs::create_directories(tree_ / "lib");
  fs::copy_file(TUTTI_TEST_TOOL, tree_ / "bin/tutti");
  tree_.write("k.cl", kScale);
  const std::string command = "cd " + tree_.path() + " && env -i bin/tutti explain k.cl";
  const Outcome broken = shell(command);
  EXPECT_EQ(broken.code, 125);
  EXPECT_THAT(broken.output, HasSubstr("the kernel compiler cannot be loaded"));
  fs::create_symlink(TUTTI_TEST_COMPILER, tree_ / "lib/libtutti-compiler.so");
  const Outcome outcome = shell(command);
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, StartsWith("scale: split along dimension 0"));
}

TEST_F(ExplainTest, Help) {
  EXPECT_THAT(shell(TUTTI_TEST_TOOL " help").output, HasSubstr("explain"));
  const Outcome help = run("--help");
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.output, AllOf(HasSubstr("--kernel"), HasSubstr("--global"), HasSubstr("--arg"),
                                 HasSubstr("-cl-std=CL2.0")));
  EXPECT_EQ(shell(TUTTI_TEST_TOOL " help explain").output, help.output);
}

}  // namespace
}  // namespace tutti
