// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/division_guard.h"

#include <signal.h>
#include <ucontext.h>

#include <mutex>

#include "base/log.h"

namespace tutti::backends {

#ifdef __x86_64__

namespace {

// The handler reads it, so it must not be allocated when it is first touched.
[[gnu::tls_model("initial-exec")]] thread_local volatile unsigned guards = 0;
struct sigaction before_ours;

bool is_prefix(uint8_t byte) {
  switch (byte) {
    case 0x26:
    case 0x2e:
    case 0x36:
    case 0x3e:
    case 0x64:
    case 0x65:  // segments
    case 0x66:
    case 0x67:
    case 0xf2:
    case 0xf3:
      return true;
    default:
      return false;
  }
}

void pass_on(int signal, siginfo_t* info, void* context) {
  if ((before_ours.sa_flags & SA_SIGINFO) != 0 && before_ours.sa_sigaction != nullptr) {
    before_ours.sa_sigaction(signal, info, context);
  } else if (before_ours.sa_handler != SIG_DFL && before_ours.sa_handler != SIG_IGN) {
    before_ours.sa_handler(signal);
  } else {
    // The instruction is tried again, and ends the process as it would have done without us.
    ::signal(signal, SIG_DFL);
  }
}

void on_trap(int signal, siginfo_t* info, void* context) {
  auto& next = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
  // Division by zero, and a quotient that does not fit (-2^31 / -1): both unspecified, not more.
  if (guards > 0 && (info->si_code == FPE_INTDIV || info->si_code == FPE_INTOVF)) {
    const size_t length = division_length(reinterpret_cast<const uint8_t*>(next));
    if (length > 0) {
      next += static_cast<greg_t>(length);
      return;
    }
  }
  pass_on(signal, info, context);
}

}  // namespace

size_t division_length(const uint8_t* code) {
  size_t at = 0;
  while (at < 4 && is_prefix(code[at])) ++at;
  if ((code[at] & 0xf0) == 0x40) ++at;                 // REX
  if (code[at] != 0xf6 && code[at] != 0xf7) return 0;  // with a byte, with a word of any size
  const uint8_t mod_rm = code[++at];
  const unsigned mod = mod_rm >> 6, operation = (mod_rm >> 3) & 7, rm = mod_rm & 7;
  if (operation < 6) return 0;  // 6: DIV, 7: IDIV
  ++at;
  if (mod == 3) return at;  // a register
  unsigned base = rm;
  if (rm == 4) base = code[at++] & 7;  // SIB
  if (mod == 1) return at + 1;
  return mod == 2 || base == 5 ? at + 4 : at;  // mod 0: an address without a base register
}

void guard_divisions() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction ours = {};
    ours.sa_sigaction = on_trap;
    ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    if (sigaction(SIGFPE, nullptr, &before_ours) != 0 || sigaction(SIGFPE, &ours, nullptr) != 0) {
      log(LogLevel::kWarning, "no handler of SIGFPE: kernels that divide by zero end the process");
    }
  });
}

void DivisionGuard::enter() { guards = guards + 1; }
void DivisionGuard::leave() { guards = guards - 1; }

#else

size_t division_length(const uint8_t*) { return 0; }
void guard_divisions() {}
void DivisionGuard::enter() {}
void DivisionGuard::leave() {}

#endif

DivisionHandlerHold::DivisionHandlerHold(bool wanted) {
  struct sigaction now = {};
  if (!wanted || sigaction(SIGFPE, nullptr, &now) != 0) return;
  if ((now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL) before_ = now;
}

DivisionHandlerHold::~DivisionHandlerHold() {
  if (before_) sigaction(SIGFPE, &*before_, nullptr);
}

}  // namespace tutti::backends
