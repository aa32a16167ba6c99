// SPDX-License-Identifier: Apache-2.0
//
// Child processes that leave OpenCL in a disorderly way. The test program starts itself again
// with --child=MODE and looks at how that process ended.
//
// Thread-safety: to be called from the test's thread only.
#pragma once

#include <string>

namespace tutti::api_tests {

// In the child: does what `mode` says. The result is the process's exit code, unless the mode ends
// the process itself.
int run_child(const std::string& mode);

// In the parent: runs a child and waits for its end. Empty when it ended with exit code 0, else
// what happened. A child that hangs is ended by its own alarm clock.
std::string run_and_describe(const std::string& mode);

}  // namespace tutti::api_tests
