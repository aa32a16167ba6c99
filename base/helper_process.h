// SPDX-License-Identifier: Apache-2.0
// A program of ours that does for the driver, in a process of its own, what may crash, hang or take
// too much: its other side is helper_service.h. To the application it is not there: no child that
// it could wait for, no SIGCHLD, none of its files, its signals or its terminal. It ends with its
// HelperProcess, and so with the application, however that ends.
//
// For one thread at a time, which may change.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/helper_message.h"
#include "base/result.h"
#include "base/safe_file.h"

namespace tutti {

/// The socket to the driver, in a helper.
inline constexpr int kHelperSocket = 3;

/// What a helper takes at most for one request. 0: no bound.
struct HelperBudget {
  uint32_t seconds = 0;        // of a processor's time; ten times that by the clock
  uint32_t mib = 0;            // of address space, in all
  uint32_t clock_seconds = 0;  // where only that is bounded
  uint64_t clock_ns() const {
    return seconds * uint64_t{10'000'000'000} + clock_seconds * uint64_t{1'000'000'000};
  }
};

class HelperProcess {
 public:
  /// Starts `program` with these arguments and `environment` ("NAME=value") beside the
  /// application's, and waits for its greeting, which is an answer, or says why it is of no use.
  /// `files` are open there, with the numbers behind kHelperSocket. An error says why it could not
  /// be started.
  static Result<std::unique_ptr<HelperProcess>> start(const std::string& program,
                                                      std::vector<std::string> arguments,
                                                      const HelperBudget& budget,
                                                      std::vector<std::string> environment = {},
                                                      std::span<const int> files = {});

  /// The same without waiting: then await_greeting() is called once. What the helper may take for
  /// it counts from the launch on.
  static Result<std::unique_ptr<HelperProcess>> launch(const std::string& program,
                                                       std::vector<std::string> arguments,
                                                       const HelperBudget& budget,
                                                       std::vector<std::string> environment = {},
                                                       std::span<const int> files = {});
  void await_greeting() { greeting_ = answer_to(launched_ns_, budget_.clock_ns()); }

  /// Sends the request and waits for the answer, for no longer than `most_ns`; 0: than its budget.
  /// After anything else than an answer the helper is of no more use.
  HelperMessage ask(std::string_view request, uint64_t most_ns = 0);

  const HelperMessage& greeting() const { return greeting_; }
  /// False once it has ended, for example as it had nothing to do.
  bool alive() const;
  /// Has it ended, whatever it does. It is of no more use.
  void end();
  /// Waits for its end, and says how that was. Nothing where it has not ended once now_ns() is
  /// `deadline_ns`: what it does cannot be ended.
  std::optional<HelperMessage> await_end(uint64_t deadline_ns);

 private:
  HelperProcess(Descriptor socket, const HelperBudget& budget)
      : socket_(std::move(socket)), budget_(budget) {}
  /// To what was asked then, and may take so long; 0: for ever.
  HelperMessage answer_to(uint64_t asked_ns, uint64_t most_ns) const;

  const Descriptor socket_;
  const HelperBudget budget_;
  const uint64_t launched_ns_ = now_ns();
  HelperMessage greeting_;
};

}  // namespace tutti
