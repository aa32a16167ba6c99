// SPDX-License-Identifier: Apache-2.0
// Where this code was loaded from, and the project's other files relative to that, so that a build
// tree, an installed tree and a moved one all work. Pure look-ups, thread-safe.
#pragma once

#include <string>

namespace tutti {

/// The absolute path of the shared library or program that contains this code; empty if unknown.
std::string own_binary();

/// The probe program (discovery.h), or empty where there is none.
std::string find_probe_program();

}  // namespace tutti
