#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Whether tests/unavailable.txt says that this release of Debian does not have something, and why.
#   usage: scripts/unavailable.sh NAME      prints the reason; ends with 1 when it is not listed
set -euo pipefail
cd "$(dirname "$0")/.."
release=$(. /etc/os-release 2>/dev/null && echo "${VERSION_CODENAME:-}") || true
awk -v release="$release" -v name="$1" '
  $1 == release && $2 == name { sub(/^[^ ]+ +[^ ]+ +/, ""); print; found = 1 }
  END { exit !found }' tests/unavailable.txt
