// SPDX-License-Identifier: Apache-2.0
// A helper's side of helper_process.h: two processes, of which one works and the other one, which
// does nothing that could fail, tells the driver how that one has ended, and ends it when the
// driver has gone. To be called from main() of a program with one thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/helper_message.h"
#include "base/helper_process.h"

namespace tutti {

/// Answers a request. To be told of crashes it needs to do nothing.
using HelperAnswer = std::function<HelperMessage(std::string_view request)>;

/// In the process that works: what there is to do first, whose greeting is sent.
struct HelperStart {
  HelperMessage greeting;
  HelperAnswer answer;
  bool stays = false;  // also when there is nothing to answer for a while
};

/// Works until there has been nothing to do for a while, the driver has had enough of it, or has
/// gone with its process, of which a forked child may still have the socket. Never returns.
[[noreturn]] void serve_driver(const HelperBudget& budget,
                               const std::function<HelperStart()>& start);

/// Ends the process that works, from any of its threads, and says why. Whoever comes first does:
/// the others wait for the end, and no message comes within another one.
[[noreturn]] void end_service(const std::string& why);

}  // namespace tutti
