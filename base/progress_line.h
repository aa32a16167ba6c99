// SPDX-License-Identifier: Apache-2.0
// What a command is busy with: a line on a terminal that each next one replaces; nothing at all in
// a pipe or a file. For programs that own their terminal, never for the driver, which is a guest in
// somebody's. Headers alone, so that ordinary OpenCL clients may use it. Used by one thread.
#pragma once

#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "base/printable.h"

namespace tutti {

class ProgressLine {
 public:
  ProgressLine() = default;
  ~ProgressLine() { end(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// At once. Bytes beyond the terminal's width are left out, controls are not obeyed.
  void show(std::string text) {
    if (!terminal_) return;
    winsize size{};
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 &&
        text.size() >= size.ws_col) {
      text.resize(size.ws_col - 1);
    }
    // The cursor goes back, so that other output begins in the first column.
    put("\r\033[K" + printable(text) + "\r");
    shown_ = !text.empty();
  }
  /// "WHAT: DONE of ALL", at most ten times a second.
  void count(const char* what, uint64_t done, uint64_t all) {
    if (!terminal_) return;
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return;
    next_ = now + std::chrono::milliseconds(100);
    show(std::string(what) + ": " + std::to_string(done) + " of " + std::to_string(all));
  }
  /// Takes the line away; to be called before other output.
  void end() {
    if (shown_) show({});
  }

 private:
  static void put(const std::string& text) {
    // A terminal that is gone is no reason to fail.
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
  }

  const bool terminal_ = isatty(STDERR_FILENO) != 0;
  bool shown_ = false;
  std::chrono::steady_clock::time_point next_{};
};

}  // namespace tutti
