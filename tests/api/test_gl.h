// SPDX-License-Identifier: Apache-2.0
// The OpenGL of tests: a context is a table of objects, whose content is memory of the test. Its
// address stands for the handle of a context of OpenGL. The test's vendor
// (tests/kernels/gl_sharing.cpp) reads it; nobody changes the objects while an OpenCL context
// shares them.
#pragma once

#include <CL/cl.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace tutti::test_gl {

enum class Kind : uint8_t { kBuffer, kTexture, kRenderbuffer };

struct Object {
  Kind kind = Kind::kBuffer;
  cl_uint name = 0;
  cl_uint target = 0;  // of a texture, as its level
  cl_int level = 0;
  void* content = nullptr;
  size_t size = 0;              // bytes, of a buffer
  cl_image_format format{};     // of all else,
  cl_image_desc description{};  // as this
};

struct Context {
  static constexpr uint64_t kValid = 0x4c47207374736574;
  uint64_t valid = kValid;  // anything else: it is none
  bool elsewhere = false;   // on another device
  std::vector<Object> objects;
  std::atomic<int> shared{0};              // with so many contexts of the vendor's
  std::atomic<std::thread::id> used_by{};  // that handed objects over last
};

}  // namespace tutti::test_gl
