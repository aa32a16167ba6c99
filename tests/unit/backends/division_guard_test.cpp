// SPDX-License-Identifier: Apache-2.0
// Traps of integer divisions: skipped under a guard, the earlier handler's business elsewhere.
#include "backends/opencl/division_guard.h"

#include <gtest/gtest.h>

#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#ifdef __x86_64__

namespace tutti::backends {
namespace {

size_t length_of(std::vector<uint8_t> code) {
  code.resize(15, 0x90);
  return division_length(code.data());
}

TEST(DivisionGuard, LengthsOfDivisions) {
  EXPECT_EQ(length_of({0xf7, 0xf9}), 2u);                    // idiv ecx
  EXPECT_EQ(length_of({0xf6, 0xf1}), 2u);                    // div cl
  EXPECT_EQ(length_of({0x48, 0xf7, 0xf9}), 3u);              // idiv rcx
  EXPECT_EQ(length_of({0x66, 0x41, 0xf7, 0xf8}), 4u);        // idiv r8w
  EXPECT_EQ(length_of({0xf7, 0x3e}), 2u);                    // idiv [rsi]
  EXPECT_EQ(length_of({0x41, 0xf7, 0x7d, 0x00}), 4u);        // idiv [r13 + 0]
  EXPECT_EQ(length_of({0xf7, 0x3c, 0x8f}), 3u);              // idiv [rdi + rcx * 4]
  EXPECT_EQ(length_of({0x43, 0xf7, 0x7c, 0x88, 0x10}), 5u);  // [r8 + r9 * 4 + 16]
  EXPECT_EQ(length_of({0x42, 0xf7, 0x3c, 0x8d, 0x00, 0x10, 0x00, 0x00}), 8u);  // [r9 * 4 + 4096]
  EXPECT_EQ(length_of({0xf7, 0xbf, 0x00, 0x10, 0x00, 0x00}), 6u);              // idiv [rdi + 4096]
  EXPECT_EQ(length_of({0xf7, 0xbc, 0x8f, 0x00, 0x10, 0x00, 0x00}), 7u);        // the same, with SIB
  EXPECT_EQ(length_of({0xf7, 0x35, 0x00, 0x10, 0x00, 0x00}), 6u);              // div [rip + 4096]
}

TEST(DivisionGuard, OtherInstructionsAreNone) {
  EXPECT_EQ(length_of({0xf7, 0xe1}), 0u);        // mul ecx
  EXPECT_EQ(length_of({0xf7, 0xd9}), 0u);        // neg ecx
  EXPECT_EQ(length_of({0x0f, 0xaf, 0xc1}), 0u);  // imul eax, ecx
  EXPECT_EQ(length_of({0xc3}), 0u);              // ret
}

// Divisions as the compiler cannot fold or move them. What they leave is unspecified.
void divide(int32_t dividend, int32_t divisor) {
  asm volatile("cltd\n\tidivl %1" : "+a"(dividend) : "r"(divisor) : "rdx", "cc");
}
void divide_by_memory(int64_t dividend, const int64_t* divisors, size_t i) {
  asm volatile("cqto\n\tidivq 8(%1,%2,8)"
               : "+a"(dividend)
               : "r"(divisors), "r"(i)
               : "rdx", "cc", "memory");
}

sigjmp_buf application;
void jump(int) { siglongjmp(application, 1); }

/// Whether a division in this thread reaches the handler that the application had before.
bool reaches_application() {
  if (sigsetjmp(application, 1) != 0) return true;
  divide(1, 0);
  return false;
}

/// The first thing that is not as it should be; 0: none.
int first_fault() {
  if (std::signal(SIGFPE, jump) == SIG_ERR) return __LINE__;
  guard_divisions();
  guard_divisions();
  if (!reaches_application()) return __LINE__;
  {
    DivisionGuard guard(true);
    if (reaches_application()) return __LINE__;
    divide(INT32_MIN, -1);
    const int64_t divisors[] = {1, 1, 0};
    divide_by_memory(1, divisors, 1);
    { DivisionGuard inner(true), none(false); }
    if (reaches_application()) return __LINE__;
    bool elsewhere = false;
    std::thread([&] { elsewhere = reaches_application(); }).join();
    if (!elsewhere) return __LINE__;
    guard.release();
    if (!reaches_application()) return __LINE__;
  }
  DivisionGuard unwanted(false);
  return reaches_application() ? 0 : __LINE__;
}

// In a process of its own, in which no device has had the handler installed yet.
TEST(DivisionGuard, OnlyGuardedDivisionsGoOn) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const int fault = first_fault();
        if (fault != 0) std::fprintf(stderr, "line %d\n", fault);
        std::_Exit(fault == 0 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

// Without an earlier handler the process ends by the signal, as it would have done without us.
TEST(DivisionGuard, AnUnguardedDivisionEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        std::signal(SIGFPE, SIG_DFL);
        guard_divisions();
        divide(1, 0);
      },
      testing::KilledBySignal(SIGFPE), "");
}

// Installs a handler of crashes, as a driver may do while it is held; what is there afterwards.
sighandler_t handler_after(sighandler_t before, bool wanted) {
  std::signal(SIGFPE, before);
  {
    const DivisionHandlerHold hold(wanted);
    std::signal(
        SIGFPE, +[](int) { std::_Exit(1); });
  }
  return std::signal(SIGFPE, SIG_DFL);
}

TEST(DivisionHandlerHold, WhatWasThereIsThereAgain) {
  struct sigaction earlier = {};
  sigaction(SIGFPE, nullptr, &earlier);
  EXPECT_EQ(handler_after(jump, true), jump);
  EXPECT_NE(handler_after(jump, false), jump);
  // Where there was none, the driver may need its own.
  EXPECT_NE(handler_after(SIG_DFL, true), SIG_DFL);
  sigaction(SIGFPE, &earlier, nullptr);
}

}  // namespace
}  // namespace tutti::backends

#endif
