#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages of packaging/debian-packages.txt that are missing.
#   usage: scripts/setup.sh [GROUP…]      groups: build run test dev (default: build run test)
# Does nothing, and needs neither network nor root, when all are there.
set -euo pipefail
cd "$(dirname "$0")/.."

groups=("$@")
[ ${#groups[@]} -gt 0 ] || groups=(build run test)
list=packaging/debian-packages.txt

wanted=()
for group in "${groups[@]}"; do
  mapfile -t found < <(awk -v group="$group" '$1 == group { print $2 }' "$list")
  if [ ${#found[@]} -eq 0 ]; then
    echo "setup: no group '$group' in $list" >&2
    exit 2
  fi
  wanted+=("${found[@]}")
done

if ! command -v dpkg-query >/dev/null; then
  echo "setup: this is no Debian; install these yourself, then call make with SETUP=no:" >&2
  echo "  ${wanted[*]}" >&2
  exit 1
fi

# dpkg-query fails when any package is unknown, and prints what it knows.
installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null |
            awk '$1 == "installed" { print $2 }') || true
missing=()
for package in "${wanted[@]}"; do
  grep -qxF -- "$package" <<<"$installed" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "setup: run as root (there is no sudo): apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "setup: installing ${missing[*]}"
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Acquire::Retries=3)
# A broken third-party source must not stop us: what matters is whether the install succeeds.
"${apt[@]}" update || echo "setup: apt-get update failed in part; trying to install anyway" >&2
"${apt[@]}" install --no-install-recommends "${missing[@]}"
