// SPDX-License-Identifier: Apache-2.0
// The border between the driver and the Clang library (libtutti-compiler.so): one C symbol,
// byte strings in and out, so that neither side's C++ runtime state or LLVM crosses it.
// Thread-safe: any thread may call, also at the same time. The caller owns what it passes; results
// are released by calling `release` with the same pointer.
#pragma once

#include <cstddef>
#include <cstdint>

#define TUTTI_COMPILER_ENTRY "tutti_kernel_compiler_v1"

extern "C" {

/// Request: UTF-8 JSON
///   { "source": "…", "options": "-DN=4 -I inc -cl-fast-relaxed-math",
///     "headers": [{"name": "a.h", "source": "…"}],        // clCompileProgram, may be absent
///     "unit": true,                                         // clCompileProgram, may be absent
///     "units": [{"source": "…", "options": "…"}],           // clLinkProgram, may be absent
///     "library": false,                                     // clLinkProgram, may be absent
///     "shards": false,                                      // the shard variant, may be absent
///     "panels": false,                                      // the panel variant, may be absent
///     "not_analysed": "",                                   // why the analysis is left out, if it
///     is "extensions": ["cl_khr_fp64", …],                    // of the virtual device "opencl_c":
///     120,                                      // default language version "device_macros":
///     {"__OPENCL_VERSION__": "300", …}, "fp64": true, "images": true, "address_bits": 64 }
/// Response: UTF-8 JSON
///   { "ok": true, "failure": "",        // the compiler's own, if any
///     "left_to_vendors": "",            // the first error, if a vendor may know better
///     "invalid_options": false, "log": "warnings or errors, source line and caret",
///     "preprocessed": "…",              // what vendors compile, untouched semantics
///     "original": "…",                  // before changes for vendors; "" when there were none
///     "vendor_options": "-cl-fast-relaxed-math …",   // options left after preprocessing
///     "rewritten": "…",                 // the sub-range variant; "" when no kernel needs it
///     "units": [{"preprocessed": "…", "rewritten": "…"}],  // one per unit of the request
///     "files": [{"path": "inc/a.h", "state": "…"}],     // looked at, see
///     kernel_compiler/file_state.h "repeatable": true,               // without the time of day in
///     it "summary": { … } }                // ProgramSummary, see kernel_compiler/summary_json.h
struct TuttiCompilerResult {
  const char* json;
  size_t size;
};

struct TuttiCompilerApi {
  uint32_t version;  // 1
  TuttiCompilerResult (*compile)(const char* request_json, size_t size);
  void (*release)(TuttiCompilerResult result);
};

}  // extern "C"

// The hidden arguments of rewritten variants are scheduler/access/hidden_argument.h,
// shard_argument.h and panel_argument.h.
