#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a command (ctest) with the sanitizers' settings.   usage: scripts/sanitize.sh COMMAND…
# Suppressions are for vendor libraries only, each with its reason: tests/suppressions/.
set -euo pipefail
lists=$(cd "$(dirname "$0")/../tests/suppressions" && pwd)

# - detect_odr_violation=0: test programs link statically what libtutti.so holds too, on purpose.
# - intercept_tls_get_addr=0: GCC 12's leak checker guesses the extent of a library's thread-local
#   block from its address, and crashes where it guesses wrong (a block 16 bytes into a page).
# - new_delete_type_mismatch stays on; handle_segv stays on.
export ASAN_OPTIONS="suppressions=$lists/asan.txt:detect_odr_violation=0:detect_stack_use_after_return=0:intercept_tls_get_addr=0:abort_on_error=0"
export LSAN_OPTIONS="suppressions=$lists/lsan.txt:print_suppressions=0"
export UBSAN_OPTIONS="suppressions=$lists/ubsan.txt:print_stacktrace=1:halt_on_error=1"
reports=$(mktemp -d)
export TSAN_OPTIONS="suppressions=$lists/tsan.txt:second_deadlock_stack=1:halt_on_error=0:log_path=$reports/tsan"
code=0
"$@" || code=$?
# At the end, where they are not lost among the tests' own words.
find "$reports" -type f -exec tail -n 400 {} +
rm -r "$reports"
exit "$code"
