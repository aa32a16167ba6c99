// SPDX-License-Identifier: Apache-2.0
// The environment in which ICD loaders show Tutti alone, as `tutti run` gives it to applications,
// and the files that a run writes. Changes this process's environment, so it is called while there
// is one thread.
#pragma once

#include <string>
#include <vector>

#include "base/config.h"
#include "base/result.h"

namespace tutti::tools {

struct TuttiAlone {
  std::string folder;   // holds tutti.icd and nothing else
  std::string library;  // the driver that it names
};

/// Why one of the files that a run with these options writes must not be written: it is among
/// `inputs`, is named twice, or holds something else; or empty.
std::string output_problem(const Config& config, const std::vector<std::string>& inputs);

/// Sets the environment. The error's message says what of Tutti is missing.
Result<TuttiAlone> show_tutti_alone();

}  // namespace tutti::tools
