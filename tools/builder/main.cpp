// SPDX-License-Identifier: Apache-2.0
// tutti-builder SECONDS MIB compiler LIBRARY…: loads the first of the kernel compiler's libraries
// that can be loaded, and compiles what the driver sends (kernel_compiler/compiler_client.cpp): the
// working folder, a zero and a request of compiler_api.h.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/helper_service.h"
#include "kernel_compiler/compiler_library.h"

namespace tutti {
namespace {

HelperMessage compile(std::string_view request) {
  const size_t end = request.find('\0');
  const std::string folder(request.substr(0, end));
  // Where that cannot be, the program's headers are not found.
  if (!folder.empty() && chdir(folder.c_str()) != 0) {
    return {HelperMessageKind::kTransient, "cannot enter " + folder};
  }
  return kernel_compiler::compile_here(request.substr(end + 1));
}

HelperStart start_compiler(const std::vector<std::string>& places) {
  const auto& loaded = kernel_compiler::load_compiler(places);
  if (!loaded) return {{HelperMessageKind::kFailed, loaded.error().message}, nullptr};
  return {{HelperMessageKind::kAnswer, loaded->path}, compile};
}

uint32_t number(const char* text) { return static_cast<uint32_t>(std::strtoul(text, nullptr, 10)); }

}  // namespace
}  // namespace tutti

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() < 4 || arguments[2] != "compiler") {
    std::fprintf(stderr, "tutti-builder runs compilers for Tutti; it is of no use by itself\n");
    return 2;
  }
  const std::vector<std::string> places(arguments.begin() + 3, arguments.end());
  tutti::serve_driver({tutti::number(argv[1]), tutti::number(argv[2])},
                      [&places] { return tutti::start_compiler(places); });
}
