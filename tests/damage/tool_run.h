// SPDX-License-Identifier: Apache-2.0
// Runs a program within limits, and says what is wrong with how it ended. Used by one thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tutti::damage {

using Variables = std::vector<std::pair<std::string, std::string>>;

struct Ended {
  int status = 0;      // as waitpid() tells it
  std::string output;  // both streams
};

/// `input`: a file that is the standard input; empty: none.
Ended run(const std::vector<std::string>& words, const Variables& variables = {},
          const std::string& input = {});

/// What a text has that a terminal would obey; empty: nothing.
std::string terminal_problem(const std::string& text);

/// Why it must not have ended so; empty: it may.
std::string problem_of(const Ended& ended);

}  // namespace tutti::damage
