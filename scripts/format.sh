#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Rewrites the format of all C++ sources; with --check it only reports. One version decides.
set -euo pipefail
cd "$(dirname "$0")/.."
mode=(-i)
[ "${1:-}" != --check ] || mode=(--dry-run --Werror)
find src bench demo tests \( -name '*.h' -o -name '*.cpp' \) -print0 2>/dev/null |
  xargs -0 -r clang-format-14 "${mode[@]}"
