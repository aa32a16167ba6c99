// SPDX-License-Identifier: Apache-2.0
// tutti-first: one short OpenCL program per process, as an application that was just installed.
// What its first contact costs is measured from outside, by bench/first-contact. Exit status: 0
// done, 1 OpenCL failed, 2 wrong usage.
#include <CLI/CLI.hpp>
#include <cinttypes>
#include <cstdio>
#include <exception>
#include <string>

#include "first_programs.h"

int main(int argc, char** argv) {
  using namespace tutti::bench;
  CLI::App app{"Builds and runs one short OpenCL program, and prints a digest of its results."};
  std::string name, platform, device;
  std::size_t size = 0, launches = 0;
  bool list = false;
  app.add_flag("--list", list, "The programs: name, size, launches, title");
  app.add_option("--platform", platform, "Index or part of the name (default: the first)");
  app.add_option("--device", device, "Likewise");
  app.add_option("--size", size, "Elements (default: the program's)");
  app.add_option("--launches", launches, "Rounds of launches (default: the program's)");
  app.add_option("program", name, "One of --list");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (list) {
    for (const FirstProgram& program : first_programs()) {
      std::printf("%s %zu %zu %s\n", program.name, program.size, program.launches, program.title);
    }
    return 0;
  }
  for (const FirstProgram& program : first_programs()) {
    if (name != program.name) continue;
    try {
      const Session session(choose_device(platform, device));
      const uint64_t digest = program.run(session, size != 0 ? size : program.size,
                                          launches != 0 ? launches : program.launches);
      std::printf("%016" PRIx64 "\n", digest);
      return 0;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "tutti-first: %s\n", error.what());
      return 1;
    }
  }
  std::fprintf(stderr, "tutti-first: no program '%s'; see --list\n", name.c_str());
  return 2;
}
