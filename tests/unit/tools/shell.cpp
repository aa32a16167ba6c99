// SPDX-License-Identifier: Apache-2.0
#include "shell.h"

#include <sys/wait.h>

#include <cstdio>

namespace tutti {

Outcome shell(const std::string& command) {
  Outcome outcome;
  FILE* pipe = popen(("(" + command + ") 2>&1").c_str(), "r");
  if (!pipe) return outcome;
  char block[4096];
  while (const size_t count = fread(block, 1, sizeof block, pipe))
    outcome.output.append(block, count);
  const int status = pclose(pipe);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

}  // namespace tutti
