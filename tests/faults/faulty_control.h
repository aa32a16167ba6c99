// SPDX-License-Identifier: Apache-2.0
// What a program that runs on the faulty vendor finds in its library by dlsym.
#pragma once

#include <cstddef>

#define FAULTY_EXPORT __attribute__((visibility("default")))

extern "C" {
/// Calls from here on belong to the scenario and not to its preparation.
FAULTY_EXPORT void faulty_end_preparation();
/// How many of the planned faults have happened.
FAULTY_EXPORT int faulty_happened();
/// Kernels that devices whose contexts were lost got in other ones.
FAULTY_EXPORT int faulty_launches_after_loss();
/// A line for each function and device: NAME DEVICE CALLS-OF-PREPARATION CALLS.
FAULTY_EXPORT void faulty_counts(char* text, size_t size);
}
