// SPDX-License-Identifier: Apache-2.0
#include "tools/terminal_screen.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.h"

namespace tutti::tools {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH};

winsize size_of_terminal() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return {24, 80, 0, 0};
  return size;
}

}  // namespace

bool TerminalScreen::begin() {
  if (tcgetattr(STDIN_FILENO, &before_) != 0) return false;
  sigset_t mask;
  sigemptyset(&mask);
  for (const int number : kSignals) sigaddset(&mask, number);
  signals_ = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals_ < 0 || pthread_sigmask(SIG_BLOCK, &mask, &mask_before_) != 0) return false;
  begun_ = true;
  enter();
  return true;
}

void TerminalScreen::enter() {
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
  put("\x1b[?1049h\x1b[?25l");  // the alternate screen, without a cursor
  entered_ = true;
}

void TerminalScreen::leave() {
  if (!entered_) return;
  entered_ = false;
  put("\x1b[?25h\x1b[?1049l");
  tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
}

int TerminalScreen::end() {
  leave();
  if (begun_) {
    begun_ = false;
    close(signals_);
    pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
  }
  return ended_by_ == 0 ? 0 : 128 + ended_by_;
}

void TerminalScreen::put(const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const ssize_t count = write(STDOUT_FILENO, text.data() + at, text.size() - at);
    if (count > 0) {
      at += static_cast<size_t>(count);
    } else if (errno != EINTR) {
      return;
    }
  }
}

size_t TerminalScreen::columns() const { return size_of_terminal().ws_col; }
size_t TerminalScreen::rows() const { return size_of_terminal().ws_row; }

void TerminalScreen::draw(const std::vector<std::string>& lines) {
  std::string text = "\x1b[H";
  const size_t count = std::min(lines.size(), rows());
  for (size_t i = 0; i < count; ++i) {
    if (i == 0) text += "\x1b[1m";
    text += lines[i];
    text += i == 0 ? "\x1b[0m\x1b[K" : "\x1b[K";
    if (i + 1 < count) text += "\r\n";
  }
  put(text + "\x1b[J");
}

TerminalScreen::Event TerminalScreen::wait(int milliseconds) {
  const uint64_t until = now_ns() + static_cast<uint64_t>(milliseconds) * 1'000'000;
  for (;;) {
    const uint64_t now = now_ns();
    if (now >= until) return Event::kTime;
    pollfd watched[] = {{STDIN_FILENO, POLLIN, 0}, {signals_, POLLIN, 0}};
    if (poll(watched, 2, static_cast<int>((until - now + 999'999) / 1'000'000)) <= 0) continue;
    if (watched[0].revents != 0) {
      char keys[64];
      const ssize_t count = read(STDIN_FILENO, keys, sizeof keys);
      if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN)) return Event::kEnd;
      if (count > 0 &&
          std::any_of(keys, keys + count, [](char key) { return key == 'q' || key == 'Q'; })) {
        return Event::kEnd;
      }
    }
    signalfd_siginfo info{};
    if (watched[1].revents == 0 || read(signals_, &info, sizeof info) != sizeof info) continue;
    const int number = static_cast<int>(info.ssi_signo);
    if (number == SIGWINCH) return Event::kRedraw;
    if (number == SIGTSTP) {
      leave();
      raise(SIGSTOP);
      continue;
    }
    if (number == SIGCONT) {
      enter();
      return Event::kRedraw;
    }
    ended_by_ = number;
    return Event::kEnd;
  }
}

}  // namespace tutti::tools
