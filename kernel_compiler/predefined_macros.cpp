// SPDX-License-Identifier: Apache-2.0
//
// The preprocessed text is compiled again by every vendor, with the vendor's own header of types
// and constants. So a macro whose value belongs to the vendor must come out of preprocessing as
// its own name, yet the questions programs ask about macros must get the right answer:
//
// - Names that OpenCL C defines, with values left to the implementation or not usable in #if (NULL,
//   INFINITY, MAXFLOAT, M_PI, CLK_…) are defined as themselves: `#define M_PI M_PI`. `#ifdef M_PI`
//   is true, `#ifndef M_PI` fallbacks are skipped, a program that redefines one gets its own
//   value, and an unchanged use stays an identifier for the vendor's compiler.
//   Double-precision constants exist only where doubles do, so a program's `#ifndef M_PI`
//   fallback is taken on a device without them.
// - Integer limits (INT_MAX, CHAR_BIT …) are fixed by the specification and are asked for in #if:
//   they have their values. So has __kernel_exec.
// - Versions, extensions and features are the virtual device's, never a vendor's or Clang's:
//   CL_VERSION_x_y, __OPENCL_C_VERSION__, __ENDIAN_LITTLE__, __FAST_RELAXED_MATH__ come from Clang
//   for the chosen language, but for OpenCL C 3.1, which it does not know; __OPENCL_VERSION__,
//   FP_FAST_FMAF and the like from the request's device_macros; __IMAGE_SUPPORT__ from its
//   `images`; cl_khr_… from its `extensions`, all others undefined.
// - Names that tell Clang (or a SPIR target) are removed: the text is for other compilers, too.
#include "kernel_compiler/predefined_macros.h"

#include <algorithm>
#include <string_view>

