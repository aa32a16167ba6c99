// SPDX-License-Identifier: Apache-2.0
// A terminal's alternate screen for something that is redrawn. What the terminal was is put back at
// the end, also when a signal ends the program or stops it (Ctrl-Z). One at a time, one thread.
#pragma once

#include <termios.h>
#include <csignal>
#include <cstddef>
#include <string>
#include <vector>

namespace tutti::tools {

class TerminalScreen {
 public:
  TerminalScreen() = default;
  ~TerminalScreen() { end(); }
  TerminalScreen(const TerminalScreen&) = delete;
  TerminalScreen& operator=(const TerminalScreen&) = delete;

  /// Standard input and output are the terminal's. False: it cannot be set up.
  bool begin();
  enum class Event { kTime, kRedraw, kEnd };
  /// Until the time has passed, the size has changed, or `q`, Ctrl-C or a signal ends it.
  Event wait(int milliseconds);
  size_t columns() const;
  /// The first lines that there is room for, each as it is; the first one is emphasised.
  void draw(const std::vector<std::string>& lines);
  /// 0, or 128 + the signal that has ended it.
  int end();

 private:
  void enter();
  void leave();
  void put(const std::string& text);
  size_t rows() const;

  bool begun_ = false, entered_ = false;
  int signals_ = -1;
  int ended_by_ = 0;
  termios before_{};
  sigset_t mask_before_{};
};

}  // namespace tutti::tools
