#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Lints every source file that the build folder compiles (.clang-tidy says what and why).
#   usage: scripts/tidy.sh BUILD_FOLDER [JOBS]
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:?usage: scripts/tidy.sh BUILD_FOLDER [JOBS]}
command -v run-clang-tidy-14 >/dev/null ||
  { echo "tidy: clang-tidy-14 is not installed (make setup, on Debian 12)" >&2; exit 1; }
exec run-clang-tidy-14 -quiet -p "$build" -j "${2:-$(nproc)}" "$PWD/(base|backends|device_virtual|icd|kernel_compiler|platform|record|scheduler|tools|bench|demo)/.*\.cpp"
