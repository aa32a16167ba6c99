// SPDX-License-Identifier: Apache-2.0
// One run of the probe program (tools/probe/main.cpp), which tries a driver or the ICD loader in a
// process of its own and answers through a pipe. Its last line is "safe": a crash, a hang (its own
// watch-dog ends it) or an abort leaves none. The pipe and not the exit status decides, since the
// application may ignore or reap child processes. Thread-safe.
#pragma once

#include <sys/types.h>

#include <string>

#include "platform/discovery.h"

namespace tutti::platform {

struct RunningProbe {
  pid_t pid = -1;  // negative: it could not be started
  int pipe = -1;
};

/// `subject`: a driver's library, "--loader" for the ICD loader, or "--kernel" for a kernel on the
/// Tutti device. `without_vendors`: a copy of
/// Tutti in that process offers no platform (kInsideProbe).
RunningProbe start_probe(const std::string& program, const std::string& subject, int seconds,
                         bool without_vendors);

struct ProbeOutcome {
  ProbeVerdict verdict;
  std::string answer;  // the lines before the verdict
};
/// Waits until it has answered or ended; to be called once per probe that was started.
ProbeOutcome finish_probe(const RunningProbe& running);

}  // namespace tutti::platform
