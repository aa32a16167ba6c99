#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Rewrites the format of all C++ sources; with --check it only reports. One version decides.
set -euo pipefail
cd "$(dirname "$0")/.."
mode=(-i)
[ "${1:-}" != --check ] || mode=(--dry-run --Werror)
if ! command -v clang-format-14 >/dev/null; then
  # Debian 13 has none; another version decides otherwise.
  if [ "${1:-}" = --check ] && reason=$(scripts/unavailable.sh clang-format-14); then
    echo "format: NOT CHECKED: $reason" >&2
    exit 0
  fi
  echo "format: clang-format-14 is not installed (make setup, on Debian 12)" >&2
  exit 1
fi
find base backends device_virtual icd kernel_compiler platform record scheduler tools bench demo tests \( -name '*.h' -o -name '*.cpp' \) -print0 2>/dev/null |
  xargs -0 -r -n 40 -P "$(nproc)" clang-format-14 "${mode[@]}"
