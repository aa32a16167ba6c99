// SPDX-License-Identifier: Apache-2.0
// Preprocessing, options, diagnostics: what applications and vendors see of the front end.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "test_support.h"

namespace tutti::kernel_compiler {
namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// `condition` as the program's preprocessor sees it.
bool holds(const std::string& condition, const std::string& options = {},
           void (*change)(CompileRequest&) = nullptr) {
  CompileRequest request = request_for(
      "#if " + condition + "\nkernel void yes() {}\n#else\nkernel void no() {}\n#endif\n", options);
  if (change != nullptr) {
    change(request);
  }
  const CompileOutput output = run(request);
  EXPECT_TRUE(output.ok) << output.log;
  return output.ok && output.summary.kernels.at(0).name == "yes";
}

TEST(Preprocess, LeavesVendorsMacrosToVendors) {
  const CompileOutput output = run(R"(
    kernel void k(global float* o, local int* l) {
      barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
      const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
      o[0] = M_PI + M_PI_F + INFINITY + MAXFLOAT + FLT_MAX + NAN + HUGE_VALF + DBL_MAX;
      if (l == NULL) o[1] = as_float(3);
    }
  )");
  ASSERT_TRUE(output.ok) << output.log;
  for (const char* name :
       {"CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE", "CLK_NORMALIZED_COORDS_FALSE",
        "CLK_ADDRESS_CLAMP", "CLK_FILTER_NEAREST", "M_PI + M_PI_F + INFINITY + MAXFLOAT + FLT_MAX",
        "NAN + HUGE_VALF + DBL_MAX", "== NULL", "as_float(3)"}) {
    EXPECT_TRUE(contains(output.preprocessed, name)) << name;
  }
}

TEST(Preprocess, AnswersQuestionsAboutMacros) {
  for (const char* name :
       {"M_PI", "NULL", "MAXFLOAT", "INFINITY", "CLK_LOCAL_MEM_FENCE", "__ENDIAN_LITTLE__",
        "__OPENCL_VERSION__", "__OPENCL_C_VERSION__", "CL_VERSION_1_0", "CL_VERSION_1_2",
        "__IMAGE_SUPPORT__", "cl_khr_fp64", "cl_khr_int64_base_atomics", "FLT_MAX"}) {
    EXPECT_TRUE(holds("defined(" + std::string(name) + ")")) << name;
  }
  for (const char* name :
       {"cl_khr_fp16", "cl_khr_gl_sharing", "cl_khr_subgroups", "__FAST_RELAXED_MATH__",
        "FP_FAST_FMAF", "__clang__", "__GNUC__", "__SPIR__", "__SPIR64__", "__NV_CL_C_VERSION"}) {
    EXPECT_FALSE(holds("defined(" + std::string(name) + ")")) << name;
  }
  EXPECT_TRUE(holds("INT_MAX == 2147483647 && CHAR_BIT == 8 && ULONG_MAX > LONG_MAX"));
  EXPECT_TRUE(holds("__OPENCL_C_VERSION__ == 120 && __OPENCL_C_VERSION__ >= CL_VERSION_1_2"));
  EXPECT_TRUE(holds("__OPENCL_C_VERSION__ == 110", "-cl-std=CL1.1"));
  EXPECT_TRUE(holds("__OPENCL_C_VERSION__ == 200", "-cl-std=CL2.0"));
  EXPECT_TRUE(holds("defined(__FAST_RELAXED_MATH__)", "-cl-fast-relaxed-math"));
  EXPECT_TRUE(holds("__OPENCL_C_VERSION__ == 300", "-cl-std=CL3.0"));
  EXPECT_TRUE(holds("__OPENCL_C_VERSION__ == CL_VERSION_3_1", "-cl-std=CL3.1"));
  EXPECT_TRUE(holds("__OPENCL_VERSION__ == 310 && CL_VERSION_3_1 == 310"));
  EXPECT_TRUE(holds("__OPENCL_VERSION__ == 300 && !defined(CL_VERSION_3_1)", "",
                    [](CompileRequest& request) { request.opencl_c = 300; }));
  EXPECT_TRUE(
      holds("__OPENCL_VERSION__ == 120 && defined(FP_FAST_FMAF)", "", [](CompileRequest& request) {
        request.device_macros = {{"__OPENCL_VERSION__", "120"}, {"FP_FAST_FMAF", "1"}};
      }));
  EXPECT_FALSE(holds("defined(__IMAGE_SUPPORT__) || defined(CLK_ADDRESS_CLAMP)", "",
                     [](CompileRequest& request) { request.images = false; }));
  EXPECT_FALSE(holds("defined(cl_khr_fp64) || defined(M_PI) || defined(DBL_MAX)", "",
                     [](CompileRequest& request) {
                       request.fp64 = false;
                       request.extensions.clear();
                     }));
  EXPECT_TRUE(holds("cl_vendor_thing", "", [](CompileRequest& request) {
    request.extensions.push_back("cl_vendor_thing");
  }));
}

TEST(Preprocess, ProgramsMayDefineWhatVendorsDefine) {
  const CompileOutput output = run(R"(
    #ifndef M_PI
    #error M_PI is there
    #endif
    #undef NULL
    #define NULL 0
    #ifndef MY_PI
    #define MY_PI 3.0f
    #endif
    kernel void k(global float* o) { o[0] = MY_PI; o[NULL] = 1; }
  )");
  ASSERT_TRUE(output.ok) << output.log;
  EXPECT_TRUE(contains(output.preprocessed, "o[0] = 3.0f; o[0] = 1;")) << output.preprocessed;
}

TEST(Preprocess, KeepsPragmasAndLines) {
  std::string source = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n";
  source += std::string(300, '\n');
  source +=
      "kernel void k(global int* o) {\n#pragma unroll\n  for (int i = 0; i < 3; ++i) o[i] = "
      "1;\n}\n";
  const CompileOutput output = run(source);
  ASSERT_TRUE(output.ok) << output.log;
  EXPECT_TRUE(contains(output.preprocessed, "#pragma OPENCL EXTENSION cl_khr_fp64 : enable"));
  EXPECT_TRUE(contains(output.preprocessed, "#pragma unroll"));
  EXPECT_LT(output.preprocessed.size(), 400u);  // long gaps are line marks, not empty lines
  EXPECT_EQ(output.summary.kernels.at(0).accesses.at(0).line, 304u);
  EXPECT_EQ(output.preprocessed.substr(0, 18), "#line 1 \"<source>\"");
}

TEST(Preprocess, ExpandsTheNumberOfUnroll) {
  const std::string loop = "  for (int i = 0; i < 8; ++i) o[i] = i;\n";
  const CompileOutput output =
      run("#define TWICE(x) (2 * x)\n"
          "kernel void k(global int* o) {\n#pragma unroll N\n" +
              loop + "#  pragma unroll TWICE(N)\n" + loop + "  _Pragma(\"unroll N + 1\")\n" + loop +
              "#pragma unroll\n" + loop + "}\n",
          "-DN=4");
  ASSERT_TRUE(output.ok) << output.log;
  for (const char* line : {"unroll 4", "unroll ( 2 * 4 )", "unroll 4 + 1", "unroll"}) {
    EXPECT_TRUE(contains(output.preprocessed, "\n#pragma " + std::string(line) + "\n"))
        << line << " in\n"
        << output.preprocessed;
  }
  EXPECT_FALSE(contains(output.preprocessed, "TWICE"));
  // What follows is still found on its line.
  const CompileOutput wrong = run("#define N 4\nkernel void k() {\n#pragma unroll N\n  oops;\n}\n");
  EXPECT_TRUE(contains(wrong.log, ":4:3: error")) << wrong.log;
}

TEST(Preprocess, MacrosOfTheOptions) {
  const char* source = "kernel void k(global int* o) { o[0] = A; o[1] = sizeof(B); o[2] = C; }";
  EXPECT_TRUE(contains(run(source, "-D A=7 -DB=\"\\\"x y\\\"\" -DC").preprocessed,
                       "o[0] = 7; o[1] = sizeof(\"x y\"); o[2] = 1;"));
  EXPECT_FALSE(run(source, "-D A=7 -UA -DB=1 -DC").ok);
}

TEST(Preprocess, FindsHeaders) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("tutti-front-end-test-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder / "with space");
  std::ofstream(folder / "with space" / "disk.h") << "#define DISK 11\n";
  std::ofstream(folder / "with space" / "both.h") << "#define BOTH 12\n";
  CompileRequest request = request_for(
      "#include \"disk.h\"\n#include <sub/memory.h>\n#include \"both.h\"\n"
      "kernel void k(global int* o) { o[0] = DISK + MEMORY + BOTH; }\n",
      "-I \"" + (folder / "with space").string() + "\"");
  request.headers = {{"sub/memory.h", "#include \"inner.h\"\n#define MEMORY INNER\n"},
                     {"sub/inner.h", "#define INNER 21\n"},
                     {"both.h", "#define BOTH 22\n"}};
  const CompileOutput output = run(request);
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(output.ok) << output.log;
  // What clCompileProgram was given comes before what lies in folders.
  EXPECT_TRUE(contains(output.preprocessed, "o[0] = 11 + 21 + 22;")) << output.preprocessed;
}

TEST(Preprocess, NamesHeadersAsGiven) {
  CompileRequest request = request_for("#include \"sub/broken.h\"\nkernel void k() {}\n");
  request.headers = {{"sub/broken.h", "\nint f() { return missing; }\n"}};
  const CompileOutput parsed = run(request);
  EXPECT_FALSE(parsed.ok);
  EXPECT_EQ(parsed.log.substr(0, 23), "sub/broken.h:2:18: erro") << parsed.log;
  request.headers = {{"sub/broken.h", "\n#error broken\n"}};
  const CompileOutput preprocessed = run(request);
  EXPECT_FALSE(preprocessed.ok);
  EXPECT_TRUE(contains(preprocessed.log, "\nsub/broken.h:2:2: error: broken")) << preprocessed.log;
}

TEST(Preprocess, NamesTheMissingHeader) {
  const CompileOutput output = run("#include \"no_such.h\"\nkernel void k() {}\n");
  EXPECT_FALSE(output.ok);
  EXPECT_FALSE(output.invalid_options);
  EXPECT_TRUE(contains(output.log, "<source>:1:10: fatal error: 'no_such.h' file not found"))
      << output.log;
}

TEST(Diagnostics, NameFileLineColumnAndShowTheText) {
  const CompileOutput output =
      run("#define LONG int\n\nkernel void k(global LONG* o) {\n  o[0] = unknown_name + 1;\n}\n");
  EXPECT_FALSE(output.ok);
  EXPECT_TRUE(contains(output.log,
                       "<source>:4:10: error: use of undeclared identifier "
                       "'unknown_name'\n"))
      << output.log;
  EXPECT_TRUE(contains(output.log, "o[0] = unknown_name + 1;")) << output.log;
  EXPECT_TRUE(contains(output.log, "^")) << output.log;
}

TEST(Diagnostics, WarningsGoIntoTheLogAndMayBeSilencedOrFatal) {
  const char* source = "kernel void k(global int* o) { int i; o[0] = i; 3 + 4; }";
  EXPECT_TRUE(contains(run(source).log, "warning: "));
  EXPECT_EQ(run(source, "-w").log, "");
  const CompileOutput fatal = run(source, "-Werror");
  EXPECT_FALSE(fatal.ok);
  EXPECT_FALSE(fatal.invalid_options);
  EXPECT_TRUE(contains(fatal.log, "error: "));
}

TEST(Diagnostics, UnsupportedFeaturesAreErrors) {
  CompileRequest request = request_for("kernel void k(global double* o) { o[0] = 1.0; }");
  EXPECT_TRUE(run(request).ok);
  request.fp64 = false;
  request.extensions.clear();
  const CompileOutput output = run(request);
  EXPECT_FALSE(output.ok);
  EXPECT_TRUE(contains(output.log, "double")) << output.log;
  EXPECT_FALSE(run("kernel void k(global half* o) { half h = 1; o[0] = h; }").ok);
}

TEST(Options, UnknownOnesAreInvalid) {
  const CompileOutput output = run("kernel void k() {}", "-w -cl-what-is-this");
  EXPECT_FALSE(output.ok);
  EXPECT_TRUE(output.invalid_options);
  EXPECT_TRUE(contains(output.log, "-cl-what-is-this"));
}

TEST(Options, LanguageVersionsBeyondTheDeviceAreInvalid) {
  CompileRequest request = request_for("kernel void k() {}", "-cl-std=CL2.0");
  EXPECT_TRUE(run(request).ok);
  request.opencl_c = 120;
  const CompileOutput output = run(request);
  EXPECT_FALSE(output.ok);
  EXPECT_TRUE(output.invalid_options);
  EXPECT_TRUE(contains(output.log, "-cl-std=CL2.0")) << output.log;
}

TEST(Options, EveryLanguageVersion) {
  for (const char* version : {"CL1.0", "CL1.1", "CL1.2", "CL2.0", "CL3.0", "CL3.1"}) {
    const CompileOutput output =
        run("kernel void k(global int* o) { o[get_group_id(0)] = get_global_size(0); }",
            std::string("-cl-std=") + version);
    EXPECT_TRUE(output.ok) << version << output.log;
    EXPECT_NE(output.rewritten, "") << version;
    EXPECT_EQ(output.summary.kernels.at(0).whole_reason, "") << version;
    EXPECT_EQ(output.vendor_options, std::string("-cl-std=") + version);
  }
}

TEST(Robustness, StrangeSources) {
  EXPECT_TRUE(run("").ok);
  EXPECT_TRUE(run("\n\n").ok);
  EXPECT_FALSE(run(std::string("kernel void k() {}\0}", 20)).ok);
  EXPECT_FALSE(run("kernel void k() { \xff }").ok);
  EXPECT_TRUE(run("// \xe4\nkernel void k() {}").ok);
  // Nested as deeply as Clang's own limits allow, and beyond.
  const auto nested = [](size_t depth) {
    return "kernel void k(global int* o) { o[0] = " + std::string(depth, '(') + "1" +
           std::string(depth, ')') + "; }";
  };
  EXPECT_TRUE(run(nested(200)).ok);
  EXPECT_FALSE(run(nested(100000)).ok);
  std::string sum = "kernel void k(global int* o, int a) { o[0] = a";
  for (int i = 0; i < 5000; ++i) {
    sum += " + a * " + std::to_string(i);
  }
  EXPECT_TRUE(run(sum + "; }").ok);
}

TEST(Robustness, ManyThreadsCompileAtOnce) {
  const std::string source =
      "kernel void k(global float* o, uint n) { size_t i = get_global_id(0); if (i < n) o[i] = "
      "get_group_id(0); }";
  const CompileOutput expected = run(source);
  std::vector<CompileOutput> outputs(8);
  std::vector<std::thread> threads;
  for (CompileOutput& output : outputs) {
    threads.emplace_back([&] { output = run(source); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const CompileOutput& output : outputs) {
    EXPECT_EQ(output, expected);
  }
}

}  // namespace
}  // namespace tutti::kernel_compiler
