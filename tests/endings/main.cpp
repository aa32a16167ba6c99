// SPDX-License-Identifier: Apache-2.0
// endings --list            a line for each way: NAME END SAYS KIND, with tabs between
// endings PLATFORM WAY      computes something, and ends so
#include <cstdio>
#include <string>

#include "ways.h"
#include "work.h"

int main(int argc, char** argv) {
  using namespace tutti::endings;
  const bool list = argc == 2 && std::string(argv[1]) == "--list";
  if (!list && argc != 3) return 2;
  if (!list) choose_platform(argv[1]);
  for (const auto& ways : {exit_ways(), late_ways(), signal_ways(), thread_ways(), fork_ways()}) {
    for (const Way& way : ways) {
      if (list) {
        std::printf("%s\t%s\t%s\t%s\n", way.name, way.end, way.says != nullptr ? way.says : "",
                    way.kind);
      } else if (std::string(argv[2]) == way.name) {
        return way.run();
      }
    }
  }
  return list ? 0 : 2;
}