namespace tutti::kernel_compiler {
namespace {

constexpr std::string_view kCompilerIdentity[] = {"__clang__",
                                                  "__clang_major__",
                                                  "__clang_minor__",
                                                  "__clang_patchlevel__",
                                                  "__clang_version__",
                                                  "__llvm__",
                                                  "__GNUC__",
                                                  "__GNUC_MINOR__",
                                                  "__GNUC_PATCHLEVEL__",
                                                  "__GXX_ABI_VERSION",
                                                  "__VERSION__",
                                                  "__SPIR__",
                                                  "__SPIR32__",
                                                  "__SPIR64__",
                                                  "SPIR",
                                                  "__GNUC_STDC_INLINE__",
                                                  "__OPTIMIZE__",
                                                  "__NO_INLINE__",
                                                  "__IMAGE_SUPPORT__"};

constexpr std::string_view kNamesAsThemselves[] = {
    // clang-format off
    "NULL", "INFINITY", "NAN", "HUGE_VALF", "MAXFLOAT",
    "FLT_DIG", "FLT_MANT_DIG", "FLT_MAX_10_EXP", "FLT_MAX_EXP", "FLT_MIN_10_EXP", "FLT_MIN_EXP",
    "FLT_RADIX", "FLT_MAX", "FLT_MIN", "FLT_EPSILON", "FP_ILOGB0", "FP_ILOGBNAN",
    "M_E_F", "M_LOG2E_F", "M_LOG10E_F", "M_LN2_F", "M_LN10_F", "M_PI_F", "M_PI_2_F", "M_PI_4_F",
    "M_1_PI_F", "M_2_PI_F", "M_2_SQRTPI_F", "M_SQRT2_F", "M_SQRT1_2_F",
    "CLK_LOCAL_MEM_FENCE", "CLK_GLOBAL_MEM_FENCE",
    // clang-format on
};

constexpr std::string_view kDoubleNames[] = {
    // clang-format off
    "HUGE_VAL", "DBL_DIG", "DBL_MANT_DIG", "DBL_MAX_10_EXP", "DBL_MAX_EXP", "DBL_MIN_10_EXP",
    "DBL_MIN_EXP", "DBL_MAX", "DBL_MIN", "DBL_EPSILON",
    "M_E", "M_LOG2E", "M_LOG10E", "M_LN2", "M_LN10", "M_PI", "M_PI_2", "M_PI_4", "M_1_PI",
    "M_2_PI", "M_2_SQRTPI", "M_SQRT2", "M_SQRT1_2",
    // clang-format on
};

constexpr std::string_view kImageNames[] = {
    // clang-format off
    "CLK_ADDRESS_NONE", "CLK_ADDRESS_CLAMP_TO_EDGE", "CLK_ADDRESS_CLAMP", "CLK_ADDRESS_REPEAT",
    "CLK_ADDRESS_MIRRORED_REPEAT", "CLK_NORMALIZED_COORDS_FALSE", "CLK_NORMALIZED_COORDS_TRUE",
    "CLK_FILTER_NEAREST", "CLK_FILTER_LINEAR",
    "CLK_SNORM_INT8", "CLK_SNORM_INT16", "CLK_UNORM_INT8", "CLK_UNORM_INT16",
    "CLK_UNORM_SHORT_565", "CLK_UNORM_SHORT_555", "CLK_UNORM_INT_101010", "CLK_SIGNED_INT8",
    "CLK_SIGNED_INT16", "CLK_SIGNED_INT32", "CLK_UNSIGNED_INT8", "CLK_UNSIGNED_INT16",
    "CLK_UNSIGNED_INT32", "CLK_HALF_FLOAT", "CLK_FLOAT",
    "CLK_R", "CLK_A", "CLK_RG", "CLK_RA", "CLK_RGB", "CLK_RGBA", "CLK_BGRA", "CLK_ARGB",
    "CLK_INTENSITY", "CLK_LUMINANCE", "CLK_Rx", "CLK_RGx", "CLK_RGBx",
    // clang-format on
};

constexpr std::string_view kVersion2Names[] = {"CLK_IMAGE_MEM_FENCE", "ATOMIC_FLAG_INIT",
                                               "CLK_NULL_QUEUE", "CLK_NULL_EVENT"};

constexpr std::string_view kIntegerLimits[] = {"CHAR_BIT=8",
                                               "SCHAR_MAX=127",
                                               "SCHAR_MIN=(-127-1)",
                                               "CHAR_MAX=SCHAR_MAX",
                                               "CHAR_MIN=SCHAR_MIN",
                                               "UCHAR_MAX=255",
                                               "SHRT_MAX=32767",
                                               "SHRT_MIN=(-32767-1)",
                                               "USHRT_MAX=65535",
                                               "INT_MAX=2147483647",
                                               "INT_MIN=(-2147483647-1)",
                                               "UINT_MAX=0xffffffffU",
                                               "LONG_MAX=0x7fffffffffffffffL",
                                               "LONG_MIN=(-0x7fffffffffffffffL-1)",
                                               "ULONG_MAX=0xffffffffffffffffUL"};

bool has(const std::vector<std::string>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

bool doubles(const CompileRequest& request) {
  return request.fp64 || has(request.extensions, "cl_khr_fp64");
}

}  // namespace

std::vector<MacroOption> predefined_macros(const CompileRequest& request, uint32_t language) {
  std::vector<MacroOption> macros;
  const auto define = [&](std::string text) { macros.push_back({std::move(text), false}); };
  const auto as_itself = [&](std::string_view name) {
    define(std::string(name) + '=' + std::string(name));
  };
  for (const auto name : kCompilerIdentity) {
    macros.push_back({std::string(name), true});
  }
  for (const auto name : kNamesAsThemselves) {
    as_itself(name);
  }
  for (const auto limit : kIntegerLimits) {
    define(std::string(limit));
  }
  for (const auto* name : {"__kernel_exec", "kernel_exec"}) {
    define(std::string(name) +
           "(X,typen)=__kernel __attribute__((work_group_size_hint(X, 1, 1))) "
           "__attribute__((vec_type_hint(typen)))");
  }
  if (doubles(request)) {
    for (const auto name : kDoubleNames) {
      as_itself(name);
    }
  }
  if (request.images) {
    define("__IMAGE_SUPPORT__=1");
    for (const auto name : kImageNames) {
      as_itself(name);
    }
  }
  if (language >= 200) {
    for (const auto name : kVersion2Names) {
      as_itself(name);
    }
  }
  // Clang defines the extensions it knows from its -cl-ext; the others need it here, and saying
  // the same twice is no redefinition.
  for (const std::string& extension : request.extensions) {
    define(extension + "=1");
  }
  if (doubles(request)) {
    define("cl_khr_fp64=1");
  }
  if (request.opencl_c >= 310) define("CL_VERSION_3_1=310");
  if (language > 300) {  // Clang takes it for 3.0
    macros.push_back({"__OPENCL_C_VERSION__", true});
    define("__OPENCL_C_VERSION__=" + std::to_string(language));
  }
  if (!request.device_macros.contains("__OPENCL_VERSION__")) {
    define("__OPENCL_VERSION__=" + std::to_string(request.opencl_c));
  }
  for (const auto& [name, value] : request.device_macros) {
    macros.push_back({name, true});  // the request's word counts, without a redefinition warning
    define(name + '=' + value);
  }
  return macros;
}

std::string clang_extension_list(const CompileRequest& request) {
  std::string list = "-all";
  const auto add = [&](const std::string& name) { list += ",+" + name; };
  for (const std::string& extension : request.extensions) {
    add(extension);
  }
  if (doubles(request)) {
    add("cl_khr_fp64");
    add("__opencl_c_fp64");
  }
  if (request.images) {
    add("__opencl_c_images");
    if (has(request.extensions, "cl_khr_3d_image_writes")) {
      add("__opencl_c_3d_image_writes");
    }
  }
  for (const auto& [name, value] : request.device_macros) {
    if (!name.starts_with("__opencl_c_") || value == "0") continue;
    add(name);
    // Clang wants both or none, drivers name one or both.
    if (name == "__opencl_c_3d_image_writes") add("cl_khr_3d_image_writes");
  }
  return list;
}

}  // namespace tutti::kernel_compiler
