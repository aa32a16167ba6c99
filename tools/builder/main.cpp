// SPDX-License-Identifier: Apache-2.0
// Runs compilers for the driver, in processes that may crash (base/helper_service.h).
//
// tutti-builder SECONDS MIB compiler LIBRARY…: loads the first of the kernel compiler's libraries
// that can be loaded, and compiles what the driver sends (kernel_compiler/compiler_client.cpp): the
// working folder, a zero and a request of compiler_api.h.
//
// tutti-builder SECONDS MIB vendor LIBRARY PLATFORM DEVICE NAME: builds for that device of a
// vendor's driver (backends/opencl/vendor_builder.cpp), which keeps what it has built: options, a
// zero and the source; to launch one of its kernels, another zero and how (first_launches.h).
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/opencl/vendor_builder.h"
#include "base/helper_service.h"
#include "kernel_compiler/compiler_library.h"

namespace tutti {
namespace {

using Words = std::vector<std::string>;

HelperMessage compile(std::string_view request) {
  const size_t end = request.find('\0');
  const std::string folder(request.substr(0, end));
  // Where that cannot be, the program's headers are not found.
  if (!folder.empty() && chdir(folder.c_str()) != 0) {
    return {HelperMessageKind::kTransient, "cannot enter " + folder};
  }
  return kernel_compiler::compile_here(request.substr(end + 1));
}

HelperStart start_compiler(const Words& places) {
  const auto& loaded = kernel_compiler::load_compiler(places);
  if (!loaded) return {{HelperMessageKind::kFailed, loaded.error().message}, nullptr};
  return {{HelperMessageKind::kAnswer, loaded->path}, compile};
}

uint32_t number(const std::string& text) {
  return static_cast<uint32_t>(std::strtoul(text.c_str(), nullptr, 10));
}

HelperStart start_vendor(const Words& words) {
  const auto device =
      backends::find_device({words[0], number(words[1]), number(words[2])}, words[3]);
  if (!device) return {{HelperMessageKind::kFailed, device.error().message}, nullptr};
  const cl_context_properties properties[] = {
      CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(device->platform), 0};
  cl_int code = CL_SUCCESS;
  const cl_context context =
      device->cl->clCreateContext(properties, 1, &device->device, nullptr, nullptr, &code);
  if (code != CL_SUCCESS) return {{HelperMessageKind::kFailed, "makes no context"}, nullptr};
  const auto builds = std::make_shared<backends::HelpersBuilds>(*device, context);
  return {{HelperMessageKind::kAnswer, {}}, [builds](std::string_view request) {
            builds->carry_out(request);
            return HelperMessage{HelperMessageKind::kAnswer, {}};
          }};
}

}  // namespace
}  // namespace tutti

int main(int argc, char** argv) {
  const tutti::Words arguments(argv + 1, argv + argc);
  const bool compiler = arguments.size() >= 4 && arguments[2] == "compiler";
  const bool vendor = arguments.size() == 7 && arguments[2] == "vendor";
  if (!compiler && !vendor) {
    std::fprintf(stderr, "tutti-builder runs compilers for Tutti; it is of no use by itself\n");
    return 2;
  }
  const tutti::Words rest(arguments.begin() + 3, arguments.end());
  tutti::serve_driver({tutti::number(arguments[0]), tutti::number(arguments[1])}, [&] {
    return compiler ? tutti::start_compiler(rest) : tutti::start_vendor(rest);
  });
}
