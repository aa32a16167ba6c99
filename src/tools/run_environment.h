// SPDX-License-Identifier: Apache-2.0
// The environment in which ICD loaders show Tutti alone, as `tutti run` gives it to applications.
// Changes this process's environment, so it is called while there is one thread.
#pragma once

#include <string>

#include "platform/result.h"

namespace tutti::tools {

struct TuttiAlone {
  std::string folder;   // holds tutti.icd and nothing else
  std::string library;  // the driver that it names
};

/// Sets the environment. The error's message says what of Tutti is missing.
Result<TuttiAlone> show_tutti_alone();

}  // namespace tutti::tools
